"""A session is driven by one process at a time, whoever watches it, wherever: every reply is asked for, and
paid, once.

Real processes on one SQLite file, which needs no set-up and is therefore where people start two of them.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from moot.server.hub import MOST_ASKED
from moot.server.sharing import LEASE_SECONDS
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer, running_stub
from tests.support.cluster import Several, new_database
from tests.support.command import MOOT, environment
from tests.support.mcp_client import over_stdio
from tests.support.postgres import running_postgresql
from tests.support.ready import Popen
from tests.support.server import DECISION, Server, a_board, serving
from tests.support.speaker import speaker
from tests.support.waiting import until

SESSION = {"decision": DECISION}
REPLIES = 9
"""Eight advisors and a brief."""


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def stub(shared_stub: StubServer) -> StubServer:
    shared_stub.reset()
    a_board(shared_stub)
    return shared_stub


class Processes:
    """Starts processes of one user: they share the default SQLite file."""

    def __init__(self, folder: Path, stub: StubServer) -> None:
        self.folder = folder
        self.stub = stub

    def server(self, *arguments: str) -> AbstractContextManager[Server]:
        return serving(self.folder, self.stub, *arguments)

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        return Popen(
            [*MOOT, *arguments],
            env=environment(self.folder, self.stub),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


@pytest.fixture
def processes(tmp_path: Path, stub: StubServer) -> Processes:
    return Processes(tmp_path, stub)


def events_of(server: Server, session_id: str) -> list[dict[str, Any]]:
    with server.streaming("GET", f"/api/board/sessions/{session_id}/events") as events:
        return list(events)


class Listening(threading.Thread):
    """Listens to a session to its end, in a thread."""

    def __init__(self, listen: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._listen = listen
        self.result: Any = None
        self.start()

    def run(self) -> None:
        self.result = self._listen()

    def heard(self) -> Any:
        self.join(90)
        assert not self.is_alive()
        return self.result


class Following(Listening):
    """Follows a session in a page's place."""

    def __init__(self, server: Server, session_id: str) -> None:
        self.begun = False
        self._server = server
        self._session_id = session_id
        super().__init__(self._follow)

    def _follow(self) -> list[dict[str, Any]]:
        heard = []
        with self._server.streaming("GET", f"/api/board/sessions/{self._session_id}/events") as events:
            for event in events:
                self.begun = self.begun or event["type"] == "persona_token"
                heard.append(event)
        return heard


def newest(server: Server) -> str:
    def listed() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = server.get("/api/board/sessions").json()["sessions"]
        return found

    until(listed)
    return str(listed()[0]["id"])


# -- on one SQLite file ----------------------------------------------------------------------------


def test_two_servers_with_a_listener_each_ask_for_every_reply_once(
    processes: Processes, stub: StubServer
) -> None:
    a_board(stub, pace=25, words="word " * 60)
    with processes.server() as one, processes.server() as other:
        with one.streaming("POST", "/api/board/session", json=SESSION) as events:
            heard = [next(events)]
            session_id = heard[0]["sessionId"]
            with other.streaming("GET", f"/api/board/sessions/{session_id}/events") as elsewhere:
                also = [next(elsewhere)]
                while also[-1]["type"] != "persona_token":
                    also.append(next(elsewhere))
                assert stub.open_streams, "heard while it is said"
                also.extend(elsewhere)
            heard.extend(events)
    assert heard == also
    assert heard[-2]["type"] == "session_complete"
    assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))
    assert (len(stub.requests), stub.completed) == (REPLIES, REPLIES)


def test_a_board_that_an_agent_convenes_is_paid_once_with_two_servers_and_a_terminal_on_it(
    processes: Processes, stub: StubServer
) -> None:
    a_board(stub, pace=25, words="word " * 3000)

    async def convene() -> Any:
        async with over_stdio(processes.folder, stub=stub) as client:
            return await client.call_tool("convene_board", {"decision": DECISION})

    with processes.server() as one, processes.server() as other:
        agent = Listening(lambda: asyncio.run(convene()))
        stub.wait(lambda s: s.open_streams == 8, timeout=60)
        session_id = newest(one)
        pages = [Following(server, session_id) for server in (one, other)]
        terminal = processes.command("board", "--resume", session_id, "--json")
        until(lambda: all(page.begun for page in pages))
        assert stub.open_streams == 8, "all are there while it is said"
        stub.hurry()
        out, _ = terminal.communicate(timeout=90)
        told = [page.heard() for page in pages]
        answer = agent.heard()
    assert not answer.is_error, answer
    assert answer.structured_content["brief"] is not None
    assert told[0] == told[1]
    assert told[0][-2]["type"] == "session_complete"
    assert '"summary": "Wait."' in out
    assert (len(stub.requests), stub.completed) == (REPLIES, REPLIES)


