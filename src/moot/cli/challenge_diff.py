"""`moot challenge --diff`: code, or a plan from elsewhere, before one reviewer or several at once."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from moot.cli import screen
from moot.cli.command import called_as
from moot.cli.progress import Steps

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.diffs.gather import Gathered
    from moot.diffs.report import Report
    from moot.diffs.service import Run

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be reviewed, as it was typed."""

    base: str
    diff: bool
    staged: bool
    plan: str | None

    def check(self) -> None:
        if self.base == STDIN == self.plan:
            raise typer.BadParameter(
                "standard input can be the patch or the plan, not both", param_hint="--plan"
            )
        if self.staged and self.base == STDIN:
            raise typer.BadParameter("is no part of a patch", param_hint="--staged")
        if self.base and not (self.diff or self.staged):
            raise typer.BadParameter("with a plan alone, there is nothing to compare", param_hint="BASE")


async def review(moot: Moot, wanted: Wanted, by: tuple[str, ...], fail_on: str, told: str) -> int:
    from moot.diffs import service
    from moot.diffs.report import Report

    wanted.check()
    gathered, plan, is_plan = await asyncio.to_thread(_gather, moot, wanted)
    if not gathered.patch.files:
        _show(Report(gathered.what, None), told)
        return 0
    with Steps("Challenge") as tell:
        seats = await service.seats(moot, by, tell)
        opened = await service.open_review(moot, gathered, seats, plan, is_plan=is_plan)
        for line in gathered.left_out:
            tell(f"left out: {line}")
        tell(f"{_size(gathered)}, for {', '.join(seat.by for seat in seats)}: {opened.estimate}")
        report = await _run(await service.begin_review(moot, opened, service.Quiet(), tell))
    return _end(report, fail_on, told)


async def resume(moot: Moot, session_id: str, fail_on: str, told: str) -> int:
    from moot.diffs import service

    with Steps("Challenge") as tell:
        report = await _run(await service.resume_review(moot, session_id, service.Quiet(), tell))
    return _end(report, fail_on, told)


async def _run(begun: Run) -> Report:
    from moot.diffs.flow import report_of

    session, runner = begun
    return report_of(await runner.run(), session.id)


def _end(report: Report, fail_on: str, told: str) -> int:
    from moot.cli.challenge import VERDICT_COUNTS, is_bad
    from moot.cli.failures import FAILED
    from moot.diffs.report import as_json

    _show(report, told)
    if report.took:
        screen.say(f"Challenge: this took {report.took}", "dim")
    if told == "text":
        again = "ask again whoever failed" if report.failed else "show it once more"
        screen.say(f"Kept; {again}: {called_as()} challenge --resume {report.session}", "dim")
    if report.judged is not None and is_bad(report.judged.verdict, as_json(report)["counts"], fail_on):
        return VERDICT_COUNTS
    # Nobody knows what whoever failed would have found, nor what is in what nobody saw: that is no pass.
    return 0 if report.is_complete else FAILED


def _gather(moot: Moot, wanted: Wanted) -> tuple[Gathered, str, bool]:
    """What is reviewed, the plan that it is held against, and whether it is a plan itself."""
    from moot.diffs import gather

    if not (wanted.diff or wanted.staged):
        assert wanted.plan is not None
        if wanted.plan == STDIN:
            return gather.of_plan(_standard_input(), ""), "", True
        return gather.of_plan_at(Path(wanted.plan)), "", True
    held = ""
    if wanted.plan is not None:
        is_typed = wanted.plan == STDIN
        held = gather.check_plan(_standard_input()) if is_typed else gather.read_plan(Path(wanted.plan))
    if wanted.base == STDIN:
        return gather.of_text(_standard_input()), held, False
    return gather.of_workspace(moot.workspace.root, wanted.base, staged=wanted.staged), held, False


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _size(gathered: Gathered) -> str:
    files = gathered.patch.files
    added, removed = (sum(file.count(sign) for file in files) for sign in "+-")
    return f"{gathered.what}: {len(files)} file{'s' * (len(files) != 1)}, +{added} -{removed}"


def _show(report: Report, told: str) -> None:
    from moot.diffs import report as forms

    if told == "json":
        screen.show_json(forms.as_json(report))
    elif told == "sarif":
        screen.show_json(forms.as_sarif(report))
    else:
        for line in forms.as_github(report) if told == "github" else forms.as_text(report):
            screen.show(line)
