"""The HTTP interface: routes, statuses, and the page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse
from pydantic.alias_generators import to_camel
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException

from moot import __version__, records
from moot.application import Moot
from moot.boards import Boards, Said, opened_boards
from moot.engine import Live, NotReplied, Replied, Word
from moot.errors import (
    AnswersExhausted,
    FileDamaged,
    IllegalMove,
    InvalidInput,
    MootError,
    NotFound,
    ProviderFailed,
    SessionMoved,
    UserMistake,
)
from moot.examination import BETTER_MODEL
from moot.flows.board import Step
from moot.frames import usage
from moot.surfaces.web import reference, wire
from moot.surfaces.web.guards import HEADERS, LOOPBACK, Guards
from moot.surfaces.web.streams import EventStream, event, numbered

T = TypeVar("T")

PAGE = (Path(__file__).parent / "static").resolve()

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": wire.Problem, "description": text}
    for code, text in {
        400: "Something in the request cannot be taken; the sentence names the field.",
        401: "The server is open to a network and wants its token.",
        403: "The request comes from another site.",
        404: "There is no such session.",
        409: "The session is not at a point where that is possible.",
        413: "The body is larger than 1 MiB.",
        429: "The model's provider asks to wait; Retry-After says how long, where it is known.",
        500: "Something failed on this side.",
        503: "No model can be reached, or its key is refused.",
    }.items()
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events.",
        "content": {
            "text/event-stream": {
                "itemSchema": {
                    "type": "object",
                    "required": ["data"],
                    "properties": {
                        "id": {"type": "string", "pattern": "^[0-9]+$"},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                }
            }
        },
    }
}


_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The record of the session.",
        "content": {
            "text/markdown": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "text/html": {"schema": {"type": "string"}},
        },
    }
}


def _problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: _PROBLEMS[code] for code in (400, 401, *codes, 500)}


class _App(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Without the status that FastAPI says of every route that takes something: ours is 400."""
        if self.openapi_schema is None:
            document = super().openapi()
            for operations in document["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
            for unused in ("HTTPValidationError", "ValidationError"):
                document["components"]["schemas"].pop(unused, None)
        assert self.openapi_schema is not None
        return self.openapi_schema


def create_app(
    moot: Moot, *, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None, grace: float = 3.0
) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opened_boards(moot, grace) as boards:
            app.state.boards = boards
            yield

    app = _App(
        title="moot",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Guards, hosts=hosts, token=token, max_body=wire.MAX_BODY)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(MootError, _failed)
    app.add_exception_handler(Exception, _broken)
    _board_routes(app, moot)
    _session_routes(app)
    _page_routes(app)
    return app


def _boards(request: Request) -> Boards:
    boards: Boards = request.app.state.boards
    return boards


# -- the board -----------------------------------------------------------------------------------


def _board_routes(app: FastAPI, moot: Moot) -> None:
    @app.get("/api/board/personas", responses=_problems())
    async def personas(request: Request, panel: wire.Id = "board") -> wire.PersonasOut:
        return wire.PersonasOut(
            personas=[
                wire.PersonaOut(
                    id=persona.id,
                    name=persona.name,
                    role=persona.role,
                    contribution_type=str(persona.contribution),
                    rubric={
                        to_camel(name): wire.Scored(score=dimension.score, note=dimension.note)
                        for name, dimension in persona.rubric.dimensions()
                    },
                )
                for persona in _boards(request).advisors(panel)
            ]
        )

    @app.get("/api/model", responses=_problems(503))
    async def model() -> wire.ModelOut:
        used = await moot.model_in_use()
        return wire.ModelOut(
            model=used.name, tiny=used.tiny, reason=used.reason, advice=BETTER_MODEL if used.weights else ""
        )

    @app.post("/api/board/questions", responses=_problems(403, 413, 429, 503))
    async def questions(request: Request, asked: wire.QuestionsRequest) -> wire.QuestionsOut:
        state = await _while_there(request, _boards(request).questions(asked.decision))
        if state.questions_failure is not None:
            failure = state.questions_failure
            raise _Refused(failure.kind, failure.message, failure.retry_after)
        return wire.QuestionsOut(
            questions=[
                wire.QuestionOut(id=q.id, question=q.question, hint=q.hint or None)
                for q in state.questions or ()
            ]
        )

    @app.post(
        "/api/board/session",
        responses=_problems(403, 413, 429, 503) | _STREAM,
        response_class=Response,
    )
    async def session(request: Request, asked: wire.SessionRequest) -> EventStream:
        boards = _boards(request)
        answers = wire.answers_of(asked.answers)
        live = await boards.convene(asked.decision, answers, asked.panel, asked.mode)
        return EventStream(_frames(boards, live, 0))

    @app.post(
        "/api/board/challenge",
        responses=_problems(403, 404, 409, 413, 429, 503) | _STREAM,
        response_class=Response,
    )
    async def challenge(request: Request, asked: wire.ChallengeRequest) -> EventStream:
        boards = _boards(request)
        if asked.session_id is not None:
            live = await boards.live(asked.session_id)
        else:
            exchanges = wire.exchanges_of(asked.prior_challenges)
            said = Said(asked.persona_id, asked.initial_response, exchanges)
            live = await boards.detached_challenge(asked.decision, wire.answers_of(asked.answers), said)
        heard = live.challenge(asked.persona_id, asked.challenge_text)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(heard.aclose)  # type: ignore[attr-defined]
            # A reply that fails before its first word is an ordinary answer with a status.
            first = await anext(heard)
            if isinstance(first, NotReplied):
                raise _Refused(first.kind, first.message, first.retry_after)
            kept = stack.pop_all()
        return EventStream(_reply(boards, live, first, heard, kept))

    @app.post("/api/board/brief", responses=_problems(403, 404, 409, 413, 429, 503))
    async def brief(request: Request, asked: wire.BriefRequest) -> wire.BriefOut:
        boards = _boards(request)
        if asked.session_id is not None:
            live = await boards.live(asked.session_id)
        else:
            said = tuple(
                Said(r.persona_id, r.content, wire.exchanges_of(r.challenges))
                for r in asked.responses
                if r.is_complete and r.content.strip()
            )
            if not said:
                raise InvalidInput("responses", "none of them is complete")
            live = await boards.detached_brief(asked.decision, wire.answers_of(asked.answers), said)
        async with live.listening(boards.engine.grace):
            state = await _while_there(request, live.brief())
        body = wire.brief_body(state)
        if state.brief_failure is not None:
            failure = state.brief_failure
            raise _Refused(failure.kind, failure.message, failure.retry_after)
        if body is None:
            raise IllegalMove("A brief", str(state.step))
        return wire.BriefOut(brief=body)


async def _while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What is done for a client who waits, and dropped when they leave: an answer that nobody reads is not
    paid for."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(499, "The client has left.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _frames(boards: Boards, live: Live, after: int) -> AsyncIterator[bytes]:
    async for batch in boards.engine.stream(live, after):
        yield numbered(batch)
    yield event({"type": "idle"})


async def _reply(
    boards: Boards, live: Live, first: Any, heard: AsyncIterator[Any], kept: contextlib.AsyncExitStack
) -> AsyncIterator[bytes]:
    async with kept, live.listening(boards.engine.grace):
        yield _reply_event(first)
        async for one in heard:
            yield _reply_event(one)


def _reply_event(heard: Word | Replied | NotReplied) -> bytes:
    match heard:
        case Word(text):
            return event({"type": "challenge_reply_token", "token": text})
        case Replied(spoken):
            return event({"type": "challenge_reply_complete", "usage": usage(spoken)})
        case NotReplied(_, message):
            return event({"type": "error", "message": message})


# -- sessions ------------------------------------------------------------------------------------


def _session_routes(app: FastAPI) -> None:
    @app.get("/api/board/sessions", responses=_problems())
    async def sessions(request: Request) -> wire.SessionsOut:
        boards = _boards(request)
        listed = []
        for session in await boards.sessions():
            with contextlib.suppress(FileDamaged):
                state = await boards.state(session)
                listed.append(
                    wire.SessionSummary(
                        id=session.id,
                        decision=state.decision,
                        step=str(state.step),
                        persona_count=len(state.advisors),
                        complete_count=sum(a.text is not None for a in state.advisors),
                        challenge_count=sum(len(a.replied) for a in state.advisors),
                        has_brief=state.brief is not None,
                        model=state.model,
                        created_at=session.created_at.isoformat(),
                        updated_at=session.updated_at.isoformat(),
                    )
                )
        return wire.SessionsOut(sessions=listed)

    @app.get("/api/board/sessions/{session_id}", responses=_problems(404))
    async def session(request: Request, session_id: wire.SessionId) -> wire.SessionOut:
        boards = _boards(request)
        found = await boards.session(session_id)
        live = boards.engine.found(session_id)
        state = live.state if live else await boards.state(found)
        body = wire.SessionBody(
            id=found.id,
            decision=state.decision,
            answers=[wire.Answered(question=a.question, answer=a.answer) for a in state.answers],
            mode=state.mode,
            model=state.model,
            tiny=boards.tiny(state.model),
            step=str(state.step),
            personas=[wire.member(a.member) for a in state.advisors],
            responses=[wire.response(a) for a in state.advisors],
            brief=wire.brief_body(state),
            brief_stale=state.brief_stale,
            brief_error=state.brief_failure.message if state.brief_failure else None,
            usage=wire.total(state.bills),
            live=bool(live and live.driving) or state.step in (Step.ADVISORS, Step.BRIEF),
            last_event_id=await boards.settled_frames(found, state),
            created_at=found.created_at.isoformat(),
            updated_at=found.updated_at.isoformat(),
        )
        return wire.SessionOut(session=body)

    @app.delete("/api/board/sessions/{session_id}", status_code=204, responses=_problems(403, 404))
    async def delete(request: Request, session_id: wire.SessionId) -> Response:
        await _boards(request).delete(session_id)
        return Response(status_code=204)

    @app.post(
        "/api/board/sessions/{session_id}/retry",
        status_code=202,
        responses=_problems(403, 404, 409, 413),
        response_class=Response,
    )
    async def retry(request: Request, session_id: wire.SessionId, asked: wire.RetryRequest) -> Response:
        await _boards(request).retry(session_id, asked.persona_id)
        return Response(status_code=202)

    @app.get(
        "/api/board/sessions/{session_id}/events",
        responses=_problems(404) | _STREAM,
        response_class=Response,
    )
    async def events(
        request: Request,
        session_id: wire.SessionId,
        last_event_id: Annotated[int, Header(ge=0, le=2**31 - 1)] = 0,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> EventStream:
        boards = _boards(request)
        live = await boards.live(session_id)
        return EventStream(_frames(boards, live, max(last_event_id, after)))

    @app.get(
        "/api/board/sessions/{session_id}/export", responses=_problems(404) | _EXPORT, response_class=Response
    )
    async def export(
        request: Request,
        session_id: wire.SessionId,
        format: Literal["md", "json", "html"] = "md",  # noqa: A002
    ) -> Response:
        boards = _boards(request)
        found = await boards.session(session_id)
        state = await boards.state(found)
        facts: dict[str, Any] = {"session_id": found.id, "when": found.created_at}
        name = {"content-disposition": f'attachment; filename="{found.id}.{format}"'}
        if format == "json":
            return JSONResponse(records.board_json(state, **facts), headers=name)
        if format == "html":
            return HTMLResponse(records.board_html(state, **facts), headers=name)
        text = records.board_markdown(state, **facts)
        return PlainTextResponse(text, headers=name, media_type="text/markdown")


# -- the page ------------------------------------------------------------------------------------


class _PagePath(PathConvertor):
    """All that is not the interface's: what is unknown there is not found, whatever the method."""

    regex = "(?!api(/|$)).*"


register_url_convertor("page", _PagePath())


def _page_routes(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        """The OpenAPI document to read: drawn here, because the usual viewers load scripts from elsewhere."""
        return HTMLResponse(reference.page(request.app.openapi()))

    @app.get("/healthz", responses={400: _PROBLEMS[400]})
    async def healthz() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/{path:page}", include_in_schema=False)
    async def page(path: str) -> Response:
        """A file of the page, or the page itself: it knows its own addresses."""
        file = _file_of_the_page(path)
        if file is not None:
            forever = (
                {"cache-control": "public, max-age=31536000, immutable"} if "assets" in file.parts else {}
            )
            return FileResponse(file, headers=forever)
        if not (PAGE / "index.html").is_file():
            return PlainTextResponse("The page has not been built: run `make run`.", status_code=404)
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})


def _file_of_the_page(path: str) -> Path | None:
    try:
        file = (PAGE / path).resolve()
        return file if file.is_relative_to(PAGE) and file.is_file() else None
    except (OSError, ValueError):
        # No file can have that name: it is too long, or has a NUL in it.
        return None


# -- what went wrong -----------------------------------------------------------------------------

_STATUS = {"RateLimited": 429, "KeyRefused": 503, "Unreachable": 503, "NoLocalModel": 503}


class _Refused(HTTPException):
    """A model's failure before the answer began."""

    def __init__(self, kind: str, message: str, retry_after: float | None) -> None:
        headers = {"Retry-After": str(round(retry_after))} if retry_after else None
        super().__init__(_STATUS.get(kind, 500), message or "The model gave no answer.", headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"error": _sentence(error)}, 400)


