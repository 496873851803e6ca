"""What those who run moot are told of it: how many sessions, calls and tokens, how long, what failed.

Nothing is watched unless somebody asked for it: `watching()` is None then, OpenTelemetry is not imported, and
whoever could report does nothing. What is reported are names, counts and times, never what a person or a
model said. Refuses to know any provider, route or flow: they report, and sinks pass it on (otlp.py, logs.py).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

CLOSING_SECONDS = 8.0
"""How long the last figures may take to leave: a collector that is away keeps no server from ending."""


@dataclass(slots=True)
class _Timed:
    """What takes a while. `seconds` and `failure`, the name of an exception's class, are known at its end."""

    began: float = field(default_factory=time.monotonic, init=False)
    seconds: float = field(default=0.0, init=False)
    failure: str | None = field(default=None, init=False)


Thing = TypeVar("Thing", bound=_Timed)


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


class Sink(Protocol):
    """Where reports go. Each block lasts as long as what it is about."""

    def model_call(self, call: ModelCall) -> AbstractContextManager[None]: ...

    def served(self, request: Served) -> AbstractContextManager[None]: ...

    def streaming(self) -> AbstractContextManager[None]:
        """An event stream that is open to a listener."""

    def drive(self, drive: Drive) -> AbstractContextManager[None]: ...

    def close(self) -> None:
        """Passes on what is left. May block."""


class Watch:
    """Reports to every sink."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    def model_call(self, call: ModelCall) -> AbstractContextManager[ModelCall]:
        return _watched(call, [sink.model_call(call) for sink in self._sinks])

    def served(self, request: Served) -> AbstractContextManager[Served]:
        return _watched(request, [sink.served(request) for sink in self._sinks])

    @contextmanager
    def streaming(self) -> Iterator[None]:
        with ExitStack() as stack:
            for sink in self._sinks:
                stack.enter_context(sink.streaming())
            yield

    def drive(self, drive: Drive) -> AbstractContextManager[Drive]:
        return _watched(drive, [sink.drive(drive) for sink in self._sinks])

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


@contextmanager
def _watched(timed: Thing, blocks: Iterable[AbstractContextManager[None]]) -> Iterator[Thing]:
    with ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)
        try:
            yield timed
        except BaseException as error:
            timed.failure = type(error).__name__
            raise
        finally:
            timed.seconds = time.monotonic() - timed.began


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
async def started(make: Sequence[Callable[[], Sink]]) -> AsyncIterator[None]:
    """While this lasts, what happens in this process is reported to these sinks."""
    global _watch  # noqa: PLW0603
    if not make:
        yield
        return
    before = _watch
    watch = _watch = Watch([one() for one in make])
    try:
        yield
    finally:
        _watch = before
        closing = threading.Thread(target=watch.close, name="moot-telemetry", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, CLOSING_SECONDS)
