"""`moot ask` in the terminal: a persona's words as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.ask.flow import AnswerFailed, AnswerGiven, AskState
from moot.cli import screen
from moot.cli.narrator import Narrator, bill, tell_unverified
from moot.cli.plain import visible
from moot.core.conversation import PERSON
from moot.core.flow import AskPersona
from moot.evidence.citations import mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.flow import Event, ModelEffect
    from moot.personas.library import Library


class AskNarrator(Narrator):
    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        super().__init__(library, words_to_stdout=words_to_stdout)
        self._state: Callable[[], AskState] = AskState

    def follow(self, state: Callable[[], AskState]) -> None:
        self._state = state

    def _doing(self, effect: ModelEffect) -> str:
        assert isinstance(effect, AskPersona)
        return f"{self._library().persona(effect.persona).shown} is thinking ({self._model})"

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        assert isinstance(effect, AskPersona)
        if self._wrapping is None:
            persona = self._library().persona(effect.persona)
            name = screen.styled(persona.shown, "bold", self._out)
            self._begin_words(f"\n{name} · {visible(persona.role)}\n" if self._out.isatty() else "")
        self._speak(text)

    def happened(self, event: Event) -> None:
        if isinstance(event, AnswerGiven) and self._wrapping is None:
            # Another process has asked for it.
            self._begin_words()
            self._speak(event.text)
        super().happened(event)
        match event:
            case AnswerGiven(text, usage):
                screen.say(bill(usage), "dim")
                tell_unverified(text, self._state().background.evidence)
            case AnswerFailed(kind, message):
                self._tell_failure(kind, message)


def recount(library: Library, state: AskState) -> None:
    """What was said before, for whoever resumes a conversation."""
    answers = (mark(text, items) for text, items in state.answers)
    for number, entry in enumerate(state.conversation):
        who = "You" if entry.speaker == PERSON else library.persona(entry.speaker).shown
        if number:
            screen.say()
        screen.say(f"{who}:", "bold")
        screen.say(screen.wrapped(entry.content if entry.speaker == PERSON else next(answers)))
