"""What the person is asked in an analysis, and what their answer then means."""

from __future__ import annotations

from dataclasses import replace

from moot.analysis.asking import may_ask
from moot.analysis.events import (
    KEPT_AS,
    AnalysisEvent,
    AnswerGiven,
    FeedbackGiven,
    MenuChosen,
    QuestionPut,
    SkippedTakenUp,
    TriedAgain,
    Withdrawn,
)
from moot.analysis.state import WITHDRAWABLE, AnalysisState, Step
from moot.core.flow import AskPerson, Choice, PersonAnswered, numbered
from moot.text.depth import depth_in

ELABORATE = Choice("elaborate", "Elaboration Mode -- bring all perspectives to discuss this topic")
CONTINUE = Choice("continue", "Continue -- move to the next step")
SKIP = Choice("skip-phase", "Skip remaining steps in this phase")
BOARD = Choice("ask-board", "Convene the Board on an open question")
NATURALLY = "Or type naturally to provide feedback."


def choices(state: AnalysisState) -> tuple[Choice, ...]:
    """At a step boundary, or at the end of a phase, where there is nothing left in it to skip."""
    board = (BOARD,) if state.open_questions else ()
    following = state.next_due
    if not state.ends_phase:
        return (ELABORATE, CONTINUE, SKIP, *board)
    if following is None:
        return (ELABORATE, replace(CONTINUE, label="Complete analysis"), *board)
    number, _, name = following.phase.partition("-")
    return (ELABORATE, replace(CONTINUE, label=f"Continue to Phase {number} ({name})"), *board)


def ask_at_menu(state: AnalysisState) -> AskPerson:
    return AskPerson("menu", "what next", str(state.happened), choices(state), hint=NATURALLY, free_text=True)


def ask_for_question(state: AnalysisState) -> AskPerson:
    questions = (Choice(*each) for each in numbered("question", state.open_questions).items())
    listed = (*questions, Choice("none", "None of them"))
    return AskPerson("board-question", "an open question", str(state.happened), listed)


def ask_about_failure(state: AnalysisState) -> AskPerson:
    back = (_BACK,) if state.step in WITHDRAWABLE else ()
    return AskPerson("failed", "What now?", str(state.happened), (_RETRY, *back), optional=True)


_RETRY = Choice("retry", "Retry")
_BACK = Choice("to-menu", "Back to the menu without it")


def ask_about_skipped(state: AnalysisState) -> AskPerson:
    count = len(state.skipped_steps)
    return AskPerson(
        "skipped",
        "1 step was skipped. Do it now?" if count == 1 else f"{count} steps were skipped. Do them now?",
        str(state.happened),
        (Choice("take-up", "Take up what was skipped"),),
        optional=True,
    )


def read_answer(state: AnalysisState, answer: PersonAnswered) -> AnalysisEvent:
    text = answer.text.strip()
    if state.failure is not None:
        return TriedAgain() if answer.choice == _RETRY.id else Withdrawn()
    match state.step:
        case Step.FINISHED:
            return SkippedTakenUp()
        case Step.ANSWERING:
            return AnswerGiven(state.record.ref.id, text, depth_in(text) or "unchanged", may_ask(text))
        case Step.CHOOSING:
            return QuestionPut(numbered("question", state.open_questions).get(answer.choice or "", ""))
        case _ if answer.choice is not None:
            return MenuChosen(KEPT_AS[answer.choice])
        case _:
            return FeedbackGiven(text, depth_in(text) or "unchanged")
