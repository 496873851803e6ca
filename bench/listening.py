"""A listener that costs little, and a look at the model's counters.

What it hears are the moments at which tokens were due (see fast_stub.py), which it compares with the clock.
It decodes nothing else.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from bench.pass_through import ADVISORS
from bench.processes import Process

_DUE = re.compile(rb"@(\d{14})")
_SESSION = re.compile(rb'"sessionId":"([^"]+)"')
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_BODY = msgspec.json.encode({"decision": "Should we rewrite our billing service this quarter?"})
_LAST_CHUNK = b"0\r\n\r\n"
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session to listen to again, and the last event that was heard of it."""

    session: str
    after: int = 0


class Listener(asyncio.Protocol):
    """Convenes a board, or takes one up again, and hears it to its end."""

    def __init__(self, server: Process, delays: list[float], resumed: Resumed | None) -> None:
        """`delays` receives, for every token, the seconds from when it was due to its arrival."""
        self._server = server
        self._delays = delays
        self._resumed = resumed
        self._rest = b""
        self._transport: asyncio.Transport | None = None
        self.heard = 0
        self.session = ""
        self.last_id = 0
        self.answered = asyncio.Event()
        """The server has begun to answer."""
        self.spoke = asyncio.Event()
        self.all_speak = asyncio.Event()
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.began = time.monotonic()
        self.first = self.latest = 0.0
        """When the first token arrived, and the latest."""
        self.first_delay = 0.0
        """How long the first token was on its way, from when it was due."""
        self.first_cpu = self.last_cpu = self.began_cpu = server.cpu()
        """What the server had used when the first and the last token arrived, and before."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host = f"host: 127.0.0.1:{self._server.port}\r\n"
        if self._resumed is not None:
            path = f"/api/board/sessions/{self._resumed.session}/events"
            request = f"GET {path} HTTP/1.1\r\n{host}last-event-id: {self._resumed.after}\r\n\r\n".encode()
        else:
            kind = f"content-type: application/json\r\ncontent-length: {len(_BODY)}\r\n\r\n"
            request = f"POST /api/board/session HTTP/1.1\r\n{host}{kind}".encode() + _BODY
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if not self.answered.is_set():
            self.answered.set()
            if b" 200 " not in data[:20] and not self.ended.done():
                self.ended.set_exception(ConnectionError(data[:200].decode(errors="replace")))
        data = self._rest + data
        # A token's time may be cut in two, and none reaches beyond its line.
        whole = data.rfind(b"\n") + 1
        self._rest = data[whole:]
        if not self.session and (found := _SESSION.search(data)):
            self.session = found[1].decode()
        due = _DUE.findall(data, 0, whole)
        if due:
            self._delays.extend(now - int(moment) / 1e6 for moment in due)
            self.heard += len(due)
            self.spoke.set()
            if self.heard >= ADVISORS:
                self.all_speak.set()
            self.last_cpu, self.latest = self._server.cpu(), now
            if not self.first:
                self.first, self.first_cpu = now, self.last_cpu
                self.first_delay = now - int(due[0]) / 1e6
        if self.session and (numbers := _ID.findall(data, 0, whole)):
            self.last_id = int(numbers[-1])
        if data.endswith(_LAST_CHUNK) and not self.ended.done():
            self.ended.set_result(now)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionError("the server closed the connection"))
            # Most servers are killed while somebody listens; who does not wait for the end need not know.
            self.ended.exception()

    def leave(self) -> float:
        """Closes the connection; when that was."""
        assert self._transport is not None
        self.ended.cancel()
        self._transport.abort()
        return time.monotonic()


async def listen(server: Process, delays: list[float], resumed: Resumed | None = None) -> Listener:
    loop = asyncio.get_running_loop()
    _, listener = await loop.create_connection(
        lambda: Listener(server, delays, resumed), "127.0.0.1", server.port
    )
    return listener


class NotHeard(RuntimeError):
    """A server took a board and did not begin it, or did not tell all of it."""


async def begun(server: Process, delays: list[float], resumed: Resumed | None = None) -> Listener:
    """A listener who has heard as many tokens as there are advisors."""
    listener = await listen(server, delays, resumed)
    speaking = asyncio.ensure_future(listener.all_speak.wait())
    try:
        await asyncio.wait((speaking, listener.ended), timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        speaking.cancel()
    if listener.all_speak.is_set():
        return listener
    if listener.ended.done():
        listener.ended.result()
        raise NotHeard("a board ended before its advisors had spoken")
    listener.leave()
    raise NotHeard(f"a board that was convened was not begun within {_PATIENCE:g} s")


async def state_of(model: Process) -> dict[str, Any]:
    """The model's counters."""
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    writer.write(b"GET /state HTTP/1.1\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
    told: dict[str, Any] = msgspec.json.decode(await reader.readexactly(length))
    writer.close()
    return told


async def until(model: Process, condition: Any, seconds: float) -> dict[str, Any]:
    """The counters once they are as wished. Asked often, because it is about milliseconds."""
    deadline = time.monotonic() + seconds
    while not condition(state := await state_of(model)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the model still says {state}")
        await asyncio.sleep(0.002)
    return state
