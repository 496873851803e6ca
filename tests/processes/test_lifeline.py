"""What moot has started ends with moot, however that ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moot.agents import Order
from moot.agents.process import run
from tests.support.fake_agents import Fake, Run, is_running
from tests.support.waiting import until

_STARTER = """
import asyncio, sys
from pathlib import Path
from moot.agents import Order
from moot.agents.process import run
asyncio.run(run("fake", [sys.argv[1]], Order("", Path("/"), 600), {}))
"""
_DETACHED = """#!{python} -IS
import subprocess, sys, time
from pathlib import Path
child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(600)"], start_new_session=True)
(Path({here!r}) / "child").write_text(str(child.pid))
time.sleep(600)
"""


def killed(program: Path, child: Path) -> int:
    """A process that runs the program is killed once the program's child is there, whose number this is."""
    with subprocess.Popen([sys.executable, "-c", _STARTER, str(program)]) as process:
        until(lambda: child.exists() and bool(child.read_text(encoding="utf-8")))
        process.kill()
    return int(child.read_text(encoding="utf-8"))


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_program_and_its_children_end_when_moot_is_killed(tmp_path: Path, stubborn: bool) -> None:
    fake = Fake(tmp_path, "fake", Run(hangs=True, child=True, stubborn=stubborn))
    child = killed(fake.program, fake.program.with_name("child"))
    until(lambda: not is_running(child))
    until(lambda: not started_by(fake.program))


def test_a_child_that_left_the_group_ends_as_well(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(_DETACHED.format(python=sys.executable, here=str(tmp_path)), encoding="utf-8")
    program.chmod(0o755)
    child = killed(program, tmp_path / "child")
    until(lambda: not is_running(child))
    until(lambda: not started_by(program))


def test_a_program_that_is_killed_says_so_by_its_code(tmp_path: Path) -> None:
    async def code(number: int) -> int:
        command = ("/bin/sh", "-c", f"kill -{number} $$")
        ended = await run("sh", command, Order("", tmp_path, 60), os.environ)
        return ended.code

    assert asyncio.run(code(signal.SIGKILL)) == -signal.SIGKILL
    assert asyncio.run(code(signal.SIGSEGV)) == -signal.SIGSEGV


def test_a_program_has_the_signals_that_it_would_have_from_a_shell(tmp_path: Path) -> None:
    """Python ignores some, and a program would inherit that. What whoever runs the tests ignores stays so: a
    shell that starts them in the background ignores SIGQUIT."""
    words = "grep SigIgn /proc/self/status"

    async def ignored() -> str:
        ended = await run("sh", ("/bin/sh", "-c", words), Order("", tmp_path, 60), os.environ)
        return ended.last_words

    status = Path("/proc/self/status").read_text().splitlines()
    ours = next(int(line.split()[1], 16) for line in status if line.startswith("SigIgn:"))
    restored = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    mask = ours & ~sum(1 << (number - 1) for number in restored)
    assert asyncio.run(ignored()).split() == ["SigIgn:", f"{mask:016x}"]


def started_by(program: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(program).encode() in (process / "cmdline").read_bytes() and is_running(int(process.name)):
                found.append(int(process.name))
        except OSError:
            continue
    return found
