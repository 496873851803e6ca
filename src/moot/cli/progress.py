"""What is going on while a long command runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from moot.cli import screen
from moot.cli.plain import visible


class Progress:
    """Call it with what happens now. On a terminal the last line also shows how long that takes."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._now = ""
        self._began = time.monotonic()
        self._live = screen.coloured(sys.stderr)
        self._stopped = threading.Event()
        self._writing = threading.Lock()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        if self._live:
            self._ticker.start()
        return self

    def __call__(self, what: str) -> None:
        with self._writing:
            self._clear()
            screen.say(f"{self._title}: {what}")
            self._now = what

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._live:
            self._ticker.join()
            self._clear()

    def _tick(self) -> None:
        while not self._stopped.wait(0.5):
            with self._writing:
                self._clear()
                took = round(time.monotonic() - self._began)
                line = f"… {visible(self._now)} ({took // 60}:{took % 60:02d})"[: screen.columns() - 1]
                sys.stderr.write(f"\x1b[2m{line}\x1b[0m")
                sys.stderr.flush()

    def _clear(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
