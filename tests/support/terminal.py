"""The real command at a real terminal: what it shows is read, and what a person would type is typed."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.command import MOOT
from tests.support.ready import Popen

ENTER, CTRL_D = "\r", "\x04"
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
_PATIENCE = 60


class Terminal:
    """`seen` is all that was shown so far, without colours and movements, in one line."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self._fd = fd
        self._shown = ""
        self._read_to = 0

    @property
    def seen(self) -> str:
        return " ".join(_CONTROLS.sub("", self._shown).split())

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def wait_for(self, text: str) -> None:
        """Until it is shown, after what was waited for before."""
        deadline = time.monotonic() + _PATIENCE
        while (found := self.seen.find(text, self._read_to)) < 0:
            assert self._read(deadline), f"{text!r} was never shown: {self.seen[self._read_to :]}"
        self._read_to = found + len(text)

    def end(self) -> int:
        deadline = time.monotonic() + _PATIENCE
        while self._read(deadline):
            pass
        return self.process.wait(_PATIENCE)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        with suppress(OSError):  # how a terminal says that the last process has left it
            if shown := os.read(self._fd, 2**16):
                self._shown += shown.decode("utf-8", "replace")
                return True
        return False


@contextmanager
def at_terminal(
    *arguments: str, env: Mapping[str, str], cwd: Path, coloured: bool = False
) -> Iterator[Terminal]:
    """`coloured` has all that moves, too: what waits is shown by a live line."""
    plain = {} if coloured else {"NO_COLOR": "1"}
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    process = Popen(
        [*MOOT, *arguments],
        env={**env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **plain},
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
