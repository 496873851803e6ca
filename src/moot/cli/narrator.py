"""A session in the terminal, told as it happens: who is waited for, the words, failures, the bill.

Only what was asked for goes to stdout, and to stderr with --json; everything about the work goes to stderr.
What an input means, and what happens next, the flow decides.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from moot.cli import screen
from moot.cli.failures import after_failure, sentence
from moot.cli.plain import Wrapping, visible
from moot.cli.progress import Progress
from moot.evidence import citations
from moot.text.small_model import BETTER_MODEL, SMALL_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.core.flow import Event, ModelEffect, Usage
    from moot.errors import MootError
    from moot.evidence.items import Evidence
    from moot.personas.library import Library

UNWRAPPED = 10_000


class Narrator:
    """What all formats have in common: one speaker at a time."""

    def __init__(self, library: Callable[[], Library], *, words_to_stdout: bool) -> None:
        self._library = library
        self._model = ""
        self._out = sys.stdout if words_to_stdout else sys.stderr
        self._progress = Progress()
        self._wrapping: Wrapping | None = None

    def introduce(self, model: str, *, tiny: bool) -> None:
        """Which model is going to speak; of the built-in one, said once, how little it is."""
        self._model = model
        if tiny:
            screen.say(f"{SMALL_MODEL} {BETTER_MODEL}", "dim")

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        """A second time where what was said so far turned out to be no part of the reply."""
        self._progress.end_all()
        self._end_words(" …")
        self._progress.begin(effect, self._doing(effect))

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:
        """Shown when it is whole, unless a format knows better."""

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        when = f"in {seconds:.0f} s" if seconds >= 1 else "at once"
        self._progress.change(effect, f"{why}; asking again {when}", everywhere=True)

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None:  # noqa: ARG002
        self._progress.change(effect, f"reads {what}", everywhere=True)

    def happened(self, event: Event) -> None:
        """The last word is out, or there will be none."""
        self._progress.end_all()
        self._end_words()
        _tell_read(getattr(event, "spoken", None) or getattr(event, "usage", None))

    def close(self) -> None:
        """Leaves the screen tidy when the words stop in the middle."""
        self._progress.end_all()
        self._end_words(" …")

    def hold(self) -> None:
        """Something is to be said before anybody is said to be at work: see `release`."""
        self._progress.hold()

    def release(self) -> None:
        self._progress.release()

    def note(self, text: str) -> None:
        """A line of the program's own, while somebody may be waited for."""
        self._progress.hide()
        screen.say(text, "dim")
        self._progress.show()

    # -- for the formats ---------------------------------------------------------------------

    def _doing(self, effect: ModelEffect) -> str:
        raise NotImplementedError

    @property
    def _measure(self) -> int:
        return screen.columns() if self._out.isatty() else UNWRAPPED

    def _begin_words(self, header: str = "") -> None:
        self._progress.hide()
        self._wrapping = Wrapping(self._measure)
        self._write(header)

    def _speak(self, text: str) -> None:
        assert self._wrapping is not None
        self._write(self._wrapping.feed(visible(text)))

    def _end_words(self, mark: str = "") -> None:
        if self._wrapping is not None:
            self._write(f"{self._wrapping.end()}{mark}\n")
            self._wrapping = None

    def _line(self, text: str, *, speaker: str = "", style: screen.Style | None = None) -> None:
        """On a terminal broken between words, with whoever speaks set off."""
        self._progress.end_all()
        shown = screen.styled(screen.wrapped(text) if self._out.isatty() else text, style, self._out)
        if speaker:
            shown = shown.replace(visible(speaker), screen.styled(speaker, "bold", self._out), 1)
        self._write(f"{shown}\n")

    def _tell_failure(self, kind: str, message: str, *, raw: str = "", wait: float | None = None) -> None:
        if raw:
            screen.say(raw)
        advice = f"Try again in {wait:.0f} s." if wait and wait >= 1 else after_failure(kind, message)
        if said := f"{sentence(message) if message else ''} {advice}".strip():
            screen.say(f"\n{said}")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def tell_unverified(text: str, items: Sequence[Evidence]) -> None:
    """Says what of the evidence a text cites that is not there."""
    for one in citations.unverified(text, items):
        screen.say(f"Unverified: {citations.in_words(one)}")


def bill(usage: Usage) -> str:
    """`anthropic:claude-sonnet-5-5 · 212 tokens · 3.1 s · $0.0021`"""
    parts = [usage.model, f"{usage.output_tokens} tokens", f"{usage.duration_ms / 1000:.1f} s"]
    if usage.cost_usd:
        parts.append(f"${usage.cost_usd:.4f}")
    if usage.cut_short:
        parts.append("cut off at its length limit")
    return " · ".join(parts)


def tell_bill(usage: Usage) -> None:
    """For who has not said yet what the model has read, and what it was not told."""
    screen.say(bill(usage), "dim")
    _tell_read(usage)


def _tell_read(bill: object) -> None:
    """What was looked up in the workspace, and what the model was not told."""
    if looked_at := getattr(bill, "looked_at", ()):
        screen.say(f"Looked at: {'; '.join(looked_at)}", "dim")
    if left_out := getattr(bill, "left_out", ()):
        screen.say(f"Not told to the model, for want of room unless it says why: {'; '.join(left_out)}.")
