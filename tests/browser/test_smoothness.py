"""Eight advisors at once do not make the page stutter.

What a task takes of the processor is counted, not how long it lasts: a busy machine stretches any task.
"""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import FIRST, Board
from tests.support.server import a_board

WINDOW = 2000
"""Milliseconds."""
LONG = 50
"""From so many milliseconds on a task is long, as browsers see it."""
ALREADY_SAID = "\n\n".join(f"Paragraph {number}: " + "and so *on* " * 30 for number in range(40))
"""Long texts show work that grows with what was said."""


def long_tasks(page: Page) -> list[float]:
    """The milliseconds that each long task of the page took of the processor, in one window."""
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, categories=["toplevel"])
    page.wait_for_timeout(WINDOW)
    traced = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in traced
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [event for event in traced if event.get("ph") == "X" and (event["pid"], event["tid"]) in threads]
    assert len(tasks) > 10, "nothing was traced"
    return [task["tdur"] / 1000 for task in tasks if task.get("tdur", 0) >= LONG * 1000]


def test_no_task_is_long_while_eight_advisors_stream(board: Board, stub: StubServer) -> None:
    a_board(stub)
    tokens = (ALREADY_SAID, *["word "] * 3000)
    stub.on(lambda request: request.schema is None, Behaviour(tokens=tokens, pace=100))
    board.convene()
    stub.wait(lambda s: s.open_streams == 8)
    expect(board.words).to_contain_text("word " * 100)
    said = len(board.words.inner_text())
    assert long_tasks(board.page) == []
    board.is_at(FIRST)
    assert stub.open_streams == 8
    assert len(board.words.inner_text()) > said + 100 * len("word "), "the text went on all the while"


def test_a_long_task_would_be_seen(board: Board) -> None:
    board.page.goto("/")
    # Again and again: nobody knows when tracing begins, or how much of the processor it gets.
    board.page.evaluate(
        "setInterval(() => { const end = performance.now() + 400; while (performance.now() < end); }, 500)"
    )
    assert long_tasks(board.page)
