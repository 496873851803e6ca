"""What a brainstorm has decided, rejected and left open: from what was confirmed, answered, chosen and said.

Entries are derived from the state; only what the state would forget is noted in it. Refuses to know what the
person makes of an entry afterwards: corrections are the workflow's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from moot.brainstorm.events import DEFERRED, Approach, Part, Question
from moot.brainstorm.state import BRAINSTORMER, BrainstormState, Step
from moot.brainstorm.text import LEVEL_NAMES
from moot.core.conversation import PERSON
from moot.core.ledger import Decided, Kind
from moot.roundtable.state import USER, RoundtableState

SAID = "said:"
"""What the keys of the person's comments begin with; the place in the conversation follows."""
BOARD, ROUNDTABLE = "the Board", "the roundtable"
_BRAINSTORMER = f"the {BRAINSTORMER}"
_ASSUMED = re.compile(r"\bAssumed:\**\s*(?P<text>[^\n]+?(?:[.!?](?=\s|$)|(?=\n|$)))")


def entries(talk: BrainstormState) -> tuple[Decided, ...]:
    """In the order of the steps; then what was noted on the way, then what the person said."""
    return (*_scope(talk), *_answers(talk), *_approaches(talk), *_design(talk), *talk.noted, *_said(talk))


def _scope(talk: BrainstormState) -> Iterator[Decided]:
    if talk.complexity_level is not None:
        level = f"Level: {LEVEL_NAMES[talk.complexity_level]}"
        skipped = talk.finished and talk.visited == (Step.TRIAGE,)
        unless = "; straight to planning, without questions, approaches and design" if skipped else ""
        yield Decided("level", Kind.DECIDED, level + unless, PERSON, Step.TRIAGE)
    if skips := accepted_skips(talk):
        yield Decided("skips", Kind.DECIDED, f"Left out: {'; '.join(skips)}", PERSON, Step.TRIAGE)
    if talk.splits:
        rest = _listed(talk.splits[1:])
        text = f"Only this part is worked on here: {talk.subject.rstrip('.')}. Workflows of their own: {rest}"
        yield Decided("splits", Kind.DECIDED, text, PERSON, Step.TRIAGE)
    if talk.batches:
        text = f"Built in {len(talk.batches)} batches, in this order: {_listed(talk.batches)}"
        yield Decided("batches", Kind.DECIDED, text, PERSON, Step.TRIAGE)


def accepted_skips(talk: BrainstormState) -> tuple[str, ...]:
    """What was proposed to be left out, where the person has taken the assessment as it was."""
    if talk.triage is None or talk.complexity_level != talk.triage.level:
        return ()
    return talk.triage.suggested_skips


def _listed(parts: tuple[Part, ...]) -> str:
    return "; ".join(f"{part.title} ({part.description.rstrip('.')})" for part in parts)


def _answers(talk: BrainstormState) -> Iterator[Decided]:
    for each in talk.questions:
        key = f"answer:{each.id}"
        if each.answered:
            yield Decided(key, Kind.DECIDED, f"{each.text} {each.answer}", PERSON, Step.QUESTIONS)
        elif each.answer == DEFERRED:
            settled = talk.finished and talk.design_sections and not talk.design_stale
            how = ": what the design says of it holds" if settled else ""
            text = f"{each.text} Left to the brainstormer's judgment{how}"
            yield Decided(key, Kind.OPEN, text, PERSON, Step.QUESTIONS)


def _approaches(talk: BrainstormState) -> Iterator[Decided]:
    chosen = talk.chosen
    if chosen is None or talk.approaches_stale or talk.step is Step.APPROACHES:
        return
    text = f"Approach: {chosen.title}. {chosen.summary}"
    yield Decided("approach", Kind.DECIDED, text, PERSON, Step.APPROACHES)
    for each in talk.approaches:
        if each.id != chosen.id:
            text = f"Approach: {each.title}. {_why_not(talk, each, chosen)}"
            yield Decided(f"approach:{each.id}", Kind.REJECTED, text.strip(), PERSON, Step.APPROACHES)


