"""What a model answers that is asked what was said at a roundtable: by quotes from the request, as they stand
there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TURN = re.compile(r'<turn number="(\d+)" by="([^"]*)"[^>]*>\n(.*?)\n</turn>', re.DOTALL)

Turn = tuple[int, str, str]
"""Its number, who said it, and what."""


def turns(request_text: str) -> list[Turn]:
    return [(int(number), by, text) for number, by, text in _TURN.findall(request_text)]


def quoted(turn: Turn) -> dict[str, Any]:
    """As the check wants it."""
    number, by, text = turn
    return {"turn": number, "by": by, "quote": text}


def cited(*said: Turn) -> list[dict[str, Any]]:
    """As the minutes want it."""
    return [{"turn": number, "quote": text} for number, _, text in said]


def is_check(schema: Mapping[str, Any]) -> bool:
    return "disagreements" in schema["properties"]


def check_reply(
    decisions: Sequence[tuple[str, str, Turn]] = (),
    disagreements: Sequence[tuple[str, Turn, Turn]] = (),
    open_points: Sequence[tuple[str, str, Turn]] = (),
) -> dict[str, Any]:
    return {
        "decisions": [
            {"decision": what, "rationale": why, "said": quoted(turn)} for what, why, turn in decisions
        ],
        "disagreements": [
            {"about": about, "one": quoted(one), "other": quoted(other)}
            for about, one, other in disagreements
        ],
        "open_points": [
            {"question": what, "context": why, "said": quoted(turn)} for what, why, turn in open_points
        ],
    }


def minutes_reply(one_line: str, *insights: tuple[str, Turn], **fields: Any) -> dict[str, Any]:
    return {
        "insights": [{"text": text, "said": cited(turn)} for text, turn in insights],
        "risks": [],
        "acceptance_criteria": [],
        "action_items": [],
        "one_line": one_line,
        **fields,
    }
