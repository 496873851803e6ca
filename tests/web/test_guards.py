"""Who is answered: this machine's own pages and whoever has the token; and what browsers are told."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from moot.app import Moot
from moot.web.app import create_app
from tests.stub.server import StubServer, running_stub
from tests.support.server import DECISION, Server, a_board, serving

SESSIONS, QUESTIONS, SESSION = "/api/board/sessions", "/api/board/questions", "/api/board/session"

STRICT = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        a_board(stub)
        yield stub


@pytest.fixture(scope="module")
def server(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), stub) as server:
        yield server


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        assert self.headers["content-type"] == "application/json"
        body = json.loads(self.body)
        assert list(body) == ["error"]
        return str(body["error"])


def ask(url: str, method: str, path: str, body: Any = None, **headers: str) -> Answered:
    """A request whose address and headers are sent as they are: better clients would mend both."""
    address = urlsplit(url)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(address.netloc, timeout=30)
    try:
        connection.putrequest(method, path, skip_host="Host" in given)
        content = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        for name, value in given.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders(content or None)
        answer = connection.getresponse()
        said = {name.lower(): value for name, value in answer.getheaders()}
        return Answered(answer.status, said, answer.read())
    finally:
        connection.close()


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1@evil.example",
        "10.0.0.1",
        "0.0.0.0",
        "[::2]",
        "",
        "\xff",
    ],
)
def test_a_name_that_was_made_to_point_here_is_not_answered(server: Server, host: str) -> None:
    for path in ("/", SESSIONS, "/healthz", "/openapi.json"):
        answered = ask(server.url, "GET", path, Host=host)
        assert answered.status == 400
        assert answered.error.startswith("This server does not answer to the name ")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "[::1]", "127.0.0.1:1", "localhost:8642"]
)
def test_this_machine_s_own_names_are_answered(server: Server, host: str) -> None:
    assert ask(server.url, "GET", SESSIONS, Host=host).status == 200


# -- sites -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://evil.example/127.0.0.1:{port}",
        "null",
        "",
        "http://[",
        "http://[::1",
        "\xff",
    ],
)
def test_another_site_cannot_post_or_delete(server: Server, stub: StubServer, origin: str) -> None:
    before = len(stub.requests)
    origin = origin.replace("{port}", str(urlsplit(server.url).port))
    for method, path, body in (
        ("POST", QUESTIONS, {"decision": DECISION}),
        ("POST", SESSION, {"decision": DECISION}),
        ("DELETE", f"{SESSIONS}/x", None),
        ("OPTIONS", QUESTIONS, None),
    ):
        answered = ask(server.url, method, path, body, Origin=origin)
        assert answered.status == 403
        assert answered.error == "Requests from other sites are not answered."
        assert "access-control-allow-origin" not in answered.headers
    assert len(stub.requests) == before


def test_no_other_site_s_page_drives_a_workflow(server: Server, stub: StubServer) -> None:
    before = len(stub.requests)
    for path, body in (
        ("/api/sessions", {"format": "workflow", "opening": {"idea": "Send my files away"}}),
        ("/api/sessions/workflow-x/answers", {"step": "triage", "key": "1", "choice": "skip"}),
        ("/api/sessions/workflow-x/go-on", {}),
        ("/api/sessions/workflow-x/stop", {}),
    ):
        assert ask(server.url, "POST", path, body, Origin="https://evil.example").status == 403
        assert ask(server.url, "POST", path, body, Sec_Fetch_Site="cross-site").status == 403
        assert ask(server.url, "POST", path, body, Host="evil.example").status == 400
    assert (
        ask(server.url, "GET", "/api/sessions/workflow-x/events", Sec_Fetch_Site="cross-site").status == 403
    )
    assert len(stub.requests) == before


def test_another_site_cannot_read_but_may_link_to_the_page(server: Server) -> None:
    answered = ask(server.url, "GET", SESSIONS, Origin="https://evil.example")
    assert answered.status == 403
    assert "access-control-allow-origin" not in answered.headers
    assert answered.headers["cross-origin-resource-policy"] == "same-origin"
    assert ask(server.url, "GET", "/", **{"Sec-Fetch-Site": "cross-site"}).status == 200


def test_the_page_itself_and_programs_without_an_origin_can_post(server: Server) -> None:
    body = {"decision": DECISION}
    assert ask(server.url, "POST", QUESTIONS, body).status == 200
    assert ask(server.url, "POST", QUESTIONS, body, Origin=server.url).status == 200
    named = server.url.replace("127.0.0.1", "localhost")
    host = urlsplit(named).netloc
    assert ask(server.url, "POST", QUESTIONS, body, Origin=named, Host=host).status == 200


# -- headers ---------------------------------------------------------------------------------------


def test_every_answer_tells_the_browser_to_be_strict(server: Server) -> None:
    stream = ask(server.url, "POST", SESSION, {"decision": DECISION})
    assert stream.headers["content-type"].startswith("text/event-stream")
    session_id = json.loads(stream.body.splitlines()[1].removeprefix(b"data: "))["sessionId"]
    answers = {
        "stream": stream,
        "page": ask(server.url, "GET", "/"),
        "an address of the page": ask(server.url, "GET", "/sessions/1"),
        "api": ask(server.url, "GET", SESSIONS),
        "export": ask(server.url, "GET", f"{SESSIONS}/{session_id}/export?format=html"),
        "events": ask(server.url, "GET", f"{SESSIONS}/{session_id}/events"),
        "health": ask(server.url, "GET", "/healthz"),
        "document": ask(server.url, "GET", "/openapi.json"),
        "not found": ask(server.url, "GET", "/api/nothing"),
        "not allowed": ask(server.url, "PUT", SESSIONS),
        "not valid": ask(server.url, "POST", QUESTIONS, {}),
        "too large": ask(server.url, "POST", "/api/board/challenge", "x" * (2 << 20)),
        "another name": ask(server.url, "GET", "/", Host="evil.example"),
        "another site": ask(server.url, "POST", QUESTIONS, {}, Origin="https://evil.example"),
        "deleted": ask(server.url, "DELETE", f"{SESSIONS}/{session_id}"),
    }
    for name, answered in answers.items():
        for header, value in STRICT.items():
            assert answered.headers.get(header) == value, (name, header)
    statuses = {name: answered.status for name, answered in answers.items()}
    expected = {
        "not found": 404, "not allowed": 405, "not valid": 400, "too large": 413, "another name": 400,
        "another site": 403, "deleted": 204,
    }  # fmt: skip
    assert {name: statuses[name] for name in expected} == expected


def test_a_mistake_of_ours_is_told_as_strictly_and_without_its_innards() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/model",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    app = create_app(cast("Moot", None))  # the mistake
    with pytest.raises(AttributeError):
        asyncio.run(app(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    answered = Answered(sent[0]["status"], headers, sent[1]["body"])
    assert (answered.status, answered.error) == (500, "Something failed on this side.")
    assert STRICT.items() <= headers.items()


# -- the token -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guarded:
    url: str
    token: str


@pytest.fixture(scope="module")
def guarded(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server that is open to the network."""
    with serving(tmp_path_factory.mktemp("guarded"), stub, "--host", "0.0.0.0") as server:
        url, _, token = server.url.partition("/?token=")
        yield Guarded(url, token)


