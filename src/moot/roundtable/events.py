"""What can happen at a roundtable: plain values, as a log keeps them.

Knows names and fields. What a text was read as (an exit, an address, a disagreement) stands in the event, so
that a log means the same for ever. When something may happen, and what follows from it, the flow decides.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from moot.core.flow import Event, Usage
from moot.personas.display import shown_as
from moot.roundtable.findings import Findings
from moot.roundtable.insights import Synthesis

MAX_INPUT = 5_000
"""Characters of what the person says at once."""
FEWEST_SPEAKERS, MOST_SPEAKERS = 2, 6
RULES = 4
"""By which a roundtable that opens now is held."""


class Speaker(msgspec.Struct, frozen=True):
    """A persona as the roundtable knows it, so that a log stays readable when a file is renamed."""

    id: str
    name: str
    first_name: str
    role: str
    short_role: str
    lens: str
    forbidden_words: tuple[str, ...] = ()
    origin: str = ""

    @property
    def shown(self) -> str:
        return shown_as(self.name, self.origin)


# -- opening -------------------------------------------------------------------------------------


class RoundtableOpened(Event, frozen=True):
    """`speakers` are in the panel's order; `material` is what the step has come to so far; `at` tells this
    elaboration from others of the same step. `rules` are those by which it is held: under the first, of
    earlier versions, personas could take the last turns; under the second, nobody looked for contradictions
    when a round was over; under the third, silence could use up the person's last turn."""

    step_id: str
    step_title: str
    item: str
    speakers: tuple[Speaker, ...]
    lead: str
    max_turns: int
    at: str
    material: str
    warnings: tuple[str, ...] = ()
    rules: int = 1


class RoundtableNotOpened(Event, frozen=True):
    kind: str
    message: str


class TopicFramed(Event, frozen=True):
    summary: str
    focus_question: str
    spoken: Usage


class FramingFailed(Event, frozen=True):
    """The lead then frames in the program's words."""

    kind: str
    message: str
    retry_after: float | None = None


# -- personas ------------------------------------------------------------------------------------


class PersonaContributed(Event, frozen=True):
    """`marks` are forbidden words that stand in it although it was asked for twice. A contribution that was
    returned and not replaced has been paid for already. `disagrees_with` are ids, and only in sessions of
    earlier versions: a program read it from phrases."""

    persona: str
    text: str
    spoken: Usage | None
    marks: tuple[str, ...] = ()
    disagrees_with: tuple[str, ...] = ()


class PersonaSilent(Event, frozen=True):
    """Nothing of their own to add: said so, said again what had been said, or redirected without being the
    lead. `text` is what is not shown."""

    persona: str
    spoken: Usage
    reason: Literal["silent", "echo", "redirect"] = "silent"
    text: str = ""


class ContributionReturned(Event, frozen=True):
    """It uses forbidden words that nobody else brought up, or, without words, it is the silence of somebody
    whom the person had turned to: asked for once more."""

    persona: str
    text: str
    words: tuple[str, ...]
    spoken: Usage


class ContributionFailed(Event, frozen=True):
    persona: str
    kind: str
    message: str
    retry_after: float | None = None


class LeadRedirected(Event, frozen=True):
    """Takes the discussion back to its topic; `drifter` is a persona's id or the person."""

    persona: str
    drifter: str
    subject: str
    where: str
    spoken: Usage


class TranscriptChecked(Event, frozen=True):
    """What is in the first `statements` of the discussion, instead of what was found before. `thrown_out` was
    named and is not there."""

    findings: Findings
    statements: int
    thrown_out: tuple[str, ...]
    spoken: Usage


class CheckFailed(Event, frozen=True):
    """Nobody knows whether somebody was contradicted in the round that is over."""

    kind: str
    message: str
    retry_after: float | None = None


# -- the person ----------------------------------------------------------------------------------


class PersonSpokeUp(Event, frozen=True):
    text: str
    addressed: tuple[str, ...] = ()


class PersonSilent(Event, frozen=True):
    """They listen on."""


class ExitDoubted(Event, frozen=True):
    """What they said may or may not be meant to end the discussion: they are asked."""

    text: str


class PersonStayed(Event, frozen=True):
    """What was taken for an end was none: it counts as said."""

    addressed: tuple[str, ...] = ()


class PersonLeft(Event, frozen=True):
    """They end the discussion; possible at any time of it, also while somebody speaks."""

    text: str = ""


# -- closing -------------------------------------------------------------------------------------


class SynthesisReturned(Event, frozen=True):
    """It says what was not said: asked for once more. `synthesis` is what is left of it, under rules before
    the third all of it."""

    synthesis: Synthesis
    reasons: tuple[str, ...]
    spoken: Usage


class SynthesisDrafted(Event, frozen=True):
    """`corrections` say what the program had to put right; a draft that was returned and not replaced has
    been paid for already."""

    synthesis: Synthesis
    spoken: Usage | None
    corrections: tuple[str, ...] = ()


class SynthesisFailed(Event, frozen=True):
    kind: str
    message: str
    raw: str = ""
    retry_after: float | None = None


class SynthesisRetried(Event, frozen=True):
    pass


class SynthesisForgone(Event, frozen=True):
    """The person goes on without one."""


class ArtifactsUpdated(Event, frozen=True, omit_defaults=True):
    """`unknown` is what the minutes cite and is not there."""

    announcements: tuple[str, ...]
    unknown: tuple[str, ...] = ()


class ArtifactsNotUpdated(Event, frozen=True):
    kind: str
    message: str


class ElaborationRecorded(Event, frozen=True):
    """`message` says why it was not saved."""

    saved: bool
    message: str = ""


CheckEvent = TranscriptChecked | CheckFailed
PersonaEvent = PersonaContributed | PersonaSilent | ContributionReturned | ContributionFailed | LeadRedirected
PersonEvent = PersonSpokeUp | PersonSilent | ExitDoubted | PersonStayed | PersonLeft
ClosingEvent = (
    SynthesisReturned
    | SynthesisDrafted
    | SynthesisFailed
    | SynthesisRetried
    | SynthesisForgone
    | ArtifactsUpdated
    | ArtifactsNotUpdated
    | ElaborationRecorded
)
HeldEvent = (
    RoundtableOpened | TopicFramed | FramingFailed | PersonaEvent | CheckEvent | PersonEvent | ClosingEvent
)
"""Of a roundtable that is held."""
RoundtableEvent = RoundtableNotOpened | HeldEvent

TOLD = (
    TopicFramed,
    FramingFailed,
    PersonaContributed,
    ContributionFailed,
    LeadRedirected,
    TranscriptChecked,
    CheckFailed,
    SynthesisDrafted,
    SynthesisFailed,
    ArtifactsUpdated,
    ArtifactsNotUpdated,
    ElaborationRecorded,
)
"""What somebody is told who was not listening to one that is held: not what was returned, nor who kept
silent."""
