"""A database that cannot be written for a while: who asks is told so, nothing is lost, and when it can be
written again everything goes on by itself."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import psycopg.sql
import pytest

from moot.server.sharing import LEASE_SECONDS
from moot.store.database import sqlite_url
from tests.stub.server import StubServer
from tests.support.cluster import Postgres, Several
from tests.support.ready import SET
from tests.support.server import DECISION, Server, a_board, serving

Change = Callable[[], None]

OURS = "Should we keep the lighthouse?"


def asked_for_a_session(server: Server) -> tuple[int, str]:
    with server.client.stream(
        "POST", f"{server.url}/api/board/session", json={"decision": DECISION}, timeout=20
    ) as answer:
        return answer.status_code, answer.read().decode() if answer.status_code != 200 else ""


def hear_out_while_it_fails(
    server: Server,
    stub: StubServer,
    fail: Callable[[], None],
    mend: Callable[[], None],
    seconds: float,
    says: str,
) -> None:
    """A board during which the database fails for so long, and then comes back."""
    a_board(stub, pace=20, words="word " * 30)
    with server.streaming("POST", "/api/board/session", json={"decision": OURS}) as events:
        heard = [next(events)]
        while heard[-1]["type"] != "persona_token":
            heard.append(next(events))
        fail()
        failed = time.monotonic()
        # A new session may still find room for a moment.
        while (refused := asked_for_a_session(server))[0] == 200:
            assert time.monotonic() < failed + 20
        assert refused[0] == 503, refused
        assert says in refused[1]
        # Longer than any reply takes: all of them are complete, and cannot be kept yet.
        stub.wait(lambda s: s.open_streams == 0, timeout=30)
        time.sleep(max(0.0, failed + seconds - time.monotonic()))
        mend()
        heard.extend(events)
    assert heard[-2]["type"] == "session_complete"
    assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))
    assert sum(e["type"] == "persona_complete" for e in heard) == 8
    session_id = heard[0]["sessionId"]
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    assert all(r["isComplete"] for r in body["responses"])
    assert len([r for r in stub.requests if OURS in r.said]) == 9, "what was complete is not asked for again"
    assert server.session()[-2]["type"] == "session_complete", "without a restart"


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[bool]:
    """A disk of two megabytes, where this user may mount one."""
    place.mkdir()
    mounted = (
        os.geteuid() == 0
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], check=False, capture_output=True
        ).returncode
        == 0
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(tmp_path: Path, stub: StubServer) -> None:
    with small_disk(tmp_path / "disk") as mounted:
        database = tmp_path / "disk" / "moot.sqlite3"
        filler = tmp_path / "disk" / "filler"
        with serving(tmp_path, stub, "--database", sqlite_url(database)) as server:

            def fill() -> None:
                if not mounted:
                    # The next best: no file of the server's may grow.
                    size = max(file.stat().st_size for file in database.parent.iterdir())
                    resource.prlimit(
                        server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)
                    )
                    return
                with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * 4096)

            def clear() -> None:
                if not mounted:
                    no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, no_limit)
                    return
                filler.unlink()

            hear_out_while_it_fails(server, stub, fill, clear, 3, "disk")


def test_a_database_file_that_can_only_be_read(tmp_path: Path, stub: StubServer) -> None:
    a_board(stub)
    file = tmp_path / "moot.sqlite3"
    with serving(tmp_path, stub, "--database", sqlite_url(file)) as server:
        session_id = server.session()[0]["sessionId"]
    with serving(tmp_path, stub, "--database", f"sqlite:///file:{file}?mode=ro&uri=true") as server:
        status, said = asked_for_a_session(server)
        assert status == 503
        assert "readonly" in said
        body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        assert all(r["isComplete"] for r in body["responses"]), "what is there can be read"


def test_a_database_file_that_may_not_be_written_for_a_while(tmp_path: Path, stub: StubServer) -> None:
    a_board(stub)
    file = tmp_path / "kept" / "moot.sqlite3"
    with serving(tmp_path, stub, "--database", sqlite_url(file)) as server:
        session_id = server.session()[0]["sessionId"]
    # Narrower than that it is made, and that is said.
    _permit(file, 0o400)
    # What a file permits does not count for root, unless it waives that.
    through = ("setpriv", "--bounding-set", "-dac_override", "--") if os.geteuid() == 0 else ()
    with serving(tmp_path, stub, "--database", sqlite_url(file), through=through) as server:
        status, said = asked_for_a_session(server)
        assert status == 503
        assert "readonly" in said
        body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        assert all(r["isComplete"] for r in body["responses"]), "what is there can be read"
        _permit(file, 0o600)
        assert server.session()[-2]["type"] == "session_complete", "without a restart"


def _permit(file: Path, mode: int) -> None:
    """SQLite has files beside the file."""
    for one in file.parent.iterdir():
        one.chmod(mode)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    postgres = Postgres()
    yield postgres
    postgres.close()


def test_a_database_that_is_away(
    tmp_path: Path, stub: StubServer, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_request = [f"{module}.LEASE_SECONDS=2" for module in ("moot.store.ledger", "moot.core.spending")]
    monkeypatch.setenv(SET, " ".join(of_a_request))
    with Several(tmp_path, stub, postgres.url).server() as server:
        # Longer than any lease.
        away = LEASE_SECONDS + 3
        hear_out_while_it_fails(server, stub, postgres.stop, postgres.start, away, "cannot be used")


def test_a_postgresql_that_can_only_be_read(tmp_path: Path, stub: StubServer, postgres: Postgres) -> None:
    """As when the server becomes a stand-by."""

    def read_only(how: str) -> Callable[[], None]:
        def change() -> None:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(
                    psycopg.sql.SQL("ALTER DATABASE postgres SET default_transaction_read_only = {}").format(
                        how
                    )
                )
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                )

        return change

    with Several(tmp_path, stub, postgres.url).server() as server:
        hear_out_while_it_fails(server, stub, read_only("on"), read_only("off"), 3, "read-only")
