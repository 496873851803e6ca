"""A model that plays everybody's part in an analysis. What it says follows from what it is told, so that a
run that was interrupted and went on can be compared with one that was not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.support.roundtable import Turn, check_reply, is_check, minutes_reply, turns

WORDS = {
    "Maya": (
        "Who reads on the train, and what do they see when two edits collide?",
        "Say somebody pays twice. What would they be told, and by whom?",
        "We are at one on warnings. Refunds are still open for customers.",
        "The acceptance criterion here would be that nobody types anything a second time.",
    ),
    "Alex": (
        "I see two approaches: merge on the server, or keep both. The risk is silent loss.",
        "Queues have an ordering problem; we mitigate it by numbering every change.",
        "This is an architectural decision and deserves a record of its tradeoff.",
        "Option B costs a second store, and survives a lost phone.",
    ),
    "Jordan": (
        "To make this concrete: the contract is merge(a, b) -> document, and it fails on stale ids.",
        "What happens when the clock is wrong? The interface needs a version, no timestamp.",
        "The error case carries both documents, so nothing is thrown away.",
        "We are getting abstract: the actual data flow is draft, queue, acknowledgement.",
    ),
}
ASKED_BACK = "What do you mean by throughput?"
EXPLAINED = "Throughput is how many documents one reader opens in an hour."


def reply(system: str, said: str, schema: Mapping[str, Any] | None) -> str:
    if schema is not None:
        return json.dumps(_typed(said, schema))
    name = next((name for name in WORDS if f"You are {name}" in system), "Maya")
    if "You sit at a table" in system:
        # Never the same twice: that would be an echo.
        return WORDS[name][sum(by == name for _, by, _ in turns(said)) % len(WORDS[name])]
    return f"{name} asks: 1. Who needs it?"


def _typed(said: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema["properties"]
    if "focus_question" in fields:
        return {"summary": "three journeys were found", "focus_question": "What happens on a conflict?"}
    if is_check(schema):
        return found(said)
    if "one_line" in fields:
        return minutes(said)
    if "answers" in fields:
        return {"reply": EXPLAINED if ASKED_BACK in said else "", "answers": ASKED_BACK not in said}
    contents = {file: _content(file, said) for file in _files(schema)}
    if "changes" in fields and ASKED_BACK in said:
        return {"reply": EXPLAINED, "changes": False, "contents": contents}
    if "changes" in fields:
        return {"reply": "You are right, I have added that.", "changes": True, "contents": contents}
    return {"summary": "It was settled.", "missing": [], "follow_up": "", "contents": contents}


def found(said: str) -> dict[str, Any]:
    """Whatever Alex has said first is a decision, and leaves a question open."""
    first = _first_of_alex(said)
    made = [("Last edit wins", "simple", turn) for turn in first]
    left = [("Who pays for the storage?", "nobody knows", turn) for turn in first]
    return check_reply(made, open_points=left)


def minutes(said: str) -> dict[str, Any]:
    insights = [("Conflicts need a visible list.", turn) for turn in _first_of_alex(said)]
    return minutes_reply("we found that conflicts need a visible list", *insights)


def _first_of_alex(said: str) -> list[Turn]:
    return [turn for turn in turns(said) if turn[1] == "Alex"][:1]


def _files(schema: Any) -> list[str]:
    part = schema["properties"]["contents"]
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return list(part["properties"])


def _content(file: str, said: str) -> Any:
    if file.endswith(".json"):
        return [{"as_a": "reader", "i_want": "to read", "so_that": "time passes", "acceptance": ["it opens"]}]
    if file.endswith(".csv"):
        return [{"requirement": "Read offline", "priority": "must", "reason": "core", "source": "01-06"}]
    return f"What the step has settled for {file}, after {len(said)} characters."
