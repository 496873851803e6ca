"""What is waited for: on a terminal a live line each, with how long it takes; elsewhere a plain line each."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable
from typing import Any, Self

from moot.cli import screen
from moot.cli.plain import visible


class Progress:
    """The one display of this kind. The live lines make way for whatever else is shown: `hide` before, `show`
    after it."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, tuple[str, float]] = {}
        self._live: Any = None
        self._latest = ""
        """The latest line of several that may be alike, such as eight who wait for the same reason."""
        self._held: list[str] | None = None
        """Lines that wait for what is to be said before them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hide()

    def begin(self, key: Hashable, what: str) -> None:
        self._waiting[key] = what, time.monotonic()
        if screen.coloured(sys.stderr):
            self.show()
        elif self._held is not None:
            self._held.append(what)
        else:
            screen.say(f"{what} …")

    def hold(self) -> None:
        """Until `release`, no line says who began."""
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for what in held:
            screen.say(f"{what} …")

    def change(self, key: Hashable, what: str, *, everywhere: bool = False) -> None:
        """What a live line says from now on. Elsewhere it is a line if that is wanted `everywhere`."""
        if key in self._waiting:
            self._waiting[key] = what, self._waiting[key][1]
        if everywhere and not screen.coloured(sys.stderr) and what != self._latest:
            screen.say(what)
            self._latest = what

    def end(self, key: Hashable) -> None:
        self._waiting.pop(key, None)

    def end_all(self) -> None:
        self.hide()
        self._waiting.clear()

    def show(self) -> None:
        if self._live is not None or not self._waiting or not screen.coloured(sys.stderr):
            return
        from rich.console import Console
        from rich.live import Live

        self._live = Live(
            console=Console(stderr=True),
            get_renderable=self._lines,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _lines(self) -> Any:
        from rich.text import Text

        now = time.monotonic()
        # A copy: this is another thread.
        waiting = list(self._waiting.values())
        lines = [f"… {visible(what)} ({minutes(now - began)})" for what, began in waiting]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis", style="dim")


class Steps(Progress):
    """What a long command does, step by step: each stays on the screen, the last with how long all takes."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def __call__(self, what: str) -> None:
        self.hide()
        screen.say(f"{self._title}: {what}")
        self._waiting[self._title] = what, self._waiting.get(self._title, ("", time.monotonic()))[1]
        self.show()


def minutes(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
