"""One process at a time works on a change, however the one before it ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moot.agents import Order
from moot.agents.process import run
from moot.changes.folder import ChangeFolders
from moot.errors import Busy, NotFound, StillEnding
from moot.files import atomic, timestamps
from moot.files import lock as claim
from moot.files.layout import Workspace
from moot.files.lock import claimed, claimed_in_time
from moot.processes import inherited
from tests.support.fake_agents import is_running
from tests.support.waiting import until

HELD = [".claim.children.moot-lock", ".claim.json", ".claim.moot-lock"]
HOLDER = """
import sys
from pathlib import Path
from moot.files import timestamps
from moot.files.lock import claimed

timestamps.now = lambda: "2026-11-15T12:01:07Z"
with claimed(Path(sys.argv[1]), "challenged"):
    print("held", flush=True)
    sys.stdin.readline()
print("left", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "add-login"
    path.mkdir()
    return path


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_claim_says_who_holds_it_and_leaves_nothing(folder: Path) -> None:
    with claimed(folder, "challenged"):
        assert names(folder) == HELD
        said = json.loads((folder / ".claim.json").read_text(encoding="utf-8"))
        assert (said["doing"], said["pid"], said["host"]) == ("challenged", os.getpid(), socket.gethostname())
    assert names(folder) == []


def test_a_second_process_is_told_who_is_at_work_and_comes_next(folder: Path) -> None:
    with holder(folder) as process:
        with pytest.raises(Busy) as caught, claimed(folder, "implemented"):
            pass
        host = socket.gethostname()
        assert str(caught.value) == (
            f"Change 'add-login' is being challenged by process {process.pid} on {host} since 12:01:07 UTC"
        )
        assert (caught.value.change, caught.value.doing) == ("add-login", "challenged")
        assert (caught.value.pid, caught.value.host) == (process.pid, host)
        assert caught.value.since == "2026-11-15T12:01:07Z"
        out, _ = process.communicate("leave\n", timeout=30)
        assert (out, process.returncode) == ("left\n", 0)
    with claimed(folder, "implemented"):
        pass
    assert names(folder) == []


def test_the_claim_of_a_killed_process_is_taken_over_at_once(folder: Path) -> None:
    with holder(folder) as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        assert names(folder) == HELD
        with claimed(folder, "implemented"):
            said = json.loads((folder / ".claim.json").read_text(encoding="utf-8"))
            assert (said["doing"], said["pid"]) == ("implemented", os.getpid())
    assert names(folder) == []


def test_the_child_of_a_killed_holder_does_not_hold_on(folder: Path) -> None:
    script = HOLDER.replace(
        "sys.stdin.readline()",
        "import subprocess; child = subprocess.Popen(['sleep', '60']); print(child.pid, flush=True);"
        " sys.stdin.readline()",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.wait(30)
        with claimed(folder, "implemented"):
            os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate(timeout=30)


WITH_A_PROGRAM = """
import asyncio, sys
from pathlib import Path
from moot.agents import Order
from moot.agents.process import run
from moot.files.lock import claimed

with claimed(Path(sys.argv[1]), "implemented"):
    command = [sys.executable, "-ISc", sys.argv[2]]
    asyncio.run(run("agent", command, Order("", Path("/"), 60), {}))
"""
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(NOTED, "w").write(f"{os.getpid()} {os.getppid()}.")
time.sleep(600)
"""


@contextmanager
def left_behind(folder: Path) -> Iterator[tuple[int, int]]:
    """The holder is killed, and a program that it has started does not end when it is asked to. Gives that
    program, and what is to end it and is kept from doing so until SIGCONT."""
    noted = folder.parent / "agent"
    program = STUBBORN.replace("NOTED", repr(str(noted)))
    with subprocess.Popen([sys.executable, "-c", WITH_A_PROGRAM, str(folder), program]) as process:
        until(lambda: noted.exists() and noted.read_text(encoding="utf-8").endswith("."))
        agent, lifeline = map(int, noted.read_text(encoding="utf-8").rstrip(".").split())
        os.kill(lifeline, signal.SIGSTOP)
        process.kill()
    try:
        yield agent, lifeline
    finally:
        for one in (agent, lifeline):
            if is_running(one):
                os.kill(one, signal.SIGKILL)


def test_what_a_killed_holder_had_started_holds_on_until_it_has_ended(folder: Path) -> None:
    with left_behind(folder) as (agent, lifeline):
        with pytest.raises(StillEnding) as caught, claimed(folder, "implemented"):
            pass
        assert is_running(agent)
        assert str(caught.value) == (
            "What an earlier run on change 'add-login' had started has not ended yet: it was killed"
        )
        with pytest.raises(StillEnding), claimed(folder, "challenged"):
            pytest.fail("being told so once does not free it")

        async def patiently() -> list[str]:
            told: list[str] = []

            def tell(said: str) -> None:
                told.append(said)
                os.kill(lifeline, signal.SIGCONT)

            async with claimed_in_time(folder, "implemented", tell):
                assert not is_running(agent)
            return told

        [said] = asyncio.run(patiently())
        assert "still ending" in said
    assert names(folder) == []


def test_waiting_for_an_earlier_run_has_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "_LONGEST_END_SECONDS", 0.1)

    async def impatiently() -> None:
        async with claimed_in_time(folder, "implemented", lambda _: None):
            pytest.fail("it is not free")

    with left_behind(folder) as (agent, _):
        with pytest.raises(StillEnding):
            asyncio.run(impatiently())
        assert is_running(agent)


def test_a_holder_that_gives_up_on_its_program_leaves_the_claim_to_it(folder: Path) -> None:
    """As after a second Ctrl-C: moot ends in good order, and what it had started has not yet."""
    with claimed(folder, "implemented"):
        (lock,) = inherited()
        child = subprocess.Popen(["sleep", "600"], pass_fds=(lock,))
    try:
        with pytest.raises(StillEnding), claimed(folder, "implemented"):
            pass
    finally:
        child.kill()
        child.wait(30)
    with claimed(folder, "implemented"):
        pass
    assert names(folder) == []


def test_a_program_does_not_hold_the_claim_itself(folder: Path) -> None:
    """Only what ends it does: a server that it leaves running on purpose must not keep the change from us."""
    listing = "import os; print(sorted(os.listdir('/proc/self/fd')))"

    async def listed() -> str:
        command = (sys.executable, "-ISc", listing)
        ended = await run("fds", command, Order("", folder, 60), {})
        return ended.last_words

    with claimed(folder, "implemented"):
        assert asyncio.run(listed()) == "['0', '1', '2', '3']", "the last is the listing itself"


def test_of_many_processes_one_holds_at_a_time(folder: Path) -> None:
    script = """
import sys
from pathlib import Path
from moot.errors import Busy
from moot.files.lock import claimed

folder = Path(sys.argv[1])
won = 0
while won < 5:
    try:
        with claimed(folder, "challenged"):
            number = int((folder / "count").read_text())
            (folder / "count").write_text("")
            (folder / "count").write_text(str(number + 1))
            won += 1
    except Busy:
        pass
"""
    (folder / "count").write_text("0", encoding="utf-8")
    workers = [subprocess.Popen([sys.executable, "-c", script, str(folder)]) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert (folder / "count").read_text(encoding="utf-8") == "15"
    assert names(folder) == ["count"]


@pytest.mark.parametrize("elsewhere", ["the same thread", "another thread", "another task"])
def test_a_process_does_not_hold_a_change_twice(folder: Path, elsewhere: str) -> None:
    refused: list[int | None] = []

    def second() -> None:
        with pytest.raises(Busy) as caught, claimed(folder, "challenged"):
            pass
        refused.append(caught.value.pid)

    async def in_a_task() -> None:
        await asyncio.create_task(asyncio.to_thread(second))

    with claimed(folder, "challenged"):
        match elsewhere:
            case "the same thread":
                second()
            case "another thread":
                thread = threading.Thread(target=second)
                thread.start()
                thread.join()
            case _:
                asyncio.run(in_a_task())
        assert names(folder) == HELD
    assert refused == [os.getpid()]
    assert names(folder) == []


def test_work_that_fails_gives_the_change_back(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), claimed(folder, "challenged"):
        raise ZeroDivisionError
    assert names(folder) == []
    with claimed(folder, "challenged"):
        pass


def test_a_change_that_is_archived_while_it_is_held_takes_no_claim_along(tmp_path: Path) -> None:
    changes = ChangeFolders(Workspace.at(tmp_path))
    change = changes.create("add-login")
    with claimed(change.path, "archived"):
        target = changes.archive(change)
    assert names(target) == ["STATE.yaml"]
    assert not change.path.exists()


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"pid": 1}', b'{"pid": "x"}', b"\xff", b" " * 5000])
def test_a_holder_without_a_readable_name_still_holds(folder: Path, said: bytes) -> None:
    with claimed(folder, "challenged"):
        (folder / ".claim.json").write_bytes(said)
        with pytest.raises(Busy) as caught, claimed(folder, "implemented"):
            pass
    assert str(caught.value) == "Change 'add-login' is being used by another process"


def test_a_name_that_lies_in_wait_as_a_link_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched", encoding="utf-8")
    (folder / ".claim.json").symlink_to(victim)
    with claimed(folder, "challenged"):
        assert not (folder / ".claim.json").is_symlink()
    assert victim.read_text(encoding="utf-8") == "untouched"
    assert names(folder) == []


def test_a_claim_that_cannot_be_written_down_is_given_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_atomic", full)
        with pytest.raises(OSError, match="No space"), claimed(folder, "challenged"):
            pass
    assert names(folder) == []
    with claimed(folder, "challenged"):
        pass


def test_there_is_no_claim_on_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for name in ("missing", "file"):
        with pytest.raises(NotFound, match=f"Change '{name}' not found"), claimed(tmp_path / name, "used"):
            pass
    assert names(tmp_path) == ["file"]


def test_the_clock_says_utc_with_seconds() -> None:
    assert len(timestamps.now()) == len("2026-11-15T12:01:07Z")
    assert timestamps.now().endswith("Z")