def test_the_printed_address_has_a_token_that_cannot_be_guessed(guarded: Guarded, server: Server) -> None:
    assert guarded.url.startswith("http://127.0.0.1:")
    assert len(guarded.token) >= 32
    assert "token" not in server.url, "on this machine alone none is needed"


def test_without_the_token_only_the_page_and_the_health_are_told(guarded: Guarded) -> None:
    for path in (SESSIONS, "/api", "/api/", "/api/nothing", "/api/sign-in/", "/openapi.json", "/docs"):
        answered = ask(guarded.url, "GET", path)
        assert answered.status == 401, path
        assert "token" in answered.error
        assert guarded.token not in answered.body.decode()
        assert STRICT.items() <= answered.headers.items()
    assert ask(guarded.url, "POST", QUESTIONS, {"decision": DECISION}).status == 401
    assert ask(guarded.url, "GET", "/healthz").status == 200
    for path in ("/", "/index.html", "/healthz/", "/s/x"):
        assert b'<div id="root">' in ask(guarded.url, "GET", path).body


def test_the_token_opens_as_a_bearer_in_the_address_and_as_the_cookie_it_leaves(guarded: Guarded) -> None:
    assert ask(guarded.url, "GET", SESSIONS, Authorization=f"Bearer {guarded.token}").status == 200
    opened = ask(guarded.url, "GET", f"/s/x?a=1&token={guarded.token}&b=2")
    assert (opened.status, opened.headers["location"]) == (303, "/s/x?a=1&b=2"), "it does not stay there"
    cookie, *attributes = opened.headers["set-cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=1209600", "Path=/", "SameSite=Strict"]
    assert guarded.token not in cookie
    assert ask(guarded.url, "GET", SESSIONS, Cookie=f"moot={guarded.token}").status == 401
    assert ask(guarded.url, "GET", SESSIONS, Cookie=cookie).status == 200
    body = {"decision": DECISION}
    assert ask(guarded.url, "POST", QUESTIONS, body, Cookie=cookie, Origin=guarded.url).status == 200
    assert (
        ask(guarded.url, "POST", QUESTIONS, body, Cookie=cookie, Origin="https://evil.example").status == 403
    )


