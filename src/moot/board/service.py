"""The Board as a surface uses it: convene, listen, challenge, read the brief, look at what there is.

Everything goes through the one flow. A call that names no session is the same flow with a log in memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from moot.app import Part
from moot.board import prompts, wire
from moot.board.challenge_reply import BROKEN_OFF, ChallengeReply
from moot.board.events import (
    MAX_ANSWER,
    AdvisorFailed,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    BriefFailed,
    BriefRequested,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    ConditionTicked,
    Consensus,
    DecisionPresented,
    DraftedQuestion,
    Member,
    Mode,
    Questions,
    QuestionsDrafted,
    QuestionsFailed,
    Recommendation,
)
from moot.board.flow import ADVISOR, BOARD, BRIEF, CHALLENGE, QUESTIONS, ask_again, go_on, stop
from moot.board.frames import FORMAT
from moot.board.state import BoardState, Step
from moot.core.estimate import Asking
from moot.core.flow import Usage
from moot.core.model_effects import Prompts, Usual
from moot.errors import DefinitionInvalid, IllegalMove, InvalidInput, MootError, NotFound, SessionStopped
from moot.llm.names import Speaker, parse
from moot.personas.library import Persona, opposing_seat, speaking_order
from moot.server import ActiveSession, Client, Drives, Hub, SeenSessions, Service, StreamError
from moot.store.sessions import Key

if TYPE_CHECKING:
    from typing import TypeAlias

    from moot.app import Conversation, Moot
    from moot.core.runner import Listener
    from moot.core.runner import Person as Asked
    from moot.store.people import Person
    from moot.store.sessions import Session

    BoardConversation: TypeAlias = Conversation[BoardState, BoardEvent]

ActiveBoard = ActiveSession[BoardState, BoardEvent]

PROMPTS = Prompts(
    speeches={ADVISOR: prompts.view, CHALLENGE: prompts.reply},
    drafts={QUESTIONS: prompts.questions, BRIEF: prompts.brief},
    replies={QUESTIONS: Questions, BRIEF: Brief},
    usual=Usual(
        {
            QUESTIONS: Questions((DraftedQuestion("Since when?"),)),
            BRIEF: Brief(Consensus((), "moderate"), (), (), Recommendation("Wait.", "moderate", ())),
        },
        lambda state: BoardConvened(state.answered) if state.step is Step.ANSWERS else None,
    ),
)
_UNBILLED = Usage("", 0, 0, None, 0)


@dataclass(frozen=True, slots=True)
class Said:
    """What a client says was said before: one advisor's view and the exchanges that followed."""

    persona: str
    text: str
    exchanges: tuple[tuple[str, str], ...] = ()


