"""A conversation with one persona, begun or taken up. Refuses to know the surface that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.app import Part
from moot.ask.flow import ASK, AskEvent, AskOpened, QuestionAsked
from moot.ask.prompts import answer
from moot.core.model_effects import Prompts
from moot.llm.names import Speaker

if TYPE_CHECKING:
    from typing import TypeAlias

    from moot.app import Conversation, Moot
    from moot.ask.flow import AskState
    from moot.core.runner import Listener, Person

    AskConversation: TypeAlias = Conversation[AskState, AskEvent]

PROMPTS = Prompts({"ask/answer": answer})


async def new_ask(
    moot: Moot, persona: str, question: str | None, person: Person, listener: Listener
) -> AskConversation:
    found = moot.library.persona(persona)
    choice = await moot.gateway.choice(Speaker("ask", found.id, found.model))
    opening: list[AskEvent] = [AskOpened(found.id, str(choice.name))]
    if question is not None:
        opening.append(QuestionAsked(question))
    part = Part(PROMPTS, person, listener)
    return await moot.begin(ASK, question or found.name, opening, choice.name, part)


async def resume_ask(
    moot: Moot, session_id: str | None, person: Person, listener: Listener
) -> AskConversation:
    return await moot.take_up(ASK, session_id, Part(PROMPTS, person, listener))
