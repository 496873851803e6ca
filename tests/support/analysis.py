"""A model that plays everybody's part in an analysis. What it says follows from what it is told, so that a
run that was interrupted and went on can be compared with one that was not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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
SYNTHESIS = {
    "insights": [{"by": ["Alex"], "text": "Conflicts need a visible list."}],
    "decisions": [{"decision": "Last edit wins", "rationale": "simple", "stated_by": "Alex"}],
    "open_questions": [{"question": "Who pays for the storage?", "context": "nobody knows"}],
    "action_items": [],
    "one_line": "we found that conflicts need a visible list",
}
ASKED_BACK = "What do you mean by throughput?"
EXPLAINED = "Throughput is how many documents one reader opens in an hour."


def reply(system: str, said: str, schema: Mapping[str, Any] | None) -> str:
    if schema is not None:
        return json.dumps(_typed(said, schema))
    name = next((name for name in WORDS if f"You are {name}" in system), "Maya")
    if "You sit at a table" in system:
        # Never the same twice: that would be an echo.
        return WORDS[name][said.count(f"{name} ") % len(WORDS[name])]
    return f"{name} asks: 1. Who needs it?"


def _typed(said: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema["properties"]
    if "focus_question" in fields:
        return {"summary": "three journeys were found", "focus_question": "What happens on a conflict?"}
    if "one_line" in fields:
        return SYNTHESIS
    if "answers" in fields:
        return {"reply": EXPLAINED if ASKED_BACK in said else "", "answers": ASKED_BACK not in said}
    contents = {file: _content(file, said) for file in _files(schema)}
    if "changes" in fields and ASKED_BACK in said:
        return {"reply": EXPLAINED, "changes": False, "contents": contents}
    if "changes" in fields:
        return {"reply": "You are right, I have added that.", "changes": True, "contents": contents}
    return {"summary": "It was settled.", "missing": [], "follow_up": "", "contents": contents}


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
