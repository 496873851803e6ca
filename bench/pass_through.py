"""The least that a server of boards can do: asks the model eight times, copies the bytes to one event stream,
and asks for a brief. It decodes nothing, keeps nothing, lets go when its client leaves, and runs on what moot
runs on: uvicorn and aiohttp.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import aiohttp
import uvicorn

ADVISORS = 8

_QUESTION = {
    "model": "stub-model",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [
        {"role": "system", "content": "You are an advisor."},
        {"role": "user", "content": "Should we?"},
    ],
}
_VIEW = json.dumps(_QUESTION).encode()
_BRIEF = json.dumps({**_QUESTION, "response_format": {"type": "json_schema"}}, separators=(",", ":")).encode()


class PassThrough:
    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        copying = asyncio.ensure_future(self._board(send))
        leaving = asyncio.ensure_future(_left(receive))
        await asyncio.wait((copying, leaving), return_when=asyncio.FIRST_COMPLETED)
        for task in (copying, leaving):
            task.cancel()
        await asyncio.gather(copying, leaving, return_exceptions=True)

    async def _board(self, send: Any) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await asyncio.gather(*(self._copy(_VIEW, send) for _ in range(ADVISORS)))
        await self._copy(_BRIEF, send)
        await send({"type": "http.response.body"})

    async def _copy(self, body: bytes, send: Any) -> None:
        assert self._session is not None
        headers = {"content-type": "application/json"}
        async with self._session.post(self._url, data=body, headers=headers) as response:
            async for data in response.content.iter_any():
                await send({"type": "http.response.body", "body": data, "more_body": True})


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def main() -> None:
    listening = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(PassThrough(sys.argv[1]), log_level="warning", lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
