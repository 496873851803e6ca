"""The page of a server for a team, and its list: signing in and out, whose sessions, of which workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.board import NewBoard
from tests.browser.test_access import violations
from tests.stub.server import StubServer
from tests.surfaces.web.server import DECISION, a_board, serving
from tests.surfaces.web.test_people import a_team
from tests.surfaces.web.test_session_list import copied


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("width", [1280, 360])
def test_who_signs_in_is_named_and_can_sign_out(
    width: int, new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    with a_team(tmp_path, stub) as team:
        session = team.session("ada")
        page = new_board(team.url, viewport={"width": width, "height": 800}, reduced_motion="reduce").page
        page.goto(f"/s/{session}/brief")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        expect(page.get_by_role("link", name="New decision")).to_have_count(0)
        assert violations(page) == []
        sign_in(page, "wrong")
        expect(page.get_by_role("alert")).to_have_text(
            "This token opens nothing: it is mistyped, or was revoked."
        )
        sign_in(page, team.tokens["ada"])
        expect(page.get_by_text("Nobody asked the customers.")).to_be_visible()
        expect(page.locator(".who-name")).to_contain_text("ada")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("document.cookie") == "", "no script can read it"
        page.reload()
        expect(page.locator(".who-name")).to_contain_text("ada")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        sign_in(page, team.tokens["bob"])
        expect(page.locator(".who-name")).to_contain_text("bob")
        expect(page.locator(".empty")).to_be_visible()
        assert team.people("revoke", "bob").code == 0
        page.reload()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_token_does_not_stay_in_the_address(new_board: NewBoard, stub: StubServer, tmp_path: Path) -> None:
    with a_team(tmp_path, stub) as team:
        page = new_board(team.url).page
        page.goto(f"/new?token={team.tokens['ada']}")
        expect(page.locator(".who-name")).to_contain_text("ada")
        assert page.url == f"{team.url}/new"


def test_on_this_machine_alone_nobody_is_asked_to_sign_in(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    with serving(tmp_path, stub) as server:
        page = new_board(server.url).page
        page.goto("/")
        expect(page.locator(".empty")).to_be_visible()
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


def test_the_list_shows_more_and_those_of_other_workspaces(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    file = tmp_path / "sessions.sqlite3"
    a_board(stub)
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    with serving(tmp_path / "two", stub, "--database", f"sqlite:///{file}") as server:
        server.session(decision="Elsewhere?")
    with serving(tmp_path / "one", stub, "--database", f"sqlite:///{file}") as server:
        copied(file, server.session()[0]["sessionId"], 119)
        page = new_board(server.url).page
        page.goto("/")
        listed = page.locator(".session")
        expect(listed).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(listed).to_have_count(100)
        page.get_by_role("button", name="Show more").click()
        expect(listed).to_have_count(120)
        expect(page.get_by_role("button", name="Show more")).to_have_count(0)
        expect(page.get_by_text("Elsewhere?")).to_have_count(0)
        page.get_by_role("button", name="All workspaces").click()
        expect(page.get_by_role("button", name="All workspaces")).to_have_attribute("aria-pressed", "true")
        expect(listed.first).to_contain_text(DECISION)
        page.get_by_role("button", name="Show more").click()
        page.get_by_role("button", name="Show more").click()
        expect(page.get_by_text("Elsewhere?")).to_be_visible()
        expect(listed.last).to_contain_text("one")
        assert violations(page) == []
