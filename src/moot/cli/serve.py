"""`moot serve`: the web page and the HTTP interface. `moot worker`: drives sessions that servers on the same
PostgreSQL have begun, and serves nobody itself."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moot.cli import screen
from moot.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.app import Moot

LogFormat = Literal["text", "json"]
LogFormatOption = Annotated[
    LogFormat | None, typer.Option(help="How to log: a line when something is wrong, or JSON for everything.")
]

NEEDS_POSTGRESQL = (
    "several processes share their sessions through PostgreSQL: give its address with --database or "
    "MOOT_DATABASE, as in postgresql://user@host/moot"
)


@command("model workspace database", serves=True)
async def serve(
    moot: Moot,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but loopback requires a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8642,
    open_page: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the page in a browser (default: if there is a display)."),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(help="Seconds that a session continues without a listener (default: 3).", min=0),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Server processes on this port; several need PostgreSQL.", min=1, max=256)
    ] = 1,
    work: Annotated[
        bool,
        typer.Option(
            "--work/--no-work", help="With PostgreSQL: drive sessions here, or leave that to workers."
        ),
    ] = True,
    supervised: Annotated[str, typer.Option(hidden=True)] = "",
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name under which others reach this server, through a proxy. Requires a token."),
    ] = None,
    log_format: LogFormatOption = None,
) -> int:
    """Serve the web page and the HTTP interface."""
    from moot.errors import InvalidInput
    from moot.web.serving import Served, serve_several
    from moot.web.serving import serve as serving
    from moot.web.supervising import Supervised

    announce = _log(moot, log_format)

    def ready(address: str) -> None:
        announce(f"moot is at {address}")
        if _has_screen() if open_page is None else open_page:
            import webbrowser

            webbrowser.open(address)

    if (workers > 1 or not work) and not moot.shared_database:
        raise InvalidInput("--workers" if workers > 1 else "--no-work", NEEDS_POSTGRESQL)
    names = tuple(name or moot.config.user.server.names)
    served = Served(host, port, names, grace, "all" if work else "none")
    if workers > 1:
        await serve_several(moot, served, workers, _arguments_for_each(), ready)
        return 1
    await serving(moot, served, ready, Supervised(supervised) if supervised else None)
    return 0


@command("model workspace database", serves=True)
async def worker(moot: Moot, log_format: LogFormatOption = None) -> None:
    """Drive sessions for servers on the same PostgreSQL."""
    import asyncio

    from moot.errors import InvalidInput
    from moot.sessions import open_sessions

    announce = _log(moot, log_format)
    if not moot.shared_database:
        raise InvalidInput("--database", NEEDS_POSTGRESQL)
    async with moot.telemetry(), open_sessions(moot):
        announce("moot works")
        await moot.warm_up()
        await asyncio.get_running_loop().create_future()


def _log(moot: Moot, log_format: LogFormat | None) -> Callable[[str], None]:
    """Sets logging up; what is given back announces that the process is ready."""
    from moot.telemetry import logs

    chosen = log_format or moot.config.user.telemetry.log_format
    logs.set_up(chosen)
    return logs.note if chosen == "json" else lambda line: screen.say(f"{line}  (Ctrl-C to stop)")


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


def _has_screen() -> bool:
    """A browser in a terminal would take the terminal over."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
