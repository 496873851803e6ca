"""What the program itself does in an analysis: looks at the workspace, writes artifacts and meta.json, seats
a roundtable, asks the Board.

Everything here can be done twice without harm, because after a crash it may be asked for once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from moot.analysis import artifacts, edits, references
from moot.analysis.citable import strays, there
from moot.analysis.current_steps import current_steps
from moot.analysis.effects import (
    AmendArtifacts,
    CallBoard,
    ConveneBoard,
    LookForImpact,
    ReadSteps,
    ScanWorkspace,
    WriteArtifacts,
)
from moot.analysis.events import (
    AnalysisEvent,
    BoardAnswered,
    BoardCalled,
    FeedbackWritten,
    ImpactLooked,
    StepCompleted,
    StepRef,
    StepsRead,
    Voice,
    WorkspaceScanned,
)
from moot.analysis.item_meta import Elaboration
from moot.analysis.items import ItemFolder
from moot.analysis.ledger import said_by_person
from moot.analysis.lines import Lines
from moot.analysis.material import for_board
from moot.analysis.state import AnalysisState
from moot.analysis.steps import Condition, Step, conditions_met
from moot.board import record as records
from moot.board.service import create_board, is_tiny, run_board
from moot.core.background import EvidenceGiven
from moot.core.flow import Outcome, Task, TaskDone, TaskFailed
from moot.errors import MootError
from moot.personas.library import Panel, Persona
from moot.repo import listing
from moot.repo import scan as scanning
from moot.repo.first_look import first_look
from moot.roundtable import insights, lines
from moot.roundtable.effects import InsertInsights, OpenRoundtable, RecordElaboration
from moot.roundtable.events import RULES, ArtifactsUpdated, ElaborationRecorded, RoundtableOpened
from moot.roundtable.panel import PANEL, as_speaker
from moot.text.depth import DEPTHS, depth_in

if TYPE_CHECKING:
    from moot.analysis.steps import Steps
    from moot.app import Moot
    from moot.board.state import BoardState


class Work:
    """Carries out what the flow asks for besides words."""

    def __init__(self, moot: Moot, item: ItemFolder, tell: Callable[[str], None]) -> None:
        self._moot = moot
        self._item = item
        self._tell = tell
        self._reported = set(current_steps(moot).warnings)
        """What is wrong with step files, as far as the person knows."""

    async def carry_out(self, task: Task[Any], state: AnalysisState) -> Outcome:
        if isinstance(task, CallBoard | ConveneBoard):
            return await self._ask_board(task, state)
        self._report_step_faults()
        try:
            return TaskDone(await asyncio.to_thread(self._carry_out, task, state))
        except (MootError, OSError) as error:
            match task:
                case OpenRoundtable() | InsertInsights():
                    return TaskFailed(type(error).__name__, str(error))
                case RecordElaboration():
                    return TaskFailed(type(error).__name__, lines.NOT_RECORDED)
            raise

    def _carry_out(self, task: Task[Any], state: AnalysisState) -> AnalysisEvent:
        match task:
            case ReadSteps():
                return self.read_steps(state)
            case ScanWorkspace():
                return self._scan(state)
            case LookForImpact():
                return self._look_for_impact(state)
            case WriteArtifacts():
                return self._write(state)
            case AmendArtifacts():
                return self._amend(state)
            case OpenRoundtable():
                return self._open_roundtable(state)
            case InsertInsights():
                return self._insert_insights(state)
            case RecordElaboration():
                return self._record_elaboration(state)
            case _:
                raise AssertionError(f"an analysis does not ask for {task}")

    # -- the step files ----------------------------------------------------------------------

    def read_steps(self, state: AnalysisState) -> StepsRead:
        steps = current_steps(self._moot)
        # Whether a step applies is looked at only when its file says something new.
        known = [msgspec.structs.replace(ref, does_not_apply="") for ref in state.steps]
        changed = edits.edits(state, self._item.artifacts())
        new = None if changed == state.edits else changed
        if known == [_as_ref(step) for step in steps.steps]:
            return StepsRead(edits=new)
        refs = step_refs(self._moot, steps)
        return StepsRead(refs, voices_of(self._moot, refs), new)

    def _report_step_faults(self) -> None:
        """Each once, where the files are used."""
        for warning in current_steps(self._moot).warnings:
            if warning not in self._reported:
                self._reported.add(warning)
                self._tell(warning)

    # -- looking at the workspace ------------------------------------------------------------

    def _scan(self, state: AnalysisState) -> WorkspaceScanned:
        root = self._moot.workspace.root
        found = scanning.quick_scan(root, state.title, state.description)
        bodies = first_look(root, f"{state.title}\n{state.description}")
        # Whoever asks for a depth in describing the item means it.
        depth = depth_in(state.description) or found.proposed_depth
        return WorkspaceScanned(scanning.as_markdown(found), depth, bodies)

    def _look_for_impact(self, state: AnalysisState) -> ImpactLooked:
        root = self._moot.workspace.root
        scan = scanning.quick_scan(root, state.title, state.description)
        said = list(since_the_scan(state))
        impact = scanning.impact(root, scan, said)
        # What the requirements have led to counts as named: the title alone did not lead there.
        new = [f"`{one.file}`" for one in impact.touched if one.file not in scan.likely]
        bodies = first_look(root, "\n".join([state.title, state.description, *said, *new]))
        return ImpactLooked(scanning.as_markdown(impact), bodies)

    # -- writing down ------------------------------------------------------------------------

    def _write(self, state: AnalysisState) -> StepCompleted:
        step = state.record.ref.id
        # The file may be gone by now: what was noted is written all the same.
        guides = {one.id: references.kinds_in(one.artifacts) for one in current_steps(self._moot).steps}
        unknown = self._unknown(state, state.record.contents, guides.get(step, references.KINDS))
        files = self._add(state, state.record.contents, artifacts.step_marker(step))
        after = replace(state, completed=(*state.completed, step))
        self._item.complete_step(step, after.phases_completed, after.status)
        return StepCompleted(step, files, unknown=unknown)

    def _amend(self, state: AnalysisState) -> FeedbackWritten:
        record = state.record
        _, _, contents = record.feedback[-1]
        marker = artifacts.step_marker(record.ref.id, len(record.feedback))
        # Whoever corrects a step may add to what any step has numbered.
        unknown = self._unknown(state, contents, references.KINDS)
        # Whoever says that something is not there names it again.
        known = {one for held in state.at_tables(record) if held.table for one in held.table.unknown}
        unknown = tuple(one for one in unknown if one not in {*known, *record.unknown})
        return FeedbackWritten(self._add(state, contents, marker), unknown)

    def _unknown(
        self, state: AnalysisState, contents: Mapping[str, Any], defines: Collection[str]
    ) -> tuple[str, ...]:
        """What is cited in what is about to be written, and is not there."""
        files = self._item.artifacts()
        in_session = there(state)
        lines = Lines(self._moot.workspace.root, files)
        known = replace(
            in_session,
            ids={*(references.defined(files).keys() - strays(state)), *in_session.ids},
            lines=lines,
            is_known=lines.have,
        )
        return known.unknown(references.as_text([*contents.values()]), defines)

    def _add(self, state: AnalysisState, contents: Mapping[str, Any], marker: str) -> tuple[str, ...]:
        """The files that have got something."""
        files = tuple(name for name in state.record.ref.outputs if contents.get(name))
        for name in files:
            self._put(state, name, _addition(name, state, contents[name], marker))
        return files

    def _put(self, state: AnalysisState, name: str, add: Callable[[str | None], str]) -> None:
        """Adds to an artifact, at whose end stands what is cited in it."""

        def put(old: str | None) -> str:
            text = add(None if old is None else artifacts.without_sources(old))
            return artifacts.with_sources(text, state.background.evidence)

        self._item.write_artifact(name, put if name.endswith(".md") else add)

    # -- roundtables -------------------------------------------------------------------------

    def _open_roundtable(self, state: AnalysisState) -> RoundtableOpened:
        record = state.record
        panel = self._moot.library.panel(PANEL)
        members = self._moot.library.members(panel)
        lead, warning = _choose_lead(panel, members, record.ref.phase)
        turns, problem = lines.turn_limit(self._item.meta().elaboration_config.get("max_turns"))
        return RoundtableOpened(
            step_id=record.ref.id,
            step_title=record.ref.title,
            item=state.title,
            speakers=tuple(map(as_speaker, members)),
            lead=lead,
            max_turns=turns,
            at=_now(),
            material=record.summary,
            warnings=tuple(filter(None, (warning, problem))),
            rules=RULES,
        )

    def _insert_insights(self, state: AnalysisState) -> ArtifactsUpdated:
        table = state.table
        assert table.synthesis is not None
        announcements = []
        for output in state.record.ref.outputs:
            if self._item.read_artifact(output) is None:
                announcements.append(insights.missing_artifact(output))
                continue
            name = insights.insights_file(output)
            heading = ""

            def insert(old: str | None) -> str:
                nonlocal heading
                marker = insights.marker(table.opened.step_id, table.opened.at)
                inserted = insights.insert(old or "", table.minutes(), marker, table.opened.step_title)
                heading = inserted.heading
                return inserted.text

            self._put(state, name, insert)
            added = insights.description(table.synthesis)
            announcements.append(insights.announcement(name, heading, added))
        unknown = self._unknown(state, {"": table.minutes()}, ())
        return ArtifactsUpdated(tuple(announcements), unknown)

    def _record_elaboration(self, state: AnalysisState) -> ElaborationRecorded:
        table = state.table
        assert table.synthesis is not None
        elaboration = Elaboration(
            step_id=table.opened.step_id,
            turn_count=table.turns,
            personas_active=tuple(table.speakers),
            timestamp=_now(),
            synthesis_summary=table.synthesis.one_line,
            opened_at=table.opened.at,
        )
        self._item.add_elaboration(elaboration)
        return ElaborationRecorded(saved=True)

    # -- the board ---------------------------------------------------------------------------

    async def _ask_board(self, task: CallBoard | ConveneBoard, state: AnalysisState) -> Outcome:
        try:
            if isinstance(task, CallBoard):
                return TaskDone(await self._call_board(state))
            self._tell(f"The Board is asked: {state.board_question} Each advisor speaks when they are ready.")
            board = await run_board(self._moot, state.board_session, self._tell)
        except MootError as error:
            return TaskFailed(type(error).__name__, str(error))
        if board.brief is not None:
            return TaskDone(await asyncio.to_thread(self._keep_brief, state, board))
        if failed := board.brief_failure:
            return TaskFailed(failed.kind, failed.message)
        return TaskFailed("ReplyEmpty", "the board gave no brief")

    async def _call_board(self, state: AnalysisState) -> BoardCalled:
        context = (
            f"This question came up in an analysis, at the step {state.record.ref.title}. The item, all that "
            "was said about it and the files are among the evidence. What was decided is the last of it, and "
            "holds where something else says otherwise."
        )
        known = EvidenceGiven(for_board(state, await asyncio.to_thread(self._item.artifacts)))
        session = await create_board(self._moot, state.board_question, context, "board", (known,))
        return BoardCalled(session)

    def _keep_brief(self, state: AnalysisState, board: BoardState) -> BoardAnswered:
        """Its brief becomes a file of the item, which the artifact names."""
        assert board.brief is not None
        session, question = state.board_session, state.board_question
        name = f"board-{session.removeprefix('board-')}.md"
        text = records.brief_markdown(board, tiny=is_tiny(self._moot, board.model))
        text = artifacts.with_sources(text, board.background.evidence)
        self._item.write_artifact(name, lambda old: old if old is not None else text)
        body = artifacts.board_line(question, name)
        target = next((file for file in state.record.ref.outputs if file.endswith(".md")), None)
        if target is not None:
            self._put(state, target, _addition(target, state, body, f"<!-- Board: {session} -->"))
        return BoardAnswered(question, session, name, board.brief.recommendation.summary)


def since_the_scan(state: AnalysisState) -> Iterator[str]:
    """What the item has turned out to be about: what was decided first, then all that the person said."""
    for record in state.done:
        yield from (*record.decided, *record.decided_there)
    for record in state.done:
        yield from (answer for _, answer in record.exchanges)
        yield from (words for words, _, _ in record.feedback)
    for held in state.elaborations:
        yield from said_by_person(held.table) if held.table else ()


def step_refs(moot: Moot, steps: Steps) -> tuple[StepRef, ...]:
    """The steps, and which of them do not apply in this workspace."""
    conditions = conditions_met(listing.look(moot.workspace.root).files)
    return tuple(_as_ref(step, conditions) for step in steps.steps)


def _as_ref(step: Step, conditions: Collection[Condition] = ()) -> StepRef:
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


def _addition(name: str, state: AnalysisState, content: Any, marker: str) -> Callable[[str | None], str]:
    ref = state.record.ref
    if name.endswith(".json"):
        return lambda old: artifacts.with_stories(old, content, ref.id)
    if name.endswith(".csv"):
        return lambda old: artifacts.with_rows(old, content)
    return lambda old: artifacts.with_section(
        old, title=state.title, heading=ref.title, marker=marker, body=str(content)
    )


def _choose_lead(panel: Panel, members: tuple[Persona, ...], phase: str) -> tuple[str, str]:
    """Whoever leads the phase; for a phase that the panel does not know, its first member."""
    leads = dict(panel.leads)
    if phase in leads:
        return leads[phase], ""
    first = members[0]
    return first.id, f"nobody is named to lead {phase}, so {first.name} does"
