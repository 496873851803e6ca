"""Replies that are read together: with a limit so low that a few streams count as many."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack

import pytest

from moot.errors import StreamBroken
from moot.gateway import pace
from moot.gateway.pace import Pace
from tests.gateway.wires import WIRES, Wire, asked, run, talking
from tests.stub.script import Behaviour
from tests.stub.server import StubServer

both_wires = pytest.mark.parametrize("wire", WIRES)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "READS_PER_SECOND", 1)


@pytest.mark.parametrize(
    ("streams", "seconds"), [(0, 0.0), (127, 0.0), (128, 0.016), (160, 0.02), (192, 0.024), (900, 0.024)]
)
def test_the_more_streams_the_longer_between_two_readings(
    monkeypatch: pytest.MonkeyPatch, streams: int, seconds: float
) -> None:
    monkeypatch.setattr(pace, "READS_PER_SECOND", 8000)
    one = Pace()
    with ExitStack() as reading:
        for _ in range(streams):
            reading.enter_context(one.stream())
        assert one.seconds == seconds
    assert one.seconds == 0.0


@both_wires
def test_what_is_read_together_is_whole_and_in_order(wire: Wire, stub: StubServer) -> None:
    text = " ".join(str(number) for number in range(60))
    stub.default = Behaviour(text=text, pace=500)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            replies = await asyncio.gather(*(talk.stream() for _ in range(8)))
            assert {reply.text for reply in replies} == {text}
            assert sum(map(len, talk.heard)) == 8 * len(text)
            # 60 tokens in 120 ms and a reading every 24: several tokens each time.
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

    async def main() -> float:
        async with talking(wire, stub) as talk:
            task = asyncio.create_task(talk.stream())
            await stub.wait_for(lambda s: s.open_streams == 1 and bool(talk.heard))
            left = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await stub.wait_for(lambda s: s.clients_left == 1)
            return stub.left_at[0] - left

    assert run(main) < 0.1


@both_wires
def test_a_connection_is_read_again_by_the_next_reply(wire: Wire, stub: StubServer) -> None:
    async def main() -> None:
        async with talking(wire, stub) as talk:
            for number in range(5):
                stub.script(Behaviour(text=f"Reply {number} of some length.", pace=200))
                assert (await talk.model.stream(asked())).text == f"Reply {number} of some length."

    run(main)
