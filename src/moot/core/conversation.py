"""What was said, by whom, at which step: appended to, filtered, and capped for a prompt.

Plain values. Knows neither models nor files, and gives entries no identity: that is a matter of storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

PERSON = "person"
"""The speaker who is not a persona."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    speaker: str = msgspec.field(name="role")
    step: str
    content: str
    read: tuple[str, ...] = ()
    """What the speaker had read for it."""

    @property
    def words(self) -> int:
        return len(self.content.split())


@dataclass(frozen=True, slots=True)
class Conversation:
    entries: tuple[Entry, ...] = ()

    def said(self, speaker: str, step: str, content: str) -> Conversation:
        """With one more entry at the end."""
        return Conversation((*self.entries, Entry(speaker, step, content)))

    def without_last(self) -> Conversation:
        return Conversation(self.entries[:-1])

    def at_steps(self, steps: Iterable[str]) -> Conversation:
        """Only what was said at these steps, in its order."""
        wanted = frozenset(steps)
        return Conversation(tuple(entry for entry in self.entries if entry.step in wanted))

    def newest(self, max_words: int) -> Capped:
        """The newest whole entries within `max_words`. Older ones are dropped from the front, never cut."""
        kept = 0
        total = 0
        for entry in reversed(self.entries):
            total += entry.words
            if total > max_words:
                break
            kept += 1
        dropped = len(self.entries) - kept
        return Capped(Conversation(self.entries[dropped:]), dropped)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Capped:
    """A conversation that fits, and how many older entries were left out, so that a prompt can say so."""

    conversation: Conversation
    dropped: int
