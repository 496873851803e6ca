"""The embedded model, with real generations of the built-in weights."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field

from moot.errors import NoLocalModel, RequestRejected
from moot.gateway.grammar import Grammar
from moot.gateway.local import LocalProvider
from moot.gateway.protocol import (
    Call,
    Message,
    ModelSaid,
    Schema,
    ToolAnswered,
    ToolCall,
    ToolSpec,
    Turn,
    Usage,
    UserSaid,
    deaf,
)
from moot.gateway.tiny import first_sentence, has_sentence, is_garbled, is_sensible, plain, short_messages
from moot.gateway.weights import Weights, find_weights

T = TypeVar("T")

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


def with_provider(use: Callable[[LocalProvider], Awaitable[T]], weights: Weights = BUILTIN) -> T:
    async def run() -> T:
        provider = LocalProvider(weights)
        try:
            return await use(provider)
        finally:
            await provider.close()

    return asyncio.run(run())


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "moot-local"]


# -- plain text ----------------------------------------------------------------------------------


def test_eight_voices_speak_at_once_and_each_ends_its_sentences(capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[list[str]] = [[] for _ in range(8)]
    threads: set[int] = set()

    def listener(voice: int) -> Callable[[str], None]:
        def hear(piece: str) -> None:
            heard[voice].append(piece)
            threads.add(threading.get_ident())

        return hear

    async def use(provider: LocalProvider) -> list[Turn]:
        return await asyncio.gather(
            *(provider.exchange(call(openers=OPENERS), listener(voice)) for voice in range(8))
        )

    turns = with_provider(use)
    for turn, pieces in zip(turns, heard, strict=True):
        assert "".join(pieces) == turn.text
        assert pieces[0] == OPENERS[0]
        assert turn.text.startswith(OPENERS[0])
        assert turn.text[-1] in ".!?\"')"
        assert turn.stop == "end"
        assert turn.usage.input_tokens > 0
        assert turn.usage.output_tokens > len(turn.text.split()) - sum(len(o.split()) for o in OPENERS)
    assert threads == {threading.get_ident()}
    assert len({turn.text for turn in turns}) == 8
    assert our_threads() == []
    assert capfd.readouterr() == ("", "")


def test_without_openers_it_speaks_with_its_own_and_ignores_tools() -> None:
    tool = ToolSpec("look", "Look it up.", {"type": "object", "properties": {}})
    turn = with_provider(lambda provider: provider.exchange(call(tools=(tool,)), deaf))
    assert turn.text.startswith("The strongest reason to do it is that ")
    assert turn.tool_calls == ()


def test_a_reply_that_was_begun_is_continued_and_not_repeated() -> None:
    begun = ModelSaid("What worries me most is that the billing service")
    turn = with_provider(lambda provider: provider.exchange(call(QUESTION, begun), deaf))
    assert turn.text.strip()
    assert begun.text not in turn.text


def test_the_token_limit_ends_a_reply_between_sentences() -> None:
    turn = with_provider(lambda provider: provider.exchange(call(openers=OPENERS, max_tokens=1), deaf))
    assert turn.stop == "limit"
    assert turn.text.startswith(OPENERS[0])
    assert OPENERS[1] not in turn.text


def test_a_very_long_question_still_gets_an_answer() -> None:
    long = UserSaid(
        "Wir müssen über die Abrechnung sprechen, über Geld und Zeit. " * 400 + "Was nun, liebe Leute?"
    )
    turn = with_provider(lambda provider: provider.exchange(call(long, openers=OPENERS[:1]), deaf))
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
        " you should use `std::mem` to write all of it.",
        " it is good and it is good and it is good for us.",
        " As an AI language model I have no view on this.",
        " the team said that it would be late.",
        " you look for hidden assumptions and risks that nobody has measured.",
    ],
)
def test_a_sentence_that_is_short_code_repeated_or_an_echo_is_not_sensible(sentence: str) -> None:
    said = "What worries me is that the team said that it would be late."
    assert not is_sensible(sentence, plain(PERSONA), said)


def test_a_sentence_about_the_question_is_sensible() -> None:
    assert is_sensible(" the current service already works well for our customers.", plain(PERSONA), "")


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
    reasoning: Annotated[str, Field(max_length=80)]
    suggested_skips: Annotated[list[str], Field(max_length=1)]


class Option(BaseModel):
    name: Annotated[str, Field(min_length=3, max_length=20)]
    risk: Literal["low", "high"]
    likelihood: Annotated[float, Field(gt=0, lt=1)]
    weeks: Annotated[int, Field(ge=1, le=12)] | None


class Brief(BaseModel):
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=10)]
    problem: Annotated[str, Field(max_length=70)]
    options: Annotated[list[Option], Field(min_length=2, max_length=2)]
    urgent: bool = False


class Questions(BaseModel):
    questions: Annotated[list[Annotated[str, Field(max_length=64)]], Field(min_length=3, max_length=5)]


SHAPES: tuple[type[BaseModel], ...] = (Triage, Brief, Questions)


def draft(shape: type[BaseModel], *messages: Message) -> Call:
    return call(*messages, max_tokens=16, schema=Schema(shape.__name__, shape.model_json_schema()))


def test_fifty_drafts_of_three_shapes_are_all_valid(capfd: pytest.CaptureFixture[str]) -> None:
    asked = [SHAPES[number % 3] for number in range(50)]
    heard: list[str] = []

    async def use(provider: LocalProvider) -> list[Turn]:
        return await asyncio.gather(*(provider.exchange(draft(shape), heard.append) for shape in asked))

    turns = with_provider(use)
    for shape, turn in zip(asked, turns, strict=True):
        shape.model_validate_json(turn.text)
        assert turn.stop == "end"
        assert turn.usage.output_tokens > 0
    assert sorted(heard) == sorted(turn.text for turn in turns)
    assert capfd.readouterr() == ("", "")


def test_larger_weights_draft_in_shape_too() -> None:
    class Short(BaseModel):
        word: Annotated[str, Field(max_length=30)]
        level: Literal["low", "high"]

    turn = with_provider(lambda provider: provider.exchange(draft(Short), deaf), AS_IF_LARGE)
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
            "size": {"type": "integer", "exclusiveMinimum": 0, "maximum": 3},
        },
        "$defs": {"Name": {"type": "string", "maxLength": 5}},
    }
    name = r'"\"" [A-Z] [a-z ]{0,3} [a-z] "\""'
    assert Grammar(schema, plain=True, model="local").text.splitlines()[0] == (
        rf'root ::= "{{" "\"names\":" "[" ({name} ("," {name}){{0,3}})? "]" "," "\"size\":" ("1" | "2" | "3") "}}"'
    )


class Tree(BaseModel):
    children: list[Tree]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (Tree.model_json_schema(), "Tree contains itself"),
        ({"type": "string", "format": "date-time"}, "format date-time"),
        ({"type": "string", "pattern": "^(?!x).*$"}, "cannot have a string that matches"),
        ({"type": "stone"}, "unknown kind"),
    ],
)
def test_a_shape_that_cannot_be_promised_is_refused(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(RequestRejected, match=problem):
        Grammar(schema, plain=True, model="local")


# -- the ordinary path of larger weights ---------------------------------------------------------


def test_larger_weights_stream_as_they_speak_and_stop_at_the_limit() -> None:
    pieces: list[str] = []
    asked = call(max_tokens=12, temperature=0.2, openers=OPENERS)
    turn = with_provider(lambda provider: provider.exchange(asked, pieces.append), AS_IF_LARGE)
    assert "".join(pieces) == turn.text
    assert len(pieces) > 3
    assert (turn.stop, turn.usage.output_tokens) == ("limit", 12)
    assert not turn.text.startswith(OPENERS[0])


def test_larger_weights_take_a_conversation_with_tools() -> None:
    tool = ToolSpec("look", "Look it up.", {"type": "object", "properties": {"word": {"type": "string"}}})
    used = ToolCall("call-1", "look", '{"word": "rust"}')
    conversation = (
        QUESTION,
        ModelSaid("", (used,)),
        ToolAnswered("call-1", "A language."),
        UserSaid("And now?"),
    )
    turn = with_provider(
        lambda provider: provider.exchange(call(*conversation, tools=(tool,), max_tokens=8), deaf),
        AS_IF_LARGE,
    )
    assert 0 < turn.usage.output_tokens <= 8


def test_a_conversation_beyond_the_context_is_rejected() -> None:
    with pytest.raises(RequestRejected, match="exceeds the available context size"):
        with_provider(lambda provider: provider.exchange(call(UserSaid("word " * 20_000)), deaf), AS_IF_LARGE)


# -- the engine's life ---------------------------------------------------------------------------


def test_cancelling_stops_the_generation_and_frees_its_thread() -> None:
    async def use(provider: LocalProvider) -> tuple[int, int, Usage]:
        begun = asyncio.Event()
        heard: list[str] = []

        def hear(piece: str) -> None:
            heard.append(piece)
            begun.set()

        task = asyncio.create_task(provider.exchange(call(max_tokens=4_000), hear))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert our_threads() == []
        at_cancel = len(heard)
        # The engine still answers, and the cancelled voice stays silent.
        turn = await provider.exchange(call(max_tokens=4), deaf)
        return at_cancel, len(heard), turn.usage

    at_cancel, later, usage = with_provider(use, AS_IF_LARGE)
    assert at_cancel == later < 200
    assert usage.output_tokens == 4


def test_a_listener_that_fails_fails_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    def hear(_: str) -> None:
        raise ValueError("no ears")

    turn = with_provider(lambda provider: provider.exchange(call(max_tokens=3), hear), AS_IF_LARGE)
    assert turn.usage.output_tokens == 3
    assert "no ears" in caplog.text


def test_the_weights_are_loaded_once_for_all_first_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    from moot.gateway import local

    loads: list[Weights] = []
    load = local._load

    def counted(weights: Weights) -> Any:
        loads.append(weights)
        return load(weights)

    monkeypatch.setattr(local, "_load", counted)

    async def use(provider: LocalProvider) -> None:
        await asyncio.gather(*(provider.exchange(call(max_tokens=2), deaf) for _ in range(4)))

    with_provider(use, AS_IF_LARGE)
    assert loads == [AS_IF_LARGE]


def test_weights_that_do_not_load_are_no_local_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1_000))
    weights = Weights(broken, "broken", "configured", tiny=True)
    with pytest.raises(NoLocalModel, match=r"broken: the weights .* do not load"):
        with_provider(lambda provider: provider.exchange(call(), deaf), weights)
    assert capfd.readouterr() == ("", "")


def test_a_second_use_after_close_loads_again() -> None:
    async def use(provider: LocalProvider) -> int:
        await provider.exchange(call(max_tokens=2), deaf)
        await provider.close()
        return (await provider.exchange(call(max_tokens=2), deaf)).usage.output_tokens

    assert with_provider(use, AS_IF_LARGE) == 2


LEAVING = """
import asyncio, sys
from pathlib import Path
from moot.gateway.local import LocalProvider
from moot.gateway.protocol import Call, UserSaid
from moot.gateway.weights import Weights

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
    script = "import sys, moot.gateway.local; print(sorted({'xllamacpp', 'aiohttp'} & set(sys.modules)))"
    seen = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(seen.stdout) == []


def test_nobody_without_the_key_can_use_the_port_that_the_engine_opens() -> None:
    import urllib.error
    import urllib.request

    async def use(provider: LocalProvider) -> int:
        await provider.exchange(call(max_tokens=1), deaf)
        assert provider._server is not None
        address = provider._server.listening_address
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/v1/models")
        refused.value.close()
        return refused.value.code

    assert with_provider(use, AS_IF_LARGE) == 401
