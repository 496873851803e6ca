"""What is seen without scrolling: the words and the recommendation, not the furniture."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from moot.text.small_model import SMALL_MODEL
from tests.stub.server import StubServer
from tests.support.board_page import FIRST, SECOND, NewBoard, a_session
from tests.support.board_session import events, keep
from tests.support.server import Server, serving
from tests.web.test_people import a_team

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 800}
LONG = "Should we move the whole team to the new office by the river? " * 60


def box(locator: Locator) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    return {"top": found["y"], "bottom": found["y"] + found["height"], "height": found["height"]}


@pytest.mark.parametrize("persona", [FIRST, SECOND])
def test_on_a_phone_the_bar_is_low_and_words_begin_above_the_middle(
    persona: str, new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    board = new_board(server.url, viewport=PHONE)
    board.open(a_session(server, stub), persona)
    expect(board.words).to_be_visible()
    bar = box(board.page.get_by_role("navigation", name="Steps"))
    assert bar["height"] <= 64
    assert box(board.page.get_by_role("banner"))["height"] <= 64
    assert bar["bottom"] <= PHONE["height"]
    assert box(board.words)["top"] < PHONE["height"] / 2
    expect(board.brief_note).to_be_visible()


def test_on_a_phone_the_warning_of_the_small_model_leaves_the_words_above_the_middle(
    new_board: NewBoard, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("small")
    session_id = keep(folder, events(model="local"))
    with serving(folder, stub, "--no-open") as server:
        board = new_board(server.url, viewport=PHONE)
        board.open(session_id, "the-mentor")
        expect(board.page.get_by_text(SMALL_MODEL)).to_be_visible()
        assert box(board.words)["top"] < PHONE["height"] / 2


def test_on_a_phone_the_top_is_as_low_for_who_has_signed_in(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    with a_team(tmp_path, stub) as team:
        page = new_board(team.url, viewport=PHONE).page
        page.goto(f"/s/{team.session('ada')}/brief?token={team.tokens['ada']}")
        expect(page.locator(".who-name")).to_be_visible()
        for name in ("moot, home", "New decision"):
            expect(page.get_by_role("link", name=name)).to_be_visible()
        assert box(page.get_by_role("banner"))["height"] <= 64


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_recommendation_is_on_the_first_screen_of_the_brief(
    size: dict[str, int], new_board: NewBoard, server: Server, stub: StubServer
) -> None:
    board = new_board(server.url, viewport=size)
    board.open_brief(a_session(server, stub, decision=LONG))
    expect(board.recommendation).to_be_visible()
    assert box(board.recommendation)["bottom"] < size["height"]
