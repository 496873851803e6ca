"""Rounds of conversation: the person asks for something in their own words, and something comes of it.

Knows what a reply changes and what it leaves alone. Above all, that answers stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from moot.brainstorm import checks, ledger
from moot.brainstorm import text as words
from moot.brainstorm.events import (
    Approach,
    ApproachesDiscussed,
    Consulted,
    DesignDiscussed,
    Question,
    QuestionsDiscussed,
    Request,
    Section,
    SectionsRevised,
    TriageDiscussed,
)
from moot.brainstorm.menu import RequestMade, RequestWithdrawn, WritingBegun, WritingDropped
from moot.brainstorm.state import BRAINSTORMER, BrainstormState, Step
from moot.core.conversation import PERSON
from moot.errors import IllegalMove
from moot.roundtable import flow as roundtable_flow
from moot.roundtable.events import HeldEvent
from moot.roundtable.state import USER, RoundtableState
from moot.roundtable.state import Step as RoundtableStep


def begin(state: BrainstormState, event: WritingBegun | WritingDropped | RequestMade) -> BrainstormState:
    """The person asks for something, in their own words."""
    if not isinstance(event, WritingDropped) and event.wish == "revise" and state.step is not Step.DESIGN:
        raise IllegalMove(type(event).__name__, f"{state.situation}, revise")
    match event:
        case WritingBegun(wish):
            return replace(state, writing=wish)
        case WritingDropped():
            return replace(state, writing=None, picked_question="")
        case RequestMade(wish, text):
            if state.writing not in (None, wish):
                raise IllegalMove(type(event).__name__, f"{state.situation}, {state.writing}")
            checks.text(wish, text)
            return replace(state, writing=None, request=Request(wish, text)).said(PERSON, text)


def end(
    state: BrainstormState,
    event: TriageDiscussed
    | QuestionsDiscussed
    | ApproachesDiscussed
    | DesignDiscussed
    | SectionsRevised
    | Consulted
    | RequestWithdrawn,
) -> BrainstormState:
    """What came of the person's request: back to the menu of the same step."""
    done = _end_request(state)
    match event:
        case RequestWithdrawn(keeps_comment):
            return done if keeps_comment else replace(done, conversation_log=state.said_before)
        case Consulted(text, _, recommendation):
            checks.consulted(text)
            return ledger.note_brief(done.said("board", text), recommendation)
        case TriageDiscussed(reply, proposal):
            checks.triage(proposal)
            reopened = replace(done, triage=proposal, complexity_level=None)
            return say(reopened, reply, words.triage(proposal))
        case QuestionsDiscussed(reply, asked, replaces):
            checks.discussed_questions(state, asked, replaces)
            gone = [each for each in state.questions if each.id in replaces and each.answered]
            lost = "\n".join(f"Replaced: {words.question(each)}" for each in gone)
            merged = _merge(state, asked, replaces)
            noted = ledger.note_replaced(with_questions(done, merged), gone)
            return say(noted, reply, lost, words.questions(merged))
        case ApproachesDiscussed(reply, approaches, recommendation, because):
            checks.approaches(approaches, recommendation)
            said = words.approaches(approaches, recommendation, because)
            return say(with_approaches(done, approaches, recommendation, because), reply, said)
        case DesignDiscussed(reply, changed):
            checks.changed_sections(state, changed)
            return say(_with_changed(done, changed), reply, words.sections(changed))
        case SectionsRevised(changed):
            checks.changed_sections(state, changed, at_least=1)
            return say(_with_changed(done, changed), words.sections(changed))


def _end_request(state: BrainstormState) -> BrainstormState:
    return replace(state, request=None, writing=None, picked_question="", roundtable=())


def hold(state: BrainstormState, event: HeldEvent) -> BrainstormState:
    """At the roundtable. What was said there, and what it has come to, joins the conversation."""
    assert state.table is not None
    table = roundtable_flow.advance(state.table, event)
    if table.step is not RoundtableStep.CLOSED:
        return replace(state, roundtable=(*state.roundtable, event))
    said = "\n\n".join((minutes(table), *_spoken(table)))
    looked_at = (what for bill in table.bills for what in bill.looked_at)
    read = tuple(dict.fromkeys((*(one.name for one in state.code), *looked_at)))
    done = _end_request(state).said("roundtable", said, read=read)
    return ledger.note_roundtable(done, table)


def _spoken(table: RoundtableState) -> Iterator[str]:
    """Word for word: minutes are never all of it."""
    if table.turns <= 1:
        return
    yield "What was said:"
    for each in table.discussion:
        speaker = "The person" if each.speaker == USER else table.speakers[each.speaker].shown
        yield f"{speaker}: {each.text}"


def minutes(table: RoundtableState) -> str:
    """What a roundtable has come to, as Markdown; of one that ended before it began, one line."""
    assert table.synthesis is not None
    line = table.synthesis.one_line
    return f"{table.minutes().rstrip()}\n\nIn a line: {line}" if table.turns > 1 else line


def _merge(
    state: BrainstormState, asked: tuple[Question, ...], replaces: tuple[str, ...]
) -> tuple[Question, ...]:
    """Answered questions stay in their places; open ones are those that are asked now."""
    new = {each.id: each for each in asked}
    kept: list[Question] = []
    for each in state.questions:
        if each.answered and each.id not in replaces:
            kept.append(each)
        elif each.id in new:
            # One that was left to the brainstormer stays so.
            kept.append(replace(new.pop(each.id), answer="" if each.answered else each.answer))
    return (*kept, *new.values())


def with_questions(state: BrainstormState, asked: tuple[Question, ...]) -> BrainstormState:
    return replace(state, questions=asked, questions_from=state.questions_basis)


def with_approaches(
    state: BrainstormState, approaches: tuple[Approach, ...], recommendation: str, because: str
) -> BrainstormState:
    """A choice holds as long as what was chosen is still there."""
    still_there = state.chosen_approach in {each.id for each in approaches}
    return replace(
        state,
        approaches=approaches,
        chosen_approach=state.chosen_approach if still_there else "",
        recommendation=recommendation,
        because=because,
        approaches_from=state.approaches_basis,
    )


def _with_changed(state: BrainstormState, changed: tuple[Section, ...]) -> BrainstormState:
    """What was changed has to be approved again, and is shown: at once, where what is shown stays."""
    new = {each.id: replace(each, status="pending") for each in changed}
    at = state.current_section
    if new and state.design_sections[at].id not in new:
        at = next(place for place, each in enumerate(state.design_sections) if each.id in new)
    sections = tuple(new.get(each.id, each) for each in state.design_sections)
    return replace(state, design_sections=sections, current_section=at)


def say(state: BrainstormState, *said: str) -> BrainstormState:
    return state.said(BRAINSTORMER, "\n\n".join(part for part in said if part))
