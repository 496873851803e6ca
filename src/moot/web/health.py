"""Whether this server can do its work, for load balancers and those who restart what is broken.

`/healthz` says that the process answers, and no more: what is wrong elsewhere is no reason to restart it.
`/readyz` says whether it can take sessions now, and writes to find out. Models are not asked: each costs, and
none is the server's.
"""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from moot import __version__
from moot.errors import MootError
from moot.sessions import Sessions
from moot.web import wire
from moot.web.openapi import PROBLEMS

PATIENCE_SECONDS = 2.0

_NOT_READY = {"model": wire.Problem, "description": "Sessions cannot be taken now; the sentence says why."}


def add_health(app: FastAPI) -> None:
    check = _Check()

    @app.get("/healthz", responses={400: PROBLEMS[400]})
    async def healthz() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/readyz", responses={400: PROBLEMS[400], 503: _NOT_READY}, response_model=dict[str, str])
    async def readyz(request: Request) -> Response:
        problem = await _problem(getattr(request.app.state, "sessions", None), check)
        if problem:
            return JSONResponse({"error": problem}, 503)
        return JSONResponse({"status": "ready", "version": __version__})


class _Check:
    """One look at the database for all who ask at the same time: anybody may ask, and it is a write."""

    def __init__(self) -> None:
        self._looking: asyncio.Task[None] | None = None

    async def look(self, sessions: Sessions) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(sessions.check_store())
            # Whoever asked may be gone by the time it fails.
            self._looking.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._looking)


async def _problem(sessions: Sessions | None, check: _Check) -> str:
    if sessions is None or not sessions.hub.running:
        return "The engine that drives sessions is not running."
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await check.look(sessions)
    except TimeoutError:
        return f"The database has not answered for {PATIENCE_SECONDS:g} seconds."
    except MootError as error:
        return f"The database cannot be used: {getattr(error, 'problem', error)}."
    return ""
