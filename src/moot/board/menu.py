"""What the person is asked on a board, and the event that each answer leads to.

Whether that may happen, the flow decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

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
    Question,
    QuestionAnswered,
    RecordRequested,
)
from moot.board.state import Advisor, BoardState, Step
from moot.core.flow import Choice, Takes, numbered
from moot.core.menu import Choices, Menu

BoardMenu = Menu[BoardEvent]

CONVENE = Choice("convene", "Convene the board now")
SKIP = Choice("skip-question", "Skip this question")
GO_ON = Choice("go-on", "Go on")
TO_THE_BRIEF = Choice("brief", "Go to the brief")


def menu_at(state: BoardState) -> tuple[BoardMenu, str] | None:
    """With its key. Nothing while somebody is still to be heard."""
    if any(advisor.challenged for advisor in state.advisors):
        return None
    match state.step:
        case Step.ANSWERS:
            return _for_answer(state)
        case Step.ADVISORS | Step.BRIEF if state.stopped:
            key = f"{state.contributions} {state.challenges_made}"
            return Menu("stopped", "the board is stopped", {GO_ON: BoardResumed()}), key
        case Step.REVIEW:
            # Each advisor in turn first.
            return _what_next(state) if state.floor is None else _for_challenge(state, state.floor)
        case _:
            return None


def _for_answer(state: BoardState) -> tuple[BoardMenu, str]:
    question = state.next_question
    convene: Choices[BoardEvent] = {CONVENE: BoardConvened(state.answered)}
    if question is None:
        return Menu(Step.ANSWERS, "whether to convene the board", convene), "convene"
    asked = f"{question.question} ({question.hint})" if question.hint else question.question
    answer = partial(_answered, state, question)
    return Menu(Step.ANSWERS, asked, {SKIP: answer(""), **convene}, answer), question.id


def _answered(state: BoardState, question: Question, text: str) -> BoardEvent:
    if len(state.answered) + 1 < len(state.questions or ()):
        return QuestionAnswered(question.id, text)
    return BoardConvened((*state.answered, Answer(question.question, text)))


def _for_challenge(state: BoardState, advisor: Advisor) -> tuple[BoardMenu, str]:
    persona, after = advisor.member.id, state.with_advisor(replace(advisor, passed=True)).floor
    choices: Choices[BoardEvent] = {Choice("next", TO_THE_BRIEF.label): BriefRequested()}
    if after is not None:
        go_on = Choice("next", f"Go on to {after.member.name}")
        choices = {go_on: AdvisorPassed(persona), TO_THE_BRIEF: BriefRequested()}
    asked, challenge = f"a challenge to {advisor.member.name}", partial(ChallengeMade, persona)
    menu: BoardMenu = Menu("challenge", asked, choices, challenge, optional=True)
    return menu, f"{persona} {state.challenges_made}"


def _what_next(state: BoardState) -> tuple[BoardMenu, str]:
    choices: dict[Choice, BoardEvent | Callable[[str], BoardEvent]] = {}
    for id_, advisor in numbered("challenge", state.advisors).items():
        if advisor.text is not None:
            challenge = Choice(id_, f"Challenge {advisor.member.name}", Takes.TEXT)
            choices[challenge] = partial(ChallengeMade, advisor.member.id)
    has_spoken = bool(choices)
    for id_, advisor in numbered("ask-again", state.advisors).items():
        if advisor.failure is not None:
            again = Choice(id_, f"Ask {advisor.member.name} again")
            choices[again] = AdvisorRetried(advisor.member.id)
    if len(state.failed) > 1:
        choices[Choice("ask-again-all", "Ask all of them again")] = AdvisorRetried()
    if has_spoken:
        current = state.brief is not None and not state.brief_stale
        choices[Choice("brief", "Show the brief" if current else "Rewrite the brief")] = BriefRequested()
    for id_, (condition, ticked) in numbered("tick", state.conditions).items():
        tick = Choice(id_, f"Tick, or take the tick back: {condition}")
        choices[tick] = ConditionTicked(condition, not ticked)
    export = Choice("export", f"Export the record: {', '.join(RECORD_ENDINGS)}", Takes.TEXT)
    choices[export] = RecordRequested
    key = f"{state.contributions} {state.challenges_made} {len(state.bills)}"
    return Menu(Step.REVIEW, "what next", choices, optional=True), key
