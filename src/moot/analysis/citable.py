"""What may be cited in an analysis, as far as its log knows it: ids, steps, decisions and evidence.

Pure. Refuses to know what is on disk: whoever writes the artifacts adds that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from moot.analysis import edits, ledger, references
from moot.analysis.state import AnalysisState


def there(state: AnalysisState) -> references.There:
    """What may be cited, as far as the session itself knows it: which lines files have, it does not."""
    texts = edits.written(state)
    for edit in state.edits:
        texts[edit.file] = "\n".join((texts.get(edit.file, ""), *edit.added))
    own = references.mentioned(_by_the_person(state))
    return references.There(
        ids={*(references.defined(texts).keys() - strays(state)), *own},
        steps=[ref.id for ref in state.steps],
        decisions=len(ledger.keep_order(state).order),
        evidence=state.background.evidence,
    )


def not_there(state: AnalysisState, texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """What is cited in each of these texts of the step at hand that is not there. None of them is a file yet:
    what is numbered in them, in the step's opening or in its notes is a proposal."""
    known = there(state)
    if (record := state.current) is not None:
        proposed = {"opening.md": record.opening, "notes.md": references.as_text(record.contents)}
        is_known = partial(_is_known, state)
        known = replace(known, ids={*known.ids, *references.defined(proposed)}, is_known=is_known)
    return tuple(known.unknown(text, references.KINDS) for text in texts)


def _is_known(state: AnalysisState, one: str) -> bool:
    """Whether colleagues may have found it: in what they were given of the workspace, or in a file that one
    of them has read in this step."""
    table = state.roundtable
    if state.record.looked_at or any(bill.looked_at for bill in (table.bills if table else ())):
        return True
    return any(one in text for text in (state.scan, state.impact, *(body.text for body in state.bodies)))


def strays(state: AnalysisState) -> set[str]:
    """Ids that a step has cited and nothing defined: they stand in its text, and are no definitions there."""
    written = [text for record in state.records for text in record.unknown]
    written += [text for held in state.elaborations if held.table for text in held.table.unknown]
    flagged = references.mentioned(written)
    amended = [
        references.as_text([*contents.values()])
        for record in state.records
        for _, _, contents in record.feedback
    ]
    return flagged - references.defined({f"{number}.md": text for number, text in enumerate(amended)}).keys()


def _by_the_person(state: AnalysisState) -> Iterator[str]:
    yield from (state.title, state.description, state.pending_feedback)
    yield from (item.text for item in state.background.evidence)
    yield from (line for edit in state.edits for line in edit.added)
    for step in state.records:
        yield from (answer for _, answer in step.exchanges)
        yield from (said for said, _, _ in step.feedback)
    for held in state.elaborations:
        yield from ledger.said_by_person(held.table) if held.table else ()
