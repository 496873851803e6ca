"""The list of sessions: in pages, by workspace; and a session that is asked for twice is begun once."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.server import DECISION, Server, a_board, serving
from tests.web.test_guards import ask

SESSIONS, SESSION = "/api/board/sessions", "/api/board/session"


def pages(server: Server, **query: str) -> list[list[str]]:
    found = []
    while True:
        body = server.get(SESSIONS, params=query).json()
        found.append([session["id"] for session in body["sessions"]])
        if body["next"] is None:
            return found
        query["before"] = body["next"]


def copied(database: Path, session: str, times: int) -> list[str]:
    """So many sessions like that one, each a minute older than the last; newest first."""
    ids = [f"board-copy{number:08}" for number in range(times)]
    with closing(sqlite3.connect(database)) as connection, connection:
        for number, id_ in enumerate(ids):
            connection.execute(
                "INSERT INTO sessions SELECT ?, format, title, created_at,"
                " strftime('%Y-%m-%d %H:%M:%f000', updated_at, ?), workspace, owner, name, pinned"
                " FROM sessions WHERE id = ?",
                (id_, f"-{number + 1} minutes", session),
            )
            connection.execute(
                "INSERT INTO events SELECT ?, seq, at, body FROM events WHERE session = ?", (id_, session)
            )
    return ids


def test_the_list_has_pages_and_no_end_at_a_thousand(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    a_board(stub)
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        first = server.session()[0]["sessionId"]
        expected = [first, *copied(file, first, 1100)]
        found = pages(server, limit="200")
        assert [len(page) for page in found] == [200] * 5 + [101]
        assert [id_ for page in found for id_ in page] == expected
        assert len(server.get(SESSIONS).json()["sessions"]) == 50
        for wrong in ({"limit": "0"}, {"limit": "201"}, {"before": "x"}, {"workspace": "elsewhere"}):
            assert server.get(SESSIONS, params=wrong).status_code == 400, wrong
    env = environment(tmp_path)
    database = ("--database", f"sqlite:///{file}")
    listed = moot("sessions", "--json", "--limit", "1050", *database, env=env, cwd=tmp_path).json
    assert ([one["id"] for one in listed["sessions"]], listed["more"]) == (expected[:1050], True)
    told = moot("sessions", *database, env=env, cwd=tmp_path)
    assert len(told.out.splitlines()) == 100
    assert "Only the latest 100 are shown" in told.err


def test_each_workspace_has_a_list_of_its_own(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    database = ("--database", f"sqlite:///{file}")
    a_board(stub)
    made: dict[str, str] = {}
    for name in ("old", "one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        with serving(tmp_path / name, stub, *database) as server:
            made[name] = server.session()[0]["sessionId"]
    with closing(sqlite3.connect(file)) as connection, connection:
        # As a session of an earlier version is.
        connection.execute("UPDATE sessions SET workspace = '' WHERE id = ?", (made["old"],))
    # The same folder by another name.
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with serving(tmp_path / "link", stub, *database) as server:
        listed = server.get(SESSIONS).json()["sessions"]
        assert [one["id"] for one in listed] == [made["one"], made["old"]]
        assert [one["workspace"] for one in listed] == ["one", ""]
        everywhere = server.get(SESSIONS, params={"workspace": "all"}).json()["sessions"]
        assert [one["id"] for one in everywhere] == [made["two"], made["one"], made["old"]]
        assert server.get(f"{SESSIONS}/{made['two']}").status_code == 200
    env = environment(tmp_path)
    here = moot("sessions", "--json", *database, env=env, cwd=tmp_path / "one").json
    assert [one["id"] for one in here["sessions"]] == [made["one"], made["old"]]
    everything = moot("sessions", "--json", "--all", *database, env=env, cwd=tmp_path / "one").json
    assert len(everything["sessions"]) == 3


# -- once ------------------------------------------------------------------------------------------


def convened(server: Server, key: str, **body: Any) -> list[dict[str, Any]]:
    asked = {"decision": DECISION, **body}
    with server.streaming("POST", SESSION, json=asked, headers={"Idempotency-Key": key}) as events:
        return list(events)


def test_a_session_that_is_asked_for_again_is_the_same(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    with serving(tmp_path, stub) as server:
        first = convened(server, "a key")
        requests = len(stub.requests)
        assert convened(server, "a key") == first
        assert len(stub.requests) == requests, "nobody was asked again"
        other = server.post(SESSION, {"decision": "Another?"}, headers={"Idempotency-Key": "a key"})
        assert other.status_code == 409
        assert other.json()["error"].startswith("Idempotency-Key 'a key' came with another request before")
        assert convened(server, "another key")[0]["sessionId"] != first[0]["sessionId"]
        for wrong in ("", "x" * 201):
            refused = server.post(SESSION, {"decision": DECISION}, headers={"Idempotency-Key": wrong})
            assert refused.status_code == 400, wrong


def test_requests_with_one_key_that_come_at_once_begin_one_session(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=100, words="word " * 20)
    with serving(tmp_path, stub) as server:
        told: list[list[dict[str, Any]]] = []
        asking = [threading.Thread(target=lambda: told.append(convened(server, "k"))) for _ in range(6)]
        for one in asking:
            one.start()
        for one in asking:
            one.join(30)
        assert len(told) == 6
        assert all(one == told[0] for one in told)
        assert len(stub.requests) == 9


# -- other sites -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_visit_to_another_site_starts_no_paid_work(
    headers: dict[str, str], stub: StubServer, tmp_path: Path
) -> None:
    stub.default = Behaviour(text="word " * 100, pace=50)
    with serving(tmp_path, stub, "--grace", "0") as server:
        with server.streaming("POST", SESSION, json={"decision": DECISION}) as events:
            session = next(events)["sessionId"]
            stub.wait(lambda s: s.open_streams == 8)
        stub.wait(lambda s: s.open_streams == 0)
        before = len(stub.requests)
        # Taken up, it would go on.
        taken_up = {"Last-Event-ID": "1"}
        refused = ask(server.url, "GET", f"{SESSIONS}/{session}/events", **taken_up, **headers)
        assert (refused.status, refused.error) == (403, "Requests from other sites are not answered.")
        assert len(stub.requests) == before
        a_board(stub)
        own = {"Sec-Fetch-Site": "same-origin"}
        told = ask(server.url, "GET", f"{SESSIONS}/{session}/events", **taken_up, **own)
        assert json.loads(told.body.decode().strip().rpartition("data: ")[2]) == {"type": "idle"}
        assert len(stub.requests) == before + 9
        assert ask(server.url, "GET", "/", **headers).status == 200, "a link to the page is a link"


def test_the_list_says_which_briefs_are_out_of_date(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    with serving(tmp_path, stub) as server:
        session = server.session()[0]["sessionId"]
        assert [one["briefStale"] for one in server.get(SESSIONS).json()["sessions"]] == [False]
        challenge = {
            "sessionId": session,
            "personaId": "the-coach",
            "decision": DECISION,
            "initialResponse": "No.",
            "challengeText": "Why?",
            "priorChallenges": [],
        }
        with server.streaming("POST", "/api/board/challenge", json=challenge) as told:
            assert [*told][-1]["type"] == "challenge_reply_complete"
        assert [one["briefStale"] for one in server.get(SESSIONS).json()["sessions"]] == [True]
