"""What a speaker has looked up before, told to them again: what they read itself is in no later request,
unless the answer for which they read it has not come. And what they have cited that is not there, because
their own words are given back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from moot.core.flow import Usage
from moot.evidence import citations
from moot.evidence.citations import Check, Citation
from moot.evidence.items import Evidence
from moot.llm.messages import Request, Source, UserSaid, Weight
from moot.llm.metering import tokens_of
from moot.prompts.template import fill


def looked_before(bills: Iterable[Usage | None]) -> tuple[Source, ...]:
    """Of their earlier answers; nothing where they have looked at nothing."""
    seen = dict.fromkeys(what for bill in bills if bill is not None for what in bill.looked_at)
    if not seen:
        return ()
    told = fill("eyes/looked", {"seen": "\n".join(f"- {what}" for what in seen)})
    return (Source("what you have looked up before", told, Weight.DEPENDED_ON),)


def give_read(request: Request, read: Mapping[str, str]) -> Request:
    """With what was read for it before, as its last message's newest sources: each is one look less."""
    if not read:
        return request
    sources = [_as_read(what, text) for what, text in read.items()]
    *said, last = request.messages
    assert isinstance(last, UserSaid)
    tokens = sum(map(tokens_of, (source.text for source in sources)))
    return replace(
        request,
        messages=(*said, replace(last, sources=(*last.sources, *sources))),
        looks=max(0, request.looks - len(read)),
        tools_tokens=max(0, request.tools_tokens - tokens) if request.looks else request.tools_tokens,
    )


def _as_read(what: str, text: str) -> Source:
    told = fill("eyes/read", {"what": what, "text": _FENCE.sub("‹", text)})
    return Source(f"{what}, which was read already", told, Weight.DEPENDED_ON)


_FENCE = re.compile(r"<(?=\s*/?\s*(?:read-already|evidence|decided-so-far|left-out)\b)", re.IGNORECASE)
"""What a file could pretend to end with, or to be followed by."""


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
