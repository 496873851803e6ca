"""A client for sessions of any format: it knows the routes, and what every ask and every frame has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jsonschema_rs

from moot.app import Moot
from moot.web.app import create_app
from tests.support.server import Server

Ask = dict[str, Any]
Frame = dict[str, Any]

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
        waiting = [ask for ask in self.session["asks"] if not ask["interrupting"]]
        return waiting[0] if waiting else None

    def answer(self, ask: Ask, **answer: Any) -> None:
        response = self.server.post(f"{self.path}/answers", {**_which(ask), **answer})
        assert response.status_code == 202, response.text

    def play(self, choose: Callable[[Ask], dict[str, Any] | None]) -> None:
        """Answers whatever is asked, until nothing is asked or there is no answer."""
        self.follow(go_on=True)
        while (ask := self.asked()) is not None and (answer := choose(ask)) is not None:
            self.answer(ask, **answer)
            self.follow()


def _which(ask: Ask) -> dict[str, Any]:
    return {"step": ask["step"], "key": ask["key"]}
