"""Routes for sessions of any format. None of them knows one format from another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import FastAPI, Header, Query, Request, Response

from moot.core.flow import PersonAnswered
from moot.errors import StoreFailed
from moot.server import Client, Hub, StreamError
from moot.sessions.giving import given_out
from moot.sessions.wire import Kept, SessionHead, head_of, standing_of
from moot.text.characters import strip_controls
from moot.web import payloads, session_wire, wire
from moot.web.callers import client_of, note, sessions_of
from moot.web.giving import gathered
from moot.web.openapi import problems, stream_of
from moot.web.streams import EventStream, Idle, event, numbered

if TYPE_CHECKING:
    from moot.server.active_session import AnySession
    from moot.sessions.service import Standing

K = TypeVar("K", bound=Kept)


async def frames_of(hub: Hub, live: AnySession, after: int, *, go_on: bool) -> AsyncGenerator[bytes]:
    try:
        async for batch in hub.stream(live, after, go_on=go_on):
            yield numbered(batch)
            del batch  # It would be kept until the next one comes, which may be long.
    except StoreFailed as failed:
        yield event(StreamError(f"{failed}. Nothing is lost: load it again in a moment."))
    yield event(Idle())


async def page_of(
    listing: Callable[..., Awaitable[Sequence[K]]], asked: wire.PageQuery
) -> tuple[Sequence[K], str | None]:
    """A page of a list of sessions, and what `before` is for the next one."""
    after = payloads.Place.of(asked.before) if asked.before else None
    everywhere, search = asked.workspace == "all", strip_controls(asked.search)
    found = await listing(asked.limit + 1, after, everywhere=everywhere, search=search)
    page = found[: asked.limit]
    return page, payloads.place_of(page[-1]) if len(found) > asked.limit else None


def add_sessions(app: FastAPI) -> None:
    _looking(app)
    _doing(app)


def _looking(app: FastAPI) -> None:
    @app.get("/api/formats", responses=problems())
    async def formats(request: Request) -> session_wire.FormatsOut:
        known = sessions_of(request).formats
        return session_wire.FormatsOut(
            formats=[
                session_wire.FormatOut(
                    name=name, opening=one.opening.model_json_schema(), writes_files=one.writes_files
                )
                for name, one in known.items()
            ]
        )

    @app.get("/api/sessions", responses=problems())
    async def sessions(
        request: Request, asked: Annotated[wire.PageQuery, Query()]
    ) -> session_wire.SessionsPage:
        """Of all formats. With `search`, those whose title has all of its words."""
        seen = sessions_of(request)
        found, following = await page_of(seen.list_sessions, asked)
        driven = await seen.hub.driven([session.id for session in found])
        heads = [SessionHead(**head_of(one), live=one.id in driven) for one in found]
        return session_wire.SessionsPage(sessions=heads, next=following)

    @app.get("/api/sessions/{session_id}", responses=problems(404))
    async def session(request: Request, session_id: wire.SessionId) -> session_wire.StandingOut:
        return _out(await sessions_of(request).standing(session_id))

    @app.get(
        "/api/sessions/{session_id}/events",
        responses=problems(404, 429) | stream_of("FormatEvent", "SessionEvent"),
        response_class=Response,
    )
    async def events(
        request: Request,
        session_id: wire.SessionId,
        last_event_id: Annotated[int | None, Header(ge=0, le=2**31 - 1)] = None,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> EventStream:
        """To open a session spends nothing: one that rests is left resting. Whoever was cut off takes it up
        with `Last-Event-ID`; then it goes on, unless somebody has stopped it. A board tells SessionEvents,
        every other format FormatEvents."""
        seen, takes_up = sessions_of(request), last_event_id is not None
        live = await seen.live(session_id, client_of(request), looks=not takes_up)
        return EventStream(frames_of(seen.hub, live, max(last_event_id or 0, after), go_on=takes_up))


def _doing(app: FastAPI) -> None:
    @app.post("/api/sessions", status_code=201, responses=problems(403, 409, 413, 429))
    async def begin(
        request: Request,
        asked: session_wire.OpenRequest,
        idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
    ) -> session_wire.BegunOut:
        """A new session, which rests until `go-on`. Of an item or a workflow that is under way it is the one
        that there is. Where nothing of the evidence can be taken, none is begun."""
        seen = sessions_of(request)
        key = (idempotency_key, payloads.fingerprint(asked)) if idempotency_key else None
        given = await gathered(request, asked.evidence)
        by = Client(client_of(request), key=key)
        live, given = await seen.begin(asked.format, asked.opening, by, given)
        assert live.session is not None
        await note(request, f"began a session of {asked.format}", live.session.id)
        standing = await seen.standing(live.session.id)
        return session_wire.BegunOut(session=_body(standing), given=given_out(given) if given else None)

    @app.post(
        "/api/sessions/{session_id}/answers",
        status_code=202,
        responses=problems(403, 404, 409, 413, 429),
        response_class=Response,
    )
    async def answer(
        request: Request, session_id: wire.SessionId, said: session_wire.AnswerRequest
    ) -> Response:
        given = PersonAnswered(said.text, said.choice)
        await sessions_of(request).answer(session_id, said.step, said.key, given, client_of(request))
        await note(request, "answered", session_id)
        return Response(status_code=202)

    @app.post(
        "/api/sessions/{session_id}/stop",
        status_code=204,
        responses=problems(403, 404, 409),
        response_class=Response,
    )
    async def stop(request: Request, session_id: wire.SessionId) -> Response:
        await sessions_of(request).stop(session_id)
        await note(request, "stopped", session_id)
        return Response(status_code=204)

    @app.post(
        "/api/sessions/{session_id}/go-on",
        status_code=202,
        responses=problems(403, 404, 409, 429),
        response_class=Response,
    )
    async def go_on(request: Request, session_id: wire.SessionId) -> Response:
        await sessions_of(request).go_on(session_id, client_of(request))
        await note(request, "went on with", session_id)
        return Response(status_code=202)

    @app.patch(
        "/api/sessions/{session_id}",
        status_code=204,
        responses=problems(403, 404, 413),
        response_class=Response,
    )
    async def change(request: Request, session_id: wire.SessionId, asked: wire.SessionChange) -> Response:
        await sessions_of(request).change(session_id, title=asked.title, pinned=asked.pinned)
        await note(request, "renamed or pinned", session_id)
        return Response(status_code=204)

    @app.delete("/api/sessions/{session_id}", status_code=204, responses=problems(403, 404, 409))
    async def delete(request: Request, session_id: wire.SessionId) -> Response:
        """Not one whose files are in the workspace."""
        await sessions_of(request).delete(session_id)
        await note(request, "deleted", session_id)
        return Response(status_code=204)


def _out(standing: Standing) -> session_wire.StandingOut:
    return session_wire.StandingOut(session=_body(standing))


def _body(standing: Standing) -> session_wire.StandingBody:
    return session_wire.StandingBody.model_validate(
        {**standing_of(standing), "state": standing.state, "last_event_id": standing.last_frame}
    )
