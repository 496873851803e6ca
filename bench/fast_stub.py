"""A model server that costs next to nothing: both wires' event streams, written by one timer for all.

Every token of an advisor is the moment it is due, in microseconds of the monotonic clock, which all processes
of a machine share; whoever receives it knows its delay. `GET /state` tells how many replies are under way and
when clients left theirs. Knows nothing of faults: the tests' stub has those.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
import uvloop

_TICK = 0.001

_HEADERS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Script(msgspec.Struct, frozen=True):
    """How advisors speak, and the clerk, who is known by the schema that the brief is to have."""

    tokens: int
    pace: float
    first_token_delay: float = 0.0
    brief_tokens: int = 1
    ends: bool = True


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_TIME = "0" * 14
_CHOICES = (
    b'data: {"id":"chatcmpl-stub-1","object":"chat.completion.chunk","created":1767225600,'
    b'"model":"stub-model","system_fingerprint":"fp_stub",'
)


def _openai_delta(text: str) -> bytes:
    delta = json.dumps({"content": text}).encode()
    choice = b'{"index":0,"delta":%b,"logprobs":null,"finish_reason":null}' % delta
    return _CHOICES + b'"choices":[%b],"usage":null}\n\n' % choice


_OPENAI_ENDING = (
    _CHOICES + b'"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}\n\n'
    + _CHOICES + b'"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}\n\n'
    + b"data: [DONE]\n\n"
)  # fmt: skip


def _anthropic(kind: str, **more: object) -> bytes:
    data = json.dumps({"type": kind, **more}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _anthropic_delta(text: str) -> bytes:
    return _anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


_MESSAGE: dict[str, object] = {
    "id": "msg_stub",
    "type": "message",
    "role": "assistant",
    "model": "stub-model",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}
_ANTHROPIC_OPENING = _anthropic("message_start", message=_MESSAGE) + _anthropic(
    "content_block_start", index=0, content_block={"type": "text", "text": ""}
)
_ANTHROPIC_ENDING = (
    _anthropic("content_block_stop", index=0)
    + _anthropic("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
                 usage={"input_tokens": 9, "output_tokens": 9})
    + _anthropic("message_stop")
)  # fmt: skip


class _Wire:
    """A wire format: how a reply begins and ends, and a token that is a moment."""

    def __init__(
        self, opening: bytes, delta: Callable[[str], bytes], ending: bytes, brief: list[str]
    ) -> None:
        self.opening = _HEADERS + (_chunk(opening) if opening else b"")
        self.before, self.after = _chunk(delta(f" @{_TIME}")).split(_TIME.encode())
        self.ending = _chunk(ending) + b"0\r\n\r\n"
        self.brief = [_chunk(delta(piece)) for piece in brief]


def _brief(tokens: int) -> list[str]:
    """A valid brief in so many pieces."""
    text = json.dumps(
        {
            "consensus": {"areas": ["The lease is the trap."], "strength": "moderate"},
            "tensions": [
                {"between": ["The Strategist", "The Analyst"], "issue": "When.", "implication": "-"}
            ],
            "blindSpots": ["Nobody asked the customers."],
            "recommendation": {
                "summary": "Wait. " * tokens,
                "confidence": "moderate",
                "conditions": ["None."],
            },
        }
    )
    cuts = [len(text) * number // tokens for number in range(tokens + 1)]
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


class Stub:
    """All streams and their one timer."""

    def __init__(self, script: Script) -> None:
        self._script = script
        brief = _brief(script.brief_tokens)
        self._openai = _Wire(b"", _openai_delta, _OPENAI_ENDING, brief)
        self._anthropic = _Wire(_ANTHROPIC_OPENING, _anthropic_delta, _ANTHROPIC_ENDING, brief)
        self._due: list[tuple[float, int, _Reply]] = []
        self._numbers = itertools.count()
        self.asked = self.completed = 0
        self.left: list[float] = []
        """When each client left before the end of its reply."""

    def state(self) -> bytes:
        return msgspec.json.encode(
            {
                "asked": self.asked,
                "completed": self.completed,
                "open": self.asked - self.completed - len(self.left),
                "left": self.left,
            }
        )

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                due, number, reply = self._due[0]
                following = reply.say(due)
                if following is None:
                    heapq.heappop(self._due)
                else:
                    heapq.heapreplace(self._due, (following, number, reply))

    def answer(self, connection: Connection, head: bytes, body: bytes) -> None:
        self.asked += 1
        script = self._script
        wire = self._anthropic if head.startswith(b"POST /v1/messages") else self._openai
        connection.transport.write(wire.opening)
        wanted = iter(wire.brief) if b'"json_schema"' in body else None
        reply = _Reply(connection, wire, wanted, len(wire.brief) if wanted else script.tokens, script)
        due = time.monotonic() + script.first_token_delay
        heapq.heappush(self._due, (due, next(self._numbers), reply))


class _Reply:
    """One reply: the time it is due is each token's text, unless the text is given."""

    __slots__ = ("_connection", "_left", "_script", "_text", "_wire")

    def __init__(
        self,
        connection: Connection,
        wire: _Wire,
        text: Iterator[bytes] | None,
        tokens: int,
        script: Script,
    ) -> None:
        self._connection = connection
        self._wire = wire
        self._text = text
        self._left = tokens
        self._script = script

    def say(self, due: float) -> float | None:
        """Says the token of this moment, and when the next one is due."""
        if self._connection.gone:
            return None
        self._left -= 1
        wire = self._wire
        token = next(self._text) if self._text else b"%b%014d%b" % (wire.before, due * 1e6, wire.after)
        self._connection.transport.write(token)
        if self._left:
            return due + 1 / self._script.pace
        if self._text or self._script.ends:
            self._connection.end(wire.ending)
        return None


class Connection(asyncio.Protocol):
    """Carries one reply at a time."""

    transport: asyncio.Transport

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._received = b""
        self._replying = False
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self.gone = True
        if self._replying:
            self._stub.left.append(time.monotonic())

    def end(self, last: bytes) -> None:
        self.transport.write(last)
        self._replying = False
        self._stub.completed += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if not found or len(body) < length:
            return
        self._received = b""
        if head.startswith(b"GET"):
            told = self._stub.state()
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(told), told))
            return
        self._replying = True
        self._stub.answer(self, head, body)


async def _serve(script: Script) -> None:
    stub = Stub(script)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(stub), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    await stub.run()


if __name__ == "__main__":
    uvloop.run(_serve(msgspec.json.decode(sys.argv[1], type=Script)))
