"""What a roundtable is going to ask, before it is asked: the check of a round is a part of it."""

from __future__ import annotations

from moot.core.estimate import Asked, foresee
from moot.personas.library import load_library
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.prompts import PROMPTS
from moot.roundtable.state import RoundtableState
from tests.roundtable.test_flow import Table, discussed


def asked(state: RoundtableState) -> list[str]:
    return list(map(kind, foresee(ROUNDTABLE, state, PROMPTS, load_library().persona).requests))


def kind(asked: Asked) -> str:
    return asked[1].__name__ if isinstance(asked, tuple) else "contribution"


def test_the_first_round_is_framed_spoken_and_looked_through() -> None:
    assert asked(Table().state) == ["FramingGiven", "contribution", "contribution", "Findings"]


def test_the_end_takes_a_check_if_something_new_was_said_and_the_minutes() -> None:
    table = discussed()
    table.answers("done")
    assert asked(table.state) == ["Minutes"]
    table = discussed()
    table.answers("Let us show both of them")
    table.silent_until_asked().answers("done")
    assert asked(table.state) == ["Findings", "Minutes"]
