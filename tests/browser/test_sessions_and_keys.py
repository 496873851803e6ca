"""What the page offers besides the board: ticks, keys, the list of sessions, words of any direction."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from moot.board.events import ChallengeMade, ChallengeReplied, Member
from moot.personas.library import scaffold
from moot.text.small_model import SMALL_MODEL
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import (
    CHALLENGE,
    ENDLESS,
    FIRST,
    LAST,
    SECOND,
    Board,
    NewBoard,
    a_session,
    reply_to,
    speak,
    stored,
)
from tests.support.board_session import BILL, events, keep
from tests.support.server import BRIEF, QUESTIONS, Server, serving

HEBREW = "האם לפתוח סניף שני?"
MISPLACED = """[...document.querySelectorAll("main *")].filter(one =>
  getComputedStyle(one).direction === "ltr" && !["CODE", "PRE"].includes(one.tagName) &&
  [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && /^\\s*[א-ת]/.test(node.data))
).map(one => one.outerHTML)"""
"""What begins with Hebrew and is set from the left."""


# -- conditions ------------------------------------------------------------------------------------


def test_a_condition_is_ticked_kept_and_copied(new_board: NewBoard, server: Server, stub: StubServer) -> None:
    board = new_board(server.url, permissions=["clipboard-read", "clipboard-write"])
    session_id = a_session(server, stub)
    board.open_brief(session_id)
    box = board.page.get_by_role("checkbox", name="Rents do not fall.")
    expect(box).not_to_be_checked()
    with board.page.expect_response(f"**/sessions/{session_id}/conditions"):
        box.check()
    assert stored(server, session_id)["tickedConditions"] == ["Rents do not fall."]
    board.page.reload()
    expect(box).to_be_checked()
    board.page.get_by_role("button", name="Copy brief as Markdown").click()
    expect(board.page.get_by_role("button", name="Copied")).to_be_visible()
    copied = board.page.evaluate("navigator.clipboard.readText()")
    assert "- [x] Rents do not fall." in copied
    assert copied == server.get(f"/api/board/sessions/{session_id}/export?format=md&part=brief").text
    with board.page.expect_response(f"**/sessions/{session_id}/conditions"):
        box.uncheck()
    assert stored(server, session_id)["tickedConditions"] == []


def test_a_tick_that_was_not_kept_is_taken_back_and_said(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open_brief(a_session(server, stub))
    box = board.page.get_by_role("checkbox", name="Rents do not fall.")
    expect(box).to_be_visible()
    board.page.route("**/conditions", lambda route: route.abort())
    # Never answered, so that what the server has kept cannot take the tick back in the page's place.
    board.page.route("**/sessions/*", lambda _: None)
    box.click()
    expect(board.page.get_by_role("alert")).to_contain_text("The tick was not kept: moot is not answering.")
    expect(box).not_to_be_checked()


# -- keys ------------------------------------------------------------------------------------------


def test_numbers_and_arrows_go_from_advisor_to_advisor(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), FIRST)
    board.is_at(FIRST)
    keys = board.page.keyboard
    keys.press("2")
    board.is_at(SECOND)
    keys.press("ArrowLeft")
    board.is_at(FIRST)
    keys.press("ArrowLeft")
    board.is_at(FIRST)
    keys.press("8")
    board.is_at(LAST)
    keys.press("9")
    board.is_at(LAST)
    keys.press("ArrowRight")
    expect(board.heading).to_have_text("Board Brief")
    keys.press("ArrowRight")
    keys.press("ArrowLeft")
    board.is_at(LAST)


def test_keys_are_left_to_who_types_and_to_a_reply_that_is_being_said(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), FIRST)
    board.box.fill("x")
    board.box.press("2")
    board.box.press("ArrowRight")
    board.box.press("/")
    expect(board.box).to_have_value("x2/")
    board.is_at(FIRST)
    reply_to(stub, CHALLENGE, ENDLESS)
    board.challenge()
    board.is_replying()
    board.page.keyboard.press("ArrowRight")
    board.page.keyboard.press("Control+2")
    board.is_replying()
    board.is_at(FIRST)
    board.page.get_by_role("button", name="Stop the reply").click()
    stub.wait(lambda s: s.open_streams == 0)


def test_an_arrow_leads_to_the_brief_only_when_everybody_has_spoken(board: Board, stub: StubServer) -> None:
    speak(stub, LAST, ENDLESS)
    board.convene()
    expect(board.page.locator(".step.is-done")).to_have_count(7)
    board.page.keyboard.press("8")
    board.is_at(LAST)
    board.page.keyboard.press("ArrowRight")
    assert board.page.evaluate("location.pathname").endswith(LAST)
    board.page.get_by_role("button", name="Stop Ethicist").click()
    expect(board.page.get_by_role("alert")).to_contain_text("The Ethicist was stopped")
    board.page.keyboard.press("ArrowRight")
    expect(board.heading).to_have_text("Board Brief")
    stub.wait(lambda s: s.open_streams == 0)


def test_arrows_are_left_to_code_and_tables_and_to_who_marks_words(
    board: Board, server: Server, stub: StubServer
) -> None:
    wide = "word " * 60
    stub.on(lambda request: request.schema is None, Behaviour(text=f"```\n{wide}\n```\n\n|{wide}|\n|-|\n|x|"))
    board.open(a_session(server, stub), FIRST)
    for scrolling in (board.words.locator("pre"), board.words.locator(".md-table")):
        scrolling.focus()
        expect(scrolling).to_be_focused()
        board.page.keyboard.press("ArrowRight")
        assert board.page.evaluate("location.pathname").endswith(FIRST)
    board.heading.focus()
    board.page.keyboard.press("Shift+ArrowRight")
    assert board.page.evaluate("location.pathname").endswith(FIRST)
    board.page.keyboard.press("ArrowRight")
    board.is_at(SECOND)


# -- the list --------------------------------------------------------------------------------------


def rows(page: Page) -> Locator:
    return page.locator(".session-decision")


def test_the_list_is_searched_with_a_slash(board: Board, server: Server, stub: StubServer) -> None:
    server.session(decision="Should the zebra move?")
    other = server.session(decision="Should the yak stay?")[0]["sessionId"]
    page = board.page
    page.goto("/")
    expect(rows(page).first).to_have_text("Should the yak stay?")
    page.keyboard.press("/")
    expect(page.get_by_label("Search the sessions")).to_be_focused()
    page.keyboard.type("ZEBRA")
    expect(rows(page)).to_have_text(["Should the zebra move?"])
    page.keyboard.type(" unicorn")
    expect(page.get_by_text("No session has “ZEBRA unicorn”")).to_be_visible()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Backspace")
    expect(rows(page).first).to_have_text("Should the yak stay?")
    expect(page.get_by_label("Search the sessions")).to_be_focused()
    page.keyboard.type("unicorn")
    expect(page.get_by_text("No session has “unicorn”")).to_be_visible()
    # Not from the keyboard: there, Chromium empties such a field by itself.
    page.get_by_label("Search the sessions").dispatch_event("keydown", {"key": "Escape"})
    expect(page.get_by_label("Search the sessions")).to_have_value("")
    expect(page.get_by_label("Search the sessions")).not_to_be_focused()
    expect(rows(page).first).to_have_text("Should the yak stay?")
    server.client.delete(f"{server.url}/api/board/sessions/{other}")
    stub.wait(lambda s: s.open_streams == 0)


def test_a_session_is_renamed_pinned_and_deleted_in_the_list(board: Board, server: Server) -> None:
    page = board.page
    for decision in ("Should the gnu move?", "Should the emu stay?"):
        server.session(decision=decision)
    page.goto("/")
    rows(page).nth(1).click()
    expect(page.locator(".decision-line")).to_have_text("Should the gnu move?")
    page.go_back()
    page.get_by_role("button", name="Rename the session “Should the gnu move?”").click()
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type("x" * 201)
    expect(page.get_by_text("1 character too many")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_label("Title").fill("The great trek")
    page.keyboard.press("Enter")
    row = page.get_by_role("listitem").filter(has_text="The great trek")
    expect(row).to_contain_text("Should the gnu move?")
    expect(page.get_by_role("button", name="Rename the session “The great trek”")).to_be_focused()
    expect(rows(page).first).to_have_text("Should the emu stay?")
    page.get_by_role("button", name="Pin the session “The great trek”").click()
    expect(rows(page).first).to_have_text("The great trek")
    expect(row).to_contain_text("Pinned")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/board/sessions/*", hold)
    rows(page).first.click()
    expect(page.get_by_text("Opening the session…")).to_be_visible()  # and not what it was called before
    for route in held:
        route.continue_()
    page.unroute("**/api/board/sessions/*", hold)
    expect(page.locator(".decision-line")).to_have_text("The great trek")
    page.go_back()
    page.get_by_role("button", name="Unpin the session “The great trek”").click()
    expect(rows(page).first).to_have_text("Should the emu stay?")
    page.get_by_role("button", name="Delete the session “The great trek”").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("The great trek")).to_have_count(0)


# -- words -----------------------------------------------------------------------------------------


def direction(of: Locator) -> str:
    found: str = of.evaluate("element => getComputedStyle(element).direction")
    return found


def in_hebrew(value: Any) -> Any:
    """The same shape with all words in Hebrew, but for names and those of a closed set."""
    match value:
        case dict():
            return {
                key: inner if key in ("between", "strength", "confidence") else in_hebrew(inner)
                for key, inner in value.items()
            }
        case list():
            return [in_hebrew(inner) for inner in value]
    return HEBREW


def test_words_begin_at_the_side_that_they_are_written_from(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.page.goto("/new")
    box = board.page.get_by_role("textbox")
    box.fill("Go?")
    assert direction(box) == "ltr"
    box.fill(HEBREW)
    assert direction(box) == "rtl"
    stub.on(lambda request: request.schema is None, Behaviour(text=f"Yes.\n\n{HEBREW}\n\n- {HEBREW}"))
    session_id = a_session(server, stub, decision=HEBREW)
    board.open(session_id, FIRST)
    expect(board.words).to_contain_text("Yes.")
    assert [direction(one) for one in board.words.locator("p, ul").all()] == ["ltr", "rtl", "rtl"]
    assert direction(board.page.locator(".decision-line")) == "rtl"
    board.box.fill(HEBREW)
    assert direction(board.box) == "rtl"
    assert board.page.evaluate(MISPLACED) == []
    board.page.goto("/")
    expect(rows(board.page).first).to_have_text(HEBREW)
    assert direction(rows(board.page).first) == "rtl"
    assert board.page.evaluate(MISPLACED) == []
    questions, brief = (Behaviour(json_text=json.dumps(in_hebrew(kept))) for kept in (QUESTIONS, BRIEF))
    stub.on(lambda request: "questions" in (request.schema or {}).get("properties", {}), questions)
    stub.on(lambda request: "recommendation" in (request.schema or {}).get("properties", {}), brief)
    board.page.goto("/new")
    board.page.get_by_role("textbox").fill(HEBREW)
    board.page.get_by_role("button", name="Continue").click()
    expect(board.page.get_by_text(HEBREW).nth(5)).to_be_visible()
    assert board.page.evaluate(MISPLACED) == []
    board.open_brief(a_session(server, stub, decision=HEBREW))
    expect(board.recommendation).to_have_text(HEBREW)
    board.row("The Strategist").click()
    assert board.page.evaluate(MISPLACED) == []


def test_every_page_of_a_session_warns_of_the_small_model(
    new_board: NewBoard, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("small")
    session_id = keep(folder, events(model="local"))
    with serving(folder, stub, "--no-open") as server:
        board = new_board(server.url, permissions=["clipboard-read", "clipboard-write"])
        board.open(session_id, "the-mentor")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        board.open_brief(session_id)
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        board.page.get_by_role("button", name="Copy brief as Markdown").click()
        expect(board.page.get_by_role("button", name="Copied")).to_be_visible()
        assert SMALL_MODEL in board.page.evaluate("navigator.clipboard.readText()")
        board.page.goto("/")
        expect(board.page.get_by_role("link", name=re.compile("second shop"))).to_be_visible()


def test_every_page_before_a_session_warns_of_the_small_model(
    new_board: NewBoard, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(tmp_path_factory.mktemp("before"), stub, "--no-open", "--model", "local") as server:
        board = new_board(server.url)
        board.page.goto("/")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        expect(board.page.locator(".note code")).to_have_text("moot models list")
        board.page.get_by_role("link", name="New decision").click()
        expect(board.heading).to_have_text("What are you deciding?")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        board.page.get_by_role("textbox").fill("Should the zebra move?")
        board.page.get_by_role("button", name="Continue").click()
        expect(board.heading).to_have_text("Before they speak")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        board.page.get_by_role("button", name="Understood").click()
        expect(board.page.get_by_role("button", name="Understood")).to_have_count(0)
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        board.page.goto("/")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()


def test_every_persona_shows_its_temperament_also_outside_the_default_panel_and_once_it_is_new(
    new_board: NewBoard, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("outside")
    analyst = Member("business-analyst", "Maya Chen", "Business Analyst", "integrator")
    session_id = keep(folder, events(members=(analyst,)))
    with serving(folder, stub, "--no-open") as server:
        board = new_board(server.url)
        board.open(session_id, analyst.id)
        expect(board.trait("Evidence")).to_be_visible()
        (folder / "moot" / "personas").mkdir(parents=True)
        file = folder / "moot" / "personas" / "the-leaver.md"
        file.write_text(scaffold("the-leaver", "The Leaver"), encoding="utf-8")
        leaver = Member("the-leaver", "The Leaver", "Leaves", "integrator")
        keep(folder, events("Should we leave?", members=(leaver,)))
        board.page.get_by_role("link", name="moot").first.click()
        rows(board.page).first.click()
        board.steps.first.get_by_role("link").click()
        expect(board.heading).to_have_text("The Leaver")
        expect(board.trait("Evidence")).to_be_visible()


def test_the_list_says_which_briefs_are_out_of_date(
    new_board: NewBoard, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stale")
    keep(folder, events("Should the zebra move?"))
    made, replied = ChallengeMade("the-mentor", "Why?"), ChallengeReplied("the-mentor", "Because.", BILL)
    keep(folder, [*events("Should the yak stay?"), made, replied])
    with serving(folder, stub, "--no-open") as server:
        board = new_board(server.url)
        board.page.goto("/")
        expect(board.page.locator(".standing")).to_have_text(["Brief out of date", "Brief ready"])
