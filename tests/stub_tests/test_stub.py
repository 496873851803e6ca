"""What the stub says, driven by the two real SDKs."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.stub import exchange
from tests.stub.script import Behaviour, Spent
from tests.stub.server import StubServer
from tests.stub_tests.clients import (
    INSTANCE,
    SCHEMA,
    WIRES,
    Heard,
    anthropic_client,
    hear,
    openai_client,
    shape_params,
    tool_params,
)


@pytest.mark.parametrize(("wire", "stop"), [("anthropic", "end_turn"), ("openai", "stop")])
def test_a_stream_brings_each_word_the_stop_and_real_counts(stub: StubServer, wire: str, stop: str) -> None:
    stub.script(Behaviour(text="Because it rains."))
    heard = hear(stub, wire)
    assert heard == Heard(["Because", " it", " rains."], stop=stop, input_tokens=4, output_tokens=3)
    stub.wait(lambda s: s.completed == 1 and s.open_streams == 0)
    assert (stub.max_open_streams, stub.faulted, stub.clients_left) == (1, 0, 0)


@pytest.mark.parametrize("wire", WIRES)
def test_text_without_a_stream_is_the_same_text(stub: StubServer, wire: str) -> None:
    stub.default = Behaviour(
        text="Because it rains.", thinking="Rain?", tool_calls=(("look", {"at": "sky"}),)
    )

    async def ask() -> tuple[Any, ...]:
        if wire == "anthropic":
            async with anthropic_client(stub) as client:
                said = await client.messages.create(
                    model="m", max_tokens=9, messages=[{"role": "user", "content": "Why so?"}]
                )
            thinking, text, tool = said.content
            assert thinking.type == "thinking"
            assert text.type == "text"
            assert tool.type == "tool_use"
            usage = (said.usage.input_tokens, said.usage.output_tokens)
            return thinking.thinking, text.text, tool.name, tool.input, said.stop_reason, *usage
        async with openai_client(stub) as other:
            answer = await other.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Why so?"}]
            )
        choice = answer.choices[0]
        assert choice.message.tool_calls is not None
        assert answer.usage is not None
        call = choice.message.tool_calls[0]
        assert call.type == "function"
        thought = getattr(choice.message, "reasoning_content", None)
        arguments = json.loads(call.function.arguments)
        usage = (answer.usage.prompt_tokens, answer.usage.completion_tokens)
        return thought, choice.message.content, call.function.name, arguments, choice.finish_reason, *usage

    stop = {"anthropic": "tool_use", "openai": "tool_calls"}[wire]
    expected = ("Rain?", "Because it rains.", "look", {"at": "sky"}, stop, 2, 6)
    assert asyncio.run(ask()) == expected


@pytest.mark.parametrize(("wire", "stop"), [("anthropic", "tool_use"), ("openai", "tool_calls")])
def test_tool_calls_are_streamed_after_the_text(stub: StubServer, wire: str, stop: str) -> None:
    calls = (("read", {"path": "a b"}), ("read", '{"path": '))
    stub.script(Behaviour(text="Let me look.", tool_calls=calls))
    heard = hear(stub, wire)
    assert (heard.text, heard.stop) == ("Let me look.", stop)
    assert heard.tool_names == ["read", "read"]
    assert heard.tool_inputs == ['{"path": "a b"}', '{"path": ']


@pytest.mark.parametrize("wire", WIRES)
def test_a_schema_gets_a_valid_instance_unless_told_otherwise(stub: StubServer, wire: str) -> None:
    stub.script(Behaviour(), Behaviour(json_text='{"verdict": '), Behaviour(text="No JSON."))
    replies = [hear(stub, wire, **shape_params(wire)).text for _ in range(3)]
    assert json.loads(replies[0]) == INSTANCE
    assert replies[1:] == ['{"verdict": ', "No JSON."]
    assert [request.schema for request in stub.requests] == [SCHEMA] * 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_forced_tool_gets_a_valid_instance_as_its_input(stub: StubServer, wire: str) -> None:
    stub.script(Behaviour(), Behaviour(json_text="{}"))
    first, second = (hear(stub, wire, **tool_params(wire)) for _ in range(2))
    assert (first.tool_names, json.loads(first.tool_inputs[0])) == (["submit"], INSTANCE)
    assert second.tool_inputs == ["{}"]
    assert (stub.requests[0].forced_tool, stub.requests[0].tools) == ("submit", ("submit",))


@pytest.mark.parametrize("wire", WIRES)
def test_thinking_and_keep_alives_stay_apart_from_the_text(stub: StubServer, wire: str) -> None:
    stub.script(Behaviour(text="Yes, do.", thinking="Well then.", ping_every=1))
    heard = hear(stub, wire)
    assert (heard.thoughts, heard.pieces, heard.output_tokens) == (["Well", " then."], ["Yes,", " do."], 4)


def test_each_wire_has_its_words_for_limits_and_refusals(stub: StubServer) -> None:
    stub.script(*[Behaviour(text="Half a", stop="limit")] * 2)
    stub.script(*[Behaviour(stop="refused")] * 2, Behaviour(text="", stop="refused"))
    stops = [hear(stub, wire).stop for wire in (*WIRES, *WIRES, "openai")]
    assert stops == ["max_tokens", "length", "refusal", "stop", "content_filter"]
    stub.script(Behaviour(stop="refused"))
    assert "".join(hear(stub, "openai").refusals) == "I can't help with that."


def test_scripted_usage_counts_cached_input_the_way_of_each_wire(stub: StubServer) -> None:
    stub.default = Behaviour(usage=Spent(100, 7, cache_read_tokens=60, cache_write_tokens=30))
    heard = [hear(stub, wire) for wire in WIRES]
    assert [(one.input_tokens, one.output_tokens) for one in heard] == [(10, 7), (100, 7)]


def test_usage_is_left_out_where_openai_would_or_the_script_says_so(stub: StubServer) -> None:
    assert hear(stub, "openai", stream_options=openai.omit).output_tokens is None
    stub.script(Behaviour(omit_usage=True))
    assert hear(stub, "openai").output_tokens is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [1, 7])
def test_events_and_characters_survive_being_split(stub: StubServer, wire: str, size: int) -> None:
    stub.script(Behaviour(text="Größe „ja“ — 👍 です", thinking="Äh.", split=size))
    assert hear(stub, wire).text == "Größe „ja“ — 👍 です"


def test_split_bytes_really_arrive_in_small_chunks(stub: StubServer) -> None:
    stub.script(Behaviour(text="Größe", split=5))
    body = json.dumps({"model": "m", "stream": True, "messages": []})

    async def sizes() -> set[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(stub.url.rpartition(":")[2]))
        head = f"POST /v1/messages HTTP/1.1\r\nHost: stub\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body.encode())
        await reader.readuntil(b"\r\n\r\n")
        seen = set()
        while size := int(await reader.readline(), 16):
            seen.add(size)
            await reader.readexactly(size + 2)
        writer.close()
        await writer.wait_closed()
        return seen

    assert max(asyncio.run(sizes())) == 5


class Clock:
    """Stands still but for what is slept, which takes no time. In the place of the stub's `asyncio`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def get_running_loop(self) -> Clock:
        return self

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.sleeps.append(seconds)
        await asyncio.sleep(0)


