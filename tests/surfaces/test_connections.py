"""Clients who send too much, too slowly or not at all, on real sockets: the server hangs up, and says why."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from moot.server.http import MAX_BODY, MAX_EVIDENCE
from tests.stub.server import StubServer, running_stub
from tests.support.mcp_client import serving as serving_mcp
from tests.support.server import DECISION, Server, a_board, serving

PATIENCE = 20.0
"""Seconds that a test waits for the server to hang up; then it fails."""

LOW = "header_seconds = 0.5\nbody_seconds = 0.5\nidle_seconds = 0.5\n"


def settings(folder: Path) -> Path:
    place = folder / "config" / "moot"
    place.mkdir(parents=True)
    (place / "config.toml").write_text(f"[server]\n{LOW}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        a_board(stub)
        yield stub


@pytest.fixture(scope="module")
def page(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(settings(tmp_path_factory.mktemp("page")), stub) as server:
        yield server


@pytest.fixture(scope="module")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_mcp(settings(tmp_path_factory.mktemp("mcp"))) as url:
        yield url


@pytest.fixture(params=["page", "mcp"])
def port(request: pytest.FixtureRequest, page: Server, mcp: str) -> int:
    found = urlsplit(page.url if request.param == "page" else mcp).port
    assert found is not None
    return found


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        yield client


def until_closed(client: socket.socket) -> bytes:
    """All that is answered until the server hangs up."""
    answered = b""
    try:
        while piece := client.recv(65_536):
            answered += piece
    except ConnectionResetError:
        pass
    return answered


def status(answered: bytes) -> int:
    return int(answered.split(b" ", 2)[1])


def keep_sending(client: socket.socket, piece: bytes, pause: float) -> threading.Event:
    """From a thread, for as long as the server takes it."""
    stop = threading.Event()

    def send() -> None:
        try:
            while not stop.wait(pause):
                client.sendall(piece)
        except OSError:
            pass

    threading.Thread(target=send, daemon=True).start()
    return stop


def head(port: int, method: str = "POST", path: str = "/api/board/questions") -> bytes:
    """Of a request that both servers would hear out."""
    lines = (
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    )
    return "".join(f"{line}\r\n" for line in lines).encode()


# -- too slowly ----------------------------------------------------------------------------------


def test_who_says_nothing_is_hung_up_on(port: int) -> None:
    with connected(port) as client:
        assert until_closed(client) == b""


def test_headers_that_do_not_end_are_given_up(port: int) -> None:
    with connected(port) as client:
        client.sendall(head(port))
        assert status(until_closed(client)) == 408


def test_a_header_at_a_time_gains_no_time(port: int) -> None:
    with connected(port) as client:
        client.sendall(head(port))
        stop = keep_sending(client, b"X-More: 1\r\n", 0.05)
        answered = until_closed(client)
        stop.set()
    assert status(answered) == 408


@pytest.mark.parametrize("then", [b"", b"\r\n", b"GET / HT"], ids=["idle", "blank line", "begun"])
def test_a_kept_connection_is_not_kept_for_nothing(port: int, then: bytes) -> None:
    with connected(port) as client:
        client.sendall(head(port, "GET", "/nowhere") + b"\r\n")
        assert status(client.recv(65_536)) in (200, 404)
        client.sendall(then)
        until_closed(client)


@pytest.mark.parametrize("path", ["/api/board/questions", "/mcp", "/nowhere"])
def test_a_body_that_does_not_end_is_given_up(port: int, path: str) -> None:
    with connected(port) as client:
        client.sendall(head(port, path=path) + b"Content-Length: 1000\r\n\r\n{")
        assert status(until_closed(client)) in (404, 405, 408)


def test_a_body_that_trickles_gains_no_time(page: Server) -> None:
    port = urlsplit(page.url).port
    assert port is not None
    with connected(port) as client:
        client.sendall(head(port) + b"Content-Length: 100000\r\n\r\n{")
        stop = keep_sending(client, b" ", 0.05)
        answered = until_closed(client)
        stop.set()
    assert status(answered) == 408


def test_a_stream_outlives_all_these_limits(page: Server, stub: StubServer) -> None:
    a_board(stub, pace=4)
    try:
        with page.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
            told = [event["type"] for event in events]
    finally:
        a_board(stub)
    assert told[-2] == "session_complete"


# -- too much ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n",
        b"".join(b"X-%d: 1\r\n" % n for n in range(200)) + b"\r\n",
        b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(50)) + b"\r\n",
        b"X-Endless: " + b"x" * 400_000,
    ],
    ids=["one long", "many", "many long", "endless"],
)
def test_too_large_headers_are_refused(port: int, more: bytes) -> None:
    with connected(port) as client:
        try:
            client.sendall(head(port) + more)
        except OSError:
            return
        answered = until_closed(client)
    assert answered == b"" or status(answered) == 431


def test_headers_of_a_usual_size_pass(port: int) -> None:
    cookies = b"Cookie: " + b"; ".join(b"c%d=%s" % (n, b"x" * 200) for n in range(60)) + b"\r\n"
    with connected(port) as client:
        client.sendall(head(port, "GET", "/nowhere") + cookies + b"X-A: 1\r\n" * 30 + b"\r\n")
        assert status(client.recv(65_536)) in (200, 404)


@pytest.mark.parametrize(
    ("path", "most"),
    [("/api/board/challenge", MAX_BODY), ("/api/evidence", MAX_EVIDENCE), ("/mcp", MAX_EVIDENCE)],
)
def test_a_chunked_body_is_counted_as_it_comes(path: str, most: int, page: Server, mcp: str) -> None:
    url = urlsplit(mcp if path == "/mcp" else f"{page.url}{path}")
    assert url.port is not None
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connected(url.port) as client:
        client.sendall(head(url.port, path=url.path) + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(most // 0x10000 + 1):
            client.sendall(chunk)
        client.sendall(b"0\r\n\r\n")
        assert status(until_closed(client)) == 413


def test_who_was_refused_cannot_go_on_sending(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"POST /mcp HTTP/1.1\r\nHost: elsewhere.example\r\nTransfer-Encoding: chunked\r\n\r\n")
        stop = keep_sending(client, b"10000\r\n" + b" " * 0x10000 + b"\r\n", 0.001)
        answered = until_closed(client)
        stop.set()
    assert status(answered) in (400, 413, 421)


def test_the_server_goes_on_after_all_this(page: Server) -> None:
    assert json.loads(page.get("/healthz").text)
