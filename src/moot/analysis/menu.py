"""What the person is asked in an analysis, and what their words then mean."""

from __future__ import annotations

from moot.analysis.asking import may_ask
from moot.analysis.events import (
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
from moot.core.flow import AskPerson, Option
from moot.errors import InvalidInput
from moot.text.depth import depth_in

ELABORATE = Option("E", "Elaboration Mode -- bring all perspectives to discuss this topic")
CONTINUE = Option("C", "Continue -- move to the next step")
SKIP = Option("S", "Skip remaining steps in this phase")
BOARD = Option("B", "Convene the Board on an open question")
NATURALLY = "Or type naturally to provide feedback."


def options(state: AnalysisState) -> tuple[Option, ...]:
    """At a step boundary, or at the end of a phase, where there is nothing left in it to skip."""
    board = (BOARD,) if state.open_questions else ()
    following = state.next_due
    if not state.ends_phase:
        return (ELABORATE, CONTINUE, SKIP, *board)
    if following is None:
        return (ELABORATE, Option("C", "Complete analysis"), *board)
    number, _, name = following.phase.partition("-")
    return (ELABORATE, Option("C", f"Continue to Phase {number} ({name})"), *board)


def ask_at_menu(state: AnalysisState) -> AskPerson:
    return AskPerson("menu", "what next", str(state.happened), options(state), hint=NATURALLY)


def ask_for_question(state: AnalysisState) -> AskPerson:
    questions = [Option(str(number), q) for number, q in enumerate(state.open_questions, start=1)]
    listed = (*questions, Option("", "None of them"))
    return AskPerson("board-question", "the number of a question", str(state.happened), listed)


def ask_about_failure(state: AnalysisState) -> AskPerson:
    assert state.failure is not None
    back = (_BACK,) if state.step in WITHDRAWABLE else ()
    return AskPerson(
        "failed",
        "What now?",
        str(state.happened),
        (Option("r", "Retry"), *back),
        optional=True,
    )


_BACK = Option("m", "Back to the menu without it")


def ask_about_skipped(state: AnalysisState) -> AskPerson:
    count = len(state.skipped_steps)
    return AskPerson(
        "skipped",
        f"{count} skipped step{'s' if count > 1 else ''} left. Take them up?",
        str(state.happened),
        (Option("t", "Take them up"),),
        optional=True,
    )


def answered(state: AnalysisState, text: str) -> AnalysisEvent:
    if state.failure is not None:
        return _after_failure(state, text.lower())
    match state.step:
        case Step.FINISHED:
            if text.lower() in ("t", "take them up"):
                return SkippedTakenUp()
            raise InvalidInput("choice", "t takes them up; Ctrl-D leaves")
        case Step.ANSWERING:
            assert state.current is not None
            return AnswerGiven(state.current.ref.id, text, depth_in(text) or "unchanged", may_ask(text))
        case Step.CHOOSING:
            return QuestionPut(_question(state, text))
        case _:
            # Only the single letter is a choice; anything else is feedback to the persona.
            offered = {option.key for option in options(state)}
            if text.upper() in offered:
                return MenuChosen(text.upper())
            return FeedbackGiven(text, depth_in(text) or "unchanged")


def _after_failure(state: AnalysisState, text: str) -> AnalysisEvent:
    if text in ("r", "retry"):
        return TriedAgain()
    if state.step in WITHDRAWABLE:
        if text in ("m", "menu"):
            return Withdrawn()
        raise InvalidInput("choice", "r tries again; m goes back to the menu; Ctrl-D leaves")
    raise InvalidInput("choice", "r tries again; Ctrl-D leaves")


def _question(state: AnalysisState, text: str) -> str:
    if not text:
        return ""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(state.open_questions):
        return state.open_questions[int(text) - 1]
    raise InvalidInput("question", f"a number from 1 to {len(state.open_questions)}")
