"""A database of an earlier schema opens, is brought up to date and loses nothing; a later one is refused."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, create_engine, text
from sqlalchemy.engine import make_url

from moot.errors import StoreFailed
from moot.store import migrations
from moot.store.database import sqlite_url
from moot.store.sessions import Store, open_store
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.postgres import running_postgresql
from tests.support.server import Server, a_board, serving

STORED = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return sqlite_url(tmp_path / "new.sqlite3")
    url = str(request.getfixturevalue("postgresql"))
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


@pytest.fixture(params=range(1, migrations.NEWEST))
def old(request: pytest.FixtureRequest, kind: str, empty: str, tmp_path: Path) -> str:
    """A database as an earlier moot has left it."""
    if kind == "sqlite":
        shutil.copy(STORED / f"schema-{request.param}.sqlite3", tmp_path / "new.sqlite3")
        (tmp_path / "new.sqlite3").chmod(0o600)
    else:
        script = (STORED / f"schema-{request.param}.postgresql.sql").read_text(encoding="utf-8")
        with psycopg.connect(empty) as connection:
            connection.execute(script.encode())
    return empty


async def _open(url: str) -> None:
    async with open_store(url):
        pass


def opened(url: str) -> None:
    asyncio.run(_open(url))


def rows(url: str, query: str) -> list[Any]:
    driver = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
    parsed = make_url(url)
    engine = create_engine(parsed.set(drivername=driver[parsed.drivername]))
    try:
        with engine.begin() as connection:
            found = connection.execute(text(query))
            return [tuple(row) for row in found] if found.returns_rows else []
    finally:
        engine.dispose()


def version(url: str) -> list[Any]:
    return rows(url, "SELECT version FROM schema_version")


def frames(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every session's frames: schema 1 has a row for each, later ones several in a row, a line each."""
    found: dict[str, list[dict[str, Any]]] = {}
    for session, first, body in rows(url, "SELECT session, seq, body FROM frames ORDER BY session, seq"):
        lines = enumerate(bytes(body).split(b"\n"), start=first)
        found.setdefault(session, []).extend({"id": seq, **msgspec.json.decode(line)} for seq, line in lines)
    return found


def shape(url: str) -> object:
    """Tables, columns, keys and indexes, as the database itself knows them."""
    if url.startswith("sqlite"):
        # Not as it was written: a column that was added stands elsewhere in the statement.
        tables = sorted(name for (name,) in rows(url, "SELECT name FROM sqlite_master WHERE type = 'table'"))
        indexes = "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        pragmas = ("table_info", "foreign_key_list")
        return (
            [(name, pragma, rows(url, f"PRAGMA {pragma}({name})")) for name in tables for pragma in pragmas],
            sorted(rows(url, indexes)),
        )
    columns = "table_name, column_name, data_type, character_maximum_length, is_nullable"
    where = "schemaname = 'public'"
    keys = "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
    return (
        sorted(rows(url, f"SELECT {columns} FROM information_schema.columns WHERE table_schema = 'public'")),
        sorted(rows(url, f"SELECT indexname, indexdef FROM pg_indexes WHERE {where}")),
        sorted(rows(url, f"{keys} WHERE connamespace = 'public'::regnamespace")),
    )


@contextmanager
def serving_old(folder: Path, stub: StubServer, database: str) -> Iterator[Server]:
    """A server that keeps the frames of the stored databases, however long ago they were written."""
    settings = folder / "config" / "moot"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[server]\nkeep_frames_hours = 500_000\n", encoding="utf-8")
    with serving(folder, stub, "--database", database) as server:
        yield server


def resumed(server: Server, session: str, after: int) -> list[dict[str, Any]]:
    path = f"/api/board/sessions/{session}/events"
    with server.streaming("GET", path, headers={"Last-Event-ID": str(after)}) as events:
        return list(events)


