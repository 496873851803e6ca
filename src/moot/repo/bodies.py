"""The functions and classes that a text of code has, each with all of its lines.

Knows Python by its own parser, and other languages by their custom: a line that declares something, and then
braces or deeper indentation. What it does not understand has no functions. Refuses to know where a text is
from.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST_TEXT = 400_000
"""Characters of what is taken apart at all."""
_MOST_BODIES = 2_000

_WORDS = (
    r"(?:export|default|public|private|protected|internal|static|final|abstract|override|async|pub(?:\([^)]*\))?"
    r"|unsafe|extern|inline|virtual|const|local|open|suspend|sealed|data)"
)
_DECLARES = re.compile(
    rf"^[ \t]*(?:{_WORDS}\s+){{0,6}}"
    r"(?:(?:def|function\*?|fn|func|fun|sub|proc|class|interface|struct|enum|trait|impl|module|object|type)\s+"
    r"(?:\([^)\n]{0,200}\)\s*)?(?:self\.)?(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?:const|let|var)\s+(?P<arrow>[A-Za-z_$][\w$]*)[^=\n]{0,200}=\s*(?:async\s*)?(?:function\b|\([^)\n]{0,300}\)[^=\n]{0,100}=>|[\w$]+\s*=>)"
    r"|(?:[\w<>\[\],.*&:?]+\s+){0,3}(?P<method>(?!(?:if|for|while|switch|catch|return|else|do|try|new|throw|await|yield|case)\b)[A-Za-z_$][\w$]*)"
    r"\s*\([^;\n]{0,300}\)\s*(?::\s*[^{;\n]{1,100})?(?:\{|$))"
)
_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\\n])*`|//.*|/\*.*?\*/|\#.*")
_END = re.compile(r"\s*(?:end\b|[}\])])")


@dataclass(frozen=True, slots=True)
class Body:
    """`name` is what it is called, `path` with the classes that it is in. Lines count from 1."""

    name: str
    path: str
    first: int
    last: int
    is_class: bool = False

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


_PARSING = threading.Lock()
"""Python's parser keeps how deep it is for all threads together; two at once have raised SystemError."""


def bodies(file: str, text: str) -> tuple[Body, ...]:
    """In the order of the text."""
    if len(text) > LONGEST_TEXT:
        return ()
    found: Sequence[Body] | None = None
    if file.endswith((".py", ".pyi")):
        found = _of_python(text)
    if found is None:
        found = list(_by_custom(text))
    return tuple(found[:_MOST_BODIES])


def _of_python(text: str) -> list[Body] | None:
    """None where it is none that this Python understands."""
    try:
        with _PARSING:
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None
    found: list[Body] = []
    left: list[tuple[ast.AST, str]] = [(tree, "")]
    while left:
        node, within = left.pop()
        for child in ast.iter_child_nodes(node):
            inside = within
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                path = f"{within}{child.name}"
                is_class = isinstance(child, ast.ClassDef)
                found.append(Body(child.name, path, first, child.end_lineno or child.lineno, is_class))
                inside = f"{path}."
            left.append((child, inside))
    return sorted(found, key=lambda body: (body.first, -body.last))


def _by_custom(text: str) -> Iterator[Body]:
    lines = text.split("\n")
    for at, line in enumerate(lines):
        declared = _DECLARES.match(line[:300])
        if declared is None:
            continue
        name = declared["name"] or declared["arrow"] or declared["method"]
        if declared["method"] and not _opens(lines, at):
            continue
        last = _end_of(lines, at)
        if last > at or "{" in line:
            is_class = (
                re.search(r"\b(?:class|interface|struct|trait|impl|enum|module|object)\s", line) is not None
            )
            yield Body(name, name, at + 1, last + 1, is_class)


def _opens(lines: Sequence[str], at: int) -> bool:
    """Whether a brace opens there: a call looks like a method that is declared."""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    return "{" in lines[at] or after.lstrip().startswith("{")


def _end_of(lines: Sequence[str], at: int) -> int:
    """By braces, where one opens on the line or soon after; else by indentation."""
    depth = 0
    opened = False
    for number in range(at, len(lines)):
        if not opened and number > at + 5:
            break
        bare = _STRING.sub("", lines[number][:2_000])
        depth += bare.count("{") - bare.count("}")
        opened = opened or "{" in bare
        if opened and depth <= 0:
            return number
        outside = number > at and _indent(lines[number]) < _indent(lines[at])
        if not opened and (outside or not bare.strip() or bare.rstrip().endswith(";")):
            break
    return at if opened else _end_by_indent(lines, at)


def _end_by_indent(lines: Sequence[str], at: int) -> int:
    last = at
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        if _indent(line) <= _indent(lines[at]):
            return number if _END.match(line) and last > at else last
        last = number
    return last


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))
