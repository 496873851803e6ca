from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean

import msgspec
import pytest

from evals.report import interval
from evals.voice import transcripts
from evals.voice.__main__ import EXAMPLES, example_transcripts, first_names, main, samples
from evals.voice.identification import Identified, Result, Sample, identify
from evals.voice.transcripts import Contribution
from moot.core.flow import Usage
from moot.errors import FileDamaged
from moot.personas.library import load_library
from moot.roundtable.echoes import echoes
from moot.roundtable.events import (
    ContributionReturned,
    PersonaContributed,
    PersonaSilent,
    PersonSpokeUp,
    RoundtableOpened,
    Speaker,
)
from moot.text.forbidden_words import words_used

MAYA, ALEX, JORDAN = "business-analyst", "solutions-architect", "system-designer"
FILES = sorted(map(str, EXAMPLES.glob("*.json")))


@pytest.fixture(scope="module")
def examples() -> list[list[Sample]]:
    read = example_transcripts()
    return [samples(transcript, first_names(read)) for transcript in read]


# -- the examples --------------------------------------------------------------------------------


def test_the_examples_give_each_persona_the_same_room(examples: list[list[Sample]]) -> None:
    assert len(examples) >= 6
    for transcript in examples:
        assert sorted(speaker for speaker, _ in transcript) == sorted([MAYA, ALEX, JORDAN] * 3)


@pytest.mark.parametrize("file", FILES)
def test_the_examples_keep_the_rules_of_the_personas(file: str) -> None:
    library = load_library()
    said: list[str] = []
    for contribution in transcripts.read(Path(file)).contributions:
        persona = library.persona(contribution.speaker)
        assert words_used(persona.voice.forbidden.words, contribution.text) == ()
        assert persona.name.split()[0] not in contribution.text
        assert not echoes(contribution.text, said)
        said.append(contribution.text)


# -- telling speakers apart ----------------------------------------------------------------------


def test_the_three_voices_are_told_apart(examples: list[list[Sample]]) -> None:
    result = identify(examples)
    assert result.total() == 54
    assert result.accuracy() >= 0.9
    assert min(result.accuracy(speaker) for speaker in (MAYA, ALEX, JORDAN)) >= 0.8
    assert result.reaches_goal()


def test_shuffled_speakers_are_not(examples: list[list[Sample]]) -> None:
    found = []
    for seed in range(6):
        speakers = [speaker for transcript in examples for speaker, _ in transcript]
        random.Random(seed).shuffle(speakers)
        dealt = iter(speakers)
        found.append(identify([[(next(dealt), text) for _, text in one] for one in examples]).accuracy())
    assert mean(found) < 0.45
    assert max(found) < 0.6


def test_a_transcript_is_never_judged_by_itself() -> None:
    first = [("a", "zebra zebra"), ("b", "quagga quagga")]
    second = [("a", "quagga quagga"), ("b", "zebra zebra")]
    assert identify([first, second]).right() == 0


def test_what_is_known_beforehand_is_learnt_from_and_not_judged() -> None:
    known = [("a", "Who is it for?"), ("b", "`f(x) -> y`")]
    result = identify([[("b", "`g(x) -> z`"), ("a", "Who would see it?")]], known)
    assert result.identified == (Identified("b", "b"), Identified("a", "a"))


def test_results_count_right_and_wrong_per_speaker() -> None:
    result = Result((Identified("a", "a"), Identified("a", "b"), Identified("b", "b"), Identified("b", "b")))
    assert (result.right("a"), result.total("a"), result.accuracy("a")) == (1, 2, 0.5)
    assert (result.right(), result.total(), result.accuracy()) == (3, 4, 0.75)
    assert dict(result.taken_for("a")) == {"a": 1, "b": 1}
    assert not result.reaches_goal()


def test_the_goal_is_reached_at_exactly_80_percent() -> None:
    right, wrong = Identified("a", "a"), Identified("a", "b")
    assert Result((right,) * 4 + (wrong,)).reaches_goal()
    assert not Result((right,) * 79 + (wrong,) * 21).reaches_goal()


