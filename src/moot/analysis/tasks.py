"""What the program itself does in an analysis: looks at the workspace, writes artifacts and meta.json, seats
a roundtable, hears the Board.

Everything here can be done twice without harm, because after a crash it may be asked for once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from moot.analysis import artifacts
from moot.analysis.current_steps import current_steps
from moot.analysis.events import StepRef, Voice
from moot.analysis.item_meta import Elaboration
from moot.analysis.items import ItemFolder
from moot.analysis.state import AnalysisState
from moot.analysis.steps import Condition, Step, conditions_met
from moot.board import record as records
from moot.board.service import create_board, is_tiny, run_board
from moot.core.flow import Outcome, RunTask, TaskDone, TaskFailed
from moot.errors import MootError
from moot.personas.library import Panel, Persona
from moot.repo import listing
from moot.repo import scan as scanning
from moot.roundtable import insights
from moot.roundtable.panel import DEFAULT_TURNS, PANEL, as_speaker
from moot.text.depth import DEPTHS

if TYPE_CHECKING:
    from moot.analysis.steps import Steps
    from moot.app import Moot

_MATERIAL_LIMIT = 20_000
_NOT_RECORDED = (
    "Elaboration completed successfully but I could not save the elaboration record to meta.json. "
    "The discussion insights are in the artifacts."
)


class Work:
    """Carries out what the flow asks for besides words."""

    def __init__(self, moot: Moot, item: ItemFolder, tell: Callable[[str], None]) -> None:
        self._moot = moot
        self._item = item
        self._tell = tell
        self._told = set(current_steps(moot).warnings)
        """What is wrong with step files, as far as the person knows."""

    async def carry_out(self, effect: RunTask, state: AnalysisState) -> Outcome:
        if effect.what == "analysis/call":
            return await self._call(state)
        if effect.what == "analysis/board":
            return await self._board(state)
        doing: dict[str, Callable[[AnalysisState], Mapping[str, Any]]] = {
            "analysis/steps": self.read_steps,
            "analysis/scan": self._scan,
            "analysis/impact": self._impact,
            "analysis/write": self._write,
            "analysis/amend": self._amend,
            "roundtable/open": self._open,
            "roundtable/insert": self._insert,
            "roundtable/record": self._record,
        }
        self._tell_faults()
        try:
            return TaskDone(await asyncio.to_thread(doing[effect.what], state))
        except (MootError, OSError) as error:
            if effect.what == "roundtable/record":
                return TaskFailed(type(error).__name__, _NOT_RECORDED)
            if effect.what.startswith("roundtable/"):
                return TaskFailed(type(error).__name__, str(error))
            raise

    # -- the step files ----------------------------------------------------------------------

    def read_steps(self, state: AnalysisState) -> Mapping[str, Any]:
        """Nothing, unless the files say something else by now than this analysis knows."""
        steps = current_steps(self._moot)
        # Whether a step applies is looked at only when its file says something new.
        known = [msgspec.structs.replace(ref, does_not_apply="") for ref in state.steps]
        if known == [_ref(step) for step in steps.steps]:
            return {}
        refs = refs_here(self._moot, steps)
        voices = voices_of(self._moot, refs)
        return {"steps": msgspec.to_builtins(refs), "voices": msgspec.to_builtins(voices)}

    def _tell_faults(self) -> None:
        """Each once, where the files are used."""
        for warning in current_steps(self._moot).warnings:
            if warning not in self._told:
                self._told.add(warning)
                self._tell(warning)

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
            "speakers": [as_speaker(persona) for persona in members],
            "lead": lead,
            "max_turns": self._item.meta().elaboration_config.get("max_turns", DEFAULT_TURNS),
            "at": _now(),
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
            participants=[(one.shown, one.short_role) for one in opened.speakers],
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
        self._item.add_elaboration(Elaboration(personas_active=personas, timestamp=_now(), **record))
        return {}

    # -- the board ---------------------------------------------------------------------------

    async def _call(self, state: AnalysisState) -> Outcome:
        record = state.current
        assert record is not None
        context = f"This question came up in the analysis of {state.title}, in {record.ref.title}.\n"
        context += record.summary
        try:
            session = await create_board(self._moot, state.board_question, context[:5000], "board")
        except MootError as error:
            return TaskFailed(type(error).__name__, str(error))
        return TaskDone({"session": session})

    async def _board(self, state: AnalysisState) -> Outcome:
        """Its brief becomes a file of the item, which the artifact names."""
        try:
            board = await run_board(self._moot, state.board_session, self._tell)
        except MootError as error:
            return TaskFailed(type(error).__name__, str(error))
        if board.brief is None:
            if failed := board.brief_failure:
                return TaskFailed(failed.kind, failed.message)
            return TaskFailed("ReplyEmpty", "the board gave no brief")
        return TaskDone(await asyncio.to_thread(self._link, state, board))

    def _link(self, state: AnalysisState, board: Any) -> Mapping[str, Any]:
        record, session = state.current, state.board_session
        assert record is not None
        name = f"board-{session.removeprefix('board-')}.md"
        text = records.brief_markdown(board, tiny=is_tiny(self._moot, board.model))
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


def refs_here(moot: Moot, steps: Steps) -> tuple[StepRef, ...]:
    """The steps, and which of them do not apply in this workspace."""
    conditions = conditions_met(listing.look(moot.workspace.root).files)
    return tuple(_ref(step, conditions) for step in steps.steps)


def _ref(step: Step, conditions: Collection[Condition] = ()) -> StepRef:
    return StepRef(
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


def voices_of(moot: Moot, refs: Iterable[StepRef]) -> tuple[Voice, ...]:
    personas = map(moot.library.persona, dict.fromkeys(ref.persona for ref in refs))
    return tuple(Voice(one.id, one.name, one.role, one.origin) for one in personas)


def _now() -> str:
    """Fine enough that two roundtables of one step never have the same."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
