"""Processes that have moot loaded already. `python -m tests.support.ready SOCKET` loads it once, and then
forks a process for each command that is asked for, with its own folder, environment, files and end. With
arguments behind the socket, it asks for one.

Loading takes most of the time of a short command, and the suite runs thousands. What depends on how the
interpreter starts (its encoding, its flags, what it imports) needs a real start.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import os
import pickle
import pkgutil
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

_INTERPRETER = ("PYTHON", "LC_", "LANG", "TZ")
_NOT_LOADED = ("moot.__main__", "moot.server.jobs", "moot.processes.lifeline")
_ROOT = Path(__file__).parents[2]
_SCRIPTS = Path(sys.executable).parent

SET = "TESTS_SET"
"""In the environment of a command: constants of modules, and what they are in its process, for what a test
could not wait for. `moot.store.ledger.LEASE_SECONDS=2`"""

Order = tuple[str, list[str], dict[str, str], str, bool]
"""Which script, its arguments, environment and folder, and whether it leads a session of its own."""


# -- in the tests ----------------------------------------------------------------------------------


class Popen(subprocess.Popen[Any]):
    """As subprocess.Popen, but moot and its scripts are forks of the process that has them loaded. Any other
    command is started as ever, and so is one that wants another interpreter than ours."""

    _connection: socket.socket | None = None

    def _execute_child(self, *given: Any) -> None:
        asked = dict(zip(_GIVEN, given, strict=False))
        entry, arguments = _split_command(asked["args"])
        env = os.environ if asked["env"] is None else asked["env"]
        if entry is None or asked["preexec_fn"] or not _is_of_this_interpreter(env):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        ours = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        handles = [number if handle == -1 else handle for number, handle in enumerate(ours)]
        cwd = os.fspath(asked["cwd"] or Path.cwd())
        order = (entry, arguments, dict(env), cwd, asked["start_new_session"])
        self._connection, self.pid = _start(_ready().address, order, handles)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in pipes))  # type: ignore[attr-defined]

    def _internal_poll(self, *given: Any, **more: Any) -> int | None:
        if self._connection is None:
            return super()._internal_poll(*given, **more)  # type: ignore[misc,no-any-return]
        with suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self._connection is None:
            return super()._wait(timeout)  # type: ignore[misc,no-any-return]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                if not select.select([self._connection], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                self.returncode = int(_read_line(self._connection))
                self._connection.close()
        return self.returncode


_GIVEN = ("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo",
          "creationflags", "shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite",
          "restore_signals", "gid", "gids", "uid", "umask", "start_new_session")  # fmt: skip


def _split_command(command: Sequence[str]) -> tuple[str | None, list[str]]:
    """Which of moot's entries it is ("" is `python -m moot`), and its arguments."""
    program, *rest = map(str, command)
    if program == sys.executable and rest[:2] == ["-m", "moot"]:
        return "", rest[2:]
    is_script = program in (str(_SCRIPTS / name) for name in ("moot", "agentd"))
    return (Path(program).name, rest) if is_script else (None, rest)


def _is_of_this_interpreter(env: Mapping[str, str]) -> bool:
    """Whether an interpreter would start with this environment as it has with the tests'."""

    def about(one: Mapping[str, str]) -> dict[str, str]:
        return {name: one[name] for name in one if name.startswith(_INTERPRETER)}

    return about(env) == about(os.environ)


def _start(address: str, order: Order, handles: Sequence[int]) -> tuple[socket.socket, int]:
    """A connection on which its exit code will be told, and its process id. It ends with the connection."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    asked = pickle.dumps(order)
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handles))]
    connection.sendmsg([len(asked).to_bytes(8, "big")], ancillary)
    connection.sendall(asked)
    return connection, int(_read_line(connection))


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        assert byte, "the process that has moot loaded has ended"
        line += byte
    return line


class _Ready:
    """The process that has it loaded."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="moot-ready-")
        self.address = str(Path(self._place.name) / "socket")
        command = [sys.executable, "-m", "tests.support.ready", self.address]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        atexit.register(self._close)

    def _close(self) -> None:
        # It ends with its standard input.
        self._process.communicate()
        self._place.cleanup()


def stand_in(*arguments: str) -> list[str]:
    """A command that does what moot does with these arguments, for who has to start it themselves."""
    return [sys.executable, "-S", __file__, _ready().address, *arguments]


_made: list[_Ready] = []
_making = threading.Lock()


