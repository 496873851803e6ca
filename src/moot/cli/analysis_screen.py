"""An analysis on the terminal: who asks what, and what was written where."""

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
from moot.cli.roundtable_screen import AT_ROUNDTABLE, RoundtableNarrator
from moot.cli.terminal import bill
from moot.core.flow import AskPersona

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
    **AT_ROUNDTABLE,
}


class AnalysisNarrator(RoundtableNarrator):
    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._state: Callable[[], AnalysisState] | None = None
        self._left_out: set[str] = set()
        self._depth: Depth | None = None

    def follow(self, state: Callable[[], AnalysisState]) -> None:
        self._state = state
        self._follow_roundtable(state().roundtable)
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
            self._recall_roundtable(table)
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
        self._tell_roundtable(state.roundtable, event)
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