class Boards(SeenSessions):
    def __init__(self, moot: Moot, hub: Hub, person: Person | None = None) -> None:
        super().__init__(moot, hub, (BOARD.name,), person)
        self._moot = moot

    def advisors(self, panel: str = "board") -> tuple[Persona, ...]:
        return advisors(self._moot, panel)

    async def convene(
        self,
        decision: str,
        answers: tuple[Answer, ...],
        panel: str,
        mode: Mode,
        client: str = "",
        key: tuple[str, str] | None = None,
        given: Sequence[BoardEvent] = (),
        *,
        looks: bool = False,
    ) -> ActiveBoard:
        """A new session, with what it is `given` to know, whose advisors may look into the workspace. With a
        key, which is a name and what was asked for under it, that came before: the session that it came
        with."""
        kept = Key(*key) if key else None
        if kept is not None and (before := await self.hub.store.keyed(self.owns_as, kept)):
            return await self.live(before.id, client)
        first = await present(self._moot, decision, self.advisors(panel), mode, panel, looks=looks)
        by = Client(client, self.owns_as, key)
        return await self.hub.begin(FORMAT, [first, *given, BoardConvened(answers)], by)

    async def questions(
        self, decision: str, client: str = "", given: Sequence[BoardEvent] = (), *, looks: bool = False
    ) -> BoardState:
        first = await present(self._moot, decision, self.advisors(), "independent", looks=looks)
        opening: list[BoardEvent] = [first, *given]
        live = await self.hub.detached(FORMAT, opening, client)
        try:
            async with live.listening(go_on=True):
                return await live.until(lambda state: state.step is not Step.QUESTIONS)
        finally:
            await live.pause()

    async def live(self, session_id: str, client: str = "", *, looks: bool = False) -> ActiveBoard:
        """A stored session; found by its whole id only. Where it would go on, it must be one that may; who
        only looks begins nothing."""
        session = await self.session(session_id)
        # An unreadable one is named as such before anything else is tried with it.
        await self.state(session)
        live = await self.hub.live(session, client)
        if not looks:
            await self.hub.admit(client, live)
        return live

    async def detached_challenge(
        self, decision: str, answers: tuple[Answer, ...], said: Said, client: str = ""
    ) -> ActiveBoard:
        events = await self._retold(decision, answers, (said,))
        # Nobody asks for a brief here.
        events.append(BriefFailed("NotAskedFor", ""))
        return await self.hub.detached(FORMAT, events, client)

    async def detached_brief(
        self, decision: str, answers: tuple[Answer, ...], said: tuple[Said, ...], client: str = ""
    ) -> ActiveBoard:
        events = await self._retold(decision, answers, said)
        return await self.hub.detached(FORMAT, events, client)

    async def challenge(self, live: ActiveBoard, persona: str, text: str) -> AsyncGenerator[wire.ReplyFrame]:
        """The frames of the reply, as it comes; the last says that it is complete, or why it is not. Leaving
        it before its end withdraws the challenge."""
        async with live.listening():
            after = live.seq
            await live.runner.put(ChallengeMade(persona, text))
            reply = ChallengeReply(persona, live.state.challenges_made)
            try:
                await live.want()
                async for frames in self.hub.stream(live, after, go_on=False):
                    for frame in frames:
                        if told := reply.read(wire.read_frame(frame.body)):
                            yield told
                        if reply.ended:
                            return
                yield reply.fail(BROKEN_OFF)
            finally:
                if live.state.challenges_made == reply.number and live.state.advisor(persona).challenged:
                    live.put_later(ChallengeWithdrawn(persona))

    async def brief(self, live: ActiveBoard) -> BoardState:
        """The state once there is a brief that is up to date, or one has failed."""
        async with live.listening():
            if live.state.step is Step.REVIEW:
                await live.runner.put(BriefRequested())
            if live.state.step is Step.BRIEF:
                await live.want()
            return await live.until(lambda state: state.step is not Step.BRIEF)

    async def retry(self, session_id: str, persona: str | None, client: str = "") -> None:
        """Without a persona: everybody who did not answer."""
        live = await self.live(session_id, client)
        await live.runner.put(ask_again(live.state, persona or ""))
        async with live.listening():
            await live.want()

    async def stop(self, session_id: str, persona: str | None) -> None:
        """One advisor, who is then as one who did not answer, or their reply; or everybody, until somebody
        goes on."""
        live = await self.hub.live(await self.session(session_id))
        for event in stop(live.state, persona or ""):
            try:
                await live.runner.put(event)
            except IllegalMove:
                # It came to its end a moment before: that is said in plain words, unless all are meant.
                if persona:
                    stop(live.state, persona)

    async def tick(self, session_id: str, condition: str, *, ticked: bool) -> None:
        """Whether a condition of the brief is met; nothing is asked of a model."""
        live = await self.hub.live(await self.session(session_id))
        await live.runner.put(ConditionTicked(condition, ticked))

    async def go_on(self, session_id: str, client: str = "") -> None:
        """What a person does to a session that rests, whether it was stopped or left."""
        live = await self.live(session_id, client)
        for event in go_on(live.state):
            await live.runner.put(event)
        async with live.listening():
            await live.want()

    async def state(self, session: Session) -> BoardState:
        return await self._moot.folded(BOARD, session)

    def tiny(self, model: str) -> bool:
        return is_tiny(self._moot, model)

    async def settled_frames(self, session: Session, state: BoardState) -> int:
        """The number of the frame up to which a client that has the state needs no frames: while somebody
        speaks, none, because the state does not have what is half said."""
        if state.step is Step.ADVISORS:
            return 0
        return await self.hub.store.last_frame(session.id)

    async def _retold(
        self, decision: str, answers: tuple[Answer, ...], said: tuple[Said, ...]
    ) -> list[BoardEvent]:
        """The events that would have led to what a client says was said, on the board that is convened where
        nobody names another."""
        speakers = tuple(self._persona(one.persona) for one in said)
        events: list[BoardEvent] = [
            await present(self._moot, decision, speakers, "independent"),
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


class BoardOpening(BaseModel):
    """Without `questions`, the board is convened at once. With `looks`, advisors may look into the
    workspace."""

    decision: str
    panel: str = "board"
    mode: Mode = "independent"
    questions: bool = True
    looks: bool = False


class BoardService(Service[BoardState, BoardEvent]):
    opening = BoardOpening
    told = (
        QuestionsDrafted,
        QuestionsFailed,
        AdvisorSpoke,
        AdvisorFailed,
        ChallengeReplied,
        ChallengeWithdrawn,
        BriefDrafted,
        BriefFailed,
    )

    def __init__(self, moot: Moot) -> None:
        super().__init__(moot, FORMAT, PROMPTS)
        self._moot = moot

    async def begin(
        self, hub: Hub, opening: BoardOpening, by: Client, given: Sequence[BoardEvent] = ()
    ) -> ActiveBoard:
        return await hub.begin(FORMAT, await self._first(opening, given), by)

    async def preview(
        self, opening: BoardOpening, given: Sequence[BoardEvent] = ()
    ) -> tuple[BoardState, Asking]:
        state = BOARD.fold(await self._first(opening, given))
        return state, Asking(state.model, PROMPTS, "")

    async def _first(self, opening: BoardOpening, given: Sequence[BoardEvent]) -> list[BoardEvent]:
        speakers = advisors(self._moot, opening.panel)
        presented = await present(
            self._moot, opening.decision, speakers, opening.mode, opening.panel, looks=opening.looks
        )
        convened = () if opening.questions else (BoardConvened(),)
        return [presented, *given, *convened]


def is_tiny(moot: Moot, model: str) -> bool:
    """Whether a session's model is one of very few parameters; False where it is no longer to be had."""
    try:
        return moot.gateway.named(parse(model)).small
    except MootError:
        return False


def advisors(moot: Moot, panel: str) -> tuple[Persona, ...]:
    """In speaking order."""
    library = moot.library
    try:
        found = library.panel(panel)
    except NotFound as unknown:
        known = ", ".join(unknown.known)
        raise InvalidInput("panel", f"there is none called {panel[:80]!r}; there is {known}") from None
    return speaking_order(library.members(found))


async def present(
    moot: Moot,
    decision: str,
    speakers: tuple[Persona, ...],
    mode: Mode,
    panel: str = "board",
    *,
    looks: bool = False,
) -> DecisionPresented:
    choice = await moot.gateway.choice(Speaker("advisor"))
    members = tuple(_member(persona) for persona in speakers)
    opposes = _opposing(moot, panel, {member.id for member in members})
    return DecisionPresented(decision, members, mode, str(choice.name), opposes, looks)


def _opposing(moot: Moot, panel_id: str, present: Collection[str]) -> str:
    library = moot.library
    try:
        panel = library.panel(panel_id)
        seat = opposing_seat(panel, library.members(panel))
    except (NotFound, DefinitionInvalid):
        # Whoever convenes a panel is told what is wrong with it; nobody else has to know.
        return ""
    return seat if seat is not None and seat in present else ""


async def new_board(
    moot: Moot, first: DecisionPresented, person: Asked, listener: Listener, *, questions: bool
) -> BoardConversation:
    """A new session with somebody who can be asked; without questions, the board is convened at once."""
    opening: list[BoardEvent] = [first] if questions else [first, BoardConvened()]
    part = Part(PROMPTS, person, listener, FORMAT)
    return await moot.begin(BOARD, first.decision, opening, parse(first.model), part)


async def resume_board(
    moot: Moot, session_id: str | None, person: Asked, listener: Listener
) -> BoardConversation:
    return await moot.take_up(BOARD, session_id, Part(PROMPTS, person, listener, FORMAT))


def _member(persona: Persona) -> Member:
    return Member(persona.id, persona.name, persona.role, str(persona.contribution), persona.origin)


@asynccontextmanager
async def open_boards(moot: Moot, grace: float | None = None, work: Drives = "all") -> AsyncIterator[Boards]:
    """The boards of one process. `grace` is the configuration's where it is not given."""

    async with moot.hub([BoardService(moot)], grace, work) as hub:
        yield Boards(moot, hub)


# -- without anybody to ask ----------------------------------------------------------------------


async def hold_board(
    moot: Moot,
    decision: str,
    context: str,
    panel: str,
    tell: Callable[[str], None],
    given: Sequence[BoardEvent] = (),
    *,
    looks: bool = False,
) -> tuple[str, BoardState]:
    """A board from its convening to its brief, stored like any other: its session's id, and its state.
    `tell` hears who has spoken; `given` is what everybody is to know."""
    session_id = await create_board(moot, decision, context, panel, given, looks=looks)
    return session_id, await run_board(moot, session_id, tell)


async def create_board(
    moot: Moot,
    decision: str,
    context: str,
    panel: str,
    given: Sequence[BoardEvent] = (),
    *,
    looks: bool = False,
) -> str:
    """A session in which nobody has been asked yet, with what it is `given` to know. Whoever notes its id can
    go on with it after a crash."""
    async with open_boards(moot, grace=0, work="own") as boards:
        answers = known(context)
        live = await boards.convene(decision, answers, panel, "independent", given=given, looks=looks)
        assert live.session is not None
        return live.session.id


async def run_board(
    moot: Moot, session_id: str, tell: Callable[[str], None], again: str | None = None
) -> BoardState:
    """From where it stands to its brief: nobody who has spoken is asked again, and a brief that failed is
    tried once more. With `again`, that one advisor, or all who did not answer where it is empty, are asked
    once more first, and the brief is brought up to date."""
    async with open_boards(moot, grace=0, work="own") as boards:
        live = await boards.live(session_id)
        if again is not None:
            await live.runner.put(ask_again(live.state, again))
        elif live.state.step is Step.REVIEW and live.state.brief is None:
            await live.runner.put(BriefRequested())
        for event in go_on(live.state):
            await live.runner.put(event)
        while True:
            known = live.log_seq
            async for frames in boards.hub.stream(live, after=live.seq, go_on=True):
                for frame in frames:
                    _tell(wire.read_frame(frame.body), live, tell)
            # Another process may have driven it, and may have stopped before its end.
            await live.runner.catch_up()
            if again is not None and live.state.step is Step.REVIEW:
                again = None
                if live.state.brief is None or live.state.brief_stale:
                    await live.runner.put(BriefRequested())
                    continue
            if not live.runner.pending() or live.log_seq == known:
                return live.state


def _tell(frame: wire.SessionFrame | None, live: ActiveBoard, tell: Callable[[str], None]) -> None:
    match frame:
        case wire.PersonaComplete(persona):
            tell(f"{live.state.advisor(persona).member.shown} has spoken")
        case wire.PersonaError(persona):
            tell(f"{live.state.advisor(persona).member.shown} did not answer")
        case wire.BriefComplete() | wire.BriefError():
            tell("The brief is written" if live.state.brief else "The brief could not be written")
        case StreamError(message):
            raise SessionStopped(message)


def known(context: str) -> tuple[Answer, ...]:
    """The context as what was answered beforehand, in pieces that an answer can hold: each ends at white
    space in its second half, so that ten pieces are always enough."""
    pieces: list[str] = []
    rest = context.strip()
    while rest:
        end = len(rest)
        if end > MAX_ANSWER:
            breaks = (rest.rfind(space, MAX_ANSWER // 2, MAX_ANSWER) for space in ("\n\n", "\n", " "))
            end = next((place for place in breaks if place > 0), MAX_ANSWER)
        pieces.append(rest[:end])
        rest = rest[end:].strip()
    question = "What does the board have to know?"
    return tuple(
        Answer(question if number == 1 else f"{question} (part {number})", piece)
        for number, piece in enumerate(pieces, start=1)
    )
