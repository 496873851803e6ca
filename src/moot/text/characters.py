"""Characters that act instead of being read: on terminals, on the direction of what follows, on parsers.

The one place that knows them. They are stripped wherever words come in: from a person, a client, a model or a
log that an earlier version wrote. What else a terminal has to be spared is known to the command line.
"""

from __future__ import annotations

import json
import re
from typing import Any

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All control characters but tab and line feed, and what overrides the direction of text. The marks of
right-to-left writing stay: they are part of how it is spelled."""

_IN_JSON = re.compile(
    rb"\\(?:u[0-9a-fA-F]{4}|[bfr])|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)
"""Where JSON in UTF-8 may have one of them: as an escape, or as it is."""


def strip_controls(text: str) -> str:
    """The rest stays as it is, so pieces of a text can be stripped one by one."""
    return _CONTROLS.sub("", text)


def strip_controls_in(value: Any) -> Any:
    """The same JSON value with every text in it stripped."""
    match value:
        case str():
            return strip_controls(value)
        case dict():
            return {strip_controls_in(name): strip_controls_in(inner) for name, inner in value.items()}
        case list() | tuple():
            return [strip_controls_in(inner) for inner in value]
    return value


def strip_controls_in_json(text: bytes) -> bytes:
    """The same for JSON that is not decoded yet. What is no JSON is left to whoever decodes it."""
    if not _IN_JSON.search(text):
        return text
    try:
        return json.dumps(strip_controls_in(json.loads(text)), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
