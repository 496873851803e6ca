"""Lets models speak and draft: the effects of a flow that are for them, carried out.

A failure of the model or its provider is an outcome that the flow decides about, not a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import msgspec
from pydantic import BaseModel

from moot.core.flow import (
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Event,
    ModelEffect,
    Outcome,
    PersonaFailed,
    PersonaSpoke,
    Usage,
)
from moot.core.looked import give_read
from moot.core.runner import Speak, Speech
from moot.errors import (
    DefinitionInvalid,
    LimitReached,
    ModelMisbehaved,
    NotInstalled,
    ProviderFailed,
    RequestRejected,
    WindowTooSmall,
)
from moot.llm.messages import Reply, Request
from moot.llm.metering import charging
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.registry import Gateway
from moot.personas.library import Library, Persona
from moot.prompts.template import fill
from moot.repo.eyes import LEAST_TOKENS, SPEC_TOKENS, Eyes
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
class Usual:
    """How a session usually goes on, where it is to be known beforehand what will be asked: drafts by the
    names of their prompts, and what happens when no model has anything to do."""

    drafts: Mapping[str, Any] = field(default_factory=dict)
    goes_on: Callable[[Any], Event | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a format says to models, by the names that its flow uses."""

    speeches: Mapping[str, Prompt]
    drafts: Mapping[str, DraftPrompt] = field(default_factory=dict)
    replies: Mapping[str, type[Any]] = field(default_factory=dict)
    """The struct that a draft's validated value becomes."""
    usual: Usual = field(default_factory=Usual)


Sight = Callable[[], Awaitable[Path | None]]
"""The folder that whoever speaks may look into; None where they may look into none."""


async def blind() -> None:
    """Whoever speaks sees what they are given."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read by whoever answered, and why nothing could be."""

    looked_at: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


NOTHING_SEEN = Seen()
NO_ROOM = Seen(left_out=("the files of the workspace: no room to look into them",))
NO_TOOLS = Seen(left_out=("the files of the workspace: this model takes no tools to look into them",))


async def ask_with_eyes(
    request: Request,
    model: Model,
    sight: Sight,
    tell: Callable[[str], None],
    ask: Callable[[Request], Awaitable[T]],
    read: dict[str, str] | None = None,
) -> tuple[T, Seen]:
    """Asks with the tools to look into the workspace, where the request has looks and the speaker may. `tell`
    hears what is read as it is. A model on this machine has no use of tools, and some servers refuse them.
    `read` is what an earlier attempt at the same answer has read before it failed: it is given again, and
    what is read now is added, so that nobody pays for reading it twice."""
    read = {} if read is None else read
    before = tuple(read)
    plain = replace(request, looks=0, tools_tokens=0 if request.looks else request.tools_tokens)
    if not request.looks or model.small or model.name.is_local or (folder := await sight()) is None:
        return await ask(plain), NOTHING_SEEN
    request, plain = give_read(request, read), give_read(plain, read)
    if not request.looks:
        return await ask(plain), Seen(before)
    told = fill("eyes/look", {"looks": str(request.looks)})
    offering = replace(
        plain, system=f"{request.system}\n\n{told}", tools_tokens=request.tools_tokens + SPEC_TOKENS
    )
    room = await model.room_for_tools(offering)
    if room < SPEC_TOKENS + LEAST_TOKENS:
        return await ask(plain), replace(NO_ROOM, looked_at=before)
    eyes = Eyes(folder, request.looks, room - SPEC_TOKENS, tell, read)
    tools = (*request.tools, *eyes.tools())
    offering = replace(offering, tools=tools, tools_tokens=room, may_use_tools=lambda: eyes.is_open)
    try:
        return await ask(offering), Seen(tuple(dict.fromkeys((*before, *eyes.looked_at))))
    except RequestRejected as refused:
        if eyes.looked_at or "tool" not in str(refused).lower():
            raise
    return await ask(plain), NO_TOOLS


def speaking(
    library: Callable[[], Library],
    gateway: Gateway,
    name: ModelName,
    prompts: Prompts,
    sight: Sight = blind,
) -> Speak:
    """A performer of a session's model effects, which keeps to one model. Who speaks is who is in the library
    by then."""
    looked_up: list[Library] = []
    unanswered: dict[tuple[str, str], dict[str, str]] = {}
    """What was read for answers that have not come, by prompt and persona."""

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
            reply, seen = await ask_with_eyes(
                request,
                model,
                sight,
                speech.looks,
                lambda asked: model.stream(asked, speech.said, speech.waits, speech.again),
                unanswered.setdefault((effect.prompt, effect.persona), {}),
            )
        except _FAILURES as failed:
            why = strip_controls(str(failed))
            return PersonaFailed(type(failed).__name__, why, getattr(failed, "retry_after", None))
        unanswered.pop((effect.prompt, effect.persona), None)
        return PersonaSpoke(reply.text.strip(), bill(reply, seen))

    async def draft(effect: DraftReply, state: Any, speech: Speech) -> Outcome:
        try:
            model = gateway.named(name)
            request, shape = prompts.drafts[effect.prompt](state, small=model.small)
            drafted, seen = await ask_with_eyes(
                request,
                model,
                sight,
                speech.looks,
                lambda asked: model.draft(asked, shape, speech.waits),
                unanswered.setdefault((effect.prompt, ""), {}),
            )
        except _FAILURES as failed:
            raw, wait = shortened(getattr(failed, "raw", "")), getattr(failed, "retry_after", None)
            return DraftFailed(type(failed).__name__, strip_controls(str(failed)), raw, wait)
        unanswered.pop((effect.prompt, ""), None)
        reply = as_reply(drafted.value, prompts.replies.get(effect.prompt, dict))
        return Drafted(reply, bill(drafted.reply, seen), drafted.returned)

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


def bill(reply: Reply, seen: Seen = NOTHING_SEEN) -> Usage:
    return Usage(
        model=reply.model,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost_usd=reply.cost_usd,
        duration_ms=reply.duration_ms,
        cut_short=reply.cut_short,
        cached_tokens=reply.usage.cache_read_tokens,
        kept_tokens=reply.usage.cache_write_tokens,
        left_out=(*reply.left_out, *seen.left_out),
        looked_at=seen.looked_at,
    )
