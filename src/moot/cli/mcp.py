"""`moot mcp`: the tools of moot for other agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import call_as, command

if TYPE_CHECKING:
    from moot.app import Moot

PORT = 8643


def _call_as_agentd(wanted: bool) -> None:
    """For a reviewer's configuration, which can name options but not the program that was called."""
    if wanted:
        call_as("agentd")


@command("model workspace database", serves=True)
async def mcp(
    moot: Moot,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP on loopback instead of stdin and stdout.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            help=f"With --http: where to listen (default: {PORT}); 0 takes a free one.", min=0, max=65535
        ),
    ] = None,
    change: Annotated[
        str | None,
        typer.Option("--change", metavar="ID", help="Only the review tools, and only for this change."),
    ] = None,
    run_id: Annotated[str, typer.Option("--run", hidden=True)] = "",
    desk: Annotated[Path | None, typer.Option("--desk", hidden=True)] = None,
    agentd: Annotated[  # noqa: ARG001
        bool, typer.Option("--agentd", hidden=True, callback=_call_as_agentd)
    ] = False,
) -> None:
    """Serve moot's tools to other agents, over MCP.

    claude mcp add --scope user moot -- /path/to/moot mcp
    """
    from moot.mcp.server import create_desk_server, create_server
    from moot.mcp.serving import serve_http, serve_stdio
    from moot.telemetry import logs

    if port is not None and not http:
        raise typer.BadParameter("is for --http; stdin and stdout have no port", param_hint="--port")
    # Before the package sets up its own, which draws tables. To stderr: stdout is the protocol's.
    logs.set_up("text")

    def log(line: str) -> None:
        screen.say(f"The client {line}", "dim")

    server = create_server(moot, change, log, run_id) if desk is None else create_desk_server(moot, desk, log)
    if http:
        await serve_http(
            server,
            PORT if port is None else port,
            moot.config.user.server,
            lambda address: screen.say(f"moot's MCP server is at {address}  (Ctrl-C to stop)"),
        )
    else:
        await serve_stdio(server)
