"""The menus of a brainstorm: what the person may choose, and what they decide by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from moot.brainstorm import text as words
from moot.brainstorm.events import DEFERRED, Level, Wish
from moot.brainstorm.state import BrainstormState, Situation, Step
from moot.core.flow import Choice, Event, Takes, numbered
from moot.core.menu import Choices, Menu

# -- what the person decides ---------------------------------------------------------------------


class ScopeKeptWhole(Event, frozen=True):
    """The person wants neither the batches nor the splits that were proposed."""


class LevelConfirmed(Event, frozen=True):
    """The proposed level or another one. Batches and splits are confirmed with it, as they were shown."""

    level: Level


class PlanningChosen(Event, frozen=True):
    """The person skips the rest of the brainstorm. Batches and splits are confirmed, as they were shown."""


class QuestionPicked(Event, frozen=True):
    """The person turns to one question. What they then write is its answer."""

    question: str


class AnswerGiven(Event, frozen=True):
    question: str
    answer: str


class AnswersClosed(Event, frozen=True):
    """Done: what is still open is left to the brainstormer."""


class ApproachChosen(Event, frozen=True):
    approach: str


class SectionsApproved(Event, frozen=True):
    """With `waits`, what follows from it is written down, and waits for the person."""

    sections: tuple[str, ...]
    waits: bool = False


class PreviousSectionShown(Event, frozen=True):
    """One section back; what was approved stays approved."""


class WritingBegun(Event, frozen=True):
    wish: Wish


class WritingDropped(Event, frozen=True):
    """The person has thought better of it: back to the menu."""


class RequestMade(Event, frozen=True):
    wish: Wish
    text: str


class RequestWithdrawn(Event, frozen=True):
    """The person goes on without an answer: it failed, or they take their comment back."""

    keeps_comment: bool = False
    """Whether what the person said stays in the conversation: they meant it, and no answer could be had."""


class GoneBack(Event, frozen=True):
    """To the step that was visited last."""


BrainstormDecision = (
    ScopeKeptWhole
    | LevelConfirmed
    | PlanningChosen
    | QuestionPicked
    | AnswerGiven
    | AnswersClosed
    | ApproachChosen
    | SectionsApproved
    | PreviousSectionShown
    | WritingBegun
    | WritingDropped
    | RequestMade
    | RequestWithdrawn
    | GoneBack
)


# -- the menus -----------------------------------------------------------------------------------

Offered = Choices[BrainstormDecision]

_AHEAD: dict[Level, str] = {
    "straightforward": "quick design outline",
    "exploration": "questions, approaches, design",
    "complex": "more questions, approaches, a deeper design",
}
_INSTEAD: dict[Level, str] = {
    "straightforward": "Quick – it is simpler than that",
    "exploration": "Explore – there are choices to make",
    "complex": "Complex – it needs more than that",
}
"""Another level than the one that is proposed."""
_EXPECTS: dict[Wish, str] = {
    "discuss": "what you think of it",
    "revise": "what should be different",
    "board": "the question for the Board",
    "roundtable": "the question for the roundtable",
}
BACK_TO = {
    Step.TRIAGE: "Back to the assessment",
    Step.QUESTIONS: "Back to the questions",
    Step.APPROACHES: "Back to the approaches",
    Step.DESIGN: "Back to the design",
}


def menu(state: BrainstormState) -> Menu[BrainstormDecision] | None:
    """None while it is not the person's turn."""
    match state.situation:
        case Situation.AT_TRIAGE:
            return Menu("triage", "how much process this needs", _at_triage(state))
        case Situation.AT_QUESTIONS:
            return Menu("questions", "a question to answer", _at_questions(state))
        case Situation.AT_APPROACHES:
            return Menu("approaches", "an approach", _at_approaches(state))
        case Situation.AT_DESIGN:
            return Menu("design", f"what you think of {_place(state)}", _at_design(state))
        case Situation.ANSWERING:
            return _answering(state)
        case Situation.WRITING:
            return _writing(state)
        case _:
            return None


def _request(wish: Wish) -> Callable[[str], RequestMade | WritingBegun]:
    return lambda text: RequestMade(wish, text) if text else WritingBegun(wish)


_DISCUSS = Choice("discuss", "Discuss – say what you think of it", Takes.OPTIONAL_TEXT)
_REVISE = Choice("revise", "Revise – say what should be different", Takes.OPTIONAL_TEXT)
_BOARD = Choice("board", "Board – convene it on this", Takes.OPTIONAL_TEXT)
_ROUNDTABLE = Choice("roundtable", "Roundtable – bring it in on this", Takes.OPTIONAL_TEXT)


def _others(state: BrainstormState) -> Offered:
    """At every step."""
    return {_DISCUSS: _request("discuss"), **_elsewhere(state)}


