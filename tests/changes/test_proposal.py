from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.changes import review_block, tasks
from moot.changes.proposal import (
    Finding,
    ProposalDraft,
    ScenarioDraft,
    SpecDraft,
    check_proposal,
    check_reviews,
    check_spec,
    check_tasks,
    render_proposal,
    render_spec,
    render_tasks,
    spec_file_name,
    with_reviews,
)
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.files import markdown
from tests.support.hostile_markdown import documents, soup

PROPOSAL = """\
# Sign in

## Summary

People sign in with a passkey.

## Why

Passwords leak.

## What Changes

- A form
- A table of keys

## Impact

The users table.
"""

SPEC = """\
# Specification: Auth

## Overview

Keys instead of passwords.

## Requirements

### R1

Keys MUST expire.

## Acceptance Criteria

### Scenario: A good key

- **WHEN** a key is shown
- **THEN** the door opens
"""

DRAFT = ProposalDraft(
    title="Sign in",
    summary="People sign in with a passkey.",
    why="Passwords leak.",
    what_changes=["A form", "A table of keys"],
    impact="The users table.",
    specs=[
        SpecDraft(
            name="Auth",
            overview="Keys instead of passwords.",
            requirements=["Keys MUST expire."],
            scenarios=[ScenarioDraft(title="A good key", when=["a key is shown"], then=["the door opens"])],
        )
    ],
    tasks=["Add the form", "Add the table"],
)

REVIEW = Review(
    Verdict.REJECTED,
    (Issue(Severity.HIGH, "Keys never expire", "specs/auth.md", "Give them a lifetime"),),
    "No.",
    "now",
)
BLOCK = review_block.render(REVIEW)


def problems(findings: tuple[Finding, ...]) -> list[tuple[int, str, str]]:
    return [(finding.line, finding.level, finding.message) for finding in findings]


# -- checking ------------------------------------------------------------------------------------


def test_a_whole_change_has_no_findings() -> None:
    assert check_proposal(PROPOSAL) == ()
    assert check_spec(SPEC, "specs/auth.md") == ()
    assert check_tasks("- [x] done\n") == ()


def test_every_missing_section_is_named() -> None:
    assert check_proposal("# Sign in\n\n## Why\n\nx\n", "p.md") == (
        Finding("p.md", 1, "error", "the section '## Summary' is missing"),
        Finding("p.md", 1, "error", "the section '## What Changes' is missing"),
        Finding("p.md", 1, "error", "the section '## Impact' is missing"),
    )


@pytest.mark.parametrize(
    "content", ["", "<!-- what it is about -->", "<!--\n\nnever closed", "### Details\n\n### More", "\u00a0"]
)
def test_a_section_without_content_is_named_with_its_line(content: str) -> None:
    text = PROPOSAL.replace("The users table.", content)
    assert problems(check_proposal(text)) == [(16, "error", "the section '## Impact' is empty")]


@pytest.mark.parametrize(
    "content", ["x", "### Details\n\nx", "<!-- a --> b", "| a |\n| - |", "[a]: /b", "    code"]
)
def test_whatever_is_no_heading_and_no_comment_is_content(content: str) -> None:
    assert check_proposal(PROPOSAL.replace("The users table.", content)) == ()


def test_headings_count_whatever_their_case_and_marks_but_not_at_another_level() -> None:
    text = PROPOSAL.replace("## Summary", "## **SUMMARY** ##").replace("## Why", "# Why")
    assert problems(check_proposal(text)) == [(7, "error", "write this heading as '## Why'")]


def test_a_section_that_is_there_twice_is_a_warning() -> None:
    assert problems(check_proposal(PROPOSAL + "\n## Why\n")) == [
        (20, "warning", "the section '## Why' is there twice")
    ]


def test_what_stands_in_a_fence_or_in_a_review_is_no_section() -> None:
    hidden = "## Impact\n\nx\n"
    text = PROPOSAL.replace("## Impact\n\nThe users table.", f"```\n{hidden}```\n\n{BLOCK}\n")
    text += f"<!-- review:start -->\n{hidden}\n<!-- review:end -->\n"
    assert problems(check_proposal(text)) == [(1, "error", "the section '## Impact' is missing")]


