"""What a speaker has looked up before, told to them again: what they read itself is in no later request. And
what they have cited that is not there, because their own words are given back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moot.core.flow import Usage
from moot.evidence import citations
from moot.evidence.citations import Check, Citation
from moot.evidence.items import Evidence
from moot.llm.messages import Source, Weight
from moot.prompts.template import fill


def looked_before(bills: Iterable[Usage | None]) -> tuple[Source, ...]:
    """Of their earlier answers; nothing where they have looked at nothing."""
    seen = dict.fromkeys(what for bill in bills if bill is not None for what in bill.looked_at)
    if not seen:
        return ()
    told = fill("eyes/looked", {"seen": "\n".join(f"- {what}" for what in seen)})
    return (Source("what you have looked up before", told, Weight.DEPENDED_ON),)


def not_found(
    said: Iterable[tuple[str, Sequence[Evidence]]], there: Sequence[Evidence]
) -> tuple[Source, ...]:
    """What of it is cited and the program has not found, each text with the evidence that there was. What has
    the number of an item that was none is `there` now, and may be cited."""
    came_later = f"{Check.NO_SUCH_ITEM} at the time: what has this number now came later"

    def told(one: Citation) -> str:
        words = citations.in_words(one)
        is_late = one.check is Check.NO_SUCH_ITEM and 1 <= one.number <= len(there)
        return f"- {words.replace(str(Check.NO_SUCH_ITEM), came_later, 1) if is_late else words}"

    found = [one for text, items in said for one in citations.unverified(text, items)]
    if not found:
        return ()
    listed = "\n".join(dict.fromkeys(map(told, found)))
    text = fill("cited/not-found", {"citations": listed})
    return (Source("what you cited and was not found", text, Weight.DEPENDED_ON),)
