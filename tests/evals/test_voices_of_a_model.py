"""Voices of a model, told apart in transcripts that the command has made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.evaluation import tally
from evals.transcripts import Reply, Transcript
from evals.voice.__main__ import EXAMPLES
from evals.voice.evaluation import AT_STEPS, AT_THE_TABLE, EVALUATION
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.analysis import WORDS
from tests.support.judged import figures, is_better, judge, typed
from tests.support.planted import word_of


def stored(kind: str) -> list[Transcript]:
    """The hand-written discussions, as the command would have kept them."""
    said = []
    for file in sorted(Path(EXAMPLES).glob("*.json")):
        lines = json.loads(file.read_text(encoding="utf-8"))
        replies = tuple(Reply(kind, {"text": line["text"]}, by=line["speaker"]) for line in lines)
        said.append(Transcript("voice", file.stem, replies))
    return said


@pytest.mark.parametrize(
    ("kind", "measure"), [("PersonaContributed", AT_THE_TABLE), ("StepOpened", AT_STEPS)]
)
def test_the_hand_written_discussions_are_told_apart(kind: str, measure: str) -> None:
    counted = tally(EVALUATION.score(stored(kind)))
    assert {name: (one.right, one.total) for name, one in counted.items()} == {measure: (54, 54)}


def test_the_order_of_transcripts_makes_no_difference() -> None:
    said = stored("StepOpened")
    before, after = tally(EVALUATION.score(said)), tally(EVALUATION.score(said[::-1]))
    assert before[AT_STEPS].right == after[AT_STEPS].right


def test_one_transcript_has_no_figure() -> None:
    assert EVALUATION.score(stored("StepOpened")[:1]) == []


def of_three_voices(request: Recorded) -> Behaviour:
    """Everybody in the words of their own, never the same twice."""
    name = next((name for name in WORDS if f"You are {name}" in request.said), "Maya")
    at_the_table = "You sit at a table" in request.said
    own = WORDS[name][request.number % len(WORDS[name])] if at_the_table else " ".join(WORDS[name])
    return typed(request, f"{own} {word_of(str(request.number))}.", missing=[], follow_up="", changes=False)


def of_one_voice(request: Recorded) -> Behaviour:
    """Everybody in the same words."""
    own = [words[request.number % len(words)] for words in WORDS.values()][request.number % 3]
    return typed(request, f"{own} {word_of(str(request.number))}.", missing=[], follow_up="", changes=False)


def test_a_model_of_three_voices_scores_higher_than_one_of_one(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("offline", "late-orders")
    good = judge(EVALUATION, of_three_voices, stub, monkeypatch, some)
    poor = judge(EVALUATION, of_one_voice, stub, monkeypatch, some)
    assert [one.failed for one in (*good.failed, *poor.failed)] == []
    assert is_better(good, poor), (figures(good), figures(poor))
    assert {reply.by for one in good.held for reply in one.replies if reply.kind == "StepOpened"} == {
        "business-analyst",
        "solutions-architect",
        "system-designer",
    }