def _ready() -> _Ready:
    """One for all tests of a process."""
    with _making:
        if not _made:
            _made.append(_Ready())
        return _made[0]


# -- in the process that has it loaded -------------------------------------------------------------


def _load() -> None:
    import typer.main

    import moot
    from moot.cli.main import app
    from moot.personas.library import load_library

    for module in pkgutil.walk_packages(moot.__path__, "moot."):
        if module.name not in _NOT_LOADED:
            importlib.import_module(module.name)
    for name in (
        "openai.resources.chat.chat",
        "anthropic.resources.messages",
        "importlib.readers",
        "prompt_toolkit.shortcuts",
        "ruamel.yaml.mergevalue",
        "sqlalchemy.dialects.sqlite.pysqlite",
    ):
        importlib.import_module(name)
    # Typer makes its commands at each call, from forty functions' signatures.
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(app)
    load_library()
    gc.freeze()


def _main(address: str) -> None:
    """Ends with its standard input, and a process ends with the connection of whoever asked for it."""
    _load()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    os.write(1, b"ready\n")
    running: dict[int, tuple[int, socket.socket]] = {}
    """By the descriptor that tells of its end: its process id, and who asked for it."""
    asking: dict[int, int] = {}
    """By who asked for it."""
    waiting = select.epoll()
    waiting.register(0, select.EPOLLIN)
    waiting.register(listening, select.EPOLLIN)
    while True:
        # One at a time: the number of a connection that is closed may be that of the next.
        [(number, _)] = waiting.poll(maxevents=1)
        if number == 0:
            for pid, _ in running.values():
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        elif number == listening.fileno():
            connection, _ = listening.accept()
            handles, order = _receive(connection)
            pid = os.fork()
            if pid == 0:
                waiting.close()
                listening.close()
                connection.close()
                for ended, (_, other) in running.items():
                    os.close(ended)
                    other.close()
                _become(handles, *order)
            for handle in handles:
                os.close(handle)
            ended = os.pidfd_open(pid)
            running[ended] = pid, connection
            asking[connection.fileno()] = pid
            waiting.register(ended, select.EPOLLIN)
            waiting.register(connection, select.EPOLLIN)
            _tell(connection, pid)
        elif number in asking:
            waiting.unregister(number)
            os.kill(asking.pop(number), signal.SIGKILL)
        else:
            pid, connection = running.pop(number)
            waiting.unregister(number)
            if asking.pop(connection.fileno(), None) is not None:
                waiting.unregister(connection)
            os.close(number)
            _, status = os.waitpid(pid, 0)
            _tell(connection, os.waitstatus_to_exitcode(status))
            connection.close()


def _receive(connection: socket.socket) -> tuple[array.array[int], Order]:
    size, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    handles = array.array("i", ancillary[0][2])
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += connection.recv(1 << 16)
    return handles, pickle.loads(asked)


def _tell(connection: socket.socket, number: int) -> None:
    # Whoever asked may have gone.
    with suppress(OSError):
        connection.sendall(f"{number}\n".encode())


def _become(
    handles: Sequence[int],
    script: str,
    arguments: list[str],
    env: dict[str, str],
    cwd: str,
    new_session: bool,
) -> NoReturn:
    if new_session:
        os.setsid()
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    for setting in env.get(SET, "").split():
        name, _, value = setting.partition("=")
        module, _, constant = name.rpartition(".")
        assert hasattr(sys.modules[module], constant)
        setattr(sys.modules[module], constant, float(value))
    from moot.cli import main

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
    try:
        if script:
            sys.argv[0] = str(_SCRIPTS / script)
            sys.modules["__main__"].__package__ = None
            {"moot": main.main, "agentd": main.agentd}[script]()
        else:
            runpy.run_module("moot", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        _exit(end.code or 0)
    _exit(0)


def _exit(code: int) -> NoReturn:
    """End as the interpreter does, but leave the memory to the system: to free every object by itself takes
    longer than most commands, for each is on a page that has to be copied first."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code & 255)


def _stand_in(address: str, arguments: list[str]) -> NoReturn:
    order = ("", arguments, dict(os.environ), str(Path.cwd()), False)
    connection, pid = _start(address, order, (0, 1, 2))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(pid, received))
    sys.exit(int(_read_line(connection)) & 255)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _main(sys.argv[1])
    _stand_in(sys.argv[1], sys.argv[2:])
