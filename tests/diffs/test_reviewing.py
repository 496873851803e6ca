"""A program that reviews a diff: asked again, reminded, counted as a whole, and not begun again once its
review is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moot.agents import Job, Outcome
from moot.app import Options, opened
from moot.core.flow import TaskDone
from moot.diffs import reviewing
from moot.diffs.desk import Delivered, DeskFolder
from moot.diffs.flow import DIFF, DiffTaken, ReviewFailed, ReviewMade, RunReview, Seat
from moot.diffs.shapes import ReviewGiven
from moot.errors import KeyRefused, ProviderDown, ReviewerCrashed
from moot.llm.messages import Tokens

PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 1 / 0\n"
TAKEN = DiffTaken("the work", PATCH, (Seat("claude", "claude"),), plan="Divide.")
GIVEN = Delivered(given=ReviewGiven(findings=[], summary="Fine."), looked_at=("x.py 1–1",))

Act = Callable[[DeskFolder, Job], Outcome]


def ends(said: str = "Done.", session: str | None = "s-1", cost: float | None = 0.25) -> Outcome:
    return Outcome("m-1", said, 100, Tokens(1000, 10, 500), cost, session)


def reviews(desk: DeskFolder, _job: Job) -> Outcome:
    desk.take(GIVEN)
    return ends()


def forgets(_desk: DeskFolder, _job: Job) -> Outcome:
    return ends("It is fine.")


def fails(error: Exception) -> Act:
    def act(_desk: DeskFolder, _job: Job) -> Outcome:
        raise error

    return act


def reviews_and_fails(desk: DeskFolder, _job: Job) -> Outcome:
    desk.take(GIVEN)
    raise ReviewerCrashed("claude", "it ended badly")


class Program:
    """A reviewer that does one thing after another, each time it is started."""

    name = "claude"

    def __init__(self, *acts: Act) -> None:
        self._acts: Iterator[Act] = iter(acts)
        self.jobs: list[Job] = []
        self.desks: list[Path] = []

    async def review(self, job: Job, _progress: Any) -> Outcome:
        self.jobs.append(job)
        desk = Path(job.mcp_command[-1])
        self.desks.append(desk)
        assert sorted(DeskFolder(desk).texts()) == ["diff.patch", "plan.md"]
        return next(self._acts)(DeskFolder(desk), job)


def carry_out(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[ReviewMade | ReviewFailed, list[float], list[str]]:
    monkeypatch.setattr(reviewing, "find", lambda *_: program)
    waited: list[float] = []
    told: list[str] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def whole() -> Any:
        env = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        options = Options(workspace=folder, database=f"sqlite:///{folder}/moot.sqlite3")
        async with opened(options, env) as moot:
            work = reviewing.Reviewing(moot, "account", told.append, sleep)
            return await work.carry_out(RunReview("1 claude"), DIFF.fold([TAKEN]))

    outcome = asyncio.run(whole())
    assert isinstance(outcome, TaskDone)
    assert not any(desk.exists() for desk in program.desks)
    return outcome.value, waited, told


def test_a_review_is_counted_with_what_was_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(reviews)
    made, waited, told = carry_out(program, tmp_path, monkeypatch)
    assert isinstance(made, ReviewMade)
    assert (made.review.by, made.review.summary, made.bill.looked_at) == ("claude", "Fine.", ("x.py 1–1",))
    assert (made.bill.model, made.bill.input_tokens, made.bill.cached_tokens, made.bill.cost_usd) == (
        "m-1", 1000, 500, 0.25,
    )  # fmt: skip
    assert (waited, told) == ([], ["claude: reviews (low complexity)"])
    assert "`read_file` diff.patch and plan.md, each to the end" in program.jobs[0].text


def test_what_can_succeed_later_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(fails(ProviderDown("claude", "overloaded")), reviews)
    made, waited, told = carry_out(program, tmp_path, monkeypatch)
    assert isinstance(made, ReviewMade)
    assert waited == [5.0]
    assert any("overloaded; once more in 5 s" in line for line in told)


def test_what_cannot_help_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, waited, _ = carry_out(Program(fails(KeyRefused("claude", "no login"))), tmp_path, monkeypatch)
    assert (made, waited) == (ReviewFailed("claude", "KeyRefused", "claude: no login"), [])


def test_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(*[fails(ProviderDown("claude", "overloaded"))] * 3)
    made, waited, _ = carry_out(program, tmp_path, monkeypatch)
    assert (type(made), len(waited)) == (ReviewFailed, 2)


def test_a_review_that_is_there_is_not_paid_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(reviews_and_fails)
    made, _, told = carry_out(program, tmp_path, monkeypatch)
    assert isinstance(made, ReviewMade)
    assert made.review.summary == "Fine."
    assert len(program.jobs) == 1
    assert any("failed after it had given its review" in line for line in told)


def test_who_forgets_is_reminded_in_the_same_session_and_both_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(forgets, reviews)
    made, waited, told = carry_out(program, tmp_path, monkeypatch)
    assert isinstance(made, ReviewMade)
    assert (made.bill.input_tokens, made.bill.output_tokens, made.bill.cost_usd) == (2000, 20, 0.5)
    first, second = program.jobs
    assert (first.resume, second.resume, second.tokens_before) == (None, "s-1", Tokens(1000, 10, 500))
    assert "You have not appended a review" in second.text
    assert (waited, "claude: ended without a review, and is reminded" in told) == ([], True)


def crashes(used: tuple[int, int, int], cost: float | None) -> Act:
    crashed = ProviderDown("claude", "overloaded")
    crashed.used, crashed.cost_usd = used, cost
    return fails(crashed)


def test_what_failed_attempts_have_used_is_billed_with_the_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(crashes((300, 3, 100), 0.5), fails(ProviderDown("claude", "overloaded")), reviews)
    made, _, _ = carry_out(program, tmp_path, monkeypatch)
    assert isinstance(made, ReviewMade)
    bill = made.bill
    assert (bill.input_tokens, bill.output_tokens, bill.cached_tokens, bill.cost_usd) == (1300, 13, 600, 0.75)
    unknown, _, _ = carry_out(Program(crashes((300, 3, 100), None), reviews), tmp_path, monkeypatch)
    assert isinstance(unknown, ReviewMade)
    assert unknown.bill.cost_usd is None


def test_who_never_reviews_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, waited, _ = carry_out(Program(*[forgets] * 6), tmp_path, monkeypatch)
    assert isinstance(made, ReviewFailed)
    assert made.bill is not None
    assert (made.bill.input_tokens, made.bill.output_tokens, made.bill.cost_usd) == (6000, 60, 1.5)
    assert "ended without appending a review" in made.message
    assert len(waited) == 2
