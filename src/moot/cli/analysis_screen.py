"""An analysis on the terminal: who asks what, and what was written where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from moot.analysis.citable import not_there
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
    StepsRead,
    WorkspaceScanned,
)
from moot.analysis.ledger import still_held
from moot.analysis.state import AnalysisState, StepRecord
from moot.cli import screen
from moot.cli.narrator import bill, tell_unverified
from moot.cli.roundtable_screen import RoundtableNarrator
from moot.core.flow import AskPersona

if TYPE_CHECKING:
    from moot.core.flow import Event, ModelEffect
    from moot.evidence.items import Evidence
    from moot.personas.library import Library
    from moot.roundtable.state import RoundtableState
    from moot.text.depth import Depth

_AT_WORK = {READ: "thinks about that", ASSESS: "takes notes", FEEDBACK: "thinks about that"}


class AnalysisNarrator(RoundtableNarrator):
    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._state: Callable[[], AnalysisState] = AnalysisState
        self._left_out: set[str] = set()
        self._named_missing: set[str] = set()
        self._depth: Depth | None = None

    def _table(self) -> RoundtableState | None:
        table = self._state().roundtable
        return table if table is not None and table.table is not None else None

    @property
    def _evidence(self) -> Sequence[Evidence]:
        return self._state().background.evidence

    def follow(self, state: Callable[[], AnalysisState]) -> None:
        self._state = state
        self._follow_roundtable()
        self._left_out = {ref.id for ref, _ in state().left_out}
        self._depth = state().active_depth

    def recall(self, greeting: str) -> None:
        """What somebody who comes back has to know to answer."""
        self._line(greeting)
        state = self._state()
        if self._recall_roundtable():
            return
        if state.failure is not None:
            self._tell_model_failure(state.failure)
        elif state.question:
            self._tell_reply(state, state.question)

    def tell(self, what: str) -> None:
        screen.say(f"  {what}", "dim")

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:
        super().began(effect, attempt)
        # On a terminal it comes with the first word, after the waiting.
        if effect.prompt == OPEN and not self._out.isatty():
            self._write(f"\n{self._head()}\n")

    def _doing(self, effect: ModelEffect) -> str:
        if isinstance(effect, AskPersona) or self._table() is not None:
            return super()._doing(effect)
        state = self._state()
        who = state.voice(state.current.ref.persona).shown if state.current else "The model"
        return f"{who} {_AT_WORK.get(effect.prompt, 'is thinking')}"

    def _head(self) -> str:
        state = self._state()
        if state.current is None:
            return ""
        ref = state.current.ref
        voice = state.voice(ref.persona)
        return f"{voice.name} ({voice.role}) -- Step {ref.id}: {ref.title}"

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        if effect.prompt == OPEN:
            if self._wrapping is None:
                head = screen.styled(self._head(), "bold", self._out)
                self._begin_words(f"\n{head}\n" if self._out.isatty() else "")
            self._speak(text)

    def happened(self, event: Event) -> None:
        super().happened(event)
        state = self._state()
        self._tell_step(state, event)
        self._depth = state.active_depth

    def _tell_step(self, state: AnalysisState, event: Event) -> None:
        match event:
            case WorkspaceScanned(_, depth):
                screen.say(f"Looked at the workspace: a {depth} analysis should do.", "dim")
            case ImpactLooked():
                screen.say("Looked at what it touches in the workspace.", "dim")
            case StepsRead(edits=edits):
                for edit in edits or ():
                    screen.say(f"Changed by hand: {edit}. That is what holds from here on.", "dim")
            case StepOpened(spoken=spoken, unknown=unknown):
                screen.say(bill(spoken), "dim")
                self._tell_not_there(unknown)
            case StepAssessed(follow_up=follow_up) if state.question:
                self._tell_reply(state, follow_up)
            case StepCompleted() | FeedbackWritten():
                self._tell_written(state.record, event)
            case FeedbackTaken(reply) | AnswerRead(reply=reply) if reply:
                self._tell_reply(state, reply)
                _tell_each("Decided", getattr(event, "decided", ()))
                _tell_each("Ruled out", getattr(event, "rejected", ()))
                _tell_each("You leave open", getattr(event, "left_open", ()))
            case MenuChosen():
                self._tell_left_out(state)
            case BoardAnswered(question, session, file, recommendation):
                self._line(f"\nThe Board on: {question}\n{recommendation}")
                screen.say(f"Its brief is in {file}; the session is {session}.", "dim")
            case AnswerGiven() | FeedbackGiven() if state.active_depth not in (None, self._depth):
                screen.say(f"From here on the analysis is {state.active_depth}.", "dim")
            case ModelFailed():
                self._tell_model_failure(event)

    def _tell_model_failure(self, failure: ModelFailed) -> None:
        self._tell_failure(failure.kind, failure.message, raw=failure.raw)

    def _tell_notes(self, record: StepRecord) -> None:
        """What was made of the answers, so that the person can object."""
        if record.summary:
            screen.say(f"Noted: {record.summary}")
        state = self._state()
        _tell_each("Decided", still_held(state, record.decided))
        _tell_each("Ruled out", still_held(state, record.rejected))
        _tell_each("You leave open", still_held(state, record.left_open))
        _tell_each("Still missing", still_held(state, record.missing))

    def _tell_written(self, record: StepRecord, event: StepCompleted | FeedbackWritten) -> None:
        if isinstance(event, StepCompleted):
            self._tell_notes(record)
        if event.files:
            screen.say(f"Written: {', '.join(event.files)}", "dim")
        self._tell_not_there(event.unknown)

    def _not_there(self, text: str) -> tuple[str, ...]:
        """Besides evidence, which is told with what was quoted. Each once: whoever says that something is not
        there names it again."""
        found = [one for one in not_there(self._state(), (text,))[0] if not one.startswith("[")]
        new = tuple(one for one in found if one not in self._named_missing)
        self._named_missing.update(new)
        return new

    def _tell_left_out(self, state: AnalysisState) -> None:
        for ref, why in state.left_out:
            if ref.id not in self._left_out:
                self._left_out.add(ref.id)
                screen.say(f"Skipped step {ref.id} ({ref.title}): {why}.", "dim")

    def _tell_reply(self, state: AnalysisState, reply: str) -> None:
        assert state.current is not None
        voice = state.voice(state.current.ref.persona)
        who = f"{voice.shown} ({voice.role})"
        self._line(f"\n{who}: {reply}", speaker=who)
        tell_unverified(reply, self._evidence)
        self._tell_not_there(self._not_there(reply))


def _tell_each(what: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        screen.say(f"{what}: {text}")
