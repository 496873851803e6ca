"""The Board: a decision, probing questions, advisors, challenges, and a brief that keeps the dissent.

Where a session stands is derived from what has happened, never stored: see `BoardState.step`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from moot.board.events import (
    MAX_ANSWER,
    MAX_ANSWERS,
    MAX_CHALLENGE,
    MAX_CHALLENGES,
    MAX_DECISION,
    MAX_FILE_NAME,
    MAX_MEMBERS,
    RECORD_ENDINGS,
    STOPPED,
    AdvisorFailed,
    AdvisorPassed,
    AdvisorRetried,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    BoardResumed,
    BoardStopped,
    Brief,
    BriefDrafted,
    BriefFailed,
    BriefRequested,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    ConditionTicked,
    DecisionPresented,
    Member,
    OwnEvent,
    Question,
    QuestionAnswered,
    Questions,
    QuestionsDrafted,
    QuestionsFailed,
    RecordRequested,
)
from moot.board.ledger import keep_order, ledger, told
from moot.board.menu import menu_at
from moot.board.state import Advisor, BoardState, Exchange, Step
from moot.core.background import BackgroundEvent, LedgerCorrected, keep_background
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Flow,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Table,
    check_step,
    next_step,
)
from moot.core.input import check_fits, check_text
from moot.errors import IllegalMove, InvalidInput, NotNow

QUESTIONS, ADVISOR, CHALLENGE, BRIEF = "board/questions", "board/advisor", "board/challenge", "board/brief"
"""Names of prompts."""

_AT_WORK = (Step.ADVISORS, Step.BRIEF)
_CONVENED = (*_AT_WORK, Step.REVIEW)

TRANSITIONS: Table = {
    (Step.UNOPENED, DecisionPresented): (Step.QUESTIONS,),
    (Step.QUESTIONS, QuestionsDrafted): (Step.ANSWERS,),
    (Step.QUESTIONS, QuestionsFailed): (Step.ANSWERS,),
    (Step.QUESTIONS, BoardConvened): (Step.ADVISORS,),
    (Step.ANSWERS, QuestionAnswered): (Step.ANSWERS,),
    (Step.ANSWERS, BoardConvened): (Step.ADVISORS,),
    (Step.ADVISORS, AdvisorSpoke): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    (Step.ADVISORS, AdvisorFailed): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    **{(step, AdvisorRetried): (Step.ADVISORS,) for step in _CONVENED},
    **{(step, BoardStopped): (step,) for step in _AT_WORK},
    **{(step, BoardResumed): (step,) for step in _AT_WORK},
    **{(step, ChallengeMade): (step,) for step in _CONVENED},
    **{(step, ChallengeReplied): (step,) for step in _CONVENED},
    **{(step, ChallengeWithdrawn): (step,) for step in _CONVENED},
    **{(step, ConditionTicked): (step,) for step in _CONVENED},
    (Step.BRIEF, BriefDrafted): (Step.REVIEW,),
    (Step.BRIEF, BriefFailed): (Step.REVIEW,),
    (Step.REVIEW, AdvisorPassed): (Step.REVIEW,),
    (Step.REVIEW, BriefRequested): (Step.BRIEF, Step.REVIEW),
    (Step.REVIEW, RecordRequested): (Step.REVIEW,),
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


# -- advance -------------------------------------------------------------------------------------


def advance_own(state: BoardState, event: OwnEvent) -> BoardState:
    leads_to = next_step(TRANSITIONS, state.step, event)
    if refusing := _refusing(state, event):
        raise IllegalMove(type(event).__name__, f"{state.step}, {refusing}")
    after = _fold(state, event)
    check_step(leads_to, after.step)
    return after


_advance = keep_background(advance_own)


def advance(state: BoardState, event: OwnEvent | BackgroundEvent) -> BoardState:
    after = _advance(state, event)
    return keep_order(after) if isinstance(event, _ENTERED) else after


_ENTERED = (
    DecisionPresented | QuestionAnswered | BoardConvened | ChallengeMade | BriefDrafted | ConditionTicked
    | LedgerCorrected
)  # fmt: skip
"""After what there can be more that was decided or said."""


def _refusing(state: BoardState, event: OwnEvent) -> str:
    """Who or what does not take an event that its step takes; empty where all is well."""
    match event:
        case QuestionAnswered(question):
            asked = state.next_question
            return "" if asked is not None and asked.id == question else question or "no question"
        case BoardStopped() | BoardResumed():
            going_on = isinstance(event, BoardResumed)
            return "" if state.stopped is going_on else f"stopped: {state.stopped}"
        case AdvisorRetried(""):
            return "" if state.failed else "nobody has failed"
        case AdvisorSpoke(persona) | AdvisorFailed(persona):
            return persona if state.advisor(persona).settled else ""
        case AdvisorRetried(persona):
            return "" if state.advisor(persona).failure else persona
        case ChallengeReplied(persona) | ChallengeWithdrawn(persona):
            return "" if state.advisor(persona).challenged else persona
        case AdvisorPassed(persona):
            advisor = state.advisor(persona)
            return persona if advisor.text is None or advisor.passed else ""
        case _:
            return ""


def _fold(state: BoardState, event: OwnEvent) -> BoardState:
    match event:
        case DecisionPresented():
            return _present(event)
        case QuestionsDrafted(questions, usage):
            return replace(state.billed(usage), questions=questions)
        case QuestionsFailed():
            # The questions are a help, not a hurdle: without them the board can still be convened.
            return replace(state, questions=(), questions_failure=event)
        case QuestionAnswered(_, text):
            assert state.next_question is not None
            answer = Answer(state.next_question.question, text)
            _check_answers((answer,))
            return replace(state, answered=(*state.answered, answer))
        case BoardConvened(answers):
            _check_answers(answers)
            given = tuple(answer for answer in answers if answer.answer.strip())
            first = len(state.background.evidence)
            return replace(state, convened=True, answers=given, evidence_first=first)
        case BoardStopped():
            # Whoever is asked once more is asked anew, so that it is no mistake for the first time.
            advisors = (a if a.settled else replace(a, attempts=a.attempts + 1) for a in state.advisors)
            return replace(state, stopped=True, advisors=tuple(advisors))
        case BoardResumed():
            return replace(state, stopped=False)
        case RecordRequested(file):
            _check_record_file(file)
            return state
        case BriefRequested() | BriefDrafted() | BriefFailed() | ConditionTicked():
            return _fold_brief(state, event)
        case _:
            return _fold_advisor(state, event)


def _fold_brief(
    state: BoardState, event: BriefRequested | BriefDrafted | BriefFailed | ConditionTicked
) -> BoardState:
    match event:
        case BriefRequested():
            # A first brief that failed needs no request of its own: without its failure it is due again.
            return replace(
                state, brief_requested=state.brief_stale, brief_failure=None, brief_read=True, stopped=False
            )
        case BriefDrafted(brief, usage):
            basis = state.contributions
            drafted = replace(state.billed(usage), brief=brief, brief_usage=usage, brief_basis=basis)
            return replace(drafted, brief_requested=False, brief_evidence=state.background.evidence)
        case BriefFailed():
            return replace(state, brief_failure=event, brief_requested=False)
        case ConditionTicked(condition, ticked):
            if condition not in dict(state.conditions):
                raise InvalidInput("condition", f"{condition[:80]!r} is no condition of the brief")
            others = tuple(tick for tick in state.ticks if tick != condition)
            return replace(state, ticks=(*others, condition) if ticked else others)


def _fold_advisor(
    state: BoardState,
    event: AdvisorSpoke
    | AdvisorFailed
    | AdvisorRetried
    | ChallengeMade
    | ChallengeReplied
    | ChallengeWithdrawn
    | AdvisorPassed,
) -> BoardState:
    """What an advisor says, or is told."""
    match event:
        case AdvisorSpoke(persona, text, usage):
            said = replace(
                state.advisor(persona),
                text=text,
                usage=usage,
                knew=state.background,
                knew_decided=told(state),
            )
            return state.with_advisor(said).billed(usage)
        case AdvisorFailed(persona):
            return state.with_advisor(replace(state.advisor(persona), failure=event))
        case AdvisorRetried(persona):
            for advisor in (state.advisor(persona),) if persona else state.failed:
                state = state.with_advisor(replace(advisor, failure=None, attempts=advisor.attempts + 1))
            return replace(state, stopped=False)
        case ChallengeMade(persona, text):
            _check_challenge(state.advisor(persona), text)
            # A new challenge takes the floor: one that still waits for its reply is as if never made.
            state = state.without_open_exchange()
            advisor, number = state.advisor(persona), state.challenges_made + 1
            made = replace(advisor, exchanges=(*advisor.exchanges, Exchange(text, number=number)))
            return replace(state.with_advisor(made), challenges_made=number)
        case ChallengeReplied(persona, text, usage):
            advisor = state.advisor(persona)
            evidence = state.background.evidence
            replied = replace(advisor.exchanges[-1], reply=text, usage=usage, evidence=evidence)
            done = replace(advisor, exchanges=(*advisor.replied, replied))
            return state.with_advisor(done).billed(usage)
        case ChallengeWithdrawn():
            return state.without_open_exchange()
        case AdvisorPassed(persona):
            return state.with_advisor(replace(state.advisor(persona), passed=True))


def _present(event: DecisionPresented) -> BoardState:
    check_text("decision", event.decision, MAX_DECISION)
    if not 1 <= len(event.members) <= MAX_MEMBERS:
        raise InvalidInput(
            "panel", f"has {len(event.members)} members; 1 to {MAX_MEMBERS} can sit on a board"
        )
    if len({member.id for member in event.members}) < len(event.members):
        raise InvalidInput("panel", "names an advisor twice")
    if event.opposes and event.opposes not in {member.id for member in event.members}:
        raise InvalidInput("panel", f"{event.opposes[:80]!r} is to oppose, and is not an advisor of it")
    return BoardState(
        decision=event.decision,
        mode=event.mode,
        model=event.model,
        opposes=event.opposes,
        looks=event.looks,
        advisors=tuple(_seated(member) for member in event.members),
    )


@functools.lru_cache(maxsize=256)
def _seated(member: Member) -> Advisor:
    """The same for all sessions until they speak: hundreds of them have the same panel."""
    return Advisor(member)


def _check_answers(answers: tuple[Answer, ...]) -> None:
    if len(answers) > MAX_ANSWERS:
        raise InvalidInput("answers", f"has {len(answers)} items; at most {MAX_ANSWERS} are taken")
    for number, answer in enumerate(answers):
        check_fits(f"answers[{number}].question", answer.question, MAX_ANSWER)
        check_fits(f"answers[{number}].answer", answer.answer, MAX_ANSWER)


def _check_challenge(advisor: Advisor, text: str) -> None:
    check_text("challengeText", text, MAX_CHALLENGE)
    if advisor.text is None:
        raise InvalidInput("personaId", f"{advisor.member.name} has not spoken yet")
    if len(advisor.replied) > MAX_CHALLENGES:
        raise InvalidInput(
            "priorChallenges",
            f"{advisor.member.name} has replied to {len(advisor.replied)} challenges; "
            f"at most {MAX_CHALLENGES} may come before another",
        )


def _check_record_file(file: str) -> None:
    check_fits("file", file, MAX_FILE_NAME)
    if not file.lower().endswith(RECORD_ENDINGS):
        raise InvalidInput("file", f"{file!r} must end in {', '.join(RECORD_ENDINGS)}")


# -- pending and record --------------------------------------------------------------------------


def pending(state: BoardState) -> tuple[Effect, ...]:
    return tuple(_wanted(state))


def _wanted(state: BoardState) -> Iterator[Effect]:
    step = state.step
    if step is Step.QUESTIONS:
        yield DraftReply(QUESTIONS, "1")
    if step is Step.ADVISORS and not state.stopped:
        speaking = [advisor for advisor in state.advisors if not advisor.settled]
        for advisor in speaking[:1] if state.mode == "sequential" else speaking:
            yield AskPersona(advisor.member.id, ADVISOR, str(advisor.attempts))
    for advisor in state.advisors:
        if advisor.challenged:
            yield AskPersona(advisor.member.id, CHALLENGE, str(state.challenges_made))
    if step is Step.BRIEF and not state.stopped:
        # What it is made from is part of the asking: a reply that comes in meanwhile begins it anew.
        yield DraftReply(BRIEF, str(state.contributions))
    if (offered := menu_at(state)) is not None:
        menu, key = offered
        yield menu.ask(key)


def record(state: BoardState, effect: Effect, outcome: Outcome) -> BoardEvent:
    match effect, outcome:
        case DraftReply(prompt="board/questions"), Drafted(Questions(drafted), usage):
            # Numbered by the program: a model's ids would be one more thing to get wrong.
            asked = (Question(f"q{n}", one.question, one.hint) for n, one in enumerate(drafted, start=1))
            return QuestionsDrafted(tuple(asked), usage)
        case DraftReply(prompt="board/questions"), DraftFailed(kind, message, _, retry_after):
            return QuestionsFailed(kind, message, retry_after)
        case AskPersona(persona, "board/advisor"), PersonaSpoke(text, usage):
            return AdvisorSpoke(persona, text, usage)
        case AskPersona(persona, "board/advisor"), PersonaFailed(kind, message, retry_after):
            return AdvisorFailed(persona, kind, message, retry_after)
        case AskPersona(persona, "board/challenge"), PersonaSpoke(text, usage):
            return ChallengeReplied(persona, text, usage)
        case AskPersona(persona, "board/challenge"), PersonaFailed(kind, message, retry_after):
            return ChallengeWithdrawn(persona, kind, message, retry_after)
        case DraftReply(prompt="board/brief"), Drafted(Brief() as brief, usage):
            return BriefDrafted(brief, usage)
        case DraftReply(prompt="board/brief"), DraftFailed(kind, message, raw, retry_after):
            return BriefFailed(kind, message, raw, retry_after)
        case AskPerson(step=step), PersonAnswered() if (at := menu_at(state)) and at[0].step == step:
            return at[0].event(outcome)
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


# -- what somebody may ask for at any moment -----------------------------------------------------


def stop(state: BoardState, persona: str = "") -> tuple[BoardEvent, ...]:
    """One advisor's view or reply, or without a persona everything: a reply that is under way is withdrawn,
    and the board rests until somebody goes on. A board that is stopped already stays so."""
    if persona:
        return (_stop_one(state.advisor(persona)),) if state.convened else _nothing_to_stop("Nobody speaks")
    replies = [_stop_one(advisor) for advisor in state.advisors if advisor.challenged]
    if not replies and not state.at_work:
        return _nothing_to_stop("Nobody speaks")
    return (*replies, BoardStopped()) if state.at_work and not state.stopped else tuple(replies)


def _stop_one(advisor: Advisor) -> BoardEvent:
    if advisor.challenged:
        return ChallengeWithdrawn(advisor.member.id, STOPPED, "The reply was stopped before its end.")
    if advisor.settled:
        _nothing_to_stop(f"{advisor.member.shown} does not speak")
    return AdvisorFailed(advisor.member.id, STOPPED, "You stopped them before they had finished.")


def _nothing_to_stop(who: str) -> NoReturn:
    raise NotNow(f"{who} at the moment: there is nothing to stop")


def go_on(state: BoardState) -> tuple[BoardEvent, ...]:
    """Nothing has to happen where nobody has stopped it: then it is only to be driven."""
    return (BoardResumed(),) if state.stopped and state.at_work else ()


def ask_again(state: BoardState, persona: str = "") -> BoardEvent:
    """One advisor who did not answer; without a persona, all who did not."""
    if persona and (advisor := state.advisor(persona)).failure is None:
        why = "has answered" if advisor.text is not None else "has not had their say yet"
        raise NotNow(f"{advisor.member.shown} {why}: there is nothing to ask again")
    if not state.failed:
        raise NotNow("No advisor has failed: there is nobody to ask again")
    return AdvisorRetried(persona)


BOARD: Flow[BoardState, BoardEvent] = Flow(
    name="board",
    initial=BoardState(),
    events=BoardEvent,
    advance=advance,
    pending=pending,
    make_event=record,
    ledger=ledger,
)
