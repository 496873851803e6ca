"""What a session hands to a change: where that comes from, what was decided there, and what there is to read.

Each format says it of its own sessions, and changes take it: neither has to know the other. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from moot.core.conversation import PERSON
from moot.core.ledger import Decided, Kind, numbered
from moot.evidence.items import Evidence


class Origin(msgspec.Struct, frozen=True):
    """`id` is an item's slug, a board's session, or a workflow's id."""

    format: str
    id: str
    title: str = ""

    @property
    def name(self) -> str:
        """By which a requirement says where it comes from, and a person finds it."""
        return self.id if self.id.startswith(self.format) else f"{self.format} {self.id}"

    def __str__(self) -> str:
        title = f" ('{' '.join(self.title.split())}')" if self.title else ""
        what = "item" if self.format == "analysis" else self.format
        return f"the {what} {self.id}{title}"


@dataclass(frozen=True, slots=True)
class Handover:
    """`asked` is what the change is to do, in the person's words where there are any. Entries have the
    numbers that they have there; `texts` is what was written there, by name."""

    origin: Origin
    asked: str
    decided: tuple[Decided, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    design: str = ""


def with_struck(ledger: Iterable[Decided], struck: Iterable[Decided]) -> tuple[Decided, ...]:
    """And what the person has struck, under its number: what was written there may still say it."""
    gone = (
        msgspec.structs.replace(one, kind=Kind.SAID, by=PERSON, text=f"This no longer holds: {one.text}")
        for one in struck
        if one.number
    )
    return tuple(sorted((*with_numbers(ledger), *gone), key=lambda entry: entry.number))


def with_numbers(ledger: Iterable[Decided]) -> tuple[Decided, ...]:
    """Each with the number under which people know it, so that it keeps it among others."""
    return tuple(msgspec.structs.replace(entry, number=number) for number, entry in numbered(ledger).items())
