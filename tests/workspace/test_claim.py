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

from moot.errors import Busy, NotFound
from moot.workspace import change_state, writing
from moot.workspace.changes import ChangeFolders
from moot.workspace.claim import claimed
from moot.workspace.layout import Workspace

HOLDER = """
import sys
from pathlib import Path
from moot.workspace import change_state
from moot.workspace.claim import claimed

change_state.now = lambda: "2026-11-15T12:01:07Z"
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
        assert names(folder) == [".claim.json", ".claim.moot-lock"]
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
        assert names(folder) == [".claim.json", ".claim.moot-lock"]
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


def test_of_many_processes_one_holds_at_a_time(folder: Path) -> None:
    script = """
import sys
from pathlib import Path
from moot.errors import Busy
from moot.workspace.claim import claimed

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
        assert names(folder) == [".claim.json", ".claim.moot-lock"]
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
        patch.setattr(writing, "write_atomic", full)
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
    assert len(change_state.now()) == len("2026-11-15T12:01:07Z")
    assert change_state.now().endswith("Z")
