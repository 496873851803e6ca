"""Who sits at a roundtable unless somebody says otherwise."""

from __future__ import annotations

from moot.personas.library import Persona
from moot.roundtable.events import Speaker

PANEL = "roundtable"


def as_speaker(persona: Persona) -> Speaker:
    return Speaker(
        id=persona.id,
        name=persona.name,
        first_name=persona.name.split()[0],
        role=persona.role,
        short_role=persona.short_role,
        lens=persona.voice.lens,
        forbidden_words=persona.voice.forbidden.words,
        origin=persona.origin,
    )
