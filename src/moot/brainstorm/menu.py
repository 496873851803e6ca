"""What the person is asked in a brainstorm, and what their words then mean.

The same letter does the same at every menu: A agrees, D discusses, R revises, B goes back, O convenes the
Board, T brings the roundtable in, S skips on. Numbers pick questions, options and approaches.
"""

from __future__ import annotations

from moot.brainstorm import text as words
from moot.brainstorm.events import (
    DEFERRED,
    AnswerGiven,
    AnswersClosed,
    ApproachChosen,
    BrainstormEvent,
    GoneBack,
    Level,
    LevelConfirmed,
    PlanningChosen,
    PreviousSectionShown,
    Question,
    QuestionPicked,
    RequestMade,
    ScopeKeptWhole,
    SectionsApproved,
    Wish,
    WritingBegun,
    WritingDropped,
)
from moot.brainstorm.state import BrainstormState, Situation, Step
from moot.core import menus
from moot.core.flow import AskPerson, Option
from moot.errors import InvalidInput

_OVERRIDES: dict[str, Level] = {"Q": "straightforward", "E": "exploration", "C": "complex"}
_AHEAD: dict[Level, str] = {
    "straightforward": "quick design outline",
    "exploration": "questions, approaches, design",
    "complex": "more questions, approaches, a deeper design",
}
_WISHES: dict[str, Wish] = {"D": "discuss", "R": "revise", "O": "board", "T": "roundtable"}
_DISCUSS = Option("D", "Discuss – say what you think of it")
_BOARD = Option("O", "Board – convene it on this")
_ROUNDTABLE = Option("T", "Roundtable – bring it in on this")
_TO_MENU = Option("B", "Back to the menu")
_EXPECTS: dict[Wish, str] = {
    "discuss": "what you think of it",
    "revise": "what should be different",
    "board": "the question for the Board",
    "roundtable": "the question for the roundtable",
}
_BACK_TO = {
    Step.TRIAGE: "Back to the assessment",
    Step.QUESTIONS: "Back to the questions",
    Step.APPROACHES: "Back to the approaches",
}


def ask(state: BrainstormState, occasion: str) -> AskPerson | None:
    """Nothing, while it is somebody else's turn."""
    match state.situation:
        case Situation.AT_TRIAGE:
            return AskPerson("triage", "how much process this needs", occasion, options(state))
        case Situation.AT_QUESTIONS:
            return AskPerson("questions", "a number to answer that question", occasion, options(state))
        case Situation.AT_APPROACHES:
            return AskPerson("approaches", "the number of an approach", occasion, options(state))
        case Situation.AT_DESIGN:
            return AskPerson("design", "what you think of this section", occasion, options(state))
        case Situation.ANSWERING:
            return AskPerson("answer", _picked(state).text, occasion, _answers(state))
        case Situation.WRITING:
            assert state.writing is not None
            return AskPerson("comment", _EXPECTS[state.writing], occasion, _writing_options(state))
        case _:
            return None


def options(state: BrainstormState) -> tuple[Option, ...]:
    """At the menu of a step."""
    back = (Option("B", _BACK_TO[state.visited[-1]]),) if state.visited else ()
    others = (_DISCUSS, *back, _BOARD, _ROUNDTABLE)
    match state.step:
        case Step.TRIAGE:
            return (*_triage_options(state), *others, Option("S", "Skip to planning"))
        case Step.QUESTIONS:
            numbered = [
                Option(str(n), words.question_line(each)) for n, each in enumerate(state.questions, start=1)
            ]
            still_open = sum(not each.answered for each in state.questions)
            left = f" – {still_open} left to the brainstormer's judgment" if still_open else ""
            return (*numbered, *others, Option("S", f"Done{left}"))
        case Step.APPROACHES:
            numbered = [Option(str(n), each.title) for n, each in enumerate(state.approaches, start=1)]
            best = state.recommended
            agree = (Option("A", f"Agree – take the recommended one: {best.title}"),) if best else ()
            skip = (Option("S", "Skip – leave the choice to the brainstormer"),) if best else ()
            return (*numbered, *agree, *others, *skip)
        case _:
            more = len(state.design_sections) > len(state.shown_sections)
            previous = (Option("P", "Previous section"),) if state.has_previous_section else ()
            skip = (Option("S", "Skip – approve all sections as they are"),) if more else ()
            return (
                Option("A", "Approve this section" if more else "Approve the design"),
                Option("R", "Revise – say what should be different"),
                _DISCUSS,
                *previous,
                *others[1:],
                *skip,
            )


