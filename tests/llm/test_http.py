"""Both wire formats over real HTTP with the real SDKs: requests, whole replies, and every fault."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

from moot.errors import (
    DraftInvalid,
    KeyRefused,
    ProviderDown,
    ProviderFailed,
    RateLimited,
    ReplyEmpty,
    ReplyRefused,
    RequestRejected,
    StreamBroken,
    StreamStalled,
    ToolLoopTooLong,
    Unreachable,
)
from moot.llm.anthropic import AnthropicProvider
from moot.llm.messages import ModelSaid, Request, Tool, ToolFault, UserSaid
from moot.llm.model import HELD_BACK, Model
from moot.llm.names import ModelName
from moot.llm.openai import OpenAIProvider
from moot.llm.prices import Pricing
from moot.llm.retries import Patience
from tests.stub.script import Behaviour, Spent
from tests.stub.server import StubServer
from tests.support.providers import MODELS, WIRES, Wire, asked, run, talking

both_wires = pytest.mark.parametrize("wire", WIRES)


class Triage(BaseModel):
    level: str = Field(pattern="^(straightforward|complex)$")
    reasoning: str = Field(max_length=200)


# -- whole replies -------------------------------------------------------------------------------


@both_wires
def test_a_reply_arrives_in_pieces_and_whole(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(tokens=("Yes", ", ", "größer", " 🎯"), pace=10, usage=Spent(120, 7)))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            reply = await talk.stream()
            assert "".join(talk.heard) == reply.text == "Yes, größer 🎯"
            assert len(talk.heard) > 1, "told as it comes; what comes close together may be told together"
            assert reply.model == f"{wire}:{MODELS[wire]}"
            assert (reply.usage.input_tokens, reply.usage.output_tokens) == (120, 7)
            assert (reply.attempts, reply.cut_short) == (1, False)
            assert reply.first_text_ms is not None
            assert reply.first_text_ms <= reply.duration_ms

    run(main)


@both_wires
@pytest.mark.parametrize("split", [1, 3, 7])
def test_bytes_may_be_split_anywhere(wire: Wire, split: int, stub: StubServer) -> None:
    stub.script(Behaviour(tokens=("größer", " 🎯", "\n\ndata: no", "\r\n."), split=split, ping_every=2))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream()).text == "größer 🎯\n\ndata: no\n."

    run(main)


@both_wires
def test_the_conversation_is_sent_as_it_was(wire: Wire, stub: StubServer) -> None:
    said = (UserSaid("One?"), ModelSaid("Two."), UserSaid("Three?"))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            await talk.stream(Request("You are terse.", said, max_tokens=64))

    run(main)
    sent = stub.requests[0]
    assert sent.system == "You are terse."
    turns = [(m["role"], m["content"]) for m in sent.messages if m["role"] != "system"]
    assert turns == [("user", "One?"), ("assistant", "Two."), ("user", "Three?")]
    assert sent.headers["authorization"] == "Bearer secret-key-123"
    assert sent.stream


@both_wires
def test_thinking_is_neither_heard_nor_part_of_the_reply(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text="Yes.", thinking="Hmm, let me see."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream()).text == "Yes."
            assert "".join(talk.heard) == "Yes."

    run(main)


@both_wires
def test_a_reply_that_reached_its_limit_says_so(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text="Yes, becau", stop="limit"))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream()).cut_short

    run(main)


def test_cached_input_is_counted_once(stub: StubServer) -> None:
    stub.script(Behaviour(text="Yes.", usage=Spent(1000, 5, cache_read_tokens=600, cache_write_tokens=300)))

    async def main() -> None:
        async with talking("anthropic", stub) as talk:
            usage = (await talk.stream()).usage
            assert usage.input_tokens == 1000
            assert (usage.cache_read_tokens, usage.cache_write_tokens) == (600, 300)

    run(main)


@both_wires
def test_the_cost_is_known_where_the_price_is(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(text="Yes.", usage=Spent(1_000_000, 1_000_000))
    priced = {"anthropic": "claude-sonnet-4-6", "openai": "gpt-4o"}[wire]

    async def main() -> None:
        async with talking(wire, stub, model=priced, pricing=Pricing(priced, wire)) as talk:
            # 3 + 15 and 2.5 + 10 dollars per million tokens.
            assert (await talk.stream()).cost_usd == pytest.approx({"anthropic": 18.0, "openai": 12.5}[wire])
        async with talking(wire, stub, model="no-such-model", pricing=Pricing("no-such-model", wire)) as talk:
            assert (await talk.stream()).cost_usd is None
        async with talking(wire, stub, model=priced) as talk:
            assert (await talk.stream()).cost_usd is None

    run(main)


# -- faults --------------------------------------------------------------------------------------

ONCE = Patience(retries=0)


def outcome(wire: Wire, stub: StubServer, behaviour: Behaviour, **more: Any) -> tuple[Exception, list[str]]:
    """What a single attempt raises, and what was heard before."""
    stub.script(behaviour)
    heard: list[str] = []

    async def main() -> Exception:
        async with talking(wire, stub, patience=ONCE, **more) as talk:
            with pytest.raises(Exception) as raised:  # noqa: PT011
                await talk.stream()
            heard.extend(talk.heard)
            return raised.value

    return run(main), heard


@both_wires
@pytest.mark.parametrize(
    ("status", "error", "retriable"),
    [
        (400, RequestRejected, False),
        (401, KeyRefused, False),
        (403, KeyRefused, False),
        (404, RequestRejected, False),
        (408, ProviderDown, True),
        (409, ProviderDown, True),
        (413, RequestRejected, False),
        (422, RequestRejected, False),
        (429, RateLimited, True),
        (500, ProviderDown, True),
        (503, ProviderDown, True),
        (529, ProviderDown, True),
    ],
)
def test_each_status_is_its_own_failure(
    wire: Wire, status: int, error: type[ProviderFailed], retriable: bool, stub: StubServer
) -> None:
    raised, heard = outcome(wire, stub, Behaviour(status=status, error_message="no luck today"))
    assert type(raised) is error
    assert isinstance(raised, ProviderFailed)
    assert (raised.status, raised.retriable) == (status, retriable)
    assert "no luck today" in str(raised)
    assert heard == []


@both_wires
def test_a_proxy_that_answers_in_html_is_a_failure_too(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(status=502, error_body="<html>Bad Gateway</html>"))
    assert type(raised) is ProviderDown


@both_wires
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_is_cut_breaks_the_reply(wire: Wire, reset: bool, stub: StubServer) -> None:
    raised, heard = outcome(wire, stub, Behaviour(text="One two three four.", cut_after=2, reset=reset))
    assert type(raised) is StreamBroken
    if not reset:
        assert "".join(heard) == "One two"


@both_wires
def test_a_reply_without_an_end_is_no_reply(wire: Wire, stub: StubServer) -> None:
    raised, heard = outcome(wire, stub, Behaviour(text="One two three four.", truncate_after=4))
    assert type(raised) is StreamBroken
    assert "".join(heard) == "One two three four."


@both_wires
def test_a_reply_that_falls_silent_is_given_up(wire: Wire, stub: StubServer) -> None:
    raised, heard = outcome(wire, stub, Behaviour(text="One two three.", stall_after=1), stall_seconds=0.3)
    assert type(raised) is StreamStalled
    assert "".join(heard) == "One"
    stub.wait(lambda s: s.open_streams == 0)


@both_wires
def test_keep_alives_alone_do_not_keep_a_reply_alive(wire: Wire, stub: StubServer) -> None:
    behaviour = Behaviour(text="One two three.", stall_after=1, stall_ping=0.05)
    raised, heard = outcome(wire, stub, behaviour, stall_seconds=0.4)
    assert type(raised) is StreamStalled
    assert "".join(heard) == "One"


@both_wires
def test_a_server_that_repeats_the_key_is_not_quoted(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(
        wire, stub, Behaviour(status=401, error_message="Incorrect key provided: secret-key-123")
    )
    assert "Incorrect key provided: ***" in str(raised)


@both_wires
def test_a_server_that_repeats_the_key_within_the_stream_is_not_quoted(wire: Wire, stub: StubServer) -> None:
    said = "x" * 490 + " secret-key-123"
    raised, _ = outcome(wire, stub, Behaviour(text="One.", error_event_after=1, error_message=said))
    assert type(raised) is ProviderDown
    assert "secret" not in str(raised)


def test_a_listener_that_fails_is_not_the_connections_fault(stub: StubServer) -> None:
    async def main() -> None:
        async with talking("openai", stub) as talk:
            with pytest.raises(BrokenPipeError):
                await talk.model.stream(asked(), _broken)

    run(main)


def _broken(_: str) -> None:
    raise BrokenPipeError


@both_wires
def test_a_server_that_never_begins_is_unreachable(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(header_delay=60), stall_seconds=0.3)
    assert type(raised) is Unreachable


@both_wires
def test_an_error_within_the_stream_is_a_failure(wire: Wire, stub: StubServer) -> None:
    raised, heard = outcome(wire, stub, Behaviour(text="One two three.", error_event_after=1))
    assert type(raised) is ProviderDown
    assert "".join(heard) == "One"


@both_wires
def test_garbage_within_the_stream_breaks_the_reply(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(text="One two three.", garbage_after=1))
    assert type(raised) is StreamBroken


@both_wires
def test_a_refusal_is_told_apart_from_an_answer(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(text="", stop="refused"))
    assert type(raised) is ReplyRefused


@both_wires
def test_a_reply_without_a_word_is_an_error(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(text=" \n"))
    assert type(raised) is ReplyEmpty


@both_wires
def test_nobody_listening_is_unreachable(wire: Wire) -> None:
    async def main() -> None:
        nowhere = "http://127.0.0.1:9"
        there = (
            AnthropicProvider(api_key="x", base_url=nowhere)
            if wire == "anthropic"
            else OpenAIProvider(api_key="x", base_url=nowhere)
        )
        try:
            with pytest.raises(Unreachable):
                await Model(ModelName(wire, "m"), there, patience=ONCE).stream(asked())
        finally:
            await there.close()

    run(main)


@both_wires
def test_without_a_key_nothing_is_sent(wire: Wire, stub: StubServer) -> None:
    async def main() -> None:
        there = (
            AnthropicProvider(base_url=stub.anthropic_base_url)
            if wire == "anthropic"
            else OpenAIProvider(base_url=stub.openai_base_url)
        )
        try:
            with pytest.raises(KeyRefused, match="no API key"):
                await Model(ModelName(wire, "m"), there, patience=ONCE).stream(asked())
        finally:
            await there.close()

    run(main)
    assert stub.requests == []


# -- retries -------------------------------------------------------------------------------------


@both_wires
def test_what_may_succeed_later_is_tried_again(wire: Wire, stub: StubServer) -> None:
    stub.script(
        Behaviour(status=529),
        Behaviour(status=500),
        Behaviour(text="One two.", cut_after=0),
        Behaviour(text="Yes."),
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            reply = await talk.stream()
            assert (reply.text, reply.attempts) == ("Yes.", 4)
            assert [why for _, why in talk.told] == ["ProviderDown", "ProviderDown", "StreamBroken"]
            first, second, third = talk.waits.seconds
            assert 0.375 <= first <= 0.5
            assert 0.75 <= second <= 1.0
            assert 1.5 <= third <= 2.0

    run(main)


@both_wires
@pytest.mark.parametrize(("said", "waited"), [(7, 7.0), ("0.25", 0.25)])
def test_the_servers_retry_after_is_honoured(
    wire: Wire, said: float | str, waited: float, stub: StubServer
) -> None:
    stub.script(Behaviour(status=429, retry_after=said), Behaviour(text="Yes."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            await talk.stream()
            assert talk.waits.seconds == [waited]

    run(main)


@both_wires
def test_a_retry_after_beyond_all_patience_is_passed_on(wire: Wire, stub: StubServer) -> None:
    raised, _ = outcome(wire, stub, Behaviour(status=429, retry_after=3600))
    assert isinstance(raised, RateLimited)
    assert raised.retry_after == 3600
    assert len(stub.requests) == 1


@both_wires
@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_cannot_succeed_is_not_tried_again(wire: Wire, status: int, stub: StubServer) -> None:
    stub.script(Behaviour(status=status))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(ProviderFailed):
                await talk.stream()

    run(main)
    assert len(stub.requests) == 1


@both_wires
def test_patience_ends(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(status=500)

    async def main() -> None:
        async with talking(wire, stub, patience=Patience(retries=2)) as talk:
            with pytest.raises(ProviderDown):
                await talk.stream()

    run(main)
    assert len(stub.requests) == 3


@both_wires
def test_a_reply_that_was_begun_is_never_begun_again_unseen(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text="One two three.", cut_after=1), Behaviour(text="Never said."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(StreamBroken):
                await talk.stream()
            assert "".join(talk.heard) == "One"

    run(main)
    assert len(stub.requests) == 1


# -- cancellation --------------------------------------------------------------------------------


@both_wires
@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(text="word " * 2000, pace=100),
        Behaviour(text="One two.", stall_after=1),
        Behaviour(text="One.", first_token_delay=60),
        Behaviour(text="One.", header_delay=60),
    ],
    ids=["speaking", "stalled", "thinking", "not begun"],
)
def test_cancelling_closes_the_upstream(wire: Wire, behaviour: Behaviour, stub: StubServer) -> None:
    stub.script(Behaviour(text="Warm."), behaviour)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            await talk.stream()
            task = asyncio.create_task(talk.stream())
            await stub.wait_for(lambda s: len(s.requests) == 2 and s.open_streams == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await stub.wait_for(lambda s: s.clients_left == 1 and s.open_streams == 0)

    run(main)


@both_wires
def test_eight_streams_run_at_once_over_one_client(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(text="One two three four five.", first_token_delay=0.2)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            replies = await asyncio.gather(*(talk.model.stream(asked()) for _ in range(8)))
            assert {reply.text for reply in replies} == {"One two three four five."}

    run(main)
    assert stub.max_open_streams == 8


# -- typed drafts --------------------------------------------------------------------------------


@both_wires
def test_a_draft_goes_through_the_providers_own_schema(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(json_text='{"level": "complex", "reasoning": "Two systems."}'))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            draft = await talk.model.draft(asked(), Triage)
            assert draft.value == Triage(level="complex", reasoning="Two systems.")
            assert draft.reply.attempts == 1

    run(main)
    schema = stub.requests[0].schema
    assert schema is not None
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["level", "reasoning"]
    assert "maxLength" not in schema["properties"]["reasoning"]
    assert "at most 200 characters" in schema["properties"]["reasoning"]["description"]


@both_wires
def test_an_invalid_draft_is_returned_once_with_the_reason(wire: Wire, stub: StubServer) -> None:
    stub.script(
        Behaviour(json_text='{"level": "impossible", "reasoning": "?"}', usage=Spent(10, 5)),
        Behaviour(json_text='{"level": "complex", "reasoning": "Two systems."}', usage=Spent(20, 7)),
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            draft = await talk.model.draft(asked(), Triage)
            assert draft.value.level == "complex"
            assert draft.reply.attempts == 2
            assert (draft.reply.usage.input_tokens, draft.reply.usage.output_tokens) == (30, 12)

    run(main)
    second = [m for m in stub.requests[1].messages if m["role"] != "system"]
    assert [m["role"] for m in second] == ["user", "assistant", "user"]
    assert second[1]["content"] == '{"level": "impossible", "reasoning": "?"}'
    assert "level: has to match the pattern" in second[2]["content"]


@both_wires
@pytest.mark.parametrize(
    ("raw", "stop", "problem"),
    [
        ("I would say complex.", "end", "is no valid JSON"),
        ('{"level": "complex"}', "end", "reasoning: is missing"),
        ('{"level": "compl', "limit", "cut off at its limit of 1024 tokens"),
    ],
)
def test_a_second_invalid_draft_is_an_error_that_shows_the_raw_text(
    wire: Wire, raw: str, stop: Any, problem: str, stub: StubServer
) -> None:
    stub.default = Behaviour(json_text=raw, stop=stop)

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(DraftInvalid) as raised:
                await talk.model.draft(asked(), Triage)
            assert raised.value.raw == raw
            assert problem in str(raised.value)

    run(main)
    assert len(stub.requests) == 2


@both_wires
def test_after_the_last_asking_an_invalid_draft_is_not_returned(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(json_text="I would say complex.")

    async def main() -> None:
        async with talking(wire, stub) as talk:
            with pytest.raises(DraftInvalid):
                await talk.model.draft(asked(last=True), Triage)

    run(main)
    assert len(stub.requests) == 1


@both_wires
def test_a_server_without_schema_support_gets_a_forced_tool(wire: Wire, stub: StubServer) -> None:
    refused = {"anthropic": "output_config", "openai": "response_format"}[wire]
    answer = Behaviour(
        json_text='{"level": "complex", "reasoning": "Two systems."}', reject_params=(refused,)
    )
    stub.default = answer

    async def main() -> None:
        async with talking(wire, stub, model="an-older-model") as talk:
            for _ in range(2):
                draft = await talk.model.draft(asked(), Triage)
                assert draft.value.reasoning == "Two systems."

    run(main)
    # The first draft learned it; the second one is right at once.
    assert [request.forced_tool for request in stub.requests] == [None, "Triage", "Triage"]


@both_wires
def test_an_empty_draft_is_returned_once_too(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text=""), Behaviour(json_text='{"level": "complex", "reasoning": "Two systems."}'))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.model.draft(asked(), Triage)).reply.attempts == 2

    run(main)


@both_wires
def test_a_draft_that_breaks_is_tried_again_since_nobody_heard_it(wire: Wire, stub: StubServer) -> None:
    whole = '{"level": "complex", "reasoning": "Two systems."}'
    stub.script(Behaviour(json_text=whole, cut_after=2), Behaviour(json_text=whole))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.model.draft(asked(), Triage)).reply.attempts == 2

    run(main)


# -- tools ---------------------------------------------------------------------------------------


class Read(BaseModel):
    path: str


async def _read(wanted: Read) -> str:
    if wanted.path == "gone.md":
        raise ToolFault("gone.md does not exist. There is: proposal.md.")
    return f"content of {wanted.path}"


READ = Tool("read_file", "Reads a file.", Read, _read)


@both_wires
def test_tools_are_run_until_the_model_answers(wire: Wire, stub: StubServer) -> None:
    stub.script(
        Behaviour(
            text="Let me look.", tool_calls=(("read_file", {"path": "a.md"}), ("read_file", {"path": "b.md"}))
        ),
        Behaviour(text="Both are fine."),
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            reply = await talk.stream(asked(tools=(READ,)))
            assert reply.text == "Both are fine."
            assert "".join(talk.heard) == "Both are fine.", "what was said before the call is no answer"

    run(main)
    assert stub.requests[0].tools == ("read_file",)
    assert "content of a.md" in stub.requests[1].said
    assert "content of b.md" in stub.requests[1].said


@both_wires
@pytest.mark.parametrize("length", [HELD_BACK - 1, HELD_BACK, HELD_BACK + 1])
def test_what_has_been_heard_before_a_call_is_said_to_be_void(
    wire: Wire, length: int, stub: StubServer
) -> None:
    """Shorter, it is not heard at all."""
    before = "x" * length
    stub.script(
        Behaviour(text=before, tool_calls=(("read_file", {"path": "a.md"}),)), Behaviour(text="It is fine.")
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            heard = talk.heard
            reply = await talk.model.stream(asked(tools=(READ,)), heard.append, None, heard.clear)
            assert reply.text == "".join(heard) == "It is fine."
            stub.script(
                Behaviour(text=before, tool_calls=(("read_file", {"path": "a.md"}),)),
                Behaviour(text="It is fine."),
            )
            heard.clear()
            await talk.stream(asked(tools=(READ,)))
            assert "".join(heard) == ("" if length < HELD_BACK else before) + "It is fine."

    run(main)


@both_wires
def test_a_reply_with_tools_that_are_not_called_is_heard_as_it_comes(wire: Wire, stub: StubServer) -> None:
    text = "word " * 200
    stub.script(Behaviour(text=text, pace=2_000))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            await talk.stream(asked(tools=(READ,)))
            assert "".join(talk.heard) == text
            assert HELD_BACK <= len(talk.heard[0]) < len(text)

    run(main)


@both_wires
def test_what_is_held_back_and_breaks_off_is_tried_again(wire: Wire, stub: StubServer) -> None:
    stub.script(Behaviour(text="Nobody has heard this.", cut_after=3), Behaviour(text="It is fine."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream(asked(tools=(READ,)))).attempts == 2
            assert "".join(talk.heard) == "It is fine."

    run(main)


@both_wires
@pytest.mark.parametrize("draft", [False, True])
def test_a_model_that_may_use_no_more_tools_is_made_to_answer(
    wire: Wire, draft: bool, stub: StubServer
) -> None:
    stub.script(
        Behaviour(tool_calls=(("read_file", {"path": "a.md"}),)),
        Behaviour(json_text='{"level": "complex", "reasoning": "Two systems."}')
        if draft
        else Behaviour(text="Fine."),
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            request = asked(tools=(READ,), may_use_tools=lambda: len(stub.requests) < 1)
            if draft:
                await talk.model.draft(request, Triage)
            else:
                await talk.stream(request)

    run(main)
    first, last = (request.body.get("tool_choice") for request in stub.requests)
    assert first is None
    assert last == {"anthropic": {"type": "none"}, "openai": "none"}[wire]
    assert stub.requests[1].tools == ("read_file",), "the conversation speaks of it"


@both_wires
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read_file", {"path": "gone.md"}, "gone.md does not exist"),
        ("read_file", {"file": "a.md"}, "path: is missing"),
        ("read_file", '{"path": ', "Input not accepted"),
        ("delete_file", {"path": "a.md"}, "There is no tool 'delete_file'. Tools: read_file."),
    ],
)
def test_a_model_is_told_what_was_wrong_with_its_tool_call(
    wire: Wire, name: str, arguments: Any, told: str, stub: StubServer
) -> None:
    stub.script(Behaviour(tool_calls=((name, arguments),)), Behaviour(text="I see."))

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.stream(asked(tools=(READ,)))).text == "I see."

    run(main)
    assert told in stub.requests[1].said


@both_wires
def test_a_model_that_never_stops_calling_tools_is_stopped(wire: Wire, stub: StubServer) -> None:
    stub.default = Behaviour(tool_calls=(("read_file", {"path": "a.md"}),))

    async def main() -> None:
        async with talking(wire, stub, tool_rounds=3) as talk:
            with pytest.raises(ToolLoopTooLong):
                await talk.stream(asked(tools=(READ,)))

    run(main)
    assert len(stub.requests) == 3


def test_signed_thinking_goes_back_unchanged_within_a_tool_loop(stub: StubServer) -> None:
    stub.script(
        Behaviour(thinking="I should look.", tool_calls=(("read_file", {"path": "a.md"}),)),
        Behaviour(text="Fine."),
    )

    async def main() -> None:
        async with talking("anthropic", stub) as talk:
            await talk.stream(asked(tools=(READ,)))

    run(main)
    blocks = stub.requests[1].messages[1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
    assert blocks[0]["thinking"] == "I should look."
    assert blocks[0]["signature"]
    assert blocks[1]["input"] == {"path": "a.md"}


@both_wires
def test_a_draft_may_use_tools_first(wire: Wire, stub: StubServer) -> None:
    stub.script(
        Behaviour(tool_calls=(("read_file", {"path": "a.md"}),)),
        Behaviour(json_text='{"level": "complex", "reasoning": "Two systems."}'),
    )

    async def main() -> None:
        async with talking(wire, stub) as talk:
            assert (await talk.model.draft(asked(tools=(READ,)), Triage)).value.level == "complex"

    run(main)


# -- what models differ in -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "temperature", "thinking", "max_tokens"),
    [
        ("claude-sonnet-5-5", None, {"type": "between_tools"}, 1024),
        ("claude-opus-5-5", None, None, 1024 + 8192),
        ("claude-haiku-5-5", None, {"type": "disabled"}, 1024),
        ("claude-opus-5", None, {"type": "disabled"}, 1024),
        ("claude-opus-4-7", None, None, 1024),
        ("claude-opus-4-6", 0.7, None, 1024),
        ("claude-sonnet-4-6", 0.7, None, 1024),
        ("claude-haiku-4-5", 0.7, None, 1024),
    ],
)
def test_claude_models_get_what_they_take(
    model: str, temperature: float | None, thinking: Any, max_tokens: int, stub: StubServer
) -> None:
    async def main() -> None:
        async with talking("anthropic", stub, model=model) as talk:
            await talk.stream()

    run(main)
    body = stub.requests[0].body
    assert body.get("temperature") == temperature
    assert body.get("thinking") == thinking
    assert body["max_tokens"] == max_tokens
    always_on = model == "claude-opus-5-5"
    assert body.get("output_config") == ({"effort": "low"} if always_on else None)


@pytest.mark.parametrize(
    ("model", "compatible", "expected"),
    [
        ("gpt-5.6", False, {"reasoning_effort": "none", "max_completion_tokens": 1024}),
        ("gpt-5", False, {"reasoning_effort": "minimal", "max_completion_tokens": 1024 + 8192}),
        ("o3-mini", False, {"reasoning_effort": "low", "max_completion_tokens": 1024 + 8192}),
        ("gpt-4o", False, {"temperature": 0.7, "max_completion_tokens": 1024}),
        ("gpt-5-chat-latest", False, {"temperature": 0.7, "max_completion_tokens": 1024}),
        ("llama4:8b", True, {"temperature": 0.7, "max_tokens": 1024}),
        ("qwen3:4b", True, {"temperature": 0.7, "max_tokens": 1024 + 8192}),
    ],
)
def test_openai_models_get_what_they_take(
    model: str, compatible: bool, expected: dict[str, Any], stub: StubServer
) -> None:
    async def main() -> None:
        async with talking("openai", stub, model=model, compatible=compatible) as talk:
            await talk.stream()

    run(main)
    body = stub.requests[0].body
    varying = ("temperature", "reasoning_effort", "max_tokens", "max_completion_tokens")
    assert {key: body[key] for key in varying if key in body} == expected


@pytest.mark.parametrize(
    ("wire", "model", "refused"),
    [
        ("anthropic", "claude-haiku-4-5", ("temperature",)),
        ("anthropic", "claude-sonnet-5-5", ("thinking",)),
        ("openai", "a-model", ("temperature",)),
        ("openai", "a-model", ("max_tokens",)),
        ("openai", "gpt-5.6", ("reasoning_effort",)),
        ("openai", "a-model", ("stream_options",)),
        ("openai", "a-model", ("temperature", "max_tokens", "stream_options")),
    ],
)
def test_a_field_that_a_server_refuses_by_name_is_left_out_from_then_on(
    wire: Wire, model: str, refused: tuple[str, ...], stub: StubServer
) -> None:
    stub.default = Behaviour(text="Yes.", reject_params=refused)

    async def main() -> None:
        async with talking(wire, stub, model=model) as talk:
            assert (await talk.stream()).text == "Yes."
            sent = len(stub.requests)
            assert sent > 1
            assert (await talk.stream()).text == "Yes."
            assert len(stub.requests) == sent + 1
            assert talk.waits.seconds == []

    run(main)
    assert not set(refused) & set(stub.requests[-1].body)


def test_thinking_that_cannot_be_switched_off_is_given_room(stub: StubServer) -> None:
    stub.default = Behaviour(text="Yes.", reject_params=("thinking",))

    async def main() -> None:
        async with talking("anthropic", stub) as talk:
            await talk.stream()

    run(main)
    last = stub.requests[-1].body
    assert last["max_tokens"] == 1024 + 8192
    assert last["output_config"] == {"effort": "low"}
