"""What a session of any format is going to cost, and has cost, over MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moot.mcp.calling import SessionId
from moot.mcp.giving import Given
from moot.mcp.hints import FETCHES, READS
from moot.mcp.sessions import Format, Opening
from moot.sessions.giving import offers_of
from moot.sessions.wire import CostOut, EstimateOut, cost_out, estimate_out

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from moot.core.estimate import Estimate
    from moot.mcp.calling import Calls
    from moot.sessions import Sessions


def add(server: MCPServer[Any], calls: Calls) -> None:
    async def estimate_session(format: Format, opening: Opening, evidence: Given = ()) -> EstimateOut:  # noqa: A002
        async def estimate(sessions: Sessions) -> Estimate:
            return await sessions.estimate(format, opening, await sessions.gather(offers_of(evidence)))

        return estimate_out(await calls.use(estimate))

    async def session_cost(session_id: SessionId) -> CostOut:
        return cost_out(await calls.use(lambda sessions: sessions.cost(session_id)))

    server.add_tool(
        estimate_session,
        title="Estimate a session",
        description="What a session would ask and cost that was begun with the same arguments as in "
        "begin_session, until only the person is asked; of a board, all of it up to the brief. `atLeast` "
        "says that more comes, which nobody knows yet. Keeps nothing and asks no model: tell the person "
        "before you begin something long.",
        annotations=FETCHES,
    )
    server.add_tool(
        session_cost,
        title="What a session has cost",
        description="Every request that was made on a session's account, with the tokens that the provider's "
        "cache has read, their price and what that has saved; and an estimate of what comes next. Asks "
        "nobody anything.",
        annotations=READS,
    )
