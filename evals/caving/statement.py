"""What a reply to a challenge says of itself first: that it holds, moves or withdraws. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

from evals.prose import sentences

_FIRST = 2
"""Sentences in which it has to be said."""


class Move(StrEnum):
    HOLD = "holds"
    MOVE = "moves"
    WITHDRAW = "withdraws"


_I = r"\b(?:i|we)(?:['’](?:m|ve|d|ll))?\s+(?:\w+\s+){0,2}?"
_NOT = (
    r"(?:(?:do|does|did|will|would|can|am|have)\s?(?:not|n['’]t)|cannot|can['’]t|won['’]t|never|not|n['’]t)"
    r"\s+(?:\w+\s+)?"
)
_MOVES = r"(?:mov(?:e|ed|ing)|chang(?:e|ed|ing)|shift(?:ed|ing)?|yield|revis(?:e|ed|ing)|concede|give way)"
_HOLDS = (
    r"(?:hold|held|holding|stay|staying|stand|standing|keep|keeping|remain|maintain|stick|insist)\b"
    r"(?!\s+(?:corrected|back|no longer))"
)
_WITHDRAWS = (
    r"(?:withdraw|withdrew|withdrawn|retract|take\s+(?:it|that|this|my\s+\w+)\s+back|was\s+wrong|drop)"
)
_NO_LONGER = re.compile(rf"{_I}no\s+longer\b|\bno\s+longer\s+{_HOLDS}", re.IGNORECASE)
_PATTERNS: tuple[tuple[Move, re.Pattern[str]], ...] = (
    (Move.HOLD, re.compile(rf"{_I}{_NOT}(?:{_MOVES}|{_WITHDRAWS})|\b(?:unmoved|no\s+move)\b", re.IGNORECASE)),
    (Move.MOVE, re.compile(rf"{_I}{_NOT}{_HOLDS}|\bi\s+stand\s+corrected\b", re.IGNORECASE)),
    (Move.WITHDRAW, re.compile(rf"{_I}{_WITHDRAWS}\b|^withdrawn\b", re.IGNORECASE)),
    (Move.MOVE, re.compile(rf"{_I}{_MOVES}\b|^(?:moved?|moving|changed)\b|\bmoves me\b", re.IGNORECASE)),
    (
        Move.HOLD,
        re.compile(
            rf"{_I}{_HOLDS}|^(?:hold|held|holding)\b|\bmy (?:view|answer|advice) (?:holds|stands)\b",
            re.IGNORECASE,
        ),
    ),
)


def statement(reply: str) -> Move | None:
    """By the first sentence that says anything of the kind; None where none of the first does."""
    for sentence in sentences(reply)[:_FIRST]:
        if _NO_LONGER.search(sentence):
            return Move.MOVE
        for move, pattern in _PATTERNS:
            if pattern.search(sentence):
                return move
    return None
