"""The page for everyone: axe finds nothing, the keyboard is enough, a narrow screen does."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import (
    CHALLENGE,
    FIRST,
    LAST,
    SECOND,
    Board,
    NewBoard,
    a_session,
    briefs,
    kept_challenges,
    reply_to,
)
from tests.support.server import DECISION, Server, a_board

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
RICH = f"""not yet.

# Three reasons

1. The **lease**, *first* and `foremost`
2. https://example.org/{"a-very-long-path/" * 12}
3. {"Rindfleischetikettierungsüberwachung" * 3}

> We have been here before.

|  | Cost of waiting, in thousands | {"Folgekostenabschätzung" * 2} |
| :-- | --: | --- |
| **Wait** | 12 | {"The lease runs on, and nobody asks why. " * 2} |
| Go | 480 | `none` |

```
{"code " * 40}
```

{"9" * 90}
"""


def tour(board: Board, server: Server, stub: StubServer) -> Iterator[str]:
    """Every step of a session, by name, once it is on the page."""
    page = board.page
    page.goto("/")
    expect(page.get_by_role("link", name="Present a decision")).to_be_visible()
    expect(page.locator(".empty, .session").first).to_be_visible()
    yield "home"
    page.goto("/new")
    page.get_by_role("textbox").fill(DECISION)
    yield "decision"
    board.present()
    yield "questions"
    a_board(stub, pace=100, words=RICH + "word " * 9000)
    page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    expect(board.words).to_contain_text("word word")
    yield "advisor speaking"
    page.goto("/")
    expect(page.locator(".session").first).to_be_visible()
    yield "home with sessions"
    a_board(stub, words=RICH)
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    reply_to(stub, CHALLENGE, Behaviour(text=RICH))
    reply_to(stub, "Pardon?", Behaviour(status=400, error_message="not again"))
    session_id = a_session(server, stub)
    board.open(session_id, SECOND)
    board.challenge()
    expect(board.brief_note).to_have_text("Brief out of date")
    expect(board.turns).to_have_count(2)
    if not board.trait("Evidence").is_visible():
        page.get_by_text("Temperament").click()
    board.trait("Evidence").click()
    yield "advisor done, with a thread"
    board.challenge("Pardon?")
    expect(page.get_by_role("alert")).to_contain_text("not again")
    yield "failed reply"
    board.open(session_id, "the-coach")
    expect(page.get_by_role("alert")).to_contain_text("no coaching today")
    yield "failed advisor"
    board.open_brief(session_id)
    expect(board.recommendation).to_be_visible()
    yield "brief"
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("link", name="Markdown")).to_be_visible()
    yield "export menu"
    page.keyboard.press("Escape")
    board.row("The Strategist").click()
    expect(page.get_by_role("heading", name="Follow-up Discussion")).to_be_visible()
    yield "accordion open"


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run({resultTypes: ['violations']}).then((r) => r.violations)"
    )
    return [
        f"{one['id']} at {node['target']}: {node['failureSummary']}" for one in found for node in one["nodes"]
    ]


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_at_any_step_and_nothing_scrolls_sideways(
    width: int, new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    # Colours are judged as they are: in mid-fade they would be too pale.
    board = new_board(server.url, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    found = {}
    for step in tour(board, server, stub):
        for scheme in ("light", "dark"):
            board.page.emulate_media(color_scheme=scheme)
            found[step, scheme] = violations(board.page)
        needed = board.page.evaluate("document.documentElement.scrollWidth")
        assert needed <= width, step
    assert len(found) == 2 * 11
    assert {step: listed for step, listed in found.items() if listed} == {}


def test_axe_finds_what_is_wrong(board: Board) -> None:
    board.page.goto("/new")
    expect(board.heading).to_be_visible()
    board.page.evaluate("document.querySelector('label').textContent = ''")
    board.page.evaluate("document.querySelector('textarea').placeholder = ''")
    assert any(line.startswith("label ") for line in violations(board.page))


def tab_to(target: Locator, key: str = "Tab") -> None:
    """With that key alone, as somebody who sees where the focus is."""
    expect(target).to_be_visible()
    for _ in range(40):
        target.page.keyboard.press(key)
        if target.evaluate("(element) => element === document.activeElement"):
            outline = target.evaluate("(element) => getComputedStyle(element).outlineStyle")
            assert outline != "none", "the focus cannot be seen"
            return
    raise AssertionError(f"{key} does not lead to {target}")


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_what_is_behind_a_persona_s_temperament_can_be_read_without_a_mouse(
    hand: str, new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    board = new_board(server.url, viewport={"width": 360, "height": 740}, has_touch=True)
    board.open(a_session(server, stub), FIRST)
    temperament, trait = board.page.locator("summary", has_text="Temperament"), board.trait("Evidence")
    (first,) = (p for p in server.get("/api/board/personas").json()["personas"] if p["id"] == FIRST)
    note = board.page.get_by_text(first["rubric"]["evidence"]["note"])
    for summary in (temperament, trait):
        expect(note).to_be_hidden()
        if hand == "finger":
            summary.tap()
        else:
            tab_to(summary)
            board.page.keyboard.press("Enter")
    expect(note).to_be_visible()


def test_a_whole_session_by_keyboard_to_the_brief_and_back(
    board: Board, server: Server, stub: StubServer
) -> None:
    a_board(stub, pace=30, words="word " * 30)
    page, press = board.page, board.page.keyboard.press
    page.goto("/")
    tab_to(page.get_by_role("link", name="Present a decision"))
    press("Enter")
    expect(board.heading).to_be_focused()
    tab_to(page.get_by_role("textbox"))
    page.keyboard.type(DECISION)
    press("Control+Enter")
    expect(board.heading).to_be_focused()
    tab_to(page.get_by_label("Why one?"))
    page.keyboard.type("Because.")
    press("Control+Enter")
    board.is_at(FIRST)
    expect(board.heading).to_be_focused()
    tab_to(board.box)
    page.keyboard.type(CHALLENGE)
    press("Control+Enter")
    expect(board.turns).to_have_count(2)
    expect(board.box).to_be_focused()
    expect(board.brief_note).to_have_text("Brief out of date")
    tab_to(board.skip)
    press("Enter")
    board.is_at(SECOND)
    for _ in range(6):
        expect(board.heading).to_be_focused()
        tab_to(board.next)
        press("Enter")
    board.is_at(LAST)
    expect(board.heading).to_be_focused()
    tab_to(board.next)
    press("Enter")
    expect(board.heading).to_have_text("Board Brief")
    expect(board.heading).to_be_focused()
    expect(board.recommendation).to_be_visible()
    tab_to(board.row("The Devil's Advocate"))
    press("Enter")
    expect(page.get_by_role("heading", name="Follow-up Discussion")).to_be_visible()
    tab_to(page.get_by_role("link", name="Back to advisors"), "Shift+Tab")
    press("Enter")
    board.is_at(LAST)
    expect(board.heading).to_be_focused()
    assert all("Because." in request.said for request in briefs(stub))
    assert CHALLENGE in briefs(stub)[-1].said
    assert kept_challenges(server, board.session_id) == [CHALLENGE]