def test_lines_are_those_of_the_file_below_a_review_too() -> None:
    text = PROPOSAL.replace("## Why\n\nPasswords leak.", f"{BLOCK}\n\n## Why\n").replace("\n", "\r\n")
    line = 7 + BLOCK.count("\n") + 2
    assert problems(check_proposal("\ufeff" + text)) == [(line, "error", "the section '## Why' is empty")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- **WHEN** a key is shown\n", "", [(15, "error", "the scenario has no WHEN")]),
        ("- **THEN** the door opens", "- **THEN**", [(15, "error", "the scenario has no THEN")]),
        ("- **THEN** the door opens", "- **THEN:** ", [(15, "error", "the scenario has no THEN")]),
        ("- **THEN** the", "- Thenceforth the", [(15, "error", "the scenario has no THEN")]),
        ("- **THEN** the door opens", "```\n**THEN** x\n```", [(15, "error", "the scenario has no THEN")]),
        ("### Scenario: A", "### A", [(13, "error", "no '### Scenario:' is below this heading")]),
        ("## Acceptance", "## Accepted", [(1, "error", "the section '## Acceptance Criteria' is missing")]),
        ("Keys instead of passwords.", "", [(3, "error", "the section '## Overview' is empty")]),
        ("- **WHEN** a key", "1. When: a key", []),
        ("- **WHEN** a key", "__when__ a key", []),
        ("- **WHEN** a key is shown", "GIVEN a door\nWHEN a key is shown", []),
        ("### Scenario: A", "### Doors\n\n#### scenario : A", []),
    ],
)
def test_a_spec_needs_scenarios_with_when_and_then(
    old: str, new: str, expected: list[tuple[int, str, str]]
) -> None:
    assert old in SPEC
    assert problems(check_spec(SPEC.replace(old, new), "specs/auth.md")) == expected


def test_each_scenario_is_checked_for_itself() -> None:
    text = SPEC + "\n### Scenario: A bad key\n\n- **THEN** nothing\n\n## Notes\n\n- **WHEN** x\n"
    assert problems(check_spec(text, "s.md")) == [(20, "error", "the scenario has no WHEN")]


@pytest.mark.parametrize("text", ["", "# Tasks\n\n- a\n", "```\n- [ ] a\n```\n", "> - [ ] a\n"])
def test_tasks_need_a_box(text: str) -> None:
    assert problems(check_tasks(text)) == [(1, "error", "there is no task: a line that begins with '- [ ] '")]


# -- checking reviews ----------------------------------------------------------------------------


def test_a_written_review_has_no_findings() -> None:
    assert check_reviews(review_block.append(PROPOSAL, REVIEW)) == ()


def test_no_review_is_an_error() -> None:
    assert check_reviews(PROPOSAL, "p.md") == (Finding("p.md", 1, "error", "there is no complete review"),)


def test_a_review_that_is_cut_off_is_an_error_in_the_line_where_it_begins() -> None:
    text = review_block.append(PROPOSAL, REVIEW)
    begins = PROPOSAL.count("\n") + 2
    cut_off = "the review that begins here is cut off: it has no end marker"
    assert problems(check_reviews(text[:-10])) == [
        (1, "error", "there is no complete review"),
        (begins, "error", cut_off),
    ]
    below = begins + BLOCK.count("\n") + 1
    assert problems(check_reviews(text + BLOCK[:100])) == [(below, "error", cut_off)]
    assert problems(check_reviews(review_block.append(text[:-10], REVIEW))) == [(begins, "warning", cut_off)]


