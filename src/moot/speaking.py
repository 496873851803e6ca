"""Lets personas speak: an AskPersona effect, carried out by a model.

A failure of the model or its provider is an outcome that the flow decides about, not a crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from moot.errors import ModelMisbehaved, ProviderFailed
from moot.flows.flow import AskPersona, Outcome, PersonaFailed, PersonaSpoke, Spoken
from moot.gateway.model import Model
from moot.gateway.names import Speaker
from moot.personas import Library, Persona
from moot.runner import Speak, Speech
from moot.speech import Reply, Request

Voice = Callable[[Speaker], Awaitable[Model]]
"""Chooses the model for a speaker."""


class Prompt(Protocol):
    """Makes the request for one kind of occasion."""

    def __call__(self, state: Any, persona: Persona, *, small: bool) -> Request: ...


def speaking(library: Library, voice: Voice, prompts: Mapping[str, Prompt], role: str) -> Speak:
    """A performer of AskPersona for one session."""

    async def speak(effect: AskPersona, state: Any, speech: Speech) -> Outcome:
        try:
            persona = library.persona(effect.persona)
            model = await voice(Speaker(role, persona.id, persona.model))
            request = prompts[effect.prompt](state, persona, small=model.small)
            reply = await model.stream(request, speech.said, speech.waits)
        except (ProviderFailed, ModelMisbehaved) as failed:
            return PersonaFailed(type(failed).__name__, str(failed))
        return PersonaSpoke(reply.text.strip(), bill(reply))

    return speak


def bill(reply: Reply) -> Spoken:
    return Spoken(
        model=reply.model,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost_usd=reply.cost_usd,
        duration_ms=reply.duration_ms,
        cut_short=reply.cut_short,
    )
