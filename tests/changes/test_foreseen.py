"""What building is said to cost rests on what it has cost here before, and says so; nothing is made up."""

from __future__ import annotations

from moot.changes.foreseen import foresee_building
from moot.changes.state_file import Call


def call(step: str, cost: float | None, tokens: int = 0) -> Call:
    return Call(step, "m-1", tokens, 0, cost, 100)


def test_what_tasks_have_cost_here_is_what_they_are_said_to_cost() -> None:
    calls = [call("implement", 0.2), call("review task", 0.1), call("challenge", 9.0), call("implement", 0.3)]
    told = foresee_building(3, "", calls, attempts=2)
    assert told == "3 tasks, about $0.90, $1.80 if each takes all retries, by 2 attempts at tasks here before"
    assert foresee_building(1, "", calls, attempts=1) == (
        "1 task, about $0.30, by 2 attempts at tasks here before"
    )


def test_without_prices_tokens_are_told_and_no_dollars() -> None:
    calls = [call("implement", None, 12_000), call("review task", None, 3_400)]
    assert foresee_building(2, "", calls, attempts=2) == (
        "2 tasks, about 31,000 tokens at prices that are not known, by 1 attempt at tasks here before"
    )


def test_where_nothing_was_built_yet_only_what_has_to_be_read_is_told() -> None:
    told = foresee_building(2, "word " * 1_000, [call("challenge", 1.0)], attempts=2)
    assert told.startswith("2 tasks, at least about ")
    assert told.endswith(" tokens to read; what an agent adds is known afterwards")
    assert "$" not in told


def test_where_nothing_is_open_nothing_is_foreseen() -> None:
    assert foresee_building(0, "word", [call("implement", 1.0)], attempts=2) == "nothing is left to build"
