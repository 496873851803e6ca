"""Routes for what sessions of any format are going to cost, and have cost."""

from __future__ import annotations

from fastapi import FastAPI, Request

from moot.sessions.wire import CostOut, EstimateOut, cost_out, estimate_out
from moot.web import session_wire, wire
from moot.web.callers import sessions_of
from moot.web.giving import gathered
from moot.web.openapi import problems


def add_costs(app: FastAPI) -> None:
    @app.post("/api/estimate", responses=problems(403, 404, 409, 413))
    async def estimate(request: Request, asked: session_wire.OpenRequest) -> EstimateOut:
        """What a session would cost that was begun with this, until only the person is asked. Nothing is
        kept, and no model is asked."""
        given = await gathered(request, asked.evidence)
        return estimate_out(await sessions_of(request).estimate(asked.format, asked.opening, given))

    @app.get("/api/sessions/{session_id}/cost", responses=problems(404))
    async def cost(request: Request, session_id: wire.SessionId) -> CostOut:
        """What a session has really cost so far, and what comes next."""
        return cost_out(await sessions_of(request).cost(session_id))
