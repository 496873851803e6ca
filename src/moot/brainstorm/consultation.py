"""Others are asked in the middle of a brainstorm: the Board, or the roundtable.

Both are the real ones. Nobody who has spoken is asked, or paid, again after a kill: a board is a stored
session, found again by what it was asked; a roundtable is a part of the brainstorm, and only opened here.
Refuses to know what their answers are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moot.board import record
from moot.board.flow import BOARD
from moot.board.service import create_board, is_tiny, known, run_board
from moot.brainstorm.events import Consulted
from moot.errors import MootError, ReplyEmpty
from moot.files.paths import Root
from moot.llm.prices import total_usd
from moot.roundtable.events import RULES, RoundtableOpened
from moot.roundtable.lines import USUAL_TURNS
from moot.roundtable.panel import PANEL, as_speaker

if TYPE_CHECKING:
    from moot.app import Moot

_OLD_LOG = "moot/.roundtable.jsonl"
"""Where earlier versions kept a roundtable that was under way."""
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


@dataclass(frozen=True, slots=True)
class Matter:
    """What is asked, at which step of which idea."""

    question: str
    step: str
    idea: str
    material: str


async def ask_board(moot: Moot, matter: Matter, tell: Callable[[str], None]) -> Consulted:
    context = f"This came up in a brainstorm of: {matter.idea}\n\n{matter.material}"[:_CONTEXT_LIMIT]
    session = await _find_session(moot, matter.question, context)
    if session is None:
        session = await create_board(moot, matter.question, context, "board")
    board = await run_board(moot, session, tell)
    if board.brief is None:
        why = board.brief_failure.message if board.brief_failure else "no advisor answered"
        raise ReplyEmpty(f"the Board ({why})")
    brief = record.brief_markdown(board, tiny=is_tiny(moot, board.model))
    cost = total_usd(bill.cost_usd for bill in board.bills)
    return Consulted(f"{brief.rstrip()}\n\nBoard session {session}", cost)


async def _find_session(moot: Moot, question: str, context: str) -> str | None:
    """The session in which the board was asked just this before."""
    answers = known(context)
    for session in await (await moot.store()).sessions(BOARD.name, limit=20, pinned_first=False):
        try:
            state = await moot.folded(BOARD, session)
        except MootError:
            continue
        if (state.decision, state.answers) == (question.strip(), answers):
            return session.id
    return None


def open_roundtable(moot: Moot, matter: Matter, key: str) -> RoundtableOpened:
    """`key` tells this roundtable from others of the same workflow."""
    Root(moot.workspace.root).resolve(_OLD_LOG).unlink(missing_ok=True)
    panel = moot.library.panel(PANEL)
    members = moot.library.members(panel)
    lead = dict(panel.leads).get(_PHASES.get(matter.step, ""), members[0].id)
    return RoundtableOpened(
        step_id=matter.step,
        step_title=_TITLES.get(matter.step, matter.step),
        item=matter.idea,
        speakers=tuple(map(as_speaker, members)),
        lead=lead,
        max_turns=USUAL_TURNS,
        at=key,
        material=f"The person asks: {matter.question}\n\n{matter.material}"[:_MATERIAL_LIMIT],
        rules=RULES,
    )
