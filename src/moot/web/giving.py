"""Routes for what sessions of any format are given: evidence, and corrections of what was decided so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, Path, Request

from moot.server.http import MAX_BODY, MAX_EVIDENCE
from moot.sessions.giving import (
    EvidenceIn,
    GivenOut,
    ItemOut,
    LedgerOut,
    given_out,
    ledger_out,
    offers_of,
    read_item,
    struck_out,
)
from moot.web import session_wire, wire
from moot.web.callers import client_of, note, sessions_of
from moot.web.openapi import problems

if TYPE_CHECKING:
    from moot.sessions.giving import Given


_TAKE_EVIDENCE = re.compile(
    r"/api/(?:evidence|estimate|sessions(?:/[^/]+/evidence)?|board/(?:session|questions))"
)


def most_of(path: str) -> int:
    """How large a body may be that is sent there."""
    return MAX_EVIDENCE if _TAKE_EVIDENCE.fullmatch(path) else MAX_BODY


def add_giving(app: FastAPI) -> None:
    @app.post("/api/evidence", responses=problems(403, 413))
    async def weigh(request: Request, asked: session_wire.WeighRequest) -> GivenOut:
        """What would be taken by a new session, what it would cost to read, and what would be left out. Pages
        are fetched for it; nothing is kept, and no model is asked."""
        return given_out(await sessions_of(request).weigh(offers_of(asked.items)))

    @app.post("/api/sessions/{session_id}/evidence", responses=problems(403, 404, 409, 413))
    async def give(request: Request, session_id: wire.SessionId, asked: session_wire.GiveRequest) -> GivenOut:
        """Gives a session evidence, at whatever step it is: whatever is said next knows of it. Each item is
        taken whole or left out, with the reason. Moves nothing on, and asks no model."""
        seen, offers = sessions_of(request), offers_of(asked.items)
        if asked.dry_run:
            return given_out(await seen.weigh(offers, session_id))
        given = await seen.give(session_id, offers, client_of(request))
        await note(request, "gave evidence", session_id)
        return given_out(given)

    @app.get("/api/sessions/{session_id}/evidence/{item}", responses=problems(404))
    async def read(
        request: Request,
        session_id: wire.SessionId,
        item: Annotated[str, Path(pattern=r"^E[0-9]{1,4}$")],
    ) -> ItemOut:
        return read_item(await sessions_of(request).evidence(session_id), item)

    @app.post("/api/sessions/{session_id}/decided", responses=problems(403, 404, 409, 413))
    async def correct(
        request: Request, session_id: wire.SessionId, asked: session_wire.CorrectionRequest
    ) -> LedgerOut:
        """Corrects what was decided so far, strikes an entry, adds one, or undoes that: whatever is said next
        knows of it. You get all of it."""
        ledger, struck = await sessions_of(request).correct(
            session_id, asked.text, asked.key, client_of(request), undo=asked.undo
        )
        await note(request, "corrected what was decided", session_id)
        return LedgerOut(ledger=ledger_out(ledger), struck=struck_out(struck))


async def gathered(request: Request, items: Sequence[EvidenceIn]) -> Given | None:
    """For a session that begins with these. Raises where it would have none of them."""
    return await sessions_of(request).gather(offers_of(items))
