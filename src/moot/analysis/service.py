"""Analyses as a surface uses them: begin or take up an item, see how far each is.

An item is its files. The session is the log beside them; meta.json and the artifacts are written by the work
that the flow asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from moot.analysis import item_meta, references
from moot.analysis.current_steps import current_steps
from moot.analysis.events import AnalysisEvent, AnalysisOpened, StepRef
from moot.analysis.flow import ANALYSIS
from moot.analysis.item_meta import ItemMeta, is_same_title, slugs_of
from moot.analysis.items import ItemFolder, ItemFolders
from moot.analysis.prompts import AnalysisPrompts
from moot.analysis.state import AnalysisState, Step
from moot.analysis.tasks import Work, step_refs, voices_of
from moot.core.estimate import Asking
from moot.core.logs import FileLog
from moot.core.model_effects import Prompts, on_account
from moot.core.runner import Participants, Runner, open_session
from moot.errors import AlreadyThere, FileDamaged, InvalidInput, MootError, NotFound, UserMistake
from moot.files import lock
from moot.files.paths import valid_id
from moot.llm.names import Speaker, parse

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.runner import Listener, Person


_ABOUT_UNUSED = (
    "--about is not used, because this item has a description or has been begun already; "
    "say it in your next answer"
)
_OTHER_NUMBERS = (
    "what is cited there as D1, D2, … was numbered by an earlier version of moot, and may have another "
    "number now; /decided lists what was decided under the numbers that it keeps"
)
_CUT_OFF = "session.jsonl ends in the middle of an event, which is left out; it goes on from the one before"


@dataclass(frozen=True)
class Analysis:
    """An item's analysis, ready to run."""

    item: ItemFolder
    runner: Runner[AnalysisState, AnalysisEvent]
    model: str
    tiny: bool
    asking: Asking
    resumed: bool
    notes: tuple[str, ...]
    """What the person should know before it goes on."""

    @property
    def state(self) -> AnalysisState:
        return self.runner.state


@dataclass(frozen=True, slots=True)
class ItemStanding:
    """An item and where it stands. `problem` says why that is not known."""

    slug: str
    title: str = ""
    status: str = ""
    steps: int = 0
    elaborations: int = 0
    problem: str = ""