def test_the_interval_narrows_with_the_sample_and_knows_no_certainty() -> None:
    assert interval(8, 10) == pytest.approx((0.490, 0.943), abs=0.001)
    assert interval(80, 100) == pytest.approx((0.711, 0.867), abs=0.001)
    low, high = interval(10, 10)
    assert low == pytest.approx(0.722, abs=0.001)
    assert high == pytest.approx(1.0)


# -- reading and blinding ------------------------------------------------------------------------


def test_a_log_gives_what_personas_contributed_and_nothing_else(tmp_path: Path) -> None:
    bill = Usage("stub:m", 1, 1, None, 1)
    ida = Speaker("x", "Ida Berg", "Ida", "Planner", "Planner", "plans")
    opened = RoundtableOpened("01-01", "Scope", "item", (ida,), "x", 10, "2026-02-20T14:30:00Z", "")
    events = [
        opened,
        PersonaContributed("x", "Who is it for?", bill),
        PersonSpokeUp("Me."),
        PersonaSilent("x", bill, "echo", "For you."),
        ContributionReturned("x", "Your latency.", ("latency",), bill),
    ]
    log = tmp_path / "session.jsonl"
    log.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    read = transcripts.read(log)
    assert read.contributions == (Contribution("x", "Who is it for?"),)
    assert read.first_names == {"Ida"}


def test_json_gives_speakers_wherever_they_stand_but_neither_user_nor_program(tmp_path: Path) -> None:
    said = [
        {"speaker": "x", "text": "Who is it for?"},
        {"speaker": "User", "text": "Me."},
        {"speaker": "program", "text": "Wrapping up."},
        {"speaker": "y", "text": " "},
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"transcript": said}), encoding="utf-8")
    assert transcripts.read(file).contributions == (Contribution("x", "Who is it for?"),)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [("a.json", '[\n{"speaker": }]', 2), ("a.jsonl", '{"a": 1}\n{"half', 2), ("a.json", "[]", None)],
)
def test_a_file_that_cannot_be_judged_is_named(
    tmp_path: Path, name: str, content: str, line: int | None
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(FileDamaged) as caught:
        transcripts.read(tmp_path / name)
    assert caught.value.file == str(tmp_path / name)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Maya Chen (Business Analyst): Who is it for?", "Who is it for?"),
        ("**Maya Chen (BA):** Who is it for?", "Who is it for?"),
        ("Alex, what about Jordan's contract?", "Colleague, what about Colleague's contract?"),
        ("The contract (draft) says: no.", "The contract (draft) says: no."),
        ("Alexander is nobody here.", "Alexander is nobody here."),
    ],
)
def test_names_are_hidden(text: str, shown: str) -> None:
    assert transcripts.blind(text, {"Maya", "Alex", "Jordan"}) == shown


# -- the command ---------------------------------------------------------------------------------


def test_the_command_prints_accuracy_per_persona_and_the_goal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(FILES) == 0
    said = capsys.readouterr().out
    assert "business-analyst      100%   18 of 18" in said
    assert "overall               100%   54 of 54" in said
    assert "Guessing would give 33%." in said
    assert "The goal of 80% is reached." in said


def test_voices_that_are_alike_miss_the_goal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bland = "We should consider all perspectives and find a balanced solution for everyone involved."
    files = []
    for number in range(3):
        file = tmp_path / f"{number}.json"
        said = [{"speaker": speaker, "text": bland} for speaker in (MAYA, ALEX, JORDAN)]
        file.write_text(json.dumps(said), encoding="utf-8")
        files.append(str(file))
    assert main(["--json", *files]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["overall"]["accuracy"] == pytest.approx(1 / 3)
    assert result["reached"] is False
    assert result["personas"][JORDAN]["taken_for"] == {MAYA: 3}


def test_one_transcript_needs_the_examples_to_learn_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILES[0]]) == 2
    assert "--examples" in capsys.readouterr().err
    assert main([FILES[0], "--examples"]) == 0


def test_a_missing_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere.json"), FILES[0]]) == 2
    assert "nowhere.json" in capsys.readouterr().err
