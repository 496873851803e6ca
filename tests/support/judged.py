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


def typed(request: Recorded, **fields: Any) -> Behaviour:
    """The smallest valid reply of the shape that is asked for, with these fields where it has them; where no
    shape is asked for, the text."""
    schema = request.schema
    if schema is None:
        return Behaviour(text=str(fields.get("text", "I have nothing to add.")))
    value = instance_of(schema)
    known = schema.get("properties", {})
    value.update({name: field for name, field in fields.items() if name in known})
    return Behaviour(json_text=json.dumps(value))
