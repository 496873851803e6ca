"""What the Claude models differ in, by name: sampling parameters and how thinking is kept out of a reply.

A table of facts, so that the first request is right. A model that is not in it is treated like the
newest; where that is wrong, the server's 400 names the field and the wire module adapts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Thinking = Literal["absent", "disabled", "between_tools", "room"]
"""How to keep thinking from eating the reply: nothing to do; switch it off; allow it between tool calls
only; or, where it is always on, leave it room and ask for little of it."""


@dataclass(frozen=True, slots=True)
class ClaudeTraits:
    takes_temperature: bool
    thinking: Thinking


_NAME = re.compile(r"claude-(?P<family>opus|sonnet|haiku|fable)-(?P<major>\d)(?:-(?P<minor>\d))?(?![\d])")
_OLD_NAME = re.compile(r"claude-(?:[123]|instant)\b")


def traits(model: str) -> ClaudeTraits:
    if _OLD_NAME.search(model) or not model.startswith("claude"):
        return ClaudeTraits(takes_temperature=True, thinking="absent")
    found = _NAME.search(model)
    if not found:
        return ClaudeTraits(takes_temperature=False, thinking="room")
    family = found["family"]
    version = (int(found["major"]), int(found["minor"] or 0))
    return ClaudeTraits(_takes_temperature(family, version), _thinking(family, version))


def _takes_temperature(family: str, version: tuple[int, int]) -> bool:
    last_with = {"opus": (4, 6), "sonnet": (4, 9), "haiku": (5, 4)}
    return version <= last_with.get(family, (0, 0))


def _thinking(family: str, version: tuple[int, int]) -> Thinking:
    if family == "fable" or (family == "opus" and version >= (5, 5)):
        return "room"
    if family == "sonnet" and version >= (5, 5):
        return "between_tools"
    if version >= (5, 0):
        return "disabled"
    return "absent"
