"""What the person is asked on a board, and what their answer then means.

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
from moot.core.flow import AskPerson, Choice, PersonAnswered, Takes, numbered

CONVENE = Choice("convene", "Convene the board now")
SKIP = Choice("skip-question", "Skip this question")
GO_ON = Choice("go-on", "Go on")
TO_THE_BRIEF = Choice("brief", "Go to the brief")


def meant(state: BoardState, step: str, answer: PersonAnswered) -> BoardEvent:
    """What an answer means at the step at which it was asked for."""
    if step == "stopped":
        return BoardResumed()
    if step == Step.ANSWERS:
        return answered(state, answer)
    if step == "challenge" and state.floor is not None:
        return challenged(state, state.floor, answer)
    if step == Step.REVIEW:
        return chosen(state, answer)
    raise AssertionError(f"an answer is nothing that the step {step} can lead to")


def ask_for_answer(state: BoardState) -> AskPerson:
    question = state.next_question
    if question is None:
        return AskPerson(Step.ANSWERS, "whether to convene the board", "convene", (CONVENE,))
    asked = f"{question.question} ({question.hint})" if question.hint else question.question
    return AskPerson(Step.ANSWERS, asked, question.id, (SKIP, CONVENE), free_text=True)


def answered(state: BoardState, answer: PersonAnswered) -> BoardEvent:
    question = state.next_question
    if question is None or answer.choice == CONVENE.id:
        return BoardConvened(state.answered)
    text = answer.text.strip()
    last = len(state.answered) + 1 == len(state.questions or ())
    if last:
        return BoardConvened((*state.answered, Answer(question.question, text)))
    return QuestionAnswered(question.id, text)


def ask_to_go_on(state: BoardState) -> AskPerson:
    key = f"{state.contributions} {state.challenges_made}"
    return AskPerson("stopped", "the board is stopped", key, (GO_ON,))


def ask_at_review(state: BoardState) -> AskPerson:
    """Each advisor in turn first; then the menu."""
    return _ask_for_challenge(state, state.floor) if state.floor else _ask_what_next(state)


def _ask_for_challenge(state: BoardState, advisor: Advisor) -> AskPerson:
    after = _after(state, advisor)
    go_on = Choice("next", f"Go on to {after.member.name}" if after else TO_THE_BRIEF.label)
    choices = (go_on, TO_THE_BRIEF) if after else (go_on,)
    asked, key = f"a challenge to {advisor.member.name}", f"{advisor.member.id} {state.challenges_made}"
    return AskPerson("challenge", asked, key, choices, optional=True, free_text=True)


def _after(state: BoardState, advisor: Advisor) -> Advisor | None:
    return state.with_advisor(replace(advisor, passed=True)).floor


def challenged(state: BoardState, advisor: Advisor, answer: PersonAnswered) -> BoardEvent:
    if answer.choice is None:
        return ChallengeMade(advisor.member.id, answer.text.strip())
    if answer.choice == TO_THE_BRIEF.id or not _after(state, advisor):
        return BriefRequested()
    return AdvisorPassed(advisor.member.id)


def _ask_what_next(state: BoardState) -> AskPerson:
    choices = [
        Choice(id_, f"Challenge {advisor.member.name}", Takes.TEXT)
        for id_, advisor in numbered("challenge", state.advisors).items()
        if advisor.text is not None
    ]
    has_spoken = bool(choices)
    choices += [
        Choice(id_, f"Ask {advisor.member.name} again")
        for id_, advisor in numbered("ask-again", state.advisors).items()
        if advisor.failure is not None
    ]
    if len(state.failed) > 1:
        choices.append(Choice("ask-again-all", "Ask all of them again"))
    if has_spoken:
        current = state.brief is not None and not state.brief_stale
        choices.append(Choice("brief", "Show the brief" if current else "Rewrite the brief"))
    choices += [
        Choice(id_, f"Tick, or take the tick back: {condition}")
        for id_, (condition, _) in numbered("tick", state.conditions).items()
    ]
    choices.append(Choice("export", f"Export the record: {', '.join(RECORD_ENDINGS)}", Takes.TEXT))
    key = f"{state.contributions} {state.challenges_made} {len(state.bills)}"
    return AskPerson(Step.REVIEW, "what next", key, tuple(choices), optional=True)


def chosen(state: BoardState, answer: PersonAnswered) -> BoardEvent:
    choice, text = answer.choice or "", answer.text.strip()
    if challenged := numbered("challenge", state.advisors).get(choice):
        return ChallengeMade(challenged.member.id, text)
    if failed := numbered("ask-again", state.advisors).get(choice):
        return AdvisorRetried(failed.member.id)
    if condition := numbered("tick", state.conditions).get(choice):
        text, ticked = condition
        return ConditionTicked(text, not ticked)
    match choice:
        case "ask-again-all":
            return AdvisorRetried()
        case "brief":
            return BriefRequested()
        case _:
            return RecordRequested(text)
