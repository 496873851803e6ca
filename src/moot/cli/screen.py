"""Where words go: what was asked for to stdout, everything else to stderr. On a terminal, lines break between
words."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, Literal

from moot.cli.plain import Wrapping, visible, width

Style = Literal["bold", "dim"]
_MARK = re.compile(r"(?:\d{1,3}[.)]|[-*•]|\[[\w-]{1,8}\]) +")


def interactive() -> bool:
    """Whether a person can be asked: somebody types, and somebody sees the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(text: str = "", style: Style | None = None) -> None:
    """A line of the program's own."""
    print(styled(_fitted(visible(text), sys.stderr), style, sys.stderr), file=sys.stderr, flush=True)  # noqa: T201


def show(text: str = "") -> None:
    """A line of the result."""
    print(_fitted(visible(text), sys.stdout), flush=True)  # noqa: T201


def json_text(document: Any) -> str:
    """Readable, and with all that a terminal could act on as escapes: as JSON it is the same."""
    lines = json.dumps(document, ensure_ascii=False, indent=2).split("\n")
    return "\n".join(line if line.isprintable() else "".join(map(_escaped, line)) for line in lines)


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def show_json(document: Any) -> None:
    """The one document of a --json command."""
    print(json_text(document), flush=True)  # noqa: T201


def styled(text: str, style: Style | None, stream: Any) -> str:
    """Made safe first, then dressed, so that no text can dress itself."""
    code = {"bold": "1", "dim": "2", None: ""}[style]
    return f"\x1b[{code}m{visible(text)}\x1b[0m" if code and coloured(stream) else visible(text)


def coloured(stream: Any) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """A comfortable measure, or the terminal's width where that is less."""
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, 88)
    except (OSError, ValueError):
        return 88


def wrapped(text: str, indent: int = 0) -> str:
    """Between words, to a comfortable measure; what a mark (`1.`, `-`, `[E]`) begins stays right of it."""
    return "\n".join(line for one in visible(text).split("\n") for line in _lines(one, indent, columns()))


def broken(text: str, columns: int) -> str:
    """Lines that are too long for a terminal, between words; all others stay as they are."""
    lines = text.split("\n")
    return "\n".join(
        part for line in lines for part in (_lines(line, 0, columns) if width(line) > columns else (line,))
    )


def _lines(line: str, indent: int, columns: int) -> Iterator[str]:
    words = line.strip()
    mark = found[0] if (found := _MARK.match(words)) else ""
    margin = " " * min(indent + len(line) - len(line.lstrip(" ")), 24)
    yield from hung(f"{margin}{mark}", words[len(mark) :], columns)


def hung(mark: str, text: str, columns: int) -> Iterator[str]:
    """Wrapped, with every line but the first below the first's text."""
    wrapping = Wrapping(columns - len(mark))
    first, *more = (wrapping.feed(text) + wrapping.end()).split("\n")
    yield f"{mark}{first}".rstrip()
    yield from (f"{' ' * len(mark)}{part}".rstrip() for part in more)


def _fitted(text: str, stream: Any) -> str:
    if not stream.isatty():
        return text
    try:
        return broken(text, os.get_terminal_size(stream.fileno()).columns or 80)
    except (OSError, ValueError):
        return text
