"""Text made fit for a terminal. Pure.

What models, files and servers say is untrusted: control characters could move the cursor, retitle the
window or forge the program's own lines, so none but line breaks and tabs get through.
"""

from __future__ import annotations

import re
import unicodedata

from moot.text.characters import strip_controls

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles, links, clipboard
    r"|\x1b[@-_]?"
)
_UNPRINTED = re.compile(r"[\u061c\u200e\u200f\u2028\u2029\ufeff\ud800-\udfff]")
"""Elsewhere they are part of a text; on a terminal they have no place."""
ACTING = re.compile(
    "["
    r"\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f"
    "]"
)
"""All characters of the categories control, format, surrogate, line separator and paragraph separator."""


def visible(text: str) -> str:
    """Without escape sequences, control characters and bidirectional overrides."""
    return _UNPRINTED.sub("", strip_controls(_ESCAPES.sub("", text)))


def width(text: str) -> int:
    """Columns, roughly as terminals count them."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200b\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


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
