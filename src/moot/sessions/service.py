"""What a person does with a session, whatever its format. Each answer goes to what the flow asks at that
moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from moot.analysis.sessions import AnalysisService
from moot.ask.service import AskService
from moot.board.service import Boards, BoardService
from moot.changes.sessions import ChangeService
from moot.core.background import Background, EvidenceGiven, LedgerCorrected, struck, takes_background
from moot.core.estimate import UNKNOWN, Asking, Estimate, estimate_next
from moot.core.flow import AskPerson, Flow, PersonAnswered
from moot.core.ledger import correction_of
from moot.diffs.service import DiffService
from moot.diffs.task_judge import TaskJudge
from moot.errors import InvalidInput, MootError, NotAllowed, NotNow
from moot.evidence.files import Reach
from moot.server import Client, Drives, Hub, SeenSessions, Service
from moot.server.event_frames import AskOut, asks, view
from moot.sessions.giving import Given
from moot.sessions.sources import Sources, made_from_session
from moot.text.faults import explain
from moot.workflow.sessions import WorkflowService

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.changes.origins import Made
    from moot.core.bill import SessionBill
    from moot.core.ledger import Decided
    from moot.evidence.gather import Gathered, Intake, Offer
    from moot.evidence.items import Evidence
    from moot.server.active_session import AnySession
    from moot.store.people import Person
    from moot.store.sessions import Place, Session

T = TypeVar("T")
IN_PERSON = (
    "Only the person themselves may choose that, and this client cannot ask them: they do it in a terminal "
    "(`moot workflow resume`) or over HTTP"
)
AnyService = Service[Any, Any]


def services(moot: Moot) -> dict[str, AnyService]:
    """All formats, by name."""
    found: list[AnyService] = [
        BoardService(moot),
        AskService(moot),
        AnalysisService(moot),
        WorkflowService(moot),
        ChangeService(moot, TaskJudge(moot), Sources(moot).find),
        DiffService(moot),
    ]
    return {one.format.flow.name: one for one in found}


@dataclass(frozen=True, slots=True)
class Standing:
    """A session as it is now."""

    session: Session
    state: Any
    asks: tuple[AskOut, ...]
    live: bool
    paused: bool
    """Something is still to be done, and nobody is at work on it."""
    last_frame: int
    evidence: tuple[Evidence, ...]
    ledger: tuple[Decided, ...]
    struck: tuple[Decided, ...]
    changes: tuple[Made, ...] = ()
    """Those that were made from it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a session has cost, and what comes next; None where no model is to be had."""

    bill: SessionBill
    estimate: Estimate | None


class Sessions(SeenSessions):
    def __init__(
        self,
        moot: Moot,
        hub: Hub,
        known: Mapping[str, AnyService],
        person: Person | None = None,
        *,
        for_agents: bool = False,
    ) -> None:
        may_use_files = person is None or person.admin
        # What lives in the workspace's files says what is in them: models look into all of them for it.
        seen = [name for name, one in known.items() if may_use_files or not one.writes_files]
        super().__init__(moot, hub, seen, person)
        self._moot = moot
        self._services = known
        self._for_agents = for_agents
        self.boards = Boards(moot, hub, person)

    def as_seen_by(self, person: Person | None) -> Sessions:
        return Sessions(self._moot, self.hub, self._services, person)

    def as_seen_by_agents(self) -> Sessions:
        known = {name: one for name, one in self._services.items() if not one.decided_in_person}
        return Sessions(self._moot, self.hub, known, self._person, for_agents=True)

    @property
    def formats(self) -> Mapping[str, AnyService]:
        return self._services

    # -- looking -----------------------------------------------------------------------------

    async def list_sessions(
        self, limit: int, after: Place | None = None, *, everywhere: bool = False, search: str = ""
    ) -> Sequence[Session]:
        if after is None:
            for service in self._services.values():
                await service.find(self.hub.store)
        return await super().list_sessions(limit, after, everywhere=everywhere, search=search)

    async def standing(self, session_id: str) -> Standing:
        session = await self.session(session_id)
        live = await self.hub.live(session)
        driven = bool(await self.hub.driven([session_id]))
        flow = self._services[session.format].format.flow
        asked = asks(flow, live.state)
        paused = not driven and bool(live.runner.pending())
        given, decided = _background(live).evidence, flow.ledger(live.state)
        made = await asyncio.to_thread(self._made_from, session, live.state)
        gone, shown = struck(flow, live.state), view(live.state)
        return Standing(session, shown, asked, driven, paused, live.seq, given, decided, gone, made)

    def _made_from(self, session: Session, state: Any) -> tuple[Made, ...]:
        """Only who may use the workspace sees what is in its files."""
        if self._person is not None and not self._person.admin:
            return ()
        return made_from_session(self._moot.workspace, session, state)

    async def evidence(self, session_id: str) -> tuple[Evidence, ...]:
        """What the session was given, with what it says."""
        return _background(await self.hub.live(await self.session(session_id))).evidence

    async def live(self, session_id: str, client: str = "", *, looks: bool) -> AnySession:
        """To listen to. Who only looks begins nothing; where it would go on, it must be one that may."""
        live = await self.hub.live(await self.session(session_id), client)
        if not looks:
            self._check_may_use(self._services[live.format.flow.name])
            await self.hub.admit(client, live)
        return live

    async def check_store(self) -> None:
        """Raises what stands in the way of using the database."""
        await self.hub.store.check()

    # -- doing -------------------------------------------------------------------------------

    async def begin(
        self, format_: str, opening: Mapping[str, Any], by: Client, given: Given | None = None
    ) -> tuple[AnySession, Given | None]:
        """A new session; one of an item or a workflow that is under way is that one. `given` is evidence that
        it has from the beginning; it comes back as what the session has taken of it."""
        service, said = self._opening(format_, opening, given)
        by = replace(by, owner=self.owns_as)
        if given is None or not service.writes_files:
            return await service.begin(self.hub, said, by, events_of(given)), given
        # One that is under way may have some already.
        live = await service.begin(self.hub, said, by)
        return live, await self._add(live, given.gathered)

    def _opening(
        self, format_: str, opening: Mapping[str, Any], given: Given | None
    ) -> tuple[AnyService, BaseModel]:
        service = self._services.get(format_)
        if service is None:
            raise InvalidInput("format", f"there is none called {format_[:80]!r}; there is {self._known}")
        self._check_may_use(service)
        try:
            said = service.opening.model_validate(dict(opening))
        except ValidationError as invalid:
            raise InvalidInput("opening", explain(invalid.errors())) from None
        if given is not None and given.gathered.items:
            _check_takes_background(service.format.flow)
        return service, said

    async def answer(
        self,
        session_id: str,
        step: str,
        key: str,
        answer: PersonAnswered,
        client: str = "",
        *,
        in_person: bool = False,
    ) -> None:
        """Answers what is asked at a step. Raises NotNow where that is not asked any more. What only the
        person themselves may choose, no agent hands on, unless moot has asked them: `in_person`."""
        live = await self._to_change(session_id, client)
        flow = live.format.flow
        asked = [one for one in flow.pending(live.state) if isinstance(one, AskPerson)]
        ask = next((one for one in asked if (one.step, one.key) == (step, key)), None)
        if ask is None:
            raise NotNow("That is not asked any more: load the session again and answer what it asks now")
        if (
            self._for_agents
            and not in_person
            and any(one.in_person for one in ask.choices if one.id == answer.choice)
        ):
            raise NotAllowed(IN_PERSON)
        event = flow.record(live.state, ask, answer)
        async with live.listening():
            await live.runner.put(event)
            await live.want()

    async def stop(self, session_id: str) -> None:
        """Ends what is being said or done; what was complete is kept."""
        live = await self._to_change(session_id)
        for event in live.format.stop(live.state):
            await live.runner.put(event)
        await self.hub.halt(live)

    async def go_on(self, session_id: str, client: str = "") -> None:
        """Has a session driven that rests, whether it was stopped or left."""
        live = await self._to_change(session_id, client)
        await self.hub.admit(client, live)
        if not live.is_under_way:
            for event in live.format.go_on(live.state):
                await live.runner.put(event)
        async with live.listening():
            await live.want()

    # -- what it costs -----------------------------------------------------------------------

    async def estimate(
        self, format_: str, opening: Mapping[str, Any], given: Given | None = None
    ) -> Estimate:
        """What a session would cost that was begun so. Nothing is kept, and no model is asked."""
        service, said = self._opening(format_, opening, given)
        if (foreseen := await service.foresee(said)) is not None:
            return foreseen
        previewed = await service.preview(said, events_of(given))
        if previewed is None:
            return UNKNOWN
        state, asking = previewed
        return await self._estimate(service, state, asking)

    async def cost(self, session_id: str) -> Cost:
        session = await self.session(session_id)
        service = self._services[session.format]
        live = await self.hub.live(session)
        asking = await service.asking(session, live.state)
        bill = await self._moot.meter.bill(asking.account)
        try:
            told = await self._estimate(service, live.state, asking)
        except MootError:
            # Whoever asks the model says why there is none.
            told = None
        return Cost(bill, told)

    async def _estimate(self, service: AnyService, state: Any, asking: Asking) -> Estimate:
        return await estimate_next(service.format.flow, state, asking, self._moot.library, self._moot.gateway)

    # -- evidence, and what was decided so far -----------------------------------------------

    async def weigh(self, offers: Sequence[Offer], session_id: str | None = None) -> Given:
        """What would be taken, by a session or a new one, and what it would cost. Nothing is kept."""
        if session_id is None:
            return Given(await self._moot.weigh(await self._intake.gather(offers)))
        live = await self._to_change(session_id)
        there = _background(live).evidence
        gathered = await self._intake.gather(offers, there)
        return Given(await self._moot.weigh(gathered, live.format.model(live.state)), len(there))

    async def gather(self, offers: Sequence[Offer]) -> Given | None:
        """For a session that begins with these. Raises where it would have none of them."""
        if not offers:
            return None
        given = await self.weigh(offers)
        given.check_any_is_taken()
        return given

    async def give(self, session_id: str, offers: Sequence[Offer], client: str = "") -> Given:
        """Gives evidence to a session, at whatever step it is. It is not moved on by that: whatever is said
        next knows of it."""
        live = await self._to_change(session_id, client)
        _check_takes_background(live.format.flow)
        return await self._add(live, await self._intake.gather(offers, _background(live).evidence))

    async def _add(self, live: AnySession, gathered: Gathered) -> Given:
        """What it takes of this, beside what it has by now."""
        await live.runner.catch_up()
        there = _background(live).evidence
        gathered = gathered.within(self._intake.bounds, there)
        weighed = await self._moot.weigh(gathered, live.format.model(live.state))
        if gathered.items:
            await live.runner.put(EvidenceGiven(gathered.items))
        return Given(weighed, len(there))

    async def correct(
        self, session_id: str, text: str, key: str | None = None, client: str = "", *, undo: bool = False
    ) -> tuple[tuple[Decided, ...], tuple[Decided, ...]]:
        """What holds instead of an entry, or, without words, that it does not hold; without a key, something
        that is to hold besides; with `undo`, what was said last of an entry is taken back. All that is
        decided by then, and what is struck of it."""
        live = await self._to_change(session_id, client)
        flow = live.format.flow
        _check_takes_background(flow)
        at = next((ask.step for ask in asks(flow, live.state)), "")
        corrections = _background(live).corrections
        correction = correction_of(flow.ledger(live.state), corrections, key, text, at, undo=undo)
        await live.runner.put(LedgerCorrected(correction))
        return flow.ledger(live.state), struck(flow, live.state)

    @property
    def _intake(self) -> Intake:
        """Who may use the workspace may name its files; everybody may upload, paste and name pages."""
        may_name = self._person is None or self._person.admin
        return self._moot.intake(Reach.WORKSPACE if may_name else Reach.NOWHERE)

    async def delete(self, session_id: str) -> None:
        """For good. What is in the workspace's files is for its owner to delete."""
        service = self._services[(await self.session(session_id)).format]
        self._check_may_use(service)
        if service.writes_files and service.keeps_files:
            raise NotNow("It is in the workspace's files: delete them there")
        await super().delete(session_id)

    async def _to_change(self, session_id: str, client: str = "") -> AnySession:
        session = await self.session(session_id)
        service = self._services[session.format]
        self._check_may_use(service)
        live = await self.hub.live(session, client)
        if not live.is_under_way:
            # A process that does not share the store may have it.
            with service.claim(session):
                pass
        return live

    def _check_may_use(self, service: AnyService) -> None:
        if service.writes_files and self._person is not None and not self._person.admin:
            what = service.format.flow.name
            raise NotAllowed(f"Only whoever runs this server may use its workspace, as for: {what}")

    @property
    def _known(self) -> str:
        return ", ".join(self._services)