def test_a_board_in_a_terminal_is_watched_word_by_word_in_a_page(
    processes: Processes, stub: StubServer
) -> None:
    a_board(stub, pace=25, words="word " * 60)
    with processes.server() as server:
        terminal = processes.command("board", DECISION, "--no-questions", "--json")
        stub.wait(lambda s: s.open_streams == 8, timeout=60)
        session_id = newest(server)
        with server.streaming("GET", f"/api/board/sessions/{session_id}/events") as events:
            heard = [next(events)]
            while heard[-1]["type"] != "persona_token":
                heard.append(next(events))
            assert stub.open_streams, "heard while it is said"
            heard.extend(events)
        terminal.communicate(timeout=60)
    assert heard[-2]["type"] == "session_complete"
    assert sum(e["type"] == "persona_complete" for e in heard) == 8
    assert [e["id"] for e in heard[:-1]] == list(range(1, len(heard)))
    assert len(stub.requests) == REPLIES


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
def test_another_server_goes_on_with_a_session_whose_server_has_stopped(
    processes: Processes, stub: StubServer, how: signal.Signals
) -> None:
    for who in ("You are The Coach", "You are The Ethicist"):
        stub.on(who, Behaviour(text="word " * 5000, pace=30))
    with processes.server() as drives, processes.server() as add_listeners:
        with drives.streaming("POST", "/api/board/session", json=SESSION) as events:
            session_id = next(events)["sessionId"]
            until(lambda: len(_complete(add_listeners, session_id)) == 6)
            heard = Listening(lambda: events_of(add_listeners, session_id))
            until(lambda: add_listeners.get(f"/api/board/sessions/{session_id}").json()["session"]["live"])
            assert stub.open_streams == 2
            stub.reset()
            a_board(stub)
            drives.process.send_signal(how)
            told = heard.heard()
        if how is signal.SIGSTOP:
            asked = len(stub.requests)
            drives.process.send_signal(signal.SIGCONT)
            # Awake again, it lets its own streams go and asks for nothing.
            stub.wait(lambda s: s.open_streams == 0)
            events_of(drives, session_id)
            assert len(stub.requests) == asked
    assert told[-2]["type"] == "session_complete"
    assert sorted(_advisors(stub)) == ["The Coach", "The Ethicist"]
    assert len(stub.requests) == 3, "two advisors and the brief"


def _asked(stub: StubServer, who: str, times: int) -> bool:
    return _advisors(stub).count(who) == times


def _complete(server: Server, session_id: str) -> list[str]:
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    return [one["personaId"] for one in body["responses"] if one["isComplete"]]


def _advisors(stub: StubServer) -> list[str]:
    return [speaker(r) for r in stub.requests if r.schema is None]


def test_a_reply_that_is_broken_off_again_and_again_is_not_asked_for_for_ever(
    processes: Processes, stub: StubServer
) -> None:
    """Whatever it is that keeps breaking it off: here, somebody who comes and goes."""
    stub.on("You are The Coach", *[Behaviour(text="word " * 5000, pace=30)] * 50)
    with processes.server("--grace", "0") as server:
        with server.streaming("POST", "/api/board/session", json=SESSION) as events:
            session_id = next(events)["sessionId"]
            until(lambda: len(_complete(server, session_id)) == 7)
        path = f"/api/board/sessions/{session_id}/events"
        for asked in range(2, MOST_ASKED + 1):
            stub.wait(lambda s: s.open_streams == 0)
            with server.streaming("GET", path, headers={"Last-Event-ID": "0"}):
                until(partial(_asked, stub, "The Coach", asked))
        stub.wait(lambda s: s.open_streams == 0)
        with server.streaming("GET", path, headers={"Last-Event-ID": "0"}) as events:
            told = list(events)
        assert told[-2]["type"] == "session_complete"
        [failed] = [e for e in told if e["type"] == "persona_error"]
        assert failed["personaId"] == "the-coach"
        assert "try again" in failed["message"]
        assert _advisors(stub).count("The Coach") == MOST_ASKED
        # The person may.
        stub.reset()
        a_board(stub)
        assert (
            server.post(f"/api/board/sessions/{session_id}/retry", {"personaId": "the-coach"}).status_code
            == 202
        )
        # Without grace it may be paused again before anybody listens: whoever takes it up goes on with it.
        with server.streaming("GET", path, headers={"Last-Event-ID": "0"}) as events:
            assert list(events)[-2]["type"] == "session_complete"
        assert set(_advisors(stub)) == {"The Coach"}
        assert len(_complete(server, session_id)) == 8


# -- on PostgreSQL ---------------------------------------------------------------------------------


def test_a_worker_that_wakes_from_a_freeze_takes_nothing_back(
    tmp_path_factory: pytest.TempPathFactory, stub: StubServer
) -> None:
    place = tmp_path_factory.mktemp("pg")
    with running_postgresql(place) as url:
        several = Several(tmp_path_factory.mktemp("frozen"), stub, new_database(url, "frozen"))
        freeze(several, stub, times=1, seconds=LEASE_SECONDS + 2)


def freeze(several: Several, stub: StubServer, *, times: int, seconds: float) -> None:
    """A worker is frozen in the middle of a board; another goes on with it, and is still at it when the first
    wakes up. What the frozen one asked for never becomes whole, so that every whole reply is paid once."""
    ordinary: Any = stub.default

    def answer(request: Recorded) -> Any:
        if request.schema is not None:
            return ordinary(request)
        return Behaviour(text="word " * 3000, pace=20)

    for _ in range(times):
        stub.reset()
        stub.default = answer
        with several.server("--no-work") as server, several.worker() as first:
            with server.streaming("POST", "/api/board/session", json=SESSION) as events:
                stub.wait(lambda s: s.open_streams == 8, timeout=60)
                with several.worker():
                    first.send_signal(signal.SIGSTOP)
                    stub.wait(lambda s: len(s.requests) == 16, timeout=60)
                    time.sleep(seconds)
                    first.send_signal(signal.SIGCONT)
                    # It lets its own streams go; the other's go on.
                    stub.wait(lambda s: s.clients_left == 8, timeout=60)
                    assert stub.open_streams == 8
                    stub.hurry()
                    assert list(events)[-2]["type"] == "session_complete"
        stub.wait(lambda s: s.completed == REPLIES)
        assert len(stub.requests) == 8 + REPLIES
