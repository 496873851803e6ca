"""Text made fit for a terminal. Pure.

What models, files and servers say is untrusted: control characters could move the cursor, retitle the
window or forge the program's own lines, so none but line breaks and tabs get through.
"""

from __future__ import annotations

import re

from moot.text.characters import strip_controls

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles, links, clipboard
    r"|\x1b[@-_]?"
)
_UNPRINTED = re.compile(r"[\u061c\u200e\u200f\u2028\u2029\ufeff\ud800-\udfff]")
"""Elsewhere they are part of a text; on a terminal they have no place."""


def visible(text: str) -> str:
    """Without escape sequences, control characters and bidirectional overrides."""
    return _UNPRINTED.sub("", strip_controls(_ESCAPES.sub("", text)))


def width(text: str) -> int:
    """Columns, as terminals count them."""
    from rich.cells import cell_len

    return cell_len(text)


class Wrapping:
    """Breaks a stream of text between words. A word is held back until it is whole, so that it can still
    go to the next line; nothing is ever printed twice or taken back."""

    def __init__(self, columns: int) -> None:
        self._columns = max(columns, 20)
        self._at = 0
        self._gap = ""
        self._word = ""

    def feed(self, text: str) -> str:
        """What can be printed now."""
        out: list[str] = []
        for character in text:
            if character == "\n":
                out.append(self._place())
                out.append("\n")
                self._at, self._gap = 0, ""
            elif character in " \t":
                out.append(self._place())
                self._gap += character if self._at else ""
            else:
                self._word += character
        return "".join(out)

    def end(self) -> str:
        """What was still held back."""
        return self._place()

    def _place(self) -> str:
        word, gap = self._word, self._gap
        if not word:
            return ""
        self._word, self._gap = "", ""
        wide = width(word)
        if self._at and self._at + width(gap) + wide > self._columns:
            self._at = wide
            return f"\n{word}"
        self._at += width(gap) + wide
        return f"{gap}{word}"
