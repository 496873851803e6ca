"""Whether a server says truly that it lives and that it can take sessions."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from starlette.types import Message

from moot.app import Moot, Options, opened
from moot.sessions import Sessions
from moot.store import migrations
from moot.web import health
from moot.web.app import create_app
from tests.stub.server import StubServer
from tests.support.server import a_board, serving


def execute(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def test_a_server_that_runs_is_alive_and_ready(stub: StubServer, tmp_path: Path) -> None:
    with serving(tmp_path, stub) as server:
        for path, status in (("/healthz", "ok"), ("/readyz", "ready")):
            answer = server.get(path)
            assert answer.status_code == 200
            assert answer.json()["status"] == status


def test_a_balancer_needs_no_token(stub: StubServer, tmp_path: Path) -> None:
    with serving(tmp_path, stub, "--host", "0.0.0.0", MOOT_TOKEN="a-token-of-our-own") as server:
        for path in ("/healthz", "/readyz"):
            assert server.get(path).status_code == 200
        assert "token" not in server.url, "one that came from outside is not told"
        assert server.get("/api/board/personas").status_code == 401
        bearer = {"Authorization": "Bearer a-token-of-our-own"}
        assert server.get("/api/board/personas", headers=bearer).status_code == 200


def test_a_name_behind_a_proxy_is_answered_to_with_the_token_alone(stub: StubServer, tmp_path: Path) -> None:
    with serving(tmp_path, stub, "--name", "moot.example", MOOT_TOKEN="a-token-of-our-own") as server:
        asked = {"Host": "moot.example", "Authorization": "Bearer a-token-of-our-own"}
        assert server.get("/api/board/personas", headers=asked).status_code == 200
        assert server.get("/api/board/personas", headers={"Host": "moot.example"}).status_code == 401
        assert server.get("/healthz", headers={"Host": "other.example"}).status_code == 400
        crossed = {**asked, "Origin": "https://other.example"}
        assert server.post("/api/board/questions", {"decision": "x"}, headers=crossed).status_code == 403


@pytest.mark.parametrize("short", ["short", "with spaces in between them", "ünïcödé-token-is-none"])
def test_a_token_that_is_none_is_a_clear_error(short: str, stub: StubServer, tmp_path: Path) -> None:
    from tests.support.command import environment, moot

    env = environment(tmp_path, stub, MOOT_TOKEN=short)
    ended = moot("serve", "--host", "0.0.0.0", "--port", "0", env=env, cwd=tmp_path)
    assert ended.code == 1
    assert "MOOT_TOKEN: must be at least 16 letters" in ended.err
    assert short not in ended.err


def test_a_database_that_is_lost_is_not_ready_until_it_is_back(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        assert server.get("/readyz").status_code == 200
        execute(file, "ALTER TABLE schema_version RENAME TO elsewhere")
        answer = server.get("/readyz")
        assert answer.status_code == 503
        assert "The database cannot be used" in answer.json()["error"]
        assert server.get("/healthz").status_code == 200, "to restart this server would mend nothing"
        execute(file, "ALTER TABLE elsewhere RENAME TO schema_version")
        assert server.get("/readyz").status_code == 200


def test_a_database_that_a_newer_moot_has_taken_over_is_not_ready(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        execute(file, f"UPDATE schema_version SET version = {migrations.NEWEST + 1}")
        answer = server.get("/readyz")
        assert answer.status_code == 503
        assert "newer moot" in answer.json()["error"]


def test_a_server_that_cannot_write_is_not_ready(stub: StubServer, tmp_path: Path) -> None:
    """As on a full disk: every question is answered, and nothing can be kept."""
    file = tmp_path / "sessions.sqlite3"
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        assert server.get("/readyz").status_code == 200
        usual = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, usual[1]))
        answer = server.get("/readyz")
        assert answer.status_code == 503
        assert "The database cannot be used" in answer.json()["error"]
        assert server.get("/api/board/sessions").status_code == 200
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, usual)
        assert server.get("/readyz").status_code == 200


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_database_file_that_is_gone_is_said(how: str, stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    a_board(stub)
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        session = server.session()[0]["sessionId"]
        file.rename(tmp_path / "away")
        if how == "replaced":
            shutil.copy(tmp_path / "away", file)
        told = f"the file was {how} while moot was using it; put it back, or restart moot"
        ready = server.get("/readyz")
        assert (ready.status_code, told in ready.json()["error"]) == (503, True)
        asked = len(stub.requests)
        begun = server.post("/api/board/session", {"decision": "Another?"})
        assert (begun.status_code, told in begun.json()["error"]) == (503, True)
        assert len(stub.requests) == asked, "nobody is paid for what cannot be kept"
        (tmp_path / "away").rename(file)
        assert server.get("/readyz").status_code == 200
        assert server.get(f"/api/board/sessions/{session}").status_code == 200


def test_a_server_does_not_begin_on_a_damaged_database(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    a_board(stub)
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        server.session()
        server.process.terminate()
        server.process.wait(20)
    content = bytearray(file.read_bytes())
    # The last page: the program's own tables are at the beginning.
    content[-4096:] = b"\xff" * 4096
    file.write_bytes(content)
    from tests.support.command import environment, moot

    arguments = ("serve", "--port", "0", "--no-open", "--database", f"sqlite:///{file}")
    ended = moot(*arguments, env=environment(tmp_path, stub), cwd=tmp_path, timeout=30)
    assert ended.code == 1
    assert "is damaged: restore it from a backup" in ended.err
    assert "Traceback" not in ended.err


def test_many_who_ask_at_once_are_one_write() -> None:
    looked: list[int] = []

    class Slow(_Hanging):
        async def check_store(self) -> None:
            looked.append(1)
            await asyncio.sleep(0.05)

    async def main() -> None:
        check = health._Check()
        boards = cast("Sessions", Slow())
        await asyncio.gather(*(health._problem(boards, check) for _ in range(50)))
        assert len(looked) == 1
        await health._problem(boards, check)
        assert len(looked) == 2

    asyncio.run(main())


class _Hanging:
    """Boards whose database does not answer."""

    class hub:  # noqa: N801
        running = True

    async def check_store(self) -> None:
        await asyncio.sleep(60)


class _Stopped(_Hanging):
    class hub:  # noqa: N801
        running = False


@pytest.mark.parametrize(
    ("boards", "said"),
    [
        (_Hanging(), "The database has not answered for 0.05 seconds."),
        (_Stopped(), "The engine that drives sessions is not running."),
        (None, "The engine that drives sessions is not running."),
    ],
)
def test_what_cannot_be_provoked_from_outside(
    boards: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.05)
    app = create_app(cast("Moot", None))
    if boards is not None:
        app.state.sessions = cast("Sessions", boards)
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/readyz",
        "raw_path": b"/readyz",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    asyncio.run(app(scope, receive, send))
    assert told[0]["status"] == 503
    assert said.encode() in told[1]["body"]


def test_the_engine_of_a_process_knows_whether_it_runs(tmp_path: Path) -> None:
    from moot.board.service import open_boards

    async def main() -> None:
        options = Options(workspace=tmp_path, database=f"sqlite:///{tmp_path / 'x.sqlite3'}")
        async with opened(options, {}) as moot:
            async with open_boards(moot) as boards:
                assert boards.hub.running
            assert not boards.hub.running

    asyncio.run(main())


def test_health_is_described(stub: StubServer, tmp_path: Path) -> None:
    paths = create_app(cast("Moot", None)).openapi()["paths"]
    assert set(paths["/readyz"]["get"]["responses"]) == {"200", "400", "503"}
    assert set(paths["/healthz"]["get"]["responses"]) == {"200", "400"}
    with serving(tmp_path, stub) as server:
        assert httpx2.get(f"{server.url}/docs").text.count("/readyz") == 1
