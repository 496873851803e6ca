"""What a session is going to read, write and cost, from the requests that it is about to make.

Whatever several requests begin with is read from the provider's cache by all but the first. A flow whose next
requests depend on replies is played on with replies of the usual length. Refuses to know any format: each
says which requests it makes, and asks `estimate`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftReply,
    Effect,
    Event,
    Flow,
    ModelEffect,
    Outcome,
    PersonaSpoke,
    Usage,
)
from moot.core.model_effects import Prompts
from moot.errors import WindowTooSmall
from moot.llm.context import shared_texts
from moot.llm.messages import ModelSaid, Request, Tokens, UserSaid
from moot.llm.metering import tokens_of
from moot.llm.model import Model
from moot.llm.names import parse
from moot.llm.prices import Pricing, in_dollars, usd
from moot.llm.registry import Gateway
from moot.personas.library import Library, Persona

S = TypeVar("S")
E = TypeVar("E", bound=Event)

Asked = Request | tuple[Request, type[BaseModel]]
"""What prompts make: a request, and for a typed reply also its shape."""
_Beginning = tuple[str, ...]

USUAL_SHARE = 0.5
"""Of what a reply may have, the share that it usually has."""
LEAST_SHARE = 0.01
"""The share that a typed reply has at the least: for a bound, of which nobody is to hear too much."""
CACHED_FROM = 1024
"""Tokens: what is shorter, providers do not keep."""
MOST_STEPS = 100
"""A flow that goes on longer without the person is not played any further."""
_UNBILLED = Usage("", 0, 0, None, 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`cost_usd` is None where the price is not known. `input_tokens` counts all input, `cached_tokens` those
    of them that the provider's cache has by then. `at_least`: what comes after is not known."""

    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    at_least: bool = False

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __str__(self) -> str:
        """`about 31,000 tokens, $0.09`, or `at least about 31,000 tokens, $0.09`"""
        if not self.requests:
            return "not known yet" if self.at_least else "no model is asked"
        tokens = _rounded(self.tokens, down=self.at_least)
        if self.at_least and self.cost_usd is not None and 0 < self.cost_usd < 0.01:
            # "At least, under a cent" would be no bound.
            return f"at least about {tokens:,} tokens, ${max(self.cost_usd, 0.001):.3f}"
        told = f"about {tokens:,} tokens, {in_dollars(self.cost_usd)}"
        return f"at least {told}" if self.at_least else told


UNKNOWN = Estimate(0, 0, 0, 0, None, at_least=True)


def _rounded(tokens: int, *, down: bool) -> int:
    """To two figures: more would promise more than anybody knows."""
    step = 10 ** max(0, len(str(tokens)) - 2)
    return tokens // step * step if down else int(round(tokens / step) * step)


def usual_reply(request: Request) -> int:
    """Tokens."""
    return request.usual_tokens or int(request.max_tokens * USUAL_SHARE)


async def estimate(
    requests: Iterable[Asked], pricing: Pricing, *, at_least: bool = False, share: float = USUAL_SHARE
) -> Estimate:
    """Of these requests, in the order in which they are made; replies have this `share` of what they may.
    Loading prices takes a moment, once."""
    await pricing.load()
    kept: set[_Beginning] = set()
    count, total = 0, Tokens()
    nano: int | None = 0
    for request in requests:
        used = _used(request, kept, share)
        cost = pricing.nano_usd(used)
        nano = None if nano is None or cost is None else nano + cost
        total += used
        count += 1
    read, written = total.cache_read_tokens, total.output_tokens
    return Estimate(count, total.input_tokens, read, written, usd(nano), at_least)


def _used(asked: Asked, kept: set[_Beginning], share: float) -> Tokens:
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
    return Tokens(size, int(request.max_tokens * share), read, max(0, written - read), estimated=True)


def _said(request: Request) -> Iterable[str]:
    for message in request.messages:
        yield message.text
        if isinstance(message, UserSaid):
            yield from (source.text for source in message.sources)
        elif isinstance(message, ModelSaid):
            yield from (call.arguments for call in message.tool_calls)


@dataclass(frozen=True, slots=True)
class Asking:
    """Whom a session asks, with which prompts, and on whose account."""

    model: str
    prompts: Prompts
    account: str


async def estimate_next(
    flow: Flow[S, E], state: S, asking: Asking, library: Library, gateway: Gateway
) -> Estimate:
    """Of all that a session asks from where it stands, as far as that is known, as it would be sent."""
    model = gateway.named(parse(asking.model))
    foreseen = await asyncio.to_thread(
        foresee, flow, state, asking.prompts, library.persona, small=model.small
    )
    sent = [await as_sent(asked, model) for asked in foreseen.requests]
    return await estimate(sent, model.pricing, at_least=foreseen.at_least)


async def as_sent(asked: Asked, model: Model) -> Asked:
    """What does not fit at all is said when it is asked, and not here."""
    request, shape = asked if isinstance(asked, tuple) else (asked, None)
    with contextlib.suppress(WindowTooSmall):
        request = await model.as_sent(request)
    return request if shape is None else (request, shape)


# -- a flow that is played on --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Foreseen:
    """`at_least`: more is going to be asked than these, and nobody knows yet what."""

    requests: tuple[Asked, ...] = ()
    at_least: bool = False


def foresee(
    flow: Flow[S, E],
    state: S,
    prompts: Prompts,
    persona: Callable[[str], Persona],
    *,
    small: bool = False,
) -> Foreseen:
    """The requests of a flow until only the person is asked, as if each persona spoke at its usual length and
    all else went its usual way. A draft that has no usual one ends it, after its request."""
    foreseen: list[Asked] = []
    for _ in range(MOST_STEPS):
        pending = flow.pending(state)
        effects = [one for one in pending if isinstance(one, AskPersona | DraftReply)]
        if not effects:
            event = prompts.usual.goes_on(state)
            if event is None:
                return Foreseen(tuple(foreseen), _looks(foreseen) or not _may_rest(pending))
            state = flow.advance(state, cast("E", event))
            continue
        asked = [_asked(effect, state, prompts, persona, small=small) for effect in effects]
        foreseen += asked
        if any(isinstance(one, DraftReply) and one.prompt not in prompts.usual.drafts for one in effects):
            break
        for number, (effect, request) in enumerate(zip(effects, asked, strict=True), start=len(foreseen)):
            said: Outcome
            if isinstance(effect, DraftReply):
                said = Drafted(prompts.usual.drafts[effect.prompt], _UNBILLED)
            else:
                assert isinstance(request, Request)
                said = PersonaSpoke(_filler(request, number), _UNBILLED)
            state = flow.advance(state, flow.record(state, effect, said))
    return Foreseen(tuple(foreseen), at_least=True)


def _may_rest(pending: Iterable[Effect]) -> bool:
    """Whether nobody has to do anything."""
    return all(isinstance(one, AskPerson) and (one.optional or one.interrupting) for one in pending)


def _looks(asked: Iterable[Asked]) -> bool:
    """Whether somebody may look things up, and be told more than these say."""
    return any((one[0] if isinstance(one, tuple) else one).looks for one in asked)


def _asked(
    effect: ModelEffect, state: Any, prompts: Prompts, persona: Callable[[str], Persona], *, small: bool
) -> Asked:
    if isinstance(effect, AskPersona):
        return prompts.speeches[effect.prompt](state, persona(effect.persona), small=small)
    return prompts.drafts[effect.prompt](state, small=small)


def _filler(request: Request, number: int) -> str:
    """As long as a usual reply, and not what somebody else has said."""
    return f"so is {number:02} " * max(1, usual_reply(request) * 4 // 9)
