"""A session in a file: what was appended is read back, what somebody else did is noticed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.logs import FileLog, WorkspaceLog
from moot.core.runner import LogReplaced
from moot.errors import FileDamaged, InvalidInput, SessionMoved
from moot.files import atomic
from moot.store.database import sqlite_url
from moot.store.sessions import Store, open_store


class Said(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    text: str


class Left(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    pass


Happened = Said | Left


class Fast(atomic.Disk):
    def fsync(self, handle: int) -> None:
        pass

    def fsync_dir(self, folder: Path) -> None:
        pass


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "disk", Fast())


def decode(body: bytes) -> Happened:
    decoded: Happened = msgspec.json.decode(body, type=Happened)
    return decoded


def log_at(path: Path) -> FileLog[Happened]:
    return FileLog(path, msgspec.json.encode, decode)


def read(log: FileLog[Happened]) -> list[Happened]:
    return asyncio.run(log.read())


def append(log: FileLog[Happened], *events: Happened) -> None:
    for event in events:
        asyncio.run(log.append(event))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_a_log_that_is_not_there_is_empty_and_stays_so_when_read(path: Path) -> None:
    assert read(log_at(path)) == []
    assert list(path.parent.iterdir()) == []


def test_each_event_is_one_line_that_another_process_can_read(path: Path) -> None:
    log = log_at(path)
    assert read(log) == []
    append(log, Said("Hello"), Left())
    assert path.read_bytes() == b'{"type":"Said","text":"Hello"}\n{"type":"Left"}\n'
    assert read(log_at(path)) == [Said("Hello"), Left()]
    assert [each.name for each in path.parent.iterdir()] == ["session.jsonl"]


def test_a_log_goes_on_where_it_was_left(path: Path) -> None:
    append(log_at(path), Said("one"))
    later = log_at(path)
    assert read(later) == [Said("one")]
    append(later, Said("two"), Said("three"))
    assert read(log_at(path)) == [Said("one"), Said("two"), Said("three")]


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(), max_size=5))
def test_whatever_was_said_is_read_back(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "session.jsonl"
    append(log_at(path), *map(Said, texts))
    assert read(log_at(path)) == [Said(text) for text in texts]


def another_process(path: Path) -> None:
    other = log_at(path)
    read(other)
    append(other, Said("from elsewhere"))


def another_branch(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("mine", "thine"), encoding="utf-8")


def a_shortening(path: Path) -> None:
    path.write_text("", encoding="utf-8")


@pytest.mark.parametrize("intervene", [another_process, another_branch, a_shortening, Path.unlink])
def test_a_session_that_somebody_else_has_changed_is_not_carried_on(
    path: Path, intervene: Callable[[Path], Any]
) -> None:
    log = log_at(path)
    append(log, Said("mine"))
    intervene(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(SessionMoved) as raised:
        append(log, Said("too late"))
    assert raised.value.session == str(path)
    assert (path.read_bytes() if path.exists() else None) == before


def test_nothing_is_appended_to_a_log_that_was_not_read(path: Path) -> None:
    append(log_at(path), Said("first"))
    with pytest.raises(SessionMoved):
        append(log_at(path), Said("second"))
    assert read(log_at(path)) == [Said("first")]


def test_reading_again_catches_up_with_the_others(path: Path) -> None:
    log = log_at(path)
    append(log, Said("mine"))
    another_process(path)
    assert read(log) == [Said("mine"), Said("from elsewhere")]
    append(log, Left())
    assert read(log_at(path))[-1] == Left()


def test_a_folder_that_was_moved_away_leaves_no_ghost(tmp_path: Path) -> None:
    folder = tmp_path / "item"
    log = log_at(folder / "session.jsonl")
    append(log, Said("mine"))
    folder.rename(tmp_path / "moved")
    with pytest.raises(SessionMoved):
        append(log, Said("too late"))
    assert not folder.exists()


def test_appends_at_once_are_all_kept(path: Path) -> None:
    log = log_at(path)

    async def together() -> None:
        await asyncio.gather(*(log.append(Said(str(number))) for number in range(8)))

    asyncio.run(together())
    assert sorted(read(log_at(path)), key=repr) == [Said(str(number)) for number in range(8)]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"Said","text":"Hel',
        '{"type":"Sang","text":"la"}',
        '{"type":"Said","text":"x","mood":"new"}',
        '{"type":"Said"}',
        "<<<<<<< HEAD",
        "[" * 5000,
    ],
    ids=["half", "unknown event", "newer field", "missing field", "merge conflict", "deep"],
)
@pytest.mark.parametrize("behind", ["\n", '\n{"type":"Left"}\n'], ids=["ended", "in between"])
def test_a_line_that_cannot_be_read_is_named_and_left_as_it_is(path: Path, line: str, behind: str) -> None:
    text = f'{{"type":"Said","text":"one"}}\n\n{line}{behind}'
    path.write_text(text, encoding="utf-8")
    log = log_at(path)
    with pytest.raises(FileDamaged, match=r"line 3: it is no whole event that this version knows$") as raised:
        read(log)
    assert (raised.value.file, raised.value.line) == (str(path), 3)
    with pytest.raises(SessionMoved):
        append(log, Left())
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "line",
    ['{"type":"Sang","text":"la"}', '{"type":"Said","text":"x","mood":"new"}', "<<<<<<< HEAD", "[" * 5000],
    ids=["unknown event", "newer field", "merge conflict", "deep"],
)
def test_an_open_end_that_is_no_beginning_of_an_event_is_damage(path: Path, line: str) -> None:
    path.write_text(f'{{"type":"Left"}}\n{line}', encoding="utf-8")
    with pytest.raises(FileDamaged) as raised:
        read(log_at(path))
    assert raised.value.line == 2


LOGGED = '{"type":"Said","text":"one"}\n{"type":"Said","text":"zwölf – \u2028 x"}\n{"type":"Left"}\n'.encode()


@pytest.mark.parametrize("length", range(len(LOGGED) + 1))
def test_wherever_a_file_was_cut_off_the_whole_events_are_kept_and_it_goes_on(
    path: Path, length: int
) -> None:
    whole: list[Happened] = [Said("one"), Said("zwölf – \u2028 x"), Left()]
    path.write_bytes(LOGGED[:length])
    log = log_at(path)
    kept = read(log)
    # All of an event is one, even if its line was not ended.
    complete = LOGGED[:length].count(b"\n") + LOGGED[:length].endswith(b"}")
    assert kept == whole[:complete]
    assert log.cut_off == (LOGGED[length - 1 : length] not in (b"", b"\n", b"}"))
    append(log, *whole[complete:])
    assert path.read_bytes() == LOGGED or complete == 3
    assert read(log_at(path)) == whole


def test_half_an_event_that_somebody_completes_meanwhile_is_theirs(path: Path) -> None:
    path.write_bytes(LOGGED[:-5])
    log = log_at(path)
    read(log)
    path.write_bytes(LOGGED)
    with pytest.raises(SessionMoved):
        append(log, Left())
    assert path.read_bytes() == LOGGED


def test_bytes_that_are_no_text_are_damage(path: Path) -> None:
    path.write_bytes(b'{"type":"Left"}\n\xff\n')
    with pytest.raises(FileDamaged) as raised:
        read(log_at(path))
    assert raised.value.line == 2


def test_line_ends_of_another_system_and_a_missing_last_one_do_no_harm(path: Path) -> None:
    path.write_bytes(b'{"type":"Said","text":"one"}\r\n{"type":"Left"}')
    log = log_at(path)
    assert read(log) == [Said("one"), Left()]
    append(log, Left())
    assert path.read_bytes() == b'{"type":"Said","text":"one"}\r\n{"type":"Left"}\n{"type":"Left"}\n'
    assert read(log_at(path)) == [Said("one"), Left(), Left()]


def test_an_event_of_several_lines_is_refused(path: Path) -> None:
    log = FileLog(path, lambda value: json.dumps(value, indent=1).encode(), json.loads)
    with pytest.raises(InvalidInput):
        asyncio.run(log.append({"a": 1}))
    assert not path.exists()


# -- what others do ------------------------------------------------------------------------------


def news(log: FileLog[Happened]) -> list[Happened]:
    return asyncio.run(log.news())


@given(st.lists(st.text(max_size=5), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_news_is_what_others_have_added_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], looks: list[int]
) -> None:
    path = tmp_path_factory.mktemp("log") / "session.jsonl"
    ours, theirs = log_at(path), log_at(path)
    heard = read(ours)
    read(theirs)
    for number, text in enumerate(texts):
        append(theirs, Said(text))
        if number in looks:
            heard += news(ours)
    assert [*heard, *news(ours)] == [Said(text) for text in texts]
    assert news(ours) == []
    append(ours, Left())
    assert news(theirs) == [Left()]


def test_a_line_that_cannot_be_read_is_named_in_news_too(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    log = log_at(path)
    append(log, Said("one"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"type":"Sung","text":"la"}\n')
    with pytest.raises(FileDamaged, match=r"session\.jsonl, line 2"):
        news(log)


def test_a_log_that_was_written_anew_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    log = log_at(path)
    append(log, Said("one"), Said("two"))
    path.write_text('{"type":"Said","text":"three"}\n', encoding="utf-8")
    with pytest.raises(LogReplaced) as replaced:
        news(log)
    assert replaced.value.events == [Said("three")]
    assert news(log) == []


def with_store(path: Path, main: Callable[[Store], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_store(sqlite_url(path / "moot.sqlite3")) as store:
            await main(store)

    asyncio.run(run())


def test_the_store_counts_what_the_file_says(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        session = await store.ensure("talk-1", "talk", "A talk")
        assert await store.ensure("talk-1", "talk", "Again") == session, "made once"
        path = tmp_path / "session.jsonl"
        ours, theirs = (WorkspaceLog(log_at(path), store, "talk-1") for _ in range(2))
        assert await ours.read() == await theirs.read() == []
        assert ours.seq == 1
        await ours.append(Said("one"))
        await ours.append(Said("two"))
        assert ours.seq == 3
        with pytest.raises(SessionMoved):
            await theirs.append(Said("late"))
        assert await theirs.news() == [Said("one"), Said("two")]
        await theirs.append(Left())
        assert await ours.news() == [Left()]
        assert ours.seq == theirs.seq == 4
        assert [logged.body for logged in await store.events("talk-1")] == [b""] * 4, "no second copy"

    with_store(tmp_path, main)


def test_only_who_drives_keeps_what_models_said_in_a_file(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        await store.ensure("talk-1", "talk", "A talk")
        log = WorkspaceLog(log_at(tmp_path / "session.jsonl"), store, "talk-1")
        await log.read()
        log.driving = True
        with pytest.raises(SessionMoved):
            await log.keep(Said("unwanted"))
        await store.sql(
            "INSERT INTO driving (session, wanted, client, driver) VALUES ('talk-1', 1, '', :server)",
            server=store.server,
        )
        await log.keep(Said("wanted"))
        log.driving = False
        assert await log.read() == [Said("wanted")]

    with_store(tmp_path, main)


def test_a_session_that_was_deleted_is_not_counted_for_ever(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        await store.ensure("talk-1", "talk", "A talk")
        await store.delete("talk-1")
        with pytest.raises(SessionMoved):
            await store.count_event("talk-1")

    with_store(tmp_path, main)
