"""`moot backup`: a whole, consistent copy of the database, for nobody else to read."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.server import a_board, serving


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "moot" / "moot.sqlite3"


def a_session(folder: Path, stub: StubServer) -> None:
    ended = moot("ask", "the-strategist", "Why?", env=environment(folder, stub), cwd=folder)
    assert ended.code == 0, ended.err


def rows(file: Path, table: str) -> int:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_backup_is_a_database_that_moot_opens(stub: StubServer, tmp_path: Path, database: Path) -> None:
    a_session(tmp_path, stub)
    copy = tmp_path / "copy.sqlite3"
    ended = moot("backup", str(copy), env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.sqlite3"]
    # Restored as the guide says: put in the place of the database.
    for file in database.parent.glob("moot.sqlite3*"):
        file.unlink()
    copy.rename(database)
    listed = moot("sessions", "--json", env=environment(tmp_path), cwd=tmp_path)
    assert [session["title"] for session in listed.json["sessions"]] == ["Why?"]


def test_a_backup_is_consistent_while_a_server_writes(
    stub: StubServer, tmp_path: Path, database: Path
) -> None:
    a_board(stub, pace=200, words="word " * 100)
    with serving(tmp_path, stub) as server:
        boards = [threading.Thread(target=server.session) for _ in range(3)]
        for board in boards:
            board.start()
        stub.wait(lambda stub: len(stub.requests) >= 24, 20)
        for number in range(3):
            copy = tmp_path / f"copy-{number}.sqlite3"
            ended = moot("backup", str(copy), env=environment(tmp_path), cwd=tmp_path)
            assert ended.code == 0, ended.err
            assert rows(copy, "sessions") == 3
        for board in boards:
            board.join(30)
    assert rows(database, "sessions") == 3


def test_what_is_there_is_overwritten_only_by_force(stub: StubServer, tmp_path: Path, database: Path) -> None:
    a_session(tmp_path, stub)
    env, copy = environment(tmp_path), tmp_path / "copy.sqlite3"
    copy.write_text("dear diary", encoding="utf-8")
    refused = moot("backup", str(copy), env=env, cwd=tmp_path)
    assert refused.code == 1
    assert "already exists" in refused.err
    assert "--force" in refused.err
    assert copy.read_text(encoding="utf-8") == "dear diary"
    assert moot("backup", str(copy), "--force", env=env, cwd=tmp_path).code == 0
    assert rows(copy, "sessions") == 1
    assert copy.stat().st_mode & 0o777 == 0o600
    itself = moot("backup", str(database), "--force", env=env, cwd=tmp_path)
    assert itself.code == 2
    assert "the database itself" in itself.err
    assert rows(database, "sessions") == 1


def test_without_a_database_nothing_is_made(tmp_path: Path) -> None:
    ended = moot("backup", str(tmp_path / "copy"), env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "no database yet" in ended.err
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "data").exists()


def test_postgresql_has_a_program_for_it(tmp_path: Path) -> None:
    url = "postgresql://moot:hunter2@db.example/moot"
    ended = moot("backup", "copy.dump", "--database", url, env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "pg_dump --format=custom --file=copy.dump" in ended.err
    assert "hunter2" not in ended.err
    assert not (tmp_path / "copy.dump").exists()
