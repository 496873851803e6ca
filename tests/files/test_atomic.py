"""A write is whole or did not happen: at every call it makes, for every way to fail there, in any company."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from moot.errors import FileDamaged, InvalidInput, LockTimeout, UnsafePath
from moot.files import atomic
from moot.files.atomic import append_line, locked, read, update, write_atomic

OLD, NEW = "old text\n" * 50, "new text, which is longer\n" * 50
CALLS = ("unlink", "open", "chmod", "write", "fsync", "close", "rename", "fsync_dir")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "notes.md"
    path.parent.mkdir()
    path.write_text(OLD, encoding="utf-8")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- a plain write -------------------------------------------------------------------------------


def test_a_write_replaces_the_file_and_leaves_nothing_else(target: Path) -> None:
    write_atomic(target, NEW)
    assert target.read_text(encoding="utf-8") == NEW
    assert names(target.parent) == ["notes.md"]


def test_a_write_makes_the_folders_it_needs(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "b" / "c.bin", b"\x00\xff")
    assert (tmp_path / "a" / "b" / "c.bin").read_bytes() == b"\x00\xff"


def test_nothing_is_translated(target: Path) -> None:
    write_atomic(target, "a\r\nb\rc\n\ufeffé")
    assert target.read_bytes() == b"a\r\nb\rc\n\xef\xbb\xbf\xc3\xa9"


def test_an_empty_text_is_a_text(target: Path) -> None:
    write_atomic(target, "")
    assert target.read_bytes() == b""


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_the_mode_of_a_file_is_kept(target: Path, mode: int) -> None:
    target.chmod(mode)
    write_atomic(target, NEW)
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_linked_file_is_written_where_it_really_is(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(target)
    write_atomic(link, NEW)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == NEW
    assert names(target.parent) == ["notes.md"]


def test_a_name_of_any_permitted_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomic(path, "x")
    assert names(tmp_path) == [path.name]


def test_what_is_not_a_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UnsafePath, match="not a file"):
            write_atomic(tmp_path / name, "x")
    assert names(tmp_path) == ["folder", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_half_a_character_is_refused_before_anything_is_touched(target: Path) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        write_atomic(target, "half \ud83d")
    with pytest.raises(InvalidInput, match="surrogate"):
        update(target, lambda _: "half \ud83d")
    with pytest.raises(InvalidInput, match="surrogate"):
        append_line(target, "half \ud83d")
    assert target.read_text(encoding="utf-8") == OLD
    assert names(target.parent) == ["notes.md"]


def test_a_link_that_lies_in_wait_is_not_written_through(target: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched", encoding="utf-8")
    (target.parent / ".notes.md.moot-new").symlink_to(victim)
    write_atomic(target, NEW)
    assert victim.read_text(encoding="utf-8") == "untouched"
    assert target.read_text(encoding="utf-8") == NEW
    assert names(target.parent) == ["notes.md"]


# -- update and append ---------------------------------------------------------------------------


def test_update_gets_the_old_text_and_returns_the_new_one(target: Path) -> None:
    assert update(target, lambda old: f"{old}and more\n") == OLD + "and more\n"
    assert read(target) == OLD + "and more\n"


def test_update_of_a_missing_file_gets_none(tmp_path: Path) -> None:
    assert update(tmp_path / "new", lambda old: f"{old}") == "None"
    assert read(tmp_path / "new") == "None"


def test_an_update_that_changes_nothing_does_not_write(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = target.stat().st_ino
    monkeypatch.setattr(atomic, "disk", None)
    assert update(target, lambda old: old or "") == OLD
    assert target.stat().st_ino == before


def test_an_update_that_fails_leaves_the_file_and_frees_the_lock(target: Path) -> None:
    def fail(_: str | None) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        update(target, fail)
    assert read(target) == OLD
    assert names(target.parent) == ["notes.md"]
    update(target, lambda _: NEW, timeout=0)


def test_update_of_bytes_that_are_no_text_is_damage(target: Path) -> None:
    target.write_bytes(b"one\n\xff\n")
    with pytest.raises(FileDamaged) as caught:
        update(target, lambda _: NEW)
    assert (caught.value.file, caught.value.line) == (str(target), 2)
    assert target.read_bytes() == b"one\n\xff\n"


def test_lines_are_appended_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_line(path, '{"n": 1}')
    append_line(path, "")
    append_line(path, '{"n": "é"}')
    assert path.read_bytes() == '{"n": 1}\n\n{"n": "é"}\n'.encode()


def test_a_line_left_open_is_ended_and_kept_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"by hand \xff")
    append_line(path, "next")
    assert path.read_bytes() == b"by hand \xff\nnext\n"


@pytest.mark.parametrize("line", ["a\nb", "a\n", "a\rb"])
def test_two_lines_are_not_one_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidInput):
        append_line(tmp_path / "log", line)


# -- faults --------------------------------------------------------------------------------------


class FailingDisk(atomic.Disk):
    """Raises at one call of a write, before or after it is done; or writes a part and raises."""

    def __init__(self, fail_at: int, when: str, number: int) -> None:
        self.fail_at, self.when, self.number, self.calls = fail_at, when, number, list[str]()

    def __getattribute__(self, name: str) -> Any:
        call = super().__getattribute__(name)
        if name not in CALLS:
            return call

        def counted(*args: Any) -> Any:
            self.calls.append(name)
            hit = len(self.calls) - 1 == self.fail_at
            if hit and self.when == "part":
                handle, data = args
                os.write(handle, data[: len(data) // 2])
            if hit and self.when != "after":
                raise OSError(self.number, os.strerror(self.number))
            result = call(*args)
            if hit:
                raise OSError(self.number, os.strerror(self.number))
            return result

        return counted


def test_these_are_the_calls_of_a_write(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FailingDisk(-1, "before", 0)
    monkeypatch.setattr(atomic, "disk", disk)
    write_atomic(target, NEW)
    assert tuple(disk.calls) == CALLS


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize(
    ("call", "when"), [("write", "part"), *((call, when) for call in CALLS for when in ("before", "after"))]
)
def test_an_error_at_any_call_leaves_the_old_file_and_no_litter(
    target: Path, monkeypatch: pytest.MonkeyPatch, call: str, when: str, number: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "disk", FailingDisk(CALLS.index(call), when, number))
        with pytest.raises(OSError, match=os.strerror(number)):
            write_atomic(target, NEW)
    # Once renamed it is there; the error then says that it may not survive a power failure.
    renamed = call == "fsync_dir" or (call, when) == ("rename", "after")
    assert read(target) == (NEW if renamed else OLD)
    assert names(target.parent) == ["notes.md"]
    write_atomic(target, "next\n")
    assert read(target) == "next\n"


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_them_all(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(atomic.Disk):
        def write(self, handle: int, data: memoryview) -> int:
            return super().write(handle, data[:7])

    monkeypatch.setattr(atomic, "disk", Slow())
    write_atomic(target, NEW)
    assert read(target) == NEW


KILLED = """
import json, os, signal, sys
from pathlib import Path
from moot.files import atomic as writing

