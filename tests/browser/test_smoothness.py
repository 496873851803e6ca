"""Eight advisors at once do not make the page stutter."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import FIRST, Board
from tests.support.server import a_board

WINDOW = 2000
"""Milliseconds. A task is long from 50 of them on; the browser itself says so."""
WINDOWS = 4
ALREADY_SAID = "\n\n".join(f"Paragraph {number}: " + "and so *on* " * 30 for number in range(40))
"""Long texts show work that grows with what was said."""

WATCH = """
(milliseconds) => new Promise((resolve) => {
  const long = [];
  const keep = (entries) => entries.forEach((entry) => long.push(Math.round(entry.duration)));
  const observer = new PerformanceObserver((list) => keep(list.getEntries()));
  observer.observe({ entryTypes: ["longtask"] });
  const begun = performance.now();
  let frames = 0;
  const frame = (now) => {
    frames++;
    if (now - begun < milliseconds) requestAnimationFrame(frame);
    else {
      keep(observer.takeRecords());
      observer.disconnect();
      resolve([frames * 1000 / (now - begun), long]);
    }
  };
  requestAnimationFrame(frame);
})
"""


def long_tasks(page: Page) -> list[int]:
    """Their milliseconds, in one window."""
    frames: float
    long: list[int]
    frames, long = page.evaluate(WATCH, WINDOW)
    print(f"{frames:.0f} frames a second, long tasks: {long}")  # noqa: T201 - a report, shown with -s
    return long


def test_no_task_is_long_while_eight_advisors_stream(board: Board, stub: StubServer) -> None:
    """A busy machine can stretch any task, so one quiet window of several is enough; a page that works too
    hard has none."""
    a_board(stub)
    tokens = (ALREADY_SAID, *["word "] * 3000)
    stub.on(lambda request: request.schema is None, Behaviour(tokens=tokens, pace=100))
    board.convene()
    stub.wait(lambda s: s.open_streams == 8)
    expect(board.words).to_contain_text("word " * 100)
    said = len(board.words.inner_text())
    seen = []
    for _ in range(WINDOWS):
        seen.append(long_tasks(board.page))
        if not seen[-1]:
            break
    assert [] in seen, f"tasks over 50 ms in every window: {seen}"
    board.is_at(FIRST)
    assert stub.open_streams == 8
    assert len(board.words.inner_text()) > said + 100 * len("word "), "the text went on all the while"


def test_a_long_task_would_be_seen(board: Board) -> None:
    board.page.goto("/")
    board.page.evaluate(
        "setTimeout(() => { const end = performance.now() + 120; while (performance.now() < end); }, 500)"
    )
    assert [duration for duration in long_tasks(board.page) if duration >= 120]
