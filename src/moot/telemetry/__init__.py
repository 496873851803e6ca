"""What those who run moot can watch: how many sessions, calls and tokens, how long, what failed.

Nothing is watched unless somebody asked for it: `watching()` is None then, and whoever could report does
nothing. What is reported are names, counts and times, never what a person or a
model said. Refuses to know any provider, route or flow: they report, and a watch passes it on (watch.py).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from moot.telemetry.watch import Watch

CLOSING_SECONDS = 8.0
"""How long the last figures may take to leave: a collector that is away keeps no server from ending."""


@dataclass(slots=True)
class _Timed:
    """What takes a while. `seconds` and `failure`, the name of an exception's class, are known at its end."""

    seconds: float = field(default=0.0, init=False)
    failure: str | None = field(default=None, init=False)

    @contextmanager
    def timing(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except BaseException as error:
            self.failure = type(error).__name__
            raise
        finally:
            self.seconds = time.monotonic() - began


class _Usage(Protocol):
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


class _Reply(Protocol):
    """What is reported of a reply."""

    @property
    def usage(self) -> _Usage: ...
    @property
    def first_text_ms(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...


@dataclass(slots=True)
class ModelCall(_Timed):
    """One reply of a model, from the first request to the last token."""

    provider: str
    model: str
    typed: bool
    reply: _Reply | None = None
    retries: int = 0


@dataclass(slots=True)
class Served(_Timed):
    """One request. The route is its pattern, never the address that was asked for: there may be a token in
    that. It is known at the end only."""

    method: str
    headers: Mapping[str, str]
    route: str = ""
    session: str = ""
    status: int = 0
    streamed: bool = False


@dataclass(slots=True)
class Drive(_Timed):
    """A session while this process drives it."""

    session: str


_watch: Watch | None = None


def watching() -> Watch | None:
    return _watch


def reporting(call: ModelCall) -> AbstractContextManager[object]:
    """For whoever asks a model, around it."""
    return nullcontext() if _watch is None else _watch.model_call(call)


def driving(session_id: str) -> AbstractContextManager[object]:
    """For whoever drives a session, around it."""
    return nullcontext() if _watch is None else _watch.drive(Drive(session_id))


@asynccontextmanager
async def started(make: Callable[[], Watch] | None) -> AsyncIterator[None]:
    """While this lasts, what happens in this process is reported to a watch."""
    global _watch  # noqa: PLW0603
    if make is None:
        yield
        return
    before = _watch
    watch = _watch = make()
    try:
        yield
    finally:
        _watch = before
        closing = threading.Thread(target=watch.close, name="moot-telemetry", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, CLOSING_SECONDS)
