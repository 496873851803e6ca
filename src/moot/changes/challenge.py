"""The challenge of a change: a reviewer reads it and appends a review, whose verdict moves the change on.

Whoever reviews, the block is written by `append_review` and read back from proposal.md: what a reviewer says
besides is never searched for a verdict. A challenge is a run, noted in STATE.yaml while it is under way: only
in it can a review be appended, and only one. A run that was killed after that is not paid for twice: the next
one counts its review.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from moot.agents import Job, Outcome, Progress, Reviewer, find
from moot.changes import (
    approval,
    citing,
    costs,
    findings,
    governor,
    history,
    images,
    prompts,
    review_block,
    rounds,
    state_file,
    tasks,
)
from moot.changes.findings import Matched
from moot.changes.folder import ChangeFolder
from moot.changes.metered_agents import recording_failure, run_metered
from moot.changes.model_reviewer import ModelReviewer
from moot.changes.phases import Complexity, Phase, complexity, moved, of_verdict
from moot.changes.prompts import Known
from moot.changes.review_block import Review, Severity, Verdict
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes, Counted, Tell, title_of
from moot.changes.state_file import Call, ChangeState, Data, SessionTokens
from moot.errors import (
    DecisionNotPossible,
    ModelTooSmall,
    MootError,
    NotApproved,
    ProviderFailed,
    ReviewerCrashed,
    ReviewerMissing,
)
from moot.files import timestamps
from moot.files.lock import claimed_in_time
from moot.llm import names, prices
from moot.llm.messages import Source, Tokens
from moot.llm.metering import charging
from moot.llm.names import ModelName, Speaker
from moot.processes import environment, moot_command, only_with
from moot.repo import listing

if TYPE_CHECKING:
    from moot.config import Settings


@dataclass(frozen=True, slots=True)
class Challenged:
    """What a challenge led to. `taken_up` says that an earlier run had the review made; `disputed` has ids of
    its issues by their numbers, which are the person's to decide."""

    change_id: str
    review: Review
    matched: Matched
    phase: Phase
    engine: str = ""
    model: str = ""
    taken_up: bool = False
    disputed: Mapping[int, str] = field(default_factory=dict)

    @property
    def to_decide(self) -> str:
        """In words; nothing where nothing is disputed."""
        listed = ", ".join(f"issue {number} ({name})" for number, name in self.disputed.items())
        return f"for you to decide, because it keeps coming back: {listed}" if listed else ""

    @property
    def verdict(self) -> Verdict:
        return self.review.verdict

    @property
    def counts(self) -> dict[Severity, int]:
        return review_block.count(self.review)


@dataclass(frozen=True, slots=True)
class ChallengeResult:
    """A loop of challenges and revisions: the last challenge, what each found, and by which rule it stopped
    before there was a verdict to stop at."""

    last: Challenged
    rounds: tuple[governor.Counts, ...]
    stopped: governor.Stop | None = None


