"""Runs the MCP server: over this process's stdin and stdout, or over HTTP on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings

from moot.surfaces.http_server import MAX_BODY, HttpServer, listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.config import ServerSettings
    from moot.surfaces.mcp.server import Server

LOOPBACK = "127.0.0.1"
_PATH = "/mcp"


async def serve_http(
    server: Server, port: int, settings: ServerSettings, ready: Callable[[str], None]
) -> None:
    """Serves until it is told to stop. `ready` is told the address, once it is open."""
    listening = listen(LOOPBACK, port)
    port = listening.getsockname()[1]
    # Any page in the user's browser can reach loopback, also by a name of its own: only requests to this very
    # server are heard, and of pages only its own, of which there are none.
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(
        streamable_http_path=_PATH, transport_security=security, max_request_body_size=MAX_BODY
    )
    opened = f"http://{LOOPBACK}:{port}{_PATH}"
    await HttpServer(app, settings, lambda: ready(opened)).serve(sockets=[listening])
