"""Task boxes in a Markdown list: which there are, and ticking one.

Knows `- [ ]` and `- [x]` in bullet and numbered lists, nested ones too, as GitHub reads them; boxes in
code or in a quotation are text. Refuses to know what the tasks are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from moot.errors import InvalidInput
from moot.files import markdown
from moot.files.markdown import Document

_BOX = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]")


@dataclass(frozen=True, slots=True)
class Task:
    """`line` counts from 1; `text` is the whole paragraph behind the box, white space collapsed."""

    line: int
    done: bool
    text: str


def tasks(text: str) -> tuple[Task, ...]:
    """In order. Where one line holds a box within a box, the outer one counts."""
    return tuple(task for task, _ in _locate(markdown.parse(text)))


def tick(text: str, line: int) -> str:
    """The text with the box on that line ticked: one character differs."""
    for task, mark in _locate(markdown.parse(text)):
        if task.line == line and not task.done:
            return text[:mark] + "x" + text[mark + 1 :]
    raise InvalidInput("line", f"line {line} is not an open task")


def untick_all(text: str) -> str:
    """The text with every box open."""
    for task, mark in _locate(markdown.parse(text)):
        if task.done:
            text = text[:mark] + " " + text[mark + 1 :]
    return text


def _locate(document: Document) -> Iterator[tuple[Task, int]]:
    """Each task and the offset of the character between its brackets."""
    quotes = 0
    seen = -1
    for index, token in enumerate(document.tokens):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes += token.nesting
        if quotes or token.map is None or "checked" not in token.meta or token.map[0] == seen:
            continue
        seen = token.map[0]
        line = document.text[document.starts[seen] : document.starts[seen + 1]]
        box = _BOX.search(line)
        assert box is not None, "the parser saw a task box on this line"
        paragraph, content = document.tokens[index + 1 : index + 3]
        behind = content.content if paragraph.type == "paragraph_open" else line[box.end() :]
        task = Task(seen + 1, bool(token.meta["checked"]), " ".join(behind.split()))
        yield task, document.starts[seen] + box.start("mark")
