"""What a plan names of what was decided where it comes from: every number is looked up, and none is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.changes import binding, history, points, prompts, proposal, tracing
from moot.changes.binding import Binding
from moot.changes.folder import ChangeFolder
from moot.changes.origins import made_from
from moot.changes.proposal import ProposalDraft
from moot.core.handover import Origin
from moot.core.ledger import Decided, Kind
from moot.files.layout import Workspace
from tests.support.change import DRAFT

ORIGIN = Origin("analysis", "offline-mode", "Offline mode")


def entry(number: int, kind: Kind, text: str) -> Decided:
    return Decided(f"k{number}", kind, text, "Maya's notes", "01-01", number)


ENTRIES = (
    entry(1, Kind.SAID, "It must never be lost."),
    entry(2, Kind.DECIDED, "It is kept on the device."),
    entry(4, Kind.REJECTED, "SQLite."),
    entry(5, Kind.OPEN, "For how long."),
    entry(9, Kind.DECIDED, "It is sent in the order of sale."),
)
DESIGN = binding.render(Binding(decided=ENTRIES, origin=ORIGIN))
SPEC = """\
# S

## Requirements

### R1

It MUST be kept. (D2)

### R2

It MUST be sent.

_From analysis offline-mode: D9_
"""
TASKS = "# Tasks\n\n- [ ] Keep it (from D2 and D9)\n"
SAYS_OPEN = "# P\n\n## Impact\n\nD5 stays open.\n"


def messages(spec: str = SPEC, tasks: str = TASKS, says: str = SAYS_OPEN, design: str = DESIGN) -> list[str]:
    found = tracing.findings(design, says, {"specs/s.md": spec}, tasks)
    return [f"{one.file}:{one.line}: {one.level}: {one.message}" for one in found]


def test_nothing_is_said_of_a_plan_that_takes_up_what_was_decided() -> None:
    assert messages() == []
    assert messages(SPEC.replace("D2", "D77"), design="") == [], "nor of one that comes from nowhere"
    assert messages(SPEC.replace("D2", "D77"), design=DESIGN.replace("moot:from", "moot:form")) == []


def test_a_number_that_does_not_exist_is_an_error_where_it_stands() -> None:
    problem = "which does not exist: there is D1 to D9"
    assert messages(SPEC.replace("(D2)", "(D2, D3)")) == [f"specs/s.md:5: error: R1 names D3, {problem}"]
    assert messages(tasks=TASKS.replace("D9", "D10")) == [f"tasks.md:3: error: task 1 names D10, {problem}"]
    assert messages(SPEC.replace("mode: D9", "mode: D9, P1")) == [
        f"specs/s.md:9: error: R2 names P1, {problem}"
    ]


def test_a_decision_that_nothing_takes_up_is_said_unless_the_proposal_names_it() -> None:
    unkept = (SPEC.replace(" (D2)", ""), TASKS.replace("D2 and ", ""))
    assert messages(*unkept) == [
        "design.md:17: warning: D2 is taken up by no requirement and no task: “It is kept on the device.”"
    ]
    assert messages(*unkept, says=SAYS_OPEN + "D1–D3 are for later.\n") == []
    assert messages(*unkept, says=SAYS_OPEN + "D20 is for later.\n") != []


def test_what_was_left_open_is_decided_by_no_requirement_and_said_in_the_proposal() -> None:
    assert messages(SPEC.replace("D9_", "D9, D5_")) == [
        "specs/s.md:9: warning: R2 carries out D5, which was left open: nobody has decided it"
    ]
    assert messages(says="# P\n") == [
        "design.md:19: warning: D5 was left open, and the proposal does not say so: “For how long.”"
    ]


@pytest.mark.parametrize("words", ["Vitamin D3 is fine.", "See (D3.js).", "(D3 of the manual)", "ID3 and D3"])
def test_what_only_looks_like_a_number_is_none(words: str) -> None:
    assert messages(SPEC.replace("It MUST be sent.", f"It MUST be sent. {words}")) == []


def test_other_sections_and_fences_name_nothing() -> None:
    assert messages(f"{SPEC}\n## Notes\n\n### Old\n\nNever. (D77)\n") == []
    assert messages(f"{SPEC}\n```\n### R3\n\n```\n") == []


# -- drafts --------------------------------------------------------------------------------------


def draft(*requirements: str, **fields: Any) -> dict[str, Any]:
    spec = {**DRAFT["specs"][0], "requirements": list(requirements)}
    return {**DRAFT, "specs": [spec], **fields}


GOOD = draft("Keep it. (D2)", tasks=["Send it (D9)"], left_open=[{"entry": "d5", "meanwhile": "for ever."}])


def test_a_drafter_hears_of_all_that_is_wrong_and_only_once_of_what_may_have_a_reason() -> None:
    shape = tracing.fitting(DESIGN, ProposalDraft)
    assert shape.model_json_schema() == ProposalDraft.model_json_schema()
    shape.model_validate(GOOD)
    bad = draft("Keep it. (D5, D7)", left_open=[{"entry": "D2", "meanwhile": "x"}])
    with pytest.raises(ValidationError) as refused:
        shape.model_validate(bad)
    for said in (
        "R1 of sign-in names D7, which does not exist",
        "R1 of sign-in carries out D5",
        "left_open has D2, which was not left open",
        "D2 is taken up by no requirement",
        "D9 is taken up by no requirement",
        "D5 was left open, and the proposal does not say so",
    ):
        assert said in str(refused.value)
    with pytest.raises(ValidationError, match="names D7, which does not exist"):
        shape.model_validate(bad)
    # A second time, what is left out may have a reason.
    shape.model_validate(draft("Keep it."))


def test_a_change_from_nowhere_is_drafted_as_ever() -> None:
    assert tracing.fitting("", ProposalDraft) is ProposalDraft
    plain = ProposalDraft.model_validate(draft("Keep it. (D2)"))
    assert tracing.spell_out("# A design\n", plain) is plain


def spelt(**fields: Any) -> ProposalDraft:
    return tracing.spell_out(DESIGN, ProposalDraft.model_validate({**GOOD, **fields}))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Keep it. (D2, D9)", "Keep it.\n\n_From analysis offline-mode: D2, D9_"),
        ("Keep it (from d2 and D9).", "Keep it.\n\n_From analysis offline-mode: D2, D9_"),
        ("Keep it.\n\n_From analysis offline-mode: D2_", "Keep it.\n\n_From analysis offline-mode: D2_"),
        ("Keep it. (D9)\n\n_From board-1: D2_", "Keep it.\n\n_From analysis offline-mode: D9, D2_"),
        ("Keep it (D2) and send it.", "Keep it (D2) and send it."),
        ("Keep it.", "Keep it."),
        ("(D2)", "(D2)"),
    ],
)
def test_a_requirement_says_in_a_line_of_its_own_where_it_comes_from(written: str, kept: str) -> None:
    once = spelt(specs=draft(written)["specs"])
    assert once.specs[0].requirements == [kept]
    again = tracing.spell_out(DESIGN, once)
    assert again.specs[0].requirements == [kept], "and a revision that repeats it says it once"
    [place, *_] = tracing.places(proposal.render_specs(once), "")
    assert set(place.names) == {name for name in ("D2", "D9") if name.lower() in written.lower()}


def test_a_modified_requirement_says_it_too() -> None:
    modified = {**GOOD["specs"][0], "modified": [{"title": "Login", "text": "It MUST be sent. (D9)"}]}
    [spec] = spelt(specs=[modified]).specs
    assert spec.modified[0].text == "It MUST be sent.\n\n_From analysis offline-mode: D9_"


LEFT = (
    "**Left open in the item offline-mode ('Offline mode'), and not decided here**\n\n"
    "- D5. Open: For how long. (Maya's notes, at 01-01) In this plan: "
)


def test_the_program_names_what_was_left_open_whatever_the_drafter_says() -> None:
    said = spelt(impact="Small.").impact
    assert said == f"Small.\n\n{LEFT}for ever."
    assert spelt(impact="Small.", left_open=[]).impact == f"Small.\n\n{LEFT}not said."
    assert spelt(impact=f"{said}\n- D5. Open: Again.").impact == said, "what is repeated is said once"
    assert spelt(impact=f"{said}\n\nAnd more.").impact == f"Small.\n\nAnd more.\n\n{LEFT}for ever."


def test_nothing_left_open_is_not_mentioned() -> None:
    settled = binding.render(Binding(decided=ENTRIES[:3], origin=ORIGIN))
    was = f"Small.\n\n{LEFT}for ever."
    revised = tracing.spell_out(settled, ProposalDraft.model_validate({**GOOD, "impact": was}))
    assert revised.impact == "Small."


@given(st.lists(st.sampled_from(["D2", "D9", "D1", "D4"]), min_size=1, max_size=4, unique=True), st.text())
def test_whatever_a_requirement_says_its_numbers_are_found(names: list[str], words: str) -> None:
    text = f"{words} It MUST hold. ({', '.join(names)})"
    drafted = spelt(specs=draft(text)["specs"])
    [place] = tracing.places(proposal.render_specs(drafted), "")
    assert set(names) <= set(place.names)


# -- for reviewers -------------------------------------------------------------------------------


def test_decisions_are_points_and_the_words_that_they_were_made_of_are_not() -> None:
    assert [one.id for one in points.points(DESIGN)] == ["D2", "D4", "D9"]
    plain = binding.render(Binding(decided=ENTRIES))
    assert [one.id for one in points.points(plain)] == ["D1", "D2", "D4", "D9"]


def test_a_reviewer_is_told_which_requirements_name_a_point() -> None:
    marked = tracing.mark(DESIGN, points.points(DESIGN), "D4 is out.", {"specs/s.md": SPEC}, TASKS)
    assert [one.text.partition(" [")[2] for one in marked] == [
        "named by specs/s.md, R1; tasks.md, task 1]",
        "named by no requirement and no task, but the proposal names it]",
        "named by specs/s.md, R2; tasks.md, task 1]",
    ]
    assert tracing.mark("", marked, "", {}, "") == marked
    told = prompts.review("x", prompts.Known(marked, origin=ORIGIN))
    assert "The plan was made from the item offline-mode ('Offline mode')" in told
    assert "[named by specs/s.md, R1; tasks.md, task 1]" in told
    assert "The plan was made from" not in prompts.review("x", prompts.Known(marked))


# -- and back ------------------------------------------------------------------------------------


def test_a_session_says_which_changes_were_made_from_it(tmp_path: Any) -> None:
    workspace = Workspace.at(tmp_path)
    for name, origin in (("a", ORIGIN), ("b", Origin("board", "offline-mode")), ("c", None), ("d", ORIGIN)):
        folder = ChangeFolder(name, workspace.changes / name)
        folder.path.mkdir(parents=True)
        folder.bind(Binding(decided=ENTRIES, origin=origin))
    (workspace.archive / "2026-11-20-old").mkdir(parents=True)
    (workspace.archive / "2026-11-20-old" / "design.md").write_text(DESIGN, encoding="utf-8")
    (workspace.changes / "d" / "STATE.yaml").write_text("phase: [", encoding="utf-8")
    assert [str(one) for one in made_from(workspace, "analysis", "offline-mode")] == [
        "2026-11-20-old (archived)", "a (proposed)",
    ]  # fmt: skip
    assert made_from(workspace, "analysis", "another") == ()
    assert history.origin(ChangeFolder("a", workspace.changes / "a")) == ORIGIN
