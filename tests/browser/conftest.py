"""A real Chromium on the built page, a real `moot serve` behind it, a stub model behind that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.stub.server import StubServer, running_stub
from tests.support.board_page import NOTE_MOVES, Board, NewBoard
from tests.support.server import Server, a_board, serving

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 15_000
"""Milliseconds. Long, because the machine may be busy: what is waited for usually comes at once."""


@pytest.fixture(scope="session")
def chromium() -> str:
    """The one place that decides what a missing browser means."""
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    missing = f"no Chromium: none of {', '.join(NAMES)} was found"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=chromium, args=FLAGS) as launched:
            yield launched


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def grace() -> float:
    """Seconds that a session goes on without a page; a module may have its own."""
    return 0.4


@pytest.fixture(scope="module")
def shared_server(
    browser: Browser,  # noqa: ARG001 - nothing is started where there is no browser
    shared_stub: StubServer,
    grace: float,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with serving(folder, shared_stub, "--no-open", "--grace", str(grace)) as server:
        yield server


@pytest.fixture
def stub(shared_stub: StubServer) -> StubServer:
    shared_stub.wait(lambda s: s.open_streams == 0)
    shared_stub.reset()
    a_board(shared_stub)
    return shared_stub


@pytest.fixture
def server(shared_server: Server, stub: StubServer) -> Server:  # noqa: ARG001
    return shared_server


@pytest.fixture
def new_board(browser: Browser) -> Iterator[NewBoard]:
    """Makes tabs, each of a browser of its own. What a page complains about in its console fails the test;
    that a request failed is the browser's, and part of some tests."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    def watch(page: Page) -> None:
        page.set_default_timeout(PATIENCE)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))

    def make(url: str, **options: Any) -> Board:
        context = browser.new_context(base_url=url, **options)
        contexts.append(context)
        context.add_init_script(NOTE_MOVES)
        context.on("page", watch)
        return Board(context.new_page())

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def board(new_board: NewBoard, server: Server) -> Board:
    return new_board(server.url)
