"""YAML without anchors and aliases, and of bounded depth: for every file that moot reads.

An alias makes a small file a large object: whoever walks it walks it as often as it is named. Nobody needs
one in what moot reads, so that both are refused where they stand, with their line, before anything is made
of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.reader import ReaderError

from moot.files.parsing import ParseError, line_at

DEEPEST = 50
LARGEST = 256 * 1024
"""Characters of YAML that are read: this much takes some seconds."""


class PlainComposer(Composer):
    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if event.anchor is not None:
            mark = "*" if isinstance(event, AliasEvent) else "&"
            problem = f"anchors and aliases are not allowed here: '{mark}{event.anchor}'"
            raise ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)


def make_plain(yaml: YAML) -> YAML:
    yaml.Composer = PlainComposer
    yaml.max_depth = DEEPEST
    return yaml


@contextmanager
def parsing(text: str) -> Iterator[None]:
    """Raises ParseError for what ruamel raises about the text."""
    if len(text) > LARGEST:
        raise ParseError(f"it is larger than {LARGEST // 1024} KB")
    try:
        yield
    except MaxDepthExceededError as error:
        line = error.problem_mark.line + 1
        raise ParseError(f"it is nested more than {DEEPEST} levels deep", line) from None
    except ReaderError as error:
        problem = f"the character U+{error.character:04X} is not allowed in YAML"
        raise ParseError(problem, line_at(text, error.position)) from None
    except MarkedYAMLError as error:
        reason = " ".join(str(error.problem or error.context).split())
        problem = f"it is not valid YAML: {reason.removeprefix('but ')}"
        mark, begun = error.problem_mark, error.context_mark
        # What runs to the end was left open further up, and that is the line to fix.
        if begun is not None and (mark is None or mark.line >= text.count("\n")):
            raise ParseError(f"{problem}, {error.context}", begun.line + 1) from None
        raise ParseError(problem, mark.line + 1 if mark else None) from None
    except ValueError as error:
        # Of `!!int x`, 2026-02-30 or a number of 5,000 digits. What follows the semicolon is for programmers.
        raise ParseError(f"a value in it cannot be read: {str(error).partition(';')[0]}") from None