def test_stray_markers_are_named() -> None:
    text = f"<!-- review:end -->\n\n{BLOCK}\n\n<div>\n<!-- review:start -->\n"
    below = BLOCK.count("\n") + 5
    assert problems(check_reviews(text)) == [
        (1, "warning", "no review begins above this end marker"),
        (below, "warning", "a review marker within other HTML does not count"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "level", "message"),
    [
        ("REJECTED", "maybe", 3, "error", "verdict: 'maybe' is none of APPROVED, NEEDS_REVISION, REJECTED"),
        ("High", "Critical", 10, "error", "issue 1: severity: 'Critical' is none of High, Medium, Low"),
        (
            "REJECTED",
            "APPROVED",
            3,
            "error",
            "APPROVED is not possible with a High issue: lower its severity or the verdict",
        ),
        ("High", "Low", 3, "error", "REJECTED needs a High issue or at least two Medium issues"),
        ("No.", "", 3, "error", "the summary is missing"),
        ("Keys never expire", "", 3, "error", "issue 1 has no description"),
        ("specs/auth.md", "", 3, "warning", "issue 1 has no location"),
        ("Give them a lifetime", "", 3, "warning", "issue 1 has no recommendation"),
        ("**Reviewed**: now", "", 3, "warning", "the review has no '**Reviewed**:' line with its time"),
        ("## Review\n", "", 3, "warning", "the review has no heading '## Review'"),
        ("### Issues\n", "", 3, "warning", "the review has no heading '### Issues'"),
    ],
)
def test_what_is_wrong_with_a_review_is_named(
    old: str, new: str, line: int, level: str, message: str
) -> None:
    assert BLOCK.count(old) == 1
    bad = BLOCK.replace(old, new)
    assert problems(check_reviews(f"# A\n\n{bad}\n")) == [(line, level, message)]
    # Another review below decides, and the mistake of the one above is no more than a warning.
    assert problems(check_reviews(f"# A\n\n{bad}\n\n{BLOCK}\n")) == [(line, "warning", message)]


# -- drafts --------------------------------------------------------------------------------------


def test_a_draft_is_written_as_it_should_read() -> None:
    assert render_proposal(DRAFT) == PROPOSAL
    assert render_spec(DRAFT.specs[0]) == SPEC
    assert render_tasks(DRAFT) == "# Tasks\n\n- [ ] Add the form\n- [ ] Add the table\n"


def test_a_spec_without_requirements_has_no_heading_for_them() -> None:
    spec = DRAFT.specs[0].model_copy(update={"requirements": []})
    assert render_spec(spec) == SPEC.replace("## Requirements\n\n### R1\n\nKeys MUST expire.\n\n", "")


@pytest.mark.parametrize(
    ("written", "rendered"),
    [
        ("one\r\ntwo  \r\n\r\n- list\n", "one\ntwo\n\n- list"),
        ("# a\n  ## b\n#hashtag\n#1\n#", "**a**\n  **b**\n#hashtag\n#1\n\\#"),
        ("### Left out ##\n\n- x\n\n# *a*\n## a #", "**Left out**\n\n- x\n\n\\# *a*\n**a**"),
        ("a\n---\nb\n===\n-", "a\n\\---\nb\n\\===\n\\-"),
        ("<div>\n</div>\n<!-- x -->\n<5 ms", "\\<div>\n\\</div>\n\\<!-- x -->\n<5 ms"),
        ("a <!-- Review:start --> b", "a <\\!-- Review:start --> b"),
        ("```py\n# kept\n---\n```\n# a", "```py\n# kept\n---\n```\n**a**"),
        ("~~~~ md\n```\n~~~", "~~~~ md\n```\n~~~\n~~~~"),
        ("```\n<!--review:start-->", "```\n<\\!--review:start-->\n```"),
        ("``` a`b\n# a", "\\``` a`b\n**a**"),
        ("- x\n  ```\n# a", "- x\n  \\```\n**a**"),
    ],
)
def test_prose_can_be_markdown_but_no_structure(written: str, rendered: str) -> None:
    draft = DRAFT.model_copy(update={"summary": written})
    assert render_proposal(draft) == PROPOSAL.replace("People sign in with a passkey.", rendered)


