"""What was decided so far on a board: the decision, what the person said about it, and what they ticked.

Pure. What advisors say is no entry: they advise, and the person decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from moot.board.state import BoardState
from moot.core import ledger as common
from moot.core.conversation import PERSON
from moot.core.ledger import Decided, Kind, correct


def ledger(state: BoardState) -> tuple[Decided, ...]:
    """As the person has corrected it, under the numbers by which people and changes speak of it."""
    said = (*known_at_first(state), *challenges(state), *_conditions(state))
    return common.number(correct(said, state.background.corrections), state.order)


def keep_order(state: BoardState) -> BoardState:
    """What has come about since is numbered after everything that was there."""
    new = (entry.key for entry in ledger(state) if entry.number > len(state.order))
    return replace(state, order=(*state.order, *new))


def told(state: BoardState) -> tuple[Decided, ...]:
    """For a request: who speaks next is not held to conditions that only an earlier brief has named."""
    return tuple(one for one in ledger(state) if not _is_open_condition(one))


def _is_open_condition(entry: Decided) -> bool:
    return entry.kind is Kind.OPEN and entry.key.startswith(CONDITION)


def known_at_first(state: BoardState) -> tuple[Decided, ...]:
    """What every request says in full: the decision, and what was answered before it was put to the board."""
    return (*_decision(state), *_answers(state))


def known_to(state: BoardState, persona: str) -> tuple[Decided, ...]:
    """What the conversation with an advisor has in it already: what held when they gave their view, and what
    they have been challenged with."""
    advisor = state.advisor(persona)
    own = (_challenged(one.number, one.challenge, advisor.member.name) for one in advisor.exchanges)
    return (*known_at_first(state), *advisor.knew_decided, *own)


def challenges(state: BoardState) -> tuple[Decided, ...]:
    """What the person said in them, in the order in which they said it."""
    made = [(one, advisor.member.name) for advisor in state.advisors for one in advisor.exchanges]
    made.sort(key=lambda each: each[0].number)
    return tuple(_challenged(one.number, one.challenge, name) for one, name in made)


DECISION, CONDITION = "decision", "condition:"
MET = "This condition is met: "
THE_BOARD, IF = "the Board", "What the Board recommends holds only if: "


def _decision(state: BoardState) -> Iterator[Decided]:
    if state.decision:
        yield Decided(DECISION, Kind.OPEN, state.decision, PERSON, "the decision")


def _answers(state: BoardState) -> Iterator[Decided]:
    given = state.answers if state.convened else tuple(one for one in state.answered if one.answer.strip())
    for place, one in enumerate(given, start=1):
        yield Decided(f"answer:{place}", Kind.SAID, f"{one.question} {one.answer}", PERSON, "the questions")


def _challenged(number: int, words: str, name: str) -> Decided:
    return Decided(f"challenge:{number}", Kind.SAID, words, PERSON, f"challenge {number}, to {name}")


def _conditions(state: BoardState) -> Iterator[Decided]:
    """Those of the brief, and those of an earlier one that the person has ticked."""
    for condition in dict.fromkeys((*(text for text, _ in state.conditions), *state.ticks)):
        key = f"{CONDITION}{condition}"
        if condition in state.ticks:
            yield Decided(key, Kind.DECIDED, f"{MET}{condition}", PERSON, "the brief")
        elif condition.strip():
            yield Decided(key, Kind.OPEN, f"{IF}{condition}", THE_BOARD, "the brief")
