"""The design's points: found by rule, and covered by a review one by one, or it is returned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from moot.changes import binding, history, prompts
from moot.changes.binding import Binding
from moot.changes.decisions import Deciding
from moot.changes.folder import ChangeFolder
from moot.changes.points import (
    Covered,
    Point,
    State,
    as_state,
    faults,
    in_words,
    of_design,
    points,
    spell_out,
)
from moot.changes.prompts import Known
from moot.changes.review_block import Issue, Severity
from moot.changes.review_shapes import IssueGiven, PointGiven
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes
from moot.changes.tasks import tasks
from moot.core.ledger import Decided, Kind
from moot.errors import InvalidInput
from moot.evidence.items import Evidence
from moot.llm.messages import ToolFault
from moot.llm.protocol import Call
from tests.support.change import write_change
from tests.support.changes import STAMP, at_work, drafted, silent

DESIGN = """\
# Expense export

## Idea

We must export 3 things.

## Approach: A command

One module, no more. Tradeoffs: none.

## Command line

The command is `shop export --from DATE`. It reads all expenses. A bad date ends with exit code 2:

- Assumed: dates are ISO.
  - The time zone is UTC.
- CSV

> Dates must be quoted.

```
a date must be in code
```

| option | meaning |
| --- | --- |
| --from | the first day |

## When things go wrong

The file is left as it was. Nobody is told.

## Batches

