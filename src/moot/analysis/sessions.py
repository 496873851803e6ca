"""Analyses as live sessions: each item of the workspace is one, and its log is the item's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pydantic import BaseModel

from moot.analysis.events import (
    AnalysisEvent,
    AnswerRead,
    BoardAnswered,
    FeedbackTaken,
    FeedbackWritten,
    ModelFailed,
    StepAssessed,
    StepCompleted,
    StepOpened,
    StepsRead,
)
from moot.analysis.flow import ANALYSIS
from moot.analysis.service import Analyses, analysis_prompts
from moot.analysis.state import AnalysisState
from moot.analysis.tasks import Work
from moot.core.estimate import Asking
from moot.core.logs import WorkspaceLog
from moot.errors import MootError, NotFound
from moot.roundtable import events as roundtable
from moot.server import ActiveSession, Client, Hub, Service
from moot.server.event_frames import event_format
from moot.server.places import session_in

if TYPE_CHECKING:
    from moot.analysis.items import ItemFolder
    from moot.app import Moot
    from moot.core import runner
    from moot.store.sessions import Session, Store

FORMAT = event_format(ANALYSIS, title=lambda state: state.title, model=lambda state: state.model)


class AnalysisOpening(BaseModel):
    """An item by its name, or what is to be analysed."""

    item: str
    about: str = ""


class AnalysisService(Service[AnalysisState, AnalysisEvent]):
    opening = AnalysisOpening
    writes_files = True
    told = (
        StepsRead,
        StepOpened,
        AnswerRead,
        StepAssessed,
        StepCompleted,
        FeedbackTaken,
        FeedbackWritten,
        BoardAnswered,
        ModelFailed,
        roundtable.RoundtableNotOpened,
        *roundtable.TOLD,
    )

    def __init__(self, moot: Moot) -> None:
        super().__init__(moot, FORMAT, analysis_prompts(moot))
        self._moot = moot
        self._analyses = Analyses(moot)

    async def begin(
        self, hub: Hub, opening: AnalysisOpening, by: Client, given: Sequence[AnalysisEvent] = ()
    ) -> ActiveSession[AnalysisState, AnalysisEvent]:
        item = self._analyses.item(opening.item, opening.about)
        with self._analyses.claimed(item):
            await self._analyses.open(item, item.log(ANALYSIS), opening.about)
        live = await hub.live(await self._session(hub.store, item), by.address)
        await live.put_all(given)
        return live

    async def preview(
        self, opening: AnalysisOpening, given: Sequence[AnalysisEvent] = ()
    ) -> tuple[AnalysisState, Asking]:
        return await self._analyses.preview(opening.item, opening.about, given)

    async def find(self, store: Store) -> None:
        for item in self._analyses.items.all():
            if await item.log(ANALYSIS).is_begun():
                await self._session(store, item)

    async def _session(self, store: Store, item: ItemFolder) -> Session:
        try:
            title = item.meta().title
        except MootError:
            title = item.slug
        return await store.ensure(self._id(item), ANALYSIS.name, title or item.slug)

    def _id(self, item: ItemFolder) -> str:
        return session_in(self._moot.workspace.root, ANALYSIS.name, item.slug)

    def _item(self, session: Session) -> ItemFolder:
        for item in self._analyses.items.all():
            if self._id(item) == session.id:
                return item
        raise NotFound("item", session.title)

    def log(self, store: Store, session: Session) -> WorkspaceLog[AnalysisEvent]:
        file = self._item(session).log(ANALYSIS)
        return WorkspaceLog(file, store, session.id)

    async def account(self, session: Session) -> str:
        return self._moot.account(f"analysis {self._item(session).slug}")

    def work(self, session: Session, _state: AnalysisState, tell: Callable[[str], None]) -> runner.Work:
        return Work(self._moot, self._item(session), tell).carry_out

    def claim(self, session: Session) -> AbstractContextManager[None]:
        return self._analyses.claimed(self._item(session))
