"""How deep somebody wants to go, read from what they write (brief, standard or deep).

Knows how people ask for it: "go deeper here", "quick, please", "I'd like more detail". The same words are as
often said of the matter itself ("the page has to be quick"), so a sentence counts only if asking is all that
it does. Refuses to guess: whoever is not understood can say it again in fewer words.
"""

from __future__ import annotations

import re
from typing import Literal

Depth = Literal["brief", "standard", "deep"]
DEPTHS: tuple[Depth, ...] = ("brief", "standard", "deep")

_HOW: tuple[tuple[Depth, str], ...] = (
    ("deep", r"deep|deeper|thorough|thoroughly|in depth|(?:in(?:to)? )?(?:more|greater) details?"),
    ("brief", r"brief|briefly|quick|quickly|short|just the highlights|only the highlights"),
    ("standard", r"(?:standard|normal)(?: depth)?"),
)
_ALONE: tuple[tuple[Depth, str], ...] = (
    ("deep", r"deep|deeper|in depth|thorough|more details?|dig (?:in|deeper|into (?:it|this|that))"),
    ("brief", r"brief|quick|just the highlights|only the highlights"),
    ("standard", r"(?:standard|normal) depth"),
)
"""What is a wish without a word before it."""

_FILLER = r"(?:(?:ok|okay|please|so|well|now|and|but|yes|no|then|actually|alright|thanks|here) )*"
_ASKED = (
    r"(?:(?:let's|let us|can (?:we|you)|could (?:we|you)|would you|(?:we|you) (?:can|could|should)"
    r"|(?:i|we)(?:'d| would) (?:like|love|prefer)(?: you)?|i (?:want|need|prefer)(?: you)?)"
    r"(?: to)?(?: please)? )"
)
_VERB = r"(?:(?:be|go|stay|(?:keep|make|do|take) (?:it|this)|give me|have|get|back to) )"
_HOW_MUCH = r"(?:(?:a|an|the|very|much|more|really|rather|a bit|a little|even|as|just|back to) )*"
_WHAT = r"(?: (?:analysis|look|dive|discussion|answer|overview|version|pass|depth|one))?"
_WHERE = (
    r"(?: (?:please|here|now|today|again|from (?:here|now) on|this time|then|thanks"
    r"|(?:about|on|with|through|for|in|into|of|over)"
    r" (?:this|that|it|these|everything|the (?:rest|next|other))"
    r"(?: (?:one|step|steps|part|phase|question|questions|point))?))*"
)
_ASKED_OF_YOU = (
    r"(?:(?:(?:can|could|would) you|you (?:can|could|should)|(?:i|we)(?:'d| would) (?:like|love|prefer) you)"
    r"(?: to)?(?: please)? )"
)
_ABOUT = r"(?: (?:about|on|of|for) .+)?"
"""Only where somebody is asked to say more: "we would like more detail on the invoice" is about that."""


def depth_in(text: str) -> Depth | None:
    """The depth that the words ask for; None if they ask for none, or for several. "Not too deep" asks
    for none: what is wanted instead is not said."""
    found = set()
    for sentence in re.split(r"[.!?;\n]+", text.casefold().replace("’", "'")):
        words = " ".join(sentence.replace(",", " ").split())
        found |= {depth for depth in DEPTHS if any(asks.fullmatch(words) for asks in _ASKS[depth])}
    return found.pop() if len(found) == 1 else None


def _asks(depth: Depth) -> tuple[re.Pattern[str], ...]:
    alone, how = dict(_ALONE)[depth], dict(_HOW)[depth]
    ordered = rf"{_FILLER}(?:{_ASKED}{_VERB}?|{_VERB}){_HOW_MUCH}(?:{how}){_WHAT}{_WHERE}"
    of_whom = rf"(?:{_ASKED_OF_YOU}{_VERB}?(?:in(?:to)? )?|{_ASKED}(?:go|get) in(?:to)? )"
    more = rf"{_FILLER}{of_whom}more details?{_ABOUT}"
    patterns = (rf"{_FILLER}{_ASKED}?(?:{alone}){_WHERE}", ordered, *((more,) if depth == "deep" else ()))
    return tuple(map(re.compile, patterns))


_ASKS = {depth: _asks(depth) for depth in DEPTHS}


# -- logs of earlier versions ----------------------------------------------------------------------

_ONCE: tuple[tuple[Depth, str], ...] = (
    ("deep", r"more details?|dig in|dig deeper|thorough|thoroughly"),
    ("brief", r"just the highlights|keep it (?:short|brief)"),
    ("standard", r"standard depth|normal depth"),
)
_ONCE_IF_SHORT: tuple[tuple[Depth, str], ...] = (
    ("deep", r"deep|deeper"),
    ("brief", r"brief|briefly|quick|quickly"),
)
_SHORT = 7
_NOT = r"(?:not|no|n't|without|never)\s+(?:\w+\s+){0,2}"


def depth_once_read(text: str) -> Depth | None:
    """What `depth_in` made of the same words before logs said it: what followed in them depends on it."""
    found = set()
    for sentence in re.split(r"[.!?;\n]+", text.casefold()):
        words = sentence.split()
        wishes = (*_ONCE, *_ONCE_IF_SHORT) if len(words) <= _SHORT else _ONCE
        found |= {depth for depth, wish in wishes if _once_wished(wish, " ".join(words))}
    return found.pop() if len(found) == 1 else None


def _once_wished(wish: str, sentence: str) -> bool:
    wishes = re.findall(rf"\b(?:{wish})\b", sentence)
    refusals = re.findall(rf"{_NOT}(?:{wish})\b", sentence)
    return len(wishes) > len(refusals)
