"""What a very small model may choose from: it can point at what was said, but neither sum it up nor ask.

Knows how to turn sentences into shapes that allow nothing else.
"""

from __future__ import annotations

import re
from typing import Any, Literal

_LONGEST = 300


def sentences(text: str) -> tuple[str, ...]:
    """Each once, in order; never none."""
    said = re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
    return tuple(dict.fromkeys(sentence[:_LONGEST] for sentence in said if sentence)) or ("(nothing)",)


def one_of(choices: tuple[str, ...]) -> Any:
    """The type of a field that is one of these texts, word for word."""
    literal: Any = Literal
    return literal[choices]


def sequence_of(*types: Any) -> Any:
    """The type of a field that is a list with one of each, in this order."""
    listed: Any = tuple
    return listed[types]
