"""How deep somebody wants to go, read from what they write (brief, standard or deep)."""

from __future__ import annotations

import re
from typing import Literal

Depth = Literal["brief", "standard", "deep"]
DEPTHS: tuple[Depth, ...] = ("brief", "standard", "deep")

_WISHES: tuple[tuple[Depth, str], ...] = (
    ("deep", r"deep|deeper|more detail|more details|dig in|dig deeper|thorough|thoroughly"),
    ("brief", r"brief|briefly|quick|quickly|just the highlights|keep it short"),
    ("standard", r"standard depth|normal depth"),
)
_NOT = r"(?:not|no|n't|without|never)\s+(?:\w+\s+){0,2}"


def depth_in(text: str) -> Depth | None:
    """The depth that the words ask for; None if they ask for none, or for several. "Not too deep" asks
    for none: what is wanted instead is not said."""
    lowered = " ".join(text.casefold().split())
    found = set()
    for depth, words in _WISHES:
        wishes = re.findall(rf"\b(?:{words})\b", lowered)
        refusals = re.findall(rf"{_NOT}(?:{words})\b", lowered)
        if len(wishes) > len(refusals):
            found.add(depth)
    return found.pop() if len(found) == 1 else None
