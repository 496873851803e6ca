"""What a workflow hands to the change of its current batch: a brief, what binds it, and what was said.

Knows which decisions concern a change, and that a design document which the person has edited holds as they
left it. Refuses to know files: what is in the document by now is given.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from moot.brainstorm.prompts import conversation
from moot.changes.binding import Binding
from moot.core import ledger as core_ledger
from moot.core.handover import Handover, Origin
from moot.core.ledger import Decided
from moot.llm.messages import Source, Weight
from moot.workflow import documents, ledger
from moot.workflow.state import WorkflowState

_SHOWN = re.compile(r"- (?:D\d+\. )?(?P<text>.*)", re.DOTALL)
"""With a number in documents of earlier versions."""
_NEXT_LINE = re.compile(r"\n(?! )")


# -- the brief -----------------------------------------------------------------------------------


LONGEST_BRIEF = 80_000
"""Characters: the longest idea, all batches and what was said after one of them always fit."""


def brief(state: WorkflowState) -> str:
    """What the proposal of the current batch is drafted from. What binds it goes beside it."""
    title, description = state.batch.title, state.batch.description
    # A batch that is the whole idea may have nothing else for a title.
    parts = [title if description.strip() == title else f"{title}\n\n{description}"]
    idea = state.brainstorm.description.strip()
    if idea not in parts[0]:
        whole = (
            "The idea that this is a part of, in the person's words. Its other parts are not this change's"
        )
        parts.append(f"{whole}:\n{idea}")
    if place := _place(state):
        parts[0] = f"{place}: {parts[0]}"
        parts += _others(state)
    if state.assessment and state.current_batch:
        parts.append(f"After the batch before this one:\n{state.assessment}")
    share = "this batch of it, and no other" if place else "the whole of it"
    parts.append(f"The design was approved and binds. This change is {share}.")
    return "\n\n".join(parts)


def _place(state: WorkflowState) -> str:
    number, count = state.current_batch + 1, len(state.batches)
    return f"Batch {number} of {count}" if count > 1 else ""


def _others(state: WorkflowState) -> Iterator[str]:
    if done := [f"- {batch.title}: {batch.description}" for batch in state.batches[: state.current_batch]]:
        yield "Built already, so build on it:\n" + "\n".join(done)
    if later := [f"- {batch.title}: {batch.description}" for batch in state.remaining]:
        yield "Not part of this batch, because later ones do it:\n" + "\n".join(later)


# -- what binds ----------------------------------------------------------------------------------


def binding(state: WorkflowState, written: str = "") -> Binding:
    """`written` is what the design document says now; nothing where it is gone."""
    design, kept = _read_back(state, written)
    place = _place(state)
    part = "\n\n".join((f"{place}: {state.batch.title}\n\n{state.batch.description}", *_others(state)))
    return Binding(design, kept, state.evidence, part if place else "", replaces_decided=True)


def hand_over(state: WorkflowState, written: str, words: str) -> Handover:
    """The whole of it, for a change beside its batches. `written` is what the design document says now."""
    design, kept = _read_back(state, written)
    numbers = {each.key: number for number, each in core_ledger.numbered(ledger.entries(state)).items()}
    decided = tuple(replace(each, number=numbers[each.key]) for each in kept)
    idea = state.brainstorm.description.strip()
    asked = f"{words}\n\nThis is about the idea that was designed:\n{idea}" if words else idea
    origin = Origin("workflow", state.id, documents.title(state))
    return Handover(origin, asked, decided, state.evidence, design=design)


def _read_back(state: WorkflowState, written: str) -> tuple[str, tuple[Decided, ...]]:
    """The design without what was decided, and what was: a line that the person has struck or rewritten in
    the document is no longer decided as it was."""
    decided = ledger.binding(state)
    if not written.strip() or _hash(written) == state.design_hash:
        known = bool(state.brainstorm.design_sections) or not written.strip()
        return (documents.design_document(state, with_ledger=False) if known else written), decided
    heading = f"\n{documents.DECIDED_HEADING}\n"
    before, found, rest = written.partition(heading)
    if not found:
        return written, decided
    section, mark, after = rest.partition("\n## ")
    lines = [line.strip() for line in _NEXT_LINE.split(section.strip())]
    there = {match["text"] for line in lines if (match := _SHOWN.fullmatch(line))}
    known_lines = _as_shown([*ledger.entries(state), *ledger.uncorrected(state)])
    corrected = core_ledger.in_force(state.corrections)
    kept = tuple(
        each
        for each in decided
        if each.key in corrected or not ledger.was_in_design(each) or _as_shown([each]) & there
    )
    own = [line for line in lines if line and not _is_known(line, known_lines)]
    section = f"{heading}\n" + "\n".join(own) + "\n" if own else ""
    return f"{before}{section}{mark}{after}", kept


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _as_shown(entries: Collection[Decided]) -> set[str]:
    return {core_ledger.line(each) for each in entries}


def _is_known(line: str, known: Collection[str]) -> bool:
    found = _SHOWN.fullmatch(line)
    return found is not None and found["text"] in known


# -- what was said and built ---------------------------------------------------------------------


def background(state: WorkflowState, built: tuple[Source, ...] = ()) -> tuple[Source, ...]:
    """For whoever plans: the whole conversation, and what was built before."""
    return *conversation(state.brainstorm), *built


def news(state: WorkflowState, written: str, bound: Binding, *, edited: bool) -> tuple[Source, ...]:
    """For whoever builds: what has come since the plan was reviewed, which is bound to `bound`. Where the
    person has `edited` that by hand, it is the design."""
    now = binding(state, written)
    known = {" ".join(each.text.split()) for each in bound.decided}
    decided = tuple(each for each in now.decided if " ".join(each.text.split()) not in known)
    left = {" ".join(each.text.split()) for each in now.decided}
    gone = tuple(each for each in bound.decided if " ".join(each.text.split()) not in left)
    found = [*_since(decided, "The person has said or decided this since the plan was reviewed. It holds")]
    found += _since(() if edited else gone, "This no longer holds, although design.md has it")
    if not edited and now.design.split() != bound.design.split():
        said = f"The person has changed the design. This holds:\n\n{now.design}"
        text = f"<design-by-now>\n{said}\n</design-by-now>"
        found.append(Source("the design as it is by now", text, Weight.NEEDED))
    from_files = {(item.origin, item.sha256) for item in bound.evidence}
    for item in now.evidence:
        if item.text and (item.origin, item.sha256) not in from_files:
            text = f'<given-since name="{item.name}">\n{item.text}\n</given-since>'
            found.append(Source(item.name, text, Weight.DEPENDED_ON))
    return tuple(found)


def _since(entries: tuple[Decided, ...], why: str) -> Iterator[Source]:
    if entries:
        listed = "\n".join(f"- {core_ledger.line(each)}" for each in entries)
        yield Source(why, f"<since-the-review>\n{why}:\n{listed}\n</since-the-review>", Weight.NEEDED)