def test_an_address_with_a_token_leads_nowhere_else(guarded: Guarded) -> None:
    for path in ("//evil.example/", "/\\evil.example/", "///evil.example"):
        answered = ask(guarded.url, "GET", f"{path}?token={guarded.token}")
        location = answered.headers["location"]
        assert (answered.status, location[0]) == (303, "/")
        assert location[1] not in "/\\"


def test_cookies_of_other_servers_on_this_machine_are_no_hindrance(guarded: Guarded) -> None:
    cookie = ask(guarded.url, "GET", f"/?token={guarded.token}").headers["set-cookie"].split("; ")[0]
    for others in ("a@b=1", "a[]=1", "=", "nothing", '"', "expires=never", "moot=wrong", "x=\xff"):
        mixed = f"{others}; {cookie}; c=2"
        assert ask(guarded.url, "GET", SESSIONS, Cookie=mixed).status == 200, others
        assert ask(guarded.url, "GET", SESSIONS, Cookie=others).status == 401, others


def test_a_wrong_token_opens_nothing_and_leaves_nothing(guarded: Guarded) -> None:
    token = guarded.token
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase(), "é", "\xff"):
        answers = (
            ask(guarded.url, "GET", SESSIONS, Authorization=f"Bearer {wrong}"),
            ask(guarded.url, "GET", SESSIONS, Authorization=f"Basic {token}"),
            ask(guarded.url, "GET", SESSIONS, Cookie=f"moot={wrong}"),
            ask(guarded.url, "GET", SESSIONS, Cookie=f"other={token}"),
            ask(guarded.url, "GET", f"{SESSIONS}?nottoken={token}"),
        )
        assert {answered.status for answered in answers} == {401}, wrong
        assert all("set-cookie" not in answered.headers for answered in answers)
        address = f"/?token={wrong.encode('unicode_escape').decode()}"
        visited = ask(guarded.url, "GET", address)
        assert (visited.status, visited.headers["location"]) == (303, "/")
        assert "set-cookie" not in visited.headers


def test_an_open_server_answers_to_its_addresses_but_not_to_other_names(guarded: Guarded) -> None:
    bearer = f"Bearer {guarded.token}"
    for host in ("192.168.7.7:8642", "[fe80::1]:8642", "localhost"):
        assert ask(guarded.url, "GET", SESSIONS, Host=host, Authorization=bearer).status == 200
    for host in ("evil.example", "192.168.7.7.evil.example"):
        assert ask(guarded.url, "GET", SESSIONS, Host=host, Authorization=bearer).status == 400


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fpyproject.toml",
        "/..%2fapp.py",
        "/../app.py",
        "/assets/../../app.py",
        "/assets/..%2f..%2fapp.py",
        "/assets/%2e%2e/%2e%2e/app.py",
        "/..%5capp.py",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/~/.ssh/id_rsa",
        "/%00",
        "/index.html%00.js",
        "/assets",
        "/" + "x" * 300,
        "/" + "x/" * 2_000,
        "/%ff%fe",
    ],
)
def test_no_address_leads_out_of_the_page_s_folder(server: Server, path: str) -> None:
    answered, page = ask(server.url, "GET", path), ask(server.url, "GET", "/")
    assert (answered.status, answered.body) == (page.status, page.body)


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/nothing", "/api/board", "/api/board/personas/", "/api/../app.py"]
)
def test_an_unknown_address_of_the_api_is_not_found(server: Server, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        answered = ask(server.url, method, path)
        assert (answered.status, answered.error) == (404, "Not Found")


def test_a_method_that_an_address_does_not_have_is_not_allowed(server: Server) -> None:
    for method, path in (("PUT", SESSIONS), ("GET", QUESTIONS), ("POST", "/healthz"), ("POST", "/")):
        answered = ask(server.url, method, path)
        assert (answered.status, answered.error) == (405, "Method Not Allowed")
