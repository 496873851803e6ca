"""Where a roundtable stands: everything here is derived from what has happened.

Knows who sits there, what was said, whose turn it is, and what a turn costs. Which event leads where, the
flow decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from moot.core.flow import Usage
from moot.roundtable import insights, lines
from moot.roundtable.addressing import says_only_end
from moot.roundtable.events import (
    ContributionReturned,
    ElaborationRecorded,
    RoundtableNotOpened,
    RoundtableOpened,
    Speaker,
    SynthesisFailed,
    SynthesisReturned,
    TranscriptChecked,
)
from moot.roundtable.findings import NOTHING_FOUND, Disagreement, Findings
from moot.roundtable.insights import Synthesis
from moot.roundtable.quotes import Statement

USER, PROGRAM = "user", "program"
PATIENCE = 3
"""Rounds without a word from the person until the lead asks; one round later, the discussion ends."""
ExitType = Literal["user-initiated", "turn-limit"]


class Step(StrEnum):
    ENTRY = "entry"
    TOPIC_FRAMING = "topic-framing"
    DISCUSSION_LOOP = "discussion-loop"
    PERSONS_TURN = "persons-turn"
    EXIT_DOUBTED = "exit-doubted"
    SYNTHESIS = "synthesis"
    SYNTHESIS_FAILED = "synthesis-failed"
    ARTIFACT_UPDATE = "artifact-update"
    STATE_PERSIST = "state-persist"
    CLOSED = "closed"


Kind = Literal[
    "introduction",
    "framing",
    "contribution",
    "tradeoff",
    "redirect",
    "warning",
    "limit",
    "inactivity",
    "doubted",
    "doubt",
    "exit",
    "wrap-up",
    "failure",
    "note",
]
TURNS: tuple[Kind, ...] = ("framing", "contribution", "tradeoff")
"""What counts as a turn, whoever says it."""
THE_PERSON = "User"
"""How what they said is attributed."""


@dataclass(frozen=True, slots=True)
class Said:
    """`speaker` is a persona's id, the user or the program. `marks` are forbidden words that it uses."""

    speaker: str
    kind: Kind
    text: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundtableState:
    table: RoundtableOpened | None = None
    not_opened: RoundtableNotOpened | None = None
    transcript: tuple[Said, ...] = ()
    focus_question: str | None = None
    turns: int = 0
    calls: int = 0
    """How often a persona has had the word, whatever came of it; being asked again is part of it."""
    due: tuple[str, ...] = ()
    """Who has the word, one after the other."""
    addressed: tuple[str, ...] = ()
    """Whom the person last turned to by name."""
    disagreement: bool = False
    """Whether the lead has to sum one up when the round is over."""
    contested: Disagreement | None = None
    """The one that was found last."""
    findings: Findings = NOTHING_FOUND
    checked: int = 0
    """How many statements the findings are about."""
    tried: int = 0
    """How many there were when a check failed."""
    checks: int = 0
    returned: ContributionReturned | None = None
    answers: int = 0
    silences: int = 0
    """How often in a row the person had nothing to say."""
    doubted: str | None = None
    exit_type: ExitType | None = None
    returned_synthesis: SynthesisReturned | None = None
    synthesis_failure: SynthesisFailed | None = None
    drafts: int = 0
    synthesis: Synthesis | None = None
    announcements: tuple[str, ...] | None = None
    """None as long as the artifacts have had no chance."""
    unknown: tuple[str, ...] = ()
    """What the minutes cite and is not there."""
    recorded: ElaborationRecorded | None = None
    bills: tuple[Usage, ...] = ()

    @property
    def step(self) -> Step:
        if self.not_opened is not None or self.recorded is not None:
            return Step.CLOSED
        if self.table is None:
            return Step.ENTRY
        if self.focus_question is None:
            return Step.TOPIC_FRAMING
        if self.exit_type is None:
            if self.speaking is not None or self.is_round_to_check:
                return Step.DISCUSSION_LOOP
            return Step.PERSONS_TURN if self.doubted is None else Step.EXIT_DOUBTED
        if self.synthesis is None:
            return Step.SYNTHESIS if self.synthesis_failure is None else Step.SYNTHESIS_FAILED
        return Step.ARTIFACT_UPDATE if self.announcements is None else Step.STATE_PERSIST

    # -- who ----------------------------------------------------------------------------------------

    @property
    def opened(self) -> RoundtableOpened:
        assert self.table is not None, "nobody sits at a table that was not opened"
        return self.table

    @property
    def speakers(self) -> dict[str, Speaker]:
        return {speaker.id: speaker for speaker in self.opened.speakers}

    @property
    def lead(self) -> Speaker:
        return self.speakers[self.opened.lead]

    @property
    def others(self) -> tuple[Speaker, ...]:
        return tuple(speaker for speaker in self.opened.speakers if speaker.id != self.opened.lead)

    @property
    def first_names(self) -> dict[str, str]:
        return {speaker.id: speaker.first_name for speaker in self.opened.speakers}

    @property
    def attributions(self) -> dict[str, str]:
        """How each is named for what they said: in full, if others have the same first name."""
        given = [*self.first_names.values(), THE_PERSON]
        names = {
            one.id: one.first_name if given.count(one.first_name) == 1 else one.name
            for one in self.opened.speakers
        }
        return names | {USER: THE_PERSON}

    def round_of(self, first: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Everyone once: whoever comes `first`, then the lead, then the others."""
        return tuple(dict.fromkeys((*first, self.lead.id, *(other.id for other in self.others))))

    @property
    def speaking(self) -> str | None:
        """Whose word is waited for; None: the user's, or nobody's."""
        if self.due:
            return self.due[0]
        return self.opened.lead if self.disagreement else None

    @property
    def turns_left(self) -> int:
        return self.opened.max_turns - self.turns

    @property
    def on_last_turn(self) -> bool:
        """It is the person's: nobody else takes it, unless to answer them."""
        return self.opened.rules > 1 and (self.turns_left == 1 or self.is_spent)

    @property
    def is_spent(self) -> bool:
        """However much silence and failure there is, personas have the word no oftener than there are turns.
        The person has it once more then."""
        return self.opened.rules > 3 and self.calls >= self.opened.max_turns

    @property
    def silence_ends(self) -> bool:
        """Whether it is over if the person says nothing now."""
        return self.on_last_turn or self.silences >= PATIENCE

    @property
    def summing_up(self) -> bool:
        return self.disagreement and not self.due

    # -- what was said ------------------------------------------------------------------------------

    @property
    def discussion(self) -> tuple[Said, ...]:
        """The turns: what was contributed, without the lines that keep order."""
        return tuple(said for said in self.transcript if said.kind in TURNS)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Whatever was said in words of one's own, numbered: also beside the topic, and in leaving."""
        names = self.attributions
        return tuple(
            Statement(number, names[said.speaker], said.text, reports=said.kind == "framing")
            for number, said in enumerate(self._stated, start=1)
        )

    @property
    def _stated(self) -> tuple[Said, ...]:
        """The turns, and besides them what a redirect and the person's last words say."""
        kept = (*TURNS, "redirect")
        return tuple(said for said in self.transcript if said.kind in kept or self._is_own(said))

    def _is_own(self, said: Said) -> bool:
        """A doubt that was dispelled is there as what they said."""
        if said.kind not in ("exit", "doubted") or self.only_ends(said):
            return False
        return all(said.text != other.text for other in self.transcript if other.kind == "contribution")

    def only_ends(self, said: Said) -> bool:
        """Whether somebody has left with words that say nothing besides."""
        return said.kind in ("exit", "doubted") and says_only_end(said.text, self.first_names)

    @property
    def is_checked(self) -> bool:
        """Whether what was found is about all that was said."""
        return self.checked == len(self.statements)

    @property
    def may_be_synthesized(self) -> bool:
        """Earlier rules knew no check."""
        return self.is_checked or self.opened.rules < 3

    @property
    def is_round_to_check(self) -> bool:
        """Whether somebody may have been contradicted in the round that is over: not where nobody could sum
        it up any more, and not under earlier rules."""
        if self.opened.rules < 3 or self.turns_left <= 2 or self.is_spent or self.speaking is not None:
            return False
        views = [said.speaker != USER and said.kind == "contribution" for said in self._stated]
        speakers = {said.speaker for said, view in zip(self._stated, views, strict=True) if view}
        return any(views[max(self.checked, self.tried) :]) and len(speakers) > 1

    @property
    def spoke(self) -> tuple[str, ...]:
        """Who contributed, in order of their first turn: ids, and the user."""
        return tuple(dict.fromkeys(said.speaker for said in self.discussion))

    def line(self, said: Said) -> str:
        """As it is shown: with the speaker's name where a persona speaks."""
        if said.speaker in (USER, PROGRAM):
            return said.text
        speaker = self.speakers[said.speaker]
        return lines.prefix(speaker.shown, speaker.role) + said.text

    def said_by_others(self, persona: str) -> str:
        """Everything that somebody else brought up, the topic included."""
        others = (said.text for said in self.discussion if said.speaker != persona)
        return "\n".join((self.opened.step_title, self.opened.item, *others))

    @property
    def is_in_artifacts(self) -> bool:
        """Whether its minutes are in one of them."""
        return any(line.startswith(insights.UPDATED) for line in self.announcements or ())

    def minutes(self) -> str:
        """What it has come to, as Markdown."""
        assert self.synthesis is not None
        assert self.exit_type is not None
        return insights.render(
            self.synthesis,
            step_id=self.opened.step_id,
            step_title=self.opened.step_title,
            participants=[(one.shown, one.short_role) for one in self.opened.speakers],
            turns=self.turns,
            exit_type=self.exit_type,
        )

    # -- how it changes -----------------------------------------------------------------------------

    def find(self, event: TranscriptChecked) -> RoundtableState:
        """What was thrown out is said. Of new disagreements among personas, the lead sums the last one up."""
        new = [
            each
            for each in event.findings.disagreements
            if each.other.turn > self.checked and THE_PERSON not in (each.one.by, each.other.by)
        ]
        state = replace(self, findings=event.findings, checked=event.statements, checks=self.checks + 1)
        if new and state.exit_type is None:
            state = replace(state, disagreement=True, contested=new[-1])
        told = {said.text for said in self.transcript if said.kind == "note"}
        for line in event.thrown_out:
            state = state if line in told else state.say(PROGRAM, "note", line)
        return state.pay(event.spoken)

    def say(self, speaker: str, kind: Kind, text: str, marks: tuple[str, ...] = ()) -> RoundtableState:
        return replace(self, transcript=(*self.transcript, Said(speaker, kind, text, marks)))

    def take_turn(self, speaker: str, kind: Kind, text: str, marks: tuple[str, ...] = ()) -> RoundtableState:
        """Says it and counts it; the lead warns of the limit, and ends the discussion when it is reached."""
        state = replace(self.say(speaker, kind, text, marks), turns=self.turns + 1)
        if state.turns_left == 2:
            state = state.warn()
        if state.opened.rules > 1 and speaker != USER and kind != "framing" and state.turns_left <= 2:
            # The end is near: it is the person's turn, whoever else is due.
            state = replace(state, due=(), disagreement=False)
        return state.reach_limit() if state.turns == state.opened.max_turns else state

    def warn(self) -> RoundtableState:
        """Once."""
        if any(said.kind == "warning" for said in self.transcript):
            return self
        return self.say(self.lead.id, "warning", lines.WARNING)

    def reach_limit(self) -> RoundtableState:
        return self.say(self.lead.id, "limit", lines.LIMIT).leave("turn-limit")

    def leave(self, exit_type: ExitType) -> RoundtableState:
        state = replace(self, exit_type=exit_type, due=(), disagreement=False, returned=None, doubted=None)
        if state.turns > 1:
            return state
        one_line = f"The discussion of {state.opened.step_title} ended before it began."
        return state.go_without_synthesis(one_line)

    def go_without_synthesis(self, one_line: str) -> RoundtableState:
        """Nothing to put into an artifact, but something for the record."""
        return replace(self, synthesis=Synthesis((), (), (), (), one_line), announcements=())

    def pay(self, spoken: Usage | None) -> RoundtableState:
        return replace(self, bills=(*self.bills, spoken)) if spoken else self
