"""Analyses as a surface uses them: begin or take up an item, and what the program itself does in one.

An item is its files. The session is the log beside them; meta.json and the artifacts are written by the work
that the flow asks for, each piece of which can be done twice without harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from moot import records, scanning
from moot.boards import headless_board
from moot.errors import FileDamaged, InvalidInput, MootError, NotFound, UserMistake
from moot.flows.analysis import ANALYSIS, ASSESS, FEEDBACK, OPEN
from moot.flows.analysis_events import AnalysisEvent, AnalysisOpened, StepRef, Voice
from moot.flows.analysis_state import AnalysisState
from moot.flows.flow import CarriedOut, CarryOut, NotCarriedOut, Outcome
from moot.gateway.names import Speaker, parse
from moot.personas import Panel, Persona
from moot.prompting import roundtable as roundtable_prompts
from moot.prompting.analysis import AnalysisPrompts
from moot.runner import Runner
from moot.speaking import Prompts, speaking
from moot.steps import Steps, conditions_met, load_steps
from moot.texts import artifacts, insights
from moot.texts.depth import DEPTHS
from moot.workspace import change_state, survey
from moot.workspace.item_meta import Elaboration, ItemMeta, slug_of
from moot.workspace.items import ItemFolder, ItemFolders
from moot.workspace.paths import valid_id

if TYPE_CHECKING:
    from moot.application import Moot
    from moot.runner import Listener, Person

PANEL = "roundtable"
DEFAULT_TURNS = 10
_MATERIAL_LIMIT = 20_000
_NOT_RECORDED = (
    "Elaboration completed successfully but I could not save the elaboration record to meta.json. "
    "The discussion insights are in the artifacts."
)


@dataclass(frozen=True)
class Analysis:
    """An item's analysis, ready to run."""

    item: ItemFolder
    runner: Runner[AnalysisState, AnalysisEvent]
    model: str
    tiny: bool
    resumed: bool

    @property
    def state(self) -> AnalysisState:
        return self.runner.state


@dataclass(frozen=True, slots=True)
class ItemStanding:
    """An item and where it stands. `problem` says why that cannot be told."""

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
        known = [persona.id for persona in moot.library.personas]
        self.steps: Steps = load_steps(moot.workspace.steps, personas=known)

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
        """By its slug, or a new one by its title."""
        named = named.strip()
        slug = slug_of(named)
        for wanted in dict.fromkeys((named, slug)):
            try:
                return self.items.open(valid_id(wanted, "item"))
            except (NotFound, InvalidInput):
                continue
        if not named:
            raise InvalidInput("item", "name what is to be analysed")
        return self.items.create(slug, "manual", named, description=description)

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
        log = item.log(ANALYSIS.encode, _decoded)
        logged = await log.read()
        if not logged:
            await log.append(await self._opening(item))
        work = _Work(self._moot, self, item, tell)
        try:
            state = ANALYSIS.fold(await log.read())
        except UserMistake as error:
            raise FileDamaged(str(item.path / "session.jsonl"), f"cannot be read: {error}") from error
        name = parse(self._moot.model_wished or state.model)
        speak = speaking(self._moot.library, self._moot.gateway, name, self._prompts())
        runner = Runner(ANALYSIS, log, speak=speak, person=person, listener=listener, work=work.carry_out)
        await runner.resume()
        tiny = self._moot.gateway.named(name).small
        return Analysis(item, runner, str(name), tiny, resumed=bool(logged))

    async def _opening(self, item: ItemFolder) -> AnalysisOpened:
        meta = item.meta()
        choice = await self._moot.gateway.choice(Speaker("analysis"))
        files = await asyncio.to_thread(lambda: survey.look(self._moot.workspace.root).files)
        conditions = conditions_met(files)
        refs = tuple(
            StepRef(
                step.id,
                step.title,
                step.phase,
                step.persona,
                step.depth,
                step.outputs,
                step.depends_on,
                step.does_not_apply(conditions),
                tuple(depth for depth in DEPTHS if f"depth-{depth}" in step.skip_if),
            )
            for step in self.steps.steps
        )
        return AnalysisOpened(
            slug=item.slug,
            title=meta.title,
            model=str(choice.name),
            steps=refs,
            voices=tuple(self._voice(persona) for persona in dict.fromkeys(ref.persona for ref in refs)),
            description=meta.description,
            completed=meta.steps_completed,
            depth_overrides=dict(meta.depth_overrides),
            warnings=tuple(self.steps.warnings),
        )

    def _voice(self, persona: str) -> Voice:
        found = self._moot.library.persona(persona)
        return Voice(found.id, found.name, found.role)

    def _prompts(self) -> Prompts:
        own = AnalysisPrompts({step.id: step for step in self.steps.steps})
        return Prompts(
            speeches={
                OPEN: own.open,
                "roundtable/contribution": roundtable_prompts.contribution,
                "roundtable/tradeoff": roundtable_prompts.tradeoff,
                "roundtable/again": roundtable_prompts.again,
            },
            drafts={
                ASSESS: own.assess,
                FEEDBACK: own.feedback,
                "roundtable/framing": roundtable_prompts.framing,
                "roundtable/synthesis": roundtable_prompts.synthesis,
            },
        )


