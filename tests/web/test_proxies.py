"""What a proxy says of a client is believed of those proxies alone that the settings name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.web.proxies import Proxies
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.server import DECISION, serving

SESSION = "/api/board/session"
SAID = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-forwarded-host": "moot.example"}


def test_a_client_cannot_be_somebody_else_by_saying_so(stub: StubServer, tmp_path: Path) -> None:
    """Not on loopback either, where uvicorn would believe it."""
    settings = tmp_path / "config" / "moot"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[limits]\nsessions_per_client = 1\n", encoding="utf-8")
    stub.default = Behaviour(text="word " * 500, pace=50)
    asked = {"decision": DECISION}
    with serving(tmp_path, stub) as server, server.streaming("POST", SESSION, json=asked) as events:
        next(events)
        stub.wait(lambda s: s.open_streams == 8)
        for number in range(3):
            other = {"X-Forwarded-For": f"203.0.113.{number}"}
            assert server.post(SESSION, asked, headers=other).status_code == 429


def seen(
    peer: str | None, said: dict[str, str] | list[tuple[str, str]], *trusted: str, identity: str = ""
) -> tuple[str | None, str, dict[str, str]]:
    """The client, the scheme and the headers that the application is told of."""
    told: list[Any] = []
    headers = said.items() if isinstance(said, dict) else said

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        told.append(scope)

    async def whole() -> None:
        scope = {
            "type": "http",
            "scheme": "http",
            "client": (peer, 1234) if peer is not None else None,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        }
        await Proxies(app, trusted=trusted, identity_header=identity)(scope, None, None)  # type: ignore[arg-type]

    asyncio.run(whole())
    (scope,) = told
    passed = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    return scope["client"] and scope["client"][0], scope["scheme"], passed


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.1.2.3", None])
def test_by_default_nobody_is_believed(peer: str | None) -> None:
    client, scheme, headers = seen(peer, {"host": "here", **SAID})
    assert (client, scheme, headers["host"]) == (peer, "http", "here")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "6.6.6.6, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
    ],
)
def test_the_client_is_the_last_address_that_no_proxy_of_ours_has(
    peer: str, forwarded: str, client: str
) -> None:
    assert seen(peer, {"x-forwarded-for": forwarded}, "10.0.0.0/8")[0] == client


def test_a_trusted_proxy_says_the_scheme_and_the_name() -> None:
    _, scheme, headers = seen("10.0.0.1", {"host": "here", **SAID}, "10.0.0.1")
    assert (scheme, headers["host"]) == ("https", "moot.example")
    _, scheme, _ = seen("10.0.0.1", {"x-forwarded-proto": "javascript"}, "10.0.0.1")
    assert scheme == "http"


def test_who_it_is_reaches_the_server_from_a_trusted_proxy_alone() -> None:
    said = {"x-remote-user": "ada"}
    assert seen("10.0.0.1", said, "10.0.0.1", identity="X-Remote-User")[2] == said
    assert seen("10.0.0.2", said, "10.0.0.1", identity="X-Remote-User")[2] == {}


def test_of_two_names_neither_is_believed() -> None:
    said = [("x-remote-user", "ada"), ("x-remote-user", "bob")]
    assert seen("10.0.0.1", said, "10.0.0.1", identity="X-Remote-User")[2] == {}


@given(st.text(st.characters(max_codepoint=255), max_size=60))
@settings(deadline=None)
def test_whatever_a_stranger_says_changes_nothing(said: str) -> None:
    headers = dict.fromkeys(SAID, said) | {"host": "here"}
    client, scheme, passed = seen("192.0.2.1", headers, "10.0.0.0/8")
    assert (client, scheme, passed["host"]) == ("192.0.2.1", "http", "here")


@given(st.text(st.characters(max_codepoint=255), max_size=60))
@settings(deadline=None)
def test_whatever_a_trusted_proxy_says_is_borne(said: str) -> None:
    client, scheme, _ = seen("10.0.0.1", dict.fromkeys(SAID, said), "10.0.0.0/8")
    assert client
    assert scheme in ("http", "https")
