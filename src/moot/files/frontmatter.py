"""The YAML block at the top of a Markdown file, as plain values that know their lines.

Knows where front matter begins and ends and which YAML is welcome there: mappings with text keys, lists,
text, numbers, booleans and null. A date stays the text that was written. Merge keys and tags are refused:
nobody needs them here, and they are how a small file becomes a foreign object.
Refuses to know which fields a file should have, and never touches the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from moot.errors import FileDamaged
from moot.files.parsing import ParseError
from moot.files.plain_yaml import make_plain, parsing

BOM = "\ufeff"
LINE_BREAK = re.compile(r"\r\n?|\n")

_OPENING = r"\ufeff?---[ \t]*(?>\r\n?|\n|\Z)"
_OPEN = re.compile(_OPENING)
_BLOCK = re.compile(_OPENING + r"(?P<yaml>(?:.*?(?>\r\n?|\n))??)---[ \t]*(?>\r\n?|\n|\Z)", re.DOTALL)

_YAML_TAG = "tag:yaml.org,2002:"
_WRITTEN_AS_TEXT = {_YAML_TAG + "str", _YAML_TAG + "timestamp"}
_SCALARS = {_YAML_TAG + name for name in ("int", "float", "bool", "null")}

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    fields: dict[str, Any]
    body: str
    _lines: Mapping[Path, int] = field(repr=False, compare=False)

    def line_of(self, *path: str | int) -> int:
        """The line in the file of a nested key or list index, or of the nearest parent that is there."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


def body_start(text: str) -> int:
    """The offset behind the byte order mark and the front matter, whatever the YAML in it is worth."""
    block = _BLOCK.match(text)
    return block.end() if block else int(text.startswith(BOM))


def is_left_open(text: str) -> bool:
    """Whether the text begins like front matter that no second `---` ends."""
    return _OPEN.match(text) is not None and _BLOCK.match(text) is None


def read(text: str, file: str) -> FrontMatter:
    """Raises FileDamaged, naming `file` and the line."""
    if is_left_open(text):
        raise FileDamaged(file, "the front matter that begins here has no closing '---' line", 1)
    block = _BLOCK.match(text)
    reader = _Reader(file)
    return FrontMatter(
        fields=reader.read(block["yaml"]) if block else {},
        body=text[body_start(text) :],
        _lines=reader.lines,
    )


class _Reader:
    """Turns composed YAML nodes into plain values. ruamel's own constructors would make dates, sets and
    shared objects, and would lose the lines."""

    def __init__(self, file: str) -> None:
        self.lines: dict[Path, int] = {}
        self._file = file
        self._yaml = make_plain(YAML(typ="safe", pure=True))

    def read(self, source: str) -> dict[str, Any]:
        try:
            with parsing(source):
                root = self._yaml.compose(source)
        except ParseError as error:
            # The YAML begins on the second line of the file.
            raise self._damaged(error.problem, error.line and error.line + 1) from None
        if root is None:
            return {}
        if not isinstance(root, MappingNode):
            raise self._damaged("the front matter is not a list of 'name: value' fields", _line(root))
        fields: dict[str, Any] = self._value(root, ())
        return fields

    def _value(self, node: Node, path: Path) -> Any:
        match node:
            case MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, path)
            case SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
            case ScalarNode() if node.tag in _WRITTEN_AS_TEXT:
                return node.value
            case ScalarNode() if node.tag in _SCALARS:
                return self._scalar(node)
        raise self._damaged(f"the tag {_tag_name(node)} is not allowed here", _line(node))

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in values:
                raise self._damaged(f"the field '{key}' appears twice", _line(key_node))
            self.lines[*path, key] = _line(key_node)
            values[key] = self._value(value_node, (*path, key))
        return values

    def _item(self, node: Node, path: Path) -> Any:
        self.lines[path] = _line(node)
        return self._value(node, path)

    def _key(self, node: Node) -> str:
        """Keys are text as written, so that `1:` and `on:` are "1" and "on"."""
        if not isinstance(node, ScalarNode):
            raise self._damaged("a field's name must be plain text", _line(node))
        if node.tag not in _WRITTEN_AS_TEXT | _SCALARS:
            raise self._damaged(f"the field name '{node.value}' is not allowed here", _line(node))
        return str(node.value)

    def _scalar(self, node: ScalarNode) -> Any:
        try:
            return self._yaml.constructor.construct_object(node)
        except (ValueError, KeyError, IndexError, OverflowError):
            raise self._damaged(f"'{node.value[:40]}' is no valid {_tag_name(node)}", _line(node)) from None

    def _damaged(self, problem: str, line: int | None) -> FileDamaged:
        return FileDamaged(self._file, problem, line)


def _line(node: Node) -> int:
    """ruamel counts from 0, and the YAML begins on the second line of the file."""
    return int(node.start_mark.line) + 2


def _tag_name(node: Node) -> str:
    tag = str(node.tag)
    return f"!!{tag.removeprefix(_YAML_TAG)}" if tag.startswith(_YAML_TAG) else tag
