"""What the person is asked on a board, and what their words then mean.

Every question offers exactly what its answer can be. Whether an answer is allowed, the flow decides.
"""

from __future__ import annotations

from dataclasses import replace

from moot.board.events import (
    RECORD_ENDINGS,
    AdvisorPassed,
    AdvisorRetried,
    Answer,
    BoardConvened,
    BoardEvent,
    BoardResumed,
    BriefRequested,
    ChallengeMade,
    ConditionTicked,
    QuestionAnswered,
    RecordRequested,
)
from moot.board.state import Advisor, BoardState, Step
from moot.core.flow import AskPerson, Option
from moot.errors import InvalidInput

CONVENE = Option("c", "Convene the board now")
GO_ON = Option("g", "Go on")
TO_THE_BRIEF = Option("b", "Go to the brief")


def meant(state: BoardState, step: str, text: str) -> BoardEvent:
    """What the person's words mean at the step at which they were asked."""
    if step == "stopped":
        return resumed(text)
    if step == Step.ANSWERS:
        return answered(state, text)
    if step == "challenge" and state.floor is not None:
        return challenged(state, state.floor, text)
    if step == Step.REVIEW:
        return chosen(state, text)
    raise AssertionError(f"an answer is nothing that the step {step} can lead to")


def ask_for_answer(state: BoardState) -> AskPerson:
    question = state.next_question
    if question is None:
        return AskPerson(Step.ANSWERS, "c to convene the board", "convene", (CONVENE,))
    asked = f"{question.question} ({question.hint})" if question.hint else question.question
    return AskPerson(Step.ANSWERS, asked, question.id, (Option("", "Skip this question"), CONVENE))


def answered(state: BoardState, text: str) -> BoardEvent:
    question = state.next_question
    if text.lower() == CONVENE.key:
        return BoardConvened(state.answered)
    if question is None:
        raise InvalidInput("answer", "there is no question to answer: c convenes the board")
    last = len(state.answered) + 1 == len(state.questions or ())
    if last:
        return BoardConvened((*state.answered, Answer(question.question, text)))
    return QuestionAnswered(question.id, text)


def ask_to_go_on(state: BoardState) -> AskPerson:
    occasion = f"{state.contributions} {state.challenges_made}"
    return AskPerson("stopped", "the board is stopped: g to go on", occasion, (GO_ON,))


def resumed(text: str) -> BoardEvent:
    if text.lower() != GO_ON.key:
        raise InvalidInput("choice", f"{text[:80]!r} is none of those offered: g goes on")
    return BoardResumed()


def ask_at_review(state: BoardState) -> AskPerson:
    """Each advisor in turn first; then the menu."""
    return _ask_for_challenge(state, state.floor) if state.floor else _ask_what_next(state)


def _ask_for_challenge(state: BoardState, advisor: Advisor) -> AskPerson:
    after = _after(state, advisor)
    go_on = Option("", f"Go on to {after.member.name}" if after else TO_THE_BRIEF.label)
    options = (go_on, TO_THE_BRIEF) if after else (go_on,)
    occasion = f"{advisor.member.id} {state.challenges_made}"
    return AskPerson("challenge", f"a challenge to {advisor.member.name}", occasion, options, optional=True)


def _after(state: BoardState, advisor: Advisor) -> Advisor | None:
    return state.with_advisor(replace(advisor, passed=True)).floor


def challenged(state: BoardState, advisor: Advisor, text: str) -> BoardEvent:
    if text.lower() == TO_THE_BRIEF.key or not (text or _after(state, advisor)):
        return BriefRequested()
    return ChallengeMade(advisor.member.id, text) if text else AdvisorPassed(advisor.member.id)


def _ask_what_next(state: BoardState) -> AskPerson:
    spoke = [f"{n} {a.member.name}" for n, a in enumerate(state.advisors, start=1) if a.text is not None]
    options = [Option("NUMBER TEXT", f"Challenge an advisor: {', '.join(spoke)}")] if spoke else []
    options += [
        Option(f"r {number}", f"Ask {advisor.member.name} again")
        for number, advisor in enumerate(state.advisors, start=1)
        if advisor.failure is not None
    ]
    if len(state.failed) > 1:
        options.append(Option("r all", "Ask all of them again"))
    if spoke:
        current = state.brief is not None and not state.brief_stale
        options.append(Option("b", "Show the brief" if current else "Write the brief anew"))
    if state.conditions:
        options.append(Option("t NUMBER", "Tick a condition of the brief, or take its tick back"))
    options.append(Option("e FILE", f"Export the record: {', '.join(RECORD_ENDINGS)}"))
    occasion = f"{state.contributions} {state.challenges_made} {len(state.bills)}"
    return AskPerson(Step.REVIEW, "what next", occasion, tuple(options), optional=True)


def chosen(state: BoardState, text: str) -> BoardEvent:
    word, _, rest = text.partition(" ")
    rest = rest.strip()
    match word.lower():
        case "b" if not rest:
            if state.contributions == 0:
                raise InvalidInput("b", "no advisor has spoken, so there is nothing to write a brief from")
            return BriefRequested()
        case "e" if rest:
            return RecordRequested(rest)
        case "t" if rest:
            return _ticked(state, rest)
        case "r" if rest.lower() == "all" and state.failed:
            return AdvisorRetried()
        case "r":
            return AdvisorRetried(_failed(state, rest).member.id)
        case number if rest and (advisor := _numbered(state, number.rstrip(":"))):
            return ChallengeMade(advisor.member.id, rest)
    raise InvalidInput("choice", f"{text[:80]!r} is none of those offered")


def _ticked(state: BoardState, number: str) -> ConditionTicked:
    numbers = {str(n): one for n, one in enumerate(state.conditions, start=1)}
    if number not in numbers:
        raise InvalidInput("t", f"name the number of a condition, 1 to {len(numbers)}")
    condition, ticked = numbers[number]
    return ConditionTicked(condition, not ticked)


def _numbered(state: BoardState, number: str) -> Advisor | None:
    numbers = {str(n): advisor for n, advisor in enumerate(state.advisors, start=1)}
    return numbers.get(number)


def _failed(state: BoardState, number: str) -> Advisor:
    advisor = _numbered(state, number) if number else next(iter(state.failed), None)
    if advisor is None or advisor not in state.failed:
        raise InvalidInput("r", "name the number of an advisor who did not answer")
    return advisor
