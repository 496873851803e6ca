"""YAML text ⇄ a dict, such that a change of some values leaves the rest of the text alone.

Each top-level entry is a piece of text of its own, and only a piece that says something else than before
is written again. ruamel, which writes it, would keep comments by itself, but it hangs those above a key on
the last value before that key, where replacing the value loses them; and what it keeps in meaning it may
still spell differently. A text that does not come apart (a flow mapping) is written as a whole.

Timestamps are read as the text that they are: whoever writes nanoseconds gets them back. Refuses a key that
is there twice, a second document, anchors and aliases, and anything but a mapping at the top.
"""

from __future__ import annotations

import io
import re
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.constructor import RoundTripConstructor, SafeConstructor
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.resolver import VersionedResolver

from moot.files.parsing import ParseError
from moot.files.plain_yaml import LARGEST, make_plain, parsing

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_EMPTY_MAPPING = re.compile(r"^\{\s*\}[ \t]*(?:\n|\Z)", re.MULTILINE)
_READ_AS_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*:(?=[ \n]|\Z)")
_PLAIN_BELOW = re.compile(r"[ #\n]|-[ \n]")
"""What a line that belongs to a key begins with."""
_UNDER_A_KEY = r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n( *)"
_LIST_UNDER_A_KEY = re.compile(_UNDER_A_KEY + r"- ", re.MULTILINE)
_MAPPING_UNDER_A_KEY = re.compile(_UNDER_A_KEY + r"[^\s#-]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The whole lines of one entry, and the node that it is in."""

    key: Any
    text: str
    node: CommentedMap


class YamlText:
    def __init__(self, text: str) -> None:
        self._original = text
        self._yaml = _yaml(text)
        self._whole = CommentedMap()
        # The plain texts are the comments and blank lines between pieces.
        self._parts = _read_pieces(text)
        if self._parts is None:
            self._whole = _load(self._yaml, text)
            self._parts = self._split(text)
        self.data: dict[str, Any] = dict(self._whole)
        for part in self._parts or ():
            if isinstance(part, _Piece):
                self.data[part.key] = part.node[part.key]
        self._before = {key: _copy(value) for key, value in self.data.items()}

    @staticmethod
    def read(text: str) -> dict[str, Any]:
        return dict(_load(_yaml(text), text))

    def compose(self) -> str:
        if self._says_the_same():
            return self._original
        parts = self._parts
        text = self._rewrite() if parts is None else "".join(map(self._current, parts))
        added = {key: value for key, value in self.data.items() if key not in self._before}
        if parts is not None and (added or not self.data):
            text += "\n" if text and not text.endswith("\n") else ""
            text += self._dump(CommentedMap(added))
        ends_open = bool(self._original) and not self._original.endswith("\n")
        return text.removesuffix("\n") if ends_open else text

    def _says_the_same(self) -> bool:
        return self.data.keys() == self._before.keys() and all(map(self._is_kept, self.data))

    def _is_kept(self, key: Any) -> bool:
        return key in self.data and _is_same(self.data[key], self._before[key])

    def _current(self, part: str | _Piece) -> str:
        if isinstance(part, str):
            return part
        if self._is_kept(part.key):
            return part.text
        if part.key not in self.data:
            return ""
        entry = CommentedMap({part.key: part.node[part.key]})
        # Quotes are kept by putting a text in the place of another.
        entry[part.key] = self.data[part.key]
        if part.key in part.node.ca.items:
            entry.ca.items[part.key] = part.node.ca.items[part.key]
        return "".join(_body(self._dump(entry)))

    def _rewrite(self) -> str:
        for key in self._before.keys() - self.data.keys():
            del self._whole[key]
        for key, value in self.data.items():
            if key not in self._whole or self._whole[key] is not value:
                self._whole[key] = value
        return self._dump(self._whole)

    def _split(self, text: str) -> list[str | _Piece] | None:
        """The text as pieces of one entry each, with what is between them; None where it does not come
        apart."""
        whole = self._whole
        if not whole:
            return [_EMPTY_MAPPING.sub("", text, count=1)]
        positions = [whole.lc.key(key) for key in whole]
        if whole.fa.flow_style() or any(column for _, column in positions):
            return None
        lines = _LINES.findall(text)
        starts = [line for line, _ in positions]
        parts: list[str | _Piece] = ["".join(lines[: starts[0]])]
        for key, start, end in zip(whole, starts, [*starts[1:], len(lines)], strict=True):
            body = _body("".join(lines[start:end]))
            between = "".join(lines[start + len(body) : end])
            node = self._alone(key, "".join(body)) if between else whole
            if node is None:
                return None
            parts += [_Piece(key, "".join(body), node), between]
        return parts

    def _alone(self, key: Any, text: str) -> CommentedMap | None:
        """The entry without the comments below it, which hang on its last value otherwise."""
        try:
            node = _load(self._yaml, text)
        except ParseError:
            return None
        return node if list(node) == [key] and node[key] == self._whole[key] else None

    def _dump(self, node: CommentedMap) -> str:
        """Without the comments in it where they would make it say something else: beside `key: # comment`
        ruamel writes the list [null, 1] as the text 'null - 1'."""
        written = self._write(node)
        try:
            is_right = _is_same(_read(written), node)
        except ParseError:
            is_right = False
        return written if is_right else self._write(CommentedMap(_copy(node)))

    def _write(self, node: CommentedMap) -> str:
        stream = io.StringIO()
        self._yaml.dump(node, stream)
        return stream.getvalue()


def _read_pieces(text: str) -> list[str | _Piece] | None:
    """The text as pieces, each of which is read by itself: most of a file that is written again and again is
    as it was, and to read it takes longer than all else. None where the pieces might say something else than
    the whole; what is wrong with a text is found out there."""
    lines = _LINES.findall(text)
    starts = [number for number, line in enumerate(lines) if _PLAIN_KEY.match(line)]
    if not starts or len(text) > LARGEST or _READ_AS_BREAKS.search(text):
        return None
    head = "".join(lines[: starts[0]])
    parts: list[str | _Piece] = [head]
    if _body(head) or not all(_PLAIN_KEY.match(line) or _PLAIN_BELOW.match(line) for line in lines):
        return None
    keys: set[Any] = set()
    for start, end in pairwise([*starts, len(lines)]):
        body = _body("".join(lines[start:end]))
        between = "".join(lines[start + len(body) : end])
        try:
            node = _read("".join(body))
            is_whole = not between or _is_same(_read("".join(body) + between), node)
        except Exception:
            return None
        # To whom an indented comment at the end belongs is seen in the whole only.
        is_whole = is_whole and not body[-1].lstrip().startswith("#")
        if not is_whole or len(node) != 1 or keys & node.keys():
            return None
        [key] = node
        keys.add(key)
        parts += [_Piece(key, "".join(body), node), between]
    return parts


def _read(text: str) -> CommentedMap:
    return deepcopy(_read_once(text))


@lru_cache(maxsize=64)
def _read_once(text: str) -> CommentedMap:
    return _load(_yaml(text), text)


def _body(text: str) -> list[str]:
    """The lines of an entry without the comments and blank lines below it."""
    lines = _LINES.findall(text)
    while lines and (lines[-1].startswith("#") or lines[-1].isspace()):
        del lines[-1]
    return lines


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _is_same(one: Any, other: Any) -> bool:
    """Whether both would be read as the same: 1, 1.0 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    kinds = (bool, int, float, str)
    return one == other and all(isinstance(one, kind) == isinstance(other, kind) for kind in kinds)


def _load(yaml: YAML, text: str) -> CommentedMap:
    with parsing(text):
        data = yaml.load(text)
    if not isinstance(data, CommentedMap):
        raise ParseError("it is not a mapping", 1)
    return data


def _yaml(text: str) -> YAML:
    yaml = make_plain(YAML())
    yaml.preserve_quotes = True
    yaml.Resolver, yaml.Constructor, yaml.Representer = _Resolver, _Constructor, _Representer
    # Long lines stay as long as somebody has made them.
    yaml.width = 1_000_000
    dash, mapping = _depth(_LIST_UNDER_A_KEY, text, 0), _depth(_MAPPING_UNDER_A_KEY, text, 2)
    yaml.indent(mapping=mapping, sequence=dash + 2, offset=dash)
    return yaml


def _depth(pattern: re.Pattern[str], text: str, default: int) -> int:
    found = pattern.search(text)
    depth = len(found[2]) - len(found[1]) if found else 0
    return depth if depth > 0 else default


class _Resolver(VersionedResolver):
    def add_version_implicit_resolver(self, version: Any, tag: Any, regexp: Any, first: Any) -> None:
        if tag != "tag:yaml.org,2002:timestamp":
            super().add_version_implicit_resolver(version, tag, regexp, first)


class _Constructor(RoundTripConstructor):
    """Numbers are numbers: ruamel's own, which keep how they were spelled, do not always keep their value."""


class _Representer(RoundTripRepresenter):
    def represent_text(self, data: str) -> Any:
        # ruamel takes these for line breaks when it reads, but does not know it when it writes.
        style = '"' if _READ_AS_BREAKS.search(data) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def represent_null(self, _: None) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")


_Constructor.add_constructor("tag:yaml.org,2002:float", SafeConstructor.construct_yaml_float)
_Representer.add_representer(str, _Representer.represent_text)
_Representer.add_representer(type(None), _Representer.represent_null)
