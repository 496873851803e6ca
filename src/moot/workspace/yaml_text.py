"""YAML text ⇄ a dict, such that a change of some values leaves the rest of the text alone.

Each top-level entry is a piece of text of its own, and only a piece that says something else than before
is written anew. ruamel, which writes it, would keep comments by itself, but it hangs those above a key on
the last value before that key, where replacing the value loses them; and what it keeps in meaning it may
still spell differently. A text that does not come apart (a flow mapping) is a single piece.

Timestamps are read as the text that they are: whoever writes nanoseconds gets them back. Refuses a key that
is there twice, a second document, anchors and aliases, and anything but a mapping at the top.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.constructor import RoundTripConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.resolver import VersionedResolver

from moot.texts.plain_yaml import DEEPEST, LARGEST, make_plain
from moot.workspace.spelling import KeptFloat, NotParsed, kept_float, line_at

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_EMPTY_MAPPING = re.compile(r"^\{\s*\}[ \t]*(?:\n|\Z)", re.MULTILINE)
_READ_AS_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_UNDER_A_KEY = r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n( *)"
_LIST_UNDER_A_KEY = re.compile(_UNDER_A_KEY + r"- ", re.MULTILINE)
_MAPPING_UNDER_A_KEY = re.compile(_UNDER_A_KEY + r"[^\s#-]", re.MULTILINE)


@dataclass(slots=True)
class _Piece:
    """Some whole lines, what they say, and what ruamel would write for that."""

    text: str
    node: CommentedMap
    written: str


class YamlText:
    def __init__(self, text: str) -> None:
        self._yaml = _yaml(text)
        self._ends_open = bool(text) and not text.endswith("\n")
        whole = _load(self._yaml, text)
        parts = self._split(text, whole)
        self._in_one_piece = parts is None
        # The plain texts are the comments and blank lines between pieces.
        self._parts: list[str | _Piece] = parts or [self._piece(text, whole)]
        self.data: dict[str, Any] = {
            key: value for part in self._parts if isinstance(part, _Piece) for key, value in part.node.items()
        }

    def compose(self) -> str:
        pieces = [part for part in self._parts if isinstance(part, _Piece)]
        known = {key for piece in pieces for key in piece.node}
        added = {key: value for key, value in self.data.items() if key not in known}
        if self._in_one_piece:
            pieces[0].node.update(added)
            added = {}
        text = "".join(part if isinstance(part, str) else self._current(part) for part in self._parts)
        if added or not self.data:
            text += "\n" if text and not text.endswith("\n") else ""
            text += self._dump(CommentedMap(added))
        return text.removesuffix("\n") if self._ends_open else text

    def _current(self, piece: _Piece) -> str:
        node = piece.node
        for key in list(node):
            if key not in self.data:
                del node[key]
            elif node[key] is not self.data[key]:
                node[key] = self.data[key]
        written = self._dump(node) if node else ""
        return piece.text if written == piece.written else written

    def _split(self, text: str, whole: CommentedMap) -> list[str | _Piece] | None:
        """The text as pieces of one entry each, or None where they would not mean the same on their own."""
        if not whole:
            return [_EMPTY_MAPPING.sub("", text, count=1)]
        root = self._yaml.compose(text)
        if not isinstance(root, MappingNode) or root.flow_style or len(root.value) != len(whole):
            return None
        starts = [key.start_mark.index for key, _ in root.value]
        if any(start and text[start - 1] != "\n" for start in starts):
            return None
        parts: list[str | _Piece] = [text[: starts[0]]]
        for key, start, end in zip(whole, starts, [*starts[1:], len(text)], strict=True):
            lines = _LINES.findall(text[start:end])
            body = len(lines)
            while lines[body - 1].startswith("#") or lines[body - 1].isspace():
                body -= 1
            try:
                piece = self._piece("".join(lines[:body]))
            except NotParsed:
                return None
            if list(piece.node) != [key] or piece.node[key] != whole[key]:
                return None
            parts += [piece, "".join(lines[body:])]
        return parts

    def _piece(self, text: str, node: CommentedMap | None = None) -> _Piece:
        node = _load(self._yaml, text) if node is None else node
        return _Piece(text, node, self._dump(node))

    def _dump(self, node: CommentedMap) -> str:
        stream = io.StringIO()
        self._yaml.dump(node, stream)
        return stream.getvalue()


def read(text: str) -> dict[str, Any]:
    return dict(_load(_yaml(text), text))


def _load(yaml: YAML, text: str) -> CommentedMap:
    if len(text) > LARGEST:
        raise NotParsed(f"it is larger than {LARGEST // 1024} KB")
    try:
        data = yaml.load(text)
    except MaxDepthExceededError as error:
        raise NotParsed(
            f"it is nested more than {DEEPEST} levels deep", error.problem_mark.line + 1
        ) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        raise NotParsed(error.problem or str(error), mark.line + 1 if mark else None) from None
    except ReaderError as error:
        raise NotParsed(error.reason, line_at(text, error.position)) from None
    if not isinstance(data, CommentedMap):
        raise NotParsed("it is not a mapping", 1)
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
    def construct_kept_float(self, node: Any) -> float:
        return kept_float(SafeConstructor.construct_yaml_float(self, node), node.value)


class _Representer(RoundTripRepresenter):
    def represent_kept_float(self, data: KeptFloat) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:float", data.literal)

    def represent_text(self, data: str) -> Any:
        # ruamel takes these for line breaks when it reads, but does not know it when it writes.
        style = '"' if _READ_AS_BREAKS.search(data) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def represent_null(self, _: None) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")


_Constructor.add_constructor("tag:yaml.org,2002:float", _Constructor.construct_kept_float)
_Representer.add_representer(KeptFloat, _Representer.represent_kept_float)
_Representer.add_representer(str, _Representer.represent_text)
_Representer.add_representer(type(None), _Representer.represent_null)
