"""What a change is made from: a description, or what whoever knows a session hands over. Values alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from moot.changes.binding import Binding
from moot.errors import InvalidInput
from moot.evidence.items import Evidence

DESCRIPTION_LIMIT = 20_000
LONGEST_ASKED = 80_000
"""Characters of what is asked for, with what was asked in the session."""


@dataclass(frozen=True, slots=True)
class Source:
    """`asked` is what the change is to do, and `binding` what binds it, with where it comes from. `evidence`
    says how much there is to read, and what was left out of it."""

    asked: str
    binding: Binding
    evidence: str = ""

    def with_more(self, evidence: tuple[Evidence, ...]) -> Binding:
        """And what the person gives besides."""
        return replace(self.binding, evidence=(*self.binding.evidence, *evidence))


FindSource = Callable[[str, str, str | None], Awaitable[Source]]
"""By what a person calls it, what they ask for, and whose it may be."""


def check_description(description: str, limit: int = DESCRIPTION_LIMIT) -> str:
    description = description.strip()
    if not description:
        raise InvalidInput("description", "say in a sentence or two what should change, and why")
    return check_length(description, "description", limit)


def check_length(text: str, field: str, limit: int = DESCRIPTION_LIMIT) -> str:
    if len(text) > limit:
        raise InvalidInput(field, f"has {len(text)} characters; at most {limit}")
    return text