class Analyses:
    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self.items = ItemFolders(moot.workspace)

    def standings(self) -> list[ItemStanding]:
        found = []
        for item in self.items.all():
            try:
                meta = item.meta()
            except MootError as error:
                found.append(ItemStanding(item.slug, problem=str(error)))
                continue
            found.append(
                ItemStanding(
                    item.slug,
                    meta.title,
                    meta.analysis_status,
                    len(meta.steps_completed),
                    len(meta.elaborations),
                )
            )
        return found

    def item(self, named: str, description: str) -> ItemFolder:
        """By its slug or its title, or a new one."""
        found = self._find(named)
        if isinstance(found, ItemFolder):
            return found
        return self.items.create(found, "manual", named.strip(), description=description)

    def _find(self, named: str) -> ItemFolder | str:
        """By its slug or its title; else the slug that a new one would have."""
        named = named.strip()
        with suppress(NotFound, InvalidInput):
            return self.items.open(valid_id(named, "item"))
        if not named:
            raise InvalidInput("item", "name what is to be analysed")
        for slug in slugs_of(named):
            try:
                item = self.items.open(slug)
            except NotFound:
                return slug
            if is_same_title(item.meta().title, named):
                return item
        raise AlreadyThere("item", named)

    async def preview(
        self, named: str, description: str, given: Sequence[AnalysisEvent]
    ) -> tuple[AnalysisState, Asking]:
        """How an analysis would stand that was begun so, of which nothing is kept."""
        found = self._find(named)
        events: Sequence[AnalysisEvent] = ()
        if isinstance(found, ItemFolder):
            slug, meta, prompts = found.slug, found.meta(), analysis_prompts(self._moot)
            events = await found.log(ANALYSIS).read()
        else:
            slug, prompts = found, new_item_prompts(self._moot)
            meta = replace(item_meta.read({}, slug), title=named.strip())
        if not events:
            events = [await self._opening(slug, replace(meta, description=meta.description or description))]
        state = ANALYSIS.fold((*events, *given))
        return state, Asking(str(parse(self._moot.model_wished or state.model)), prompts, "")

    def claimed(self, item: ItemFolder) -> AbstractContextManager[None]:
        """Holds the item, or raises Busy before anybody has typed an answer that would then be lost."""
        return lock.claimed(item.path, "analysed", "item")

    async def analysis(
        self,
        named: str,
        description: str,
        person: Person,
        listener: Listener,
        tell: Callable[[str], None],
    ) -> Analysis:
        """Begins, or takes up where the log ends."""
        item = self.item(named, description)
        log = item.log(ANALYSIS)
        logged = bool(await log.read())
        cut_off = log.cut_off
        unused = await self.open(item, log, description)
        work = Work(self._moot, item, tell)
        try:
            state = ANALYSIS.fold(await log.read())
        except UserMistake as error:
            raise FileDamaged(str(item.path / "session.jsonl"), f"cannot be read: {error}") from error
        if state.step is Step.FINISHED:
            read = await asyncio.to_thread(work.read_steps, state)
            if read.steps is not None:
                await log.append(read)
        name = parse(self._moot.model_wished or state.model)
        account = self._moot.account(f"analysis {item.slug}")
        prompts = analysis_prompts(self._moot)
        speak = await self._moot.speaking(name, prompts, account)
        carry_out = on_account(account, work.carry_out)
        participants = Participants(speak, listener, person, carry_out)
        runner = await open_session(ANALYSIS, log, participants, account)
        tiny = self._moot.gateway.named(name).small
        told = (_CUT_OFF if cut_off else "", unused, _about_numbers(state, item))
        notes = (*current_steps(self._moot).warnings, *filter(None, told))
        asking = Asking(str(name), prompts, account)
        return Analysis(item, runner, str(name), tiny, asking, logged, notes)

    async def open(self, item: ItemFolder, log: FileLog[AnalysisEvent], description: str) -> str:
        """Begins the item's log where there is none. Returns what the person should know of it."""
        logged, unused = await log.read(), ""
        if description and description != item.meta().description:
            if logged or item.meta().description:
                unused = _ABOUT_UNUSED
            else:
                item.update_meta(lambda data: data.update(description=description))
        if not logged:
            await log.append(await self._opening(item.slug, item.meta()))
        return unused

    async def _opening(self, slug: str, meta: ItemMeta) -> AnalysisOpened:
        choice = await self._moot.gateway.choice(Speaker("analysis"))
        steps = current_steps(self._moot)
        refs = await asyncio.to_thread(step_refs, self._moot, steps)
        return AnalysisOpened(
            slug=slug,
            title=meta.title,
            model=str(choice.name),
            steps=refs,
            voices=voices_of(self._moot, refs),
            description=meta.description,
            completed=meta.steps_completed,
            depth_overrides=dict(meta.depth_overrides),
            warnings=steps.warnings,
            keeps_numbers=True,
        )


def analysis_prompts(moot: Moot) -> Prompts:
    items = ItemFolders(moot.workspace)
    return AnalysisPrompts(lambda: current_steps(moot), lambda slug: items.open(slug).artifacts()).prompts()


def _about_numbers(state: AnalysisState, item: ItemFolder) -> str:
    if state.keeps_numbers:
        return ""
    files = [name for name, text in item.artifacts().items() if references.cites_decisions(text)]
    return f"{', '.join(files)}: {_OTHER_NUMBERS}" if files else ""


def new_item_prompts(moot: Moot) -> Prompts:
    """Of an item that has no files yet."""
    return AnalysisPrompts(lambda: current_steps(moot), lambda _: {}).prompts()


def greeting(state: AnalysisState, meta: ItemMeta) -> str:
    """What the lead of the step at hand says to somebody who comes back."""
    at = state.current.ref if state.current else state.next_due
    if at is None:
        if skipped := len(state.skipped_steps):
            return f"Welcome back. The analysis is finished but for {skipped} skipped steps."
        return "Welcome back. The analysis is complete."
    titles = {ref.id: ref.title for ref in state.steps}
    done = [titles[step] for step in state.completed if step in titles][-2:]
    parts = [f"{state.voice(at.persona).shown}: Welcome back."]
    if done:
        parts.append(f"Last time we completed {' and '.join(done)}.")
    phase = {ref.id for ref in state.steps if ref.phase == at.phase}
    # One in which nobody answered has nothing to recall.
    for held in [e for e in meta.elaborations if e.step_id in phase and e.turn_count > 1][-3:]:
        parts.append(
            "In our previous session, we also had a roundtable discussion on "
            f"{titles[held.step_id]} where {held.synthesis_summary.rstrip('.')}."
        )
    return " ".join([*parts, f"Let us pick up {_where(state, at)}."])


def _where(state: AnalysisState, at: StepRef) -> str:
    if state.roundtable is not None:
        return f"our roundtable on {at.title} where it was"
    return f"at the end of {at.title}" if at.id in state.completed else f"from {at.title}"
