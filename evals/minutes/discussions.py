"""Discussions that were labelled by hand, line by line, and what a roundtable's log of each would be.

Shared with the tests of the program's own checks. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from moot.core.flow import Usage
from moot.roundtable.events import (
    PersonaContributed,
    PersonaSilent,
    PersonLeft,
    PersonSilent,
    PersonSpokeUp,
    RoundtableEvent,
    RoundtableOpened,
    Speaker,
    TopicFramed,
)
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.state import USER, Step

LABELLED = Path(__file__).with_name("labelled.json")
SPEAKERS = (
    Speaker("business-analyst", "Maya Chen", "Maya", "Business Analyst", "BA", "what people need"),
    Speaker(
        "solutions-architect", "Alex Rivera", "Alex", "Solutions Architect", "Architect", "what it risks"
    ),
    Speaker("system-designer", "Jordan Park", "Jordan", "System Designer", "Designer", "what it is exactly"),
)
IDS = {speaker.first_name: speaker.id for speaker in SPEAKERS} | {"User": USER}
_UNBILLED = Usage("", 0, 0, None, 0)
_MAX_TURNS = 60


class Line(msgspec.Struct, frozen=True):
    """`decides` are the key words of what this line decides: of each group, one occurs in true minutes.
    `disagrees_with` are first names."""

    by: str
    text: str
    decides: tuple[tuple[str, ...], ...] = ()
    disagrees_with: tuple[str, ...] = ()


class Discussion(msgspec.Struct, frozen=True):
    id: str
    step: str
    item: str
    said: tuple[Line, ...]

    @property
    def decisions(self) -> tuple[Line, ...]:
        return tuple(line for line in self.said if line.decides)

    @property
    def disagreements(self) -> tuple[tuple[str, str], ...]:
        return tuple((line.by, other) for line in self.said for other in line.disagrees_with)


def load() -> tuple[Discussion, ...]:
    return tuple(msgspec.json.decode(LABELLED.read_bytes(), type=list[Discussion]))


def log(discussion: Discussion) -> list[RoundtableEvent]:
    """Its events up to where it is looked through: whoever is due and says nothing here has kept silent. By
    the rules under which nobody looks through a round when it is over."""
    material = f"{discussion.item}: {discussion.step}."
    opened = RoundtableOpened(
        "01-01",
        discussion.step,
        discussion.item,
        SPEAKERS,
        SPEAKERS[0].id,
        _MAX_TURNS,
        "1",
        material,
        rules=2,
    )
    framed = TopicFramed(material, f"What follows for {discussion.step}?", _UNBILLED)
    events: list[RoundtableEvent] = [opened, framed]
    for line in discussion.said:
        events += _up_to(events, IDS[line.by])
        if line.by == "User":
            events.append(PersonSpokeUp(line.text))
        else:
            events.append(PersonaContributed(IDS[line.by], line.text, _UNBILLED))
    return [*events, PersonLeft("done")]


def _up_to(events: list[RoundtableEvent], speaker: str) -> Iterator[RoundtableEvent]:
    """Silences until this speaker has the word."""
    state = ROUNDTABLE.fold(events)
    while (state.speaking or USER) != speaker:
        silent: RoundtableEvent = PersonSilent()
        if state.step is Step.DISCUSSION_LOOP:
            assert state.speaking is not None
            silent = PersonaSilent(state.speaking, _UNBILLED)
        state = ROUNDTABLE.advance(state, silent)
        yield silent
