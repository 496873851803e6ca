"""What a typed reply of the brainstormer comes to: the event that it is, with ids given by the program.

A model's ids would be one more thing to get wrong: they count only where they name something that is there.
Whether the event is allowed, and within the limits of the level, the flow decides.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from moot.brainstorm.events import (
    Approach,
    ApproachesDiscussed,
    ApproachesDrafted,
    BrainstormResult,
    DesignDiscussed,
    DesignDrafted,
    Question,
    QuestionsDiscussed,
    QuestionsDrafted,
    Section,
    SectionsRevised,
    Triage,
    TriageDiscussed,
    TriageDrafted,
)
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import Usage

TRIAGE, QUESTIONS, APPROACHES, DESIGN, REVISE = (
    f"brainstorm/{what}" for what in ("triage", "questions", "approaches", "design", "revise")
)
"""Names of prompts: those of a first draft, and of a revision of what is shown."""
DISCUSS = {
    step: f"brainstorm/discuss-{step}" for step in (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN)
}
_NUMBER = re.compile(r"[0-9]{1,9}$")


# -- what is replied -----------------------------------------------------------------------------


class _Reply(msgspec.Struct, frozen=True, rename="camel"):
    pass


class TriageDiscussion(Triage, frozen=True, kw_only=True):
    reply: str

    @property
    def triage(self) -> Triage:
        return Triage(self.level, self.reasoning, self.suggested_skips, self.batches, self.splits)


class QuestionDraft(_Reply, frozen=True):
    """A very small model writes questions only into a field of that name."""

    text: str = ""
    question: str = ""
    type: Literal["choice", "text"] = "text"
    options: tuple[str, ...] = ()
    id: str = ""


class QuestionsDraft(_Reply, frozen=True):
    questions: tuple[QuestionDraft, ...]


class QuestionsDiscussion(QuestionsDraft, frozen=True):
    reply: str
    replaces: tuple[str, ...]


class ApproachDraft(_Reply, frozen=True):
    title: str
    summary: str
    tradeoffs: str = ""
    task_estimate: int = 0
    id: str = ""


class ApproachesDraft(_Reply, frozen=True):
    """`recommendation` is the place of one of them, counted from 1."""

    approaches: tuple[ApproachDraft, ...]
    recommendation: int
    because: str


class ApproachesDiscussion(ApproachesDraft, frozen=True):
    reply: str


class SectionDraft(_Reply, frozen=True):
    content: str
    title: str = ""
    id: str = ""


class DesignDraft(_Reply, frozen=True):
    sections: tuple[SectionDraft, ...]


class DesignDiscussion(DesignDraft, frozen=True):
    reply: str


class DesignRevision(DesignDraft, frozen=True):
    pass


Reply = Triage | QuestionsDraft | ApproachesDraft | DesignDraft
REPLIES: dict[str, type[Any]] = {
    TRIAGE: Triage,
    QUESTIONS: QuestionsDraft,
    APPROACHES: ApproachesDraft,
    DESIGN: DesignDraft,
    REVISE: DesignRevision,
    DISCUSS[Step.TRIAGE]: TriageDiscussion,
    DISCUSS[Step.QUESTIONS]: QuestionsDiscussion,
    DISCUSS[Step.APPROACHES]: ApproachesDiscussion,
    DISCUSS[Step.DESIGN]: DesignDiscussion,
}
"""By the names of their prompts."""


# -- what it comes to ----------------------------------------------------------------------------


def event_of(state: BrainstormState, reply: Reply, spoken: Usage) -> BrainstormResult:
    match reply:
        case TriageDiscussion():
            return TriageDiscussed(reply.reply, reply.triage, spoken)
        case Triage():
            return TriageDrafted(reply, spoken)
        case QuestionsDiscussion():
            asked = tuple(_read_questions(state, reply))
            return QuestionsDiscussed(reply.reply, asked, reply.replaces, spoken)
        case QuestionsDraft():
            fresh = _new_ids("q", state.questions)
            asked = tuple(_read_question(each, next(fresh)) for each in reply.questions)
            return QuestionsDrafted(asked, spoken)
        case ApproachesDraft():
            approaches = _read_approaches(state, reply)
            by_number = {number: each.id for number, each in enumerate(approaches, start=1)}
            best = by_number.get(reply.recommendation, "")
            if isinstance(reply, ApproachesDiscussion):
                return ApproachesDiscussed(reply.reply, approaches, best, reply.because, spoken)
            return ApproachesDrafted(approaches, best, reply.because, spoken)
        case DesignDiscussion():
            return DesignDiscussed(reply.reply, _read_sections(state, reply), spoken)
        case DesignRevision():
            return SectionsRevised(_read_sections(state, reply), spoken)
        case DesignDraft():
            fresh = _new_ids("s", ())
            drafted = tuple(Section(next(fresh), each.title, each.content) for each in reply.sections)
            return DesignDrafted(drafted, spoken)


def _read_questions(state: BrainstormState, reply: QuestionsDiscussion) -> Iterator[Question]:
    """Open questions that are named keep their ids; answered ones that are only repeated stay as they are."""
    fresh = _new_ids("q", state.questions)
    for draft in reply.questions:
        there = state.question(draft.id)
        replaced = there is not None and there.id in reply.replaces
        if there is None or replaced:
            yield _read_question(draft, next(fresh))
        elif not there.answered:
            yield _read_question(draft, there.id)


def _read_question(draft: QuestionDraft, given_id: str) -> Question:
    return Question(given_id, draft.text or draft.question, draft.type, draft.options)


def _read_approaches(state: BrainstormState, reply: ApproachesDraft) -> tuple[Approach, ...]:
    """Those that are named keep their ids, once each."""
    fresh = _new_ids("a", state.approaches)
    named: dict[str, Approach] = {}
    for draft in reply.approaches:
        keeps = state.approach(draft.id) is not None and draft.id not in named
        given_id = draft.id if keeps else next(fresh)
        named[given_id] = Approach(given_id, draft.title, draft.summary, draft.tradeoffs, draft.task_estimate)
    return tuple(named.values())


def _read_sections(state: BrainstormState, reply: DesignDraft) -> tuple[Section, ...]:
    titles = {each.id: each.title for each in state.design_sections}
    return tuple(
        Section(each.id, each.title or titles.get(each.id, ""), each.content) for each in reply.sections
    )


def _new_ids(letter: str, used: Sequence[Question] | Sequence[Approach]) -> Iterator[str]:
    """Ids that were not used, in order."""
    numbers = [int(found.group()) for each in used if (found := _NUMBER.search(each.id))]
    return (f"{letter}{number}" for number in itertools.count(max(numbers, default=0) + 1))
