"""Has one reviewer review a diff: a program at a desk of its own, or a model, which may speak as a persona.

Knows how each is asked, reminded and asked again. What fails is an outcome that the flow decides about.
Refuses to know who else reviews.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from moot.agents import ENGINES, Job, Outcome, Reviewer, find
from moot.changes.metered_agents import run_metered
from moot.changes.phases import complexity
from moot.core import flow as core
from moot.core.flow import Task, TaskDone, Usage
from moot.core.model_effects import ask_with_eyes
from moot.diffs import patch as patches
from moot.diffs import prompts, shapes
from moot.diffs.desk import DeskFolder
from moot.diffs.flow import DiffState, DiffTaken, ReviewFailed, ReviewMade, RunReview, Seat
from moot.errors import (
    ModelTooSmall,
    MootError,
    ProviderFailed,
    ReviewerCrashed,
    ReviewerMissing,
    SessionMoved,
    StoreFailed,
)
from moot.llm import names, prices
from moot.llm.messages import ModelSaid, Tokens, UserSaid
from moot.llm.metering import Bill, billing, charging
from moot.llm.names import ModelName
from moot.processes import environment, moot_command, only_with
from moot.text.characters import strip_controls

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.config import Settings

Tell = Callable[[str], None]


class Reviewing:
    """`account` is the session that pays."""

    def __init__(
        self,
        moot: Moot,
        account: str,
        tell: Tell,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._moot = moot
        self._account = account
        self._tell = tell
        self._sleep = sleep

    @property
    def _settings(self) -> Settings:
        return self._moot.config.both

    async def carry_out(self, task: Task[Any], state: DiffState) -> core.Outcome:
        assert isinstance(task, RunReview)
        assert state.opened is not None
        seat = state.seat(task.by)
        began, bill = time.monotonic(), Bill()
        try:
            with charging(self._account), billing(bill):
                if seat.engine in ENGINES:
                    made = await self._by_program(seat, state.opened)
                else:
                    made = await self._by_model(seat, state.opened, bill)
        except (SessionMoved, StoreFailed):
            raise
        except MootError as failed:
            spent = _spent(failed) if seat.engine in ENGINES else (bill.usage, bill.cost_usd)
            took = round((time.monotonic() - began) * 1000)
            lost = None if spent[0] == Tokens() else _usage(seat.model or seat.engine, *spent, took, ())
            return TaskDone(ReviewFailed(seat.by, type(failed).__name__, strip_controls(str(failed)), lost))
        return TaskDone(made)

    def _say(self, seat: Seat, what: str) -> None:
        self._tell(f"{seat.by}: {what}")

    # -- a model -----------------------------------------------------------------------------

    async def _by_model(self, seat: Seat, opened: DiffTaken, bill: Bill) -> ReviewMade:
        """Quotes that are not in the diff are returned once. What it asks is on the bill."""
        model = self._moot.gateway.named(names.parse(seat.model))
        persona = self._moot.library.persona(seat.persona) if seat.persona else None
        request = prompts.for_model(opened, persona)
        patch = patches.parse(opened.patch)
        self._say(seat, f"reviews with {model.name}")
        began = time.monotonic()
        drafted, seen = await ask_with_eyes(
            request,
            model,
            self._moot.look,
            lambda what: self._say(seat, f"reads {what}"),
            lambda asked: model.draft(asked, shapes.ReviewGiven),
        )
        reply = drafted.reply
        if {source.name for source in request.shared[0]} <= set(reply.left_out):
            raise ModelTooSmall(str(model.name), "nothing of the diff fits into what it can be told")
        review = drafted.value.as_review(seat.by)
        if lost := shapes.not_found(patch, review):
            self._say(seat, "is asked to correct quotes")
            messages = (*request.messages, ModelSaid(reply.text), UserSaid(lost))
            again = replace(request, messages=messages, looks=0, tools_tokens=0)
            drafted = await model.draft(again, shapes.ReviewGiven)
            review = drafted.value.as_review(seat.by)
        took = round((time.monotonic() - began) * 1000)
        left_out = (*reply.left_out, *seen.left_out)
        used = _usage(reply.model, bill.usage, bill.cost_usd, took, seen.looked_at)
        return ReviewMade(review, msgspec.structs.replace(used, left_out=left_out))

    # -- a program ---------------------------------------------------------------------------

    async def _by_program(self, seat: Seat, opened: DiffTaken) -> ReviewMade:
        passed = self._moot.config.user.review.pass_env
        reviewer = find(seat.engine, self._moot.env, passed)
        if reviewer is None:
            raise ReviewerMissing(seat.engine, f"there is no program '{seat.engine}' on this machine")
        settings = self._settings.workflow
        with tempfile.TemporaryDirectory(prefix="moot-desk-") as place:
            desk = DeskFolder(Path(place))
            desk.lay_out(opened.patch, opened.plan)
            job = self._job(seat, opened, desk)
            lost: _Spent = (Tokens(), 0.0)
            for attempt in range(1, settings.script_retries + 2):
                try:
                    made = await self._attempt(seat, reviewer, job, desk)
                    return ReviewMade(made.review, _with(made.bill, lost))
                except ProviderFailed as failed:
                    lost = _both(lost, _spent(failed))
                    if delivered := desk.delivered():
                        self._say(seat, f"failed after it had given its review: {failed}")
                        used = _usage(job.model or reviewer.name, *lost, 0, delivered.looked_at)
                        return ReviewMade(delivered.given.as_review(seat.by), used)
                    if not failed.retriable or attempt > settings.script_retries:
                        failed.used, failed.cost_usd = _as_used(lost[0]), lost[1]
                        raise
                    self._say(seat, f"{failed}; once more in {settings.retry_delay_secs:g} s")
                    await self._sleep(settings.retry_delay_secs)
        raise AssertionError("the loop ends by returning or raising")

    async def _attempt(self, seat: Seat, reviewer: Reviewer, job: Job, desk: DeskFolder) -> ReviewMade:
        outcome = await self._run(seat, reviewer, job)
        outcomes = [outcome]
        if desk.delivered() is None and outcome.session_id is not None:
            # It has read everything already: to begin again would cost the same once more.
            self._say(seat, "ended without a review, and is reminded")
            again = replace(
                job, text=prompts.reminder(), resume=outcome.session_id, tokens_before=outcome.usage
            )
            outcomes.append(await self._run(seat, reviewer, again))
        delivered = desk.delivered()
        used = sum((one.usage for one in outcomes), Tokens())
        known = [one.cost_usd for one in outcomes if one.cost_usd is not None]
        cost = sum(known) if len(known) == len(outcomes) else None
        if cost is None and reviewer.name == "codex":
            # It says what it has used, but not what that costs.
            model = outcome.model or job.model or ""
            cost = prices.usd(await asyncio.to_thread(prices.listed_nano_usd, "openai", model, used))
        if delivered is None:
            crashed = ReviewerCrashed(reviewer.name, "ended without appending a review")
            crashed.used, crashed.cost_usd = _as_used(used), cost
            raise crashed
        took = sum(one.duration_ms for one in outcomes)
        bill_of = _usage(outcome.model or reviewer.name, used, cost, took, delivered.looked_at)
        return ReviewMade(delivered.given.as_review(seat.by), bill_of)

    async def _run(self, seat: Seat, reviewer: Reviewer, job: Job) -> Outcome:
        name = ModelName(reviewer.name, job.model or "")
        return await run_metered(
            self._moot, name, job.text, lambda: reviewer.review(job, lambda what: self._say(seat, what))
        )

    def _job(self, seat: Seat, opened: DiffTaken, desk: DeskFolder) -> Job:
        settings, root = self._settings, self._moot.workspace.root
        level = complexity(len(patches.parse(opened.patch).files), 0)
        own = settings.codex if seat.engine == "codex" else settings.claude
        command = moot_command("mcp", "--workspace", str(root), "--desk", str(desk.path))
        self._say(seat, f"reviews ({level} complexity)")
        return Job(
            text=prompts.for_program(opened),
            root=root,
            change_id="",
            model=own.select_model(level) or None,
            timeout=settings.workflow.timeout_secs,
            mcp_command=only_with(environment.for_review_server(self._moot.env), command),
            effort=own.efforts.select(level),
        )


_Spent = tuple[Tokens, float | None]
"""Tokens, and dollars where they are known."""


def _spent(failed: MootError) -> _Spent:
    """What a program says that it has used before it failed. Nothing where it does not say."""
    if not isinstance(failed, ProviderFailed) or failed.used is None:
        return Tokens(), 0.0
    return Tokens(*failed.used), failed.cost_usd


def _as_used(used: Tokens) -> tuple[int, int, int]:
    return used.input_tokens, used.output_tokens, used.cache_read_tokens


def _both(one: _Spent, other: _Spent) -> _Spent:
    known = [cost for cost in (one[1], other[1]) if cost is not None]
    return one[0] + other[0], sum(known) if len(known) == 2 else None


def _with(bill: Usage, lost: _Spent) -> Usage:
    """With what attempts have cost that failed."""
    used, cost = _both(
        (Tokens(bill.input_tokens, bill.output_tokens, bill.cached_tokens), bill.cost_usd), lost
    )
    return msgspec.structs.replace(
        bill,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        cost_usd=cost,
    )


def _usage(model: str, used: Tokens, cost: float | None, took: int, looked_at: tuple[str, ...]) -> Usage:
    return Usage(
        model,
        used.input_tokens,
        used.output_tokens,
        cost,
        took,
        cached_tokens=used.cache_read_tokens,
        kept_tokens=used.cache_write_tokens,
        looked_at=looked_at,
    )
