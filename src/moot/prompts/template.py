"""What prompts are made of: a persona in its own words, and prompt files with their slots.

The prompts are Markdown files in data/, each with its declared inputs; `NAME.small.md` is the variant
for a model of very few parameters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from moot.files import frontmatter
from moot.personas.library import Persona

_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def system_prompt(persona: Persona, *, whole_answer: bool = False) -> str:
    """A persona in its own words. The order never changes, so that the same persona is the same prompt. How
    it opens and how it ends belongs to whole answers, not to turns in a conversation with others."""
    rubric = "\n".join(
        f"- {name.replace('_', ' ').capitalize()}: {dimension.score} of 10. {dimension.note}"
        for name, dimension in persona.rubric.dimensions()
    )
    voice = persona.voice
    first, last = (voice.opening, voice.ending) if whole_answer else ("", "")
    parts = [
        f"You are {persona.name}, {persona.role}. {persona.purpose}",
        persona.bio,
        f"Your part in a discussion is that of the {persona.contribution}.",
        f"How far you go:\n{rubric}",
        f"How you reason:\n{persona.reasoning}",
        f"How you talk with people: {persona.interaction.style}, {persona.interaction.tone}.",
        f"The limits that you keep to:\n{persona.boundaries}",
        f"How you sound:\n{voice.description}",
        _listed("What you look through", (voice.lens,) if voice.lens else ()),
        _listed("Sentences of yours sound like these", voice.patterns),
        _listed("What you do whenever you speak", voice.behaviours),
        f"How you open an answer:\n{first}" if first else "",
        f"How you end it:\n{last}" if last else "",
        _listed("Rules for your words", voice.forbidden.rules),
        f"Words you do not use unless somebody else did first: {', '.join(voice.forbidden.words)}."
        if voice.forbidden.words
        else "",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def when_challenged() -> str:
    """The same for every persona that somebody can object to, in all of its requests."""
    return fill("persona/challenged", {})


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return f"{title}:\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


# -- prompt files --------------------------------------------------------------------------------


def fill(name: str, inputs: Mapping[str, str]) -> str:
    """A prompt with its slots filled. Slots and inputs must match what the file declares: a slot that
    nobody fills, or a value that nobody asked for, is a mistake of ours and fails loudly. Values are put
    in as they are; what looks like a slot within a value stays text."""
    declared, body = _prompt(name)
    if declared != frozenset(inputs):
        raise ValueError(f"prompt {name} declares {sorted(declared)}, but was given {sorted(inputs)}")
    # Many sessions are told the same, which is kept once for all of them.
    return sys.intern(_SLOT.sub(lambda slot: inputs[slot[1]], body).strip())


@lru_cache
def _prompt(name: str) -> tuple[frozenset[str], str]:
    text = (resources.files("moot.prompts") / "data" / f"{name}.md").read_text(encoding="utf-8")
    read = frontmatter.read(text, f"{name}.md")
    declared = frozenset(read.fields.get("inputs") or ())
    used = frozenset(_SLOT.findall(read.body))
    if declared != used:
        raise ValueError(f"prompt {name} declares {sorted(declared)}, but uses {sorted(used)}")
    return declared, read.body
