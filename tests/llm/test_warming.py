"""One of several requests that begin alike goes ahead, until its beginning has been read."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from moot.llm.messages import Request, Source, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.protocol import Call
from moot.llm.retries import Patience
from moot.llm.warming import PATIENCE, Warming, beginning
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.providers import MODELS, WIRES, Wire, provider

LONG = Source("E1 (a.txt)", "word" * 5_000)


def call(shared: str = "word" * 5_000, **other: object) -> Call:
    return Call("m", "", (), 10, shared=(shared,), **other)  # type: ignore[arg-type]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_only_what_is_long_is_worth_waiting_for() -> None:
    assert beginning(call()) is not None
    assert beginning(call("word" * 4_000)) is None
    assert beginning(Call("m", "s" * 50_000, (), 10)) is None
    assert beginning(call()) == beginning(call())
    assert beginning(call()) != beginning(call("more" * 5_000))


def test_others_wait_for_the_first_word_of_the_one_that_goes_ahead() -> None:
    async def play() -> None:
        warming, order = Warming(), list[str]()

        async def other() -> None:
            async with warming.turn("k"):
                order.append("other")

        async with warming.turn("k") as read:
            waiting = [asyncio.create_task(other()) for _ in range(3)]
            await asyncio.sleep(0)
            order.append("first word")
            read()
            await asyncio.gather(*waiting)
        assert order == ["first word", "other", "other", "other"]

    asyncio.run(play())


def test_what_begins_otherwise_does_not_wait() -> None:
    async def play() -> None:
        warming = Warming()
        async with warming.turn("k"), warming.turn("other"):
            pass

    asyncio.run(play())


def test_of_one_that_fails_another_takes_the_place() -> None:
    async def play() -> None:
        warming, entered = Warming(), asyncio.Event()

        async def second() -> None:
            async with warming.turn("k"):
                entered.set()
                await asyncio.Event().wait()

        with contextlib.suppress(RuntimeError):
            async with warming.turn("k"):
                ahead, third = (asyncio.create_task(second()) for _ in range(2))
                await asyncio.sleep(0)
                raise RuntimeError
        await entered.wait()
        assert len(warming._ahead) == 1
        for task in (ahead, third):
            task.cancel()
        await asyncio.gather(ahead, third, return_exceptions=True)
        assert warming._ahead == {}

    asyncio.run(play())


def test_what_was_read_is_there_for_some_minutes() -> None:
    async def play() -> None:
        clock = Clock()
        warming = Warming(clock)
        async with warming.turn("k"):
            pass
        async with warming.turn("k"), warming.turn("k"):
            assert not warming._ahead, "nobody has to go ahead"
        clock.now += 1_000
        async with warming.turn("k"):
            assert warming._ahead
        clock.now += 1_000
        warming._forget_old()
        assert warming._kept_until == {}

    asyncio.run(play())


def test_nobody_waits_for_ever() -> None:
    async def play() -> None:
        clock = Clock()
        warming = Warming(clock)
        async with warming.turn("k"):
            waiting = asyncio.create_task(_through(warming))
            await asyncio.sleep(0)
            clock.now += PATIENCE
            # A wait that is over looks at the clock; here, another request's end is what wakes it.
            warming._ahead["k"].set_result(None)
            await waiting

    async def _through(warming: Warming) -> None:
        async with warming.turn("k"):
            pass

    asyncio.run(play())


@pytest.mark.parametrize("wire", WIRES)
def test_the_provider_gets_the_first_request_alone(stub: StubServer, wire: Wire) -> None:
    stub.default = lambda _: Behaviour(tokens=("One", " two", " three."))

    async def play() -> None:
        served = provider(wire, stub, compatible=False)
        model = Model(ModelName(wire, MODELS[wire]), served, patience=Patience(retries=0))
        sent_by_first_word: list[int] = []

        async def ask(number: int) -> None:
            request = Request("You.", (UserSaid(str(number)),), 10, shared=((LONG,),))
            await model.stream(request, lambda _: sent_by_first_word.append(len(stub.requests)))

        await asyncio.gather(*(ask(number) for number in range(4)))
        assert sent_by_first_word[0] == 1
        assert len(stub.requests) == 4
        await served.close()

    asyncio.run(play())


def test_a_server_of_ones_own_gets_all_at_once(stub: StubServer) -> None:
    assert not provider("openai", stub).keeps_beginnings  # type: ignore[attr-defined]
