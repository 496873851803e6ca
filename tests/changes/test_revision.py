"""A draft written over the text that it revises: what it has no place for stays where it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.changes import review_block, tasks
from moot.changes.proposal import ProposalDraft, check_proposal, check_spec, with_reviews
from moot.changes.revision import revise_proposal, revise_spec, revise_tasks
from moot.files import markdown
from tests.changes.test_proposal import BLOCK, DRAFT, PROPOSAL, SPEC, drafts
from tests.support.hostile_markdown import Nasty, documents

ALTERNATIVES = "## Alternatives\n\n* Magic links:  slow\n\n```mermaid\nflowchart LR\n  a --> b\n```\n"
WRITTEN = f"""\
---
owner: me
---
<!-- ours -->
# Sign in

Agreed on Monday.

## Summary

Old summary.

### In one picture

```mermaid
sequenceDiagram
```

## Why

Old reason.

{ALTERNATIVES}
## What Changes

- Old change

```mermaid
flowchart TD
```

## Impact

Old impact.

## Open questions

1. Who pays?
"""


def test_what_a_draft_has_no_place_for_stays_where_it_was() -> None:
    revised = revise_proposal(DRAFT, WRITTEN)
    expected = (
        WRITTEN.replace("Old summary.", "People sign in with a passkey.")
        .replace("Old reason.", "Passwords leak.")
        .replace("- Old change", "- A form\n- A table of keys")
        .replace("Old impact.", "The users table.")
    )
    assert revised == expected
    assert revise_proposal(DRAFT, revised) == revised, "a second time changes nothing"


def test_a_plain_text_becomes_what_a_draft_renders() -> None:
    assert revise_proposal(DRAFT, PROPOSAL.replace("leak", "get lost").replace("# Sign", "# Log")) == PROPOSAL
    assert revise_proposal(DRAFT, "") == PROPOSAL
    assert revise_spec(DRAFT.specs[0], SPEC.replace("Keys instead", "Nothing instead")) == SPEC


def test_sections_that_the_old_text_has_not_get_their_place() -> None:
    old = "# Sign in\n\n## Notes\n\nMine.\n\n## Why\n\nx\n\n## Later\n\nMine, too."
    titles = [heading.title for heading in markdown.headings(revise_proposal(DRAFT, old))]
    assert titles == ["Sign in", "Summary", "Notes", "Why", "What Changes", "Impact", "Later"]
    assert revise_proposal(DRAFT, old).endswith("## Later\n\nMine, too.")


def test_reviews_move_below_and_leave_no_gap_that_grows() -> None:
    text = with_reviews(WRITTEN, BLOCK)
    once = with_reviews(revise_proposal(DRAFT, text), text)
    assert [block.raw for block in review_block.blocks(once)] == [BLOCK]
    assert with_reviews(revise_proposal(DRAFT, once), once) == once


def test_a_marker_of_half_a_review_takes_no_part_in_another() -> None:
    text = with_reviews("# Sign in\n\n## Notes\n\n<!-- review:start -->\n\nMine.\n", BLOCK)
    text = text if review_block.blocks(text) else f"{BLOCK}\n\n# Sign in\n\n<!-- review:start -->\n\nMine.\n"
    once = with_reviews(revise_proposal(DRAFT, text), text)
    assert [block.raw for block in review_block.blocks(once)] == [
        block.raw for block in review_block.blocks(text)
    ]


def test_a_specification_keeps_its_own_sections() -> None:
    notes = "## Flow\n\n```mermaid\nflowchart LR\n```\n"
    old = SPEC.replace("Keys MUST expire.", "Old.").replace("## Acceptance", f"{notes}\n## Acceptance")
    assert revise_spec(DRAFT.specs[0], old) == SPEC.replace("## Acceptance", f"{notes}\n## Acceptance")
    none = DRAFT.specs[0].model_copy(update={"requirements": []})
    assert "Requirements" not in revise_spec(none, old)
    assert notes in revise_spec(none, old)


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("- [x] a\n", "# Tasks\n\n- [ ] Add the form\n- [ ] Add the table\n"),
        (
            "# Work\n\n- [x] a\n\n## Notes\n\nMine.\n",
            "# Work\n\n- [ ] Add the form\n- [ ] Add the table\n\n## Notes\n\nMine.\n",
        ),
        (
            "# Work\n\nFirst this.\n\n## One\n\n- [ ] a\n\n## Notes\n\nMine.\n\n## Two\n\n- [ ] b\n",
            "# Work\n\nFirst this.\n\n# Tasks\n\n- [ ] Add the form\n- [ ] Add the table\n\n"
            "## Notes\n\nMine.\n\n",
        ),
        ("", "# Tasks\n\n- [ ] Add the form\n- [ ] Add the table\n"),
    ],
)
def test_tasks_keep_what_is_no_task(old: str, expected: str) -> None:
    assert revise_tasks(DRAFT, old) == expected


OWN = {"summary", "why", "what changes", "impact"}


@settings(max_examples=200, deadline=None)
@given(draft=drafts, document=documents())
def test_nothing_that_is_the_persons_is_ever_lost(draft: ProposalDraft, document: Nasty) -> None:
    text = document.text
    revised = revise_proposal(draft, text)
    assert [f for f in check_proposal(revised) if f.level == "error"] == []
    if review_block.blocks(text) or "review:" in text:
        return
    at = 0
    for piece in markdown.pieces(text)[1:]:
        assert piece.heading is not None
        if piece.heading.level == 1 or piece.heading.title.casefold() in OWN:
            continue
        found = revised.find(piece.text, at)
        assert found >= 0, piece.text
        at = found + len(piece.text)


@settings(max_examples=100, deadline=None)
@given(document=documents())
def test_pieces_are_the_text(document: Nasty) -> None:
    text = document.text
    assert "".join(piece.text for piece in markdown.pieces(text)) == text


@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from(["Notes", "Flow", "R9: Limits"]), body=st.text(max_size=30))
def test_a_revised_specification_passes_its_check(name: str, body: str) -> None:
    quoted = "".join(f"> {line}\n" for line in body.splitlines())
    old = SPEC.replace("## Acceptance", f"## {name}\n\n{quoted}\n## Acceptance")
    revised = revise_spec(DRAFT.specs[0], old)
    assert check_spec(revised, "s.md") == ()
    assert f"## {name}\n\n{quoted}" in revised
    assert len(tasks.tasks(revise_tasks(DRAFT, old))) == 2
