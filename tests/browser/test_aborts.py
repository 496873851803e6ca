"""Who leaves a reply ends it: nothing half-said stays on the page or with the server, nothing goes on
upstream. The stub's counters are the proof."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

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
    asked_advisors,
    kept_challenges,
    reply_to,
    speak,
    stored,
)
from tests.support.server import Server, a_board


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
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    assert kept_challenges(server, session_id) == []


def test_a_session_whose_page_was_closed_stops_after_the_grace_time_and_goes_on_when_asked_to(
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
    stub.wait(lambda s: s.clients_left == 8 and s.open_streams == 0)
    assert before + grace <= min(stub.left_at)
    stub.reset()
    a_board(stub, pace=30, words="word " * 30)
    again = new_board(server.url)
    again.open(session_id)
    expect(again.page.get_by_text("Paused.")).to_be_visible()
    expect(again.page.get_by_text("has not spoken yet")).to_be_visible()
    again.page.reload()
    again.steps.nth(1).get_by_role("link").click()
    again.is_at(SECOND)
    assert stub.requests == []
    again.page.get_by_role("button", name="Go on").click()
    expect(again.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8


# -- stopping --------------------------------------------------------------------------------------


def test_one_advisor_can_be_stopped_while_the_others_go_on(board: Board, stub: StubServer) -> None:
    speak(stub, FIRST, ENDLESS)
    board.convene()
    expect(board.cursor).to_be_visible()
    board.page.get_by_role("button", name="Stop Devil's Advocate").click()
    expect(board.page.get_by_role("alert")).to_contain_text("The Devil's Advocate was stopped")
    expect(board.steps.first).to_contain_text("stopped")
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    expect(board.brief_note).to_have_text("Brief ready")
    stub.reset()
    a_board(stub)
    speak(stub, FIRST, Behaviour(text="Now I am brief."))
    board.page.get_by_role("button", name="Ask them again").click()
    expect(board.words).to_have_text("Now I am brief.")


def test_everybody_can_be_stopped_and_goes_on_when_asked_to(
    board: Board, server: Server, stub: StubServer
) -> None:
    a_board(stub, pace=30, words="word " * 3000)
    board.convene()
    expect(board.cursor).to_be_visible()
    stub.wait(lambda s: s.open_streams == 8)
    board.page.get_by_role("button", name="Stop all").click()
    stub.wait(lambda s: s.clients_left == 8 and s.open_streams == 0)
    expect(board.page.get_by_text("Paused.")).to_be_visible()
    expect(board.page.get_by_text("Paused before they spoke")).to_be_visible()
    assert stored(server, board.session_id)["paused"]
    stub.reset()
    a_board(stub, pace=30, words="word " * 30)
    board.page.reload()
    expect(board.page.get_by_text("Paused.")).to_be_visible()
    assert stub.requests == []
    board.page.get_by_role("button", name="Go on").click()
    expect(board.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8


def test_opening_the_brief_of_a_paused_session_has_none_written_until_one_goes_on(
    new_board: NewBoard, board: Board, server: Server, stub: StubServer
) -> None:
    stub.on(lambda request: "consensus" in str(request.schema), ENDLESS)
    begun = new_board(server.url)
    begun.convene()
    expect(begun.page.locator(".step.is-done")).to_have_count(8)
    stub.wait(lambda s: s.open_streams == 1)
    session_id = begun.session_id
    begun.page.close()
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    stub.reset()
    a_board(stub)
    board.open_brief(session_id)
    expect(board.page.get_by_text("Paused.")).to_be_visible()
    expect(board.page.get_by_text("The brief is written when you go on.")).to_be_visible()
    assert stub.requests == []
    board.page.get_by_role("button", name="Go on").click()
    expect(board.page.get_by_role("button", name="Export")).to_be_visible()
    assert len(stub.requests) == 1


def test_a_reply_can_be_stopped_and_its_challenge_stays(
    board: Board, server: Server, stub: StubServer
) -> None:
    session_id = replying(board, server, stub)
    board.page.get_by_role("button", name="Stop the reply").click()
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    expect(board.turns).to_have_count(0)
    expect(board.box).to_have_value(CHALLENGE)
    assert kept_challenges(server, session_id) == []


def test_a_refused_key_is_named_once_with_its_variable_and_all_are_asked_again(
    board: Board, stub: StubServer
) -> None:
    stub.on(lambda request: request.schema is None, Behaviour(status=401, error_message="invalid x-api-key"))
    board.convene()
    told = board.page.get_by_role("alert").filter(has_text="_API_KEY")
    expect(told).to_have_count(1)
    expect(told).to_contain_text("refused the key in OPENAI_API_KEY")
    expect(told).to_contain_text("start moot again")
    # Who is refused only after the button was pressed is not among those who are asked again.
    expect(board.page.locator(".badge-failed")).to_have_count(8)
    stub.reset()
    a_board(stub)
    board.page.get_by_role("button", name="Ask all again").click()
    expect(board.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8