def _why_not(talk: BrainstormState, passed: Approach, chosen: Approach) -> str:
    weighed = f"Its tradeoffs: {passed.tradeoffs}" if passed.tradeoffs else ""
    because = talk.because.strip().rstrip(".")
    if because and talk.recommendation == chosen.id:
        return f"The person took '{chosen.title}', which was recommended because {because}. {weighed}"
    if because and talk.recommendation == passed.id:
        return f"It was recommended because {because}; the person took '{chosen.title}'. {weighed}"
    return f"The person took '{chosen.title}'. {weighed}"


def _design(talk: BrainstormState) -> Iterator[Decided]:
    if talk.design_stale:
        return
    for each in talk.design_sections:
        approved = each.status == "approved"
        if approved:
            text = f"The design's section '{each.title}' is approved"
            yield Decided(f"section:{each.id}", Kind.DECIDED, text, PERSON, Step.DESIGN)
        for number, found in enumerate(_ASSUMED.finditer(each.content), start=1):
            kind = Kind.DECIDED if approved else Kind.OPEN
            text = f"Assumed: {found['text'].strip()}"
            yield Decided(f"assumed:{each.id}:{number}", kind, text, _BRAINSTORMER, Step.DESIGN)


def _said(talk: BrainstormState) -> Iterator[Decided]:
    for place, entry in enumerate(talk.conversation_log):
        if entry.speaker == PERSON:
            yield Decided(f"{SAID}{place}", Kind.SAID, entry.content, PERSON, entry.step)


# -- what the state would forget -----------------------------------------------------------------


def note(talk: BrainstormState, kind: Kind, text: str, by: str, at: str | None = None) -> BrainstormState:
    """With one more entry: at this step, unless another is named."""
    entry = Decided(f"noted:{len(talk.noted) + 1}", kind, text, by, at or talk.step)
    return replace(talk, noted=(*talk.noted, entry))


def note_kept_whole(talk: BrainstormState) -> BrainstormState:
    assert talk.triage is not None
    proposed = ((talk.triage.splits, "Splitting it"), (talk.triage.batches, "Building it in batches"))
    for parts, what in proposed:
        if parts:
            talk = note(talk, Kind.REJECTED, f"{what}: {_listed(parts)}", PERSON)
    return talk


def note_replaced(talk: BrainstormState, gone: list[Question]) -> BrainstormState:
    """Answers that no longer count, because what they answer is not asked any more."""
    for each in gone:
        text = f"{each.text} {each.answer} (no longer asked, after a discussion)"
        talk = note(talk, Kind.REJECTED, text, _BRAINSTORMER)
    return talk


def note_roundtable(talk: BrainstormState, table: RoundtableState) -> BrainstormState:
    """Its decisions hold, its open questions are open, and the person has said what they said there."""
    assert table.synthesis is not None
    decided = {each.decision for each in table.synthesis.decisions}
    for said in table.discussion:
        if said.speaker == USER and said.text not in decided:
            talk = note(talk, Kind.SAID, said.text, PERSON)
    for each in table.synthesis.decisions:
        why = f" ({each.rationale.rstrip('.')})" if each.rationale else ""
        by = PERSON if each.stated_by in (USER, "User") else f"{each.stated_by} at {ROUNDTABLE}"
        talk = note(talk, Kind.DECIDED, f"{each.decision}{why}", by if each.stated_by else ROUNDTABLE)
    for asked in table.synthesis.open_questions:
        about = f" ({asked.context.rstrip('.')})" if asked.context else ""
        talk = note(talk, Kind.OPEN, f"{asked.question}{about}", ROUNDTABLE)
    for position in table.synthesis.positions:
        talk = note(talk, Kind.OPEN, str(position), ROUNDTABLE)
    return talk


def note_brief(talk: BrainstormState, recommendation: str) -> BrainstormState:
    """Advice, not a decision: what the person makes of it is theirs."""
    return note(talk, Kind.SAID, f"Recommendation: {recommendation}", BOARD) if recommendation else talk