def _triage_options(state: BrainstormState) -> tuple[Option, ...]:
    assert state.triage is not None
    proposed = state.level_at_hand
    overrides = [
        Option(key, f"Override – {words.LEVEL_NAMES[level].lower()}")
        for key, level in _OVERRIDES.items()
        if level != proposed
    ]
    whole = (Option("K", "Keep it whole – without the proposed parts"),)
    divided = bool(state.triage.batches or state.triage.splits)
    return (Option("A", f"Agree – {_AHEAD[proposed]}"), *overrides, *(whole if divided else ()))


def _answers(state: BrainstormState) -> tuple[Option, ...]:
    numbered = [Option(str(n), option) for n, option in enumerate(_picked(state).options, start=1)]
    return (
        *numbered,
        Option("S", "Skip – leave it to the brainstormer"),
        Option("B", "Back to the questions"),
    )


def _writing_options(state: BrainstormState) -> tuple[Option, ...]:
    if state.writing in ("board", "roundtable"):
        return (Option("", f"Ask: {default_question(state)}"), _TO_MENU)
    return (_TO_MENU,)


def _picked(state: BrainstormState) -> Question:
    found = state.question(state.picked_question)
    assert found is not None
    return found


def default_question(state: BrainstormState) -> str:
    """What the Board or the roundtable is asked, if the person does not say."""
    match state.step:
        case Step.TRIAGE:
            asked = "How much design work does this need, and is it rightly divided?"
        case Step.QUESTIONS:
            asked = "How should the open questions be answered?"
        case Step.APPROACHES:
            asked = "Which approach should be taken?"
        case _:
            titles = ", ".join(each.title for each in state.shown_sections)
            asked = f"Does this part of the design hold: {titles}?"
    return asked


# -- what was typed ------------------------------------------------------------------------------


def answered(state: BrainstormState, text: str, besides: tuple[Option, ...] = ()) -> BrainstormEvent:
    """`besides` are offered with the brainstorm's own options, and are not for it to read."""
    match state.situation:
        case Situation.ANSWERING:
            return _answer(state, text)
        case Situation.WRITING:
            assert state.writing is not None
            if text.casefold() == _TO_MENU.key.casefold():
                return WritingDropped()
            return RequestMade(state.writing, _words(state, state.writing, text))
        case _:
            return _at_menu(state, *menus.chosen(options(state), text, besides))


def _at_menu(state: BrainstormState, key: str, rest: str) -> BrainstormEvent:
    if key in _WISHES:
        wish = _WISHES[key]
        return RequestMade(wish, rest) if rest else WritingBegun(wish)
    if key.isdigit() and state.step is Step.QUESTIONS:
        question = state.questions[int(key) - 1]
        return AnswerGiven(question.id, _spelled_out(question, rest)) if rest else QuestionPicked(question.id)
    if rest:
        raise InvalidInput("choice", f"{key} stands alone; D {rest[:40]} discusses it")
    return _plain(state, key)


def _plain(state: BrainstormState, key: str) -> BrainstormEvent:
    """The choices that take no words."""
    match state.step, key:
        case _, "B":
            return GoneBack()
        case _, "P":
            return PreviousSectionShown()
        case _, "K":
            return ScopeKeptWhole()
        case Step.TRIAGE, "S":
            return PlanningChosen()
        case Step.TRIAGE, _:
            return LevelConfirmed(_OVERRIDES.get(key, state.level_at_hand))
        case Step.QUESTIONS, _:
            return AnswersClosed()
        case Step.APPROACHES, "A" | "S":
            return ApproachChosen(state.recommendation)
        case Step.APPROACHES, _:
            return ApproachChosen(state.approaches[int(key) - 1].id)
        case _, "S":
            return SectionsApproved(tuple(each.id for each in state.design_sections))
        case _:
            return SectionsApproved(tuple(each.id for each in state.shown_sections))


def _answer(state: BrainstormState, text: str) -> BrainstormEvent:
    question = _picked(state)
    match text.casefold():
        case "b":
            return WritingDropped()
        case "s":
            return AnswerGiven(question.id, DEFERRED)
        case _:
            return AnswerGiven(question.id, _spelled_out(question, text))


def _spelled_out(question: Question, text: str) -> str:
    """The option that a number stands for. Where there are no options, a number is an answer."""
    if question.options and text.isascii() and text.isdigit():
        if not 1 <= int(text[:6]) <= len(question.options):
            raise InvalidInput("answer", f"a number from 1 to {len(question.options)}, or your own words")
        return question.options[int(text) - 1]
    return text


def _words(state: BrainstormState, wish: Wish, text: str) -> str:
    if not text and wish in ("board", "roundtable"):
        return default_question(state)
    return text
