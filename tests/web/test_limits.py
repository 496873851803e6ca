"""Limits as a client meets them, and clients who do not read."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.server import DECISION, Server, a_board, serving

SESSION = {"decision": DECISION}


@contextmanager
def limited(folder: Path, stub: StubServer, limits: str) -> Iterator[Server]:
    settings = folder / "config" / "moot"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
    with serving(folder, stub, "--grace", "0") as server:
        yield server


@pytest.mark.parametrize(
    ("limits", "words"), [("sessions = 1", "sessions than 1"), ("sessions_per_client = 1", "than 1 of your")]
)
def test_one_session_too_many_is_429_and_says_when_to_try_again(
    tmp_path: Path, stub: StubServer, limits: str, words: str
) -> None:
    a_board(stub)
    with limited(tmp_path, stub, limits) as server:
        resting = server.session()[0]["sessionId"]
        stub.default = Behaviour(text="word " * 2000, pace=50)
        with server.streaming("POST", "/api/board/session", json=SESSION) as events:
            session_id = next(events)["sessionId"]
            stub.wait(lambda s: s.open_streams == 8)
            asked: dict[str, Any] = {"decision": DECISION}
            for path in ("session", "questions"):
                refused = server.post(f"/api/board/{path}", asked)
                assert refused.status_code == 429, path
                assert int(refused.headers["retry-after"]) > 0
                assert words in refused.json()["error"]
            # What is under way, or needs no model, is not one more.
            with server.streaming("GET", f"/api/board/sessions/{session_id}/events") as also:
                next(also)
            with server.streaming("GET", f"/api/board/sessions/{resting}/events") as told:
                assert list(told)[-2]["type"] == "session_complete"
        # Its lease is given back once its streams are closed.
        path = f"/api/board/sessions/{session_id}"
        stub.wait(lambda s: s.open_streams == 0 and server.get(path).json()["session"]["paused"])
        a_board(stub)
        assert server.session()[-2]["type"] == "session_complete"


SLOW = 50


def test_clients_who_do_not_read_slow_nobody_and_miss_nothing(tmp_path: Path, stub: StubServer) -> None:
    a_board(stub, pace=400, words=("x" * 400 + " ") * 400)
    with serving(tmp_path, stub) as server, ExitStack() as opened:
        with server.streaming("POST", "/api/board/session", json=SESSION) as events:
            heard = [next(events)]
            slow = [opened.enter_context(socket.socket()) for _ in range(SLOW)]
            for one in slow:
                ask_and_do_not_read(one, server, heard[0]["sessionId"])
            # By then the server has loaded all that it needs to ask a model.
            stub.wait(lambda s: s.open_streams == 8, 30)
            before = memory(server)
            heard.extend(events)
            said = sum(len(e.get("token", "")) for e in heard)
            assert said > 1_200_000
            assert memory(server) - before < SLOW * said / 2, "nothing is kept for each"
        body = b""
        while piece := slow[0].recv(1 << 20):
            body += piece
    lines = body.partition(b"\r\n\r\n")[2].splitlines()
    also = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    assert also == [{name: value for name, value in e.items() if name != "id"} for e in heard]


def ask_and_do_not_read(client: socket.socket, server: Server, session: str) -> None:
    """With little room on the way, so that what is not read soon waits in the server."""
    client.settimeout(30)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    address = server.url.removeprefix("http://")
    host, _, port = address.partition(":")
    client.connect((host, int(port)))
    client.sendall(f"GET /api/board/sessions/{session}/events HTTP/1.0\r\nHost: {address}\r\n\r\n".encode())


def memory(server: Server) -> int:
    """What the server holds, in bytes, without the files that it has mapped."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")) * 1024
