"""Where words go: what was asked for to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Literal

from moot.surfaces.cli.plain import ACTING, visible

Style = Literal["bold", "dim"]


def interactive() -> bool:
    """Whether a person can be asked: somebody types, and somebody sees the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(text: str = "", style: Style | None = None) -> None:
    """A line of the program's own."""
    print(styled(text, style, sys.stderr), file=sys.stderr, flush=True)  # noqa: T201


def show(text: str = "") -> None:
    """A line of the result."""
    print(visible(text), flush=True)  # noqa: T201


def json_text(document: Any) -> str:
    """Readable, and with all that a terminal could act on as escapes: as JSON it is the same."""
    return ACTING.sub(_escape, json.dumps(document, ensure_ascii=False, indent=2))


def _escape(found: re.Match[str]) -> str:
    # The line breaks of the layout are the only ones that are not escaped already.
    return "\n" if found[0] == "\n" else json.dumps(found[0])[1:-1]


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
