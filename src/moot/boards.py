"""The Board as a surface uses it: convene, listen, challenge, read the brief, look at what there is.

Everything goes through the one flow. A call that names no session is the same flow with a log in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moot.engine import Engine, Live
from moot.errors import InvalidInput, MootError, NotFound
from moot.flows.board import (
    ADVISOR,
    BOARD,
    BRIEF,
    CHALLENGE,
    QUESTIONS,
    AdvisorRetried,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    BoardState,
    BriefFailed,
    ChallengeMade,
    ChallengeReplied,
    DecisionPresented,
    Member,
    Mode,
    Step,
)
from moot.flows.flow import Spoken
from moot.gateway.names import Speaker, parse
from moot.personas import Persona, speaking_order
from moot.prompting import board as prompts
from moot.speaking import Prompts, speaking

if TYPE_CHECKING:
    from moot.application import Moot
    from moot.runner import Speak
    from moot.store import Session

PROMPTS = Prompts(
    speeches={ADVISOR: prompts.view, CHALLENGE: prompts.reply},
    drafts={QUESTIONS: prompts.questions, BRIEF: prompts.brief},
)
_UNBILLED = Spoken("", 0, 0, None, 0)


@dataclass(frozen=True, slots=True)
class Said:
    """What a client says was said before: one advisor's view and the exchanges that followed."""

    persona: str
    text: str
    exchanges: tuple[tuple[str, str], ...] = ()


class Boards:
    def __init__(self, moot: Moot, engine: Engine) -> None:
        self._moot = moot
        self.engine = engine

    def advisors(self, panel: str = "board") -> tuple[Persona, ...]:
        """In speaking order."""
        library = self._moot.library
        try:
            found = library.panel(panel)
        except NotFound as unknown:
            raise InvalidInput(
                "panel", f"there is none called {panel!r}: {', '.join(unknown.known)}"
            ) from None
        return speaking_order(library.members(found))

    async def convene(self, decision: str, answers: tuple[Answer, ...], panel: str, mode: Mode) -> Live:
        presented = await self._presented(decision, self.advisors(panel), mode)
        return await self.engine.convene([presented, BoardConvened(answers)])

    async def questions(self, decision: str) -> BoardState:
        presented = await self._presented(decision, self.advisors(), "independent")
        live = await self.engine.detached([presented], presented.model)
        try:
            return await live.questions()
        finally:
            await live.rest()

    async def live(self, session_id: str) -> Live:
        """A stored session; found by its whole id only."""
        session = await self.session(session_id)
        state = await self.state(session)
        return await self.engine.live(session, state.model)

    async def detached_challenge(self, decision: str, answers: tuple[Answer, ...], said: Said) -> Live:
        events = await self._retold(decision, answers, (said,))
        # Nobody asks for a brief here.
        events.append(BriefFailed("NotAskedFor", ""))
        return await self.engine.detached(events, _model(events))

    async def detached_brief(
        self, decision: str, answers: tuple[Answer, ...], said: tuple[Said, ...]
    ) -> Live:
        events = await self._retold(decision, answers, said)
        return await self.engine.detached(events, _model(events))

    async def retry(self, session_id: str, persona: str) -> None:
        live = await self.live(session_id)
        await live.runner.put(AdvisorRetried(persona))
        async with live.listening(self.engine.grace):
            live.drive()

    async def session(self, session_id: str) -> Session:
        store = await self._moot.store()
        session = await store.session(session_id)
        if session.id != session_id or session.format != BOARD.name:
            raise NotFound("session", session_id)
        return session

    async def sessions(self) -> Sequence[Session]:
        """Newest first."""
        return await (await self._moot.store()).sessions(BOARD.name, limit=1000)

    async def state(self, session: Session) -> BoardState:
        state: BoardState = await self._moot.folded(session)
        return state

    def tiny(self, model: str) -> bool:
        """Whether a session's model is one of very few parameters; False where it is no longer to be had."""
        try:
            return self._moot.gateway.named(parse(model)).small
        except MootError:
            return False

    async def settled_frames(self, session: Session, state: BoardState) -> int:
        """The number of the frame up to which a client that has the state needs no frames: while somebody
        speaks, none, because the state does not have what is half said."""
        if state.step is Step.ADVISORS:
            return 0
        return await (await self._moot.store()).last_frame(session.id)

    async def delete(self, session_id: str) -> None:
        session = await self.session(session_id)
        await self.engine.forget(session.id)
        await (await self._moot.store()).delete(session.id)

    async def _presented(self, decision: str, advisors: tuple[Persona, ...], mode: Mode) -> DecisionPresented:
        choice = await self._moot.gateway.choice(Speaker("advisor"))
        members = tuple(_member(persona) for persona in advisors)
        return DecisionPresented(decision, members, mode, str(choice.name))

    async def _retold(
        self, decision: str, answers: tuple[Answer, ...], said: tuple[Said, ...]
    ) -> list[BoardEvent]:
        """The events that would have led to what a client says was said."""
        advisors = tuple(self._persona(one.persona) for one in said)
        events: list[BoardEvent] = [
            await self._presented(decision, advisors, "independent"),
            BoardConvened(answers),
        ]
        events.extend(AdvisorSpoke(one.persona, one.text, _UNBILLED) for one in said)
        for one in said:
            for challenge, reply in one.exchanges:
                events.append(ChallengeMade(one.persona, challenge))
                events.append(ChallengeReplied(one.persona, reply, _UNBILLED))
        return events

    def _persona(self, persona_id: str) -> Persona:
        try:
            return self._moot.library.persona(persona_id)
        except NotFound:
            raise InvalidInput("personaId", f"there is no persona {persona_id[:80]!r}") from None


def _member(persona: Persona) -> Member:
    return Member(persona.id, persona.name, persona.role, str(persona.contribution))


def _model(events: list[BoardEvent]) -> str:
    first = events[0]
    assert isinstance(first, DecisionPresented)
    return first.model


@asynccontextmanager
async def opened_boards(moot: Moot, grace: float = 3.0) -> AsyncIterator[Boards]:
    """The boards of one process."""

    def speak_for(model: str) -> tuple[Speak, bool]:
        name = parse(model)
        small = moot.gateway.named(name).small
        return speaking(moot.library, moot.gateway, name, PROMPTS), small

    engine = Engine(await moot.store(), speak_for, grace)
    await engine.start()
    warming = asyncio.create_task(moot.gateway.warm_up(Speaker("advisor")))
    try:
        yield Boards(moot, engine)
    finally:
        await asyncio.gather(warming, return_exceptions=True)
        await engine.close()