def test_an_old_database_has_the_same_shape_as_a_new_one_once_it_is_open(
    old: str, kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    before = rows(old, "SELECT session, seq, body FROM events ORDER BY session, seq")
    opened(old)
    migrated, after = shape(old), rows(old, "SELECT session, seq, body FROM events ORDER BY session, seq")
    assert version(old) == [(migrations.NEWEST,)]
    assert after == before
    if kind == "sqlite":
        new = sqlite_url(tmp_path_factory.mktemp("new") / "new.sqlite3")
    else:
        new = request.getfixturevalue("postgresql")
        with psycopg.connect(new) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    opened(new)
    assert shape(new) == migrated, "a table has changed, and no step in STEPS leads there"
    assert version(new) == [(migrations.NEWEST,)]


def test_sessions_of_an_old_database_are_listed_exported_and_told_whole(
    old: str, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    told = frames(old)
    whole = next(id_ for id_, events in told.items() if events[-1]["type"] == "session_complete")
    log = f"SELECT seq, body FROM events WHERE session = '{whole}' ORDER BY seq"
    before = rows(old, log)
    with serving_old(tmp_path, stub, old) as server:
        listed = {one["id"]: one for one in server.get("/api/board/sessions").json()["sessions"]}
        assert listed.keys() == told.keys()
        exported = server.get(f"/api/board/sessions/{whole}/export?format=md").text
        assert "Should we rewrite our billing service this quarter?" in exported
        assert "The Coach says: Not yet, because of the lease." in exported
        assert "Why?" in exported
        idle = {"id": None, "type": "idle"}
        for after in range(len(told[whole]) + 1):
            assert resumed(server, whole, after) == [*told[whole][after:], idle]
    # Of the other one, which was cut off, somebody may be: a worker that finds it goes on with it.
    assert rows(old, log) == before, "nobody was asked again"


def test_a_session_that_was_cut_off_under_the_old_schema_goes_on(
    old: str, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    told = frames(old)
    cut_off = next(id_ for id_, events in told.items() if events[-1]["type"] != "session_complete")
    with serving_old(tmp_path, stub, old) as server:
        events = resumed(server, cut_off, 0)
        before = told[cut_off]
        assert events[: len(before)] == before
        assert [event["id"] for event in events[:-1]] == list(range(1, len(events)))
        complete = [event["personaId"] for event in events if event["type"] == "persona_complete"]
        assert sorted(complete) == ["the-analyst", "the-coach", "the-mentor"]
        for after in range(0, len(events), 3):
            assert resumed(server, cut_off, after) == events[after:]
    speakers = [request.system for request in stub.requests if request.schema is None]
    assert not any("You are The Analyst" in system for system in speakers), "it had spoken"


def test_processes_that_open_an_old_database_at_once_take_turns(
    old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are let go together; a step that was taken twice would fail."""

    def once(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE sessions ADD COLUMN added INTEGER"))

    newest = migrations.NEWEST + 1
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, once))
    monkeypatch.setattr(migrations, "NEWEST", newest)
    told = {session: len(events) for session, events in frames(old).items()}

    async def look(store: Store) -> None:
        for session, count in told.items():
            assert await store.last_frame(session) == count

    async def whole() -> None:
        async with open_store(old) as store:
            await look(store)

    reading, writing = os.pipe()
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            try:
                os.close(writing)
                os.read(reading, 1)
                asyncio.run(whole())
            except BaseException as error:
                (tmp_path / f"failed-{number}").write_text(repr(error), encoding="utf-8")
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(reading)
    os.close(writing)
    ended = [os.waitpid(child, 0)[1] for child in children]
    assert ended == [0] * 4, [file.read_text(encoding="utf-8") for file in tmp_path.glob("failed-*")]
    assert version(old) == [(newest,)]


def test_each_step_is_taken_once_and_in_order(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    real = migrations.STEPS

    def steps(names: str) -> None:
        made = [lambda _, name=name: taken.append(name) for name in names]
        monkeypatch.setattr(migrations, "STEPS", (*real, *made))
        monkeypatch.setattr(migrations, "NEWEST", 1 + len(real) + len(made))

    steps("ab")
    opened(old)
    opened(old)
    assert taken == ["a", "b"]
    steps("abcd")
    opened(old)
    assert taken == ["a", "b", "c", "d"]


def test_a_new_database_takes_no_steps(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Connection) -> None:
        raise AssertionError

    monkeypatch.setattr(migrations, "STEPS", (never,))
    opened(empty)
    assert version(empty) == [(migrations.NEWEST,)]


def test_a_step_that_fails_leaves_the_database_as_it_was(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shape(old), frames(old)

    def half(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (id INTEGER)"))
        connection.execute(text("DELETE FROM frames"))
        connection.execute(text("ALTER TABLE nowhere ADD COLUMN x INTEGER"))

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", (*migrations.STEPS, half))
        patched.setattr(migrations, "NEWEST", migrations.NEWEST + 1)
        with pytest.raises(StoreFailed, match="nowhere"):
            opened(old)
    assert (shape(old), frames(old)) == before
    opened(old)


def test_a_table_that_is_new_is_created_without_a_step(empty: str) -> None:
    opened(empty)
    engine = create_engine(empty.replace("postgresql:", "postgresql+psycopg:"))
    tables = MetaData()
    Table("added", tables, Column("id", Integer, primary_key=True, index=True))
    with engine.begin() as connection:
        migrations.bring_up_to_date(connection, tables)
    engine.dispose()
    assert rows(empty, "SELECT * FROM added") == []


@pytest.mark.parametrize("newer", [migrations.NEWEST + 1, 1000])
def test_a_database_of_a_newer_schema_is_refused_and_left_alone(empty: str, newer: int) -> None:
    opened(empty)
    rows(empty, f"UPDATE schema_version SET version = {newer}")
    before = shape(empty)
    with pytest.raises(StoreFailed) as refused:
        opened(empty)
    said = str(refused.value)
    assert f"newer moot (schema {newer}, while this one knows {migrations.NEWEST}); upgrade moot" in said
    assert (shape(empty), version(empty)) == (before, [(newer,)])


def test_a_database_that_says_no_version_any_more_is_refused(empty: str) -> None:
    opened(empty)
    rows(empty, "DELETE FROM schema_version")
    with pytest.raises(StoreFailed, match="changed by hand"):
        opened(empty)


@pytest.mark.parametrize("command", [("sessions",), ("serve", "--port", "0")])
def test_the_command_line_says_what_to_do_about_a_newer_database(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "newer.sqlite3"
    opened(sqlite_url(file))
    rows(sqlite_url(file), "UPDATE schema_version SET version = 99")
    ended = moot(*command, "--database", sqlite_url(file), env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "newer moot (schema 99" in ended.err
    assert "upgrade moot, or use another database" in ended.err
    assert "Traceback" not in ended.err