def _sentence(error: RequestValidationError) -> str:
    problem = error.errors()[0]
    if problem["type"] == "json_invalid":
        return "The body is no valid JSON."
    if isinstance(error.body, bytes):
        return "The body must be JSON and sent as application/json."
    where = [part for part in problem["loc"] if part not in ("body", "query", "path", "header")]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    said = str(problem["msg"])
    if problem["type"] == "string_pattern_mismatch" and "\0" in problem["input"]:
        said = "must not contain NUL characters"
    elif problem["type"] == "string_pattern_mismatch" or said == "String should have at least 1 character":
        said = "must not be empty"
    return f"{name or 'The body'}: {said}."


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)


async def _failed(_: Request, error: Exception) -> JSONResponse:
    headers: dict[str, str] = {}
    if isinstance(error, NotFound):
        status = 404
    elif isinstance(error, IllegalMove | SessionMoved):
        status = 409
    elif isinstance(error, UserMistake) and not isinstance(error, AnswersExhausted):
        status = 400
    else:
        status = _STATUS.get(type(error).__name__, 500)
    if isinstance(error, ProviderFailed) and error.retry_after:
        headers["Retry-After"] = str(round(error.retry_after))
    return JSONResponse({"error": str(error)}, status, headers=headers)


async def _broken(_: Request, _error: Exception) -> JSONResponse:
    """A mistake of ours: it is in the log. This answer is given outside the guards."""
    return JSONResponse({"error": "Something failed on this side."}, 500, headers=HEADERS)
