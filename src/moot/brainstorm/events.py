"""What models and the program lead to in a brainstorm, and what their replies are made of: plain values.

What the person decides is in the menu, beside the choices. Knows names, fields and limits. When something may
happen, and what follows from it, the flow decides.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from moot.core.flow import Event, Usage
from moot.llm.messages import Source

MAX_TEXT = 20_000
"""Characters of an idea, a comment or an answer."""
SCOUT_WORDS = 500
MAX_PARTS = 10
"""Batches or splits that a triage can propose."""
DEFERRED = "user deferred — use your best judgment"

Level = Literal["straightforward", "exploration", "complex"]
Limits = tuple[int, int]
"""The fewest and the most."""
QUESTION_LIMITS: dict[Level, Limits] = {"straightforward": (0, 0), "exploration": (3, 5), "complex": (5, 7)}
SECTION_LIMITS: dict[Level, Limits] = {"straightforward": (1, 2), "exploration": (2, 6), "complex": (3, 8)}
APPROACH_LIMITS: Limits = (2, 4)

Wish = Literal["discuss", "revise", "board", "roundtable"]
"""What a person's words can be for, besides an answer."""


# -- what typed replies are made of --------------------------------------------------------------


class Part(msgspec.Struct, frozen=True):
    """A batch, which comes after the one before it, or a piece that is a workflow of its own."""

    title: str
    description: str


class Triage(msgspec.Struct, frozen=True, rename="camel"):
    """A proposal: what holds is what the person confirms. Of `splits`, the first is this workflow's own part;
    `batches` divide that part."""

    level: Level
    reasoning: str
    suggested_skips: tuple[str, ...] = ()
    batches: tuple[Part, ...] = ()
    splits: tuple[Part, ...] = ()


class Question(msgspec.Struct, frozen=True):
    id: str
    text: str
    type: Literal["choice", "text"] = "text"
    options: tuple[str, ...] = ()
    answer: str = ""

    @property
    def answered(self) -> bool:
        """By the person: leaving it to the brainstormer is no answer."""
        return self.answer not in ("", DEFERRED)


class Approach(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    title: str
    summary: str
    tradeoffs: str = ""
    task_estimate: int = 0


class Section(msgspec.Struct, frozen=True):
    id: str
    title: str
    content: str
    status: Literal["pending", "approved"] = "pending"


class Request(msgspec.Struct, frozen=True):
    """What the person wants done at the current step, in their words."""

    wish: Wish
    text: str


# -- what happens --------------------------------------------------------------------------------


class ScoutReported(Event, frozen=True):
    """What was found in the workspace, and the names of what was read for it."""

    output: str
    read: tuple[str, ...] = ()
    cost_usd: float | None = None


class CodeFound(Event, frozen=True):
    """What the next request is about, the least likely first; maybe nothing."""

    code: tuple[Source, ...] = ()


class TriageDrafted(Event, frozen=True):
    triage: Triage
    spoken: Usage


class QuestionsDrafted(Event, frozen=True):
    """New ones. Those that are answered already stay, before them."""

    questions: tuple[Question, ...]
    spoken: Usage


class ApproachesDrafted(Event, frozen=True):
    """`recommendation` is the id of one of them, `because` the reason for it."""

    approaches: tuple[Approach, ...]
    recommendation: str
    because: str
    spoken: Usage


class DesignDrafted(Event, frozen=True):
    sections: tuple[Section, ...]
    spoken: Usage


class TriageDiscussed(Event, frozen=True):
    reply: str
    triage: Triage
    spoken: Usage


class QuestionsDiscussed(Event, frozen=True):
    """`questions` are those to be asked yet. Answered ones stay as they are, unless `replaces` names them."""

    reply: str
    questions: tuple[Question, ...]
    replaces: tuple[str, ...]
    spoken: Usage


class ApproachesDiscussed(Event, frozen=True):
    reply: str
    approaches: tuple[Approach, ...]
    recommendation: str
    because: str
    spoken: Usage


class DesignDiscussed(Event, frozen=True):
    """`sections` are those that changed: maybe none, before a direction is found."""

    reply: str
    sections: tuple[Section, ...]
    spoken: Usage


class SectionsRevised(Event, frozen=True):
    sections: tuple[Section, ...]
    spoken: Usage


class Consulted(Event, frozen=True):
    """The Board's brief joins the conversation; `recommendation` is what it comes to, in a sentence."""

    text: str
    cost_usd: float | None = None
    recommendation: str = ""


BrainstormReply = (
    TriageDrafted
    | QuestionsDrafted
    | ApproachesDrafted
    | DesignDrafted
    | TriageDiscussed
    | QuestionsDiscussed
    | ApproachesDiscussed
    | DesignDiscussed
    | SectionsRevised
)
BrainstormResult = ScoutReported | CodeFound | BrainstormReply | Consulted

TOLD = (*get_args(BrainstormReply), Consulted)
"""What somebody is told who was not listening: what was drafted and answered, and not what the person did."""
