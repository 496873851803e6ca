"""Replies that are read together: few, and with limits so low that one counts as several, or as many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from moot.errors import StreamBroken
from moot.llm import read_scheduler
from moot.llm.read_scheduler import Pace
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.providers import WIRES, Wire, asked, run, talking

both_wires = pytest.mark.parametrize("wire", WIRES)


@pytest.fixture(autouse=True, params=["few", "several", "many", "in parts"])
def how_many(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.param != "few":
        monkeypatch.setattr(read_scheduler, "SEVERAL", 1)
    if request.param in ("many", "in parts"):
        monkeypatch.setattr(read_scheduler, "MANY", 1)
    if request.param == "in parts":
        monkeypatch.setattr(read_scheduler, "TOGETHER", 3)


class Body:
    """A reply of which the same comes again and again."""

    def __init__(self, comes: bytes) -> None:
        self._comes = comes

    def read_nowait(self) -> bytes:
        return self._comes

    def at_eof(self) -> bool:
        return False

    def on_eof(self, callback: Callable[[], None]) -> None:
        pass


@both_wires
def test_what_is_read_together_is_whole_and_in_order(wire: Wire, stub: StubServer) -> None:
    text = " ".join(str(number) for number in range(60))
    stub.default = Behaviour(text=text, pace=500)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            replies = await asyncio.gather(*(talk.stream() for _ in range(8)))
            assert {reply.text for reply in replies} == {text}
            assert sum(map(len, talk.heard)) == 8 * len(text)
            # 60 tokens in 120 ms and a reading every 60: several tokens each time.
            assert len(talk.heard) < 8 * 30

    run(main)


@both_wires
def test_a_break_while_the_reply_waits_is_still_a_break(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text="word " * 60, pace=100, cut_after=40))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(StreamBroken):
                await talk.stream()
            assert "".join(talk.heard).startswith("word word")

    run(main)


@both_wires
def test_whoever_leaves_while_the_reply_waits_closes_the_upstream(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(text="word " * 2000, pace=1000)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            task = asyncio.create_task(talk.stream())
            await stub.wait_for(lambda s: s.open_streams == 1 and bool(talk.heard))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await stub.wait_for(lambda s: s.clients_left == 1)

    run(main)


@both_wires
def test_a_connection_is_read_again_by_the_next_reply(wire: Wire, stub: StubServer) -> None:
    async def main() -> None:
        async with talking(wire, stub) as talk:
            for number in range(5):
                stub.script(Behaviour(text=f"Reply {number} of some length.", pace=200))
                assert (await talk.model.stream(asked())).text == f"Reply {number} of some length."

    run(main)


def test_a_stream_that_falls_silent_is_left_to_who_reads_it_unless_there_are_many() -> None:
    """So that the first word after a silence is read as it comes."""

    async def main() -> bool:
        with Pace().stream(Body(b""), Mock(), print) as stream:
            attended = asyncio.ensure_future(stream.attended())
            for _ in range(3):
                await asyncio.sleep(read_scheduler.READ_SECONDS)
            left = attended.done()
            attended.cancel()
            await asyncio.gather(attended, return_exceptions=True)
            return left

    assert run(main) == (read_scheduler.MANY > 1)


@both_wires
def test_the_end_of_a_reply_does_not_wait_for_the_next_beat(
    wire: Wire, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_scheduler, "SEVERAL", 4)
    monkeypatch.setattr(read_scheduler, "READ_SECONDS", 60.0)
    stub.script(Behaviour(text="One two three four.", pace=50))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            async with asyncio.timeout(30):
                assert (await talk.model.stream(asked())).text == "One two three four."

    run(main)


def test_of_several_what_comes_waits_in_the_kernel_and_of_the_last_few_it_comes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_scheduler, "SEVERAL", 4)

    async def main() -> None:
        pace = Pace()
        connections = [Mock(is_closing=Mock(return_value=False)) for _ in range(4)]
        paused = asyncio.Semaphore(0)
        for one in connections:
            one.pause_reading.side_effect = paused.release
        read: list[bytes] = []
        with contextlib.ExitStack() as stack:
            streams = [
                stack.enter_context(pace.stream(Body(b"word "), one, read.append)) for one in connections
            ]
            attended = [asyncio.ensure_future(stream.attended()) for stream in streams]
            for _ in connections:
                await paused.acquire()
            assert len(read) == 4
            for one in connections:
                one.resume_reading.reset_mock()
            attended[0].cancel()
            await asyncio.wait(attended[:1])
            # Long before the next reading.
            assert all(one.resume_reading.called for one in connections[1:])
            for task in attended:
                task.cancel()
            await asyncio.wait(attended)

    run(main)
