"""YAML without anchors and aliases, and of bounded depth: for every file that moot reads.

An alias makes a small file a large object: whoever walks it walks it as often as it is named. Nobody needs
one in what moot reads, so that both are refused where they stand, with their line, before anything is made
of them.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.events import AliasEvent

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
