"""A conversation with one persona, begun or taken up. Refuses to know the surface that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from moot.app import Part
from moot.ask.flow import ASK, AnswerFailed, AnswerGiven, AskEvent, AskOpened, AskState, QuestionAsked
from moot.ask.prompts import answer
from moot.core.estimate import Asking
from moot.core.model_effects import Prompts
from moot.llm.names import ModelName, Speaker
from moot.server import ActiveSession, Client, Hub, Service
from moot.server.event_frames import event_format

if TYPE_CHECKING:
    from typing import TypeAlias

    from moot.app import Conversation, Moot
    from moot.core.runner import Listener, Person

    AskConversation: TypeAlias = Conversation[AskState, AskEvent]

PROMPTS = Prompts({"ask/answer": answer})


def _title(state: AskState) -> str:
    """The first question; before there is one, who is asked."""
    asked = state.conversation.entries
    return asked[0].content if asked else state.persona


FORMAT = event_format(ASK, title=_title, model=lambda state: state.model)


class AskOpening(BaseModel):
    """With `looks`, whoever is asked may look into the workspace."""

    persona: str
    question: str | None = None
    looks: bool = False


class AskService(Service[AskState, AskEvent]):
    opening = AskOpening
    told = (AnswerGiven, AnswerFailed)

    def __init__(self, moot: Moot) -> None:
        super().__init__(moot, FORMAT, PROMPTS)
        self._moot = moot

    async def begin(
        self, hub: Hub, opening: AskOpening, by: Client, given: Sequence[AskEvent] = ()
    ) -> ActiveSession[AskState, AskEvent]:
        return await hub.begin(FORMAT, await self._first(opening, given), by)

    async def preview(self, opening: AskOpening, given: Sequence[AskEvent] = ()) -> tuple[AskState, Asking]:
        state = ASK.fold(await self._first(opening, given))
        return state, Asking(state.model, PROMPTS, "")

    async def _first(self, opening: AskOpening, given: Sequence[AskEvent]) -> list[AskEvent]:
        _, (first, *asked) = await _opening(
            self._moot, opening.persona, opening.question, looks=opening.looks
        )
        return [first, *given, *asked]


async def _opening(
    moot: Moot, persona: str, question: str | None, *, looks: bool = False
) -> tuple[ModelName, list[AskEvent]]:
    found = moot.library.persona(persona)
    choice = await moot.gateway.choice(Speaker("ask", found.id, found.model))
    opening: list[AskEvent] = [AskOpened(found.id, str(choice.name), looks)]
    if question is not None:
        opening.append(QuestionAsked(question))
    return choice.name, opening


async def new_ask(
    moot: Moot,
    persona: str,
    question: str | None,
    person: Person,
    listener: Listener,
    *,
    looks: bool = False,
) -> AskConversation:
    model, opening = await _opening(moot, persona, question, looks=looks)
    part = Part(PROMPTS, person, listener, FORMAT)
    return await moot.begin(ASK, _title(ASK.fold(opening)), opening, model, part)


async def resume_ask(
    moot: Moot, session_id: str | None, person: Person, listener: Listener
) -> AskConversation:
    return await moot.take_up(ASK, session_id, Part(PROMPTS, person, listener, FORMAT))
