"""Where an analysis stands: all of it derived from what has happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from moot.analysis.events import BoardAnswered, Edit, ModelFailed, StepRef, Voice
from moot.core.background import Background
from moot.core.flow import Usage
from moot.llm.messages import Source
from moot.roundtable.state import RoundtableState
from moot.text.depth import Depth

FOLLOW_UPS: Mapping[Depth, int] = {"brief": 0, "standard": 1, "deep": 3}
"""How often a step asks once more for what is missing."""

SCAN_PHASE, IMPACT_PHASE = "00-quick-scan", "02-impact-analysis"


class Step(StrEnum):
    UNOPENED = "unopened"
    SCANNING = "scanning"
    LOOKING = "looking"
    OPENING = "opening"
    ANSWERING = "answering"
    READING = "reading"
    ASSESSING = "assessing"
    WRITING = "writing"
    MENU = "menu"
    FEEDBACK = "feedback"
    AMENDING = "amending"
    ROUNDTABLE = "roundtable"
    CHOOSING = "choosing"
    CALLING = "calling"
    BOARD = "board"
    FINISHED = "finished"


WITHDRAWABLE = (Step.FEEDBACK, Step.CALLING, Step.BOARD)
"""Where the person can go back to the menu without what failed: the step itself is complete."""


@dataclass(frozen=True, slots=True)
class Elaboration:
    """A roundtable that has ended."""

    step: str
    summary: str
    open_questions: tuple[str, ...]
    table: RoundtableState | None = None
    """All that was said there, and its minutes."""


@dataclass(frozen=True, slots=True)
class AskedBack:
    """What the person wanted to know, and the reply. `question` is the number of the exchange in
    which that was; if its answer has the same words, they asked and answered at once."""

    question: int
    text: str
    reply: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What has been said and found in one step."""

    ref: StepRef
    depth: Depth
    opening: str = ""
    exchanges: tuple[tuple[str, str], ...] = ()
    """What was asked, and what the person answered."""
    asked_back: tuple[AskedBack, ...] = ()
    summary: str = ""
    contents: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    """By the person."""
    settled: tuple[str, ...] = ()
    """Keys in the ledger of what was open before."""
    taken_back: tuple[str, ...] = ()
    feedback: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    """What the person said at the menu, what was replied, and what the artifacts got."""
    decided_there: tuple[str, ...] = ()
    rejected_there: tuple[str, ...] = ()
    left_open_there: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()
    """What they said at the menu and no model replied to."""
    briefs: tuple[BoardAnswered, ...] = ()
    """What the Board has answered."""
    unknown: tuple[str, ...] = ()
    """What its artifacts cite and is not there."""
    looked_at: tuple[str, ...] = ()
    """What was read in the workspace for it."""

    def read(self, spoken: Usage | None) -> StepRecord:
        if spoken is None or not spoken.looked_at:
            return self
        return replace(self, looked_at=tuple(dict.fromkeys((*self.looked_at, *spoken.looked_at))))