1. **One**: it must be first.
"""
DECIDED = (
    Decided("a", Kind.REJECTED, "A database", "person", "triage"),
    Decided("b", Kind.OPEN, "The name of the file", "person", "questions"),
    Decided("c", Kind.DECIDED, "CSV only", "person", "questions"),
)


def found(design: str, decided: Sequence[Decided] = ()) -> list[tuple[str, str, str]]:
    text = binding.render(Binding(design, tuple(decided)))
    return [(point.id, point.text, point.place) for point in points(text)]


def test_items_and_sentences_that_can_be_checked_are_points_and_what_was_decided_is() -> None:
    line = "Command line"
    assert found(DESIGN, DECIDED) == [
        ("P1", "One module, no more.", "Approach: A command"),
        ("P2", "The command is `shop export --from DATE`.", line),
        ("P3", "Assumed: dates are ISO.", line),
        ("P4", "The time zone is UTC.", line),
        ("P5", "CSV", line),
        ("P6", "--from | the first day", line),
        ("P7", "The file is left as it was.", "When things go wrong"),
        ("P8", "Nobody is told.", "When things go wrong"),
        ("D1", "Rejected: A database", "decided so far"),
        ("D3", "CSV only", "decided so far"),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "A bad date ends with exit code 2.",
        "Dates MUST be ISO.",
        "**Assumed:** people know the format.",
        "At most one file is written.",
        "It never asks.",
        "The field `day` is the day.",
        "No test posts anything.",
        "README.md shows how.",
        "docs/format.md lists the fields.",
    ],
)
def test_a_sentence_that_says_what_must_be_is_a_point(sentence: str) -> None:
    assert found(f"# X\n\n## Part\n\nIt is nice. {sentence} It is good.\n") == [("P1", sentence, "Part")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "It prints `Ticket 3: no text (429). Please ring 555.` A failed text is never sent again.",
            ["It prints `Ticket 3: no text (429). Please ring 555.`", "A failed text is never sent again."],
        ),
        (
            "The text is `Ready. Ticket 3.` It names no customer.",
            ["The text is `Ready. Ticket 3.`", "It names no customer."],
        ),
        ("It prints ``a. B `c. D` e`` and ends.", ["It prints ``a. B `c. D` e`` and ends."]),
        ('It says "never." Then it must end.', ['It says "never."', "Then it must end."]),
        ("One ` is a sign. It must end.", ["It must end."]),
    ],
)
def test_nothing_in_code_ends_a_sentence(words: str, expected: list[str]) -> None:
    assert [text for _, text, _ in found(f"# X\n\n## Part\n\n{words}\n")] == expected


def test_what_an_approach_costs_is_no_point() -> None:
    assert found("# X\n\n## Approach\n\nTradeoffs: At most 3 can wait. It never ends.\n") == []


def test_a_coding_agent_is_given_the_points_of_the_design_alone() -> None:
    text = binding.render(Binding(DESIGN, DECIDED))
    assert [point.id for point in of_design(points(text))] == [f"P{n}" for n in range(1, 9)]
    told = prompts.task("x", "moot/changes/x", tasks("- [ ] one\n"), 1, "", known=Known(points(text)))
    assert "- P8: Nobody is told." in told
    assert "CSV only" not in told, "it is among what is told, with who decided it"


def test_a_coding_agent_is_pointed_to_a_design_of_decisions_alone() -> None:
    text = binding.render(Binding(decided=DECIDED))
    told = prompts.task("x", "moot/changes/x", tasks("- [ ] one\n"), 1, "", known=Known(points(text)))
    assert "The design in `moot/changes/x/design.md` binds the change: keep to it." in told


def test_evidence_has_no_points_and_without_a_design_there_are_none() -> None:
    must = Evidence("a.txt", "a.txt", "sha256:1", "text/plain", "- Dates must be ISO.")
    assert points(binding.render(Binding(evidence=(must,)))) == ()
    assert points("") == ()


def test_a_file_written_by_hand_has_points_too() -> None:
    assert points("# Mine\n\n- One file\n") == (Point("P1", "One file", "Mine"),)


def test_in_words_each_stands_below_its_section() -> None:
    listed = in_words([Point("P1", "a", "One"), Point("P2", "b", "One"), Point("D1", "c", "Two")])
    assert listed == "One:\n- P1: a\n- P2: b\nTwo:\n- D1: c"


@pytest.mark.parametrize(("written", "state"), [("Covered", State.COVERED), ("**missing**", State.MISSING)])
def test_a_state_is_read_tolerantly(written: str, state: State) -> None:
    assert as_state(written) is state


def test_a_state_is_not_guessed() -> None:
    with pytest.raises(InvalidInput, match="'partly' is none of covered, missing, contradicted, elsewhere"):
        as_state("partly")


# -- what a review says of them ------------------------------------------------------------------

TWO = (Point("P1", "One file"), Point("P2", "Exit code 2"))
HIGH = Issue(Severity.HIGH, "P2 is missing: nothing says which exit code.", "specs/x.md", "Say it.")


def test_a_review_that_accounts_for_each_point_has_no_fault() -> None:
    said = (Covered("P1", State.COVERED, "tasks.md"), Covered("P2", State.MISSING))
    assert faults(TWO, said, (HIGH,), ()) == []


def test_what_is_wrong_with_coverage_is_said_at_once() -> None:
    said = (
        Covered("P1", State.COVERED),
        Covered("P1", State.ELSEWHERE, "there"),
        Covered("P2", State.CONTRADICTED, "tasks.md"),
        Covered("P9", State.COVERED, "x"),
    )
    low = Issue(Severity.LOW, "P2 is contradicted.")
    assert faults(TWO, said, (low,), ()) == [
        "there is no point P9",
        "P1 is in the coverage twice",
        "P1 is covered: say where that is seen",
        "P2 is contradicted: raise a High issue whose description names P2",
    ]


def test_one_id_is_not_taken_for_another() -> None:
    twelve = Issue(Severity.HIGH, "P21 is missing")
    assert faults(TWO, (Covered("P2", State.MISSING),), (twelve,), ()) != []


def test_a_point_whose_issue_the_person_has_dismissed_needs_none() -> None:
    assert faults(TWO, (Covered("P2", State.MISSING),), (), ("P2 is missing: no exit code.",)) == []


def test_a_point_is_spelled_out_where_it_is_named() -> None:
    found = (*TWO, Point("D2", "x" * 200))
    said = "P2 and P21 are contradicted; P2 is not said. See D2."
    spelled = f"P2 (Exit code 2) and P21 are contradicted; P2 is not said. See D2 ({'x' * 159}…)."
    assert spell_out(said, found) == spelled
    assert spell_out(spelled, found) == spelled, "once is enough"


# -- a reviewer ----------------------------------------------------------------------------------

COVERED = [PointGiven(point="P1", state="covered", where="specs/sign-in.md")]
MISSING = IssueGiven(
    severity="High",
    description="P2 is missing.",
    location="tasks.md",
    recommendation="Add it.",
    quote="## Summary",
)


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", tmp_path / "project" / "moot" / "changes" / "feat-auth")
    write_change(folder.path, "proposed")
    folder.bind(Binding("# X\n\n## Part\n\n- One file\n- A bad date ends with exit code 2.\n"))
    return folder


def at_review(folder: ChangeFolder) -> ReviewTools:
    run = folder.begin_run("codex", "gpt")
    tools = ReviewTools(folder, folder.path.parents[2], lambda: STAMP, silent, run)
    tools.give()
    return tools


def test_who_revises_knows_the_points_by_the_names_that_reviewers_have_for_them(folder: ChangeFolder) -> None:
    calls: list[Call] = []

    def reply(call: Call) -> str:
        calls.append(call)
        return drafted()

    async def repropose() -> None:
        async with at_work(folder.path.parents[2], [reply]) as moot:
            await Changes(moot).repropose(folder.id, "Mend P2.", silent)

    asyncio.run(repropose())
    assert "- P2: A bad date ends with exit code 2." in "\n".join(calls[0].shared)


def test_a_review_without_coverage_is_returned_with_the_points_that_it_lacks(folder: ChangeFolder) -> None:
    tools = at_review(folder)
    with pytest.raises(ToolFault, match=r"P1 \(One file\); P2 \(A bad date ends with exit code 2\.\)"):
        tools.append_review("NEEDS_REVISION", [MISSING], "Not yet.")
    tools.append_review("NEEDS_REVISION", [MISSING], "Not yet.", COVERED)
    [made] = folder.reviews()
    assert made.record.coverage == (Covered("P1", State.COVERED, "specs/sign-in.md"),)
    assert made.block is not None, "the block is the same as ever"
    assert "coverage" not in made.block.raw


def test_nothing_is_approved_before_each_point_is_judged(folder: ChangeFolder) -> None:
    tools = at_review(folder)
    for _ in range(3):
        with pytest.raises(ToolFault, match=r"these points of the design: P2 \(A bad date"):
            tools.append_review("APPROVED", [], "Fine.", COVERED)
    done = PointGiven(point="P2", state="elsewhere", where="src/dates.py does it already")
    tools.append_review("APPROVED", [], "Fine.", [*COVERED, done])
    assert folder.state().reviews is not None
    assert [one.record.verdict for one in folder.reviews()] == ["APPROVED"]


def test_a_missing_point_is_a_high_issue(folder: ChangeFolder) -> None:
    tools = at_review(folder)
    missing = PointGiven(point="P2", state="missing", where="")
    with pytest.raises(ToolFault, match="P2 is missing: raise a High issue whose description names P2"):
        tools.append_review("APPROVED", [], "Fine.", [*COVERED, missing])
    tools.append_review("NEEDS_REVISION", [MISSING], "Not yet.", [*COVERED, missing])
    [made] = folder.reviews()
    assert made.block is not None
    assert "P2 (A bad date ends with exit code 2.) is missing." in made.block.raw, (
        "as whoever reads it needs it"
    )


def test_once_dismissed_by_the_person_it_does_not_stand_in_the_way(folder: ChangeFolder) -> None:
    missing = PointGiven(point="P2", state="missing", where="")
    at_review(folder).append_review("NEEDS_REVISION", [MISSING], "Not yet.", [*COVERED, missing])

    async def dismiss() -> None:
        async with at_work(folder.path.parents[2]) as moot:
            changes = Changes(moot)
            run = folder.state().run
            assert run is not None
            changes.count_review(folder, run.id)
            Deciding(changes).dismiss(folder.id, 1, "The next change does it.", silent)

    asyncio.run(dismiss())
    at_review(folder).append_review("APPROVED", [], "Fine.", [*COVERED, missing])
    dismissed = (
        "the issue “P2 (A bad date ends with exit code 2.) is missing.” is dismissed, because: The next "
        "change does it."
    )
    assert dismissed in [entry.text for entry in history.decided(folder)]


def test_a_reviewer_of_a_change_without_a_design_covers_nothing(tmp_path: Path) -> None:
    plain = ChangeFolder("feat-auth", tmp_path / "project" / "moot" / "changes" / "feat-auth")
    write_change(plain.path, "proposed")
    tools = at_review(plain)
    with pytest.raises(ToolFault, match="there is no point P1"):
        tools.append_review("APPROVED", [], "Fine.", COVERED)
    tools.append_review("APPROVED", [], "Fine.")
    state: dict[str, Any] = {"reviews": (plain.path / "STATE.yaml").read_text(encoding="utf-8")}
    assert "coverage" not in state["reviews"]
