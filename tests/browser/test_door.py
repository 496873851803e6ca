"""The page of a server for a team, and its list: signing in and out, whose sessions, of which workspace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_access import violations
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import NewBoard
from tests.support.server import DECISION, a_board, serving
from tests.web.test_people import a_team
from tests.web.test_session_list import copied


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
        sign_in(page, "x" * 201)
        expect(page.get_by_role("alert")).to_have_text("token: has to have at most 200 characters.")
        expect(page.get_by_label("Your token")).to_have_value("x" * 201)
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


def test_a_page_of_another_site_has_no_session_go_on(
    browser: Browser, stub: StubServer, tmp_path: Path
) -> None:
    stub.default = Behaviour(text="word " * 100, pace=50)
    with serving(tmp_path, stub, "--grace", "0") as server, another_site() as (site, content):
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
            session = next(events)["sessionId"]
            stub.wait(lambda s: s.open_streams == 8)
        stub.wait(lambda s: s.open_streams == 0)
        before = len(stub.requests)
        address = f"{server.url}/api/board/sessions/{session}/events"
        content.append(
            f'<img src="{address}" onerror="document.title = 1 + +document.title">'
            f'<iframe src="{address}" onload="document.title = 1 + +document.title"></iframe>'
            f'<script>document.title = "0"; const one = () => {{ document.title = 1 + +document.title; }};'
            f'fetch("{address}", {{mode: "no-cors"}}).then(one, one);'
            f'new EventSource("{address}").onerror = (e) => {{ e.target.close(); one(); }};</script>'
        )
        # Of its own, because the browser complains, as it should.
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(site)
            expect(page).to_have_title("4")
        assert len(stub.requests) == before


@contextmanager
def another_site() -> Iterator[tuple[str, list[str]]]:
    content: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = "".join(["<!doctype html><title>0</title>", *content]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{site.server_address[1]}", content
        site.shutdown()
        thread.join(10)


def test_a_board_whose_answer_was_lost_is_not_convened_twice(
    new_board: NewBoard, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    with serving(tmp_path, stub) as server:
        page = new_board(server.url).page
        lost: list[str] = []

        def lose_the_first(route: Route) -> None:
            if lost:
                route.continue_()
                return
            lost.append(route.request.headers["idempotency-key"])
            route.fetch()
            route.abort()

        page.route("**/api/board/session", lose_the_first)
        page.goto("/new")
        page.get_by_role("textbox").fill(DECISION)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Convene the Board").click()
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", name="The Devil's Advocate")).to_be_visible()
        assert len(server.get("/api/board/sessions").json()["sessions"]) == 1
        assert len(stub.requests) == 10, "questions, eight advisors, a brief"
