"""Several servers on one PostgreSQL: whoever serves a client need not be the one who drives the session.

A server with --no-work never drives, so with one of those and one worker it is certain that the two differ.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer, running_stub
from tests.support.any_format import AnyFormatClient
from tests.support.change import write_change
from tests.support.cluster import Several, new_database
from tests.support.command import environment, moot
from tests.support.postgres import running_postgresql
from tests.support.server import DECISION, Server, a_board
from tests.support.shop import Brain
from tests.support.speaker import speaker
from tests.support.waiting import until

SESSION = {"decision": DECISION}
ENDLESS = Behaviour(text="word " * 2000, pace=50)


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def several(tmp_path: Path, stub: StubServer, postgresql: str) -> Several:
    stub.reset()
    a_board(stub)
    return Several(tmp_path, stub, new_database(postgresql, tmp_path.name))


@pytest.fixture(scope="module")
def apart(
    tmp_path_factory: pytest.TempPathFactory, stub: StubServer, postgresql: str
) -> Iterator[tuple[Server, Server]]:
    """Two servers that only serve, and a worker that only works."""
    several = Several(tmp_path_factory.mktemp("apart"), stub, new_database(postgresql, "apart"))
    no_work = ("--no-work", "--grace", "1")
    with several.worker("[server]\ngrace_seconds = 1"):
        with several.server(*no_work) as one, several.server(*no_work) as other:
            yield one, other


@pytest.fixture
def servers(apart: tuple[Server, Server], stub: StubServer) -> tuple[Server, Server]:
    stub.reset()
    a_board(stub)
    return apart


def challenged(session_id: str, persona: str = "the-strategist") -> dict[str, Any]:
    return {
        "sessionId": session_id,
        "personaId": persona,
        "decision": DECISION,
        "initialResponse": "Not yet.",
        "priorChallenges": [],
        "challengeText": "Why not?",
    }


def rest_of(server: Server, session_id: str, after: int = 0) -> list[dict[str, Any]]:
    with server.streaming(
        "GET", f"/api/board/sessions/{session_id}/events", headers={"Last-Event-ID": str(after)}
    ) as events:
        return list(events)


def asked_of(stub: StubServer) -> list[str]:
    """Which advisors were asked."""
    return [speaker(r) for r in stub.requests if r.schema is None]


# -- one serves, another drives --------------------------------------------------------------------


def test_every_server_tells_a_session_live_that_another_process_drives(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    a_board(stub, pace=100, words="word " * 100)
    with one.streaming("POST", "/api/board/session", json=SESSION) as events:
        heard = [next(events)]
        session_id = heard[0]["sessionId"]
        with other.streaming("GET", f"/api/board/sessions/{session_id}/events") as elsewhere:
            also = [next(elsewhere)]
            while also[-1]["type"] != "persona_token":
                also.append(next(elsewhere))
            assert stub.open_streams, "told while it is said"
            also.extend(elsewhere)
        heard.extend(events)
    assert heard == also
    assert [e["type"] for e in heard[-4:]] == ["brief_start", "brief_complete", "session_complete", "idle"]
    assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))
    assert len(stub.requests) == 9
    for position in (0, 1, len(heard) // 2, len(heard) - 1):
        assert rest_of(other, session_id, position) == heard[position:]


def test_who_comes_in_elsewhere_in_the_middle_hears_it_live(several: Several, stub: StubServer) -> None:
    """Nobody elsewhere listened until then, so the process that drives it told nobody."""
    a_board(stub, pace=50, words="word " * 2000)
    with several.server() as drives, several.server("--no-work") as serves:
        with drives.streaming("POST", "/api/board/session", json=SESSION) as events:
            session_id = next(events)["sessionId"]
            stub.wait(lambda s: s.open_streams == 8)
            with serves.streaming("GET", f"/api/board/sessions/{session_id}/events") as elsewhere:
                next(elsewhere)
                latest = time.monotonic()
                bunches = words = 0
                while bunches < 20:
                    event = next(elsewhere)
                    words += event.get("token", "").count("word")
                    now = time.monotonic()
                    bunches += now - latest > 0.02
                    latest = now
                # Whoever looks once a second finds what eight advisors have said in it.
                assert 0 < words / bunches < 8 * 50 / 2


def test_a_challenge_is_heard_where_it_was_made(servers: tuple[Server, Server], stub: StubServer) -> None:
    one, other = servers
    session_id = one.session()[0]["sessionId"]
    stub.reset()
    stub.default = Behaviour(text="Because of the lease, as I said.", pace=50)
    path = f"/api/board/sessions/{session_id}/events"
    with other.streaming("POST", "/api/board/challenge", json=challenged(session_id)) as events:
        heard = [next(events)]
        assert stub.open_streams == 1, "told while it is said"
        with one.streaming("GET", path) as told:
            others = [event for event in told if "challenge" in event]
        heard.extend(events)
    assert [(e["type"], e["challenge"]) for e in others[:2]] == [
        ("challenge_made", 1),
        ("challenge_reply_start", 1),
    ], "whoever else listens is told, too"
    assert "".join(e.get("token", "") for e in others) == "Because of the lease, as I said."
    assert "".join(e.get("token", "") for e in heard) == "Because of the lease, as I said."
    assert heard[-1]["type"] == "challenge_reply_complete"
    assert len(stub.requests) == 1
    for server in servers:
        body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        assert body["briefStale"]
        assert not body["live"]
    a_board(stub)
    asked = {"decision": DECISION, "responses": [{"personaId": "the-coach", "content": "x"}]}
    assert one.post("/api/board/brief", {**asked, "sessionId": session_id}).status_code == 200
    assert not other.get(f"/api/board/sessions/{session_id}").json()["session"]["briefStale"]


def test_leaving_a_challenge_closes_its_stream_in_the_other_process_within_500_ms(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, _ = servers
    session_id = one.session()[0]["sessionId"]
    stub.reset()
    stub.default = ENDLESS
    with one.streaming("POST", "/api/board/challenge", json=challenged(session_id)) as events:
        assert next(events)["type"] == "challenge_reply_token"
    stub.wait(lambda s: s.clients_left == 1)
    body = one.get(f"/api/board/sessions/{session_id}").json()["session"]
    assert all(r["challenges"] == [] for r in body["responses"])


def test_a_challenge_made_elsewhere_takes_the_place_of_one_that_is_streaming(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    session_id = one.session()[0]["sessionId"]
    stub.reset()
    stub.script(ENDLESS, Behaviour(text="Fine."))
    with one.streaming("POST", "/api/board/challenge", json=challenged(session_id)) as first:
        next(first)
        asked = challenged(session_id, "the-analyst")
        with other.streaming("POST", "/api/board/challenge", json=asked) as second:
            assert list(second)[-1]["type"] == "challenge_reply_complete"
        assert list(first)[-1]["type"] == "error"
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)


def test_a_session_rests_when_nobody_listens_anywhere(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    a_board(stub, pace=50, words="word " * 500)
    with one.streaming("POST", "/api/board/session", json=SESSION) as events:
        session_id = next(events)["sessionId"]
        stub.wait(lambda s: s.open_streams == 8)
        with other.streaming("GET", f"/api/board/sessions/{session_id}/events") as elsewhere:
            next(elsewhere)
            events_before = time.monotonic()
            # Gone here, but not there: it goes on.
            _leave(one, events)
            while time.monotonic() < events_before + 1.5:
                next(elsewhere)
            assert stub.open_streams == 8
    stub.wait(lambda s: s.open_streams == 0)
    until(lambda: not one.get("/api/board/sessions").json()["sessions"][0]["live"])
    stub.reset()
    a_board(stub)
    assert rest_of(other, session_id)[-2]["type"] == "session_complete"
    assert len(stub.requests) == 9


def test_stopped_on_any_server_it_rests_on_all_of_them_until_somebody_goes_on_anywhere(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    a_board(stub, pace=50, words="word " * 500)
    with one.streaming("POST", "/api/board/session", json=SESSION) as events:
        at = f"/api/board/sessions/{next(events)['sessionId']}"
        stub.wait(lambda s: s.open_streams == 8)
        assert other.post(f"{at}/stop", {}).status_code == 204
        assert list(events)[-1]["type"] == "idle"
    stub.wait(lambda s: s.open_streams == 0)
    stub.reset()
    a_board(stub)
    for server in servers:
        for headers in ({}, {"Last-Event-ID": "1"}):
            with server.streaming("GET", f"{at}/events", headers=headers) as told:
                assert list(told)[-1]["type"] == "idle"
    assert stub.requests == []
    assert one.post(f"{at}/go-on").status_code == 202
    with other.streaming("GET", f"{at}/events") as told:
        assert list(told)[-2]["type"] == "session_complete"
    assert len(stub.requests) == 9


def test_opening_a_session_that_was_left_begins_nothing_anywhere(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    a_board(stub, pace=50, words="word " * 500)
    with one.streaming("POST", "/api/board/session", json=SESSION) as events:
        at = f"/api/board/sessions/{next(events)['sessionId']}"
        stub.wait(lambda s: s.open_streams == 8)
    stub.wait(lambda s: s.open_streams == 0)
    until(lambda: other.get(at).json()["session"]["paused"])
    stub.reset()
    a_board(stub)
    for server in servers:
        with server.streaming("GET", f"{at}/events") as told:
            assert list(told)[-1]["type"] == "idle"
    assert stub.requests == []
    assert other.get(at).json()["session"]["paused"]


def _leave(_server: Server, events: Any) -> None:
    events.close()


def test_an_advisor_that_failed_can_be_retried_anywhere(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    told = one.session()
    session_id, last = told[0]["sessionId"], told[-2]["id"]
    stub.reset()
    a_board(stub)
    retried = other.post(f"/api/board/sessions/{session_id}/retry", {"personaId": "the-coach"})
    assert retried.status_code == 202
    more = rest_of(one, session_id, last)
    assert more[0]["type"] == "persona_start"
    assert any(e["type"] == "persona_complete" for e in more)
    assert asked_of(stub) == ["The Coach"]


def test_a_session_that_is_deleted_elsewhere_is_gone(
    servers: tuple[Server, Server], stub: StubServer
) -> None:
    one, other = servers
    a_board(stub, pace=50, words="word " * 500)
    with one.streaming("POST", "/api/board/session", json=SESSION) as events:
        session_id = next(events)["sessionId"]
        stub.wait(lambda s: s.open_streams == 8)
        assert other.client.delete(f"{other.url}/api/board/sessions/{session_id}").status_code == 204
        list(events)
    stub.wait(lambda s: s.open_streams == 0)
    assert one.get(f"/api/board/sessions/{session_id}").status_code == 404


def test_a_stream_does_not_end_before_the_session_does(several: Several, stub: StubServer) -> None:
    """Also where the process that serves is the one that takes the session over to drive it."""
    with several.server("--grace", "0") as server:
        for _ in range(3):
            a_board(stub, pace=50, words="word " * 500)
            with server.streaming("POST", "/api/board/session", json=SESSION) as events:
                heard = [next(events)]
                stub.wait(lambda s: s.open_streams == 8)
            stub.wait(lambda s: s.open_streams == 0)
            a_board(stub)
            heard += rest_of(server, heard[0]["sessionId"], 1)
            assert heard[-2]["type"] == "session_complete"
            assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))


# -- who drives ends -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_session_goes_on_elsewhere(several: Several, stub: StubServer, how: signal.Signals) -> None:
    for who in ("You are The Coach", "You are The Ethicist"):
        stub.on(who, Behaviour(text="word " * 2000, pace=60))
    with several.server("--no-work") as server, several.worker() as driver:
        with server.streaming("POST", "/api/board/session", json=SESSION) as events:
            heard = [next(events)]
            while sum(e["type"] == "persona_complete" for e in heard) < 6:
                heard.append(next(events))
            with several.worker():
                driver.send_signal(how)
                stub.wait(lambda s: s.open_streams == 0)
                stub.reset()
                a_board(stub)
                stub.wait(lambda s: len(s.requests) >= 2, timeout=15)
                heard.extend(events)
    assert heard[-2]["type"] == "session_complete"
    assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))
    assert sorted(asked_of(stub)) == ["The Coach", "The Ethicist"]
    assert all(_replies(heard)[who].endswith("of the lease.") for who in ("the-coach", "the-ethicist"))


def _replies(events: list[dict[str, Any]]) -> dict[str, str]:
    """What each advisor has said: a second beginning voids the first."""
    said: dict[str, str] = {}
    for event in events:
        match event:
            case {"type": "persona_start", "personaId": who}:
                said[who] = ""
            case {"type": "persona_token", "personaId": who, "token": token}:
                said[who] += token
    return said


def test_a_reply_that_begins_anew_in_another_process_is_not_joined(
    several: Several, stub: StubServer
) -> None:
    with several.server("--no-work") as server, several.worker() as driver, several.worker() as next_one:
        session_id = server.session()[0]["sessionId"]
        stub.reset()
        stub.default = ENDLESS
        with server.streaming("POST", "/api/board/challenge", json=challenged(session_id)) as events:
            next(events)
            stub.reset()
            stub.default = Behaviour(text="else " * 2000, pace=50)
            # Either has it: when both have ended, one that comes later begins it again.
            for process in (driver, next_one):
                process.kill()
            with several.worker():
                *_, last = events
        assert last["type"] == "error"
        assert "ask again" in last["message"]
        body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        until(lambda: stub.open_streams == 0)
        assert all(r["challenges"] == [] for r in body["responses"])


def test_calls_to_a_provider_are_counted_over_all_processes_and_a_killed_one_holds_none(
    several: Several, stub: StubServer
) -> None:
    config = "[limits.model_calls]\nopenai = 3\n[server]\nsessions_per_worker = 1\n"
    a_board(stub, pace=40, words="word " * 30)
    with several.server("--no-work") as server, several.worker(config) as one, several.worker(config):
        told: list[list[dict[str, Any]]] = []
        boards = [threading.Thread(target=lambda: told.append(server.session())) for _ in range(2)]
        for board in boards:
            board.start()
        # Each worker takes one session, so both are at it.
        stub.wait(lambda s: s.open_streams == 3 and len(s.requests) >= 5, timeout=20)
        one.kill()
        for board in boards:
            board.join(60)
        assert [events[-2]["type"] for events in told] == ["session_complete"] * 2
        assert stub.max_open_streams == 3


# -- processes on one port -------------------------------------------------------------------------


def test_several_processes_serve_one_port_and_end_with_the_first(several: Several, stub: StubServer) -> None:
    with several.server("--workers", "2") as server:
        children = _children(server.process)
        assert len(children) == 2
        a_board(stub, pace=50, words="word " * 20)
        told: list[list[dict[str, Any]]] = []
        boards = [threading.Thread(target=lambda: told.append(server.session())) for _ in range(4)]
        for board in boards:
            board.start()
        for board in boards:
            board.join(30)
        assert [one[-2]["type"] for one in told] == ["session_complete"] * 4
        # One that ends is started again.
        subprocess.run(["kill", "-KILL", str(children[0])], check=True)
        until(lambda: len(set(_children(server.process)) - set(children)) == 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        until(lambda: not any(_alive(child) for child in children[1:]))


def _children(process: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_several_processes_that_cannot_begin_say_why_and_end(tmp_path: Path) -> None:
    nowhere = f"postgresql://postgres@/moot?host={tmp_path}"
    ended = moot(
        *("serve", "--port", "0", "--workers", "2", "--database", nowhere),
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert ended.code == 1
    assert "cannot be used" in ended.err


@pytest.mark.parametrize("arguments", [("serve", "--workers", "2"), ("serve", "--no-work"), ("worker",)])
def test_several_processes_need_postgresql(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = moot(*arguments, env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 2
    assert "PostgreSQL" in ended.err
    assert "--database" in ended.err


def test_what_is_chosen_at_one_server_is_done_to_the_files_by_another(
    several: Several, tmp_path: Path, stub: StubServer
) -> None:
    stub.default = Brain()
    write_change(tmp_path / "shared" / "moot" / "changes" / "feat-auth")
    workspace = ("--workspace", str(tmp_path / "shared"))
    config = '[review]\nengine = "model"'
    with several.server("--no-work", *workspace) as one, several.server(*workspace, config=config) as other:
        here = AnyFormatClient.begin(one, "change", change="feat-auth")
        there = AnyFormatClient.begin(other, "change", change="feat-auth")
        ask = there.asked()
        assert ask is not None
        assert here.asked() == ask
        here.answer(ask, choice="challenge")
        assert [frame["type"] for frame in here.follow()][-1] == "idle"
        assert there.session["state"] == here.session["state"]
        assert here.session["state"]["files"]["standing"]["phase"] == "challenged"
        assert "ReviewCounted" in [frame.get("event", {}).get("type") for frame in here.frames]
