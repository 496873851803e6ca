"""JSON text ⇄ a dict, such that a change of some values leaves the style of the text alone.

Knows indentation, separators, escapes, the final newline, and floats by their literals. Refuses what is
no strict JSON: NaN, a key that is there twice, anything but an object at the top.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from moot.errors import InvalidInput
from moot.files.spelling import KeptFloat, ParseError, kept_float, line_at

_STRING = r'"(?:\\.|[^"\\])*"'
_FIRST_MEMBER = re.compile(rf"\s*\{{(?P<break>\n(?P<indent>[ \t]*))?\s*{_STRING}\s*:(?P<space>[ ]?)")
# Control characters are always escaped; any other escape by number means that the file is ASCII on purpose.
_ESCAPED = re.compile(r"\\u(?!00[01])")
_HALVED = re.compile("[\ud800-\udfff]")


class JsonText:
    def __init__(self, text: str) -> None:
        first = _FIRST_MEMBER.match(text)
        # An empty object says nothing of style and gets ours.
        self._indent = "  " if first is None else first["indent"] if first["break"] else None
        self._space = " " if first is None else first["space"]
        self._ascii = text.isascii() and _ESCAPED.search(text) is not None
        self._end = text[len(text.rstrip()) :]
        self.data = read(text)

    def compose(self) -> str:
        return self._value(self.data, "\n") + self._end

    def _value(self, value: object, newline: str) -> str:
        match value:
            case dict():
                inner = newline + (self._indent or "")
                members = [
                    f"{self._key(key)}:{self._space}{self._value(item, inner)}" for key, item in value.items()
                ]
                return self._enclosed("{", members, "}", newline)
            case list() | tuple():
                inner = newline + (self._indent or "")
                return self._enclosed("[", [self._value(item, inner) for item in value], "]", newline)
            case KeptFloat():
                return value.literal
            case float() if not math.isfinite(value):
                raise InvalidInput("number", f"{value} cannot be written as JSON")
            case str():
                return self._string(value)
            case _:
                return json.dumps(value)

    def _enclosed(self, opening: str, items: list[str], closing: str, newline: str) -> str:
        if not items:
            return opening + closing
        if self._indent is None:
            return opening + f",{self._space}".join(items) + closing
        inner = newline + self._indent
        return opening + inner + f",{inner}".join(items) + newline + closing

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise InvalidInput("key", f"{key!r} is not a text")
        return self._string(key)

    def _string(self, text: str) -> str:
        # Half of a surrogate pair can be in a file only as an escape.
        return json.dumps(text, ensure_ascii=self._ascii or _HALVED.search(text) is not None)


def read(text: str) -> dict[str, Any]:
    def constant(name: str) -> Any:
        # With the strings blanked out, the first one found is the one that the parser stumbled over.
        bare = re.sub(_STRING, lambda string: " " * len(string[0]), text)
        raise ParseError(f"{name} is not JSON", line_at(text, bare.index(name)))

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in pairs:
            if key in mapping:
                raise ParseError(f"{key!r} is there twice", _line_of_second(key, text))
            mapping[key] = value
        return mapping

    try:
        data = json.loads(
            text,
            parse_float=lambda literal: kept_float(float(literal), literal),
            parse_constant=constant,
            object_pairs_hook=members,
        )
    except json.JSONDecodeError as error:
        raise ParseError(error.msg, error.lineno) from None
    except ValueError:
        raise ParseError("a number in it has too many digits") from None
    if not isinstance(data, dict):
        raise ParseError("it is not an object", 1)
    return data


def _line_of_second(key: str, text: str) -> int | None:
    """None when the key is also in other objects, so that nobody is sent to the wrong line."""
    found = [match.start() for match in re.finditer(re.escape(json.dumps(key)) + r"\s*:", text)]
    return line_at(text, found[1]) if len(found) == 2 else None
