"""The HTTP interface: its routes, and what each asks of the boards."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from moot import __version__
from moot.app import Moot
from moot.board import record
from moot.board.service import Boards, Said
from moot.board.wire import ChallengeReplyError, ReplyFrame
from moot.errors import FileDamaged, IllegalMove, InvalidInput, NotNow
from moot.server import Drives, StreamError
from moot.sessions import open_sessions
from moot.sessions.service import events_of
from moot.text.small_model import BETTER_MODEL
from moot.web import payloads, wire
from moot.web.callers import client_of, note, sessions_of
from moot.web.costs import add_costs
from moot.web.door import Door, add_signing_in
from moot.web.giving import add_giving, gathered, most_of
from moot.web.guards import LOOPBACK, Guards
from moot.web.health import add_health
from moot.web.openapi import EXPORT, DescribedApp, problems, stream_of
from moot.web.pages import add_pages
from moot.web.proxies import Proxies
from moot.web.refusals import Refused, add_refusals
from moot.web.sessions import add_sessions, frames_of, page_of
from moot.web.streams import EventStream, Streams, event, while_there
from moot.web.watched import Watched


def create_app(
    moot: Moot,
    *,
    hosts: tuple[str, ...] = LOOPBACK,
    token: str | None = None,
    trusted_proxies: Sequence[str] = (),
    identity_header: str = "",
    grace: float | None = None,
    work: Drives = "all",
) -> FastAPI:
    """Without a token, everybody who reaches it may do everything: for this machine alone."""
    door = Door(moot, token, identity_header) if token else None

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_sessions(moot, grace, work) as sessions:
            app.state.sessions = sessions
            yield

    app = DescribedApp(
        title="moot",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Streams)
    app.add_middleware(Guards, hosts=hosts, door=door, most=most_of)
    app.add_middleware(Watched)
    app.add_middleware(Proxies, trusted=trusted_proxies, identity_header=identity_header)
    app.state.door = door
    add_refusals(app)
    add_signing_in(app, door)
    _board_routes(app, moot)
    _session_routes(app)
    _upkeep_routes(app)
    add_sessions(app)
    add_giving(app)
    add_costs(app)
    add_health(app)
    add_pages(app)
    return app


def _boards(request: Request) -> Boards:
    return sessions_of(request).boards


# -- the board -----------------------------------------------------------------------------------


def _board_routes(app: FastAPI, moot: Moot) -> None:  # noqa: PLR0915
    @app.get("/api/board/personas", responses=problems())
    async def personas(
        request: Request, panel: wire.Id = "board", everyone: bool = False
    ) -> wire.PersonasOut:
        found = moot.library.personas if everyone else _boards(request).advisors(panel)
        return wire.PersonasOut(personas=[payloads.persona(persona) for persona in found])

    @app.get("/api/model", responses=problems())
    async def model() -> wire.ModelOut:
        used = await moot.model_in_use()
        return wire.ModelOut(
            model=used.name, tiny=used.tiny, reason=used.reason, advice=BETTER_MODEL if used.weights else ""
        )

    @app.post("/api/board/questions", responses=problems(403, 413, 429))
    async def questions(request: Request, asked: wire.QuestionsRequest) -> wire.QuestionsOut:
        await note(request, "asked for questions", None)
        given = events_of(await gathered(request, asked.evidence))
        drafting = _boards(request).questions(asked.decision, client_of(request), given, looks=asked.looks)
        state = await while_there(request.receive, drafting)
        if state.questions_failure is not None:
            failure = state.questions_failure
            raise Refused(failure.kind, failure.message, failure.retry_after)
        return wire.QuestionsOut(
            questions=[
                wire.QuestionOut(id=q.id, question=q.question, hint=q.hint or None)
                for q in state.questions or ()
            ],
            looked_at=[what for bill in state.bills for what in bill.looked_at],
        )

    @app.post(
        "/api/board/session",
        responses=problems(403, 409, 413, 429) | stream_of("SessionEvent"),
        response_class=Response,
    )
    async def session(
        request: Request,
        asked: wire.SessionRequest,
        idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
    ) -> EventStream:
        boards, client = _boards(request), client_of(request)
        answers = payloads.answers_of(asked.answers)
        key = (idempotency_key, payloads.fingerprint(asked)) if idempotency_key else None
        given = events_of(await gathered(request, asked.evidence))
        live = await boards.convene(
            asked.decision, answers, asked.panel, asked.mode, client, key, given, looks=asked.looks
        )
        await note(request, "convened", live.session.id if live.session else "")
        return EventStream(frames_of(boards.hub, live, 0, go_on=True))

    @app.post(
        "/api/board/challenge",
        responses=problems(403, 404, 409, 413, 429) | stream_of("ChallengeEvent"),
        response_class=Response,
    )
    async def challenge(request: Request, asked: wire.ChallengeRequest) -> EventStream:
        boards, client = _boards(request), client_of(request)
        if asked.session_id is not None:
            live = await boards.live(asked.session_id, client)
        else:
            exchanges = payloads.exchanges_of(asked.prior_challenges)
            said = Said(asked.persona_id, asked.initial_response, exchanges)
            answers = payloads.answers_of(asked.answers)
            live = await boards.detached_challenge(asked.decision, answers, said, client)
        await note(request, "challenged", asked.session_id)
        reply = boards.challenge(live, asked.persona_id, asked.challenge_text)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(reply.aclose)
            # A reply that fails before its first word is an ordinary answer with a status.
            first = await anext(reply)
            if isinstance(first, ChallengeReplyError):
                raise Refused(first.kind, first.message, first.retry_after)
            kept = stack.pop_all()
        return EventStream(_reply(first, reply, kept))

    @app.post("/api/board/brief", responses=problems(403, 404, 409, 413, 429))
    async def brief(request: Request, asked: wire.BriefRequest) -> wire.BriefOut:
        boards, client = _boards(request), client_of(request)
        if asked.session_id is not None:
            live = await boards.live(asked.session_id, client)
        else:
            said = tuple(
                Said(r.persona_id, r.content, payloads.exchanges_of(r.challenges))
                for r in asked.responses
                if r.is_complete and r.content.strip()
            )
            if not said:
                raise InvalidInput("responses", "none of them is complete")
            answers = payloads.answers_of(asked.answers)
            live = await boards.detached_brief(asked.decision, answers, said, client)
        await note(request, "asked for a brief", asked.session_id)
        state = await while_there(request.receive, boards.brief(live))
        if state.brief_failure is not None:
            failure = state.brief_failure
            raise Refused(failure.kind, failure.message, failure.retry_after)
        if state.brief is None and state.stopped:
            raise NotNow("The board is stopped: go on with it first")
        if state.brief is None:
            raise IllegalMove("A brief", str(state.step))
        return wire.BriefOut(brief=state.brief, cited=payloads.brief_cited(state))


async def _reply(
    first: ReplyFrame, reply: AsyncGenerator[ReplyFrame], kept: contextlib.AsyncExitStack
) -> AsyncGenerator[bytes]:
    async with kept:
        yield event(first)
        async for frame in reply:
            yield event(StreamError(frame.message) if isinstance(frame, ChallengeReplyError) else frame)


# -- sessions ------------------------------------------------------------------------------------


def _session_routes(app: FastAPI) -> None:
    @app.get("/api/board/sessions", responses=problems())
    async def sessions(request: Request, asked: Annotated[wire.PageQuery, Query()]) -> wire.SessionsOut:
        """With `search`, those whose title or decision has all of its words."""
        boards = _boards(request)
        listed = []
        found, following = await page_of(boards.list_sessions, asked)
        driven = await boards.hub.driven([session.id for session in found])
        for session in found:
            with contextlib.suppress(FileDamaged):
                state = await boards.state(session)
                listed.append(payloads.summary(session, state, live=session.id in driven))
        return wire.SessionsOut(sessions=listed, next=following)

    @app.get("/api/board/sessions/{session_id}", responses=problems(404))
    async def session(request: Request, session_id: wire.SessionId) -> wire.SessionOut:
        boards = _boards(request)
        found = await boards.session(session_id)
        state = await boards.state(found)
        body = payloads.session(
            found,
            state,
            live=bool(await boards.hub.driven([session_id])),
            tiny=boards.tiny(state.model),
            last_event_id=await boards.settled_frames(found, state),
        )
        return wire.SessionOut(session=body)

    @app.post(
        "/api/board/sessions/{session_id}/retry",
        status_code=202,
        responses=problems(403, 404, 409, 413, 429),
        response_class=Response,
    )
    async def retry(request: Request, session_id: wire.SessionId, asked: wire.RetryRequest) -> Response:
        await _boards(request).retry(session_id, asked.persona_id, client_of(request))
        await note(request, "retried", session_id)
        return Response(status_code=202)

    @app.post(
        "/api/board/sessions/{session_id}/stop",
        status_code=204,
        responses=problems(403, 404, 409, 413),
        response_class=Response,
    )
    async def stop(request: Request, session_id: wire.SessionId, asked: wire.StopRequest) -> Response:
        await _boards(request).stop(session_id, asked.persona_id)
        await note(request, "stopped", session_id)
        return Response(status_code=204)

    @app.post(
        "/api/board/sessions/{session_id}/go-on",
        status_code=202,
        responses=problems(403, 404, 409, 429),
        response_class=Response,
    )
    async def go_on(request: Request, session_id: wire.SessionId) -> Response:
        await _boards(request).go_on(session_id, client_of(request))
        await note(request, "went on with", session_id)
        return Response(status_code=202)

    @app.get(
        "/api/board/sessions/{session_id}/events",
        responses=problems(404, 429) | stream_of("SessionEvent"),
        response_class=Response,
    )
    async def events(
        request: Request,
        session_id: wire.SessionId,
        last_event_id: Annotated[int | None, Header(ge=0, le=2**31 - 1)] = None,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> EventStream:
        """To open a session spends nothing: one that rests is left resting. Whoever was cut off takes it up
        with `Last-Event-ID`; then it goes on, unless somebody has stopped it."""
        boards = _boards(request)
        takes_up = last_event_id is not None
        live = await boards.live(session_id, client_of(request), looks=not takes_up)
        return EventStream(frames_of(boards.hub, live, max(last_event_id or 0, after), go_on=takes_up))

    @app.get(
        "/api/board/sessions/{session_id}/export",
        responses=problems(404, 409) | EXPORT,
        response_class=Response,
    )
    async def export(
        request: Request,
        session_id: wire.SessionId,
        format: Literal["md", "json", "html"] = "md",  # noqa: A002
        part: Literal["all", "brief"] = "all",
    ) -> Response:
        """`part=brief` is the brief alone, as Markdown."""
        boards = _boards(request)
        found = await boards.session(session_id)
        state = await boards.state(found)
        if part == "brief" and state.brief is None:
            raise IllegalMove("A brief", str(state.step))
        await note(request, "exported", session_id)
        facts: dict[str, Any] = {
            "session_id": found.id,
            "when": found.created_at,
            "tiny": boards.tiny(state.model),
            "title": found.name,
        }
        name = {"content-disposition": f'attachment; filename="{found.id}.{format}"'}
        if format == "json":
            return JSONResponse(record.board_json(state, **facts), headers=name)
        if format == "html":
            return HTMLResponse(record.board_html(state, **facts), headers=name)
        if part == "brief":
            text = record.brief_markdown(state, tiny=facts["tiny"])
        else:
            text = record.board_markdown(state, **facts)
        return PlainTextResponse(text, headers=name, media_type="text/markdown")


def _upkeep_routes(app: FastAPI) -> None:
    """What a person does to a session in which nobody speaks."""

    @app.patch(
        "/api/board/sessions/{session_id}",
        status_code=204,
        responses=problems(403, 404, 413),
        response_class=Response,
    )
    async def change(request: Request, session_id: wire.SessionId, asked: wire.SessionChange) -> Response:
        await _boards(request).change(session_id, title=asked.title, pinned=asked.pinned)
        await note(request, "renamed or pinned", session_id)
        return Response(status_code=204)

    @app.delete("/api/board/sessions/{session_id}", status_code=204, responses=problems(403, 404))
    async def delete(request: Request, session_id: wire.SessionId) -> Response:
        await _boards(request).delete(session_id)
        await note(request, "deleted", session_id)
        return Response(status_code=204)

    @app.post(
        "/api/board/sessions/{session_id}/conditions",
        status_code=204,
        responses=problems(403, 404, 409, 413),
        response_class=Response,
    )
    async def tick(request: Request, session_id: wire.SessionId, asked: wire.ConditionRequest) -> Response:
        await _boards(request).tick(session_id, asked.condition, ticked=asked.ticked)
        await note(request, "ticked a condition", session_id)
        return Response(status_code=204)
