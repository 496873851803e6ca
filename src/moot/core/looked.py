"""What a speaker has looked up before, told to them again: what they read itself is in no later request."""

from __future__ import annotations

from collections.abc import Iterable

from moot.core.flow import Usage
from moot.llm.messages import Source, Weight
from moot.prompts.template import fill


def looked_before(bills: Iterable[Usage | None]) -> tuple[Source, ...]:
    """Of their earlier answers; nothing where they have looked at nothing."""
    seen = dict.fromkeys(what for bill in bills if bill is not None for what in bill.looked_at)
    if not seen:
        return ()
    told = fill("eyes/looked", {"seen": "\n".join(f"- {what}" for what in seen)})
    return (Source("what you have looked up before", told, Weight.DEPENDED_ON),)
