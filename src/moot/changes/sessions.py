"""Changes as live sessions: each change of the workspace is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from moot.changes.flow import CHANGE, ChangeEvent, DraftChosen, SessionState, WorkStopped, choices
from moot.changes.folder import ChangeFolder
from moot.changes.log import ChangeLog
from moot.changes.looking import Looking
from moot.changes.service import Changes
from moot.changes.source import LONGEST_ASKED, FindSource, Source, check_description
from moot.changes.task_reviews import Judge
from moot.changes.work import ChangeWork
from moot.core.estimate import Asking
from moot.core.model_effects import Prompts
from moot.errors import AlreadyThere, NotFound
from moot.files.lock import claimed
from moot.files.paths import valid_id
from moot.llm.names import Speaker
from moot.server import ActiveSession, Client, Hub, Service
from moot.server.event_frames import event_format
from moot.server.places import session_in

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core import runner
    from moot.store.sessions import Session, Store


def _stop(state: SessionState) -> tuple[ChangeEvent, ...]:
    return (WorkStopped(),) if state.chosen is not None else ()


FORMAT = event_format(CHANGE, lambda state: state.files.standing.id, model=lambda _: "", stop=_stop)
"""Without a model: who drafts, reviews and builds is chosen each time, as for the commands."""


class ChangeOpening(BaseModel):
    """A change by its id; for a new one, also what should change, and why, or the session that it is made
    from: an item, a board or the workflow."""

    model_config = ConfigDict(populate_by_name=True)

    change: str
    description: str = ""
    source: str = Field("", alias="from")


class ChangeService(Service[SessionState, ChangeEvent]):
    opening = ChangeOpening
    writes_files = True
    decided_in_person = True
    """To approve a change, and to dismiss an issue."""

    def __init__(self, moot: Moot, judge: Judge | None = None, find_source: FindSource | None = None) -> None:
        """`judge` is who looks at what is built; `find_source` knows the sessions that a change may be made
        from."""
        super().__init__(moot, FORMAT, Prompts({}))
        self._moot = moot
        self._judge = judge
        self._find_source = find_source
        self._changes = Changes(moot)

    async def begin(
        self, hub: Hub, opening: ChangeOpening, by: Client, given: Sequence[ChangeEvent] = ()
    ) -> ActiveSession[SessionState, ChangeEvent]:
        change_id, description = valid_id(opening.change, "change id"), opening.description.strip()
        source = await self._source(opening, description, by)
        description = source.asked if source else description
        folder = await self._folder(change_id, description)
        live = await hub.live(await self._session(hub.store, change_id), by.address)
        await live.put_all(given)
        # Said once more, it was said before.
        if description and description != live.state.description:
            if DraftChosen.choice not in [choice.id for choice in choices(live.state)]:
                raise AlreadyThere("change", change_id, folder.path)
            if source:
                self._changes.bind(change_id, source.binding, lambda _: None)
                await live.runner.catch_up()
            await live.runner.put(DraftChosen(description))
        return live

    async def _source(self, opening: ChangeOpening, words: str, by: Client) -> Source | None:
        if not opening.source:
            return None
        assert self._find_source is not None, "nobody has said how a source is found"
        return await self._find_source(opening.source, words, by.owner or None)

    async def _folder(self, change_id: str, description: str) -> ChangeFolder:
        """The change's, made where there is none and it is said what should change."""
        try:
            return self._changes.folders.open(change_id)
        except NotFound:
            if not description:
                raise
        check_description(description, LONGEST_ASKED)
        # Before anything is written: a key that is missing is no reason to leave files behind.
        await self._moot.gateway.choice(Speaker("proposer"))
        return self._changes.folders.create(change_id)

    async def find(self, store: Store) -> None:
        for folder in self._changes.folders.all():
            await self._session(store, folder.id)

    async def _session(self, store: Store, change_id: str) -> Session:
        return await store.ensure(self._id(change_id), CHANGE.name, change_id)

    def _id(self, change_id: str) -> str:
        return session_in(self._moot.workspace.root, CHANGE.name, change_id)

    def _change_id(self, session: Session) -> str:
        """A session is called by its change, which may be gone by now."""
        if self._id(session.title) != session.id:
            raise NotFound("change", session.title)
        return session.title

    def log(self, store: Store, session: Session) -> ChangeLog:
        return ChangeLog(store, session.id, Looking(self._changes, self._change_id(session)))

    async def account(self, session: Session) -> str:
        return self._changes.account(self._change_id(session))

    def work(
        self,
        session: Session,
        state: SessionState,  # noqa: ARG002
        tell: Callable[[str], None],
    ) -> runner.Work:
        async def driver() -> str:
            return (await self._moot.store()).server

        return ChangeWork(self._moot, self._change_id(session), driver, tell, self._judge).carry_out

    async def asking(self, session: Session, state: SessionState) -> Asking:  # noqa: ARG002
        choice = await self._moot.gateway.choice(Speaker("proposer"))
        return Asking(str(choice.name), self._prompts, await self.account(session))

    @contextmanager
    def claim(self, session: Session) -> Iterator[None]:
        """Whoever does something to the change claims it themselves, for as long as that takes."""
        with (
            suppress(NotFound),
            claimed(self._changes.folders.open(self._change_id(session)).path, "looked at"),
        ):
            pass
        yield
