"""Challenge and reply on the page: the ten rows of what its user sees."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import (
    CHALLENGE,
    ENDLESS,
    FIRST,
    LAST,
    SECOND,
    Board,
    a_session,
    asked_advisors,
    briefs,
    draft,
    kept_challenges,
    last_said,
    reply_to,
    speak,
    stored,
)
from tests.support.server import Server, a_board

SAID = "The Strategist says: Not yet, because of the lease."


def edges(locator: Locator) -> tuple[float, float, float]:
    """Left, right and top, in pixels."""
    box = locator.bounding_box()
    assert box is not None
    return box["x"], box["x"] + box["width"], box["y"]


def test_1_when_an_advisor_has_finished_the_challenge_input_appears(board: Board, stub: StubServer) -> None:
    speak(stub, FIRST, Behaviour(text="word " * 90 + "done.", pace=30))
    board.convene()
    expect(board.cursor).to_be_visible()
    expect(board.box).to_have_count(0)
    expect(board.next).to_be_disabled()
    stub.hurry()
    expect(board.box).to_be_visible()
    expect(board.words).to_contain_text("done.")
    expect(board.cursor).to_have_count(0)
    assert edges(board.box)[2] > edges(board.words)[2]
    expect(board.box).to_have_attribute("rows", "3")
    expect(board.box).to_have_attribute(
        "placeholder", "Ask a follow-up question or push back on their perspective..."
    )
    expect(board.submit).to_be_disabled()
    expect(board.next).to_be_enabled()
    expect(board.next).to_have_text("Next")


def test_2_a_challenge_is_answered_in_a_thread_and_next_waits_for_it(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), SECOND)
    reply = Behaviour(text="So much " * 30 + "the better.", pace=30, first_token_delay=1)
    reply_to(stub, CHALLENGE, reply)
    board.challenge()
    expect(board.turns).to_have_count(2)
    you, advisor = board.turns.first, board.turns.last
    expect(advisor.get_by_text("Thinking…")).to_be_visible()
    board.is_replying()
    expect(board.next).to_be_disabled()
    expect(board.box).to_have_count(0)
    expect(you).to_have_text(re.compile(r"^You.*" + re.escape(CHALLENGE)))
    expect(advisor).to_contain_text("The Strategist")
    assert edges(you)[0] > edges(advisor)[0], "yours is on the right"
    assert edges(you)[1] > edges(advisor)[1], "theirs is on the left"
    stub.hurry()
    expect(advisor).to_contain_text("the better.")
    expect(board.cursor).to_have_count(0)
    expect(board.next).to_be_enabled()
    expect(board.box).to_have_value("")
    assert asked_advisors(stub) == ["The Strategist"]
    assert kept_challenges(server, board.session_id) == [CHALLENGE]


def test_3_a_second_challenge_joins_the_thread_and_its_context(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), SECOND)
    reply_to(stub, CHALLENGE, Behaviour(text="So much the better."))
    reply_to(stub, "And if not?", Behaviour(text="Then stay."))
    board.challenge()
    expect(board.turns).to_have_count(2)
    board.challenge("And if not?")
    expect(board.turns).to_have_count(4)
    expect(board.turns.last).to_contain_text("Then stay.")
    for at, words in enumerate((CHALLENGE, "So much the better.", "And if not?", "Then stay.")):
        expect(board.turns.nth(at)).to_contain_text(words)
    tops = [edges(board.turns.nth(at))[2] for at in range(4)]
    assert tops == sorted(tops)
    said = [(m["role"], m["content"]) for m in stub.requests[1].messages if m["role"] != "system"]
    assert said[1:] == [
        ("assistant", SAID),
        ("user", CHALLENGE),
        ("assistant", "So much the better."),
        ("user", "And if not?"),
    ]


def test_4_skip_goes_on_to_the_next_advisor_without_an_exchange(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), FIRST)
    board.skip.click()
    board.is_at(SECOND)
    expect(board.box).to_be_visible()
    board.previous.click()
    board.is_at(FIRST)
    expect(board.turns).to_have_count(0)
    assert stub.requests == []
    assert kept_challenges(server, board.session_id) == []


def test_5_going_back_in_mid_reply_ends_it_and_takes_the_exchange_away(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), SECOND)
    reply_to(stub, CHALLENGE, ENDLESS)
    board.challenge()
    board.is_replying()
    board.previous.click()
    stub.wait(lambda s: s.clients_left == 1)
    # The page ends the request in the click itself, before it draws anything else. That the server does not
    # wait either is held by a test of the API.
    board.is_at(FIRST)
    noted = board.noted()
    assert noted[noted.index("aborted") - 1] == "moved"
    board.next.click()
    board.is_at(SECOND)
    expect(board.box).to_have_value(CHALLENGE)
    expect(board.turns).to_have_count(0)
    body = stored(server, board.session_id)
    assert all(response["challenges"] == [] for response in body["responses"])
    assert not body["briefStale"]
    assert (len(stub.requests), stub.open_streams) == (1, 0)


def test_6_without_challenges_the_brief_of_the_session_is_there_at_once(
    board: Board, stub: StubServer
) -> None:
    posted: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            posted.append(request.url)

    a_board(stub, pace=30, words="word " * 30)
    board.convene()
    for _ in range(7):
        expect(board.next).to_have_text("Next")
        board.next.click()
    board.is_at(LAST)
    expect(board.next).to_have_text("View Board Brief")
    expect(board.brief_note).to_have_text("Brief ready")
    board.page.on("request", note)
    board.next.click()
    expect(board.heading).to_have_text("Board Brief")
    expect(board.recommendation).to_have_text("Wait.")
    assert posted == []
    assert len(briefs(stub)) == 1


def test_7_after_challenges_the_brief_is_written_again(
    board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), LAST)
    reply_to(stub, CHALLENGE, Behaviour(text="Then go."))
    draft(stub, "Go.", first_token_delay=1)
    board.challenge()
    expect(board.brief_note).to_have_text("Brief out of date")
    board.next.click()
    expect(board.page.get_by_text("Regenerating brief with challenge context...")).to_be_visible()
    expect(board.recommendation).to_have_text("Go.")
    (regenerated,) = briefs(stub)
    assert f"#### Follow-up Discussion\n**User**: {CHALLENGE}\n**The Ethicist**: Then go." in regenerated.said
    assert "refined positions should carry more weight" in regenerated.system
    board.page.get_by_role("link", name="Back to advisors").click()
    board.is_at(LAST)
    board.next.click()
    expect(board.recommendation).to_have_text("Go.")
    assert len(briefs(stub)) == 1, "once is enough"


def test_8_the_accordion_shows_response_and_thread_and_says_so(
    board: Board, server: Server, stub: StubServer
) -> None:
    session_id = a_session(server, stub)
    board.open(session_id, SECOND)
    board.challenge()
    expect(board.turns).to_have_count(2)
    expect(board.next).to_be_enabled()
    board.open_brief(session_id)
    strategist, coach = board.row("The Strategist"), board.row("The Coach")
    expect(strategist).to_contain_text("1 challenge")
    expect(strategist).to_contain_text(re.compile("integrator|challenger|sense-checker", re.IGNORECASE))
    expect(coach).not_to_contain_text("1 challenge")
    expect(strategist).to_have_attribute("aria-expanded", "false")
    panel = board.page.locator(f"#{strategist.get_attribute('aria-controls')}")
    expect(panel).to_be_hidden()
    strategist.click()
    expect(strategist).to_have_attribute("aria-expanded", "true")
    expect(panel).to_be_visible()
    expect(panel).to_have_attribute("role", "region")
    expect(panel).to_have_attribute("aria-label", re.compile("^The Strategist"))
    expect(panel.get_by_role("heading")).to_have_text(["Initial Response", "Follow-up Discussion"])
    expect(panel.locator(".spoken").first).to_have_text(SAID)
    expect(panel.locator(".turn")).to_contain_text([CHALLENGE, SAID])
    coach.click()
    expect(coach).to_have_attribute("aria-expanded", "true")
    expect(strategist).to_have_attribute("aria-expanded", "false")
    expect(panel).to_be_hidden()


def test_9_back_to_advisors_leads_to_the_last_of_them(board: Board, server: Server, stub: StubServer) -> None:
    board.open_brief(a_session(server, stub))
    expect(board.recommendation).to_be_visible()
    board.page.get_by_role("link", name="← Back to advisors").click()
    board.is_at(LAST)
    expect(board.box).to_be_visible()
    expect(board.previous).to_be_enabled()


@pytest.mark.parametrize("key", ["Meta+Enter", "Control+Enter"])
def test_10_a_chord_in_the_challenge_input_submits_it(
    key: str, board: Board, server: Server, stub: StubServer
) -> None:
    board.open(a_session(server, stub), SECOND)
    board.box.press(key)
    expect(board.turns).to_have_count(0)
    board.box.press_sequentially("Sure?")
    board.box.press("Enter")
    board.box.press_sequentially("Really?")
    expect(board.box).to_have_value("Sure?\nReally?")
    assert stub.requests == [], "Enter alone is a new line, and nothing was sent empty"
    board.box.press(key)
    expect(board.turns).to_have_count(2)
    expect(board.turns.last).to_contain_text(SAID)
    assert [last_said(request) for request in stub.requests] == ["Sure?\nReally?"]
