"""Processes that have moot loaded already. `python -m tests.ready SOCKET` loads it once, and then forks a
process for each command that is asked for, with its own folder, environment, files and end.

Loading takes most of the time of a short command, and the suite runs thousands. What depends on how the
interpreter starts (its encoding, its flags, what it imports) needs a real start: see `can_be_ready`.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import os
import pickle
import pkgutil
import random
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

_INTERPRETER = ("PYTHON", "LC_", "LANG", "TZ")
_NOT_LOADED = ("moot.__main__", "moot.engine.jobs", "moot.processes.lifeline")
_ROOT = Path(__file__).parent.parent


# -- in the tests ----------------------------------------------------------------------------------


def can_be_ready(env: Mapping[str, str]) -> bool:
    """Whether the interpreter would start with this environment as it has with the tests'."""

    def about(one: Mapping[str, str]) -> dict[str, str]:
        return {name: one[name] for name in one if name.startswith(_INTERPRETER)}

    return about(env) == about(os.environ)


class Ready:
    """The process that has it loaded."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="moot-ready-")
        self._address = str(Path(self._place.name) / "socket")
        command = [sys.executable, "-m", "tests.ready", self._address]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        atexit.register(self._close)

    def _close(self) -> None:
        # It ends with its standard input.
        self._process.communicate()
        self._place.cleanup()

    def run(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        stdin: str = "",
        timeout: float = 120,
        script: str = "",
    ) -> tuple[int, str, str]:
        """As `python -m moot`, or as one of its scripts."""
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(stdin.encode())
            files[0].seek(0)
            connection = opened.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(self._address)
            asked = pickle.dumps((script, list(arguments), dict(env), str(cwd)))
            handles = array.array("i", [file.fileno() for file in files])
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)]
            connection.sendmsg([len(asked).to_bytes(8, "big")], ancillary)
            connection.sendall(asked)
            told = connection.makefile("rb")
            pid = int(told.readline())
            connection.settimeout(timeout)
            try:
                code = int(told.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["moot", *arguments], timeout) from None
            out, err = (_text(file) for file in files[1:])
            return code, out, err


def _text(file: Any) -> str:
    file.seek(0)
    with io.TextIOWrapper(file, encoding="utf-8", errors="replace") as text:
        return text.read()


_made: list[Ready] = []
_making = threading.Lock()


def ready() -> Ready:
    """One for all tests of a process."""
    with _making:
        if not _made:
            _made.append(Ready())
        return _made[0]


# -- in the process that has it loaded -------------------------------------------------------------


def _load() -> None:
    import moot
    from moot.personas import load_library

    for module in pkgutil.walk_packages(moot.__path__, "moot."):
        if module.name not in _NOT_LOADED:
            importlib.import_module(module.name)
    for name in ("openai", "anthropic", "aiosqlite", "sqlalchemy.dialects.sqlite.aiosqlite"):
        importlib.import_module(name)
    load_library()
    gc.freeze()


def _main(address: str) -> None:
    _load()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    os.write(1, b"ready\n")
    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _attend(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _end_with_standard_input() -> None:
    os.read(0, 1)
    os._exit(0)


def _attend(connection: socket.socket) -> NoReturn:
    size, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    handles = array.array("i", ancillary[0][2])
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += connection.recv(1 << 16)
    script, arguments, env, cwd = pickle.loads(asked)
    program = os.fork()
    if program == 0:
        connection.close()
        _become(handles, script, arguments, env, cwd)
    connection.sendall(f"{program}\n".encode())
    _, status = os.waitpid(program, 0)
    # Whoever asked may have gone.
    with contextlib.suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(
    handles: Sequence[int], script: str, arguments: list[str], env: dict[str, str], cwd: str
) -> NoReturn:
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    from moot.surfaces.cli import main

    encoding = sys.stdout.encoding
    for name, number, mode, errors in (
        ("stdin", 0, "r", "strict"),
        ("stdout", 1, "w", "strict"),
        ("stderr", 2, "w", "backslashreplace"),
    ):
        line_by_line = 1 if name == "stderr" else -1
        stream = os.fdopen(number, mode, line_by_line, encoding=encoding, errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.path[0] = cwd
    sys.argv = ["moot", *arguments]
    if script:
        sys.argv[0] = str(Path(sys.executable).parent / script)
        sys.modules["__main__"].__package__ = None
        {"moot": main.main, "agentd": main.agentd}[script]()
    else:
        runpy.run_module("moot", run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    _main(sys.argv[1])
