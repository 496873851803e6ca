"""The HTML export looks like the page: the same paper and ink by day and by night, the same letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.board_page import NewBoard, a_session
from tests.support.server import Server

RICH = """Not yet.

- **one**
  - two

~~no~~ `code` [a](https://example.org)

```
more
```

> We were here.

| a |
| - |
| 1 |
"""
LOOKS = """element => {
  const { color, fontFamily, fontSize, fontWeight, lineHeight } = getComputedStyle(element);
  return { color, fontFamily: fontFamily.replaceAll(" Variable", ""), fontSize, fontWeight, lineHeight };
}"""


def looks(page: Page, selector: str) -> dict[str, Any]:
    """Of the first such element. The page brings its letters along, under names of their own."""
    found: dict[str, Any] = page.locator(selector).first.evaluate(LOOKS)
    names = [name.strip().strip('"') for name in found["fontFamily"].split(",")]
    return found | {"fontFamily": list(dict.fromkeys(names))}


def paper(page: Page) -> Any:
    """What is behind the words: the page has it on its root, the export on its body."""
    return page.evaluate(
        """[document.body, document.documentElement].map(one => getComputedStyle(one).backgroundColor)
           .find(colour => colour !== "rgba(0, 0, 0, 0)")"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_export_has_the_page_s_paper_ink_and_letters(
    scheme: str, new_board: NewBoard, server: Server, stub: StubServer, tmp_path: Path
) -> None:
    stub.on(lambda request: request.schema is None, Behaviour(text=RICH))
    session_id = a_session(server, stub)
    file = tmp_path / "export.html"
    file.write_text(server.get(f"/api/board/sessions/{session_id}/export?format=html").text, encoding="utf-8")
    board = new_board(server.url, color_scheme=scheme)
    export = new_board(server.url, color_scheme=scheme).page
    export.goto(file.as_uri())
    board.open_brief(session_id)
    expect(board.recommendation).to_be_visible()
    board.row("The Devil's Advocate").click()
    assert paper(export) == paper(board.page)
    assert looks(export, "h1") == looks(board.page, "h1")
    differing = {
        drawn: (document, page)
        for drawn in ("p", "li", "li li", "strong", "code", "pre", "a", "blockquote", "th", "td")
        if (document := looks(export, f"blockquote:has(s) {drawn}"))
        != (page := looks(board.page, f".acc-panel:not([hidden]) .spoken {drawn}"))
    }
    assert differing == {}


def test_a_table_of_an_export_breaks_no_word_on_a_phone(
    new_board: NewBoard, server: Server, stub: StubServer, tmp_path: Path
) -> None:
    table = f"| Choice | Cost, in thousands | Note |\n|-|-|-|\n| Wait | 12 | {'The lease runs on. ' * 5} |"
    stub.on(lambda request: request.schema is None, Behaviour(text=table))
    file = tmp_path / "export.html"
    exported = server.get(f"/api/board/sessions/{a_session(server, stub)}/export?format=html")
    file.write_text(exported.text, encoding="utf-8")
    page = new_board(server.url, viewport={"width": 360, "height": 740}).page
    page.goto(file.as_uri())
    for words in ("Choice", "Wait"):
        lines = page.get_by_text(words, exact=True).first.evaluate(
            """element => {
              const range = document.createRange();
              range.selectNodeContents(element);
              return range.getClientRects().length;
            }"""
        )
        assert lines == 1, words
    assert page.evaluate("document.documentElement.scrollWidth") == 360
