"""`moot serve`: the web page and the HTTP interface."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import DatabaseOption, LogFormatOption, ModelOption, WorkspaceOption, run

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from moot.app import Moot

NEEDS_POSTGRESQL = (
    "several processes share their sessions through PostgreSQL: give its address with --database or "
    "MOOT_DATABASE, as in postgresql://user@host/moot"
)


def serve(
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond loopback, a token is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8642,
    open_page: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the page in a browser (default: if there is a screen)."),
    ] = None,
    grace: Annotated[
        float | None, typer.Option(help="Seconds that a session goes on without a listener (3).", min=0)
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Server processes on this port; several need PostgreSQL.", min=1, max=256)
    ] = 1,
    work: Annotated[
        bool, typer.Option("--work/--no-work", help="With PostgreSQL: drive sessions, or leave it to others.")
    ] = True,
    supervised: Annotated[str, typer.Option(hidden=True)] = "",
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name under which others reach this server, through a proxy. Requires a token."),
    ] = None,
    log_format: LogFormatOption = None,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Serve the web page and the HTTP interface."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.errors import InvalidInput
        from moot.telemetry import logs
        from moot.web.serving import Served, serve_several
        from moot.web.serving import serve as serving
        from moot.web.supervising import Supervised

        chosen = log_format.value if log_format else moot.config.user.telemetry.log_format
        logs.set_up(chosen)

        def ready(address: str) -> None:
            if chosen == "json":
                logs.note(f"moot is at {address}")
            else:
                screen.say(f"moot is at {address}  (Ctrl-C to stop)")
            if _has_screen() if open_page is None else open_page:
                import webbrowser

                webbrowser.open(address)

        several = workers > 1 or not work
        if several and not moot.shared_database:
            raise InvalidInput("--workers" if workers > 1 else "--no-work", NEEDS_POSTGRESQL)
        names = tuple(name or moot.config.user.server.names)
        served = Served(host, port, names, grace, "all" if work else "none")
        if workers > 1:
            await serve_several(moot, served, workers, _arguments_for_each(), ready)
            return 1
        await serving(moot, served, ready, Supervised(supervised) if supervised else None)
        return 0

    run(command, workspace=workspace, model=model, database=database, loop=fast_loop(), serves=True)


def _arguments_for_each() -> list[str]:
    """This command line, for one process of several."""
    arguments = sys.argv[1:]
    for place, said in enumerate(arguments):
        if said == "--workers":
            del arguments[place : place + 2]
            break
        if said.startswith("--workers="):
            del arguments[place]
            break
    return arguments


def fast_loop() -> Callable[[], AbstractEventLoop] | None:
    """uvloop, where there is one: it takes a good part of the cost of every token."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def _has_screen() -> bool:
    """A browser in a terminal would take the terminal over."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
