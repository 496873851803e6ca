"""Which of a list of words a text uses.

Knows what counts as a use. Whose words they are and why they are listed, others know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def words_used(words: Iterable[str], text: str, prompted_by: str = "") -> tuple[str, ...]:
    """Those of `words` that stand in `text`, in their order.

    Only the listed forms count, as whole words in any case. A word that others brought up (`prompted_by`)
    may be quoted.
    """
    said, prompt = text.casefold(), prompted_by.casefold()
    matchers = ((word, _matcher(word)) for word in words)
    return tuple(word for word, matcher in matchers if matcher.search(said) and not matcher.search(prompt))


def _matcher(phrase: str) -> re.Pattern[str]:
    # A phrase may be hyphenated or broken over lines.
    words = r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", phrase.casefold())))
    return re.compile(rf"(?<!\w){words}(?!\w)")
