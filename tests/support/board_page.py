"""The page as its user sees it: what is on it, and where a click leads. And what the stub was asked.

Knows roles, names and a few classes of the page. Judges nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.server import BRIEF, DECISION, Server
from tests.support.speaker import speaker

FIRST, SECOND, LAST = "the-devil-s-advocate", "the-strategist", "the-ethicist"
NAMES = {FIRST: "The Devil's Advocate", SECOND: "The Strategist", LAST: "The Ethicist"}
CHALLENGE = "What if the rents fall?"
ENDLESS = Behaviour(text="word " * 3000, pace=30)
"""Speaks longer than any test waits."""

NOTE_MOVES = """
globalThis.noted = [];
for (const type of ["click", "keydown", "popstate"]) {
  addEventListener(type, () => {
    noted.push("moved");
    requestAnimationFrame(() => noted.push("drawn"));
  }, true);
}
const fetching = globalThis.fetch;
globalThis.fetch = (path, init) => {
  if (path === "/api/board/challenge") {
    init.signal.addEventListener("abort", () => noted.push("aborted"));
  }
  return fetching(path, init);
};
"""


@dataclass(frozen=True)
class Board:
    page: Page

    # -- what is on it -----------------------------------------------------------------------------

    @property
    def heading(self) -> Locator:
        return self.page.get_by_role("heading", level=1)

    @property
    def words(self) -> Locator:
        """What the advisor said at first."""
        return self.page.locator(".advisor-words > .spoken")

    @property
    def cursor(self) -> Locator:
        return self.page.locator(".streaming-cursor")

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("Challenge this advisor")

    @property
    def submit(self) -> Locator:
        return self.page.get_by_role("button", name="Challenge", exact=True)

    @property
    def skip(self) -> Locator:
        return self.page.get_by_role("button", name="Skip — nothing to challenge")

    @property
    def turns(self) -> Locator:
        return self.page.locator(".turn")

    @property
    def previous(self) -> Locator:
        return self.page.get_by_role("button", name="Previous")

    @property
    def next(self) -> Locator:
        return self.page.get_by_role("navigation", name="Steps").get_by_role("button").last

    @property
    def brief_note(self) -> Locator:
        """Beside the buttons, once there is a brief: whether it is ready or out of date."""
        return self.page.get_by_role("navigation", name="Steps").get_by_role("link")

    @property
    def steps(self) -> Locator:
        return self.page.get_by_role("navigation", name="The board").get_by_role("listitem")

    @property
    def recommendation(self) -> Locator:
        return self.page.locator(".recommendation-words")

    def trait(self, name: str) -> Locator:
        """A line of the advisor's temperament, which opens."""
        return self.page.locator(".trait > summary", has_text=name)

    def row(self, name: str) -> Locator:
        """An advisor's row in the brief."""
        return self.page.get_by_role("region", name="Advisor Responses").get_by_role("button", name=name)

    # -- where it leads ----------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self.page.url.split("/s/")[1].split("/")[0]

    def open(self, session_id: str, persona: str = FIRST) -> None:
        self.page.goto(f"/s/{session_id}/advisor/{persona}")

    def open_brief(self, session_id: str) -> None:
        self.page.goto(f"/s/{session_id}/brief")

    def present(self, decision: str = DECISION) -> None:
        """As far as the questions."""
        self.page.goto("/new")
        self.page.get_by_role("textbox").fill(decision)
        self.page.get_by_role("button", name="Continue").click()
        expect(self.page.get_by_label("Why one?")).to_be_visible()

    def convene(self, decision: str = DECISION) -> None:
        """As far as the first advisor's page."""
        self.present(decision)
        self.page.get_by_role("button", name="Convene the Board").click()
        self.is_at(FIRST)

    def challenge(self, text: str = CHALLENGE) -> None:
        self.box.fill(text)
        self.submit.click()

    def is_at(self, persona: str) -> None:
        expect(self.page).to_have_url(re.compile(f"/s/[^/]+/advisor/{persona}$"))
        expect(self.heading).to_have_text(NAMES[persona])

    def is_replying(self) -> None:
        """Words of a reply have come, and more are to come."""
        expect(self.page.locator(".turn-advisor .streaming-cursor")).to_be_visible()

    def noted(self) -> list[str]:
        """What has happened on this page, in order: `moved` for a click, a key or a step in its history,
        `drawn` for the first frame after that, `aborted` for the end of a challenge's request."""
        order: list[str] = self.page.evaluate("noted")
        return order


NewBoard = Callable[..., Board]
"""Takes the server's address and options of the browser's context."""


# -- what the stub was asked, and says -------------------------------------------------------------


def reply_to(stub: StubServer, challenge: str, behaviour: Behaviour) -> None:
    stub.on(lambda request: request.schema is None and last_said(request) == challenge, behaviour)


def speak(stub: StubServer, persona: str, behaviour: Behaviour) -> None:
    """Everything that is asked of one advisor."""
    stub.on(f"You are {NAMES[persona]}", behaviour)


def draft(stub: StubServer, summary: str, **more: Any) -> None:
    """The next brief recommends this."""
    recommendation = {"summary": summary, "confidence": "moderate", "conditions": []}
    text = json.dumps(BRIEF | {"recommendation": recommendation})
    stub.on(is_brief, Behaviour(json_text=text, **more))


def last_said(request: Recorded) -> str:
    return str(request.messages[-1]["content"])


def is_brief(request: Recorded) -> bool:
    return request.schema is not None and "consensus" in request.schema["properties"]


def briefs(stub: StubServer) -> list[Recorded]:
    return [request for request in stub.requests if is_brief(request)]


def asked_advisors(stub: StubServer) -> list[str]:
    """Names, in alphabetical order, one for every request."""
    return sorted(speaker(request) for request in stub.requests if request.schema is None)


# -- what the server keeps -------------------------------------------------------------------------


def stored(server: Server, session_id: str) -> dict[str, Any]:
    body: dict[str, Any] = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    return body


def kept_challenges(server: Server, session_id: str) -> list[str]:
    responses = stored(server, session_id)["responses"]
    return [exchange["challengeText"] for one in responses for exchange in one["challenges"]]


def a_session(server: Server, stub: StubServer, **more: Any) -> str:
    """Held without a page, to its brief; what it took is forgotten."""
    session_id: str = server.session(**more)[0]["sessionId"]
    stub.wait(lambda s: s.open_streams == 0)
    stub.requests.clear()
    stub.completed = 0
    return session_id
