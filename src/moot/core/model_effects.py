"""Lets models speak and draft: the effects of a flow that are for them, carried out.

A failure of the model or its provider is an outcome that the flow decides about, not a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar

import msgspec
from pydantic import BaseModel

from moot.core.flow import (
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    ModelEffect,
    Outcome,
    PersonaFailed,
    PersonaSpoke,
    Usage,
)
from moot.core.runner import Speak, Speech
from moot.errors import (
    DefinitionInvalid,
    LimitReached,
    ModelMisbehaved,
    NotInstalled,
    ProviderFailed,
    WindowTooSmall,
)
from moot.llm.messages import Reply, Request
from moot.llm.metering import charging
from moot.llm.names import ModelName
from moot.llm.registry import Gateway
from moot.personas.library import Library, Persona
from moot.text.characters import strip_controls
from moot.text.shortening import shortened

P = ParamSpec("P")
T = TypeVar("T")

_FAILURES = (
    ProviderFailed,
    ModelMisbehaved,
    LimitReached,
    WindowTooSmall,
    DefinitionInvalid,
    NotInstalled,
)


class Prompt(Protocol):
    """Makes the request for one kind of key."""

    def __call__(self, state: Any, persona: Persona, *, small: bool) -> Request: ...


class DraftPrompt(Protocol):
    """Makes the request for a typed reply, and says which shape it must have."""

    def __call__(self, state: Any, *, small: bool) -> tuple[Request, type[BaseModel]]: ...


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a format says to models, by the names that its flow uses."""

    speeches: Mapping[str, Prompt]
    drafts: Mapping[str, DraftPrompt] = field(default_factory=dict)
    replies: Mapping[str, type[Any]] = field(default_factory=dict)
    """The struct that a draft's validated value becomes."""


def speaking(library: Callable[[], Library], gateway: Gateway, name: ModelName, prompts: Prompts) -> Speak:
    """A performer of a session's model effects, which keeps to one model. Who speaks is who is in the library
    by then."""
    looked_up: list[Library] = []

    def current() -> Library:
        """Those who begin to speak in one turn of the loop have looked it up together: it reads folders."""
        if not looked_up:
            looked_up.append(library())
            asyncio.get_running_loop().call_soon(looked_up.clear)
        return looked_up[0]

    async def speak(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
        match effect:
            case AskPersona():
                return await say(effect, state, speech)
            case DraftReply():
                return await draft(effect, state, speech)

    async def say(effect: AskPersona, state: Any, speech: Speech) -> Outcome:
        try:
            persona = current().persona(effect.persona)
            model = gateway.named(name)
            request = prompts.speeches[effect.prompt](state, persona, small=model.small)
            reply = await model.stream(request, speech.said, speech.waits)
        except _FAILURES as failed:
            why = strip_controls(str(failed))
            return PersonaFailed(type(failed).__name__, why, getattr(failed, "retry_after", None))
        return PersonaSpoke(reply.text.strip(), bill(reply))

    async def draft(effect: DraftReply, state: Any, speech: Speech) -> Outcome:
        try:
            model = gateway.named(name)
            request, shape = prompts.drafts[effect.prompt](state, small=model.small)
            drafted = await model.draft(request, shape, speech.waits)
        except _FAILURES as failed:
            raw, wait = shortened(getattr(failed, "raw", "")), getattr(failed, "retry_after", None)
            return DraftFailed(type(failed).__name__, strip_controls(str(failed)), raw, wait)
        reply = as_reply(drafted.value, prompts.replies.get(effect.prompt, dict))
        return Drafted(reply, bill(drafted.reply), drafted.returned)

    return speak


def as_reply(value: BaseModel, struct: type[T]) -> T:
    """What a draft's validated value becomes for the flow."""
    return msgspec.convert(value.model_dump(by_alias=True, exclude_none=True, mode="json"), struct)


def on_account(session: str, perform: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same performer, whose models are paid for by one session."""

    async def charged(*given: P.args, **named: P.kwargs) -> T:
        with charging(session):
            return await perform(*given, **named)

    return charged


def bill(reply: Reply) -> Usage:
    return Usage(
        model=reply.model,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost_usd=reply.cost_usd,
        duration_ms=reply.duration_ms,
        cut_short=reply.cut_short,
        cached_tokens=reply.usage.cache_read_tokens,
        kept_tokens=reply.usage.cache_write_tokens,
        left_out=reply.left_out,
    )
