"""Models that are played for evaluations: what they answer follows from what they are asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evals.__main__ import Run, run_all
from evals.evaluation import Evaluation, Tally
from evals.report import Result
from tests.stub.instance import instance_of
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.planted import word_of

Played = Callable[[Recorded], Behaviour]
MODEL = "anthropic:claude-sonnet-5-5"


def judge(
    evaluation: Evaluation[Any],
    played: Played,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    only: Sequence[str] = (),
) -> Result:
    """Held with moot's own programs, against the stub."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-tests")
    stub.default = played
    (result,) = asyncio.run(run_all([evaluation], Run(MODEL), only))
    return result


def figures(result: Result) -> dict[str, tuple[int, int]]:
    """What is right, and of how much, by measure."""
    return {name: (one.right, one.total) for name, one in result.tallies().items()}


def is_better(good: Result, poor: Result) -> bool:
    """In every measure that both have at least as good, and in one better."""
    a, b = good.tallies(), poor.tallies()
    pairs = [(a.get(name, Tally(1, 1)).share, b[name].share) for name in b]
    return all(one >= other for one, other in pairs) and any(one > other for one, other in pairs)


def typed(request: Recorded, text: str = "I have nothing to add.", **fields: Any) -> Behaviour:
    """The text; where a shape is asked for, the smallest reply of that shape which says it wherever it may,
    with these fields where it has them."""
    if request.schema is None:
        return Behaviour(text=text)
    value = _saying(instance_of(_filled(request.schema)), text)
    value.update({name: field for name, field in fields.items() if name in value})
    return Behaviour(json_text=json.dumps(value))


_FEWEST = {"questions": 5, "approaches": 2, "sections": 3, "insights": 0}
_LISTS = ("what_changes", "specs", "tasks", "requirements", "scenarios", "when", "then")
"""Of these lists the wire's schema does not say how long they have to be."""


def _filled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_filled(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    filled = {name: _filled(part) for name, part in schema.items()}
    for name, part in filled.get("properties", {}).items():
        fewest = _FEWEST.get(name, int(name in _LISTS))
        if fewest and isinstance(part, dict) and part.get("type") == "array":
            filled["properties"][name] = {"minItems": fewest, **part}
    return filled


def _saying(made: Any, text: str, field: str = "") -> Any:
    match made:
        case str() if field in ("title", "name", "id") or not ("stub" in made or not made):
            return made if field == "id" else made or field
        case str():
            return f"{text} {made}".strip()
        case int() if not isinstance(made, bool):
            return max(made, 1)
        case list():
            return [_saying(each, text) for each in made]
        case dict():
            said = {name: _saying(each, text, name) for name, each in made.items()}
            # A question with options has to be of the other type.
            return {**said, "type": "text", "options": []} if said.keys() >= {"type", "options"} else said
        case _:
            return made


def knowing(*facts: tuple[str, str, str]) -> Played:
    """Says of each fact the words that are wanted, once it has read the fact: in the request, or in the file
    where it stands, if it is offered a tool for that. A fact is how it was put, the words, and the file."""

    def played(request: Recorded) -> Behaviour:
        known = [words for fact, words, _ in facts if fact in request.said]
        offered = next((tool for tool in request.tools if tool == "read_file"), None)
        asked = [file for _, _, file in facts if file and file not in _read(request)]
        if offered and asked and request.forced_tool is None:
            return Behaviour(tool_calls=(("read_file", {"path": asked[0]}),))
        scope = {"level": "exploration", "batches": [], "splits": [], "missing": [], "follow_up": ""}
        # Never the same words twice: that would be an echo.
        own = " ".join(word_of(f"{request.number} {place}") for place in range(5))
        text = f"By what I was given: {'; '.join(known) or 'nothing'}. {own}."
        return typed(request, text, **scope, changes=False)

    return played


def _read(request: Recorded) -> str:
    """What has been asked of tools so far."""
    return json.dumps([message for message in request.messages if message.get("role") == "assistant"])