@dataclass(frozen=True, slots=True)
class AnalysisState:
    step: Step = Step.UNOPENED
    slug: str = ""
    title: str = ""
    description: str = ""
    model: str = ""
    steps: tuple[StepRef, ...] = ()
    voices: tuple[Voice, ...] = ()
    completed: tuple[str, ...] = ()
    skipped_phases: frozenset[str] = frozenset()
    depth_overrides: Mapping[str, Depth] = field(default_factory=dict)
    active_depth: Depth | None = None
    scan: str = ""
    impact: str = ""
    bodies: tuple[Source, ...] = ()
    """Functions that the item is about, as they were when the workspace was looked at last."""
    current: StepRecord | None = None
    steps_read: bool = False
    """Whether the step files were looked at since the last step."""
    edits: tuple[Edit, ...] = ()
    """What was changed by hand in the artifacts, as of then."""
    done: tuple[StepRecord, ...] = ()
    """The steps of this log, oldest first."""
    question: str = ""
    """What the person has been asked and not answered yet."""
    pending_feedback: str = ""
    roundtable: RoundtableState | None = None
    elaborations: tuple[Elaboration, ...] = ()
    board_question: str = ""
    board_session: str = ""
    answered_questions: frozenset[str] = frozenset()
    failure: ModelFailed | None = None
    warnings: tuple[str, ...] = ()
    bills: tuple[Usage, ...] = ()
    happened: int = 0
    """How many events there were that moved it on: a key for what is asked next."""
    background: Background = field(default_factory=Background)
    keeps_numbers: bool = False
    """Whether its decisions have had the same numbers from the beginning."""
    order: tuple[str, ...] = ()
    """The keys of what was decided, rejected, said and left open, as it came about."""

    @property
    def is_open(self) -> bool:
        return self.step is not Step.UNOPENED

    def with_background(self, background: Background) -> AnalysisState:
        return replace(self, background=background)

    @property
    def turns(self) -> int:
        return len(self.bills)

    @property
    def record(self) -> StepRecord:
        assert self.current is not None, "no step is at hand"
        return self.current

    @property
    def table(self) -> RoundtableState:
        assert self.roundtable is not None, "no roundtable is held"
        return self.roundtable

    def voice(self, persona: str) -> Voice:
        return next(voice for voice in self.voices if voice.id == persona)

    @property
    def phases(self) -> tuple[str, ...]:
        """In order, each once."""
        return tuple(dict.fromkeys(ref.phase for ref in self.steps))

    def does_not_apply(self, ref: StepRef) -> str:
        """Why a step is passed over; empty if it is not."""
        depth = self.depth_of(ref)
        return ref.does_not_apply or (f"the analysis is {depth}" if depth in ref.skip_at else "")

    def is_settled(self, ref: StepRef) -> bool:
        """Whether nothing waits for it: it is completed, or does not apply."""
        return ref.id in self.completed or bool(self.does_not_apply(ref))

    def missing(self, ref: StepRef) -> tuple[str, ...]:
        """What has to be done first."""
        settled = {other.id for other in self.steps if self.is_settled(other)}
        return tuple(other for other in ref.depends_on if other not in settled)

    def is_due(self, ref: StepRef) -> bool:
        return ref.phase not in self.skipped_phases and not self.is_settled(ref) and not self.missing(ref)

    @property
    def next_due(self) -> StepRef | None:
        return next((ref for ref in self.steps if self.is_due(ref)), None)

    @property
    def skipped_steps(self) -> tuple[StepRef, ...]:
        """What would be due, now or after others, had the person not skipped the rest of its phase."""
        skipped = (ref for ref in self.steps if ref.phase in self.skipped_phases)
        return tuple(ref for ref in skipped if not self.is_settled(ref))

    @property
    def left_out(self) -> tuple[tuple[StepRef, str], ...]:
        """Steps that are passed over, and why."""
        following = self.next_due
        found = []
        for ref in self.steps:
            if ref.id in self.completed:
                continue
            if why := self.does_not_apply(ref):
                found.append((ref, why))
            elif ref.phase in self.skipped_phases:
                found.append((ref, "the rest of its phase was skipped"))
            elif self.missing(ref) and (following is None or following.id > ref.id):
                found.append((ref, f"it needs {', '.join(self.missing(ref))} first"))
        return tuple(found)

    @property
    def ends_phase(self) -> bool:
        """Whether the step just completed was the last that is due in its phase."""
        following = self.next_due
        return self.current is None or following is None or following.phase != self.current.ref.phase

    @property
    def phases_completed(self) -> tuple[str, ...]:
        """A step that was skipped holds its phase up."""
        open_phases = {ref.phase for ref in self.steps if not self.is_settled(ref)}
        return tuple(phase for phase in self.phases if phase not in open_phases)

    @property
    def status(self) -> Literal["raw", "partial", "analyzed"]:
        whole = self.phases_completed
        if whole and len(whole) == len(self.phases):
            return "analyzed"
        return "partial" if self.completed else "raw"

    def depth_of(self, ref: StepRef) -> Depth:
        return self.depth_overrides.get(ref.phase) or self.active_depth or ref.depth

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Of the roundtables at this step, those that the Board was not asked yet."""
        at = self.current.ref.id if self.current else ""
        questions = [q for e in self.elaborations if e.step == at for q in e.open_questions]
        return tuple(q for q in dict.fromkeys(questions) if q not in self.answered_questions)

    @property
    def records(self) -> tuple[StepRecord, ...]:
        """The steps of this log, oldest first, the one at hand included."""
        known = {record.ref.id for record in self.done}
        at_hand = (self.current,) if self.current is not None and self.current.ref.id not in known else ()
        return (*self.done, *at_hand)

    @property
    def before_notes(self) -> AnalysisState:
        """Without what the notes of the step at hand have said so far, while they are taken again."""
        if self.step is not Step.ASSESSING or self.current is None:
            return self
        blank = replace(
            self.current, summary="", contents={}, missing=(), decided=(), rejected=(), left_open=()
        )
        return replace(self, current=blank)

    def at_tables(self, record: StepRecord) -> tuple[Elaboration, ...]:
        """The roundtables of a step."""
        return tuple(held for held in self.elaborations if held.step == record.ref.id)

    def with_record(self, record: StepRecord) -> AnalysisState:
        """The step at hand, which is completed, as it is now."""
        return replace(self, current=record, done=(*self.done[:-1], record))

    def pay(self, spoken: Usage | None) -> AnalysisState:
        return replace(self, bills=(*self.bills, spoken)) if spoken else self