class Challenging:
    def __init__(
        self, changes: Changes, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._changes = changes
        self._moot = changes.moot
        self._sleep = sleep

    @property
    def _settings(self) -> Settings:
        return self._moot.config.both

    # -- one challenge -----------------------------------------------------------------------

    async def challenge(self, change_id: str, engine: str, tell: Tell) -> Challenged:
        folder = self._changes.folders.open(change_id)
        async with claimed_in_time(folder.path, "challenged", tell):
            with charging(self._changes.account(change_id)):
                return await self._challenge(folder, engine, tell)

    async def _challenge(self, folder: ChangeFolder, engine: str, tell: Tell) -> Challenged:
        settled = self._changes.settle(folder, tell)
        if settled is not None and settled.changed is None:
            return _make_result(folder, settled, approval.last_review(folder, back=2), taken_up=True)
        check_challengeable(folder)
        self._changes.valid(folder)
        earlier = approval.last_review(folder)
        self._write_agents_file(folder)
        level = complexity(len(folder.specs()), len(tasks.tasks(folder.tasks() or "")))
        reviewer, job = await self._reviewer(folder, engine, level, tell)
        if (shown := images.sources(folder)) and not isinstance(reviewer, ModelReviewer):
            names = ", ".join(one.name for one in shown)
            tell(f"{reviewer.name} reviews by text alone, and is not shown the images: {names}")
        tell(f"{reviewer.name} reviews ({level} complexity{f', {job.model}' if job.model else ''})")
        run = folder.begin_run(reviewer.name, job.model or "")
        job = replace(job, run=run, mcp_command=(*job.mcp_command, "--run", run))
        try:
            outcome = await self._attempt(folder, reviewer, job, tell)
            return self._count(folder, reviewer, job, outcome, earlier)
        finally:
            folder.end_run(run)

    async def _attempt(
        self, folder: ChangeFolder, reviewer: Reviewer, job: Job, tell: Tell
    ) -> Outcome | None:
        """The first attempt that leaves a review. None: it left one, and failed afterwards."""
        settings = self._settings.workflow
        for attempt in range(1, settings.script_retries + 2):
            try:
                with recording_failure(folder, "challenge", job.model or reviewer.name):
                    outcome = await self._review(reviewer, job, tell)
                    if folder.review_of(job.run) is None and outcome.session_id is not None:
                        outcome = await self._remind(reviewer, job, outcome, tell)
                    if folder.review_of(job.run) is None:
                        raise ReviewerCrashed(reviewer.name, "ended without appending a review")
            except MootError as failed:
                if folder.review_of(job.run) is not None:
                    tell(f"{reviewer.name} failed after its review had been appended: {failed}")
                    return None
                retriable = isinstance(failed, ProviderFailed) and failed.retriable
                if not retriable or attempt > settings.script_retries:
                    raise
                tell(f"{failed}; once more in {settings.retry_delay_secs:g} s")
                # What failed may have been the resumed session itself.
                job = replace(job, resume=None, tokens_before=Tokens())
                await self._sleep(settings.retry_delay_secs)
            else:
                call = await self._call(reviewer, job, outcome)
                folder.record_call(call)
                tell(costs.took(call))
                if outcome.left_out:
                    tell(prompts.was_left_out(outcome.left_out))
                return outcome
        raise AssertionError("the loop ends by returning or raising")

    async def _review(self, reviewer: Reviewer, job: Job, tell: Progress) -> Outcome:
        if isinstance(reviewer, ModelReviewer):
            # Its model is on the meter already.
            return await reviewer.review(job, tell)
        name = ModelName(reviewer.name, job.model or "")
        return await run_metered(self._moot, name, job.text, lambda: reviewer.review(job, tell))

    async def _remind(self, reviewer: Reviewer, job: Job, first: Outcome, tell: Tell) -> Outcome:
        """A reviewer that has read everything, but not called append_review, is told so in its own session:
        to begin again would cost the same once more. Both together are one attempt."""
        tell(f"{reviewer.name} ended without appending a review, and is reminded")
        before = job.tokens_before if first.session_id == job.resume else Tokens()
        used = before + first.usage
        again = replace(job, text=prompts.reminder(), resume=first.session_id, tokens_before=used)
        second = await self._review(reviewer, again, tell)
        costs = (first.cost_usd, second.cost_usd)
        known = [cost for cost in costs if cost is not None]
        return replace(
            second,
            usage=first.usage + second.usage,
            cost_usd=sum(known) if len(known) == len(costs) else None,
            duration_ms=first.duration_ms + second.duration_ms,
        )

    async def _call(self, reviewer: Reviewer, job: Job, outcome: Outcome) -> Call:
        model = outcome.model or job.model or reviewer.name
        usage, cost = outcome.usage, outcome.cost_usd
        if cost is None and reviewer.name == "codex":
            # It says what it has used, but not what that costs.
            cost = prices.usd(await asyncio.to_thread(prices.listed_nano_usd, "openai", model, usage))
        call = Call.of("challenge", model, usage, cost, outcome.duration_ms)
        return replace(call, left_out=outcome.left_out)

    def _count(
        self,
        folder: ChangeFolder,
        reviewer: Reviewer,
        job: Job,
        outcome: Outcome | None,
        earlier: Review | None,
    ) -> Challenged:
        """Counts the review of the run. One of a text that is no longer there is no answer."""
        before = folder.state()

        def session(data: Data) -> None:
            if outcome is not None:
                state_file.note_model(data, job.run, outcome.model)
            if outcome is not None and outcome.session_id is not None:
                used = _session_tokens(before, outcome)
                state_file.note_session(data, reviewer.name, outcome.session_id, used)

        counted = self._changes.count_review(folder, job.run, session)
        if counted.changed is not None:
            raise NotApproved(folder.id, "it was changed while it was reviewed", counted.changed)
        return _make_result(folder, counted, earlier, outcome.model if outcome else "")

    # -- set-up ------------------------------------------------------------------------------

    def _write_agents_file(self, folder: ChangeFolder) -> None:
        """A hand-written one is not replaced."""
        texts = self._changes.texts(folder)
        state = folder.state()
        seen = listing.look(self._moot.workspace.root)
        written = folder.agents()
        if written is not None and not written.startswith(prompts.GENERATED):
            return
        folder.write_agents(
            prompts.agents_file(
                texts,
                phase=state.phase,
                iteration=state.iteration,
                title=title_of(texts),
                issues=tuple(rounds.history(folder).left.values()),
                tree=listing.tree(seen),
                has_design=folder.design() is not None,
            )
        )

    async def _reviewer(
        self, folder: ChangeFolder, engine: str, level: Complexity, tell: Tell
    ) -> tuple[Reviewer, Job]:
        settings = self._settings
        wanted = engine
        if wanted == "auto":
            # Who names a model on the command line wants that one to review.
            wanted = "model" if self._moot.model_wished else settings.review.engine
        reviewer: Reviewer | None = None
        if wanted != "model":
            passed, env = self._moot.config.user.review.pass_env, self._moot.env
            programs = ("codex", "claude") if wanted == "auto" else (wanted,)
            reviewer = await self._changes.choose_agent(
                programs, lambda name: find(name, env, passed), passed, tell
            )
        if reviewer is None and wanted in ("codex", "claude"):
            raise ReviewerMissing(wanted, f"there is no program '{wanted}' on this machine")
        if reviewer is None:
            by_level = "" if self._moot.model_wished else settings.model.select_model(level)
            reviewer = await self._model_reviewer(folder, by_level, tell)
        state = folder.state()
        same, used = state.session_engine == reviewer.name and state.session_id, state.session_tokens
        if isinstance(reviewer, ModelReviewer):
            model, effort = str(reviewer.model_name), ""
        else:
            # A program chooses its own where nothing is said; which one that is, it says afterwards.
            own = settings.codex if reviewer.name == "codex" else settings.claude
            model, effort = own.select_model(level), own.efforts.select(level)
        return reviewer, Job(
            text=prompts.review(folder.id, self._known(folder)),
            root=self._moot.workspace.root,
            change_id=folder.id,
            model=model or None,
            resume=state.session_id if same else None,
            tokens_before=Tokens(used.tokens_in, used.tokens_out) if same else Tokens(),
            timeout=settings.workflow.timeout_secs,
            mcp_command=self._mcp_command(folder),
            effort=effort,
        )

    def _mcp_command(self, folder: ChangeFolder) -> tuple[str, ...]:
        agentd = ("--agentd",) if self._moot.agentd else ()
        root = str(self._moot.workspace.root)
        command = moot_command("mcp", "--workspace", root, "--change", folder.id, *agentd)
        return only_with(environment.for_review_server(self._moot.env), command)

    def _known(self, folder: ChangeFolder) -> Known:
        return known_to_reviewers(folder, self._changes.living.sources_for(folder))

    async def _model_reviewer(self, folder: ChangeFolder, wanted: str, tell: Tell) -> ModelReviewer:
        gateway = self._moot.gateway
        model = gateway.named(names.parse(wanted)) if wanted else await gateway.model(Speaker("reviewer"))
        if model.small:
            raise ModelTooSmall(str(model.name))
        root = self._moot.workspace.root
        known = self._known(folder)
        return ModelReviewer(
            model,
            lambda run: ReviewTools(folder, root, timestamps.now, tell, run),
            replace(known, told=(*known.told, *images.sources(folder))),
        )

    # -- the loop ----------------------------------------------------------------------------

    async def argue(self, change_id: str, engine: str, tell: Tell) -> ChallengeResult:
        """Challenges and revises in turn, until the change is approved or rejected, or a rule of the governor
        ends it. What earlier loops have found is known to the rules, and what they took is not counted."""
        folder = self._changes.folders.open(change_id)
        for made in itertools.count(1):
            last = await self.challenge(change_id, engine, tell)
            log = rounds.rounds(folder)
            since = max(0, len(log) - made)
            counted = governor.counts(log)[since:]
            # What the first review of a change finds, no revision has brought in.
            found = str(counted[-1]) if len(log) > 1 else str(counted[-1]).replace("introduced", "found")
            tell(f"round {made}: {last.verdict}: {found}")
            if last.verdict is not Verdict.NEEDS_REVISION:
                return ChallengeResult(last, counted)
            stop = self.ending(folder, self._settings.workflow.max_rounds, since)
            if stop is not None:
                return ChallengeResult(last, counted, stop)
            cost = governor.next_round(log[since:])
            tell(f"another round: about ${cost:.2f}" if cost else "another round: price unknown")
            await self._changes.repropose(change_id, "", tell)
        raise AssertionError("the loop ends by returning or raising")

    def ending(self, folder: ChangeFolder, most: int, since: int = 0) -> governor.Stop | None:
        """Why there should be no further round, of `most` in a loop; there were `since` before it. A
        repository may set tighter limits than the person, and none that are wider in money or time."""
        both, own = self._settings.workflow, self._moot.config.user.workflow
        usd, minutes = _least(both.max_usd, own.max_usd), _least(both.max_minutes, own.max_minutes)
        limits = governor.Limits(most, usd, minutes)
        return governor.stop(rounds.rounds(folder), limits, rounds.history(folder).dismissed, since)


def _least(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _session_tokens(before: ChangeState, outcome: Outcome) -> SessionTokens:
    """What the reviewer's session has used up in all its runs."""
    goes_on = before.session_id == outcome.session_id
    earlier = before.session_tokens if goes_on else SessionTokens()
    used = outcome.usage
    return SessionTokens(earlier.tokens_in + used.input_tokens, earlier.tokens_out + used.output_tokens)


def _make_result(
    folder: ChangeFolder, counted: Counted, earlier: Review | None, model: str = "", *, taken_up: bool = False
) -> Challenged:
    record = counted.record
    dismissed = {one.description for one in folder.state().dismissed}
    matched = findings.match(earlier, counted.review, dismissed)
    return Challenged(
        folder.id,
        counted.review,
        matched,
        counted.phase,
        record.engine,
        model or record.model,
        taken_up,
        rounds.disputed(folder),
    )


def known_to_reviewers(folder: ChangeFolder, living: Sequence[Source] = ()) -> Known:
    """With what holds already, and what the person has decided about issues of earlier reviews, and why."""
    dismissed = tuple(
        (one.description, f"{one.because}{' (It holds, and its risk is accepted.)' if one.accepted else ''}")
        for one in folder.state().dismissed
    )
    told = (
        *living,
        *history.told_to_reviewers(folder),
        *history.revised(folder),
        *history.edits(folder),
        *citing.sources(folder),
    )
    left = tuple(rounds.history(folder).left.values())
    return Known(history.marked_points(folder), dismissed, told, left, history.origin(folder))


def check_challengeable(folder: ChangeFolder) -> None:
    """Raises why its phase, or that its text is still what was rejected, forbids a challenge."""
    phase = folder.state().phase
    moved(phase, of_verdict(Verdict.NEEDS_REVISION))
    last = approval.last_made(folder)
    if phase is Phase.REJECTED and last and approval.changed_since(folder, last.record) is None:
        raise DecisionNotPossible(folder.id, "its text is still what was rejected; change it first")
