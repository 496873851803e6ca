"""`moot mcp`: the tools of moot for other agents, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import DatabaseOption, ModelOption, WorkspaceOption, call_as, run

if TYPE_CHECKING:
    from moot.app import Moot

PORT = 8643


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP on loopback, not stdin and stdout.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            help=f"With --http: where to listen (default: {PORT}); 0 takes a free one.", min=0, max=65535
        ),
    ] = None,
    change: Annotated[
        str | None,
        typer.Option("--change", metavar="ID", help="Only the review tools, and only on this change."),
    ] = None,
    run_id: Annotated[str, typer.Option("--run", hidden=True)] = "",
    agentd: Annotated[bool, typer.Option("--agentd", hidden=True)] = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Serve moot's tools to other agents, over MCP.

    claude mcp add --scope user moot -- /path/to/moot mcp
    """
    if port is not None and not http:
        raise typer.BadParameter("is for --http; stdin and stdout have no port", param_hint="--port")

    if agentd:
        # For a reviewer's configuration, which can name options but not the program that was called.
        call_as("agentd")

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.mcp.server import create_server
        from moot.telemetry import logs

        # Before the package sets up its own, which draws tables. To stderr: stdout is the protocol's.
        logs.set_up("text")
        server = create_server(moot, change, lambda line: screen.say(f"The client {line}", "dim"), run_id)
        if http:
            from moot.mcp.serving import serve_http

            await serve_http(
                server,
                PORT if port is None else port,
                moot.config.user.server,
                lambda address: screen.say(f"moot's MCP server is at {address}  (Ctrl-C to stop)"),
            )
        else:
            from moot.mcp.serving import serve_stdio

            await serve_stdio(server)
        return 0

    run(command, workspace=workspace, model=model, database=database, serves=True)
