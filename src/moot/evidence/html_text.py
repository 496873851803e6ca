"""The text of a page: headings, paragraphs, lists, tables and code, without what only a browser needs.

Leaves out scripts, styles and embedded pictures, and nothing else: menus and footers stay, because a program
that guesses which part matters is sometimes wrong. Pure.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNSEEN = frozenset(
    ["script", "style", "noscript", "template", "svg", "iframe", "object", "select", "canvas"]
)
_BLOCK_NAMES = """
address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form
header hr html main nav ol p pre section summary table tbody tfoot thead title tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\n\r\f\v]+")


def convert(html: str) -> str:
    page = _Page()
    page.feed(html)
    page.close()
    page.say_if_cut_off()
    lines = [line.rstrip() for line in "".join(page.out).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._unseen: list[str] = []
        """An element that is not shown, as often as it is open: they can be in one another."""
        self._pre = 0
        self._at_start = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._unseen or tag in _UNSEEN:
            if not self._unseen or tag == self._unseen[0]:
                self._unseen.append(tag)
            return
        if tag in _HEADINGS:
            self._break("\n\n")
            self._add(f"{_HEADINGS[tag]} ")
        elif tag == "li":
            self._break("\n")
            self._add("- ")
        elif tag in ("td", "th"):
            self._add("" if self._at_start else " | ")
        elif tag == "br":
            self._break("\n")
        elif tag == "img" and (given.get("alt") or "").strip():
            self._add(f"[image: {_SPACE.sub(' ', given['alt'] or '').strip()}]")
        elif tag in _BLOCKS:
            self._break("\n" if tag == "tr" else "\n\n")
        self._pre += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._unseen or tag in _BLOCKS or tag in _HEADINGS:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            if tag == self._unseen[0]:
                self._unseen.pop()
            return
        if tag == "pre":
            self._pre = max(0, self._pre - 1)
        if tag in _BLOCKS or tag in _HEADINGS:
            self._break("\n" if tag == "tr" else "\n\n")

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._pre:
            self._add(data)
            return
        text = _SPACE.sub(" ", data)
        if self._at_start:
            text = text.lstrip(" ")
        self._add(text)

    def say_if_cut_off(self) -> None:
        if self._unseen:
            self.out.append(
                f"\n\n[The page ends within <{self._unseen[0]}>: what follows its beginning is left out.]"
            )

    def _break(self, ends: str) -> None:
        self.out.append(ends)
        self._at_start = True

    def _add(self, text: str) -> None:
        if text:
            self.out.append(text)
            self._at_start = text.endswith(("\n", " "))
