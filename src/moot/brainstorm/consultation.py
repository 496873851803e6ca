"""Others are asked in the middle of a brainstorm: the Board, or the roundtable.

Both are the real ones. Nobody who has spoken is asked, or paid, again after a kill: a board is a stored
session, found again by what it was asked; a roundtable's log lies in the workspace until the roundtable is
over. Refuses to know what their answers are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moot.board import record
from moot.board.flow import BOARD
from moot.board.service import create_board, is_tiny, known, run_board
from moot.brainstorm.events import Consulted
from moot.core.flow import Outcome, Task, TaskDone
from moot.core.logs import FileLog
from moot.core.runner import Participants, UserQuit, open_session
from moot.errors import MootError, ReplyEmpty
from moot.files.paths import Root
from moot.llm.names import ModelName
from moot.llm.prices import total_usd
from moot.roundtable import prompts
from moot.roundtable.effects import InsertInsights, OpenRoundtable
from moot.roundtable.events import (
    RULES,
    ArtifactsUpdated,
    ElaborationRecorded,
    RoundtableEvent,
    RoundtableOpened,
)
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.lines import USUAL_TURNS
from moot.roundtable.panel import PANEL, as_speaker
from moot.roundtable.state import RoundtableState

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.runner import Listener, Person

_LOG = "moot/.roundtable.jsonl"
_MATERIAL_LIMIT = 20_000
_CONTEXT_LIMIT = 5_000
_PHASES = {
    "triage": "00-quick-scan",
    "questions": "01-requirements",
    "approaches": "03-architecture",
    "design": "04-design",
}
"""Whoever leads the phase of an analysis that a step of a brainstorm is most like leads there too."""
_TITLES = {"triage": "Assessment", "questions": "Questions", "approaches": "Approaches", "design": "Design"}


@dataclass(frozen=True)
class Company:
    """Whoever takes part besides models: the person, and those who are told what happens. `at_table` gives
    the one who is told about a roundtable, whose state it can look at."""

    person: Person
    listener: Listener
    tell: Callable[[str], None]
    at_table: Callable[[Callable[[], RoundtableState]], Listener]


@dataclass(frozen=True, slots=True)
class Matter:
    """What is asked, at which step of which idea. `key` tells it from all other askings."""

    question: str
    step: str
    idea: str
    material: str
    key: str


class Consulting:
    def __init__(self, moot: Moot, company: Company, model: ModelName) -> None:
        self._moot = moot
        self._company = company
        self._model = model

    # -- the board ---------------------------------------------------------------------------

    async def ask_board(self, matter: Matter) -> Consulted:
        context = f"This came up in a brainstorm of: {matter.idea}\n\n{matter.material}"[:_CONTEXT_LIMIT]
        session = await self._find_session(matter.question, context)
        if session is None:
            session = await create_board(self._moot, matter.question, context, "board")
        board = await run_board(self._moot, session, self._company.tell)
        if board.brief is None:
            why = board.brief_failure.message if board.brief_failure else "no advisor answered"
            raise ReplyEmpty(f"the Board ({why})")
        brief = record.brief_markdown(board, tiny=is_tiny(self._moot, board.model))
        return Consulted(
            "board",
            f"{brief.rstrip()}\n\nBoard session {session}",
            total_usd(bill.cost_usd for bill in board.bills),
        )

    async def _find_session(self, question: str, context: str) -> str | None:
        """The session in which the board was asked just this before."""
        answers = known(context)
        for session in await (await self._moot.store()).sessions(BOARD.name, limit=20, pinned_first=False):
            try:
                state = await self._moot.folded(BOARD, session)
            except MootError:
                continue
            if (state.decision, state.answers) == (question.strip(), answers):
                return session.id
        return None

    # -- the roundtable ----------------------------------------------------------------------

    async def hold_roundtable(self, matter: Matter) -> Consulted:
        path = Root(self._moot.workspace.root).resolve(_LOG)
        log: FileLog[RoundtableEvent] = FileLog(path, ROUNDTABLE.encode, ROUNDTABLE.decode)
        if not _is_of(matter, await log.read()):
            path.unlink(missing_ok=True)
            await log.read()

        async def work(task: Task[Any], _state: Any) -> Outcome:
            match task:
                case OpenRoundtable():
                    return TaskDone(self._opening(matter))
                case InsertInsights():
                    return TaskDone(ArtifactsUpdated(()))
                case _:
                    return TaskDone(ElaborationRecorded(saved=True))

        account = self._moot.account("workflow")
        speak = await self._moot.speaking(self._model, prompts.PROMPTS, account)
        listener = self._company.at_table(lambda: runner.state)
        participants = Participants(speak, listener, self._company.person, work)
        runner = await open_session(ROUNDTABLE, log, participants, account)
        table = await runner.run()
        if runner.left is not None:
            raise UserQuit(interrupted=runner.left.interrupted)
        path.unlink(missing_ok=True)
        return Consulted("roundtable", minutes(table), total_usd(bill.cost_usd for bill in table.bills))

    def _opening(self, matter: Matter) -> RoundtableOpened:
        panel = self._moot.library.panel(PANEL)
        members = self._moot.library.members(panel)
        lead = dict(panel.leads).get(_PHASES.get(matter.step, ""), members[0].id)
        return RoundtableOpened(
            step_id=matter.step,
            step_title=_TITLES.get(matter.step, matter.step),
            item=matter.idea,
            speakers=tuple(map(as_speaker, members)),
            lead=lead,
            max_turns=USUAL_TURNS,
            at=matter.key,
            material=f"The person asks: {matter.question}\n\n{matter.material}"[:_MATERIAL_LIMIT],
            rules=RULES,
        )


def minutes(table: RoundtableState) -> str:
    """What a roundtable has come to, as Markdown; of one that ended before it began, one line."""
    assert table.synthesis is not None
    return table.minutes() if table.turns > 1 else table.synthesis.one_line


def _is_of(matter: Matter, events: list[RoundtableEvent]) -> bool:
    first = events[0] if events else None
    return isinstance(first, RoundtableOpened) and first.at == matter.key
