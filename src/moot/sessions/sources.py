"""From a session to a change: an analysed item, a board or a workflow, found by what a person calls it,
becomes what a change is drafted from.

What was decided keeps its numbers; what was written there becomes evidence, searched for secrets like all
evidence. Refuses to know what a change does with it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from moot.analysis import handover as of_analysis
from moot.analysis.flow import ANALYSIS
from moot.analysis.items import ItemFolder, ItemFolders
from moot.analysis.state import AnalysisState
from moot.board import handover as of_board
from moot.board.flow import BOARD
from moot.board.state import BoardState
from moot.changes.binding import Binding
from moot.changes.origins import Made, made_from
from moot.changes.source import Source
from moot.core.handover import Handover
from moot.errors import InvalidInput, NotFound
from moot.evidence.files import Reach
from moot.evidence.gather import Gathered, Offer
from moot.files.layout import Workspace
from moot.files.paths import valid_id
from moot.server.places import session_in
from moot.workflow import handover as of_workflow
from moot.workflow.designs import Designs
from moot.workflow.flow import WORKFLOW
from moot.workflow.service import Workflows
from moot.workflow.state import WorkflowState

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.store.sessions import Session

FIELD = "from"
_KINDS = ("item", "board", "workflow")
_HINT = "name an item, a board's session, or 'workflow'; where two are called so, write item:NAME or board:ID"


def made_from_session(workspace: Workspace, session: Session, state: Any) -> tuple[Made, ...]:
    """The changes that were made from a session, whatever its format."""
    match state:
        case AnalysisState(slug=slug):
            return made_from(workspace, ANALYSIS.name, slug)
        case WorkflowState(id=id_):
            return made_from(workspace, WORKFLOW.name, id_)
        case BoardState():
            return made_from(workspace, BOARD.name, session.id)
        case _:
            return ()


class Sources:
    def __init__(self, moot: Moot) -> None:
        self._moot = moot

    async def find(self, named: str, words: str = "", owner: str | None = None) -> Source:
        """`words` are what the person asks for. An `owner` uses boards of their own, and nobody's; without
        one, all of them. Raises InvalidInput for what is not there, or has nothing to make a change of."""
        words = words.strip()
        kind, item, session = await self._resolve(named.strip(), owner)
        if kind == "workflow":
            handed = await self._workflow(words)
        elif item is not None:
            handed = await self._item(item, words)
        else:
            assert session is not None
            state = await self._moot.folded(BOARD, session)
            handed = of_board.hand_over(state, session.id, session.shown_title, words)
        return await self._source(handed)

    async def _source(self, handed: Handover) -> Source:
        """What is too large or private is left out, with the reason, as if a person had given it."""
        offers = [Offer(name=name, data=text.encode()) for name, text in handed.texts.items()]
        gathered = await self._moot.intake(Reach.NOWHERE).gather(offers, handed.evidence)
        evidence = (*handed.evidence, *gathered.items)
        bound = Binding(handed.design, handed.decided, evidence, replaces_decided=True, origin=handed.origin)
        return Source(
            handed.asked, bound, (await self._moot.weigh(Gathered(evidence, gathered.left_out))).summary
        )

    # -- which one is meant ------------------------------------------------------------------

    async def _resolve(self, named: str, owner: str | None) -> tuple[str, ItemFolder | None, Session | None]:
        kind, _, rest = named.partition(":")
        if kind not in _KINDS:
            kind, rest = "", named
        found: list[tuple[str, ItemFolder | None, Session | None]] = []
        if kind in ("", "item") and (item := self._named_item(rest)) is not None:
            found.append(("item", item, None))
        if kind in ("", "board") and (session := await self._board(rest, owner)) is not None:
            found.append(("board", None, session))
        if kind == "workflow" or rest in ("workflow", self._session("workflow", WORKFLOW.name)):
            found.append(("workflow", None, None))
        if len(found) == 1:
            return found[0]
        several = " and ".join(f"{one}:{rest}" for one, _, _ in found)
        problem = f"{rest[:80]!r} is both {several}" if found else f"there is no {rest[:80]!r}"
        raise InvalidInput(FIELD, f"{problem}: {_HINT}")

    def _named_item(self, named: str) -> ItemFolder | None:
        items = ItemFolders(self._moot.workspace)
        with suppress(NotFound, InvalidInput):
            return items.open(valid_id(named, "item"))
        # As surfaces call it that know sessions alone.
        return next((one for one in items.all() if self._session(one.slug, ANALYSIS.name) == named), None)

    def _session(self, what: str, format_: str) -> str:
        return session_in(self._moot.workspace.root, format_, what)

    async def _board(self, named: str, owner: str | None) -> Session | None:
        if not named:
            return None
        with suppress(NotFound):
            session = await (await self._moot.store()).session(named)
            if session.format == BOARD.name and (owner is None or session.owner in ("", owner)):
                return session
        return None

    # -- what it hands over ------------------------------------------------------------------

    async def _item(self, item: ItemFolder, words: str) -> Handover:
        state, meta = ANALYSIS.fold(await item.log(ANALYSIS).read()), item.meta()
        place = item.path.relative_to(self._moot.workspace.root).as_posix()
        written = {f"{place}/{name}": text for name, text in item.artifacts().items()}
        if not written and not state.is_open:
            raise InvalidInput(FIELD, f"nothing is known of the item '{item.slug}' yet: analyse it first")
        return of_analysis.hand_over(state, item.slug, meta.title, meta.description, written, words)

    async def _workflow(self, words: str) -> Handover:
        state = await Workflows(self._moot).state()
        if state is None or not state.design_path:
            raise InvalidInput(FIELD, "there is no workflow here whose design was approved")
        written = Designs(self._moot.workspace).read(state.design_path)
        return of_workflow.hand_over(state, written, words)
