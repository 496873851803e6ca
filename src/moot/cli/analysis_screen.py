"""An analysis on the terminal: who asks what, what was written where, and a roundtable as it goes on.

What a persona says at a roundtable is shown when it is whole: only then is it known whether it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from moot.analysis.effects import ASSESS, FEEDBACK, OPEN, READ
from moot.analysis.events import (
    AnswerGiven,
    AnswerRead,
    BoardAnswered,
    FeedbackGiven,
    FeedbackTaken,
    FeedbackWritten,
    ImpactLooked,
    MenuChosen,
    ModelFailed,
    StepAssessed,
    StepCompleted,
    StepOpened,
    WorkspaceScanned,
)
from moot.cli import screen
from moot.cli.failures import NEXT_STEPS, sentence
from moot.cli.plain import Wrapping, visible
from moot.cli.terminal import Narrator, bill
from moot.core.flow import AskPersona
from moot.roundtable.effects import FRAMING, SYNTHESIS
from moot.roundtable.events import (
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    ElaborationRecorded,
    SynthesisDrafted,
)
from moot.roundtable.state import USER, RoundtableState, Said

if TYPE_CHECKING:
    from moot.analysis.events import StepRef
    from moot.analysis.state import AnalysisState
    from moot.core.flow import Event, ModelEffect
    from moot.personas.library import Library
    from moot.text.depth import Depth

_AT_WORK = {
    READ: "thinks about that",
    ASSESS: "takes notes",
    FEEDBACK: "thinks about that",
    FRAMING: "frames the topic",
    SYNTHESIS: "sums up",
}


_RECALLED = 4
"""How many lines of a roundtable are shown again to somebody who comes back."""


class AnalysisNarrator(Narrator):
    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._state: Callable[[], AnalysisState] | None = None
        self._table: RoundtableState | None = None
        self._told = 0
        self._left_out: set[str] = set()
        self._depth: Depth | None = None

    def follow(self, state: Callable[[], AnalysisState]) -> None:
        self._state = state
        table = state().roundtable
        self._table, self._told = table, len(table.transcript) if table else 0
        self._left_out = {ref.id for ref, _ in state().left_out}
        self._depth = state().active_depth

    def greet(self, text: str) -> None:
        self._line(text)

    def recall(self) -> None:
        """What somebody who comes back has to know to answer."""
        assert self._state is not None
        state = self._state()
        table = state.roundtable
        if table is not None and table.table is not None:
            for said in table.transcript[-_RECALLED:]:
                self._tell_said(table, said)
        elif state.failure is not None:
            self._tell_failure(state.failure)
        elif state.question:
            self._line(f"\n{self._voice(state)}: {state.question}", self._voice(state))

    def tell(self, what: str) -> None:
        screen.say(f"  {what}", "dim")

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:
        state = self._state() if self._state else None
        if isinstance(effect, AskPersona):
            super().began(effect, attempt)
            if effect.prompt == OPEN and state is not None and state.current is not None:
                self._head(state, state.current.ref)
            return
        self._stop_spinning()
        self._spin(f"{self._who(state)} {_AT_WORK.get(effect.prompt, 'thinks')}")

    def _head(self, state: AnalysisState, ref: StepRef) -> None:
        """On a terminal it comes with the first word, after the waiting."""
        voice = state.voice(ref.persona)
        head = f"{voice.name} ({voice.role}) -- Step {ref.id}: {ref.title}"
        self._header = screen.styled(head, "bold", self._out)
        if not self._out.isatty():
            self._write(f"\n{head}\n")

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:
        if isinstance(effect, AskPersona) and effect.prompt == OPEN:
            super().said(effect, attempt, text)

    def happened(self, event: Event) -> None:
        super().happened(event)
        state = self._state() if self._state else None
        if state is None:
            return
        self._tell_roundtable(state, event)
        self._tell_step(state, event)
        self._depth = state.active_depth

    def _tell_step(self, state: AnalysisState, event: Event) -> None:
        match event:
            case WorkspaceScanned(_, depth):
                screen.say(f"Looked at the workspace: a {depth} analysis should do.", "dim")
            case ImpactLooked():
                screen.say("Looked at what it touches in the workspace.", "dim")
            case StepOpened(spoken=spoken):
                screen.say(bill(spoken), "dim")
            case StepAssessed(follow_up=follow_up) if state.question:
                self._line(f"\n{self._voice(state)}: {follow_up}", self._voice(state))
            case StepCompleted(files=files) | FeedbackWritten(files) if files:
                screen.say(f"Written: {', '.join(files)}", "dim")
            case FeedbackTaken(reply) | AnswerRead(reply=reply) if reply:
                self._line(f"\n{self._voice(state)}: {reply}", self._voice(state))
            case MenuChosen():
                self._tell_left_out(state)
            case BoardAnswered(question, session, file, recommendation):
                self._line(f"\nThe Board on: {question}\n{recommendation}")
                screen.say(f"Its brief is in {file}; the session is {session}.", "dim")
            case AnswerGiven() | FeedbackGiven() if state.active_depth not in (None, self._depth):
                screen.say(f"From here on the analysis is {state.active_depth}.", "dim")
            case ModelFailed():
                self._tell_failure(event)

    def _tell_failure(self, failure: ModelFailed) -> None:
        if failure.raw:
            screen.say(failure.raw)
        screen.say(f"{sentence(failure.message)} {NEXT_STEPS.get(failure.kind, '')}")

    # -- roundtables -------------------------------------------------------------------------

    def _tell_roundtable(self, state: AnalysisState, event: Event) -> None:
        """What was added to the transcript, then what the end has brought."""
        table = state.roundtable
        if table is not None:
            if self._table is None:
                self._told = 0
            self._table = table
            for said in table.transcript[self._told :]:
                # A doubt is put as a question right below.
                if said.speaker != USER and not (said.kind == "doubt" and screen.interactive()):
                    self._tell_said(table, said)
            self._told = len(table.transcript)
        match event:
            case SynthesisDrafted(corrections=corrections) if self._table is not None:
                self._line(f"\n{self._table.minutes()}")
                for correction in corrections:
                    screen.say(f"Put right in the synthesis: {correction}", "dim")
            case ArtifactsUpdated(announcements):
                for line in announcements:
                    self._line(line)
            case ArtifactsNotUpdated(_, message):
                screen.say(sentence(message))
            case ElaborationRecorded(_, message):
                if message:
                    screen.say(message)
                self._table = None

    def _tell_said(self, table: RoundtableState, said: Said) -> None:
        if said.speaker in table.speakers:
            speaker = table.speakers[said.speaker]
            self._line(f"\n{table.line(said)}", f"{speaker.shown} ({speaker.role}):")
        else:
            self._line(f"\n{'You: ' if said.speaker == USER else ''}{said.text}")

    def _tell_left_out(self, state: AnalysisState) -> None:
        for ref, why in state.left_out:
            if ref.id not in self._left_out:
                self._left_out.add(ref.id)
                screen.say(f"Step {ref.id}, {ref.title}, is left out: {why}.", "dim")

    def _who(self, state: AnalysisState | None) -> str:
        if state is None:
            return "The model"
        if state.roundtable is not None and state.roundtable.table is not None:
            return state.roundtable.lead.shown
        return state.voice(state.current.ref.persona).shown if state.current else "The model"

    def _voice(self, state: AnalysisState) -> str:
        assert state.current is not None
        voice = state.voice(state.current.ref.persona)
        return f"{voice.shown} ({voice.role})"

    def _line(self, text: str, speaker: str = "") -> None:
        """On a terminal broken between words, with whoever speaks set off."""
        self._stop_spinning()
        shown = visible(text)
        if self._out.isatty():
            wrapping = Wrapping(screen.columns())
            shown = wrapping.feed(shown) + wrapping.end()
            shown = shown.replace(visible(speaker), screen.styled(speaker, "bold", self._out), 1)
        self._write(f"{shown}\n")
