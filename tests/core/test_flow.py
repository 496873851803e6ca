"""What every flow has from core: events of tasks, and tables that say where an event leads."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.flow import (
    Effect,
    Event,
    Flow,
    Outcome,
    Table,
    Task,
    TaskDone,
    TaskFailed,
    check_step,
    next_step,
)
from moot.errors import IllegalMove


class Written(Event, frozen=True):
    file: str


class Refused(Event, frozen=True):
    pass


class Write(Task[Written]):
    """With one event."""


class Ask(Task[Written | Refused]):
    """With one of several."""


def failed(_state: None, _effect: Effect, outcome: Outcome) -> Written | Refused:
    assert isinstance(outcome, TaskFailed)
    return Refused()


FLOW: Flow[None, Written | Refused] = Flow(
    "writing", None, Written | Refused, lambda state, _: state, lambda _: (), failed
)


def test_what_a_task_has_led_to_is_its_event() -> None:
    assert FLOW.record(None, Write("1"), TaskDone(Written("x.md"))) == Written("x.md")
    for event in (Written("x.md"), Refused()):
        assert FLOW.record(None, Ask("1"), TaskDone(event)) == event
    assert FLOW.record(None, Write("1"), TaskFailed("FileDamaged", "x.md")) == Refused()


@pytest.mark.parametrize("value", [Refused(), {"file": "x.md"}, None])
def test_what_a_task_cannot_lead_to_is_a_mistake_of_ours(value: Any) -> None:
    with pytest.raises(AssertionError, match=r"Write.* cannot lead to"):
        FLOW.record(None, Write("1"), TaskDone(value))


def test_two_tasks_are_told_apart_by_their_kind_and_their_key() -> None:
    assert len({Write("1"), Write("2"), Ask("1"), Write("1")}) == 3


TABLE: Table = {("open", Written): "done", ("open", Refused): ("open", "done")}


def test_a_table_says_where_an_event_leads_and_which_a_step_takes() -> None:
    assert next_step(TABLE, "open", Written("x.md")) == "done"
    assert next_step(TABLE, "open", Refused()) == ("open", "done")
    with pytest.raises(IllegalMove) as illegal:
        next_step(TABLE, "done", Refused())
    assert illegal.value.allowed == ()
    with pytest.raises(IllegalMove) as illegal:
        next_step({("open", Written): "done"}, "open", Refused())
    assert illegal.value.allowed == ("Written",)


def test_a_step_is_one_to_which_the_table_leads() -> None:
    for step in ("open", "done"):
        check_step(next_step(TABLE, "open", Refused()), step)
    for target in ("done", ("done", "closed")):
        with pytest.raises(AssertionError):
            check_step(target, "open")
