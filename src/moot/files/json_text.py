"""JSON text ⇄ a dict, such that a change of some values leaves the style of the text alone.

Knows indentation, separators, escapes and the final newline. Refuses what is no strict JSON: NaN, a key that
is there twice, anything but an object at the top.
"""

from __future__ import annotations

import json
import re
from typing import Any

from moot.errors import InvalidInput
from moot.files.parsing import ParseError, line_at

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
        self.data = self.read(text)

    def compose(self) -> str:
        try:
            composed = json.dumps(
                self.data,
                indent=self._indent,
                separators=("," if self._indent is not None else f",{self._space}", f":{self._space}"),
                ensure_ascii=self._ascii,
                allow_nan=False,
            )
        except ValueError:
            raise InvalidInput("number", "NaN and infinity cannot be written as JSON") from None
        # Half of a surrogate pair can be in a file only as an escape.
        return _HALVED.sub(lambda half: f"\\u{ord(half[0]):04x}", composed) + self._end

    @staticmethod
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
            data = json.loads(text, parse_constant=constant, object_pairs_hook=members)
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
