"""One request being answered: delays, pace, splits and the end, on a real connection.

Knows sockets and clocks. What is sent comes from reply.py.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import zlib
from dataclasses import replace
from typing import Any

from aiohttp import ClientConnectionResetError, web

from tests.stub.flood import pieces
from tests.stub.reply import Plan, Sending, Wire, plan, refusal, weave, weave_whole
from tests.stub.script import Behaviour, Recorded, Spent

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_CLIENT_TURNS_TO_READING = 0.005
"""After the first of several small chunks: a client that is still busy would find the rest in one."""


class Exchange:
    """One request being answered. Raises CancelledError or a reset when the client leaves."""

    def __init__(self, http: web.Request, request: Recorded, wire: Wire, behaviour: Behaviour) -> None:
        self._http = http
        self._request = request
        self._wire = wire
        self._behaviour = behaviour
        self._gzip = zlib.compressobj(wbits=31) if behaviour.gzip else None
        self.sent = 0
        """Bytes of the body, before compression."""
        self.spent = Spent(0, 0)
        """What a provider would bill for what was sent so far: nothing for an error, and of a reply that
        broke off what had been said by then."""
        self.hurried = False
        """What is still to be said is said at once, with the next token."""

    async def carry_out(self) -> tuple[web.StreamResponse, bool]:
        """The response, and whether it was a whole reply."""
        await asyncio.sleep(self._behaviour.header_delay)
        failure = refusal(self._behaviour, self._request)
        if failure is not None:
            return self._error(failure.status, self._wire.error(failure, self._request)), False
        planned = plan(self._behaviour, self._request)
        if self._request.stream:
            frames = self._wire.frames(planned, self._request)
            return await self._send(
                weave(frames, self._behaviour, self._wire), "text/event-stream; charset=utf-8", planned
            )
        await self._let_time_pass(planned)
        body = json.dumps(self._wire.whole(planned, self._request), ensure_ascii=False).encode()
        return await self._send(weave_whole(body, self._behaviour), "application/json", planned)

    def _error(self, status: int, body: Any) -> web.Response:
        headers = {"request-id": f"req_stub_{self._request.number}"}
        if self._behaviour.retry_after is not None:
            headers["retry-after"] = str(self._behaviour.retry_after)
        if self._behaviour.error_body is not None:
            html = self._behaviour.error_body
            if self._gzip is not None:
                body = self._gzip.compress(html.encode()) + self._gzip.flush()
                headers |= {"content-encoding": "gzip", "content-type": "text/html"}
                return web.Response(status=status, headers=headers, body=body)
            return web.Response(status=status, headers=headers, text=html, content_type="text/html")
        return web.json_response(body, status=status, headers=headers)

    async def _let_time_pass(self, planned: Plan) -> None:
        tokens = sum(len(block.tokens) for block in planned.blocks)
        generating = tokens / self._behaviour.pace if self._behaviour.pace else 0
        await asyncio.sleep(self._behaviour.first_token_delay + generating)

    async def _send(
        self, sending: Sending, content_type: str, planned: Plan
    ) -> tuple[web.StreamResponse, bool]:
        self.spent = replace(planned.spent, output_tokens=0)
        headers = {
            "content-type": content_type,
            "cache-control": "no-cache",
            "request-id": f"req_stub_{self._request.number}",
        }
        if self._gzip is not None:
            headers["content-encoding"] = "gzip"
        response = web.StreamResponse(headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(self._http)
        await self._write(response, sending.frames.head)
        if self._request.stream:
            await asyncio.sleep(self._behaviour.first_token_delay)
        await self._write_tokens(response, sending.frames.tokens)
        await self._write_flood(response)
        await self._write(response, sending.frames.tail)
        if sending.whole:
            self.spent = planned.spent
        if sending.then == "cut":
            self._drop_connection()
        elif sending.then == "stall":
            await self._stall(response)
        else:
            await response.write_eof(self._gzip.flush() if self._gzip is not None else b"")
        return response, sending.whole

    async def _write_tokens(self, response: web.StreamResponse, tokens: tuple[bytes, ...]) -> None:
        pace = self._behaviour.pace if self._request.stream else 0
        if not pace:
            await self._write(response, b"".join(tokens))
            self.spent = replace(self.spent, output_tokens=len(tokens))
            return
        clock = asyncio.get_running_loop().time
        started = clock()
        sent = 0
        while sent < len(tokens):
            # A stub that fell behind catches up: the pace is kept over the whole reply.
            due = len(tokens) if self.hurried else max(sent + 1, int((clock() - started) * pace) + 1)
            await self._write(response, b"".join(tokens[sent:due]))
            sent = due
            self.spent = replace(self.spent, output_tokens=min(sent, len(tokens)))
            if sent < len(tokens):
                await asyncio.sleep(started + sent / pace - clock())

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        if not data:
            return
        self.sent += len(data)
        if self._gzip is not None:
            data = self._gzip.compress(data) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        step = self._behaviour.split or len(data)
        for start in range(0, len(data), step):
            await response.write(data[start : start + step])
            if self._behaviour.split:
                await asyncio.sleep(_CLIENT_TURNS_TO_READING if start == 0 else 0)

    async def _write_flood(self, response: web.StreamResponse) -> None:
        if self._behaviour.flood is None:
            return
        flooding = pieces(self._behaviour.flood, self._request.wire)
        enough = self.sent + self._behaviour.flood_bytes
        while self.sent < enough:
            await self._write(response, next(flooding))
            await asyncio.sleep(0)

    async def _stall(self, response: web.StreamResponse) -> None:
        while True:
            if not self._behaviour.stall_ping:
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(self._behaviour.stall_ping)
            await self._write(response, self._wire.PING)

    def _drop_connection(self) -> None:
        transport = self._http.transport
        if transport is None:
            raise ClientConnectionResetError("the client left before it could be dropped")
        if self._behaviour.reset:
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        else:
            transport.close()
