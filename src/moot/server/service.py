"""The program behind the sessions of one format: where their logs are, who speaks, who carries out tasks.

Knows how models are asked. Refuses to know any format: each makes a service of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from moot.core.estimate import Asking, Estimate
from moot.core.flow import Event
from moot.core.model_effects import Prompts, speaking
from moot.core.runner import Log, Speak, StoredLog, Work, no_work
from moot.llm.names import parse
from moot.llm.registry import Gateway
from moot.personas.library import Library
from moot.server.format import Format
from moot.server.sight import sight_of
from moot.store.sessions import Session, Store

if TYPE_CHECKING:
    from pathlib import Path

    from moot.files.layout import Workspace
    from moot.server.active_session import ActiveSession
    from moot.server.hub import Hub

S = TypeVar("S")
E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Client:
    """Who begins something: whose limits it counts against, whose it is, and by which idempotency key."""

    address: str = ""
    owner: str = ""
    key: tuple[str, str] | None = None
    """The key's name, and what was asked for under it."""


NOBODY = Client()


class Program(Protocol):
    """What a service needs of moot as a whole."""

    @property
    def library(self) -> Library: ...
    @property
    def gateway(self) -> Gateway: ...
    @property
    def workspace(self) -> Workspace: ...
    async def store(self) -> Store: ...
    async def look(self) -> Path: ...


class Service(Generic[S, E]):
    """As it stands here: sessions whose log is in the store, in which only models have something to do."""

    opening: type[BaseModel]
    """What has to be said to begin a session."""
    writes_files = False
    """Whether its sessions write into the workspace, or have programs run there."""
    keeps_files = True
    """Whether one that writes files is kept in them, so that whoever has no use for it deletes them."""
    decided_in_person = False
    """Whether some of its answers count as the person's own decision: then no agent may hand them on."""
    told: tuple[type[Event], ...] = ()
    """What somebody is told who waits for a session's next question instead of listening: words and drafts as
    they were taken, what was done, and what failed."""

    def __init__(self, program: Program, format_: Format[S, E], prompts: Prompts) -> None:
        self.format = format_
        self._program = program
        self._prompts = prompts

    async def begin(
        self, hub: Hub, opening: Any, by: Client, given: Sequence[Any] = ()
    ) -> ActiveSession[S, E]:
        """A new session, of what was validated as an `opening`. `given` are events of what it is to know from
        its beginning."""
        raise NotImplementedError

    async def find(self, store: Store) -> None:  # noqa: ARG002
        """Makes sessions of what is in the workspace's files known to the store."""
        return

    def log(self, store: Store, session: Session) -> Log[E]:
        return StoredLog(store, session.id, self.format.flow)

    async def account(self, session: Session) -> str:
        """On whose account models are asked."""
        return session.id

    async def asking(self, session: Session, state: S) -> Asking:
        """Whom its sessions ask."""
        return Asking(self.format.model(state), self._prompts, await self.account(session))

    async def preview(self, opening: Any, given: Sequence[Any] = ()) -> tuple[S, Asking] | None:  # noqa: ARG002
        """How a session would stand that was begun so, of which nothing is kept. None where that cannot be
        known before it is begun."""
        return None

    async def foresee(self, opening: Any) -> Estimate | None:  # noqa: ARG002
        """What a session would cost that was begun so, where its flow alone does not say whom it asks."""
        return None

    def speak(self, model: str, session: Session | None = None) -> tuple[Speak, bool]:
        """What asks the model of that name in a session, and whether it is tiny. Raises where it is not to be
        had."""
        name, program = parse(model), self._program
        small = program.gateway.named(name).small
        sight = program.look if self.writes_files else sight_of(program, session)
        return speaking(lambda: program.library, program.gateway, name, self._prompts, sight), small

    def work(self, session: Session, state: S, tell: Callable[[str], None]) -> Work:  # noqa: ARG002
        """What carries out tasks; `tell` hears how they come along."""
        return no_work

    def claim(self, session: Session) -> AbstractContextManager[None]:  # noqa: ARG002
        """Entered while the session is driven; raises Busy where a process that does not share the store
        drives it."""
        return nullcontext()
