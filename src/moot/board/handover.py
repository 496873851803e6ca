"""What a board hands to a change: its decision, what the person said, the conditions, and the dissent. Pure.

Advisors advise, and the person decides: that they have a change made of it is their decision.
"""

from __future__ import annotations

from msgspec.structs import replace

from moot.board.flow import BOARD
from moot.board.ledger import CONDITION, DECISION, IF, MET, THE_BOARD, ledger
from moot.board.record import brief_markdown, views_markdown
from moot.board.state import BoardState
from moot.core.background import struck
from moot.core.conversation import PERSON
from moot.core.handover import Handover, Origin, with_struck
from moot.core.ledger import Decided, Kind
from moot.errors import InvalidInput

BRIEF, VIEWS = "the-board's-brief.md", "what-the-advisors-said.md"


def hand_over(state: BoardState, session_id: str, title: str, words: str) -> Handover:
    """`words` are what the person asks for; without any, it is what the Board recommends, which there has to
    be."""
    recommends = state.brief.recommendation.summary.strip() if state.brief else ""
    if not words and not recommends:
        raise InvalidInput("description", "this board has no brief: say what should change, and why")
    advice = f"This was put to the Board:\n{state.decision}"
    if recommends:
        advice += f"\n\nThe Board recommends:\n{recommends}"
    settled = words or "carry out what the Board recommends, under its conditions"
    entries = with_struck(ledger(state), struck(BOARD, state))
    decided = tuple(_as_it_binds(one, words or recommends) for one in entries)
    texts = {VIEWS: views_markdown(state)}
    if state.brief is not None:
        texts = {BRIEF: brief_markdown(state), **texts}
    origin = Origin("board", session_id, title)
    return Handover(
        origin, f"{settled[:1].upper()}{settled[1:]}\n\n{advice}", decided, state.background.evidence, texts
    )


def _as_it_binds(entry: Decided, asked: str) -> Decided:
    """The decision is made by having a change made of it, and with it the conditions hold."""
    if entry.key == DECISION and entry.kind is Kind.OPEN:
        text = f"{entry.text}\nThe person has decided: {asked}"
        return replace(entry, kind=Kind.DECIDED, text=text, by=PERSON)
    if entry.key.startswith(CONDITION) and entry.by == THE_BOARD:
        return replace(entry, kind=Kind.DECIDED, text=f"A condition to be met: {entry.text.removeprefix(IF)}")
    # What is met already asks nothing of a plan.
    is_met = entry.key.startswith(CONDITION) and entry.text.startswith(MET)
    return replace(entry, kind=Kind.SAID) if is_met else entry
