"""Whether a contribution to a discussion adds anything of its own (AC-010-04: silence rather than an echo).

Knows words, their order, and the phrases of mere agreement in English. Refuses to know meaning: the same
thought in other words is not found, and no contribution is judged by whether it is a good one. In doubt a
contribution is let through, because an echo costs a minute and a lost objection may cost more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

# Of the words that say something: how many are another's, and how many stand in another's order.
_WORDS_SHARED = 0.8
_PAIRS_SHARED = 0.6
# With fewer it is chance what they share.
_FEWEST_WORDS = 4

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_PERSON_MENTIONED = re.compile(r"\b((?i:as|with|like|on|echo|echoing|second|seconding|to|and)\s+)[A-Z]\w+")
_AGREEMENT_PHRASE = re.compile(
    r"\b(?:(?:good|great|fair|excellent) points?|makes (?:\w+ )?sense|nothing (?:\w+ )?to add"
    r"|sounds (?:good|right|great)|well (?:said|put)|spot on)\b",
    re.IGNORECASE,
)


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_AGREEMENT = _set_of(
    "agree agreed agreement agrees aligned concur correct echo echoing exactly right same second seconding"
)
# Question words are not among them, nor are negations and "but": they are what an objection is made of.
_SAYS_NOTHING = _AGREEMENT | _set_of(
    """
    a about absolutely added all already also am an and any are as at basically be been both building by
    certainly completely could did do does entirely for from fully good great had has have he her here him his
    i i'd i'll i'm i've indeed is it its just let made make makes me mentioned more much my noted now of ok
    okay on one our overall point pointed points put really said say says sense she should so sounds strongly
    suggested sure that the their them there they they're think this to too totally us very was way we we'd
    we'll we're we've well were wholeheartedly will with would yeah yep yes you you're your
    """
)
_SAID_IN_AGREEMENT = _SAYS_NOTHING | _set_of(
    "add anything else everyone everything excellent fair further nothing others spot team total what"
)
_OBJECTION = _set_of("but except if neither never no nobody none nor not unless until without wrong yet")


def echoes(text: str, recent: Sequence[str]) -> bool:
    """Whether the text says again what one of `recent` said, or nothing but that it agrees."""
    return _only_agrees(text) or any(_repeats(text, other) for other in recent)


def _only_agrees(text: str) -> bool:
    words = _WORD.findall(text)
    agrees = not _AGREEMENT.isdisjoint(map(_normalize, words)) or _AGREEMENT_PHRASE.search(text)
    return bool(agrees) and "?" not in text and all(map(_adds_nothing, words))


def _adds_nothing(word: str) -> bool:
    """A word with a capital is a colleague's name, as far as anyone can tell."""
    plain = _normalize(word)
    return plain in _SAID_IN_AGREEMENT or (word[0].isupper() and not _objects(plain))


def _repeats(text: str, other: str) -> bool:
    said, theirs = _telling_words(text), _telling_words(other)
    words, pairs = set(said), set(pairwise(said))
    if said == theirs:
        return True
    if len(words) < _FEWEST_WORDS or any(map(_objects, words - set(theirs))):
        return False
    shared_words, shared_pairs = words & set(theirs), pairs & set(pairwise(theirs))
    return len(shared_words) >= _WORDS_SHARED * len(words) and len(shared_pairs) >= _PAIRS_SHARED * len(pairs)


def _objects(word: str) -> bool:
    return word in _OBJECTION or word.endswith("n't")


def _telling_words(text: str) -> list[str]:
    words = map(_normalize, _WORD.findall(_PERSON_MENTIONED.sub(r"\1", text)))
    return [word for word in words if word not in _SAYS_NOTHING]


def _normalize(word: str) -> str:
    """Without its 's: what is left of "Alex's" is a name, and of "it's" as little as before."""
    return word.casefold().replace("’", "'").removesuffix("'s")
