"""How deep somebody wants to go, read from what they write (brief, standard or deep)."""

from __future__ import annotations

import re
from typing import Literal

Depth = Literal["brief", "standard", "deep"]
DEPTHS: tuple[Depth, ...] = ("brief", "standard", "deep")

_WISHES: tuple[tuple[Depth, str], ...] = (
    ("deep", r"more details?|dig in|dig deeper|thorough|thoroughly"),
    ("brief", r"just the highlights|keep it (?:short|brief)"),
    ("standard", r"standard depth|normal depth"),
)
_ALSO_OF_OTHER_THINGS: tuple[tuple[Depth, str], ...] = (
    ("deep", r"deep|deeper"),
    ("brief", r"brief|briefly|quick|quickly"),
)
"""Words that are as often said of the matter itself: "people expect a quick answer when they search". In a
short sentence they are taken for a wish."""
_SHORT = 7
_NOT = r"(?:not|no|n't|without|never)\s+(?:\w+\s+){0,2}"


def depth_in(text: str) -> Depth | None:
    """The depth that the words ask for; None if they ask for none, or for several. "Not too deep" asks
    for none: what is wanted instead is not said."""
    found = set()
    for sentence in re.split(r"[.!?;\n]+", text.casefold()):
        words = sentence.split()
        wishes = (*_WISHES, *_ALSO_OF_OTHER_THINGS) if len(words) <= _SHORT else _WISHES
        found |= {depth for depth, wish in wishes if _wished(wish, " ".join(words))}
    return found.pop() if len(found) == 1 else None


def _wished(wish: str, sentence: str) -> bool:
    wishes = re.findall(rf"\b(?:{wish})\b", sentence)
    refusals = re.findall(rf"{_NOT}(?:{wish})\b", sentence)
    return len(wishes) > len(refusals)
