"""The board and its advisors over MCP: a whole session without a person, kept like any other."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from moot.ask.flow import MAX_QUESTION
from moot.ask.service import new_ask
from moot.board.events import MAX_DECISION, Brief
from moot.board.service import hold_board, is_tiny, open_boards, run_board
from moot.board.wire import texts_of
from moot.core.citing import unverified
from moot.core.runner import UserQuit
from moot.mcp.giving import Given
from moot.mcp.hints import ACTS, FETCHES_AND_ACTS, READS, SETS
from moot.mcp.working import Progress, to_its_end
from moot.repo.reading import without_paths
from moot.sessions.giving import GivenOut, given_out, offers_of
from moot.sessions.service import events_of
from moot.sessions.wire import UNVERIFIED
from moot.text.small_model import SMALL_MODEL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from moot.app import Moot
    from moot.board.service import Boards
    from moot.board.state import Advisor, BoardState
    from moot.core.background import EvidenceGiven
    from moot.mcp.calling import Calls
    from moot.sessions.giving import Given as SessionEvidence
    from moot.sessions.giving import Items

MAX_CONTEXT = 5_000
GIVEN = "What came of the evidence, where there was any: tell what was left out."

T = TypeVar("T")


class AdvisorOut(BaseModel):
    persona: str
    name: str
    view: str | None = Field(description="What the advisor said; null if not asked for, or if there is none.")
    error: str | None = Field(description="Why the advisor did not answer, where that is so.")


class BoardOut(BaseModel):
    session_id: str = Field(description="`moot board --resume ID` goes on with it.")
    model: str
    stopped: bool = Field(description="Whether nobody is asked for anything until go_on_with_board.")
    advisors: list[AdvisorOut]
    brief: Brief | None
    brief_error: str | None
    ticked_conditions: list[str] = Field(
        description="Those of the recommendation's conditions that somebody says are met."
    )
    warning: str | None = Field(description="What to know of the model before anything is done about this.")
    unverified: tuple[str, ...] = Field(description=UNVERIFIED)
    given: GivenOut | None = Field(default=None, description=GIVEN)


class AnswerOut(BaseModel):
    session_id: str = Field(description="`moot ask --resume ID` goes on with it.")
    persona: str
    name: str
    model: str
    answer: str
    unverified: tuple[str, ...] = Field(description=UNVERIFIED)
    given: GivenOut | None = Field(default=None, description=GIVEN)


Decision = Annotated[
    str, Field(min_length=1, max_length=MAX_DECISION, description="What is to be decided, as a question.")
]
BoardContext = Annotated[
    str,
    Field(
        max_length=MAX_CONTEXT,
        description="What the advisors have to know: facts, constraints, options. Besides the evidence, they "
        "know nothing else.",
    ),
]
Panel = Annotated[str, Field(description="Who sits on the board; 'board' is the one that comes with moot.")]
Views = Annotated[bool, Field(description="Whether to give back each advisor's view in full.")]
SessionId = Annotated[str, Field(max_length=64, description="As convene_board gave it.")]
OneAdvisor = Annotated[str, Field(max_length=64, description="One advisor alone, such as 'the-coach'.")]
Condition = Annotated[
    str, Field(min_length=1, description="One of the recommendation's conditions, word for word.")
]
Looks = Annotated[
    bool, Field(description="Whether whoever speaks may look into the workspace's files before they answer.")
]
PersonaId = Annotated[str, Field(description="Who is asked, such as 'the-strategist'.")]
QuestionText = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]


def add(server: MCPServer[Any], moot: Moot, calls: Calls) -> None:
    async def during(work: Callable[[], Awaitable[T]]) -> T:
        return await to_its_end(calls.shared.during(work))

    async def gather(evidence: Items) -> SessionEvidence | None:
        return await calls.use(lambda sessions: sessions.gather(offers_of(evidence)))

    async def convene_board(
        decision: Decision,
        call: Context[Any, Any],
        context: BoardContext = "",
        panel: Panel = "board",
        include_views: Views = False,
        evidence: Given = (),
        looks: Looks = False,
    ) -> BoardOut:
        members = len(moot.library.panel(panel).members)
        given = await gather(evidence)
        async with Progress(call, members + 1) as progress:
            told, known = progress.tell, events_of(given)
            board = await during(lambda: hold_board(moot, decision, context, panel, told, known, looks=looks))
        return heard(*board, views=include_views).model_copy(update={"given": _given_out(given)})

    def out(session_id: str, state: BoardState, *, views: bool) -> BoardOut:
        return board_out(session_id, state, moot.workspace.root, views=views, tiny=is_tiny(moot, state.model))

    def heard(session_id: str, state: BoardState, *, views: bool) -> BoardOut:
        _check_heard(session_id, state)
        return out(session_id, state, views=views)

    async def look(
        session_id: str, act: Callable[[Boards], Awaitable[None]] | None = None
    ) -> tuple[str, BoardState]:
        async def work() -> tuple[str, BoardState]:
            async with open_boards(moot, grace=0, work="none") as boards:
                if act is not None:
                    await act(boards)
                session = await boards.session(session_id)
                return session.id, await boards.state(session)

        return await during(work)

    async def get_board(session_id: SessionId, include_views: Views = False) -> BoardOut:
        return heard(*await look(session_id), views=include_views)

    async def stop_board(session_id: SessionId, persona: OneAdvisor = "") -> BoardOut:
        return out(*await look(session_id, lambda boards: boards.stop(session_id, persona)), views=False)

    async def go_on_with_board(
        session_id: SessionId, call: Context[Any, Any], include_views: Views = False
    ) -> BoardOut:
        async with Progress(call) as progress:
            state = await during(lambda: run_board(moot, session_id, progress.tell))
        return heard(session_id, state, views=include_views)

    async def ask_again(
        session_id: SessionId, call: Context[Any, Any], persona: OneAdvisor = "", include_views: Views = False
    ) -> BoardOut:
        async with Progress(call) as progress:
            state = await during(lambda: run_board(moot, session_id, progress.tell, persona))
        return heard(session_id, state, views=include_views)

    async def tick_condition(session_id: SessionId, condition: Condition, ticked: bool = True) -> BoardOut:
        def tick(boards: Boards) -> Awaitable[None]:
            return boards.tick(session_id, condition, ticked=ticked)

        return out(*await look(session_id, tick), views=False)

    async def ask_persona(
        persona: PersonaId, question: QuestionText, evidence: Given = (), looks: Looks = False
    ) -> AnswerOut:
        given = await gather(evidence)
        answer = await to_its_end(_answer(moot, persona, question, events_of(given), looks=looks))
        return answer.model_copy(update={"given": _given_out(given)})

    server.add_tool(
        convene_board,
        title="Convene the board",
        description="Put a decision before a board of advisors with different perspectives. Each gives a "
        "view, and none sees another's; you get a brief with their agreement, tensions, blind spots and "
        "a recommendation. Takes a minute or two. For decisions that are hard to take back; not for facts.",
        annotations=FETCHES_AND_ACTS,
    )
    server.add_tool(
        get_board,
        title="Read a board session again",
        description="What a board that was convened before has come to: its brief, and which of its "
        "conditions are ticked. Asks nobody anything.",
        annotations=READS,
    )
    server.add_tool(
        stop_board,
        title="Stop a board",
        description="Stop what is being said on a board, wherever it was convened: one advisor, who then "
        "counts as one who did not answer, or their reply; without a persona everybody, until "
        "go_on_with_board. What was said to its end is kept.",
        annotations=SETS,
    )
    server.add_tool(
        go_on_with_board,
        title="Go on with a board",
        description="Go on with a board that was stopped, left or cut off, up to its brief. Only advisors "
        "who have not spoken are asked.",
        annotations=ACTS,
    )
    server.add_tool(
        ask_again,
        title="Ask advisors again",
        description="Ask an advisor who did not answer once more; without a persona, all who did not. The "
        "brief is brought up to date.",
        annotations=ACTS,
    )
    server.add_tool(
        tick_condition,
        title="Tick a condition of a brief",
        description="Say that a condition of a board's recommendation is met, or with ticked=false that it "
        "is not. Only where the person says so.",
        annotations=SETS,
    )
    server.add_tool(
        ask_persona,
        title="Ask one persona",
        description="Ask one persona a question and get its answer. An unknown persona is answered with the "
        "list of those that there are.",
        annotations=FETCHES_AND_ACTS,
    )


# -- the board -----------------------------------------------------------------------------------


def _check_heard(session_id: str, state: BoardState) -> None:
    """Raises where nobody has said anything."""
    if state.contributions:
        return
    if any(not advisor.settled for advisor in state.advisors):
        why = "was stopped before anybody had spoken" if state.stopped else "has not finished"
        raise ToolError(f"The board {why}. The session is {session_id}: go_on_with_board goes on with it.")
    reasons = sorted({a.failure.message for a in state.advisors if a.failure is not None})
    raise ToolError(
        f"None of the advisors answered: {'; '.join(reasons)}. The session is {session_id}: ask_again asks "
        "them again."
    )


def board_out(session_id: str, state: BoardState, root: Path, *, views: bool, tiny: bool) -> BoardOut:
    return BoardOut(
        session_id=session_id,
        model=state.model,
        stopped=state.stopped,
        advisors=[_advisor_out(advisor, root, views=views) for advisor in state.advisors],
        brief=state.brief,
        brief_error=None if state.brief_failure is None else without_paths(state.brief_failure.message, root),
        ticked_conditions=[condition for condition, ticked in state.conditions if ticked],
        warning=SMALL_MODEL if tiny else None,
        unverified=_unverified(state),
    )


def _unverified(state: BoardState) -> tuple[str, ...]:
    views = [unverified([one.text], one.evidence) for one in state.advisors if one.text]
    brief = unverified(texts_of(state.brief), state.brief_evidence) if state.brief is not None else ()
    return tuple(dict.fromkeys([*chain.from_iterable(views), *brief]))


def _advisor_out(advisor: Advisor, root: Path, *, views: bool) -> AdvisorOut:
    return AdvisorOut(
        persona=advisor.member.id,
        name=advisor.member.shown,
        view=advisor.text if views else None,
        error=None if advisor.failure is None else without_paths(advisor.failure.message, root),
    )


def _given_out(given: SessionEvidence | None) -> GivenOut | None:
    return None if given is None else given_out(given)


# -- one persona ---------------------------------------------------------------------------------


class _Nobody:
    """There is no person: the conversation rests where one would be asked."""

    async def answer(self, *_: object) -> NoReturn:
        raise UserQuit


class _Deaf:
    def began(self, *_: object) -> None: ...
    def said(self, *_: object) -> None: ...
    def waits(self, *_: object) -> None: ...
    def looks(self, *_: object) -> None: ...
    def happened(self, *_: object) -> None: ...


async def _answer(
    moot: Moot, persona: str, question: str, given: Sequence[EvidenceGiven], *, looks: bool
) -> AnswerOut:
    conversation = await new_ask(moot, persona, question, _Nobody(), _Deaf(), looks=looks)
    try:
        for event in given:
            await conversation.runner.put(event)
        state = await conversation.runner.run()
    finally:
        await conversation.close()
    session_id = conversation.session.id
    if state.failure is not None:
        raise ToolError(f"{state.failure.message}. The session is {session_id}.")
    *_, said = state.conversation
    return AnswerOut(
        session_id=session_id,
        persona=state.persona,
        name=moot.library.persona(state.persona).shown,
        model=conversation.model,
        answer=said.content,
        unverified=unverified([said.content], state.background.evidence),
    )
