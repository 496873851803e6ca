"""The Board: a decision, probing questions, advisors, challenges, and a brief that keeps the dissent.

Where a session stands is derived from what has happened, never stored: see `BoardState.step`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

import msgspec

from moot.board import menu
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
    Question,
    QuestionAnswered,
    QuestionsDrafted,
    QuestionsFailed,
    RecordRequested,
)
from moot.board.state import Advisor, BoardState, Exchange, Step
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Event,
    Flow,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
)
from moot.core.input import check_fits, check_text
from moot.errors import IllegalMove, InvalidInput, NotNow

QUESTIONS, ADVISOR, CHALLENGE, BRIEF = "board/questions", "board/advisor", "board/challenge", "board/brief"
"""Names of prompts."""

_EARLIER = (Step.ADVISORS, Step.BRIEF, Step.REVIEW)
_AT_WORK = (Step.ADVISORS, Step.BRIEF)

TRANSITIONS: dict[tuple[Step, type[Event]], tuple[Step, ...]] = {
    (Step.UNOPENED, DecisionPresented): (Step.QUESTIONS,),
    (Step.QUESTIONS, QuestionsDrafted): (Step.ANSWERS,),
    (Step.QUESTIONS, QuestionsFailed): (Step.ANSWERS,),
    (Step.QUESTIONS, BoardConvened): (Step.ADVISORS,),
    (Step.ANSWERS, QuestionAnswered): (Step.ANSWERS,),
    (Step.ANSWERS, BoardConvened): (Step.ADVISORS,),
    (Step.ADVISORS, AdvisorSpoke): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    (Step.ADVISORS, AdvisorFailed): (Step.ADVISORS, Step.BRIEF, Step.REVIEW),
    **{(step, AdvisorRetried): (Step.ADVISORS,) for step in _EARLIER},
    **{(step, BoardStopped): (step,) for step in _AT_WORK},
    **{(step, BoardResumed): (step,) for step in _AT_WORK},
    **{(step, ChallengeMade): (step,) for step in _EARLIER},
    **{(step, ChallengeReplied): (step,) for step in _EARLIER},
    **{(step, ChallengeWithdrawn): (step,) for step in _EARLIER},
    **{(step, ConditionTicked): (step,) for step in _EARLIER},
    (Step.BRIEF, BriefDrafted): (Step.REVIEW,),
    (Step.BRIEF, BriefFailed): (Step.REVIEW,),
    (Step.REVIEW, AdvisorPassed): (Step.REVIEW,),
    (Step.REVIEW, BriefRequested): (Step.BRIEF, Step.REVIEW),
    (Step.REVIEW, RecordRequested): (Step.REVIEW,),
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


# -- advance -------------------------------------------------------------------------------------


def advance(state: BoardState, event: BoardEvent) -> BoardState:
    if (state.step, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.step)
        raise IllegalMove(type(event).__name__, state.step, allowed)
    match event:
        case DecisionPresented():
            return _present(event)
        case QuestionsDrafted(questions, spoken):
            return replace(state, questions=questions, bills=(*state.bills, spoken))
        case QuestionsFailed():
            # The questions are a help, not a hurdle: without them the board can still be convened.
            return replace(state, questions=(), questions_failure=event)
        case QuestionAnswered(question, text):
            asked = state.next_question
            if asked is None or asked.id != question:
                raise IllegalMove(type(event).__name__, f"{state.step}, {question}")
            answer = Answer(asked.question, text)
            _check_answers((answer,))
            return replace(state, answered=(*state.answered, answer))
        case BoardConvened(answers):
            _check_answers(answers)
            given = tuple(answer for answer in answers if answer.answer.strip())
            return replace(state, convened=True, answers=given)
        case RecordRequested(file):
            _check_record_file(file)
            return state
        case BriefRequested() | BriefDrafted() | BriefFailed() | ConditionTicked():
            return _about_the_brief(state, event)
        case _:
            return _at_the_table(state, event)


def _about_the_brief(
    state: BoardState, event: BriefRequested | BriefDrafted | BriefFailed | ConditionTicked
) -> BoardState:
    match event:
        case BriefRequested():
            # A first brief that failed needs no request of its own: without its failure it is due again.
            return replace(
                state, brief_requested=state.brief_stale, brief_failure=None, brief_read=True, stopped=False
            )
        case BriefDrafted(brief, spoken):
            return replace(
                state,
                brief=brief,
                brief_basis=state.contributions,
                brief_requested=False,
                bills=(*state.bills, spoken),
            )
        case BriefFailed():
            return replace(state, brief_failure=event, brief_requested=False)
        case ConditionTicked(condition, ticked):
            if condition not in dict(state.conditions):
                raise InvalidInput("condition", f"{condition[:80]!r} is no condition of the brief")
            others = tuple(tick for tick in state.ticks if tick != condition)
            return replace(state, ticks=(*others, condition) if ticked else others)


def _at_the_table(
    state: BoardState,
    event: AdvisorSpoke
    | AdvisorFailed
    | AdvisorRetried
    | BoardStopped
    | BoardResumed
    | ChallengeMade
    | ChallengeReplied
    | ChallengeWithdrawn
    | AdvisorPassed,
) -> BoardState:
    """What an advisor says, or is told."""
    if isinstance(event, BoardStopped | BoardResumed):
        return _stop_or_go_on(state, stop=isinstance(event, BoardStopped))
    if event == AdvisorRetried():
        return _retry_all(state)
    advisor = state.advisor(event.persona)
    match event:
        case AdvisorSpoke(_, text, spoken) if not advisor.settled:
            said = replace(advisor, text=text, spoken=spoken)
            return replace(state.with_advisor(said), bills=(*state.bills, spoken))
        case AdvisorFailed() if not advisor.settled:
            return state.with_advisor(replace(advisor, failure=event))
        case AdvisorRetried() if advisor.failure is not None:
            again = replace(advisor, failure=None, attempts=advisor.attempts + 1)
            return replace(state.with_advisor(again), stopped=False)
        case ChallengeMade(_, text):
            _check_challenge(advisor, text)
            # A new challenge takes the floor: one that still waits for its reply is as if never made.
            cleared = state.without_open_exchange()
            advisor = cleared.advisor(event.persona)
            number = state.challenges_made + 1
            made = replace(advisor, exchanges=(*advisor.exchanges, Exchange(text, number=number)))
            return replace(cleared.with_advisor(made), challenges_made=number)
        case ChallengeReplied(_, text, spoken) if advisor.challenged:
            replied = replace(advisor.exchanges[-1], reply=text, spoken=spoken)
            done = replace(advisor, exchanges=(*advisor.replied, replied))
            return replace(state.with_advisor(done), bills=(*state.bills, spoken))
        case ChallengeWithdrawn() if advisor.challenged:
            return state.without_open_exchange()
        case AdvisorPassed() if advisor.text is not None and not advisor.passed:
            return state.with_advisor(replace(advisor, passed=True))
        case _:
            raise IllegalMove(type(event).__name__, f"{state.step}, {advisor.member.id}")


def _stop_or_go_on(state: BoardState, *, stop: bool) -> BoardState:
    if state.stopped is stop:
        raise IllegalMove(
            "BoardStopped" if stop else "BoardResumed", f"{state.step}, stopped: {state.stopped}"
        )
    # Whoever is asked once more is asked anew, so that it is no mistake for the first time.
    advisors = tuple(
        a if a.settled or not stop else replace(a, attempts=a.attempts + 1) for a in state.advisors
    )
    return replace(state, stopped=stop, advisors=advisors)


def _retry_all(state: BoardState) -> BoardState:
    if not state.failed:
        raise IllegalMove("AdvisorRetried", f"{state.step}, nobody has failed")
    for advisor in state.failed:
        state = _at_the_table(state, AdvisorRetried(advisor.member.id))
    return state


def _present(event: DecisionPresented) -> BoardState:
    check_text("decision", event.decision, MAX_DECISION)
    if not 1 <= len(event.members) <= MAX_MEMBERS:
        raise InvalidInput(
            "panel", f"has {len(event.members)} members; 1 to {MAX_MEMBERS} can sit on a board"
        )
    if len({member.id for member in event.members}) < len(event.members):
        raise InvalidInput("panel", "names an advisor twice")
    return BoardState(
        decision=event.decision,
        mode=event.mode,
        model=event.model,
        advisors=tuple(Advisor(_known(member)) for member in event.members),
    )


@functools.lru_cache(maxsize=256)
def _known(member: Member) -> Member:
    """The same member for all sessions: hundreds of them have the same panel."""
    return member


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
    challenged = any(advisor.challenged for advisor in state.advisors)
    if state.stopped and step in _AT_WORK:
        if not challenged:
            yield menu.ask_to_go_on(state)
    elif step is Step.ADVISORS:
        speaking = [advisor for advisor in state.advisors if not advisor.settled]
        for advisor in speaking[:1] if state.mode == "sequential" else speaking:
            yield AskPersona(advisor.member.id, ADVISOR, str(advisor.attempts))
    if step in _EARLIER:
        for advisor in state.advisors:
            if advisor.challenged:
                yield AskPersona(advisor.member.id, CHALLENGE, str(state.challenges_made))
    if step is Step.BRIEF and not state.stopped:
        # What it is made from is part of the asking: a reply that comes in meanwhile begins it anew.
        yield DraftReply(BRIEF, str(state.contributions))
    if step is Step.ANSWERS:
        yield menu.ask_for_answer(state)
    if step is Step.REVIEW and not challenged:
        yield menu.ask_at_review(state)


def record(state: BoardState, effect: Effect, outcome: Outcome) -> BoardEvent:
    match effect, outcome:
        case DraftReply(prompt="board/questions"), Drafted(value, spoken):
            # Numbered by the program: a model's ids would be one more thing to get wrong.
            asked = [{**one, "id": f"q{n}"} for n, one in enumerate(value["questions"], start=1)]
            return QuestionsDrafted(msgspec.convert(asked, tuple[Question, ...]), spoken)
        case DraftReply(prompt="board/questions"), DraftFailed(kind, message, _, retry_after):
            return QuestionsFailed(kind, message, retry_after)
        case AskPersona(persona, "board/advisor"), PersonaSpoke(text, spoken):
            return AdvisorSpoke(persona, text, spoken)
        case AskPersona(persona, "board/advisor"), PersonaFailed(kind, message, retry_after):
            return AdvisorFailed(persona, kind, message, retry_after)
        case AskPersona(persona, "board/challenge"), PersonaSpoke(text, spoken):
            return ChallengeReplied(persona, text, spoken)
        case AskPersona(persona, "board/challenge"), PersonaFailed(kind, message, retry_after):
            return ChallengeWithdrawn(persona, kind, message, retry_after)
        case DraftReply(prompt="board/brief"), Drafted(value, spoken):
            return BriefDrafted(msgspec.convert(value, Brief), spoken)
        case DraftReply(prompt="board/brief"), DraftFailed(kind, message, raw, retry_after):
            return BriefFailed(kind, message, raw, retry_after)
        case AskPerson(step=step), PersonAnswered():
            return menu.meant(state, step, outcome)
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


# -- what somebody may ask for at any moment -----------------------------------------------------


def stop(state: BoardState, persona: str = "") -> tuple[BoardEvent, ...]:
    """One advisor's view or reply, or without a persona everything: a reply that is under way is withdrawn,
    and the board rests until somebody goes on. A board that is stopped already stays so."""
    if persona:
        return (_stop_one(state.advisor(persona)),) if state.convened else _nothing_to_stop("Nobody speaks")
    replies = [_stop_one(advisor) for advisor in state.advisors if advisor.challenged]
    at_work = state.step in _AT_WORK
    if not replies and not at_work:
        return _nothing_to_stop("Nobody speaks")
    return (*replies, BoardStopped()) if at_work and not state.stopped else tuple(replies)


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
    return (BoardResumed(),) if state.stopped and state.step in _AT_WORK else ()


def ask_again(state: BoardState, persona: str = "") -> BoardEvent:
    """One advisor who did not answer; without a persona, all who did not."""
    if persona and (advisor := state.advisor(persona)).failure is None:
        why = "has answered" if advisor.text is not None else "has not had their say yet"
        raise NotNow(f"{advisor.member.shown} {why}: there is nothing to ask again")
    if not state.failed:
        raise NotNow("No advisor has failed: there is nobody to ask again")
    return AdvisorRetried(persona)


BOARD: Flow[BoardState, BoardEvent] = Flow(
    name="board", initial=BoardState(), events=BoardEvent, advance=advance, pending=pending, make_event=record
)
