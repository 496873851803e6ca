"""Requests and open streams, as those who run moot are told of them. Plain ASGI.

Where nobody watches, nothing comes between a stream and its listener.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moot.telemetry import Served, watching

if TYPE_CHECKING:
    from moot.telemetry.watch import Watch


class Watched:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = watching()
        if watch is None or scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            await self._watched(watch, scope, receive, send)

    async def _watched(self, watch: Watch, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        request = Served(scope["method"], headers)
        with watch.served(request), ExitStack() as streaming:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    request.status = message["status"]
                    request.streamed = any(
                        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                        for name, value in message["headers"]
                    )
                    if request.streamed:
                        streaming.enter_context(watch.streaming())
                await send(message)

            try:
                await self._app(scope, receive, sending)
            finally:
                request.route = getattr(scope.get("route"), "path", "")
                request.session = scope.get("path_params", {}).get("session_id", "")
