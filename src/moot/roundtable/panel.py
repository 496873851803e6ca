"""Who sits at a roundtable unless somebody says otherwise, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moot.personas.library import Persona

PANEL = "roundtable"
DEFAULT_TURNS = 10


def as_speaker(persona: Persona) -> Mapping[str, Any]:
    return {
        "id": persona.id,
        "name": persona.name,
        "first_name": persona.name.split()[0],
        "role": persona.role,
        "short_role": persona.short_role,
        "lens": persona.voice.lens,
        "forbidden_words": list(persona.voice.forbidden.words),
        "origin": persona.origin,
    }
