"""Menus: what the person may choose, and the event that each choice leads to, in one place.

Knows how a menu is put as a question, and which event an answer is. Refuses to know how it looks, and whether
the event may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from moot.core.flow import AskPerson, Choice, Event, PersonAnswered

E_co = TypeVar("E_co", bound=Event, covariant=True)

Choices = Mapping[Choice, E_co | Callable[[str], E_co]]
"""With the event that each leads to or, where words belong to it, what makes the event of them."""


@dataclass(frozen=True, slots=True)
class Menu(Generic[E_co]):
    step: str
    expects: str
    choices: Choices[E_co]
    words: Callable[[str], E_co] | None = None
    """What makes an event of words of the person's own, where they are taken."""
    optional: bool = False

    def ask(self, key: str) -> AskPerson:
        free_text = self.words is not None
        return AskPerson(
            self.step, self.expects, key, tuple(self.choices), optional=self.optional, free_text=free_text
        )

    def event(self, answer: PersonAnswered) -> E_co:
        """Of an answer that is offered."""
        by_id = {choice.id: leads_to for choice, leads_to in self.choices.items()}
        leads_to = self.words if answer.choice is None else by_id[answer.choice]
        assert leads_to is not None
        return leads_to if isinstance(leads_to, Event) else leads_to(answer.text.strip())
