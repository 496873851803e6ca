"""A model is told which day it is, behind all that a provider's cache may keep."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from moot.config import Config
from moot.llm.messages import Request, Source, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName, parse
from moot.llm.registry import Gateway
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.scripted import ScriptedProvider

SHARED = ((Source("the decision", "Should we move?"),),)


class Line(BaseModel):
    line: str


def asked(system: str, today: Callable[[], date] | None) -> str:
    """What the system prompt is, of a stream and of a draft."""
    provider = ScriptedProvider(["No.", '{"line": "No."}'])
    model = Model(ModelName("openai", "m"), provider, today=today)
    request = Request(system, (UserSaid("So?"),), 100, shared=SHARED)

    async def both() -> None:
        await model.stream(request)
        await model.draft(request, Line)

    asyncio.run(both())
    first, second = provider.calls
    assert first.shared == second.shared == ("Should we move?",)
    assert first.system == second.system
    return first.system


@pytest.mark.parametrize(
    ("day", "told"),
    [
        (date(2026, 3, 9), "Today is Monday, 9 March 2026."),
        (date(2028, 2, 29), "Today is Tuesday, 29 February 2028."),
    ],
)
def test_the_day_stands_at_the_end(day: date, told: str) -> None:
    assert asked("You are terse.", lambda: day) == f"You are terse.\n\n{told}"
    assert asked("", lambda: day) == told


def test_a_model_that_is_not_to_know_is_not_told() -> None:
    assert asked("You are terse.", None) == "You are terse."


def test_whoever_is_asked_through_the_gateway_is_told(tmp_path: Path, stub: StubServer) -> None:
    stub.default = Behaviour(text="No.")

    async def ask() -> None:
        gateway = Gateway(
            Config(), {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": stub.openai_base_url}, cache=tmp_path
        )
        try:
            await gateway.named(parse("openai:gpt-5.6")).stream(Request("Be brief.", (UserSaid("So?"),), 100))
        finally:
            await gateway.close()

    asyncio.run(ask())
    assert re.search(r"Today is \w+day, \d+ \w+ 20\d\d\.$", stub.requests[0].system)