def test_titles_steps_and_tasks_are_single_lines() -> None:
    scenario = ScenarioDraft(title="a\n# b", when=["c\n\nd"], then=["e\r- f"])
    spec = DRAFT.specs[0].model_copy(update={"name": "n\n<!-- review:end -->", "scenarios": [scenario]})
    assert "# Specification: n <\\!-- review:end -->\n" in render_spec(spec)
    assert "### Scenario: a # b\n\n- **WHEN** c d\n- **THEN** e - f\n" in render_spec(spec)
    draft = DRAFT.model_copy(update={"title": " a \n## b", "tasks": ["one\n- [ ] two"]})
    assert render_proposal(draft).startswith("# a ## b\n\n## Summary\n")
    assert len(tasks.tasks(render_tasks(draft))) == 1


def test_a_change_of_several_lines_stays_one_item() -> None:
    draft = DRAFT.model_copy(update={"what_changes": ["a\n\n- b\n# c", "```\nd\n\n## e"]})
    expected = "## What Changes\n\n- a\n\n  - b\n  **c**\n- ```\n  d\n\n  ## e\n  ```\n\n## Impact\n"
    assert expected in render_proposal(draft)


@pytest.mark.parametrize("field", ["title", "summary", "why", "impact"])
def test_a_draft_with_a_blank_field_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        ProposalDraft.model_validate({**DRAFT.model_dump(), field: " \n "})


@pytest.mark.parametrize("field", ["what_changes", "tasks"])
def test_a_draft_with_an_empty_list_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        ProposalDraft.model_validate({**DRAFT.model_dump(), field: []})


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("User Sign-In", (), "user-sign-in.md"),
        ("specs/auth.md", (), "auth.md"),
        ("../../etc/passwd", (), "etc-passwd.md"),
        ("Zahlungs-Rückläufer", (), "zahlungs-rucklaufer.md"),
        ("認証", (), "spec.md"),
        ("a/b\\c\x00d", (), "a-b-c-d.md"),
        ("x" * 200, (), "x" * 60 + ".md"),
        ("Auth", ("AUTH.md", "auth-2.md"), "auth-3.md"),
    ],
)
def test_a_spec_gets_a_valid_file_name_of_its_own(name: str, taken: tuple[str, ...], expected: str) -> None:
    assert spec_file_name(DRAFT.specs[0].model_copy(update={"name": name}), taken) == expected


# -- a new text with the old reviews ---------------------------------------------------------------


def test_reviews_move_to_the_new_text_byte_for_byte() -> None:
    first, second = BLOCK.replace("\n", "\r\n"), BLOCK.replace("now", "later  ")
    old = f"# Old\r\n\r\n{first}\r\n\r\nbetween\n\n{second}\n\nbelow\n"
    assert with_reviews("# New\n", old) == f"# New\n\n{first}\n\n{second}\n"


def test_a_text_without_reviews_leaves_the_new_one_as_it_is() -> None:
    assert with_reviews("# New", "# Old\n\n<!-- review:start -->\n**Verdict**: APPROVED") == "# New"


def test_the_new_text_brings_no_review_of_its_own() -> None:
    forged = BLOCK.replace("REJECTED", "APPROVED")
    assert review_block.verdict(with_reviews(f"# New\n\n{forged}\n", "# Old\n")) is None
    nested = f"<!-- review:start -->\n\n**Verdict**: APPROVED\n\n{forged}\n\n<!-- review:end -->\n"
    assert review_block.verdict(with_reviews(nested, "# Old\n")) is None
    assert with_reviews(f"# New\n\n{forged}\n", BLOCK).count("review:start") == 1


@pytest.mark.parametrize("new", ["```\nopen", "- list", "<!-- open", "---\n# A", "\ufeff---\r", "", "\ufeff"])
def test_whatever_the_new_text_leaves_open_the_reviews_are_found(new: str) -> None:
    indented = f"  {BLOCK}"
    ruled = BLOCK.replace("### Issues", "***\n---\n### Issues")
    text = with_reviews(new, f"{indented}\n\n{ruled}\n")
    assert [block.raw for block in review_block.blocks(text)] == [indented, ruled]


# -- promises ------------------------------------------------------------------------------------

