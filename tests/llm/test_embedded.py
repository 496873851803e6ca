"""The embedded model, with real generations of the built-in weights."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from moot.errors import NoLocalModel, RequestRejected
from moot.llm.embedded.engine import LocalProvider
from moot.llm.embedded.grammar import Grammar
from moot.llm.embedded.small_model import (
    first_sentence,
    has_sentence,
    is_garbled,
    is_sensible,
    plain,
    short_messages,
)
from moot.llm.embedded.weights import Weights, find_weights
from moot.llm.messages import Message, ModelSaid, OnText, ToolAnswered, ToolCall, ToolSpec, UserSaid, deaf
from moot.llm.protocol import Call, Schema, Turn

BUILTIN = find_weights(None, Path("nowhere"))
AS_IF_LARGE = Weights(BUILTIN.path, "as-if-large", "configured", tiny=False)
PERSONA = (
    "You are Mara, a sceptical staff engineer who has lived through two failed rewrites. You look for hidden "
    "assumptions and risks that nobody has measured."
)
QUESTION = UserSaid("Should we rewrite our billing service in Rust this quarter?")
OPENERS = (
    "The assumption I would attack first is that",
    "What worries me most is that",
    "My recommendation is to",
)


def call(*messages: Message, **fields: Any) -> Call:
    return Call("local", PERSONA, messages or (QUESTION,), fields.pop("max_tokens", 300), **fields)


@pytest.fixture(scope="module")
def tiny() -> Iterator[LocalProvider]:
    provider = LocalProvider(BUILTIN)
    yield provider
    asyncio.run(provider.close())


@pytest.fixture(scope="module")
def large() -> Iterator[LocalProvider]:
    """The same weights, treated as if they were larger ones."""
    provider = LocalProvider(AS_IF_LARGE)
    yield provider
    asyncio.run(provider.close())


def exchange(provider: LocalProvider, asked: Call, hear: OnText = deaf) -> Turn:
    return asyncio.run(provider.exchange(asked, hear))


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "moot-local"]


# -- plain text ----------------------------------------------------------------------------------


def test_voices_speak_at_once_and_each_ends_its_sentences(
    tiny: LocalProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[list[str]] = [[] for _ in range(3)]
    threads: set[int] = set()

    def listener(voice: int) -> Callable[[str], None]:
        def hear(piece: str) -> None:
            heard[voice].append(piece)
            threads.add(threading.get_ident())

        return hear

    async def board() -> list[Turn]:
        return await asyncio.gather(
            *(tiny.exchange(call(openers=OPENERS[:2]), listener(voice)) for voice in range(3))
        )

    turns = asyncio.run(board())
    for turn, pieces in zip(turns, heard, strict=True):
        assert "".join(pieces) == turn.text
        assert pieces[0] == OPENERS[0]
        assert turn.text.startswith(OPENERS[0])
        assert turn.text[-1] in ".!?\"')"
        assert turn.stop == "end"
        assert turn.usage.input_tokens > 0
        assert turn.usage.output_tokens > len(turn.text.split()) - sum(len(o.split()) for o in OPENERS[:2])
    assert threads == {threading.get_ident()}
    assert len({turn.text for turn in turns}) == 3
    assert our_threads() == []
    assert capfd.readouterr() == ("", "")


def test_without_openers_it_speaks_with_its_own_and_ignores_tools(tiny: LocalProvider) -> None:
    tool = ToolSpec("look", "Look it up.", {"type": "object", "properties": {}})
    turn = exchange(tiny, call(tools=(tool,), max_tokens=1))
    assert turn.text.startswith("The strongest reason to do it is that ")
    assert turn.tool_calls == ()


def test_a_reply_that_was_begun_is_continued_and_not_repeated(tiny: LocalProvider) -> None:
    begun = ModelSaid("What worries me most is that the billing service")
    turn = exchange(tiny, call(QUESTION, begun))
    assert turn.text.strip()
    assert begun.text not in turn.text


def test_the_token_limit_ends_a_reply_between_sentences(tiny: LocalProvider) -> None:
    turn = exchange(tiny, call(openers=OPENERS, max_tokens=1))
    assert turn.stop == "limit"
    assert turn.text.startswith(OPENERS[0])
    assert OPENERS[1] not in turn.text


def test_a_very_long_question_still_gets_an_answer(tiny: LocalProvider) -> None:
    long = UserSaid(
        "Wir müssen über die Abrechnung sprechen, über Geld und Zeit. " * 400 + "Was nun, liebe Leute?"
    )
    turn = exchange(tiny, call(long, openers=OPENERS[:1]))
    assert turn.text.startswith(OPENERS[0])


def test_a_sentence_ends_at_its_stop_and_not_inside_a_number_or_an_abbreviation() -> None:
    assert (
        first_sentence(" it costs 1.5 million, e.g. for staff. And then")
        == " it costs 1.5 million, e.g. for staff."
    )
    assert first_sentence(" it never ends") == ""
    assert not has_sentence(" it costs 10.")
    assert has_sentence(" it costs 10. Then")


@pytest.mark.parametrize(
    "sentence",
    [
        " no.",
        ' the plan is said to be "too late.',
        " you should use `std::mem` to write all of it.",
        " it is good and it is good and it is good for us.",
        " As an AI language model I have no view on this.",
        " the team said that it would be late again.",
        " you look for hidden assumptions and risks that nobody has measured.",
    ],
)
def test_a_sentence_that_is_short_code_repeated_or_an_echo_is_not_sensible(sentence: str) -> None:
    said = "What worries me is that the team said that it would be late again."
    assert not is_sensible(sentence, plain(f"{PERSONA} {said}"))


def test_a_sentence_about_the_question_is_sensible() -> None:
    assert is_sensible(" the current service already works well for our customers.", plain(PERSONA))


def test_stumbling_text_is_garbled_and_prose_is_not() -> None:
    assert is_garbled("We need the step step step to go on.")
    assert is_garbled("We need ZKMQWNGXVPJY.")
    assert is_garbled("We should wait, we should wait.")
    assert not is_garbled("We should wait until the PostgreSQL migration is done.")


def test_a_tiny_model_is_told_the_latest_message_and_who_it_is() -> None:
    told = short_messages(call(UserSaid("First."), ModelSaid("Yes."), UserSaid("x" * 5_000)), 1_000)
    assert [message["role"] for message in told] == ["system", "user"]
    assert told[0]["content"] == (
        "You are Mara, a sceptical staff engineer who has lived through two failed rewrites."
    )
    assert told[1]["content"] == "x" * 500 + " … " + "x" * 500


# -- typed drafts --------------------------------------------------------------------------------


class Triage(BaseModel):
    level: Literal["quick", "standard", "deep"]
    reasoning: Annotated[str, Field(max_length=60)]
    suggested_skips: Annotated[list[Annotated[str, Field(max_length=12)]], Field(max_length=1)]


class Option(BaseModel):
    name: Annotated[str, Field(min_length=3, max_length=12)]
    risk: Literal["low", "high"]
    weeks: Literal["one", "two"] | None


class Brief(BaseModel):
    id: Annotated[str, Field(max_length=6)]
    best: Option
    others: Annotated[list[Option], Field(max_length=1)]
    urgent: bool = False


class Questions(BaseModel):
    questions: Annotated[list[Annotated[str, Field(max_length=16)]], Field(min_length=3, max_length=5)]


class Unbounded(BaseModel):
    """What the drafts of flows look like: nothing says how long anything may be."""

    summary: str
    questions: list[str]
    options: Annotated[list[Option], Field(min_length=1)]


SHAPES: tuple[type[BaseModel], ...] = (Triage, Brief, Questions)


def draft(shape: type[BaseModel], *messages: Message) -> Call:
    return call(*messages, max_tokens=16, schema=Schema(shape.__name__, shape.model_json_schema()))


def test_drafts_of_three_shapes_at_once_are_all_valid(
    tiny: LocalProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []

    async def all_at_once() -> list[Turn]:
        return await asyncio.gather(*(tiny.exchange(draft(shape), heard.append) for shape in SHAPES))

    turns = asyncio.run(all_at_once())
    for shape, turn in zip(SHAPES, turns, strict=True):
        shape.model_validate_json(turn.text)
        assert turn.stop == "end"
        assert turn.usage.output_tokens > 0
    assert sorted(heard) == sorted(turn.text for turn in turns)
    assert capfd.readouterr() == ("", "")


def test_a_draft_of_a_shape_without_bounds_ends_in_whole_sentences(tiny: LocalProvider) -> None:
    written = Unbounded.model_validate_json(exchange(tiny, draft(Unbounded)).text)
    assert len(written.summary) <= 120
    assert written.summary.endswith(".")
    assert len(written.questions) <= 4
    assert all(question.endswith("?") for question in written.questions)
    assert len(written.options) <= 4


def test_larger_weights_draft_in_shape_too(large: LocalProvider) -> None:
    class Short(BaseModel):
        word: Annotated[str, Field(max_length=30)]
        level: Literal["low", "high"]

    turn = exchange(large, draft(Short), deaf)
    Short.model_validate_json(turn.text)


def test_a_sentence_that_was_broken_off_ends_at_a_whole_word() -> None:
    grammar = Grammar({"type": "string", "maxLength": 60}, plain=True, model="local")
    cut = "We should wait until the team has finished all of the migrat."
    assert len(cut) == 61
    cut = cut.replace("all of", "all o")
    assert grammar.finished({"a": [cut]}) == {"a": ["We should wait until the team has finished all o."]}
    whole = "We should wait until the team has finished."
    assert grammar.finished([whole, 3, None]) == [whole, 3, None]


def test_the_grammar_bounds_what_the_schema_leaves_open() -> None:
    schema = {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": {"$ref": "#/$defs/Name"}},
            "size": {"enum": ["S", "M"]},
        },
        "$defs": {"Name": {"type": "string", "maxLength": 5}},
    }
    name = r'"\"" [A-Z] [a-z ]{0,3} [a-z] "\""'
    assert Grammar(schema, plain=True, model="local").text.splitlines()[:2] == [
        r'root ::= "{" "\"names\":" "[" (item-1 ("," item-1){0,3})? "]" "," '
        r'"\"size\":" ("\"S\"" | "\"M\"") "}"',
        rf"item-1 ::= {name}",
    ]


class Leaf(BaseModel):
    words: list[str]
    more: list[str]


class Branch(BaseModel):
    leaves: list[Leaf]
    twigs: list[Leaf]


class Bush(BaseModel):
    branches: list[Branch]


def test_lists_within_lists_are_drafted_and_end(tiny: LocalProvider) -> None:
    turn = exchange(tiny, draft(Bush))
    bush = Bush.model_validate_json(turn.text)
    assert len(bush.branches) <= 4
    assert all(len(branch.leaves) <= 2 for branch in bush.branches)


class Tree(BaseModel):
    children: list[Tree]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (Tree.model_json_schema(), "Tree contains itself"),
        ({"type": "string", "format": "date-time"}, "cannot have a pattern or a format"),
        ({"type": "string", "pattern": "^a$"}, "cannot have a pattern or a format"),
        ({"type": "integer"}, "unknown kind"),
    ],
)
def test_a_shape_that_cannot_be_promised_is_refused(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(RequestRejected, match=problem):
        Grammar(schema, plain=True, model="local")


# -- the ordinary path of larger weights ---------------------------------------------------------


def test_larger_weights_stream_as_they_speak_and_stop_at_the_limit(large: LocalProvider) -> None:
    pieces: list[str] = []
    asked = call(max_tokens=12, temperature=0.2, openers=OPENERS)
    turn = exchange(large, asked, pieces.append)
    assert "".join(pieces) == turn.text
    assert len(pieces) > 3
    assert (turn.stop, turn.usage.output_tokens) == ("limit", 12)
    assert not turn.text.startswith(OPENERS[0])


def test_larger_weights_take_a_conversation_with_tools(large: LocalProvider) -> None:
    tool = ToolSpec("look", "Look it up.", {"type": "object", "properties": {"word": {"type": "string"}}})
    used = ToolCall("call-1", "look", '{"word": "rust"}')
    conversation = (
        QUESTION,
        ModelSaid("", (used,)),
        ToolAnswered("call-1", "A language."),
        UserSaid("And now?"),
    )
    turn = exchange(large, call(*conversation, tools=(tool,), max_tokens=8))
    assert 0 < turn.usage.output_tokens <= 8


def test_a_conversation_beyond_the_context_is_rejected(large: LocalProvider) -> None:
    with pytest.raises(RequestRejected, match="exceeds the available context size"):
        exchange(large, call(UserSaid("word " * 20_000)))


# -- the engine's life ---------------------------------------------------------------------------


def test_cancelling_stops_the_generation_and_frees_its_thread(large: LocalProvider) -> None:
    heard: list[str] = []

    async def cancelled() -> int:
        begun = asyncio.Event()

        def hear(piece: str) -> None:
            heard.append(piece)
            begun.set()

        task = asyncio.create_task(large.exchange(call(max_tokens=4_000), hear))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert our_threads() == []
        return len(heard)

    at_cancel = asyncio.run(cancelled())
    assert exchange(large, call(max_tokens=4)).usage.output_tokens == 4
    assert len(heard) == at_cancel < 200


def test_a_listener_that_fails_fails_nobody_else(
    large: LocalProvider, caplog: pytest.LogCaptureFixture
) -> None:
    def hear(_: str) -> None:
        raise ValueError("no ears")

    turn = exchange(large, call(max_tokens=3), hear)
    assert turn.usage.output_tokens == 3
    assert "no ears" in caplog.text


def test_the_weights_are_loaded_once_for_all_first_calls_and_again_after_closing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from moot.llm.embedded import engine

    loads: list[Weights] = []
    load = engine._load

    def counted(weights: Weights) -> Any:
        loads.append(weights)
        return load(weights)

    monkeypatch.setattr(engine, "_load", counted)

    provider = LocalProvider(AS_IF_LARGE)

    async def four_at_once() -> None:
        await asyncio.gather(*(provider.exchange(call(max_tokens=2), deaf) for _ in range(4)))
        await provider.close()
        await provider.exchange(call(max_tokens=2), deaf)
        await provider.close()

    asyncio.run(four_at_once())
    assert loads == [AS_IF_LARGE, AS_IF_LARGE]


def test_weights_that_do_not_load_are_no_local_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1_000))
    weights = Weights(broken, "broken", "configured", tiny=True)
    with pytest.raises(NoLocalModel, match=r"broken: the weights .* do not load"):
        exchange(LocalProvider(weights), call())
    assert capfd.readouterr() == ("", "")


LEAVING = """
import asyncio, sys
from pathlib import Path
from moot.llm.embedded.engine import LocalProvider
from moot.llm.messages import UserSaid
from moot.llm.protocol import Call
from moot.llm.embedded.weights import Weights

