"""What a person has typed is theirs: it stays until it has been answered, and nothing of it is cut."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import (
    CHALLENGE,
    ENDLESS,
    FIRST,
    SECOND,
    Board,
    NewBoard,
    a_session,
    kept_challenges,
    reply_to,
)
from tests.support.server import Server

# -- a challenge that was not sent, or not answered ------------------------------------------------


def test_a_typed_challenge_survives_a_look_at_another_advisor_and_a_reload(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), SECOND)
    board.box.fill(CHALLENGE)
    board.previous.click()
    board.is_at(FIRST)
    expect(board.box).to_have_value("")
    board.next.click()
    board.is_at(SECOND)
    expect(board.box).to_have_value(CHALLENGE)
    board.page.reload()
    expect(board.box).to_have_value(CHALLENGE)
    assert stub.requests == []


def test_a_challenge_survives_a_reload_in_the_middle_of_its_reply(
    board: Board, server: Server, stub: StubServer
) -> None:
    session_id = a_session(server, stub)
    board.open(session_id, SECOND)
    reply_to(stub, CHALLENGE, ENDLESS)
    board.challenge()
    board.is_replying()
    board.page.reload()
    expect(board.box).to_have_value(CHALLENGE)
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    assert kept_challenges(server, session_id) == []


def test_a_challenge_is_forgotten_once_it_is_answered(board: Board, server: Server, stub: StubServer) -> None:
    board.open(a_session(server, stub), SECOND)
    reply_to(stub, CHALLENGE, Behaviour(text="Then we wait."))
    board.challenge()
    expect(board.turns.last).to_contain_text("Then we wait.")
    expect(board.box).to_have_value("")
    board.page.reload()
    expect(board.turns).to_have_count(2)
    expect(board.box).to_have_value("")


# -- more than is taken ----------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", "😀"])
def test_a_challenge_that_is_too_long_stays_whole_and_cannot_be_sent(
    board: Board, server: Server, stub: StubServer, letter: str
) -> None:
    board.open(a_session(server, stub), SECOND)
    board.box.fill(letter * 2003)
    expect(board.box).to_have_value(letter * 2003)
    expect(board.page.get_by_text("3 characters too many: at most 2,000 are taken")).to_be_visible()
    expect(board.submit).to_be_disabled()
    board.box.press("Control+Enter")
    board.box.fill(letter * 2000)
    expect(board.page.get_by_text("0 characters left")).to_be_visible()
    assert stub.requests == []
    board.submit.click()
    expect(board.turns).to_have_count(2)


@pytest.mark.parametrize("width", [1280, 360])
def test_that_a_challenge_is_too_long_is_seen_where_it_is_typed(
    width: int, new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    board = new_board(
        server.url,
        viewport={"width": width, "height": 740},
        permissions=["clipboard-read", "clipboard-write"],
    )
    board.open(a_session(server, stub), SECOND)
    board.page.evaluate("navigator.clipboard.writeText('word '.repeat(500).trim())")
    board.box.focus()
    board.page.keyboard.press("ControlOrMeta+V")
    told = board.page.get_by_text("499 characters too many")
    expect(told).to_be_in_viewport(ratio=1)
    note, bar = told.bounding_box(), board.page.get_by_role("navigation", name="Steps").bounding_box()
    assert note is not None
    assert bar is not None
    assert note["y"] + note["height"] <= bar["y"]


def test_a_decision_and_an_answer_that_are_too_long_stay_whole(board: Board) -> None:
    page = board.page
    page.goto("/new")
    page.get_by_role("textbox").fill("x" * 5001)
    expect(page.get_by_role("textbox")).to_have_value("x" * 5001)
    expect(page.get_by_text("1 character too many: at most 5,000 are taken")).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_disabled()
    board.present()
    answer = page.get_by_label("Why one?")
    answer.fill("y" * 1200)
    expect(answer).to_have_value("y" * 1200)
    expect(page.get_by_text("200 characters too many: at most 1,000 are taken")).to_be_visible()
    expect(page.get_by_role("button", name="Convene the Board")).to_be_disabled()
    answer.fill("y" * 1000)
    expect(page.get_by_role("button", name="Convene the Board")).to_be_enabled()


def test_a_search_that_is_too_long_is_kept_and_said_to_be(
    new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    a_session(server, stub)
    page = new_board(server.url, permissions=["clipboard-read", "clipboard-write"]).page
    page.goto("/")
    field = page.get_by_label("Search the sessions")
    page.evaluate("navigator.clipboard.writeText('word '.repeat(60).trim())")
    field.fill("x")
    expect(page.get_by_text("No session has “x”")).to_be_visible()
    field.focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("ControlOrMeta+V")
    expect(field).to_have_value("word " * 59 + "word")
    expect(page.get_by_role("status").filter(has_text="99 characters too many")).to_be_visible()
    expect(page.get_by_text("No session has")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
