"""The workspace's workflow as a live session: its log is workflow.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pydantic import BaseModel

from moot.brainstorm import events as brainstorm
from moot.core.estimate import Asking
from moot.core.flow import ModelEffect, Outcome
from moot.core.logs import WorkspaceLog
from moot.core.runner import Speak, Speech
from moot.roundtable import events as roundtable
from moot.server import ActiveSession, Client, Hub, Service
from moot.server.event_frames import event_format
from moot.server.places import session_in
from moot.workflow import events
from moot.workflow.documents import title
from moot.workflow.events import Reopened, Resumed
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.prompts import PROMPTS
from moot.workflow.service import Workflows
from moot.workflow.state import WorkflowState
from moot.workflow.tasks import WorkflowWork

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core import runner
    from moot.store.sessions import Session, Store


def _model(state: WorkflowState) -> str:
    """Empty where another tool has begun it."""
    named = state.config.get("model")
    return named if isinstance(named, str) else ""


def _go_on(state: WorkflowState) -> tuple[WorkflowEvent, ...]:
    if state.stopped:
        return (Resumed(), Reopened())
    return () if state.finished else (Reopened(),)


FORMAT = event_format(WORKFLOW, title=title, model=_model, go_on=_go_on)


class WorkflowOpening(BaseModel):
    idea: str


class WorkflowService(Service[WorkflowState, WorkflowEvent]):
    opening = WorkflowOpening
    writes_files = True
    told = (*brainstorm.TOLD, *roundtable.TOLD, *events.TOLD)

    def __init__(self, moot: Moot) -> None:
        super().__init__(moot, FORMAT, PROMPTS)
        self._moot = moot
        self._workflows = Workflows(moot)

    async def begin(
        self, hub: Hub, opening: WorkflowOpening, by: Client, given: Sequence[WorkflowEvent] = ()
    ) -> ActiveSession[WorkflowState, WorkflowEvent]:
        await self._workflows.open(opening.idea)
        live = await hub.live(await self._session(hub.store), by.address)
        await live.put_all(given)
        return live

    async def find(self, store: Store) -> None:
        if self._moot.workspace.workflow_file.exists():
            await self._session(store)

    async def _session(self, store: Store) -> Session:
        state = await self._workflows.state()
        assert state is not None
        return await store.ensure(self._id, WORKFLOW.name, title(state))

    @property
    def _id(self) -> str:
        return session_in(self._moot.workspace.root, WORKFLOW.name, "workflow")

    def log(self, store: Store, session: Session) -> WorkspaceLog[WorkflowEvent]:
        return WorkspaceLog(self._workflows.log(), store, session.id)

    async def account(self, session: Session) -> str:  # noqa: ARG002
        state = await self._workflows.state()
        return self._moot.account(f"workflow {state.id if state else ''}")

    async def preview(
        self, opening: WorkflowOpening, given: Sequence[WorkflowEvent] = ()
    ) -> tuple[WorkflowState, Asking]:
        first, model = await self._workflows.preview(opening.idea)
        return WORKFLOW.fold((first, *given)), Asking(str(model), PROMPTS, "")

    async def asking(self, session: Session, state: WorkflowState) -> Asking:
        model = _model(state) or str(await self._workflows.model(state.config))
        return Asking(model, PROMPTS, await self.account(session))

    def speak(self, model: str, session: Session | None = None) -> tuple[Speak, bool]:
        if model:
            return super().speak(model, session)

        async def speak(effect: ModelEffect, state: WorkflowState, speech: Speech) -> Outcome:
            chosen = await self._workflows.model(state.config)
            return await super(WorkflowService, self).speak(str(chosen))[0](effect, state, speech)

        return speak, False

    def work(
        self,
        session: Session,  # noqa: ARG002
        state: WorkflowState,  # noqa: ARG002
        tell: Callable[[str], None],
    ) -> runner.Work:
        return WorkflowWork(self._moot, tell).carry_out

    def claim(self, session: Session) -> AbstractContextManager[None]:  # noqa: ARG002
        return self._workflows.claim()
