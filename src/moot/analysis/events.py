"""What can happen in an analysis, as values for its log. The roundtable has events of its own."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import Event, Usage
from moot.llm.messages import Source
from moot.personas.display import shown_as
from moot.roundtable.events import RoundtableEvent
from moot.text.depth import Depth

MAX_ANSWER = 20_000
Wish = Depth | Literal["unchanged"]


class StepRef(msgspec.Struct, frozen=True):
    """A step as this analysis knows it, and why it does not apply, if it does not. At a depth in
    `skip_at` it does not apply either."""

    id: str
    title: str
    phase: str
    persona: str
    depth: Depth
    outputs: tuple[str, ...]
    depends_on: tuple[str, ...] = ()
    does_not_apply: str = ""
    skip_at: tuple[Depth, ...] = ()


class Voice(msgspec.Struct, frozen=True):
    id: str
    name: str
    role: str
    origin: str = ""

    @property
    def shown(self) -> str:
        return shown_as(self.name, self.origin)


class AnalysisOpened(Event, frozen=True, omit_defaults=True):
    """`completed` and `depth_overrides` are what meta.json says: somebody may have worked on it before. Under
    earlier versions, what was decided was numbered anew with each entry, so `keeps_numbers` is not set. What
    a factory makes is always written, as their logs have it."""

    slug: str
    title: str
    model: str
    steps: tuple[StepRef, ...]
    voices: tuple[Voice, ...]
    description: str = msgspec.field(default_factory=lambda: "")
    completed: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    depth_overrides: dict[str, Depth] = msgspec.field(default_factory=lambda: {})
    warnings: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    keeps_numbers: bool = False


class Edit(msgspec.Struct, frozen=True):
    """What an artifact says that no step has written, and what of theirs it says no more, line by line.
    `whole` says that this is the whole file."""

    file: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    whole: bool = False

    def __str__(self) -> str:
        if self.whole:
            return f"{self.file} is not from here" if self.added else f"{self.file} was deleted"
        counts = ((len(self.added), "new"), (len(self.removed), "gone"))
        said = [f"{count} line{'' if count == 1 else 's'} {what}" for count, what in counts if count]
        return f"{self.file}: {', '.join(said)}"


class StepsRead(Event, frozen=True, omit_defaults=True):
    """Just before a step is opened, or when somebody comes back to a finished analysis: what the step files
    say now, and what was changed by hand in the artifacts. None: nothing that this analysis does not know."""

    steps: tuple[StepRef, ...] | None = msgspec.field(default_factory=lambda: None)
    voices: tuple[Voice, ...] = msgspec.field(default_factory=lambda: ())
    """Always written, as logs of earlier versions have both."""
    edits: tuple[Edit, ...] | None = None

    @property
    def is_news(self) -> bool:
        """Nobody has to be told that what was there is there."""
        return bool(self.edits)


class WorkspaceScanned(Event, frozen=True, omit_defaults=True):
    """What was found in the workspace, as Markdown that cites it, and the depth that its size speaks for.
    `bodies` are the functions that the item is about, whole."""

    found: str
    depth: Depth
    bodies: tuple[Source, ...] = ()


class ImpactLooked(Event, frozen=True, omit_defaults=True):
    """`bodies` as in `WorkspaceScanned`: by now the person has said more of what it is about."""

    found: str
    bodies: tuple[Source, ...] = ()


class StepEvent(Event, frozen=True):
    """Of the step at hand."""

    step: str


class StepOpened(StepEvent, frozen=True, omit_defaults=True):
    """The persona has said what this step is about, and asked. `unknown` is what they cited and is not
    there."""

    text: str
    spoken: Usage
    unknown: tuple[str, ...] = ()


class AnswerGiven(StepEvent, frozen=True):
    """`wish` is the depth that it asks for. None: an earlier version wrote this, and read it its own way.
    `may_ask`: it may be a question, or have one in it."""

    text: str
    wish: Wish | None = None
    may_ask: bool = False


class AnswerRead(StepEvent, frozen=True):
    """`reply` is to what the person has asked; empty if they asked nothing. Unless their words are an answer
    as well (`answers`), the step's own question stays open."""

    reply: str
    answers: bool
    spoken: Usage


