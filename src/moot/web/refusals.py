"""What went wrong, as an answer: a status and one sentence. Words that are not an error's own are here."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from moot.board.events import STOPPED
from moot.errors import (
    AnswersExhausted,
    Busy,
    IllegalMove,
    KeyReused,
    LimitReached,
    MootError,
    NotAllowed,
    NotFound,
    NotInstalled,
    NotNow,
    ProviderFailed,
    SessionMoved,
    StillEnding,
    UserMistake,
)
from moot.text.faults import fault_of
from moot.web import wire
from moot.web.guards import HEADERS

_STATUS = {
    "RateLimited": 429,
    "LimitReached": 429,
    "KeyRefused": 503,
    "Unreachable": 503,
    "NoLocalModel": 503,
    "NotInstalled": 503,
    "StoreFailed": 503,
    STOPPED: 409,
}
_NO_JSON = "The body is no valid JSON."


class Refused(HTTPException):
    """A model's failure before the answer began."""

    def __init__(self, kind: str, message: str, retry_after: float | None) -> None:
        headers = {"Retry-After": str(round(retry_after))} if retry_after else None
        super().__init__(_STATUS.get(kind, 500), message or "The model gave no answer.", headers)


def add_refusals(app: FastAPI) -> None:
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(MootError, _failed)
    app.add_exception_handler(Exception, _broken)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"error": _sentence(error)}, 400)


def _sentence(error: RequestValidationError) -> str:
    problem = error.errors()[0]
    if problem["type"] == "json_invalid":
        return _NO_JSON
    if isinstance(error.body, bytes):
        return "The body must be JSON and sent as application/json."
    where = [part for part in problem["loc"] if part not in ("body", "query", "path", "header")]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    said = fault_of(problem, wire.FORMS)
    if problem["type"] == "string_pattern_mismatch" and "\0" in problem["input"]:
        said = "must not contain NUL characters"
    return f"{name or 'The body'}: {said}."


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    # FastAPI raises its own for a body that ends its parser, such as one that is nested too deeply.
    is_unread = error.status_code == 400 and error.__cause__ is not None
    said = _NO_JSON if is_unread else str(error.detail)
    return JSONResponse({"error": said}, error.status_code, headers=error.headers)


async def _failed(_: Request, error: Exception) -> JSONResponse:
    headers: dict[str, str] = {}
    if isinstance(error, NotFound):
        status = 404
    elif isinstance(error, NotAllowed):
        status = 403
    elif isinstance(error, Busy | IllegalMove | KeyReused | NotNow | SessionMoved | StillEnding):
        status = 409
    elif isinstance(error, UserMistake) and not isinstance(
        error, AnswersExhausted | LimitReached | NotInstalled
    ):
        status = 400
    else:
        status = _STATUS.get(type(error).__name__, 500)
    if isinstance(error, ProviderFailed | LimitReached) and error.retry_after:
        headers["Retry-After"] = str(round(error.retry_after))
    return JSONResponse({"error": str(error)}, status, headers=headers)


async def _broken(_: Request, _error: Exception) -> JSONResponse:
    """A mistake of ours: it is in the log. This answer is given outside the guards."""
    return JSONResponse({"error": "Something failed on this side."}, 500, headers=HEADERS)