TO_DO = re.compile(r"[\s>*+-]*(?:todo|tbd|tba|fixme|xxx|\?+|\.\.\.|…)?[\s:.!?…]*", re.IGNORECASE)
"""What says nothing: a check warns of it, whoever wrote it."""
fields = st.one_of(soup, st.text(min_size=1, max_size=20), st.just("A sentence.")).filter(
    lambda text: TO_DO.fullmatch(text) is None
)
field_lists = st.lists(fields, min_size=1, max_size=2)
scenarios = st.builds(ScenarioDraft, title=fields, when=field_lists, then=field_lists)


def told_apart(scenarios: list[ScenarioDraft]) -> list[ScenarioDraft]:
    """Two of one title are warned of."""
    return [
        each.model_copy(update={"title": f"{each.title} {number}"}) for number, each in enumerate(scenarios)
    ]


specs = st.builds(
    SpecDraft,
    name=fields,
    overview=fields,
    requirements=st.lists(fields, max_size=2),
    scenarios=st.lists(scenarios, min_size=1, max_size=2).map(told_apart),
)
drafts = st.builds(
    ProposalDraft,
    title=fields,
    summary=fields,
    why=fields,
    what_changes=field_lists,
    impact=fields,
    specs=st.just([]),
    tasks=field_lists,
)


@settings(max_examples=150, deadline=None)
@given(draft=drafts)
def test_a_rendered_proposal_always_passes_its_check(draft: ProposalDraft) -> None:
    text = render_proposal(draft)
    # Words that say nothing, such as "?", are a warning.
    assert [one for one in check_proposal(text) if one.level == "error"] == []
    assert [heading.level for heading in markdown.headings(text)] == [1, 2, 2, 2, 2]
    assert not re.search(r"<!--\s*review\s*:", text, re.IGNORECASE)
    assert check_tasks(render_tasks(draft)) == ()
    assert len(tasks.tasks(render_tasks(draft))) == len(draft.tasks)
    appended = review_block.append(text, REVIEW)
    assert len(review_block.blocks(appended)) == 1
    assert appended.startswith(text)


@settings(max_examples=150, deadline=None)
@given(spec=specs)
def test_a_rendered_spec_always_passes_its_check(spec: SpecDraft) -> None:
    text = render_spec(spec)
    assert check_spec(text, "s.md") == ()
    expected = [1, 2, *([2] if spec.requirements else []), *[3] * len(spec.requirements), 2]
    assert [heading.level for heading in markdown.headings(text)] == [*expected, *[3] * len(spec.scenarios)]


@settings(max_examples=100, deadline=None)
@given(name=fields, taken=st.lists(st.sampled_from(["spec.md", "word.md", "word-2.md", "x.md"])))
def test_a_file_name_is_always_harmless_and_free(name: str, taken: list[str]) -> None:
    made = spec_file_name(DRAFT.specs[0].model_copy(update={"name": name}), taken)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}\.md", made)
    assert made not in taken


texts = st.one_of(soup, documents().map(lambda document: document.text))
summaries = st.one_of(soup, st.just("Fine."))
reviews = st.builds(
    Review,
    st.sampled_from(Verdict),
    st.lists(st.builds(Issue, st.sampled_from(Severity), soup), max_size=1).map(tuple),
    summaries,
    st.just("now"),
)
steps = st.lists(st.one_of(reviews, texts), max_size=5)


@settings(max_examples=150, deadline=None)
@given(text=texts, steps=steps)
@example(text="---\n", steps=[REVIEW, "---\n", REVIEW, "- a\n\n  ---"])
def test_no_review_is_ever_lost_and_the_last_one_decides(text: str, steps: list[Review | str]) -> None:
    kept = [block.raw for block in review_block.blocks(text)]
    last: Verdict | None = None
    for step in steps:
        if isinstance(step, Review):
            text = review_block.append(text, step)
            kept.append(review_block.blocks(text)[-1].raw)
            last = step.verdict
        else:
            text = with_reviews(step, text)
        assert [block.raw for block in review_block.blocks(text)] == kept
        assert last is None or review_block.verdict(text) is last
