"""What the person is asked in a brainstorm, and what their answer then means."""

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
from moot.core.flow import AskPerson, Choice, PersonAnswered, Takes, numbered

_AHEAD: dict[Level, str] = {
    "straightforward": "quick design outline",
    "exploration": "questions, approaches, design",
    "complex": "more questions, approaches, a deeper design",
}
_WISHES: tuple[Wish, ...] = ("discuss", "revise", "board", "roundtable")
_DISCUSS = Choice("discuss", "Discuss – say what you think of it", Takes.OPTIONAL_TEXT)
_REVISE = Choice("revise", "Revise – say what should be different", Takes.OPTIONAL_TEXT)
_BOARD = Choice("board", "Board – convene it on this", Takes.OPTIONAL_TEXT)
_ROUNDTABLE = Choice("roundtable", "Roundtable – bring it in on this", Takes.OPTIONAL_TEXT)
_BACK = Choice("back", "Back to the menu")
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


def ask(state: BrainstormState, key: str) -> AskPerson | None:
    """Nothing, while it is somebody else's turn."""
    match state.situation:
        case Situation.AT_TRIAGE:
            return AskPerson("triage", "how much process this needs", key, choices(state))
        case Situation.AT_QUESTIONS:
            return AskPerson("questions", "a question to answer", key, choices(state))
        case Situation.AT_APPROACHES:
            return AskPerson("approaches", "an approach", key, choices(state))
        case Situation.AT_DESIGN:
            return AskPerson("design", "what you think of this section", key, choices(state))
        case Situation.ANSWERING:
            return AskPerson("answer", _picked(state).text, key, _answers(state), free_text=True)
        case Situation.WRITING:
            assert state.writing is not None
            expects, offered = _EXPECTS[state.writing], _while_writing(state)
            return AskPerson("comment", expects, key, offered, free_text=True)
        case _:
            return None


def choices(state: BrainstormState) -> tuple[Choice, ...]:
    """At the menu of a step."""
    back = (Choice("back", _BACK_TO[state.visited[-1]]),) if state.visited else ()
    others = (_DISCUSS, *back, _BOARD, _ROUNDTABLE)
    match state.step:
        case Step.TRIAGE:
            return (*_at_triage(state), *others, Choice("skip", "Skip to planning"))
        case Step.QUESTIONS:
            asked = [
                Choice(id_, words.question_line(each), Takes.OPTIONAL_TEXT, each.options)
                for id_, each in numbered("question", state.questions).items()
            ]
            still_open = sum(not each.answered for each in state.questions)
            left = f" – {still_open} left to the brainstormer's judgment" if still_open else ""
            return (*asked, *others, Choice("finish", f"Done{left}"))
        case Step.APPROACHES:
            offered = [
                Choice(id_, each.title) for id_, each in numbered("approach", state.approaches).items()
            ]
            best = state.recommended
            agree = (Choice("agree", f"Agree – take the recommended one: {best.title}"),) if best else ()
            skip = (Choice("skip", "Skip – leave the choice to the brainstormer"),) if best else ()
            return (*offered, *agree, *others, *skip)
        case _:
            more = len(state.design_sections) > len(state.shown_sections)
            previous = (Choice("previous", "Previous section"),) if state.has_previous_section else ()
            skip = (Choice("skip", "Skip – approve all sections as they are"),) if more else ()
            return (
                Choice("approve", "Approve this section" if more else "Approve the design"),
                _REVISE,
                _DISCUSS,
                *previous,
                *others[1:],
                *skip,
            )


def _at_triage(state: BrainstormState) -> tuple[Choice, ...]:
    assert state.triage is not None
    proposed = state.level_at_hand
    overrides = [
        Choice(level, f"Override – {words.LEVEL_NAMES[level].lower()}")
        for level in _AHEAD
        if level != proposed
    ]
    whole = Choice("keep-whole", "Keep it whole – without the proposed parts")
    divided = bool(state.triage.batches or state.triage.splits)
    return (Choice("agree", f"Agree – {_AHEAD[proposed]}"), *overrides, *((whole,) if divided else ()))


def _answers(state: BrainstormState) -> tuple[Choice, ...]:
    return (
        *(Choice(id_, option) for id_, option in numbered("option", _picked(state).options).items()),
        Choice("skip", "Skip – leave it to the brainstormer"),
        Choice("back", "Back to the questions"),
    )


def _while_writing(state: BrainstormState) -> tuple[Choice, ...]:
    if state.writing in ("board", "roundtable"):
        return (Choice("ask-default", f"Ask: {default_question(state)}"), _BACK)
    return (_BACK,)


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


# -- what was answered ---------------------------------------------------------------------------


def answered(state: BrainstormState, answer: PersonAnswered) -> BrainstormEvent:
    match state.situation:
        case Situation.ANSWERING:
            return _answer(state, answer)
        case Situation.WRITING:
            return _written(state, answer)
        case _:
            return _at_menu(state, answer.choice or "", answer.text.strip())


def _at_menu(state: BrainstormState, choice: str, text: str) -> BrainstormEvent:
    for wish in _WISHES:
        if choice == wish:
            return RequestMade(wish, text) if text else WritingBegun(wish)
    if question := numbered("question", state.questions).get(choice):
        return AnswerGiven(question.id, text) if text else QuestionPicked(question.id)
    return _plain(state, choice)


def _plain(state: BrainstormState, choice: str) -> BrainstormEvent:
    """The choices that take no words."""
    match state.step, choice:
        case _, "back":
            return GoneBack()
        case _, "previous":
            return PreviousSectionShown()
        case _, "keep-whole":
            return ScopeKeptWhole()
        case Step.TRIAGE, "skip":
            return PlanningChosen()
        case Step.TRIAGE, "straightforward" | "exploration" | "complex":
            return LevelConfirmed(choice)
        case Step.TRIAGE, _:
            return LevelConfirmed(state.level_at_hand)
        case Step.QUESTIONS, _:
            return AnswersClosed()
        case Step.APPROACHES, "agree" | "skip":
            return ApproachChosen(state.recommendation)
        case Step.APPROACHES, _:
            return ApproachChosen(numbered("approach", state.approaches)[choice].id)
        case _, "skip":
            return SectionsApproved(tuple(each.id for each in state.design_sections))
        case _:
            return SectionsApproved(tuple(each.id for each in state.shown_sections))


def _answer(state: BrainstormState, answer: PersonAnswered) -> BrainstormEvent:
    question = _picked(state)
    match answer.choice:
        case None:
            return AnswerGiven(question.id, answer.text.strip())
        case "back":
            return WritingDropped()
        case "skip":
            return AnswerGiven(question.id, DEFERRED)
        case option:
            return AnswerGiven(question.id, numbered("option", question.options)[option])


def _written(state: BrainstormState, answer: PersonAnswered) -> BrainstormEvent:
    assert state.writing is not None
    match answer.choice:
        case None:
            return RequestMade(state.writing, answer.text.strip())
        case "ask-default":
            return RequestMade(state.writing, default_question(state))
        case _:
            return WritingDropped()
