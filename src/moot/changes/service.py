"""Changes of a workspace: drafted, checked, revised, put away. Challenging and building them is next door.

A change is its files. Whatever a command was doing when it was killed, the files say where the change stands,
and the same command goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from moot.agents.login import LOG_IN, is_logged_in
from moot.changes import (
    approval,
    citing,
    costs,
    history,
    images,
    prompts,
    proposal,
    review_block,
    revision,
    rounds,
    state_file,
    tasks,
    tracing,
)
from moot.changes import binding as binding_of
from moot.changes.binding import Binding
from moot.changes.folder import SPECS, ChangeFolder, ChangeFolders
from moot.changes.links import check_links
from moot.changes.living_specs import LivingSpecs
from moot.changes.metered_agents import recording_failure
from moot.changes.phases import TRANSITIONS, Move, Phase, moved, of_verdict
from moot.changes.proposal import Finding, ProposalDraft, SpecDraft
from moot.changes.review_block import Review, Severity, Verdict
from moot.changes.source import DESCRIPTION_LIMIT, check_description, check_length
from moot.changes.standing import Standing
from moot.changes.state_file import PERSON, Call, Data, RecordedReview, Said, Validation
from moot.changes.surroundings import surroundings
from moot.core.model_effects import ask_with_eyes, bill
from moot.errors import (
    AlreadyThere,
    FileDamaged,
    InvalidInput,
    MootError,
    NotApproved,
    NotFound,
    ProposalInvalid,
)
from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK
from moot.files.lock import claimed
from moot.files.paths import valid_id
from moot.llm.metering import charging
from moot.llm.names import Speaker
from moot.repo.first_look import named_in
from moot.repo.reading import MAX_CHARACTERS

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.llm.messages import Request, Source

T = TypeVar("T")

Tell = Callable[[str], None]
"""Told what is going on, a line at a time."""

TAKEN_UP = "an earlier run ended before its review was counted; that is done now"
NOTHING = Binding()
NOT_OURS = "a review that was not made by moot; it does not count"
LOOKS, LOOK_TOKENS = 12, 40_000
"""A draft rests on the code: what it names has to be there."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A review that has moved a change on. `changed` names the files that are no longer what it is of; None
    if all are."""

    record: RecordedReview
    review: Review
    phase: Phase
    changed: tuple[str, ...] | None = None


# People read its name when a draft is not valid, and models what it says of itself.
class Proposal(ProposalDraft):
    """The whole change: its proposal, specifications and tasks."""

    specs: Annotated[list[SpecDraft], Field(min_length=1)]


class Changes:
    def __init__(self, moot: Moot) -> None:
        self.moot = moot
        self.folders = ChangeFolders(moot.workspace)
        self.living = LivingSpecs(moot.workspace)

    def account(self, change_id: str) -> str:
        """On which what models cost for a change is booked."""
        return self.moot.account(f"change {change_id}")

    async def choose_agent(
        self, names: Sequence[str], find: Callable[[str], T | None], pass_env: Iterable[str], tell: Tell
    ) -> T | None:
        """The first that is on this machine. Where there is a choice, one that is not logged in is passed
        over: it would only fail."""
        for name in names:
            found = find(name)
            if found is None:
                continue
            is_named = len(names) == 1 or name not in LOG_IN
            if is_named or await is_logged_in(name, self.moot.env, pass_env) is not False:
                return found
            tell(f"{name} is not logged in, and is passed over; log in with `{LOG_IN[name]}`")
        return None

    # -- looking -----------------------------------------------------------------------------

    def texts(self, folder: ChangeFolder) -> prompts.ChangeTexts:
        """What there is, without reviews; what is missing is empty."""
        return prompts.ChangeTexts(
            folder.id,
            review_block.outside(folder.proposal() or "").strip(),
            folder.specs(),
            folder.tasks() or "",
        )

    def findings(self, folder: ChangeFolder) -> tuple[Finding, ...]:
        """Everything that is wrong with a change's own files. Needs no model."""
        written = folder.proposal()
        if written is None:
            return (Finding("proposal.md", 1, "error", "the file is missing"),)
        specs = folder.specs()
        found = list(proposal.check_proposal(written))
        if not specs:
            found.append(Finding("specs", 1, "error", "there is no specification"))
        for name, text in specs.items():
            found += proposal.check_spec(text, name)
        boxes = folder.tasks()
        if boxes is None:
            found.append(Finding("tasks.md", 1, "error", "the file is missing"))
        else:
            found += proposal.check_tasks(boxes)
        texts = {"proposal.md": review_block.outside(written), **specs, "tasks.md": boxes or ""}
        for name, text in texts.items():
            for number, line in enumerate(LINE_BREAK.split(text), start=1):
                if len(line) >= MAX_CHARACTERS:
                    problem = f"no reviewer can read a line of {MAX_CHARACTERS:,} characters or more"
                    found.append(Finding(name, number, "error", problem))
            found += check_links(self.moot.workspace.root, folder.path, name, text)
        found += (*citing.not_found(folder, texts), *history.untraced(folder))
        # What is said of a line already is not said of it twice.
        said = {(one.file, one.line) for one in found if one.level == "error"}
        against = (one for one in self.living.findings(folder) if (one.file, one.line) not in said)
        return (*found, *against)

    def valid(self, folder: ChangeFolder, tell: Tell = lambda _: None) -> None:
        """As `check`, and the outcome is recorded, with what it rests on."""
        self.check(
            folder, lambda errors: folder.record_validation(Validation("proposal", not errors, errors))
        )
        self.living.record(folder)
        for one in history.untraced(folder):
            tell(one.message)

    def check(self, folder: ChangeFolder, record: Callable[[int], object] = lambda _: None) -> None:
        """Raises what is wrong; what is only doubtful is let pass."""
        errors = tuple(f for f in self.findings(folder) if f.level == "error")
        record(len(errors))
        if errors:
            raise ProposalInvalid(folder.id, tuple(f"{f.file}:{f.line}: {f.message}" for f in errors))

    def last_review(self, folder: ChangeFolder) -> Review | None:
        return approval.last_review(folder)

    def standings(self) -> list[Standing]:
        return [self.standing(folder) for folder in self.folders.all()]

    def standing(self, folder: ChangeFolder) -> Standing:
        """One that cannot be read does not hide the others."""
        try:
            state = folder.state()
            boxes = tasks.tasks(folder.tasks() or "")
            review = approval.last_review(folder)
            last = approval.last_made(folder)
            waiting = state.run is not None and folder.review_of(state.run.id) is not None
            approved_by, note = self._approved_by(folder)
            strangers = len(folder.strangers())
            dismissed = len(approval.dismissals(folder, last.record)) if last else 0
        except (MootError, OSError) as error:
            return Standing(folder.id, problem=str(error))
        counts = review_block.count(review) if review else dict.fromkeys(Severity, 0)
        return Standing(
            folder.id,
            str(state.phase),
            state.iteration,
            str(review.verdict) if review else "",
            counts[Severity.HIGH],
            counts[Severity.MEDIUM],
            counts[Severity.LOW],
            sum(task.done for task in boxes),
            len(boxes),
            state.updated_at,
            state.totals.cost_usd,
            waiting,
            strangers=strangers,
            dismissed=dismissed,
            approved_by=approved_by,
            note=note,
            source=history.origin_name(folder),
        )

    def _approved_by(self, folder: ChangeFolder) -> tuple[str, str]:
        """Whose approval holds for the text as it is; and, where the phase lets one expect it, why none."""
        try:
            record = approval.check(folder)
        except NotApproved as error:
            expected = folder.state().phase in (Phase.CHALLENGED, Phase.IMPLEMENTING)
            return "", ": ".join(filter(None, (error.problem, ", ".join(error.changed)))) if expected else ""
        return ("person", record.because) if record.engine == PERSON else ("reviewer", "")

    def check_made(self, folder: ChangeFolder) -> tuple[Finding, ...]:
        """Reviews that moot did not make, and one that it made and that is no longer there."""
        found = [Finding("proposal.md", one.line, "error", NOT_OURS) for one in folder.strangers()]
        last = approval.last_made(folder)
        if last is not None and last.block is None:
            problem = "the last review that moot made is no longer there as it was written"
            found.append(Finding("proposal.md", 1, "error", problem))
        return tuple(found)

    def tell_strangers(self, folder: ChangeFolder, tell: Tell) -> None:
        for block in folder.strangers():
            tell(f"proposal.md:{block.line}: {NOT_OURS}")

    # -- reviews -----------------------------------------------------------------------------

    def count_review(
        self, folder: ChangeFolder, run: str, also: Callable[[Data], None] = lambda _: None
    ) -> Counted:
        """Moves the change on by the verdict of the review that was appended in the run, which is over with
        that. `also` is noted with it. A text that was changed since is approved by nobody."""
        made = folder.review_of(run)
        try:
            if made is None:
                raise InvalidInput("review", "it is not there")
            review = approval.read(made)
        except InvalidInput as error:
            folder.update_state(state_file.end_run)
            problem = f"the review that was appended cannot be used: {error.problem}"
            raise FileDamaged(str(folder.path / "proposal.md"), problem) from None
        changed = approval.changed_since(folder, made.record)
        before = folder.state().phase
        holds = changed is None or review.verdict is not Verdict.APPROVED
        phase = moved(before, of_verdict(review.verdict)) if holds else before

        def noted(data: Data) -> None:
            data.update(phase=str(phase), last_action="challenge", verdict=str(review.verdict))
            state_file.end_run(data)
            also(data)

        folder.update_state(noted)
        return Counted(made.record, review, phase, changed)

    def settle(self, folder: ChangeFolder, tell: Tell) -> Counted | None:
        """What a killed run has left is done with before anything else: a review that is whole counts, and
        half of one is void. Otherwise a revision would pass it off as a review of the new text."""
        self.tell_strangers(folder, tell)
        run = folder.state().run
        if run is None:
            return None
        folder.end_run(run.id)
        if folder.review_of(run.id) is None:
            return None
        if (folder.state().phase, Move.APPROVE) not in TRANSITIONS:
            folder.update_state(state_file.end_run)
            return None
        tell(TAKEN_UP)
        return self.count_review(folder, run.id)

    # -- drafting ----------------------------------------------------------------------------

    def bind(self, change_id: str, binding: Binding, tell: Tell) -> None:
        """Adds to what binds a change. What was approved before is not, where that is news."""
        folder = self.folders.open(change_id)
        with claimed(folder.path, "bound"):
            _bind(folder, binding, tell)

    async def propose(
        self,
        change_id: str,
        description: str,
        tell: Tell,
        binding: Binding = NOTHING,
        also: tuple[Source, ...] = (),
        limit: int = DESCRIPTION_LIMIT,
    ) -> ChangeFolder:
        """Drafts a new change. A proposal that is there and can be used is left alone; one that cannot be
        used is material for the new one, and kept. What binds it is kept with it; `also` is what this
        drafter is to know besides."""
        valid_id(change_id, "change id")
        description = check_description(description, limit)
        folder = self._open_or_create(change_id)
        with claimed(folder.path, "proposed"), charging(self.account(change_id)):
            self.settle(folder, tell)
            state, written = folder.state(), folder.proposal()
            if written is not None and not [f for f in self.findings(folder) if f.level == "error"]:
                raise AlreadyThere("change", change_id, folder.path)
            moved(state.phase, Move.PROPOSE)
            self._note_words(folder, history.DESCRIBED, description)
            _bind(folder, binding, tell)
            tell("looks at the workspace")
            shared = await self._shared(folder, description)
            unfinished = prompts.unfinished(review_block.outside(written or ""))
            sources = (*history.sources(folder, described=False), *also, *unfinished)
            request = prompts.draft(change_id, description, shared, sources, history.origin(folder))
            draft = await self._draft(folder, "proposal", request, tell)
            if written is not None or folder.specs() or folder.tasks() is not None:
                tell(f"keeps the earlier text in {folder.keep_earlier(drafted_files(folder))}")
            self._write(folder, draft, Move.PROPOSE, "proposal")
            citing.tell_not_found(folder, tell)
            self.valid(folder, tell)
        return folder

    async def repropose(
        self,
        change_id: str,
        wishes: str,
        tell: Tell,
        binding: Binding = NOTHING,
        also: tuple[Source, ...] = (),
    ) -> ChangeFolder:
        """Revises a change from the open issues of its last review. Every review stays as it is, and so does
        what the person has written by their own hand."""
        folder = self.folders.open(change_id)
        wishes = check_length(wishes.strip(), "wishes")
        with claimed(folder.path, "revised"), charging(self.account(change_id)):
            self.settle(folder, tell)
            moved(folder.state().phase, Move.REPROPOSE)
            issues = rounds.to_revise(folder, wishes)
            if not issues and not wishes:
                raise InvalidInput(
                    "reproposal", "the last review left no issue open: say what should be different"
                )
            texts = self.texts(folder)
            tell(f"works from {len(issues)} open issue{'' if len(issues) == 1 else 's'}")
            _bind(folder, binding, tell)
            # Before the wishes are noted: they are told once.
            sources = (*history.sources(folder, open_issues=issues), *citing.sources(folder), *also)
            self._note_words(folder, history.REVISED, wishes)
            said = history.description(folder) or title_of(texts)
            wanted = "\n".join((said, wishes, *(issue.description for issue in issues)))
            shared = await self._shared(folder, wanted, texts.proposal)
            request = prompts.redraft(texts, issues, wishes, shared, sources, history.origin(folder))
            edits = history.edits_since(folder)
            draft = await self._draft(folder, "reproposal", request, tell)
            kept = folder.keep_earlier(drafted_files(folder))
            if edits:
                folder.keep_edits(kept, edits)
            self._write(folder, draft, Move.REPROPOSE, "reproposal", keep=True)
            citing.tell_not_found(folder, tell)
            for line in history.left_out(folder):
                tell(f"has left out what you wrote by hand: {line}")
            self.valid(folder, tell)
        return folder

    async def _draft(self, folder: ChangeFolder, step: str, request: Request, tell: Tell) -> ProposalDraft:
        model = await self.moot.gateway.model(Speaker("proposer"))
        tell(f"{model.name} drafts")
        await costs.foretell([(request, Proposal)], model, tell)
        shape = tracing.fitting(folder.design() or "", self.living.fitting(folder.id, Proposal))
        request = replace(request, looks=LOOKS, tools_tokens=LOOK_TOKENS)
        with recording_failure(folder, step, str(model.name)):
            drafted, seen = await ask_with_eyes(
                request,
                model,
                self.moot.look,
                lambda what: tell(f"reads {what}"),
                lambda asked: model.draft(asked, shape),
            )
        used = bill(drafted.reply, seen)
        if used.left_out:
            tell(prompts.was_left_out(used.left_out))
        call = Call.of_usage(step, used)
        folder.record_call(call)
        tell(costs.took(call))
        return drafted.value

    async def _shared(self, folder: ChangeFolder, about: str, names: str = "") -> prompts.Shared:
        """What all requests of a draft begin with: what binds the change, and the workspace around it."""
        design = folder.design() or ""
        bound = binding_of.sources(design, partial(images.with_images, folder))
        called = " ".join(f"`{name}`" for name in named_in(binding_of.read(design).design))
        about, names = f"{about}\n{called}", f"{names}\n{design}"
        around = await asyncio.to_thread(surroundings, self.moot.workspace.root, about, names)
        points = prompts.points_to_cover(history.points_of(folder))
        living = self.living.sources(about, tuple(folder.specs()))
        around = (*prompts.others(self._others(folder)), *living, *around)
        return (*((bound,) if bound else ()), *points, around)

    def _others(self, folder: ChangeFolder) -> Iterator[tuple[str, str, str]]:
        """Id, phase and title of each other change. One that cannot be read hides nobody else."""
        for other in self.folders.all():
            if other.id != folder.id:
                with suppress(MootError, OSError):
                    yield other.id, str(other.state().phase), title_of(self.texts(other))

    def _write(
        self, folder: ChangeFolder, draft: ProposalDraft, move: Move, action: str, *, keep: bool = False
    ) -> None:
        """The phase first: what nobody has reviewed is at no moment an approved change. The proposal last: a
        change that was not finished has none, and is drafted again. `keep`: what the draft has no place for
        stays where it was."""
        state = folder.state()
        phase = moved(state.phase, move)
        if state.phase != phase:
            folder.update_state(lambda data: data.update(phase=str(phase)))
        draft = tracing.spell_out(folder.design() or "", draft)
        specs: dict[str, str] = {}
        before = folder.specs() if keep else {}
        for spec in draft.specs:
            name = proposal.spec_file_name(spec, specs)
            old = before.get(f"{SPECS}/{name}")
            specs[name] = proposal.render_spec(spec) if old is None else revision.revise_spec(spec, old)
        boxes = folder.tasks() if keep else None
        written = proposal.render_tasks(draft) if boxes is None else revision.revise_tasks(draft, boxes)
        folder.write_specs(specs, remove_others=True)
        folder.write_tasks(written)

        def revised(old: str | None) -> str:
            new = revision.revise_proposal(draft, old) if keep and old else proposal.render_proposal(draft)
            return proposal.with_reviews(new, old or "")

        folder.update_proposal(revised)
        folder.keep_drafted(history.plain(folder))
        iteration = state.iteration + (move is Move.REPROPOSE)
        folder.update_state(lambda data: data.update(last_action=action, iteration=iteration))
        folder.record_checksums(drafted_files(folder))

    def _note_words(self, folder: ChangeFolder, step: str, words: str) -> None:
        said = Said(step, words, round=folder.state().iteration)
        if words:
            folder.update_state(lambda data: state_file.note_said(data, said))

    def _open_or_create(self, change_id: str) -> ChangeFolder:
        try:
            return self.folders.open(change_id)
        except NotFound:
            return self.folders.create(change_id)

    # -- putting away ------------------------------------------------------------------------

    def archive(self, change_id: str, tell: Tell = lambda _: None) -> Path:
        """Merges the specifications of a complete change into the living ones, and moves it to the archive.
        What contradicts them stops it; then nothing was merged."""
        folder = self.folders.open(change_id)
        with claimed(folder.path, "archived"):
            phase = folder.state().phase
            # One that says so already was not moved: whoever began that was stopped.
            if phase is not Phase.ARCHIVED:
                is_built = phase is Phase.COMPLETE
                phase = moved(phase, Move.ARCHIVE)
                if is_built:
                    self.living.merge(folder, title_of(self.texts(folder)), tell)
                folder.update_state(lambda data: data.update(phase=str(phase), last_action="archive"))
            return self.folders.archive(folder)


def drafted_files(folder: ChangeFolder) -> tuple[str, ...]:
    return ("proposal.md", *folder.specs(), "tasks.md")


def title_of(texts: prompts.ChangeTexts) -> str:
    """The first heading of a proposal, or its id."""
    found = [heading for heading in markdown.headings(texts.proposal) if heading.level == 1]
    return found[0].title if found else texts.change_id


def _bind(folder: ChangeFolder, new: Binding, tell: Tell) -> None:
    images.keep(folder, new.evidence)
    if news := folder.bind(new):
        tell(news)
