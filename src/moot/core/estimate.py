"""What a session is going to read, write and cost, from the requests that it is about to make.

Whatever several requests begin with is read from the provider's cache by all but the first. A flow whose next
requests depend on replies is played on with replies of the usual length. Refuses to know any format: each
says which requests it makes, and asks `estimate`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from moot.core.flow import (
    AskPersona,
    Drafted,
    DraftReply,
    Event,
    Flow,
    ModelEffect,
    Outcome,
    PersonaSpoke,
    Usage,
)
from moot.core.model_effects import Prompts
from moot.llm.context import shared_texts
from moot.llm.messages import ModelSaid, Request, Tokens, UserSaid
from moot.llm.metering import tokens_of
from moot.llm.prices import Pricing, usd
from moot.personas.library import Persona

S = TypeVar("S")
E = TypeVar("E", bound=Event)

Asked = Request | tuple[Request, type[BaseModel]]
"""What prompts make: a request, and for a typed reply also its shape."""
_Beginning = tuple[str, ...]

USUAL_SHARE = 0.5
"""Of what a reply may have, the share that it usually has."""
CACHED_FROM = 1024
"""Tokens: what is shorter, providers do not keep."""
MOST_REQUESTS = 200
"""A flow that asks for more without the person is not played any further."""
_UNBILLED = Usage("", 0, 0, None, 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`cost_usd` is None where the price is not known. `input_tokens` counts all input, `cached_tokens` those
    of them that the provider's cache has by then."""

    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __str__(self) -> str:
        """`about 31,000 tokens, $0.09`"""
        return f"about {_rounded(self.tokens):,} tokens, {in_dollars(self.cost_usd)}"


def in_dollars(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "price unknown"
    if cost_usd == 0:
        return "free of charge"
    return "under $0.01" if cost_usd < 0.01 else f"${cost_usd:,.2f}"


def _rounded(tokens: int) -> int:
    """To two figures: more would promise more than anybody knows."""
    step = 10 ** max(0, len(str(tokens)) - 2)
    return int(round(tokens / step) * step)


def usual_reply(request: Request) -> int:
    """Tokens."""
    return int(request.max_tokens * USUAL_SHARE)


async def estimate(requests: Iterable[Asked], pricing: Pricing) -> Estimate:
    """Of these requests, in the order in which they are made. Loading prices takes a moment, once."""
    await pricing.load()
    kept: set[_Beginning] = set()
    count, total = 0, Tokens()
    nano: int | None = 0
    for request in requests:
        used = _used(request, kept)
        cost = pricing.nano_usd(used)
        nano = None if nano is None or cost is None else nano + cost
        total += used
        count += 1
    return Estimate(count, total.input_tokens, total.cache_read_tokens, total.output_tokens, usd(nano))


def _used(asked: Asked, kept: set[_Beginning]) -> Tokens:
    """What one request uses; its own beginnings are kept from then on. To a provider, the shape of a typed
    reply and the tools stand before everything else."""
    request, shape = asked if isinstance(asked, tuple) else (asked, None)
    before = [tool.description + json.dumps(tool.takes.model_json_schema()) for tool in request.tools]
    if shape is not None:
        before.append(json.dumps(shape.model_json_schema()))
    blocks = shared_texts(request)
    read = written = 0
    for end in range(len(blocks), 0, -1):
        beginning = (*before, *blocks[:end])
        size = tokens_of(*beginning)
        if size < CACHED_FROM:
            break
        if beginning in kept:
            read = size
            break
        written = max(written, size)
        kept.add(beginning)
    size = tokens_of(*before, *blocks, request.system, *_said(request))
    return Tokens(size, usual_reply(request), read, max(0, written - read), estimated=True)


def _said(request: Request) -> Iterable[str]:
    for message in request.messages:
        yield message.text
        if isinstance(message, UserSaid):
            yield from (source.text for source in message.sources)
        elif isinstance(message, ModelSaid):
            yield from (call.arguments for call in message.tool_calls)


# -- a flow that is played on --------------------------------------------------------------------


def foresee(
    flow: Flow[S, E],
    state: S,
    prompts: Prompts,
    persona: Callable[[str], Persona],
    drafts: Mapping[str, Any],
    *,
    small: bool = False,
) -> list[Asked]:
    """The requests of a flow until only the person is asked, as if each persona spoke at its usual length and
    each typed reply were the one in `drafts`. A draft that is not there ends it, after its request."""
    foreseen: list[Asked] = []
    while len(foreseen) < MOST_REQUESTS:
        effects = [one for one in flow.pending(state) if isinstance(one, AskPersona | DraftReply)]
        asked = [_asked(effect, state, prompts, persona, small=small) for effect in effects]
        foreseen += asked
        if not effects or any(isinstance(one, DraftReply) and one.prompt not in drafts for one in effects):
            break
        for effect, request in zip(effects, asked, strict=True):
            said: Outcome
            if isinstance(effect, DraftReply):
                said = Drafted(drafts[effect.prompt], _UNBILLED)
            else:
                assert isinstance(request, Request)
                said = PersonaSpoke(_filler(request), _UNBILLED)
            state = flow.advance(state, flow.record(state, effect, said))
    return foreseen


def _asked(
    effect: ModelEffect, state: Any, prompts: Prompts, persona: Callable[[str], Persona], *, small: bool
) -> Asked:
    if isinstance(effect, AskPersona):
        return prompts.speeches[effect.prompt](state, persona(effect.persona), small=small)
    return prompts.drafts[effect.prompt](state, small=small)


def _filler(request: Request) -> str:
    """As long as a usual reply."""
    return "so it is " * max(1, usual_reply(request) * 4 // 9)
