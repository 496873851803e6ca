"""A server that sends more than was asked for: the reply fails, it is hung up on, and memory is bounded."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from pydantic import BaseModel

from moot.errors import ProviderDown, ReplyTooLarge, StreamBroken, StreamStalled, ToolLoopTooLong
from moot.llm import http as wires
from moot.llm.messages import Tool
from moot.llm.registry import _list_ollama
from moot.llm.retries import Patience
from moot.llm.sse import EventReader
from moot.llm.transport import BODY_BYTES
from tests.stub.flood import Flood
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.providers import WIRES, Wire, asked, run, talking

both_wires = pytest.mark.parametrize("wire", WIRES)

FLOOD = 64 * 2**20
IN_FLIGHT = 16 * 2**20
"""What the sockets of both sides may hold while nobody reads."""


class Look(BaseModel):
    path: str = "."


async def _look(_: Look) -> str:
    return "nothing there"


LOOK = Tool("look", "Looks.", Look, _look)


async def _outcome(wire: Wire, stub: StubServer, behaviour: Behaviour, **more: Any) -> Exception:
    """What a reply of 1,024 tokens raises; it may be tried three times."""
    stub.default = behaviour
    async with talking(wire, stub, patience=Patience(retries=2), **more) as talk:
        with pytest.raises(Exception) as raised:  # noqa: PT011
            await talk.stream(asked(tools=(LOOK,)))
        return raised.value


@both_wires
@pytest.mark.parametrize("flood", ["line", "words", "thinking", "arguments", "calls"])
def test_a_reply_far_beyond_its_limit_fails_once_and_is_hung_up_on(
    wire: Wire, flood: Flood, stub: StubServer
) -> None:
    async def main() -> Exception:
        raised = await _outcome(wire, stub, Behaviour(text="Yes.", flood=flood, flood_bytes=FLOOD))
        await stub.wait_for(lambda s: s.clients_left == 1)
        return raised

    raised = run(main)
    assert isinstance(raised, ReplyTooLarge)
    assert "1,024 tokens" in str(raised)
    assert len(stub.requests) == 1, "what was sent once, and paid for, would be sent again"
    assert stub.sent[0] < wires.Room("m", 1024).stream_bytes + IN_FLIGHT


@both_wires
def test_a_flood_of_keep_alives_is_no_reply(wire: Wire, stub: StubServer) -> None:
    flood = Behaviour(text="Yes.", flood="comments", flood_bytes=FLOOD)
    raised = run(lambda: _outcome(wire, stub, flood))
    assert isinstance(raised, ReplyTooLarge)


@both_wires
@pytest.mark.parametrize("flood", ["line", "words"])
def test_a_reply_that_unpacks_to_far_more_takes_no_memory(wire: Wire, flood: Flood, stub: StubServer) -> None:
    bomb = Behaviour(text="Yes.", flood=flood, flood_bytes=4 * FLOOD, gzip=True)
    tracemalloc.start()
    try:
        raised = run(lambda: _outcome(wire, stub, bomb))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(raised, ReplyTooLarge)
    assert peak < 3 * wires.Room("m", 1024).stream_bytes


@both_wires
def test_a_compressed_reply_is_read_though_none_was_asked_for(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(tokens=("größer", " 🎯"), gzip=True, split=5)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream()).text == "größer 🎯"

    run(main)
    assert stub.requests[0].headers["accept-encoding"] == "identity"


@both_wires
@pytest.mark.parametrize("gzip", [False, True])
def test_of_a_huge_error_only_the_beginning_is_read(wire: Wire, gzip: bool, stub: StubServer) -> None:
    stub.default = Behaviour(status=502, error_body="<html>" + "x" * FLOOD, gzip=gzip)

    async def main() -> ProviderDown:
        async with talking(wire, stub, patience=Patience(retries=0)) as talk:
            with pytest.raises(ProviderDown) as raised:
                await talk.stream()
            return raised.value

    raised = run(main)
    read: Any = raised.__cause__
    assert len(read.response.content) == BODY_BYTES
    assert len(str(raised)) < 1000


@both_wires
@pytest.mark.parametrize("where", ["stream", "error"])
def test_deep_nesting_is_a_broken_reply_and_no_crash(wire: Wire, where: str, stub: StubServer) -> None:
    deep = "[" * 60_000 + "]" * 60_000
    if where == "stream":
        behaviour = Behaviour(text="Yes.", flood="nested", flood_bytes=1)
        kind: type[Exception] = StreamBroken
    else:
        behaviour, kind = Behaviour(status=500, error_body=deep), ProviderDown
    stub.default = behaviour

    async def main() -> None:
        async with talking(wire, stub, patience=Patience(retries=0)) as talk:
            with pytest.raises(kind):
                await talk.stream()

    run(main)


@both_wires
def test_nested_tool_input_is_not_accepted_and_goes_on(wire: Wire, stub: StubServer) -> None:
    deep = '{"path": ' + "[" * 20_000 + "]" * 20_000 + "}"
    stub.script(Behaviour(tool_calls=(("look", deep),)), Behaviour(text="I see."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream(asked(tools=(LOOK,)))).text == "I see."

    run(main)
    assert "Input not accepted" in stub.requests[1].said


@both_wires
def test_calls_are_counted_over_all_rounds(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(tool_calls=(("look", {}),) * 50)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(ToolLoopTooLong):
                await talk.stream(asked(tools=(LOOK,)))

    run(main)
    assert len(stub.requests) == 5, "200 calls were answered; the fifth turn asked for more"


@both_wires
def test_a_reply_of_exactly_what_was_asked_for_passes(wire: Wire, stub: StubServer) -> None:
    """Every token as long as a token can reasonably be, each in an event of its own."""
    stub.default = Behaviour(tokens=tuple(f"{n:04} {'ß' * 29} " for n in range(1024)))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream()).text.count("ß") == 29 * 1024

    run(main)


@both_wires
def test_empty_events_do_not_keep_a_reply_alive(wire: Wire, stub: StubServer) -> None:
    silent = Behaviour(text="Yes.", stall_after=1, stall_ping=0.05)
    raised = run(lambda: _outcome(wire, stub, silent, stall_seconds=0.4))
    assert isinstance(raised, StreamStalled)


def test_what_is_held_of_an_event_is_copied_only_when_a_line_ends() -> None:
    reader = EventReader()
    assert reader.feed(b"data: ") == []
    for _ in range(200_000):
        assert reader.feed(b"x") == []
    assert reader.held == 200_006
    assert [len(event) for event in reader.feed(b"\n\n")] == [200_000]
    assert reader.held == 0


@pytest.mark.parametrize(
    "body",
    [b'{"models": [' + b" " * (8 * 2**20) + b"]}", b"[" * 500_000, b'{"models": [{"name": "a"}]}\xff'],
    ids=["huge", "nested", "no text"],
)
def test_an_ollama_that_answers_too_much_is_none(body: bytes) -> None:
    from aiohttp import web

    taken = 0

    async def tags(http: web.Request) -> web.StreamResponse:
        nonlocal taken
        response = web.StreamResponse()
        await response.prepare(http)
        for start in range(0, len(body), 65_536):
            await response.write(body[start : start + 65_536])
            taken += 65_536
        return response

    async def main() -> list[str]:
        app = web.Application()
        app.router.add_get("/api/tags", tags)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await _list_ollama(f"http://127.0.0.1:{site.port}")
        finally:
            await runner.cleanup()

    assert run(main) == []
