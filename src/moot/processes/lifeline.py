"""Runs one command, and ends it and all that it has started when whoever started this is gone.

A script of its own, started as `python -I -S lifeline.py HANDLES SECONDS COMMAND…`: it imports nothing of
moot, and little else. The first handle is a socket, the others are locks. It leads the process group that
the command is in. The other end of the socket is held by moot alone; that it closes says that moot wants this
to end, or has ended itself, however that was. Then the group is asked to end, and after so many seconds made
to, together with descendants that have left the group, where the system lists processes in /proc. Elsewhere
those are left alone.

The locks are held until the end, and are not for the command: they say that it is still there. It ends as
the command ends, with the same code or signal. A command that cannot be started is reported on the socket.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from typing import NoReturn


def main(handles: list[int], polite: float, command: list[str]) -> NoReturn:
    line = handles[0]
    for handle in handles:
        os.set_inheritable(handle, False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        # Not ignored, which the command would inherit: this process stays for as long as the command does.
        signal.signal(number, lambda *_: None)
    program = os.fork()
    if not program:
        _become(line, command)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    while True:
        ready, _, _ = select.select([line, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            _end_as(status)
        if line in ready:
            _end_all(program, polite)


def _become(line: int, command: list[str]) -> NoReturn:
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            # Python ignores them, and what is ignored would stay so.
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as problem:
        os.write(line, (problem.strerror or str(problem)).encode())
    finally:
        os._exit(127)


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _end_all(program: int, polite: float) -> NoReturn:
    known = _descendants(os.getpid()) or {program: ""}
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + polite
    while time.monotonic() < deadline and any(_lives(pid, began) for pid, began in known.items()):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.02)
    for pid, began in known.items():
        if _lives(pid, began):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _descendants(ancestor: int) -> dict[int, str]:
    """With when each began, by which a number that is given to another process is distinguished."""
    parents: dict[int, tuple[int, str]] = {}
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return {}
    for pid in processes:
        if (stat := _stat(pid)) is not None:
            parents[pid] = (int(stat[1]), stat[19])
    found: dict[int, str] = {}
    within = {ancestor}
    while within:
        within = {pid for pid, (parent, _) in parents.items() if parent in within and pid not in found}
        found |= {pid: parents[pid][1] for pid in within}
    return found


def _lives(pid: int, began: str) -> bool:
    if not began:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    stat = _stat(pid)
    return stat is not None and stat[19] == began and stat[0] not in ("Z", "X")


def _stat(pid: int) -> list[str] | None:
    """From the state on: state, parent, …; the twentieth is when it began."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


if __name__ == "__main__":
    main([int(handle) for handle in sys.argv[1].split(",")], float(sys.argv[2]), sys.argv[3:])