def events_of(given: Given | None) -> tuple[EvidenceGiven, ...]:
    return (EvidenceGiven(given.gathered.items),) if given is not None and given.gathered.items else ()


def _background(live: AnySession) -> Background:
    found = getattr(live.state, "background", None)
    return found if isinstance(found, Background) else Background()


def _check_takes_background(flow: Flow[Any, Any]) -> None:
    if not takes_background(flow):
        raise NotNow(f"Sessions of {flow.name} take no evidence and no corrections yet")


@asynccontextmanager
async def open_sessions(
    moot: Moot, grace: float | None = None, work: Drives = "all"
) -> AsyncIterator[Sessions]:
    """The sessions of a process that serves them."""
    known = services(moot)
    async with moot.hub(known.values(), grace, work, for_all=True) as hub:
        yield Sessions(moot, hub, known)


class SharedSessions:
    """The sessions of a process whose callers come and go: open from the first call until the last has ended.
    Two openings at a time would each believe that they hold the other's leases. The callers are agents: of
    formats in which something is decided in person, they see nothing."""

    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._callers = 0
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._sessions: Sessions

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Sessions]:
        """What this call wants done is driven here, and ends when it ends, unless another call waits for the
        same session."""
        async with self._opening:
            if not self._callers:
                opening = open_sessions(self._moot, grace=0, work="own")
                everything = await self._opened.enter_async_context(opening)
                self._sessions = everything.as_seen_by_agents()
            self._callers += 1
        try:
            yield self._sessions
        finally:
            async with self._opening:
                self._callers -= 1
                if not self._callers:
                    await self._opened.aclose()

    async def during(self, work: Callable[[], Awaitable[T]]) -> T:
        """What opens boards, with these open: then it uses the same ones."""
        async with self.open():
            return await work()
