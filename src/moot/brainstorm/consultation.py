"""Others are asked in the middle of a brainstorm: the Board, or the roundtable.

Both are the real ones. Nobody who has spoken is asked, or paid, again after a kill: a board is a stored
session, found again by what it was asked; a roundtable is a part of the brainstorm, and only opened here.
Refuses to know what their answers are for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moot.board import record
from moot.board.flow import BOARD
from moot.board.service import create_board, is_tiny, known, run_board
from moot.brainstorm import prompts
from moot.brainstorm.events import Consulted
from moot.brainstorm.state import BrainstormState
from moot.core.background import EvidenceGiven
from moot.errors import MootError, ReplyEmpty
from moot.evidence.items import Evidence, numbered
from moot.files.paths import Root
from moot.llm.messages import Source
from moot.llm.prices import total_usd
from moot.roundtable.events import RULES, RoundtableOpened
from moot.roundtable.lines import USUAL_TURNS
from moot.roundtable.panel import PANEL, as_speaker

if TYPE_CHECKING:
    from moot.app import Moot

_OLD_LOG = "moot/.roundtable.jsonl"
"""Where earlier versions kept a roundtable that was under way."""
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
    """What is asked, at which step of which idea, and what is known about it."""

    question: str
    step: str
    idea: str
    evidence: tuple[Evidence, ...]


def evidence_of(
    talk: BrainstormState, given: Iterable[Evidence], decided: Iterable[Source]
) -> tuple[Evidence, ...]:
    """All that is known, for the Board, which has a session of its own: what the person has given first, so
    that it has the same numbers there. What was said, step by step, so that where not all fits, what was
    said first goes first."""
    stands = tuple(prompts.so_far(talk))
    texts = {
        "the idea": talk.description,
        "what was found in the workspace": talk.scout_output,
        "the code that it is about": _joined(talk.code),
        **{f"what was said at the step {at}": _joined(said) for at, said in _said(talk, stands).items()},
        "where the brainstorm stands": _joined(stands),
        "what was decided so far": _joined(decided),
    }
    return *given, *(_as_evidence(name, text) for name, text in texts.items() if text)


def _said(talk: BrainstormState, stands: tuple[Source, ...]) -> dict[str, list[Source]]:
    said: dict[str, list[Source]] = {}
    for entry, source in prompts.entries(talk, stands=stands):
        said.setdefault(entry.step, []).append(source)
    return said


def _joined(sources: Iterable[Source]) -> str:
    return "\n\n".join(source.text for source in sources)


def _as_evidence(name: str, text: str) -> Evidence:
    kept = text.encode("utf-8", "replace")
    return Evidence(
        name, f"brainstorm: {name}", hashlib.sha256(kept).hexdigest(), "text/plain", kept.decode()
    )


async def ask_board(moot: Moot, matter: Matter, tell: Callable[[str], None]) -> Consulted:
    context = (
        "This question came up in a brainstorm: the idea, what was said about it, what was decided and the "
        f"code are among the evidence. It has come to the step {matter.step}."
    )
    given = EvidenceGiven(matter.evidence)
    session = await _find_session(moot, matter.question, context, given)
    if session is None:
        session = await create_board(moot, matter.question, context, "board", (given,))
    board = await run_board(moot, session, tell)
    if board.brief is None:
        why = board.brief_failure.message if board.brief_failure else "no advisor answered"
        raise ReplyEmpty(f"the Board ({why})")
    brief = record.brief_markdown(board, tiny=is_tiny(moot, board.model))
    cost = total_usd(bill.cost_usd for bill in board.bills)
    recommendation = board.brief.recommendation.summary
    numbers = "; ".join(f"{number} is {item.name}" for number, item in numbered(board.background.evidence))
    told = f"Board session {session}; in what it cites, {numbers}"
    return Consulted(f"{brief.rstrip()}\n\n{told}", cost, recommendation)


async def _find_session(moot: Moot, question: str, context: str, given: EvidenceGiven) -> str | None:
    """The session in which the board was asked just this before, with all of that."""
    answers = known(context)
    wanted = [(item.origin, item.sha256) for item in given.evidence]
    for session in await (await moot.store()).sessions(BOARD.name, limit=20, pinned_first=False):
        try:
            state = await moot.folded(BOARD, session)
        except MootError:
            continue
        there = [(item.origin, item.sha256) for item in state.background.evidence[: len(wanted)]]
        if (state.decision, state.answers, there) == (question.strip(), answers, wanted):
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
        material=f"The person asks: {matter.question}",
        rules=RULES,
    )
