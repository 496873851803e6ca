"""Who leaves a reply ends it: nothing half-said stays on the page or with the server, nothing goes on
upstream. The stub's counters are the proof."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.board import (
    AT_ONCE,
    CHALLENGE,
    ENDLESS,
    FIRST,
    LAST,
    SECOND,
    Board,
    NewBoard,
    a_session,
    asked_advisors,
    kept_challenges,
    reply_to,
    stored,
)
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.surfaces.web.server import Server, a_board


def replying(board: Board, server: Server, stub: StubServer) -> str:
    """A session whose second advisor has begun a reply that will not end by itself."""
    session_id = a_session(server, stub)
    board.open(session_id, FIRST)
    board.next.click()
    board.is_at(SECOND)
    reply_to(stub, CHALLENGE, ENDLESS)
    board.challenge()
    board.is_replying()
    return session_id


LEAVING: dict[str, Callable[[Board], object]] = {
    "the next mark": lambda board: board.steps.nth(3).get_by_role("link").click(),
    "Previous": lambda board: board.previous.click(),
    "the browser's back": lambda board: board.page.evaluate("history.back()"),
    "the brief": lambda board: board.steps.last.get_by_role("link").click(),
    "home": lambda board: board.page.get_by_role("link", name="moot, home").click(),
}


@pytest.mark.parametrize("way", LEAVING)
def test_moving_away_from_an_advisor_ends_the_reply(
    way: str, board: Board, server: Server, stub: StubServer
) -> None:
    session_id = replying(board, server, stub)
    here = board.page.url
    LEAVING[way](board)
    stub.wait(lambda s: s.clients_left == 1)
    assert stub.left_at[0] - board.moved_at() < AT_ONCE
    expect(board.page).not_to_have_url(here)
    if way == "the browser's back":
        board.page.go_forward()
    else:
        board.page.go_back()
    board.is_at(SECOND)
    expect(board.box).to_have_value(CHALLENGE)
    expect(board.turns).to_have_count(0)
    expect(board.brief_note).to_have_text("Brief ready")
    assert kept_challenges(server, session_id) == []
    assert (stub.open_streams, len(stub.requests)) == (0, 1)


def test_a_new_challenge_takes_the_place_of_one_that_is_streaming(
    board: Board, server: Server, stub: StubServer
) -> None:
    """The page has no input while a reply streams; another tab has."""
    session_id = replying(board, server, stub)
    reply_to(stub, "And you?", Behaviour(text="I agree."))
    other = Board(board.page.context.new_page())
    other.open(session_id, LAST)
    other.challenge("And you?")
    expect(other.turns.last).to_contain_text("I agree.")
    expect(other.box).to_be_visible()
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    assert stub.left_at[0] - other.moved_at() < AT_ONCE
    expect(board.page.get_by_role("alert")).to_contain_text("The reply did not arrive")
    expect(board.turns).to_have_count(0)
    expect(board.box).to_have_value(CHALLENGE)
    assert kept_challenges(server, session_id) == ["And you?"]
    assert asked_advisors(stub) == ["The Ethicist", "The Strategist"]


def test_a_new_session_ends_the_reply_and_begins_with_nothing(
    board: Board, server: Server, stub: StubServer
) -> None:
    old = replying(board, server, stub)
    board.page.get_by_role("link", name="New decision").click()
    stub.wait(lambda s: s.clients_left == 1)
    assert stub.left_at[0] - board.moved_at() < AT_ONCE
    a_board(stub, pace=30, words="word " * 30)
    board.page.get_by_role("textbox").fill("Should we move?")
    board.page.get_by_role("button", name="Continue").click()
    board.page.get_by_role("button", name="Convene the Board").click()
    board.is_at(FIRST)
    expect(board.brief_note).to_have_text("Brief ready")
    board.next.click()
    board.is_at(SECOND)
    expect(board.box).to_have_value("")
    expect(board.turns).to_have_count(0)
    new = board.session_id
    assert new != old
    assert kept_challenges(server, old) == kept_challenges(server, new) == []
    assert not stored(server, old)["briefStale"]
    assert not stored(server, new)["briefStale"]
    assert (stub.open_streams, stub.clients_left) == (0, 1)


@pytest.mark.parametrize("end", ["tab", "browser"])
def test_a_closed_page_ends_the_reply(end: str, board: Board, server: Server, stub: StubServer) -> None:
    session_id = replying(board, server, stub)
    if end == "tab":
        board.page.close()
    else:
        board.page.context.close()
    closed = time.monotonic()
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    assert stub.left_at[0] - closed < AT_ONCE
    assert kept_challenges(server, session_id) == []


def test_a_session_whose_page_was_closed_stops_after_the_grace_time_and_goes_on_with_the_next_page(
    new_board: NewBoard, server: Server, stub: StubServer, grace: float
) -> None:
    a_board(stub, pace=30, words="word " * 3000)
    begun = new_board(server.url)
    begun.convene()
    stub.wait(lambda s: s.open_streams == 8)
    expect(begun.cursor).to_be_visible()
    session_id = begun.session_id
    before = time.monotonic()
    begun.page.close()
    after = time.monotonic()
    stub.wait(lambda s: s.clients_left == 8 and s.open_streams == 0)
    assert before + grace <= min(stub.left_at)
    assert max(stub.left_at) <= after + grace + 1
    stub.reset()
    a_board(stub, pace=30, words="word " * 30)
    again = new_board(server.url)
    again.open(session_id)
    expect(again.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8