class StepAssessed(StepEvent, frozen=True, omit_defaults=True):
    """What the answers amount to. `follow_up` is asked if something is missing; `contents` is what the
    artifacts get, by file; `decided` and `rejected` are what was settled, each in one sentence. What a
    factory makes is always written, as logs of earlier versions have it."""

    summary: str
    contents: dict[str, Any]
    missing: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    follow_up: str = msgspec.field(default_factory=lambda: "")
    spoken: Usage | None = msgspec.field(default_factory=lambda: None)
    decided: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    """Keys in the ledger of what was open until now."""
    taken_back: tuple[str, ...] = ()
    """Keys of what the person had decided or rejected, and no longer wants."""
    left_open: tuple[str, ...] = ()
    """What the person leaves open."""


class StepCompleted(StepEvent, frozen=True, omit_defaults=True):
    """The artifacts are written, and meta.json says so. `unknown` is what was cited in them and is not
    there."""

    files: tuple[str, ...]
    message: str = msgspec.field(default_factory=lambda: "")
    unknown: tuple[str, ...] = ()


KEPT_AS = {"elaborate": "E", "continue": "C", "skip-phase": "S", "ask-board": "B"}
"""How a log names what was chosen at the menu of a step."""


class MenuChosen(Event, frozen=True):
    """`key` is what the log calls the choice: see `KEPT_AS`."""

    key: str


class FeedbackGiven(Event, frozen=True):
    """`wish` as in `AnswerGiven`."""

    text: str
    wish: Wish | None = None


class FeedbackTaken(Event, frozen=True, omit_defaults=True):
    """What was `decided`, `rejected`, `settled`, `taken_back` and `left_open` as in `StepAssessed`."""

    reply: str
    contents: dict[str, Any]
    spoken: Usage
    settled: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()


class FeedbackWritten(Event, frozen=True, omit_defaults=True):
    """`unknown` as in `StepCompleted`."""

    files: tuple[str, ...]
    unknown: tuple[str, ...] = ()


class QuestionPut(Event, frozen=True):
    """An open question of a roundtable, for the Board; empty if the person would rather not ask."""

    question: str = ""


class BoardCalled(Event, frozen=True):
    """The Board's session exists and nobody has spoken in it: from here on nobody is asked twice."""

    session: str


class BoardAnswered(Event, frozen=True):
    """The Board's brief is in a file, which the artifact names."""

    question: str
    session: str
    file: str
    recommendation: str
    message: str = ""


class ModelFailed(Event, frozen=True):
    """A model, or the Board, gave nothing that can be used. `raw` is what the model wrote instead."""

    kind: str
    message: str
    raw: str = ""


class TriedAgain(Event, frozen=True):
    """The person wants what failed to be tried once more."""


class Withdrawn(Event, frozen=True):
    """The person goes back to the menu without what failed."""


class SkippedTakenUp(Event, frozen=True):
    """At the end, the person wants to do the skipped steps after all."""


OwnEvent = (
    AnalysisOpened
    | StepsRead
    | WorkspaceScanned
    | ImpactLooked
    | StepOpened
    | AnswerGiven
    | AnswerRead
    | StepAssessed
    | StepCompleted
    | MenuChosen
    | FeedbackGiven
    | FeedbackTaken
    | FeedbackWritten
    | QuestionPut
    | BoardCalled
    | BoardAnswered
    | ModelFailed
    | TriedAgain
    | Withdrawn
    | SkippedTakenUp
    | RoundtableEvent
)
AnalysisEvent = OwnEvent | EvidenceGiven | LedgerCorrected
