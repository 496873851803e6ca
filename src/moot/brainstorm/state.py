"""Where a brainstorm stands: the fields of `brainstorm` in workflow.json, and what follows from them at once.

What was made from something else remembers from what, so that whether it is stale is derived, never stored:
a change that is taken back leaves nothing stale. Which event leads where, the flow decides.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from moot.brainstorm.events import (
    QUESTION_LIMITS,
    SECTION_LIMITS,
    Approach,
    Level,
    Limits,
    Part,
    Question,
    Request,
    Section,
    Triage,
    Wish,
)
from moot.core.conversation import PERSON, Entry
from moot.core.ledger import Decided
from moot.llm.messages import Source
from moot.roundtable.events import HeldEvent
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.state import RoundtableState

T = TypeVar("T")

TITLE_LENGTH = 70
BRAINSTORMER = "brainstormer"
"""Speaks in the conversation, besides the person and whoever is consulted."""


class Step(StrEnum):
    SCOUT = "scout"
    TRIAGE = "triage"
    QUESTIONS = "questions"
    APPROACHES = "approaches"
    DESIGN = "design"
    DONE = "done"


class Situation(StrEnum):
    """What is going on at a step: it decides what can happen next."""

    SCOUTING = "scouting"
    TRIAGING = "triaging"
    AT_TRIAGE = "at-triage"
    ASKING = "asking"
    AT_QUESTIONS = "at-questions"
    WEIGHING = "weighing"
    AT_APPROACHES = "at-approaches"
    DESIGNING = "designing"
    AT_DESIGN = "at-design"
    ANSWERING = "answering"
    WRITING = "writing"
    DISCUSSING_TRIAGE = "discussing-triage"
    DISCUSSING_QUESTIONS = "discussing-questions"
    DISCUSSING_APPROACHES = "discussing-approaches"
    DISCUSSING_DESIGN = "discussing-design"
    REVISING = "revising"
    CONVENING = "convening-the-board"
    AT_ROUNDTABLE = "at-a-roundtable"
    DONE = "done"


_AT_STEP = {
    Step.SCOUT: (Situation.SCOUTING,) * 3,
    Step.TRIAGE: (Situation.TRIAGING, Situation.AT_TRIAGE, Situation.DISCUSSING_TRIAGE),
    Step.QUESTIONS: (Situation.ASKING, Situation.AT_QUESTIONS, Situation.DISCUSSING_QUESTIONS),
    Step.APPROACHES: (Situation.WEIGHING, Situation.AT_APPROACHES, Situation.DISCUSSING_APPROACHES),
    Step.DESIGN: (Situation.DESIGNING, Situation.AT_DESIGN, Situation.DISCUSSING_DESIGN),
}
"""While it is drafted, once it is there, and while it is discussed."""
_ELSEWHERE: dict[Wish, Situation] = {
    "revise": Situation.REVISING,
    "board": Situation.CONVENING,
    "roundtable": Situation.AT_ROUNDTABLE,
}


def written_always(default: T, name: str | None = None) -> T:
    """A field that is in every file, whatever it says. The others are there where they say something."""
    return msgspec.field(default_factory=lambda: default, name=name)


class BrainstormState(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The order of the fields is that of the file."""

    description: str = ""
    """The idea. The file has it beside the brainstorm."""
    step: Step = written_always(Step.SCOUT)
    scout_output: str = written_always("")
    complexity_level: Level | None = written_always(None)
    """What the person confirmed, as are `batches` and `splits`."""
    questions: tuple[Question, ...] = written_always(())
    approaches: tuple[Approach, ...] = written_always(())
    recommendation: str = written_always("")
    """The id of an approach; a file from elsewhere may have prose here."""
    chosen_approach: str = written_always("")
    design_sections: tuple[Section, ...] = written_always(())
    conversation_log: tuple[Entry, ...] = written_always(())
    scout_read: tuple[str, ...] = ()
    triage: Triage | None = None
    """As proposed. A new proposal makes the level open."""
    batches: tuple[Part, ...] = written_always(())
    splits: tuple[Part, ...] = ()
    because: str = ""
    questions_from: str = ""
    """Fingerprint of what they were made from; empty where that is not known. So are the next two."""
    approaches_from: str = ""
    design_from: str = ""
    current_section: int = 0
    visited: tuple[Step, ...] = ()
    """The way to the current step: going back walks it backwards."""
    gone_back_from: tuple[Step, ...] = ()
    picked_question: str = ""
    writing: Wish | None = None
    request: Request | None = None
    roundtable: tuple[HeldEvent, ...] = ()
    """What has happened at the roundtable that is under way."""
    code: tuple[Source, ...] = ()
    """What the reply that is waited for is about; nothing while none is."""
    code_from: str = ""
    """Fingerprint of what it was looked for by."""
    noted: tuple[Decided, ...] = ()
    """What was decided, rejected or left open and does not follow from the rest."""

    @property
    def finished(self) -> bool:
        return self.step is Step.DONE

    @property
    def situation(self) -> Situation:
        if self.finished:
            return Situation.DONE
        drafting, at_menu, discussing = _AT_STEP[self.step]
        if self.request is not None:
            return _ELSEWHERE.get(self.request.wish, discussing)
        if self.writing is not None:
            return Situation.WRITING
        if self.picked_question:
            return Situation.ANSWERING
        return drafting if self.is_due() else at_menu

    def is_due(self) -> bool:
        """Whether what the step shows has to be made first, or made again."""
        match self.step:
            case Step.TRIAGE:
                return self.triage is None
            case Step.QUESTIONS:
                return not self.questions or self.questions_stale
            case Step.APPROACHES:
                return not self.approaches or self.approaches_stale
            case Step.DESIGN:
                return not self.design_sections or self.design_stale
            case _:
                return True

    @property
    def table(self) -> RoundtableState | None:
        """The roundtable that the person has asked for, until it is over."""
        if self.request is None or self.request.wish != "roundtable":
            return None
        return _fold(self.roundtable)

    # -- scope ---------------------------------------------------------------------------------------

    @property
    def level(self) -> Level:
        """The confirmed level; only after triage."""
        assert self.complexity_level is not None
        return self.complexity_level

    @property
    def level_at_hand(self) -> Level:
        """What the person confirmed last, or else what is proposed; only after a first assessment."""
        assert self.triage is not None
        return self.complexity_level or self.triage.level

    @property
    def subject(self) -> str:
        """What is brainstormed: the whole idea, or this workflow's part of it."""
        if not self.splits:
            return self.description
        return f"{self.splits[0].title}: {self.splits[0].description}"

    @property
    def title(self) -> str:
        """The subject in a line."""
        line = " ".join((self.splits[0].title if self.splits else self.description).split())
        return line if len(line) <= TITLE_LENGTH else f"{line[:TITLE_LENGTH].rsplit(' ', 1)[0]}…"

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is built, one after the other. Without batches, the whole is one."""
        return self.batches or (Part(self.title, self.subject),)

    # -- what was made from what ---------------------------------------------------------------------

    @property
    def questions_basis(self) -> str:
        return _fingerprint(self.complexity_level, self.subject)

    @property
    def approaches_basis(self) -> str:
        return _fingerprint(self.subject, self.questions)

    @property
    def design_basis(self) -> str:
        # A quick outline may come after questions that nobody has answered: it is not made from them.
        settled = tuple(each for each in self.questions if each.answer)
        return _fingerprint(self.complexity_level, self.subject, settled, self.chosen)

    @property
    def code_wanted(self) -> tuple[str, str]:
        """What the code is looked for by: what the person asks now, and, the most telling first, what the
        rest is about."""
        asked = self.request.text if self.request else ""
        answers = [f"{each.text} {each.answer}" for each in self.questions if each.answered]
        chosen = [f"{self.chosen.title}: {self.chosen.summary}"] if self.chosen else []
        return asked, "\n".join((self.subject, *chosen, *answers))

    @property
    def code_is_due(self) -> bool:
        return self.code_from != _fingerprint(self.code_wanted)

    @property
    def questions_stale(self) -> bool:
        """Whoever has answered as many as the new level wants is not asked again."""
        enough = self.complexity_level is not None and self.question_limits[1] <= 0
        return self.questions_from not in ("", self.questions_basis) and not enough

    @property
    def approaches_stale(self) -> bool:
        return self.approaches_from not in ("", self.approaches_basis)

    @property
    def design_stale(self) -> bool:
        return self.design_from not in ("", self.design_basis)

    # -- questions, approaches, sections -------------------------------------------------------------

    @property
    def question_limits(self) -> Limits:
        """How many questions a first draft must have, beside those that are answered already."""
        fewest, most = QUESTION_LIMITS[self.level]
        answered = sum(question.answered for question in self.questions)
        return max(fewest - answered, 1), most - answered

    @property
    def section_limits(self) -> Limits:
        return SECTION_LIMITS[self.level]

    @property
    def question_totals(self) -> Limits:
        """How many there may be, answered ones included, after a discussion. Answers are never too many, and
        the person may have as many dropped as they like: with none left, there would be none to discuss."""
        _, most = QUESTION_LIMITS[self.level]
        return 1, max(most, sum(question.answered for question in self.questions))

    def question(self, wanted: str) -> Question | None:
        return next((each for each in self.questions if each.id == wanted), None)

    def approach(self, wanted: str) -> Approach | None:
        return next((each for each in self.approaches if each.id == wanted), None)

    @property
    def chosen(self) -> Approach | None:
        return self.approach(self.chosen_approach)

    @property
    def recommended(self) -> Approach | None:
        return self.approach(self.recommendation)

    @property
    def shown_sections(self) -> tuple[Section, ...]:
        """One at a time; a short outline is shown and confirmed as a whole."""
        if self.complexity_level == "straightforward":
            return self.design_sections
        return self.design_sections[self.current_section : self.current_section + 1]

    @property
    def has_previous_section(self) -> bool:
        return self.current_section > 0 and self.complexity_level != "straightforward"

    # -- conversation --------------------------------------------------------------------------------

    def said(
        self, speaker: str, content: str, step: str | None = None, read: tuple[str, ...] = ()
    ) -> BrainstormState:
        """With one more entry in the conversation: at this step, unless another is named."""
        entry = Entry(speaker, step or self.step, content, read)
        return msgspec.structs.replace(self, conversation_log=(*self.conversation_log, entry))

    @property
    def said_before(self) -> tuple[Entry, ...]:
        """Everything that was said, without the comment that is being answered: if it is there, for a file
        may have lost it."""
        log, request = self.conversation_log, self.request
        is_there = request is not None and log[-1:] == (Entry(PERSON, self.step, request.text),)
        return log[:-1] if is_there else log

    def with_code(self, code: tuple[Source, ...]) -> BrainstormState:
        wanted = _fingerprint(self.code_wanted)
        return msgspec.structs.replace(self, code=code, code_from=wanted)

    def is_near(self, entry: Entry) -> bool:
        """Whether it was said at this step, or at one gone back from: what the next reply depends on most."""
        return entry.step == self.step or entry.step in self.gone_back_from


@lru_cache(maxsize=8)
def _fold(events: tuple[HeldEvent, ...]) -> RoundtableState:
    """Kept, because whoever looks at a state several times between two events wants it each time."""
    return ROUNDTABLE.fold(events)


def _fingerprint(*parts: Any) -> str:
    return hashlib.blake2s(msgspec.json.encode(parts), digest_size=8).hexdigest()
