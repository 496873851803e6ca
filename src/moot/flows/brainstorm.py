"""The brainstorm: scout, triage, questions, approaches, design, and a conversation at each of them.

The level that the person confirms decides how much of it takes place, and how many questions and sections a
reply may have. It is part of a workflow: opening, failing, stopping and resuming are the workflow's business,
and its events are in the workflow's log.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from moot.conversation import PERSON
from moot.errors import IllegalMove, InvalidInput
from moot.flows import brainstorm_checks as checks
from moot.flows import brainstorm_words as words
from moot.flows.brainstorm_events import (
    DEFERRED,
    AnswerGiven,
    AnswersClosed,
    Approach,
    ApproachChosen,
    ApproachesDiscussed,
    ApproachesDrafted,
    BrainstormEvent,
    Consulted,
    DesignDiscussed,
    DesignDrafted,
    GoneBack,
    LevelConfirmed,
    PlanningChosen,
    PreviousSectionShown,
    Question,
    QuestionPicked,
    QuestionsDiscussed,
    QuestionsDrafted,
    Request,
    RequestMade,
    RequestWithdrawn,
    ScopeKeptWhole,
    ScoutReported,
    Section,
    SectionsApproved,
    SectionsRevised,
    TriageDiscussed,
    TriageDrafted,
    WritingBegun,
    WritingDropped,
)
from moot.flows.brainstorm_replies import APPROACHES, DESIGN, DISCUSS, QUESTIONS, REVISE, TRIAGE
from moot.flows.brainstorm_state import BRAINSTORMER, BrainstormState, Situation, Step
from moot.flows.flow import CarryOut, DraftReply, Effect, Event

SCOUT, BOARD, ROUNDTABLE = "workflow/scout", "brainstorm/board", "brainstorm/roundtable"
"""What the program is asked to do."""

_MENUS = (Situation.AT_TRIAGE, Situation.AT_QUESTIONS, Situation.AT_APPROACHES, Situation.AT_DESIGN)
_AT_QUESTIONS = (Situation.ASKING, Situation.AT_QUESTIONS)
_AT_APPROACHES = (Situation.WEIGHING, Situation.AT_APPROACHES)
_AT_DESIGN = (Situation.DESIGNING, Situation.AT_DESIGN)

TRANSITIONS: dict[tuple[Situation, type[Event]], tuple[Situation, ...]] = {
    (Situation.SCOUTING, ScoutReported): (Situation.TRIAGING,),
    (Situation.TRIAGING, TriageDrafted): (Situation.AT_TRIAGE,),
    (Situation.AT_TRIAGE, ScopeKeptWhole): (Situation.AT_TRIAGE,),
    (Situation.AT_TRIAGE, LevelConfirmed): (*_AT_QUESTIONS, *_AT_DESIGN),
    (Situation.AT_TRIAGE, PlanningChosen): (Situation.DONE,),
    (Situation.ASKING, QuestionsDrafted): (Situation.AT_QUESTIONS,),
    (Situation.AT_QUESTIONS, QuestionPicked): (Situation.ANSWERING,),
    (Situation.AT_QUESTIONS, AnswerGiven): (Situation.AT_QUESTIONS,),
    (Situation.ANSWERING, AnswerGiven): (Situation.AT_QUESTIONS,),
    (Situation.ANSWERING, WritingDropped): (Situation.AT_QUESTIONS,),
    (Situation.AT_QUESTIONS, AnswersClosed): _AT_APPROACHES,
    (Situation.WEIGHING, ApproachesDrafted): (Situation.AT_APPROACHES,),
    (Situation.AT_APPROACHES, ApproachChosen): _AT_DESIGN,
    (Situation.DESIGNING, DesignDrafted): (Situation.AT_DESIGN,),
    (Situation.AT_DESIGN, SectionsApproved): (Situation.AT_DESIGN, Situation.DONE),
    (Situation.AT_DESIGN, PreviousSectionShown): (Situation.AT_DESIGN,),
    **{(menu, WritingBegun): (Situation.WRITING,) for menu in _MENUS},
    **{(menu, RequestMade): (Situation.IN_ROUND,) for menu in _MENUS},
    (Situation.WRITING, WritingDropped): _MENUS,
    (Situation.WRITING, RequestMade): (Situation.IN_ROUND,),
    (Situation.IN_ROUND, RequestWithdrawn): _MENUS,
    (Situation.IN_ROUND, TriageDiscussed): (Situation.AT_TRIAGE,),
    (Situation.IN_ROUND, QuestionsDiscussed): (Situation.AT_QUESTIONS,),
    (Situation.IN_ROUND, ApproachesDiscussed): (Situation.AT_APPROACHES,),
    (Situation.IN_ROUND, DesignDiscussed): (Situation.AT_DESIGN,),
    (Situation.IN_ROUND, SectionsRevised): (Situation.AT_DESIGN,),
    (Situation.IN_ROUND, Consulted): _MENUS,
    **{(at, GoneBack): (Situation.AT_TRIAGE,) for at in _AT_QUESTIONS},
    **{(at, GoneBack): _AT_QUESTIONS for at in _AT_APPROACHES},
    **{(at, GoneBack): (Situation.AT_TRIAGE, *_AT_APPROACHES) for at in _AT_DESIGN},
}
"""Which event may happen where, and what it can lead to: which of them follows from the state."""

_ENDS_ROUND: dict[type[Event], tuple[str, Step | None]] = {
    TriageDiscussed: ("discuss", Step.TRIAGE),
    QuestionsDiscussed: ("discuss", Step.QUESTIONS),
    ApproachesDiscussed: ("discuss", Step.APPROACHES),
    DesignDiscussed: ("discuss", Step.DESIGN),
    SectionsRevised: ("revise", Step.DESIGN),
}
"""Which reply answers which request, and at which step."""


# -- advance -------------------------------------------------------------------------------------


def advance(state: BrainstormState, event: BrainstormEvent) -> BrainstormState:
    if (state.situation, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.situation)
        raise IllegalMove(type(event).__name__, state.situation, allowed)
    match event:
        case ScoutReported(output, read):
            checks.scout(output)
            return replace(state, step=Step.TRIAGE, scout_output=output, scout_read=read)
        case TriageDrafted() | ScopeKeptWhole() | LevelConfirmed() | PlanningChosen():
            return _at_triage(state, event)
        case QuestionsDrafted() | QuestionPicked() | AnswerGiven() | AnswersClosed():
            return _at_questions(state, event)
        case ApproachesDrafted(approaches, recommendation, because):
            checks.approaches(approaches, recommendation)
            said = words.approaches(approaches, recommendation, because)
            return _told(_with_approaches(state, approaches, recommendation, because), said)
        case ApproachChosen(approach):
            if state.approach(approach) is None:
                raise InvalidInput("approach", f"{approach!r} is none of those offered")
            return _forward(replace(state, chosen_approach=approach), Step.DESIGN)
        case DesignDrafted() | SectionsApproved() | PreviousSectionShown():
            return _at_design(state, event)
        case GoneBack():
            gone = (*(step for step in state.gone_back_from if step is not state.step), state.step)
            return replace(state, step=state.visited[-1], visited=state.visited[:-1], gone_back_from=gone)
        case WritingBegun() | WritingDropped() | RequestMade():
            return _asked(state, event)
        case _:
            return _in_round(state, event)


def _at_triage(
    state: BrainstormState, event: TriageDrafted | ScopeKeptWhole | LevelConfirmed | PlanningChosen
) -> BrainstormState:
    match event:
        case TriageDrafted(proposal):
            checks.triage(proposal)
            return _told(replace(state, triage=proposal), words.triage(proposal))
        case _:
            assert state.triage is not None
    match event:
        case ScopeKeptWhole():
            if not (state.triage.batches or state.triage.splits):
                raise IllegalMove(type(event).__name__, state.situation)
            return replace(state, triage=msgspec.structs.replace(state.triage, batches=(), splits=()))
        case LevelConfirmed(level):
            confirmed = replace(
                state, complexity_level=level, batches=state.triage.batches, splits=state.triage.splits
            )
            return _forward(confirmed, Step.DESIGN if level == "straightforward" else Step.QUESTIONS)
        case _:
            confirmed = replace(
                state,
                complexity_level=state.level_at_hand,
                batches=state.triage.batches,
                splits=state.triage.splits,
            )
            return _forward(confirmed, Step.DONE)


def _at_questions(
    state: BrainstormState, event: QuestionsDrafted | QuestionPicked | AnswerGiven | AnswersClosed
) -> BrainstormState:
    match event:
        case QuestionsDrafted(drafted):
            checks.drafted_questions(state, drafted)
            asked = (*(each for each in state.questions if each.answered), *drafted)
            return _told(_with_questions(state, asked), words.questions(drafted))
        case QuestionPicked(wanted):
            _check_question(state, wanted)
            return replace(state, picked_question=wanted)
        case AnswerGiven(wanted, answer):
            _check_question(state, wanted)
            if state.picked_question not in ("", wanted):
                raise IllegalMove(type(event).__name__, f"{state.situation}, {state.picked_question}")
            checks.text("answer", answer)
            answered = tuple(
                msgspec.structs.replace(each, answer=answer) if each.id == wanted else each
                for each in state.questions
            )
            return replace(state, questions=answered, picked_question="")
        case AnswersClosed():
            closed = tuple(
                each if each.answered else msgspec.structs.replace(each, answer=DEFERRED)
                for each in state.questions
            )
            return _forward(replace(state, questions=closed), Step.APPROACHES)


def _at_design(
    state: BrainstormState, event: DesignDrafted | SectionsApproved | PreviousSectionShown
) -> BrainstormState:
    match event:
        case DesignDrafted(drafted):
            checks.design(state, drafted)
            made = replace(state, design_sections=drafted, design_from=state.design_basis, current_section=0)
            return _told(made, words.sections(drafted))
        case SectionsApproved(approved):
            return _approved(state, approved)
        case PreviousSectionShown():
            if not state.has_previous_section:
                raise IllegalMove(type(event).__name__, f"{state.situation}, the first section")
            return replace(state, current_section=state.current_section - 1)


def _approved(state: BrainstormState, approved: tuple[str, ...]) -> BrainstormState:
    """On to the next section that is not approved, or to the end."""
    there = {each.id for each in state.design_sections}
    shown = {each.id for each in state.shown_sections}
    if not set(approved) <= there or not shown <= set(approved):
        raise InvalidInput("sections", "what is shown can be approved, alone or with all others")
    sections = tuple(
        msgspec.structs.replace(each, status="approved") if each.id in approved else each
        for each in state.design_sections
    )
    state = replace(state, design_sections=sections)
    at, count = state.current_section, len(sections)
    waiting = [n for n in (*range(at + 1, count), *range(at)) if sections[n].status != "approved"]
    return replace(state, current_section=waiting[0]) if waiting else _forward(state, Step.DONE)


def _asked(state: BrainstormState, event: WritingBegun | WritingDropped | RequestMade) -> BrainstormState:
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
            asked = replace(state, writing=None, request=Request(wish, text))
            return replace(asked, conversation=asked.conversation.said(PERSON, state.step, text))


def _in_round(
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
    request = state.request
    assert request is not None
    wish, step = _ENDS_ROUND.get(type(event), (request.wish, None))
    if isinstance(event, Consulted):
        wish = event.who
    if request.wish != wish or step not in (None, state.step):
        raise IllegalMove(type(event).__name__, f"{state.step}, {request.wish}")
    done = replace(state, request=None)
    match event:
        case RequestWithdrawn():
            return done
        case Consulted(who, text):
            checks.consulted(text)
            return replace(done, conversation=done.conversation.said(who, state.step, text))
        case TriageDiscussed(reply, proposal):
            checks.triage(proposal)
            reopened = replace(done, triage=proposal, complexity_level=None)
            return _told(reopened, reply, words.triage(proposal))
        case QuestionsDiscussed(reply, asked, replaces):
            checks.discussed_questions(state, asked, replaces)
            gone = [each for each in state.questions if each.id in replaces and each.answered]
            lost = "\n".join(f"Replaced: {words.question(each)}" for each in gone)
            merged = _merged(state, asked, replaces)
            return _told(_with_questions(done, merged), reply, lost, words.questions(merged))
        case ApproachesDiscussed(reply, approaches, recommendation, because):
            checks.approaches(approaches, recommendation)
            said = words.approaches(approaches, recommendation, because)
            return _told(_with_approaches(done, approaches, recommendation, because), reply, said)
        case DesignDiscussed(reply, changed):
            checks.changed_sections(state, changed)
            return _told(_with_changed(done, changed), reply, words.sections(changed))
        case SectionsRevised(changed):
            checks.changed_sections(state, changed, at_least=1)
            return _told(_with_changed(done, changed), words.sections(changed))


def _merged(
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
            kept.append(
                msgspec.structs.replace(new.pop(each.id), answer="" if each.answered else each.answer)
            )
    return (*kept, *new.values())


def _with_questions(state: BrainstormState, asked: tuple[Question, ...]) -> BrainstormState:
    return replace(state, questions=asked, questions_from=state.questions_basis)


def _with_approaches(
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
    """What was changed has to be approved anew."""
    new = {each.id: msgspec.structs.replace(each, status="pending") for each in changed}
    return replace(state, design_sections=tuple(new.get(each.id, each) for each in state.design_sections))


def _told(state: BrainstormState, *said: str) -> BrainstormState:
    content = "\n\n".join(part for part in said if part)
    return replace(state, conversation=state.conversation.said(BRAINSTORMER, state.step, content))


def _forward(state: BrainstormState, step: Step) -> BrainstormState:
    return replace(state, step=step, visited=(*state.visited, state.step))


def _check_question(state: BrainstormState, wanted: str) -> None:
    if state.question(wanted) is None:
        raise InvalidInput("question", f"{wanted!r} is none of those asked")


# -- pending -------------------------------------------------------------------------------------

_DRAFTS = {
    Situation.TRIAGING: TRIAGE,
    Situation.ASKING: QUESTIONS,
    Situation.WEIGHING: APPROACHES,
    Situation.DESIGNING: DESIGN,
}


def pending(state: BrainstormState, occasion: str) -> tuple[Effect, ...]:
    """What is asked of models and of the program; what is asked of the person is in the menu."""
    situation = state.situation
    if situation is Situation.SCOUTING:
        return (CarryOut(SCOUT, occasion),)
    if situation in _DRAFTS:
        return (DraftReply(_DRAFTS[situation], occasion),)
    if situation is not Situation.IN_ROUND or state.request is None:
        return ()
    match state.request.wish:
        case "board":
            return (CarryOut(BOARD, occasion),)
        case "roundtable":
            return (CarryOut(ROUNDTABLE, occasion),)
        case "revise":
            return (DraftReply(REVISE, occasion),)
        case _:
            return (DraftReply(DISCUSS[state.step], occasion),)