def _decoded(body: bytes) -> AnalysisEvent:
    try:
        return ANALYSIS.decode(body)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error


def greeting(state: AnalysisState, meta: ItemMeta) -> str:
    """What the lead of the next step says to somebody who comes back."""
    following = state.current.ref if state.current else state.next_due
    if following is None:
        return "Welcome back. The analysis is complete."
    titles = {ref.id: ref.title for ref in state.steps}
    done = [titles[step] for step in state.completed if step in titles][-2:]
    parts = [f"{state.voice(following.persona).name}: Welcome back."]
    if done:
        parts.append(f"Last time we completed {' and '.join(done)}.")
    phase = {ref.id for ref in state.steps if ref.phase == following.phase}
    for held in [e for e in meta.elaborations if e.step_id in phase][-3:]:
        parts.append(
            "In our previous session, we also had a roundtable discussion on "
            f"{titles[held.step_id]} where {held.synthesis_summary.rstrip('.')}."
        )
    return " ".join([*parts, f"Let us pick up from {following.title}."])


# -- what the program itself does ----------------------------------------------------------------


class _Work:
    """Carries out what the flow asks for besides words."""

    def __init__(self, moot: Moot, analyses: Analyses, item: ItemFolder, tell: Callable[[str], None]) -> None:
        self._moot = moot
        self._analyses = analyses
        self._item = item
        self._tell = tell

    async def carry_out(self, effect: CarryOut, state: AnalysisState) -> Outcome:
        if effect.what == "analysis/board":
            return await self._board(state)
        doing: dict[str, Callable[[AnalysisState], Mapping[str, Any]]] = {
            "analysis/scan": self._scan,
            "analysis/impact": self._impact,
            "analysis/write": self._write,
            "analysis/amend": self._amend,
            "roundtable/open": self._open,
            "roundtable/insert": self._insert,
            "roundtable/record": self._record,
        }
        try:
            return CarriedOut(await asyncio.to_thread(doing[effect.what], state))
        except (MootError, OSError) as error:
            if effect.what == "roundtable/record":
                return NotCarriedOut(type(error).__name__, _NOT_RECORDED)
            if effect.what.startswith("roundtable/"):
                return NotCarriedOut(type(error).__name__, str(error))
            raise

    # -- looking at the workspace ------------------------------------------------------------

    def _scan(self, state: AnalysisState) -> Mapping[str, Any]:
        found = scanning.quick_scan(self._moot.workspace.root, state.title, state.description)
        return {"found": scanning.as_markdown(found), "depth": found.proposed_depth}

    def _impact(self, state: AnalysisState) -> Mapping[str, Any]:
        root = self._moot.workspace.root
        scan = scanning.quick_scan(root, state.title, state.description)
        return {"found": scanning.as_markdown(scanning.impact(root, scan, scan.keywords))}

    # -- writing down ------------------------------------------------------------------------

    def _write(self, state: AnalysisState) -> Mapping[str, Any]:
        record = state.current
        assert record is not None
        marker = artifacts.step_marker(record.ref.id)
        files = self._add(state, record.contents, marker)
        after = _after_step(state)
        self._item.complete_step(record.ref.id, after.phases_completed, after.status)
        return {"files": files}

    def _amend(self, state: AnalysisState) -> Mapping[str, Any]:
        record = state.current
        assert record is not None
        _, _, contents = record.feedback[-1]
        marker = artifacts.step_marker(record.ref.id, len(record.feedback))
        return {"files": self._add(state, contents, marker)}

    def _add(self, state: AnalysisState, contents: Mapping[str, Any], marker: str) -> list[str]:
        record = state.current
        assert record is not None
        files = []
        for name in record.ref.outputs:
            content = contents.get(name)
            if content:
                self._item.write_artifact(name, _adding(name, state, content, marker))
                files.append(name)
        return files

    # -- roundtables -------------------------------------------------------------------------

    def _open(self, state: AnalysisState) -> Mapping[str, Any]:
        record = state.current
        assert record is not None
        panel = self._moot.library.panel(PANEL)
        members = self._moot.library.members(panel)
        lead, warning = _lead(panel, members, record.ref.phase)
        texts = [self._item.read_artifact(name) or "" for name in record.ref.outputs]
        return {
            "step_id": record.ref.id,
            "step_title": record.ref.title,
            "item": state.title,
            "speakers": [_speaker(persona) for persona in members],
            "lead": lead,
            "max_turns": self._item.meta().elaboration_config.get("max_turns", DEFAULT_TURNS),
            "at": change_state.now(),
            "material": "\n\n".join([record.summary, *texts])[:_MATERIAL_LIMIT],
            "warning": warning,
        }

    def _insert(self, state: AnalysisState) -> Mapping[str, Any]:
        table, record = state.roundtable, state.current
        assert table is not None
        assert record is not None
        assert table.synthesis is not None
        opened = table.opened
        assert table.exit_type is not None
        rendered = insights.render(
            table.synthesis,
            step_id=opened.step_id,
            step_title=opened.step_title,
            participants=[(one.name, one.short_role) for one in opened.speakers],
            turns=table.turns,
            exit_type=table.exit_type,
        )
        marker = insights.marker(opened.step_id, opened.at)
        told = []
        for output in record.ref.outputs:
            name = insights.insights_file(output)
            if self._item.read_artifact(output) is None:
                told.append(insights.missing_artifact(output))
                continue
            heading = ""

            def inserted(old: str | None) -> str:
                nonlocal heading
                done = insights.insert(old or "", rendered, marker, opened.step_title)
                heading = done.heading
                return done.text

            self._item.write_artifact(name, inserted)
            told.append(insights.announcement(name, heading, insights.description(table.synthesis)))
        return {"announcements": told}

    def _record(self, state: AnalysisState) -> Mapping[str, Any]:
        table = state.roundtable
        assert table is not None
        record = table.elaboration()
        personas = tuple(record.pop("personas_active"))
        self._item.add_elaboration(Elaboration(personas_active=personas, **record))
        return {}

    # -- the board ---------------------------------------------------------------------------

    async def _board(self, state: AnalysisState) -> Outcome:
        """Its brief becomes a file of the item, which the artifact names."""
        record = state.current
        assert record is not None
        context = f"This question came up in the analysis of {state.title}, in {record.ref.title}.\n"
        context += record.summary
        try:
            session, board = await headless_board(
                self._moot, state.board_question, context[:5000], "board", self._tell
            )
        except MootError as error:
            return NotCarriedOut(type(error).__name__, str(error))
        if board.brief is None:
            why = board.brief_failure.message if board.brief_failure else "the board gave no brief"
            return NotCarriedOut("ReplyEmpty", why)
        return CarriedOut(await asyncio.to_thread(self._link, state, session, board))

    def _link(self, state: AnalysisState, session: str, board: Any) -> Mapping[str, Any]:
        record = state.current
        assert record is not None
        name = f"board-{session}.md"
        text = records.brief_markdown(board.brief, decision=board.decision, advisors=board.advisors)
        self._item.write_artifact(name, lambda old: old if old is not None else text)
        marker = f"<!-- Board: {session} -->"
        body = f"The Board was asked: {state.board_question} Its brief: [{name}]({name})."
        target = next((file for file in record.ref.outputs if file.endswith(".md")), None)
        if target is not None:
            self._item.write_artifact(
                target,
                lambda old: artifacts.with_section(
                    old, title=state.title, heading=record.ref.title, marker=marker, body=body
                ),
            )
        return {"session": session, "file": name, "recommendation": board.brief.recommendation.summary}


