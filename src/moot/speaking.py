"""Lets personas speak: an AskPersona effect, carried out by a model.

A failure of the model or its provider is an outcome that the flow decides about, not a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from moot.errors import ModelMisbehaved, ProviderFailed
from moot.flows.flow import AskPersona, Outcome, PersonaFailed, PersonaSpoke, Spoken
from moot.gateway.gateway import Gateway
from moot.gateway.names import ModelName
from moot.personas import Library, Persona
from moot.runner import Speak, Speech
from moot.speech import Reply, Request


class Prompt(Protocol):
    """Makes the request for one kind of occasion."""

    def __call__(self, state: Any, persona: Persona, *, small: bool) -> Request: ...


def speaking(library: Library, gateway: Gateway, name: ModelName, prompts: Mapping[str, Prompt]) -> Speak:
    """A performer of AskPersona for one session, which keeps to one model."""

    async def speak(effect: AskPersona, state: Any, speech: Speech) -> Outcome:
        persona = library.persona(effect.persona)
        try:
            model = gateway.named(name)
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