target, old, new, calls = Path(sys.argv[1]), *json.loads(sys.argv[2])

class DeadlyDisk(writing.Disk):
    def __init__(self, die_at, when, die):
        self.die_at, self.when, self.die, self.count = die_at, when, die, 0

    def __getattribute__(self, name):
        call = super().__getattribute__(name)
        if name not in calls:
            return call
        def counted(*args):
            hit = self.count == self.die_at
            self.count += 1
            if hit and self.when == "part":
                os.write(args[0], args[1][: len(args[1]) // 2])
            if hit and self.when != "after":
                self.die()
            result = call(*args)
            if hit:
                self.die()
            return result
        return counted

deaths = {"exit": lambda: os._exit(9), "kill": lambda: os.kill(os.getpid(), signal.SIGKILL)}
seen = []
for way, die in deaths.items():
    for die_at, call in enumerate(calls):
        for when in ("before", "after", "part") if call == "write" else ("before", "after"):
            writing.disk = writing.Disk()
            target.write_text(old, encoding="utf-8")
            child = os.fork()
            if child == 0:
                writing.disk = DeadlyDisk(die_at, when, die)
                writing.update(target, lambda text: new)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            left = target.read_text(encoding="utf-8")
            after = writing.update(target, lambda text: text + "next", timeout=5)
            worked = after == left + "next" == target.read_text(encoding="utf-8")
            seen.append([way, call, when, status != 0, left, worked, sorted(os.listdir(target.parent))])
print(json.dumps(seen))
"""


def test_a_process_killed_at_any_call_leaves_the_old_file_or_the_new_one(target: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(target), json.dumps([OLD, NEW, CALLS])],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    seen = json.loads(done.stdout)
    assert len(seen) == 2 * (2 * len(CALLS) + 1)
    for way, call, when, died, left, next_write_worked, names_after in seen:
        renamed = call == "fsync_dir" or (call, when) == ("rename", "after")
        assert died, (way, call, when)
        assert left == (NEW if renamed else OLD), (way, call, when)
        assert next_write_worked, (way, call, when)
        assert names_after == ["notes.md"], (way, call, when)


# -- company -------------------------------------------------------------------------------------

# Power failures are not what is tried here, so nothing waits for the disk.
WORKER = """
import json, sys
from pathlib import Path
from moot.files import atomic as writing

class Fast(writing.Disk):
    def fsync(self, handle): pass
    def fsync_dir(self, folder): pass

writing.disk = Fast()
folder, name, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for n in range(times):
    def count(text):
        counts = json.loads(text or "{}")
        counts[name] = counts.get(name, 0) + 1
        counts["all"] = counts.get("all", 0) + 1
        return json.dumps(counts)
    writing.update(folder / "counts.json", count, timeout=60)
    writing.append_line(folder / "log.jsonl", json.dumps([name, n]), timeout=60)
"""


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_on_one_file_lose_nothing(tmp_path: Path, processes: int) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), f"p{number}", "200"],
            stdin=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for worker in workers:
        assert worker.stdin is not None
        with worker.stdin:
            worker.stdin.write("go\n")
    assert [worker.wait(120) for worker in workers] == [0] * processes
    counts = json.loads((tmp_path / "counts.json").read_text(encoding="utf-8"))
    assert counts == {"all": 200 * processes} | {f"p{number}": 200 for number in range(processes)}
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    for number in range(processes):
        assert [n for name, n in lines if name == f"p{number}"] == list(range(200))
    assert len(lines) == 200 * processes
    assert names(tmp_path) == ["counts.json", "log.jsonl"]


def test_threads_on_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "count"

    def count() -> None:
        for _ in range(25):
            update(path, lambda old: str(int(old or 0) + 1), timeout=60)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(path) == "100"


@contextmanager
def held_by_another_thread(path: Path) -> Iterator[None]:
    taken, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            taken.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(30)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_a_lock_that_does_not_come_free_names_the_file(target: Path) -> None:
    with held_by_another_thread(target):
        with pytest.raises(LockTimeout) as caught:
            update(target, lambda _: NEW, timeout=0.05)
        assert (caught.value.file, caught.value.seconds) == (str(target), 0.05)
        with pytest.raises(LockTimeout):
            write_atomic(target, NEW, timeout=0)
    assert read(target) == OLD
    assert names(target.parent) == ["notes.md"]


def test_other_files_of_the_folder_stay_free(target: Path) -> None:
    with held_by_another_thread(target):
        write_atomic(target.with_name("other.md"), NEW, timeout=0)


def test_two_names_of_one_file_share_its_lock(target: Path, tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(target)
    with held_by_another_thread(target), pytest.raises(LockTimeout):
        write_atomic(tmp_path / "link.md", NEW, timeout=0)


def test_whoever_holds_the_lock_can_write(target: Path) -> None:
    with locked(target):
        write_atomic(target, "one\n", timeout=0)
        append_line(target, "two", timeout=0)
        update(target, lambda old: f"{old}three\n", timeout=0)
        assert ".notes.md.moot-lock" in names(target.parent)
    assert read(target) == "one\ntwo\nthree\n"
    assert names(target.parent) == ["notes.md"]


def test_the_lock_of_a_file_that_is_not_there_makes_its_folder_but_not_the_file(tmp_path: Path) -> None:
    with locked(tmp_path / "new" / "file"):
        pass
    assert names(tmp_path / "new") == []
