"""What survives: a killed server, a reloaded page, a second tab. Nothing said is lost or paid for twice."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

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
    briefs,
    kept_challenges,
    reply_to,
    speak,
    stored,
)
from tests.support.command import MOOT, environment
from tests.support.ready import Popen
from tests.support.server import DECISION, Server, a_board, serving

COUNTED = " ".join(str(number) for number in range(120))
"""A word lost or said twice would show."""
SHORT = "The Devil's Advocate says: Not yet, because of the lease."


@pytest.fixture(scope="module")
def grace() -> float:
    """Longer than a reload takes on a busy machine."""
    return 20


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number: int = listening.getsockname()[1]
        return number


def test_a_page_goes_on_with_the_server_that_follows_a_killed_one(
    new_board: NewBoard, stub: StubServer, tmp_path: Path, port: int
) -> None:
    arguments = ("--no-open", "--port", str(port))
    for unfinished in (SECOND, LAST):
        speak(stub, unfinished, ENDLESS)
    with serving(tmp_path, stub, *arguments) as server:
        board = new_board(server.url)
        board.convene()
        expect(board.page.locator(".step.is-done")).to_have_count(6)
        board.next.click()
        board.is_at(SECOND)
        expect(board.cursor).to_be_visible()
        server.kill()
        expect(board.page.get_by_text("Connection lost. Reconnecting…")).to_be_visible()
        expect(board.words).to_contain_text("word word")
    stub.wait(lambda s: s.open_streams == 0)
    stub.reset()
    a_board(stub)
    with serving(tmp_path, stub, *arguments) as server:
        expect(board.brief_note).to_have_text("Brief ready")
        expect(board.page.get_by_text("Connection lost")).to_have_count(0)
        expect(board.words).to_have_text("The Strategist says: Not yet, because of the lease.")
        board.previous.click()
        expect(board.words).to_have_text(SHORT)
        assert asked_advisors(stub) == ["The Ethicist", "The Strategist"]
        assert len(briefs(stub)) == 1
        assert all(response["isComplete"] for response in stored(server, board.session_id)["responses"])


def test_a_challenge_cut_off_by_a_killed_server_is_given_back_and_can_be_sent_again(
    new_board: NewBoard, stub: StubServer, tmp_path: Path, port: int
) -> None:
    arguments = ("--no-open", "--port", str(port))
    with serving(tmp_path, stub, *arguments) as server:
        board = new_board(server.url)
        board.open(a_session(server, stub), SECOND)
        reply_to(stub, CHALLENGE, ENDLESS)
        board.challenge()
        board.is_replying()
        server.kill()
        expect(board.page.get_by_role("alert")).to_contain_text("The reply did not arrive")
        expect(board.turns).to_have_count(0)
        expect(board.box).to_have_value(CHALLENGE)
    stub.wait(lambda s: s.open_streams == 0)
    stub.reset()
    reply_to(stub, CHALLENGE, Behaviour(text="So much the better."))
    with serving(tmp_path, stub, *arguments) as server:
        assert kept_challenges(server, board.session_id) == []
        board.submit.click()
        expect(board.turns.last).to_contain_text("So much the better.")
        expect(board.page.get_by_role("alert")).to_have_count(0)
        expect(board.box).to_have_value("")
        assert kept_challenges(server, board.session_id) == [CHALLENGE]


def test_home_says_when_nobody_answers_and_recovers(
    new_board: NewBoard, stub: StubServer, tmp_path: Path, port: int
) -> None:
    arguments = ("--no-open", "--port", str(port))
    with serving(tmp_path, stub, *arguments) as server:
        a_session(server, stub)
        board = new_board(server.url)
        board.page.goto("/new")
        server.kill()
    board.page.get_by_role("link", name="moot, home").click()
    alert = board.page.get_by_role("alert").filter(has_text="No connection to moot")
    expect(alert).to_be_visible()
    with serving(tmp_path, stub, *arguments):
        alert.get_by_role("button", name="Try again").click()
        expect(board.page.locator(".session-decision")).to_have_text(DECISION)
        expect(alert).to_have_count(0)


def test_a_reload_in_mid_stream_loses_nothing_and_asks_nobody_again(board: Board, stub: StubServer) -> None:
    a_board(stub, pace=30, words=COUNTED)
    board.convene()
    expect(board.words).to_contain_text("says: 0 1 2")
    heard = board.words.inner_text()
    board.page.reload()
    board.is_at(FIRST)
    expect(board.words).to_contain_text(heard)
    expect(board.cursor).to_be_visible()
    stub.hurry()
    expect(board.box).to_be_visible()
    expect(board.words).to_have_text(f"The Devil's Advocate says: {COUNTED}")
    expect(board.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8
    assert (len(briefs(stub)), stub.clients_left) == (1, 0)


def test_a_second_tab_hears_the_same_and_may_outlive_the_first(
    board: Board, server: Server, stub: StubServer
) -> None:
    a_board(stub, pace=30, words=COUNTED)
    board.convene()
    expect(board.words).to_contain_text("says: 0 1 2")
    heard = board.words.inner_text()
    other = Board(board.page.context.new_page())
    other.open(board.session_id)
    expect(other.words).to_contain_text(heard)
    expect(other.cursor).to_be_visible()
    board.page.close()
    stub.hurry()
    expect(other.words).to_have_text(f"The Devil's Advocate says: {COUNTED}")
    expect(other.brief_note).to_have_text("Brief ready")
    assert len(asked_advisors(stub)) == 8
    assert (len(briefs(stub)), stub.clients_left) == (1, 0)
    assert stored(server, other.session_id)["step"] == "review"


def test_a_challenge_made_in_another_tab_shows_without_a_reload_and_takes_nothing_away(
    board: Board, server: Server, stub: StubServer
) -> None:
    session_id = a_session(server, stub)
    board.open(session_id, SECOND)
    board.box.fill("Half a thought")
    other = Board(board.page.context.new_page())
    other.open(session_id, SECOND)
    reply_to(stub, CHALLENGE, Behaviour(text="So much the better."))
    other.challenge()
    expect(other.turns).to_have_count(2)
    expect(board.turns).to_have_count(2)
    expect(board.turns.last).to_contain_text("So much the better.")
    expect(board.brief_note).to_have_text("Brief out of date")
    expect(board.box).to_have_value("Half a thought")


def test_home_says_which_session_is_live_and_when_it_no_longer_is(
    board: Board, new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    resting = a_session(server, stub)
    a_board(stub, pace=30, words="word " * 120)
    begun = new_board(server.url)
    begun.convene("Should we move?")
    board.page.goto("/")
    speaking = board.page.locator(".session", has_text="Should we move?")
    expect(speaking.locator(".live")).to_have_text("Live")
    expect(board.page.locator(f".session:has([href*='{resting}']) .live")).to_have_count(0)
    stub.hurry()
    expect(speaking).to_contain_text("Brief ready")
    expect(speaking.locator(".live")).to_have_count(0)


def test_two_servers_on_one_file_with_a_tab_each_and_a_terminal_pay_for_every_reply_once(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub, pace=25, words=COUNTED)
    with serving(tmp_path, stub, "--no-open") as one, serving(tmp_path, stub, "--no-open") as other:
        board = new_board(one.url)
        board.convene()
        stub.wait(lambda s: s.open_streams == 8, timeout=60)
        session_id = board.session_id
        second = new_board(other.url)
        second.open(session_id)
        terminal = Popen(
            [*MOOT, "board", "--resume", session_id, "--json"],
            env=environment(tmp_path, stub),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for tab in (board, second):
            # The advisors and the brief.
            expect(tab.page.locator(".step.is-done")).to_have_count(9)
            expect(tab.words).to_have_text(f"The Devil's Advocate says: {COUNTED}")
        out, _ = terminal.communicate(timeout=60)
        assert json.loads(out)["brief"] is not None
        stub.wait(lambda s: s.open_streams == 0)
        assert not stored(one, session_id)["live"]
    assert (len(asked_advisors(stub)), len(briefs(stub))) == (8, 1)
    assert stub.completed == len(stub.requests) == 10, "with the probing questions"
