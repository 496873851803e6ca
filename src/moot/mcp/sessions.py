"""Sessions of any format over MCP: an agent begins one, hands on the person's answers, reads what is said.

None of the tools knows one format from another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from moot.core.citing import texts_in, unverified
from moot.core.flow import PersonAnswered
from moot.mcp.calling import SessionId
from moot.mcp.giving import Given
from moot.mcp.hints import READS, SETS, WORKS
from moot.mcp.working import Progress
from moot.repo.reading import without_paths
from moot.server import Client
from moot.sessions import Sessions, Turn, take_turn
from moot.sessions.giving import GivenOut, given_out, offers_of
from moot.sessions.service import services
from moot.sessions.wire import MAX_TEXT, SaidOut, SessionHead, StandingHead, head_of, standing_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from moot.app import Moot
    from moot.mcp.calling import Calls
    from moot.server.active_session import AnySession
    from moot.sessions.service import Standing

MOST_LISTED = 50


class SessionOut(StandingHead):
    """How a session stands. Where nothing is asked, nobody is at work on it and it is not paused, it is
    finished or stopped."""

    said: list[SaidOut] = Field(description="What was said and done during this call, in order.")
    problem: str | None = Field(description="Why this call ended before the session rested, if it did.")
    given: GivenOut | None = Field(
        default=None,
        description="What came of the evidence that begin_session was given: tell what was left out.",
    )
    state: dict[str, Any] | None = Field(description="The format's own; null unless you asked for it.")


class SessionsOut(BaseModel):
    sessions: list[SessionHead]
    more: bool = Field(description="Whether there are more than these: search for words of the title.")


class Agreed(BaseModel):
    """What the person says when their client asks them."""

    agree: bool = Field(title="Do it", description="Whether you want this done now.")


Format = Annotated[str, Field(max_length=64)]
Opening = Annotated[dict[str, Any], Field(description="What that format needs, by name.")]
Search = Annotated[
    str, Field(max_length=200, description="Words that the title has to have; without any, all are listed.")
]
AskedStep = Annotated[str, Field(max_length=200, description="The `step` of what is asked, as it was given.")]
AskedKey = Annotated[str, Field(max_length=200, description="Its `key`, as it was given.")]
Chosen = Annotated[
    str | None,
    Field(max_length=200, description="The `id` of the choice; left out where the person answers in words."),
]
Words = Annotated[
    str,
    Field(
        max_length=MAX_TEXT,
        description="The person's words: with a choice that takes text, or alone where `freeText` is true.",
    ),
]
IncludeState = Annotated[
    bool, Field(description="Whether to give everything that the session holds. It can be long.")
]


def add(server: MCPServer[Any], moot: Moot, calls: Calls) -> None:
    root, use = calls.root, calls.use

    async def run(
        call: Context[Any, Any], session_id: str, act: Callable[[Sessions], Awaitable[None]]
    ) -> SessionOut:
        """Until the session rests."""

        def tell(message: str) -> None:
            progress.tell(without_paths(message, root))

        async with Progress(call) as progress:
            # Whoever is cut off before the answer goes on with this id.
            tell(f"The session is {session_id}")
            turn = await use(
                lambda sessions: take_turn(sessions, moot.library, session_id, partial(act, sessions), tell)
            )
        return _turn_out(turn, root)

    async def begin_session(
        format: Format,  # noqa: A002
        opening: Opening,
        call: Context[Any, Any],
        evidence: Given = (),
    ) -> SessionOut:
        async def begin(sessions: Sessions) -> tuple[AnySession, GivenOut | None]:
            given = await sessions.gather(offers_of(evidence))
            live, given = await sessions.begin(format, opening, Client(), given)
            return live, given_out(given) if given is not None else None

        live, told = await use(begin)
        assert live.session is not None
        return (await go_on_with_session(live.session.id, call)).model_copy(update={"given": told})

    async def get_session(session_id: SessionId, include_state: IncludeState = False) -> SessionOut:
        standing = await use(lambda sessions: sessions.standing(session_id))
        return _out(standing, root, with_state=include_state)

    async def list_sessions(search: Search = "") -> SessionsOut:
        async def listed(sessions: Sessions) -> SessionsOut:
            found = await sessions.list_sessions(MOST_LISTED + 1, search=search)
            driven = await sessions.hub.driven([one.id for one in found])
            heads = [SessionHead(**head_of(one), live=one.id in driven) for one in found[:MOST_LISTED]]
            return SessionsOut(sessions=heads, more=len(found) > MOST_LISTED)

        return await use(listed)

    async def ask_in_person(
        session_id: str, step: str, key: str, call: Context[Any, Any], choice: str | None = None
    ) -> Agreed | Elicit[Agreed]:
        """What only the person themselves may choose, their client asks them."""
        asks = (await use(lambda sessions: sessions.standing(session_id))).asks
        ask = next((one for one in asks if (one.step, one.key) == (step, key)), None)
        chosen = next((one for one in ask.choices if one.id == choice), None) if ask else None
        if ask is None or chosen is None or not chosen.in_person or not _can_ask(call):
            return Agreed(agree=False)
        return Elicit(f"{ask.expects}\n\n{chosen.label}?", Agreed)

    async def answer_session(
        session_id: SessionId,
        step: AskedStep,
        key: AskedKey,
        call: Context[Any, Any],
        agreed: Any,
        choice: Chosen = None,
        text: Words = "",
    ) -> SessionOut:
        given = PersonAnswered(text, choice)
        by_person = isinstance(agreed, AcceptedElicitation) and agreed.data.agree
        return await run(
            call,
            session_id,
            lambda sessions: sessions.answer(session_id, step, key, given, in_person=by_person),
        )

    # Evaluated here, where the resolver is known; it is asked before the tool is run.
    answer_session.__annotations__["agreed"] = Annotated[ElicitationResult[Agreed], Resolve(ask_in_person)]

    async def stop_session(session_id: SessionId) -> SessionOut:
        async def stopped(sessions: Sessions) -> Standing:
            await sessions.stop(session_id)
            return await sessions.standing(session_id)

        return _out(await use(stopped), root)

    async def go_on_with_session(session_id: SessionId, call: Context[Any, Any]) -> SessionOut:
        return await run(call, session_id, lambda sessions: sessions.go_on(session_id))

    server.add_tool(
        begin_session,
        title="Begin a session",
        description="Begin a session for the person, of any format, and run it until it asks them something "
        f"or is finished. Formats, and what `opening` holds for each: {_formats(moot)}. An analysis of an "
        "item, and the workspace's workflow, are resumed where they exist already. Analyses and workflows "
        "write files; a workflow also has a coding agent change the code and run its tests, after the "
        "person has agreed to the plan. With `evidence`, everybody in the session has read that from the "
        "beginning; where none of it can be taken, nothing is begun. Takes minutes. You get what was said, "
        "and in `asks` what the person may answer now: show them both, then call answer_session. Use "
        "convene_board instead where no person is there to answer.",
        annotations=WORKS,
    )
    server.add_tool(
        get_session,
        title="Read a session",
        description="How a session stands and what it asks the person now. Asks nobody anything and starts "
        "nothing. What was said in earlier calls is in its state, with include_state.",
        annotations=READS,
    )
    server.add_tool(
        list_sessions,
        title="List sessions",
        description="The workspace's sessions of all formats: pinned ones first, then the newest. With "
        "`search`, those whose title has all of its words.",
        annotations=READS,
    )
    server.add_tool(
        answer_session,
        title="Hand on the person's answer",
        description="Answer what a session asks, then run it until it asks again or is finished. Take `step` "
        "and `key` from one of its `asks`, and the `id` of one of that one's `choices`, or words where it "
        "takes free text. The answer is the person's to give: ask the person; never answer for them unless "
        "they said so. A choice that is `inPerson` is put to the person by their client, if that can; else "
        "they make it in a terminal or over HTTP.",
        annotations=WORKS,
    )
    server.add_tool(
        stop_session,
        title="Stop a session",
        description="Stop what is being said or done in a session, wherever it runs. What was complete is "
        "kept. It rests until somebody goes on with it.",
        annotations=SETS,
    )
    server.add_tool(
        go_on_with_session,
        title="Go on with a session",
        description="Go on with a session that was stopped, left or cut off, until it asks the person "
        "something or is finished. Nothing that is complete is done twice. Only where the person wants "
        "that: it can cost money.",
        annotations=WORKS,
    )


def _can_ask(call: Context[Any, Any]) -> bool:
    able = call.client_capabilities
    return able is not None and able.elicitation is not None


def _formats(moot: Moot) -> str:
    """Each with the fields of its opening; those that may be left out have a question mark."""
    known = ((name, one) for name, one in services(moot).items() if not one.decided_in_person)
    return "; ".join(f"{name} ({', '.join(_fields(one.opening))})" for name, one in known)


def _fields(opening: type[BaseModel]) -> list[str]:
    return [f"{name}{'' if field.is_required() else '?'}" for name, field in opening.model_fields.items()]


def _turn_out(turn: Turn, root: Path) -> SessionOut:
    said = [
        SaidOut(
            what=one.what,
            by=one.by,
            text=one.text,
            failure=without_paths(one.failure, root),
            content=_without_paths_in(one.content, root),
            unverified=unverified(texts_in((one.text, one.content)), turn.standing.evidence),
        )
        for one in turn.said
    ]
    return _out(turn.standing, root, said, turn.problem)


def _out(
    standing: Standing,
    root: Path,
    said: Sequence[SaidOut] = (),
    problem: str = "",
    *,
    with_state: bool = False,
) -> SessionOut:
    return SessionOut.model_validate(
        {
            **standing_of(standing),
            "said": said,
            "problem": without_paths(problem, root) or None,
            "state": _without_paths_in(standing.state, root) if with_state else None,
        }
    )


def _without_paths_in(value: Any, root: Path, field: str = "") -> Any:
    """What somebody has said keeps its slashes, as long as they do not lead into the workspace."""
    match value:
        case str():
            return without_paths(value, root) if field == "message" or str(root) in value else value
        case dict():
            return {name: _without_paths_in(one, root, str(name)) for name, one in value.items()}
        case list() | tuple():
            return [_without_paths_in(one, root, field) for one in value]
        case _:
            return value