def _after_step(state: AnalysisState) -> AnalysisState:
    """The state as it will be when the step counts as completed."""
    assert state.current is not None
    return replace(state, completed=(*state.completed, state.current.ref.id))


def _adding(name: str, state: AnalysisState, content: Any, marker: str) -> Callable[[str | None], str]:
    record = state.current
    assert record is not None
    if name.endswith(".json"):
        return lambda old: artifacts.with_stories(old, content, record.ref.id)
    if name.endswith(".csv"):
        return lambda old: artifacts.with_rows(old, content)
    return lambda old: artifacts.with_section(
        old, title=state.title, heading=record.ref.title, marker=marker, body=str(content)
    )


def _lead(panel: Panel, members: tuple[Persona, ...], phase: str) -> tuple[str, str]:
    """Whoever leads the phase; for a phase that the panel does not know, its first member."""
    leads = dict(panel.leads)
    if phase in leads:
        return leads[phase], ""
    first = members[0]
    return first.id, f"nobody is named to lead {phase}, so {first.name} does"


def _speaker(persona: Persona) -> Mapping[str, Any]:
    return {
        "id": persona.id,
        "name": persona.name,
        "first_name": persona.name.split()[0],
        "role": persona.role,
        "short_role": persona.short_role,
        "lens": persona.voice.lens,
        "forbidden_words": list(persona.voice.forbidden.words),
    }