def _elsewhere(state: BrainstormState) -> Offered:
    back: Offered = {Choice("back", BACK_TO[state.visited[-1]]): GoneBack()} if state.visited else {}
    return {**back, _BOARD: _request("board"), _ROUNDTABLE: _request("roundtable")}


def _at_triage(state: BrainstormState) -> Offered:
    assert state.triage is not None
    proposed = state.level_at_hand
    overrides: Offered = {
        Choice(level, f"{_INSTEAD[level]}: {_AHEAD[level]}"): LevelConfirmed(level)
        for level in _AHEAD
        if level != proposed
    }
    whole: Offered = {Choice("keep-whole", "Keep it whole – without the proposed parts"): ScopeKeptWhole()}
    return {
        Choice("agree", f"Agree – {_AHEAD[proposed]}"): LevelConfirmed(proposed),
        **overrides,
        **(whole if state.triage.batches or state.triage.splits else {}),
        **_others(state),
        Choice("skip", "Skip to planning"): PlanningChosen(),
    }


def _at_questions(state: BrainstormState) -> Offered:
    asked: Offered = {
        Choice(id_, words.question_line(each), Takes.OPTIONAL_TEXT, each.options): partial(_turn_to, each.id)
        for id_, each in numbered("question", state.questions).items()
    }
    still_open = sum(not each.answered for each in state.questions)
    left = f" – {still_open} left to the brainstormer's judgment" if still_open else ""
    return {**asked, **_others(state), Choice("finish", f"Done{left}"): AnswersClosed()}


def _turn_to(question: str, text: str) -> AnswerGiven | QuestionPicked:
    return AnswerGiven(question, text) if text else QuestionPicked(question)


def _at_approaches(state: BrainstormState) -> Offered:
    offered: Offered = {
        Choice(id_, each.title): ApproachChosen(each.id)
        for id_, each in numbered("approach", state.approaches).items()
    }
    best = state.recommended
    if best is None:
        return {**offered, **_others(state)}
    return {
        **offered,
        Choice("agree", f"Agree – take the recommended one: {best.title}"): ApproachChosen(best.id),
        **_others(state),
        Choice("skip", "Skip – leave the choice to the brainstormer"): ApproachChosen(best.id),
    }


def _place(state: BrainstormState) -> str:
    count = len(state.design_sections)
    if len(state.shown_sections) == count:
        return "this design" if count > 1 else "this section"
    return f"this section, {state.current_section + 1} of {count}"


def _at_design(state: BrainstormState) -> Offered:
    shown, everything = (
        SectionsApproved(tuple(each.id for each in sections))
        for sections in (state.shown_sections, state.design_sections)
    )
    more = len(state.design_sections) > len(state.shown_sections)
    shown_ids = {each.id for each in state.shown_sections}
    ends = all(each.status == "approved" or each.id in shown_ids for each in state.design_sections)
    wait = Choice("approve-and-wait", "Write – approve, and let me edit the document before it is planned")
    waiting: Offered = {wait: replace(shown, waits=True)} if ends else {}
    previous: Offered = {Choice("previous", "Previous section"): PreviousSectionShown()}
    skip: Offered = {Choice("skip", "Skip – approve all sections as they are"): everything}
    return {
        Choice("approve", _approving(more=more, ends=ends)): shown,
        **waiting,
        _REVISE: _request("revise"),
        _DISCUSS: _request("discuss"),
        **(previous if state.has_previous_section else {}),
        **_elsewhere(state),
        **(skip if more else {}),
    }


def _approving(*, more: bool, ends: bool) -> str:
    what = "Approve this section" if more else "Approve the design"
    return f"{what} – it is written down, and planned" if ends else what


def _answering(state: BrainstormState) -> Menu[BrainstormDecision]:
    question = state.question(state.picked_question)
    assert question is not None
    answer = partial(AnswerGiven, question.id)
    options: Offered = {
        Choice(id_, option): answer(option) for id_, option in numbered("option", question.options).items()
    }
    choices: Offered = {
        **options,
        Choice("skip", "Skip – leave it to the brainstormer"): answer(DEFERRED),
        Choice("back", "Back to the questions"): WritingDropped(),
    }
    return Menu("answer", question.text, choices, answer)


def _writing(state: BrainstormState) -> Menu[BrainstormDecision]:
    assert state.writing is not None
    request = partial(RequestMade, state.writing)
    back: Offered = {Choice("back", "Back to the menu"): WritingDropped()}
    if state.writing in ("board", "roundtable"):
        asked = _default_question(state)
        back = {Choice("ask-default", f"Ask: {asked}"): request(asked), **back}
    return Menu("comment", _EXPECTS[state.writing], back, request)


def _default_question(state: BrainstormState) -> str:
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
