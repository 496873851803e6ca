"""The person at a terminal: asked with an editable line, shown the words as they come."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from moot.ask.flow import AnswerFailed, AnswerGiven
from moot.cli import menu_lines, screen
from moot.cli.failures import NEXT_STEPS, refusal, sentence
from moot.cli.plain import Wrapping, visible
from moot.cli.typed_ahead import A_SCREENFUL, TypedAhead
from moot.core.flow import AskPersona
from moot.core.runner import UserQuit
from moot.text.small_model import BETTER_MODEL, SMALL_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.flow import AskPerson, Event, ModelEffect, Usage
    from moot.errors import MootError
    from moot.personas.library import Library


TINY = f"{SMALL_MODEL} {BETTER_MODEL}"


class TerminalPerson:
    """Reads lines. An empty line is an answer where the flow offers one, and leaves where it may be left;
    Ctrl-D leaves anywhere; Ctrl-C interrupts."""

    def __init__(self) -> None:
        self._prompt: Any = None
        self._typed_ahead = TypedAhead()

    async def interrupt(self, ask: AskPerson, problem: str | None) -> str:
        if problem:
            screen.say(refusal(problem))
        return await self._typed_ahead.line(ask)

    async def answer(self, ask: AskPerson, problem: str | None) -> str:
        if self._prompt is None:
            from prompt_toolkit import PromptSession
            from prompt_toolkit.output import create_output

            self._prompt = PromptSession(output=create_output(sys.stderr))
        may_be_empty = menu_lines.may_be_empty(ask)
        leaves = ask.optional and not may_be_empty
        screen.say()
        if problem:
            screen.say(refusal(problem))
        screen.say(_asked(menu_lines.asked(ask)), "bold")
        for key, label in menu_lines.shown(ask):
            screen.say(f"  [{key or 'Enter'}] {label}", "dim")
        screen.say(f"  [{'Enter' if leaves else 'Ctrl-D'}] Leave", "dim")
        if ask.hint:
            screen.say(f"  {ask.hint}", "dim")

        def ahead() -> None:
            self._typed_ahead.hand_over(ask)

        refused = self._typed_ahead.refused(problem)
        # Where the words push the reason off the screen, it stands below them.
        self._prompt.bottom_toolbar = refusal(problem) if problem and len(refused) > A_SCREENFUL else None
        while True:
            try:
                typed = str(await self._prompt.prompt_async("> ", default=refused, pre_run=ahead))
            except EOFError:
                raise UserQuit from None
            except KeyboardInterrupt:
                raise UserQuit(interrupted=True) from None
            self._typed_ahead.typed, refused = typed, ""
            if typed.strip() or may_be_empty:
                return typed
            if leaves:
                raise UserQuit


def _asked(expects: str) -> str:
    asked = f"{expects[:1].upper()}{expects[1:]}"
    return asked if asked.endswith(("?", ")")) else f"{asked}?"


class Narrator:
    """Shows one speaker at a time: who thinks, the words, the bill. Only words go to stdout."""

    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        self._library = library
        self._model = ""
        self._header = ""
        self._out = sys.stdout if words_to_stdout else sys.stderr
        self._wrapping: Wrapping | None = None
        self._spinner: Any = None

    def introduce(self, model: str, *, tiny: bool) -> None:
        """Which model is going to speak; of the built-in one, said once, how little it is."""
        self._model = model
        if tiny:
            screen.say(TINY, "dim")

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        assert isinstance(effect, AskPersona)
        persona = self._library().persona(effect.persona)
        self._wrapping = None
        self._spin(f"{persona.shown} is thinking ({self._model})")
        self._header = f"{screen.styled(persona.shown, 'bold', self._out)} · {visible(persona.role)}"

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        if self._wrapping is None:
            self._stop_spinning()
            wide = screen.columns() if self._out.isatty() else 10_000
            self._wrapping = Wrapping(wide)
            if self._out.isatty():
                self._write(f"\n{self._header}\n")
        self._write(self._wrapping.feed(visible(text)))

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:  # noqa: ARG002
        self._stop_spinning()
        self._spin(f"{why}; asking again in {seconds:.0f} s")

    def happened(self, event: Event) -> None:
        """The last word is out, or there will be none."""
        self._stop_spinning()
        if isinstance(event, AnswerGiven) and self._wrapping is None:
            # Another process has asked for it.
            self._wrapping = Wrapping(screen.columns() if self._out.isatty() else 10_000)
            self._write(self._wrapping.feed(visible(event.text)))
        if self._wrapping is not None:
            self._write(self._wrapping.end() + "\n")
            self._wrapping = None
        match event:
            case AnswerGiven(usage=usage):
                screen.say(bill(usage), "dim")
            case AnswerFailed(kind, message):
                screen.say(f"{sentence(message)} {NEXT_STEPS.get(kind, '')}")

    def interrupted(self) -> None:
        """Leaves the screen tidy when the words stop in the middle."""
        self._stop_spinning()
        if self._wrapping is not None:
            self._write(self._wrapping.end() + " …\n")
            self._wrapping = None

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    def _spin(self, text: str) -> None:
        if not screen.coloured(sys.stderr):
            screen.say(f"{text} …")
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._spinner = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._spinner.add_task(visible(text))
        self._spinner.start()

    def _stop_spinning(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


def bill(usage: Usage) -> str:
    """`anthropic:claude-sonnet-5-5 · 212 tokens · 3.1 s · $0.0021`"""
    parts = [usage.model, f"{usage.output_tokens} tokens", f"{usage.duration_ms / 1000:.1f} s"]
    if usage.cost_usd:
        parts.append(f"${usage.cost_usd:.4f}")
    if usage.cut_short:
        parts.append("cut off at its length limit")
    return " · ".join(parts)
