"""A diff put before reviewers: who they are, what they are going to cost, and the session that keeps it all.

Knows how reviewers are named. Everything is found out before anything is begun: a program that is not there,
a model that is too small, a reviewer that is named twice. Refuses to know the surface that shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from pydantic import BaseModel, Field

from moot.agents import ENGINES, find
from moot.changes.service import Changes
from moot.core import runner
from moot.core.estimate import LEAST_SHARE, Estimate, as_sent, estimate
from moot.core.flow import Outcome
from moot.core.model_effects import Prompts
from moot.core.runner import Participants, Runner, Speak, StoredLog, open_session
from moot.diffs import gather, prompts, shapes
from moot.diffs.flow import (
    DIFF,
    DiffEvent,
    DiffState,
    DiffTaken,
    RetryChosen,
    ReviewFailed,
    ReviewMade,
    Seat,
    Step,
)
from moot.diffs.gather import Gathered
from moot.diffs.reviewing import Reviewing, Tell
from moot.errors import ConfigInvalid, InvalidInput, ModelTooSmall, NotFound, ReviewerMissing
from moot.llm import names
from moot.llm.names import ModelName, Speaker
from moot.server import ActiveSession, Client, Hub, Service
from moot.server.event_frames import event_format

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.runner import Listener
    from moot.store.sessions import Session

MODEL = "model"
AUTO = "auto"
MOST_REVIEWERS = 8


def _title(state: DiffState) -> str:
    return f"Review of {state.opened.what}" if state.opened else "Review"


FORMAT = event_format(DIFF, title=_title, model=lambda _: "")
"""Without a model: each reviewer has its own."""


# -- who reviews ---------------------------------------------------------------------------------


async def seats(
    moot: Moot, wanted: Sequence[str], tell: Tell, *, may_name_models: bool = True
) -> tuple[Seat, ...]:
    """Of `codex`, `claude`, `model`, `auto`, a persona's id, or a model's name."""
    found = [await _seat(moot, one, tell, may_name_models=may_name_models) for one in wanted or (AUTO,)]
    twice = sorted({one.by for one in found if [other.by for other in found].count(one.by) > 1})
    if twice:
        raise InvalidInput("reviewer", f"{', '.join(twice)} is named twice")
    if len(found) > MOST_REVIEWERS:
        raise InvalidInput("reviewer", f"at most {MOST_REVIEWERS} may review at once")
    return tuple(found)


async def _seat(moot: Moot, wanted: str, tell: Tell, *, may_name_models: bool) -> Seat:
    if wanted == AUTO:
        return await _first(moot, tell)
    if wanted in ENGINES:
        if find(wanted, moot.env, moot.config.user.review.pass_env) is None:
            raise ReviewerMissing(wanted, f"there is no program '{wanted}' on this machine")
        return Seat(wanted, "codex" if wanted == "codex" else "claude")
    if wanted == MODEL:
        return await _modelled(moot, MODEL, Speaker("reviewer"))
    known = {persona.id: persona for persona in moot.library.personas}
    if wanted in known:
        persona = known[wanted]
        seat = await _modelled(moot, persona.id, Speaker("reviewer", persona.id, persona.model))
        return replace(seat, persona=persona.id)
    try:
        name = names.parse(wanted, "reviewer") if may_name_models else None
    except ConfigInvalid:
        name = None
    if name is None:
        raise NotFound("reviewer", wanted, (*ENGINES, MODEL, *known))
    return _checked(moot, str(name), name)


async def _first(moot: Moot, tell: Tell) -> Seat:
    """As for changes: the first program that is there and logged in, else a model."""
    # Who names a model on the command line wants that one to review.
    wanted = MODEL if moot.model_wished else moot.config.both.review.engine
    if wanted in ENGINES:
        return await _seat(moot, wanted, tell, may_name_models=False)
    if wanted == AUTO:
        env, passed = moot.env, moot.config.user.review.pass_env
        there = await Changes(moot).choose_agent(ENGINES, lambda name: find(name, env, passed), passed, tell)
        if there is not None:
            return Seat(there.name, "codex" if there.name == "codex" else "claude")
    return await _modelled(moot, MODEL, Speaker("reviewer"))


async def _modelled(moot: Moot, by: str, speaker: Speaker) -> Seat:
    return _checked(moot, by, (await moot.gateway.choice(speaker)).name)


def _checked(moot: Moot, by: str, name: ModelName) -> Seat:
    if moot.gateway.named(name).small:
        raise ModelTooSmall(str(name))
    return Seat(by, "model", str(name))


# -- what it is going to cost --------------------------------------------------------------------


async def foresee(moot: Moot, opened: DiffTaken) -> Estimate:
    """A lower bound: how much is looked up besides and answered, nobody knows yet."""
    each = [await _foresee(moot, opened, seat) for seat in opened.seats]
    costs = [one.cost_usd for one in each]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        sum(one.requests for one in each),
        sum(one.input_tokens for one in each),
        sum(one.cached_tokens for one in each),
        sum(one.output_tokens for one in each),
        sum(known) if len(known) == len(costs) else None,
        at_least=True,
    )


async def _foresee(moot: Moot, opened: DiffTaken, seat: Seat) -> Estimate:
    if seat.engine in ENGINES:
        request = replace(prompts.for_model(opened), system=prompts.for_program(opened))
        return await estimate([request], moot.gateway.pricing(ModelName(seat.engine, "")), share=LEAST_SHARE)
    persona = moot.library.persona(seat.persona) if seat.persona else None
    model = moot.gateway.named(names.parse(seat.model))
    sent = await as_sent((prompts.for_model(opened, persona), shapes.ReviewGiven), model)
    return await estimate([sent], model.pricing, share=LEAST_SHARE)


# -- beginning -----------------------------------------------------------------------------------


async def open_review(
    moot: Moot, gathered: Gathered, by: tuple[Seat, ...], plan: str = "", *, is_plan: bool = False
) -> DiffTaken:
    opened = DiffTaken(
        gathered.what,
        gathered.patch.text,
        by,
        plan,
        is_plan,
        gathered.left_out,
        intent=gathered.intent,
    )
    return msgspec.structs.replace(opened, estimate=str(await foresee(moot, opened)))


Run = tuple["Session", Runner[DiffState, DiffEvent]]


async def begin_review(moot: Moot, opened: DiffTaken, listener: Listener, tell: Tell) -> Run:
    """A session that is stored before anything is asked, and run by whoever began it."""
    title = _title(DIFF.fold([opened]))
    session = await (await moot.store()).create(DIFF.name, title, [DIFF.encode(opened)])
    return session, await _open(moot, session, listener, tell)


async def resume_review(moot: Moot, session_id: str, listener: Listener, tell: Tell) -> Run:
    """One that was interrupted goes on; where somebody failed, they are asked again."""
    session = await moot.session(session_id)
    if session.format != DIFF.name:
        raise NotFound("review of code", session.id)
    run = await _open(moot, session, listener, tell)
    if run.state.step is Step.INCOMPLETE:
        await run.put(RetryChosen())
    return session, run


async def _open(moot: Moot, session: Session, listener: Listener, tell: Tell) -> Runner[DiffState, DiffEvent]:
    store, work = await moot.store(), Reviewing(moot, session.id, tell).carry_out
    participants = Participants(_nobody_speaks, listener, work=work)
    return await open_session(DIFF, StoredLog(store, session.id, DIFF), participants, session.id)


class Quiet:
    """Listens to a review that is run from within: what reviewers do, they say themselves."""

    def began(self, *_: object) -> None: ...
    def said(self, *_: object) -> None: ...
    def waits(self, *_: object) -> None: ...
    def looks(self, *_: object) -> None: ...
    def happened(self, *_: object) -> None: ...


async def _nobody_speaks(*_: object) -> Outcome:
    raise AssertionError("a review is a task")


# -- on every surface ----------------------------------------------------------------------------


class DiffOpening(BaseModel):
    """A patch, or what to compare in the workspace: nothing for what is not committed, a branch or commit for
    all since then, `A..B` or `A...B` for a range. Or, alone, a plan."""

    patch: str = ""
    base: str = ""
    staged: bool = False
    plan: str = ""
    reviewers: list[str] = Field(default=[], max_length=MOST_REVIEWERS)


class DiffService(Service[DiffState, DiffEvent]):
    opening = DiffOpening
    writes_files = True
    """It writes none, but programs run in the workspace, and all of it can be read."""
    keeps_files = False
    told = (ReviewMade, ReviewFailed)

    def __init__(self, moot: Moot) -> None:
        super().__init__(moot, FORMAT, Prompts({}))
        self._moot = moot

    async def begin(
        self, hub: Hub, opening: DiffOpening, by: Client, given: Sequence[DiffEvent] = ()
    ) -> ActiveSession[DiffState, DiffEvent]:
        return await hub.begin(FORMAT, [await self._opened(opening), *given], by)

    async def _opened(self, opening: DiffOpening) -> DiffTaken:
        gathered, plan, is_plan = await asyncio.to_thread(self._gather, opening)
        if not gathered.patch.files:
            raise InvalidInput("diff", f"there is nothing in {gathered.what}")
        # A client chooses among the reviewers that there are; it sends nothing to a server of its own.
        reviewers = await seats(self._moot, opening.reviewers, lambda _: None, may_name_models=False)
        return await open_review(self._moot, gathered, reviewers, plan, is_plan=is_plan)

    async def foresee(self, opening: DiffOpening) -> Estimate | None:
        return await foresee(self._moot, await self._opened(opening))

    def speak(self, model: str, session: Session | None = None) -> tuple[Speak, bool]:  # noqa: ARG002
        return _nobody_speaks, False

    def _gather(self, opening: DiffOpening) -> tuple[Gathered, str, bool]:
        plan = gather.check_plan(opening.plan) if opening.plan else ""
        if opening.patch:
            return gather.of_text(opening.patch), plan, False
        if plan and not (opening.base or opening.staged):
            return gather.of_plan(plan, ""), "", True
        root = self._moot.workspace.root
        return gather.of_workspace(root, opening.base, staged=opening.staged), plan, False

    def work(
        self,
        session: Session,
        state: DiffState,  # noqa: ARG002
        tell: Callable[[str], None],
    ) -> runner.Work:
        return Reviewing(self._moot, session.id, tell).carry_out
