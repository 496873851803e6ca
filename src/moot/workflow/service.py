"""Workflows as a surface uses them: begin, take up, look, drop, and the queue of those that wait.

There is one workflow at a time in a workspace, and its state is its file. One that is finished or dropped is
put away, never deleted. One process at a time carries it on; another is told who does.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.core.estimate import Asking
from moot.core.model_effects import on_account
from moot.core.runner import Participants, Runner, open_session
from moot.errors import AlreadyThere, Busy, InvalidInput, NotFound, StillEnding
from moot.files import timestamps
from moot.files.lock import claimed, enter_in_time
from moot.llm.names import ModelName, Speaker, parse
from moot.workflow.documents import title_of
from moot.workflow.events import Reopened, Restored, Resumed, WorkflowOpened
from moot.workflow.files import Queue, SnapshotLog, entry_id, put_away
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.prompts import PROMPTS
from moot.workflow.snapshot import brings, restored, snapshot
from moot.workflow.state import WorkflowState
from moot.workflow.tasks import WorkflowWork, first_waiting

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.runner import Listener, Person

MAX_IDEA = 20_000


@dataclass(frozen=True)
class Company:
    """Whoever takes part besides models: the person, and those who are told what happens."""

    person: Person
    listener: Listener
    tell: Callable[[str], None]
    unattended: bool = False
    """Whether the person has said that they are not to be asked before something is built."""


@dataclass(frozen=True)
class Workflow:
    """One that is ready to run. `resumed`: it was there before."""

    runner: Runner[WorkflowState, WorkflowEvent]
    model: str
    tiny: bool
    asking: Asking
    resumed: bool

    @property
    def state(self) -> WorkflowState:
        return self.runner.state


@dataclass(frozen=True, slots=True)
class Waiting:
    """A workflow in the queue."""

    id: str
    title: str
    description: str


class Workflows:
    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._file = moot.workspace.workflow_file
        self.queue = Queue(moot.workspace.queue_file)

    # -- looking -----------------------------------------------------------------------------

    async def state(self) -> WorkflowState | None:
        """Of the workflow that is there; None if there is none. A file that makes no sense raises."""
        events = await self.log().read()
        return WORKFLOW.fold(events) if events else None

    def waiting(self) -> list[Waiting]:
        entries = self.queue.list()
        return [Waiting(entry_id(e), title_of(e), str(e.get("userDescription") or "")) for e in entries]

    async def under_way(self) -> bool:
        state = await self.state()
        return state is not None and not state.finished

    # -- beginning and taking up -------------------------------------------------------------

    @asynccontextmanager
    async def begin(self, idea: str, company: Company) -> AsyncIterator[Workflow]:
        """A new workflow. One that is under way goes on if this is its idea; it is never replaced."""
        idea, name = await self._check_idea(idea)
        async with self._claim_in_time(company):
            resumed = not await self._open(idea, name)
            async with self._ready(company, resumed=resumed) as workflow:
                yield workflow

    async def preview(self, idea: str) -> tuple[WorkflowOpened, ModelName]:
        """How a new workflow would begin, of which nothing is kept."""
        idea, name = await self._check_idea(idea)
        return self._opening(idea, name), name

    async def open(self, idea: str) -> None:
        """Writes down a new workflow, for somebody else to carry on."""
        idea, name = await self._check_idea(idea)
        with self.claim():
            await self._open(idea, name)

    async def _check_idea(self, idea: str) -> tuple[str, ModelName]:
        idea = idea.strip()
        if not idea:
            raise InvalidInput("idea", "say in a sentence or two what you have in mind")
        if len(idea) > MAX_IDEA:
            raise InvalidInput("idea", f"has {len(idea)} characters; at most {MAX_IDEA}")
        # Before anything is written: a key that is missing is no reason to leave files behind.
        return idea, (await self._moot.gateway.choice(Speaker("brainstormer"))).name

    async def _open(self, idea: str, model: ModelName) -> bool:
        """Whether there was none under way, so that this one is new."""
        there = await self.state()
        if there is not None and not there.finished:
            if there.brainstorm.description != idea:
                raise AlreadyThere("workflow", _short(there.brainstorm.description))
            return False
        self._put_away()
        log = self.log()
        await log.read()
        await log.append(self._opening(idea, model))
        return True

    @asynccontextmanager
    async def resume(self, company: Company) -> AsyncIterator[Workflow]:
        """The workflow that is there; else the first that waits in the queue."""
        if not self._file.exists() and self.queue.peek() is None:
            raise NotFound("workflow", "")
        async with self._claim_in_time(company):
            log = self.log()
            there = bool(await log.read())
            first = None if there else first_waiting(self.queue)
            if first is not None:
                await log.append(Restored({**first, "fromQueue": True}))
            async with self._ready(company, resumed=there) as workflow:
                yield workflow

    @asynccontextmanager
    async def _ready(self, company: Company, *, resumed: bool) -> AsyncIterator[Workflow]:
        state = await self.state()
        assert state is not None
        name = await self.model(state.config)
        work = WorkflowWork(self._moot, company.tell, unattended=company.unattended)
        account = self._moot.account(f"workflow {state.id}")
        speak = await self._moot.speaking(name, PROMPTS, account)
        carry_out = on_account(account, work.carry_out)
        participants = Participants(speak, company.listener, company.person, carry_out)
        runner = await open_session(WORKFLOW, self.log(), participants, account)
        there = runner.state
        if resumed and not there.finished:
            await runner.put(Reopened())
        if there.stopped:
            await runner.put(Resumed())
        tiny, asking = self._moot.gateway.named(name).small, Asking(str(name), PROMPTS, account)
        yield Workflow(runner, str(name), tiny, asking, resumed)

    async def model(self, config: Mapping[str, Any]) -> ModelName:
        """--model wins; else a workflow keeps to the model that it began with."""
        said = self._moot.model_wished or config.get("model")
        if isinstance(said, str) and said:
            return parse(said)
        return (await self._moot.gateway.choice(Speaker("brainstormer"))).name

    def _opening(self, idea: str, model: ModelName) -> WorkflowOpened:
        settings = self._moot.config.both
        config = {"model": str(model), "maxRevisions": settings.workflow.max_rounds - 1}
        return WorkflowOpened(f"w-{secrets.token_hex(6)}", idea, timestamps.now(), config)

    def log(self) -> SnapshotLog[WorkflowState, WorkflowEvent]:
        return SnapshotLog(
            self._file,
            initial=WORKFLOW.initial,
            advance=WORKFLOW.advance,
            snapshot=snapshot,
            restored=restored,
            brings=brings,
        )

    # -- putting away ------------------------------------------------------------------------

    def drop(self) -> Path:
        """Puts the workflow away, whatever is in its file. Its design and its changes stay."""
        if not self._file.exists():
            raise NotFound("workflow", "")
        with self.claim():
            kept = self._put_away()
        assert kept is not None
        return kept

    def _put_away(self) -> Path | None:
        return put_away(self._moot.workspace) if self._file.exists() else None

    @asynccontextmanager
    async def _claim_in_time(self, company: Company) -> AsyncIterator[None]:
        with ExitStack() as stack:
            await enter_in_time(stack, self.claim, company.tell)
            yield

    @contextmanager
    def claim(self) -> Iterator[None]:
        folder = self._file.parent
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            name, kind = self._moot.workspace.root.name, "the workflow of"
            try:
                stack.enter_context(claimed(folder, "carried on"))
            except Busy as busy:
                raise Busy(name, busy.doing, busy.pid, busy.host, busy.since, kind=kind) from None
            except StillEnding:
                raise StillEnding(name, kind=kind) from None
            yield


def _short(idea: str) -> str:
    first = idea.strip().partition("\n")[0]
    return first if len(first) <= 80 else f"{first[:79]}…"


def as_json(state: WorkflowState) -> dict[str, Any]:
    """What workflow.json says of a state."""
    return dict(snapshot(state))
