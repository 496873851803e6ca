"""What the stub notices: who asked, who left, what is open; and whose answer is whose."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.stub_tests.clients import (
    ASK,
    PARTIAL,
    WIRES,
    Heard,
    anthropic_client,
    ask_anthropic,
    hear,
    openai_client,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("behaviour", "words_first"),
    [
        pytest.param(Behaviour(header_delay=60), 0, id="before the headers"),
        pytest.param(Behaviour(first_token_delay=60), 0, id="before the first token"),
        pytest.param(Behaviour(stall_after=2), 2, id="stalled"),
        pytest.param(Behaviour(stall_after=2, stall_ping=0.01), 2, id="stalled with keep-alives"),
        pytest.param(Behaviour(text="word " * 1000, pace=20), 1, id="streaming"),
    ],
)
def test_a_client_that_leaves_is_noticed_while_the_reply_is_under_way(
    stub: StubServer, wire: str, behaviour: Behaviour, words_first: int
) -> None:
    stub.script(behaviour)

    async def leave() -> None:
        heard = Heard()
        asking = asyncio.ensure_future(ASK[wire](stub, heard))
        await stub.wait_for(lambda s: s.open_streams == 1 and len(heard.pieces) >= words_first)
        assert stub.clients_left == 0, "nobody has left before"
        asking.cancel()
        await asyncio.wait([asking])
        # None of these replies comes to its end by itself as long as this waits.
        await stub.wait_for(lambda s: s.clients_left == 1, timeout=30)

    asyncio.run(leave())
    assert (stub.open_streams, stub.completed, stub.faulted) == (0, 0, 0)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stall_is_silence_on_an_open_connection(stub: StubServer, wire: str) -> None:
    stub.script(Behaviour(text="One two three", stall_after=2))
    heard = Heard()

    async def listen() -> None:
        asking = asyncio.ensure_future(ASK[wire](stub, heard))
        await asyncio.wait([asking], timeout=0.2)
        assert not asking.done()
        asking.cancel()
        await asyncio.wait([asking])

    asyncio.run(listen())
    assert heard.pieces == PARTIAL


def test_matchers_come_before_the_queue_and_the_queue_before_the_default(stub: StubServer) -> None:
    stub.default = Behaviour(text="default")
    stub.script(Behaviour(text="queued"))
    stub.on("Ada", Behaviour(text="first"), Behaviour(text="then"))
    stub.on(lambda request: request.model == "big", lambda request: Behaviour(text=f"I am {request.model}"))
    said = [{"role": "user", "content": "Ask Ada."}]
    texts = [hear(stub, "anthropic", messages=said).text for _ in range(3)]
    texts += [hear(stub, "openai", model="big").text, hear(stub, "openai").text, hear(stub, "anthropic").text]
    assert texts == ["first", "then", "then", "I am big", "queued", "default"]


def test_requests_are_recorded_as_they_came(stub: StubServer) -> None:
    hear(stub, "anthropic", system=[{"type": "text", "text": "Be brief."}], extra_body={"temperature": 0.5})
    hear(stub, "openai", model="other")
    first, second = stub.requests
    assert (first.wire, first.path, first.model, first.system) == (
        "anthropic",
        "/v1/messages",
        "m",
        "Be brief.",
    )
    assert first.messages == ({"role": "user", "content": "Why so?"},)
    assert (first.headers["authorization"], first.headers["anthropic-version"]) == (
        "Bearer key",
        "2026-10-21",
    )
    assert (first.body["temperature"], first.stream) == (0.5, True)
    assert first.time < second.time
    assert (second.wire, second.path, second.model) == ("openai", "/v1/chat/completions", "other")
    assert (second.system, second.messages) == ("Be brief.", ({"role": "user", "content": "Why so?"},))


def test_open_streams_are_counted_while_they_are_open(stub: StubServer) -> None:
    stub.default = Behaviour(stall_after=1)

    async def open_three() -> None:
        asking = [asyncio.ensure_future(ASK[wire](stub, Heard())) for wire in (*WIRES, "openai")]
        await stub.wait_for(lambda s: s.open_streams == 3)
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)
        await stub.wait_for(lambda s: s.open_streams == 0)

    asyncio.run(open_three())
    assert (stub.max_open_streams, stub.clients_left) == (3, 3)


def test_waiting_for_what_never_comes_times_out(stub: StubServer) -> None:
    with pytest.raises(TimeoutError, match="0 requests"):
        stub.wait(lambda s: s.completed == 1, timeout=0.01)
    with pytest.raises(TimeoutError, match="0 requests"):
        asyncio.run(stub.wait_for(lambda s: s.completed == 1, timeout=0.01))


def test_reset_forgets_scripts_and_counters(stub: StubServer) -> None:
    stub.on("Why", Behaviour(text="matched"))
    assert hear(stub, "anthropic").text == "matched"
    stub.wait(lambda s: s.completed == 1)
    stub.script(Behaviour(text="queued"))
    stub.reset()
    assert (stub.requests, stub.completed, stub.max_open_streams) == ([], 0, 0)
    stub.default = Behaviour(text="default")
    assert hear(stub, "anthropic").text == "default"


def test_contradictory_behaviours_are_refused() -> None:
    with pytest.raises(ValueError, match="at most one of"):
        Behaviour(cut_after=1, stall_after=1)
    with pytest.raises(ValueError, match="not both"):
        Behaviour(text="a", tokens=("a",))


@pytest.mark.parametrize("wire", WIRES)
def test_models_are_listed_for_both_wires_and_ollama(stub: StubServer, wire: str) -> None:
    stub.models = ("small", "large")

    async def names() -> list[str]:
        if wire == "anthropic":
            async with anthropic_client(stub) as client:
                return [model.id async for model in client.models.list()]
        async with openai_client(stub) as other:
            return [model.id async for model in other.models.list()]

    assert asyncio.run(names()) == ["small", "large"]
    assert stub.probes == ["/v1/models"]
    with urlopen(f"{stub.url}/api/tags") as tags, urlopen(f"{stub.url}/api/version") as version:
        assert [model["name"] for model in json.load(tags)["models"]] == ["small", "large"]
        assert "version" in json.load(version)


def test_it_runs_on_the_loop_of_a_coroutine() -> None:
    async def serve_and_ask() -> str:
        heard = Heard()
        async with StubServer(default=Behaviour(text="Here.")) as stub:
            await ask_anthropic(stub, heard)
            await stub.wait_for(lambda s: s.completed == 1)
        return heard.text

    assert asyncio.run(serve_and_ask()) == "Here."


def test_closing_does_not_wait_for_stalled_streams() -> None:
    """The stream would stay open for as long as its client does, who waits for its end."""

    async def close_while_stalled() -> int:
        async with StubServer(default=Behaviour(stall_after=0)) as stub:
            asking = asyncio.ensure_future(ask_anthropic(stub, Heard()))
            await stub.wait_for(lambda s: s.open_streams == 1)
            assert not asking.done()
        await asyncio.wait([asking])
        assert asking.exception() is not None
        return stub.clients_left

    assert asyncio.run(asyncio.wait_for(close_while_stalled(), 50)) == 0


def test_it_runs_alone_and_shows_its_state() -> None:
    default = json.dumps({"text": "Alone.", "tokens": None, "reject_params": ["top_p"]})
    command = [sys.executable, "-m", "tests.stub", "--port", "0", "--default", default]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            remote = StubServer()
            remote.url = process.stdout.readline().strip()
            assert hear(remote, "anthropic").text == "Alone."
            with urlopen(f"{remote.url}/__stub__/state") as answer:
                state = json.load(answer)
        finally:
            process.terminate()
    assert (len(state["requests"]), state["requests"][0]["system"]) == (1, "Be brief.")
    assert state["clients_left"] == 0