weights = Weights(Path({path!r}), "builtin", "builtin", tiny=False)
loop = asyncio.new_event_loop()
provider = LocalProvider(weights)

def hear(piece):
    print("heard", flush=True)
    loop.stop()

call = Call("local", "", (UserSaid("Tell me a very long story."),), 4000)
task = loop.create_task(provider.exchange(call, hear))
loop.run_forever()
{end}
"""


@pytest.mark.parametrize("end", ["", "loop.close()", "sys.exit(0)", "del provider, task, loop"])
def test_a_process_can_end_in_the_middle_of_a_generation(end: str) -> None:
    script = LEAVING.format(path=str(BUILTIN.path), end=end)
    left = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (left.returncode, left.stdout[:5]) == (0, "heard"), left.stderr


def test_importing_the_provider_does_not_import_the_engine() -> None:
    script = (
        "import sys, moot.llm.embedded.engine; print(sorted({'xllamacpp', 'aiohttp'} & set(sys.modules)))"
    )
    seen = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(seen.stdout) == []


def test_nobody_without_the_key_can_use_the_port_that_the_engine_opens(large: LocalProvider) -> None:
    exchange(large, call(max_tokens=1))
    assert large._server is not None
    address = large._server.listening_address
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}/v1/models")
    refused.value.close()
    assert refused.value.code == 401
