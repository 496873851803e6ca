"""What all peers have in common: FastAPI, a queue into which eight tasks put an event for every token, and a
brief at the end. What differs between them is how a model is asked.

When a client leaves, the tasks are cancelled: whoever writes such a server well does that.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

ADVISORS = 8
SYSTEM, QUESTION = "You are an advisor.", "Should we?"

Ask = Callable[[], AsyncIterator[str]]
"""Asks the model for a view: its words as they come."""

Brief = Callable[[], Awaitable[None]]
"""Asks it for a typed brief, and waits for the whole."""


def board(ask: Ask, brief: Brief) -> FastAPI:
    app = FastAPI()

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/api/board/session")
    async def session() -> StreamingResponse:
        return StreamingResponse(_events(ask, brief), media_type="text/event-stream")

    return app


async def _events(ask: Ask, brief: Brief) -> AsyncIterator[str]:
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    async def advisor(number: int) -> None:
        async for text in ask():
            queue.put_nowait(_event(type="persona_token", personaId=number, token=text))

    async def whole() -> None:
        try:
            async with asyncio.TaskGroup() as advisors:
                for number in range(ADVISORS):
                    advisors.create_task(advisor(number))
            await brief()
            queue.put_nowait(_event(type="brief_complete"))
        finally:
            queue.put_nowait(None)

    working = asyncio.create_task(whole())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def _event(**fields: object) -> str:
    return f"data: {json.dumps(fields)}\n\n"


def serve(app: FastAPI, port: int) -> None:
    listening = socket.create_server(("127.0.0.1", port))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", loop="uvloop", http="httptools")
    uvicorn.Server(config).run(sockets=[listening])