@pytest.mark.parametrize("wire", WIRES)
def test_the_pace_is_kept_over_the_whole_reply(
    stub: StubServer, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(exchange, "asyncio", clock)
    stub.script(Behaviour(text="a " * 20, pace=100, first_token_delay=0.1))
    hear(stub, wire)
    # 20 words and the space after the last: the first comes after 0.1 s, the 21st 0.2 s later.
    assert clock.now == pytest.approx(0.3)
    assert [seconds for seconds in clock.sleeps if seconds] == pytest.approx([0.1, *[0.01] * 20])


@pytest.mark.parametrize("wire", WIRES)
def test_who_is_hurried_says_the_rest_at_once_until_a_reset(stub: StubServer, wire: str) -> None:
    text = "word " * 3000
    stub.default = Behaviour(text=text, pace=20)

    def ask() -> Future[Heard]:
        answer = threads.submit(hear, stub, wire)
        stub.wait(lambda s: any(one.spent.output_tokens > 1 for one in s.exchanges))
        return answer

    with ThreadPoolExecutor() as threads:
        first = ask()
        stub.hurry()
        assert first.result(60).text == text
        assert hear(stub, wire).text == text, "and so does whoever is asked now"
        stub.reset()
        second = ask()
        assert stub.open_streams == 1
        stub.hurry()
        assert second.result(60).text == text
