"""Clients for sessions of any format, over HTTP and over MCP: they know the routes or the tools, and what
every ask and every frame has. What one can do, the other can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

import jsonschema_rs
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mcp import Client
from moot.app import Moot
from moot.web.app import create_app
from tests.support.mcp_client import used
from tests.support.server import Server

Ask = dict[str, Any]
Frame = dict[str, Any]
Item = dict[str, Any]
Choose = Callable[[Ask], dict[str, Any] | None]


class AnyClient(Protocol):
    given: dict[str, Any] | None
    """What came of the evidence that the session was begun with."""

    @property
    def session(self) -> dict[str, Any]: ...
    def give(self, *items: Item) -> dict[str, Any]: ...
    def read(self, number: str) -> dict[str, Any]: ...
    def correct(self, text: str, key: str | None = None, *, undo: bool = False) -> list[dict[str, Any]]: ...
    def play(self, choose: Choose) -> None:
        """Answers whatever is asked, until nothing is asked or there is no answer."""


class Begin(Protocol):
    def __call__(self, format_: str, opening: dict[str, Any], *evidence: Item) -> AnyClient: ...


DOCUMENT: dict[str, Any] = create_app(cast("Moot", None)).openapi()
_EVENTS = DOCUMENT["paths"]["/api/sessions/{session_id}/events"]["get"]["responses"]["200"]["content"]
_DESCRIBED = jsonschema_rs.validator_for(
    {
        **_EVENTS["text/event-stream"]["itemSchema"]["properties"]["data"]["contentSchema"],
        "components": DOCUMENT["components"],
    }
)


class AnyFormatClient:
    def __init__(self, server: Server, session_id: str) -> None:
        self.server = server
        self.path = f"/api/sessions/{session_id}"
        self.frames: list[Frame] = []
        self.given: dict[str, Any] | None = None

    @classmethod
    def begin_with(cls, server: Server, format_: str, opening: dict[str, Any], *evidence: Item) -> AnyClient:
        asked = {"format": format_, "opening": opening, "evidence": list(evidence)}
        response = server.post("/api/sessions", asked)
        assert response.status_code == 201, response.text
        client = cls(server, response.json()["session"]["id"])
        client.given = response.json()["given"]
        return client

    @classmethod
    def begin(cls, server: Server, format_: str, **opening: Any) -> AnyFormatClient:
        response = server.post("/api/sessions", {"format": format_, "opening": opening})
        assert response.status_code == 201, response.text
        return cls(server, response.json()["session"]["id"])

    @property
    def session(self) -> dict[str, Any]:
        response = self.server.get(self.path)
        assert response.status_code == 200, response.text
        session: dict[str, Any] = response.json()["session"]
        return session

    @property
    def newest(self) -> int:
        return max((frame["id"] for frame in self.frames if frame["id"] is not None), default=0)

    def follow(self, *, go_on: bool = False) -> list[Frame]:
        """Everything that there is to hear until nothing is under way."""
        if go_on:
            assert self.server.post(f"{self.path}/go-on").status_code == 202
        heard = []
        with self.server.streaming("GET", f"{self.path}/events", params={"after": self.newest}) as frames:
            for frame in frames:
                _DESCRIBED.validate({name: value for name, value in frame.items() if name != "id"})
                heard.append(frame)
                self.frames.append(frame)
        return heard

    def asked(self) -> Ask | None:
        """What it waits for."""
        return _first(self.session["asks"])

    def answer(self, ask: Ask, **answer: Any) -> None:
        response = self.server.post(f"{self.path}/answers", {**_which(ask), **answer})
        assert response.status_code == 202, response.text

    def give(self, *items: Item) -> dict[str, Any]:
        response = self.server.post(f"{self.path}/evidence", {"items": list(items)})
        assert response.status_code == 200, response.text
        given: dict[str, Any] = response.json()
        return given

    def read(self, number: str) -> dict[str, Any]:
        response = self.server.get(f"{self.path}/evidence/{number}")
        assert response.status_code == 200, response.text
        item: dict[str, Any] = response.json()
        return item

    def correct(self, text: str, key: str | None = None, *, undo: bool = False) -> list[dict[str, Any]]:
        response = self.server.post(f"{self.path}/decided", {"text": text, "key": key, "undo": undo})
        assert response.status_code == 200, response.text
        ledger: list[dict[str, Any]] = response.json()["ledger"]
        return ledger

    def play(self, choose: Choose) -> None:
        self.follow(go_on=True)
        while (ask := self.asked()) is not None and (answer := choose(ask)) is not None:
            self.answer(ask, **answer)
            self.follow()


class AnyFormatAgent:
    def __init__(self, call: Callable[..., Any], begun: dict[str, Any]) -> None:
        self._call = call
        self._standing = begun
        self._id = begun["id"]
        self.given: dict[str, Any] | None = begun["given"]

    @property
    def session(self) -> dict[str, Any]:
        session: dict[str, Any] = self._call("get_session", session_id=self._id, include_state=True)
        return session

    def give(self, *items: Item) -> dict[str, Any]:
        given: dict[str, Any] = self._call("give_evidence", session_id=self._id, items=list(items))
        return given

    def read(self, number: str) -> dict[str, Any]:
        item: dict[str, Any] = self._call("read_evidence", session_id=self._id, item=number)
        return item

    def correct(self, text: str, key: str | None = None, *, undo: bool = False) -> list[dict[str, Any]]:
        told = self._call("correct_decided", session_id=self._id, text=text, key=key, undo=undo)
        ledger: list[dict[str, Any]] = told["ledger"]
        return ledger

    def play(self, choose: Choose) -> None:
        while (ask := _first(self._standing["asks"])) is not None and (answer := choose(ask)) is not None:
            self._standing = self._call("answer_session", session_id=self._id, **_which(ask), **answer)


@contextmanager
def agents(connecting: Callable[[], Any]) -> Iterator[Begin]:
    """An MCP client that is open for as long as this is; `connecting` gives what opens it."""
    portal: BlockingPortal
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connecting()) as client:
        mcp = cast("Client", client)

        def call(tool: str, **arguments: Any) -> Any:
            async def calling() -> Any:
                return await used(mcp, tool, **arguments)

            return portal.call(calling)

        def begin(format_: str, opening: dict[str, Any], *evidence: Item) -> AnyClient:
            given = list(evidence)
            return AnyFormatAgent(
                call, call("begin_session", format=format_, opening=opening, evidence=given)
            )

        yield begin


def _first(asks: list[Ask]) -> Ask | None:
    return next((ask for ask in asks if not ask["interrupting"]), None)


def _which(ask: Ask) -> dict[str, Any]:
    return {"step": ask["step"], "key": ask["key"]}
