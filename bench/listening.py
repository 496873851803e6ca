"""Servers of boards in processes of their own, and a listener that costs little.

What it hears are the moments at which tokens were due (see fast_stub.py), which it compares with the clock.
It decodes nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from bench.fast_stub import Script
from bench.harness import ROOT
from bench.pass_through import ADVISORS
from tests.surfaces.cli.command import MOOT, environment

_DUE = re.compile(rb"@(\d{14})")
_BODY = msgspec.json.encode({"decision": "Should we rewrite our billing service this quarter?"})
_OF_MODELS = ("ANTHROPIC_", "OPENAI_", "MOOT_")
_LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Process:
    """A server on loopback."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu(self) -> float:
        """CPU seconds of all its threads so far, by the clock that Linux keeps for each process: /proc counts
        in hundredths only."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def memory(self) -> int:
        """Resident bytes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="utf-8").split()[1]
        return int(pages) * resource.getpagesize()


@contextlib.contextmanager
def _started(process: subprocess.Popen[str], first_line: str) -> Iterator[Process]:
    try:
        address = re.search(r"http://127.0.0.1:(\d+)", first_line)
        if address is None:
            raise RuntimeError(f"a server did not start: {first_line}")
        yield Process(int(address[1]), process.pid)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _module(name: str, argument: str) -> Iterator[Process]:
    command = [sys.executable, "-m", name, argument]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with _started(process, process.stdout.readline()) as started:
            yield started


def stub(script: Script) -> contextlib.AbstractContextManager[Process]:
    return _module("bench.fast_stub", msgspec.json.encode(script).decode())


def pass_through(model_url: str) -> contextlib.AbstractContextManager[Process]:
    return _module("bench.pass_through", model_url)


@contextlib.contextmanager
def moot(model_url: str) -> Iterator[Process]:
    """`moot serve` of a user who has nothing yet."""
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        env = environment(Path(folder))
        # A key of the user's own must not lead to a model that costs.
        env = {name: value for name, value in env.items() if not name.startswith(_OF_MODELS)}
        env |= {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": f"{model_url}/v1"}
        command = [*MOOT, "serve", "--port", "0"]
        with subprocess.Popen(command, env=env, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            with _started(process, process.stderr.readline()) as started:
                yield started


class Listener(asyncio.Protocol):
    """Convenes a board and hears it to its end."""

    def __init__(self, server: Process, delays: list[float]) -> None:
        """`delays` receives, for every token, the seconds from when it was due to its arrival."""
        self._server = server
        self._delays = delays
        self._rest = b""
        self._heard = 0
        self.all_speak = asyncio.Event()
        self.ended = asyncio.get_running_loop().create_future()
        self.began = time.monotonic()
        self.first = 0.0
        """When the first token arrived."""
        self.first_cpu = self.last_cpu = self.began_cpu = server.cpu()
        """What the server had used when the first and the last token arrived, and before."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        head = (
            f"POST /api/board/session HTTP/1.1\r\nhost: 127.0.0.1:{self._server.port}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(_BODY)}\r\n\r\n"
        )
        cast("asyncio.Transport", transport).write(head.encode() + _BODY)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        data = self._rest + data
        # A token's time may be cut in two, and none reaches beyond its line.
        whole = data.rfind(b"\n") + 1
        self._rest = data[whole:]
        due = _DUE.findall(data, 0, whole)
        if due:
            self._delays.extend(now - int(moment) / 1e6 for moment in due)
            self._heard += len(due)
            if self._heard >= ADVISORS:
                self.all_speak.set()
            self.last_cpu = self._server.cpu()
            if not self.first:
                self.first, self.first_cpu = now, self.last_cpu
        if data.endswith(_LAST_CHUNK) and not self.ended.done():
            self.ended.set_result(now)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionError("the server closed the connection"))


async def listen(server: Process, delays: list[float]) -> Listener:
    loop = asyncio.get_running_loop()
    _, listener = await loop.create_connection(lambda: Listener(server, delays), "127.0.0.1", server.port)
    return listener
