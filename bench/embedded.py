"""What the built-in model costs: loading it, one advisor, a board of eight at once, fifty typed drafts."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from moot.ask import prompts
from moot.ask.flow import AskState, Step
from moot.core.conversation import PERSON, Conversation
from moot.errors import StreamBroken
from moot.llm.embedded.engine import LocalProvider
from moot.llm.embedded.weights import find_weights
from moot.llm.messages import Reply, UserSaid, deaf
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.prices import FREE
from moot.llm.protocol import Call, Schema
from moot.personas.library import Persona, load_library

QUESTION = "Should we rewrite our billing service in Rust this quarter?"
DRAFTS = 50


class Triage(BaseModel):
    level: Literal["quick", "standard", "deep"]
    reasoning: Annotated[str, Field(max_length=60)]


class Option(BaseModel):
    name: Annotated[str, Field(min_length=3, max_length=12)]
    risk: Literal["low", "high"]
    weeks: Annotated[int, Field(ge=1, le=12)] | None


class Questions(BaseModel):
    questions: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=3, max_length=5)]


SHAPES = (Triage, Option, Questions)


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _answer(model: Model, persona: Persona) -> Reply:
    said = Conversation().said(PERSON, Step.QUESTION, QUESTION)
    state = AskState(Step.ANSWER, persona.id, "local", said)
    return await model.stream(prompts.answer(state, persona, small=True))


async def _is_valid(provider: LocalProvider, shape: type[BaseModel]) -> bool:
    schema = Schema(shape.__name__, shape.model_json_schema())
    call = Call("local", "You are a sceptical engineer.", (UserSaid(QUESTION),), 16, schema=schema)
    try:
        shape.model_validate_json((await provider.exchange(call, deaf)).text)
    except (ValidationError, StreamBroken):
        return False
    return True


async def _measure() -> None:
    before = _memory_mb()
    weights = find_weights(None, Path("/nonexistent"))
    provider = LocalProvider(weights)
    model = Model(ModelName("local", ""), provider, small=True, pricing=FREE)
    library = load_library()
    board = library.members(library.panel("board"))
    print(f"\nThe built-in model ({weights.name})")
    for title, speakers in (("first answer, loading included", board[:1]), ("one more answer", board[:1]),
                            ("a board of eight at once", board)):  # fmt: skip
        began = time.perf_counter()
        replies = await asyncio.gather(*(_answer(model, persona) for persona in speakers))
        took = time.perf_counter() - began
        tokens = sum(reply.usage.output_tokens for reply in replies)
        print(f"  {title:<32} {took:6.1f} s  {tokens:5} tokens  {tokens / took:6.1f} tokens/s")
    began = time.perf_counter()
    valid = await asyncio.gather(*(_is_valid(provider, SHAPES[n % len(SHAPES)]) for n in range(DRAFTS)))
    took = time.perf_counter() - began
    print(f"  {f'{DRAFTS} drafts of three shapes':<32} {took:6.1f} s  {sum(valid)} of {DRAFTS} valid")
    await provider.close()
    print(f"  memory at its highest {_memory_mb():.0f} MB, of which {before:.0f} MB before loading")


def main() -> None:
    asyncio.run(_measure())
