"""How many tokens a model takes at once: what the user says, else what the list of models says, else a guess.

The list comes with the prices; nothing is fetched. Refuses to know what is told to a model.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from moot.llm.names import ModelName

UNLISTED = 128_000
"""For a model that no list has: what most of those now take that one can run oneself."""
OLLAMA = 32_000
"""An Ollama takes as much as it is set to, and leaves out the rest without a word."""
SMALLEST = 8_000
"""What needs no more fits into every model that has a list."""


@dataclass(frozen=True, slots=True)
class Window:
    """`own` is what the user says. `listed` is whether the list may know the model."""

    model: str = ""
    own: int | None = None
    unlisted: int = UNLISTED
    listed: bool = False

    async def tokens(self, needed: int) -> int:
        """At least so many that what is needed fits, or else exactly. Loading the list takes half a second of
        CPU the first time, hence in a thread, and only for what is large."""
        if self.own is not None:
            return self.own
        if not self.listed or needed <= SMALLEST:
            return self.unlisted
        return await asyncio.to_thread(_listed_tokens, self.model) or self.unlisted


ANY = Window()


def window_of(name: ModelName, own: int | None) -> Window:
    if name.is_local or name.provider == "ollama":
        return Window(own=own, unlisted=OLLAMA)
    return Window(name.model, own, listed=True)


def _listed_tokens(model: str) -> int | None:
    """None where the list does not know it, or not how much it takes."""
    from genai_prices.data import providers

    for provider in providers:
        for one in provider.models:
            if one.context_window and one.is_match(model):
                return one.context_window
    return None
