"""What the two HTTP wires have in common: one client, events read from a raw response, and adapting to a
server.

The SDKs build and send requests and know authentication, versions and errors. Their event objects cost
more CPU than the tokens are worth, so the bytes of the response are read here and decoded by the wire
modules with msgspec.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from moot.errors import (
    ProviderFailed,
    ReplyTooLarge,
    RequestRejected,
    StreamBroken,
    StreamStalled,
    Unreachable,
)
from moot.llm import http_errors
from moot.llm.messages import OnText
from moot.llm.protocol import Call, Turn
from moot.llm.read_scheduler import Pace
from moot.llm.sse import EventReader
from moot.llm.warming import Warming, beginning
from moot.text.masking import protect

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class Closable(Protocol):
    async def close(self) -> None: ...


Client = TypeVar("Client", bound=Closable)

CONNECT_SECONDS = 10.0
MAX_CONNECTIONS = 10_000
"""A board opens eight streams at once, so a handful of boards would fill an ordinary pool. How many a
provider takes is for `[limits]` to say."""

_BROKEN = "the connection broke in the middle of the reply"

ROOM_FOR_THINKING = 8192
"""Tokens added to a reply's limit where thinking cannot be switched off, because the limit bounds both."""


MAX_CALLS_PER_TURN = 64

_CHARACTERS_PER_TOKEN = 64
_STREAM_BYTES_PER_TOKEN = 1024
"""A token of four letters comes in an event of some hundred bytes; with some servers, of seven hundred."""
_TEXT_SLACK = 128 * 1024
_STREAM_SLACK = 1024 * 1024


class Room:
    """How much one reply may hold: generously more than so many tokens can be, and no more. `tokens` is the
    limit that the request named."""

    __slots__ = ("_model", "_tokens", "characters", "event_bytes", "stream_bytes")

    def __init__(self, model: str, tokens: int) -> None:
        self._model = model
        self._tokens = tokens
        self.characters = tokens * _CHARACTERS_PER_TOKEN + _TEXT_SLACK
        """Of words, thinking and tool input, which are kept."""
        self.event_bytes = 2 * self.characters
        """Of one event, which may hold the whole reply, with most of it escaped."""
        # Some think without being asked to, and beyond the limit.
        self.stream_bytes = (tokens + ROOM_FOR_THINKING) * _STREAM_BYTES_PER_TOKEN + _STREAM_SLACK

    def take(self, text: str) -> str:
        """Counts what is kept of the reply."""
        self.characters -= len(text)
        if self.characters < 0:
            raise self.exceeded("text")
        return text

    def check_calls(self, count: int) -> None:
        if count > MAX_CALLS_PER_TURN:
            raise self.exceeded("tool calls")

    def exceeded(self, what: str) -> ReplyTooLarge:
        asked = f"the limit it was given was {self._tokens:,} tokens"
        return ReplyTooLarge(self._model, f"the server sent far more {what} than was asked for; {asked}")


class Gathering:
    """Passes on together what one reading of a stream has brought."""

    def __init__(self, hear: OnText, *, silent: bool = False) -> None:
        """`silent` where nobody waits to hear anything before the end."""
        self._hear = hear
        self._said: list[str] = []
        self.add = self._said.append
        self.begun = silent
        """Whether the first word has been passed on, if anybody waits for one."""

    def pass_on(self) -> None:
        if self._said:
            self._hear("".join(self._said))
            self._said.clear()
            self.begun = True

    def mute(self) -> None:
        """Whoever listened has left: what still comes is counted, and passed on to nobody."""
        self._hear = _nobody


def _nobody(_: str) -> None:
    pass


def joined(pieces: list[str]) -> str:
    """What they say together, kept as one piece: of a reply under way that is asked every second."""
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return pieces[0] if pieces else ""


async def read_events(
    response: httpx2.Response,
    model: str,
    take: Callable[[bytes], bool],
    said: Gathering,
    stall_seconds: float,
    pace: Pace,
    room: Room,
) -> None:
    """Hands the data of each event to `take`, which says whether it brought the reply on. Raises where the
    stream breaks, brings more than there is room for, or falls silent but for keep-alives; a clean end just
    ends, and whether the reply was whole is for the decoder to say."""
    import aiohttp
    import httpx2

    from moot.llm import transport

    reader = EventReader()
    body = transport.content(response)
    left = room.stream_bytes

    def hand_on(chunk: bytes) -> None:
        nonlocal left
        brought_on = False
        try:
            try:
                for piece in unpacking.feed(chunk) if unpacking else (chunk,):
                    left -= len(piece)
                    if left < 0:
                        raise room.exceeded("data")
                    for data in reader.feed(piece):
                        brought_on |= take(data)
                    if reader.held > room.event_bytes:
                        raise room.exceeded("data in one event")
            finally:
                said.pass_on()
            if brought_on:
                moved()
        except transport.NotUnpacked:
            raise
        except Exception as error:
            raise _NotTheConnection from error

    try:
        unpacking = transport.unpacking(response)
        async with _no_stall(stall_seconds) as moved:
            with pace.stream(body, transport.connection(response), hand_on) as stream:
                try:
                    while chunk := await body.readany():
                        hand_on(chunk)
                        if said.begun:
                            await stream.attended()
                except asyncio.CancelledError:
                    said.mute()
                    await stream.take_the_rest()
                    raise
    except _NotTheConnection as failed:
        raise failed.__cause__ or failed from None
    except transport.NotUnpacked as error:
        raise StreamBroken(model, f"the reply cannot be read: {error}") from error
    except (httpx2.ReadTimeout, TimeoutError) as error:
        raise StreamStalled(model, f"nothing more came for {stall_seconds:g} s") from error
    except (aiohttp.ClientError, httpx2.HTTPError, OSError) as error:
        raise StreamBroken(model, _BROKEN) from error


def posted(body: Mapping[str, Any]) -> dict[str, Any]:
    """How an SDK sends a body as it is, and leaves the reply to be read. Its methods would compare each
    field with the SDK's types, which takes as long as the sending."""
    import httpx2

    return {"content": msgspec.json.encode(body), "cast_to": httpx2.Response, "stream": True}


class _NotTheConnection(Exception):
    """Whoever was told has failed, as the cause says."""


class _Stall:
    """Notices when a reply does not come on. To set a timer anew for each token would cost more than the
    token: this one looks, when it is time, whether there was any in the meantime. Refers to nothing any more
    when it has ended, because what refers to itself stays in memory for long."""

    def __init__(self, seconds: float, limit: asyncio.Timeout) -> None:
        self._seconds = seconds
        self._limit: asyncio.Timeout | None = limit
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = self._loop.call_at(self._last + seconds, self._look)

    def moved(self) -> None:
        self._last = self._loop.time()

    def _look(self) -> None:
        if self._limit is None:
            return
        if self._loop.time() - self._last >= self._seconds:
            self._limit.reschedule(self._loop.time())
        else:
            self._timer = self._loop.call_at(self._last + self._seconds, self._look)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._limit = None


@asynccontextmanager
async def _no_stall(seconds: float) -> AsyncIterator[Callable[[], None]]:
    """Raises TimeoutError when `moved` was not called for so long."""
    async with asyncio.timeout(None) as limit:
        stall = _Stall(seconds, limit)
        try:
            yield stall.moved
        finally:
            stall.end()


def failure(error: Exception, model: str) -> ProviderFailed:
    """What an SDK raised before the stream began. Both SDKs have the same shapes, so duck typing serves."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is not None and isinstance(status, int):
        return http_errors.from_status(model, status, _message(error), response.headers)
    if type(error).__name__ == "APITimeoutError":
        return Unreachable(model, "no answer in time")
    cause = error.__cause__
    return Unreachable(model, f"no connection ({cause or error})")


def is_refused(error: Exception) -> bool:
    """Whether a request that failed before its stream began costs nothing: the server answered with an error,
    or was never reached."""
    import httpx2

    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)
    return isinstance(getattr(error, "status_code", None), int) or isinstance(error.__cause__, never_sent)


def _message(error: Exception) -> str:
    body: Any = getattr(error, "body", None)
    said: Any = getattr(error, "message", error)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            said = inner["message"]
        elif isinstance(inner, str):
            said = inner
    return http_errors.shortened(str(said))


@dataclass(frozen=True, slots=True)
class Adaptable:
    """A part of a request that has several forms: how many, and the words in a 400 that speak of it."""

    forms: int
    words: tuple[str, ...]


class Adapting:
    """Sends a request in another form where a server refuses a field of it by name.

    This is no retry: the same request is never sent twice. What was learned is kept per model, so that the
    next request is right at once.
    """

    def __init__(self, parts: dict[str, Adaptable]) -> None:
        self._parts = parts
        self._learned: dict[str, dict[str, int]] = {}

    async def send(self, model: str, attempt: Callable[[dict[str, int]], Awaitable[T]]) -> T:
        """`attempt` is told, per part, which form to use: 0 is the preferred one."""
        while True:
            forms = {part: self._learned.get(model, {}).get(part, 0) for part in self._parts}
            try:
                return await attempt(forms)
            except RequestRejected as refused:
                part = self._refused_part(refused, forms)
                if part is None:
                    raise
                self._learned.setdefault(model, {})[part] = forms[part] + 1

    def _refused_part(self, refused: RequestRejected, forms: dict[str, int]) -> str | None:
        if refused.status not in (400, 422):
            return None
        said = refused.problem.lower()
        for part, adaptable in self._parts.items():
            if forms[part] + 1 < adaptable.forms and any(word in said for word in adaptable.words):
                return part
        return None


class HttpProvider(ABC, Generic[Client]):
    """One client for the life of the process: a new one costs 65 ms of CPU."""

    parts: ClassVar[dict[str, Adaptable]]

    def __init__(
        self, *, api_key: str | None = None, base_url: str | None = None, stall_seconds: float = 120.0
    ) -> None:
        protect(api_key)
        self._api_key = api_key
        self._base_url = base_url
        self._stall_seconds = stall_seconds
        self._loaded = False
        self._made: Client | None = None
        self._adapting = Adapting(self.parts)
        self._pace = Pace()
        self._warming = Warming()

    @property
    def keeps_beginnings(self) -> bool:
        """Whether the provider charges less for what several requests begin with."""
        return True

    @abstractmethod
    def _sdk(self) -> Callable[..., Client]:
        """What makes the SDK's client. Imports the SDK, so it is asked for only when there is use for it."""

    @abstractmethod
    async def _send(self, call: Call, forms: dict[str, int], hear: OnText) -> Turn:
        """One request, in the forms given, and its whole reply."""

    def _client(self) -> Client:
        if self._made is None:
            import httpx2

            from moot.llm.transport import Transport

            timeout = httpx2.Timeout(self._stall_seconds, connect=CONNECT_SECONDS)
            http_client = httpx2.AsyncClient(
                transport=Transport(MAX_CONNECTIONS), timeout=timeout, follow_redirects=True
            )
            self._made = self._sdk()(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                timeout=timeout,
                http_client=http_client,
            )
        return self._made

    async def prepare(self) -> None:
        """Loads the SDK, which takes a second or two of CPU."""
        if not self._loaded:
            await asyncio.to_thread(self._sdk)
            self._loaded = True

    async def exchange(self, call: Call, hear: OnText) -> Turn:
        from moot.llm import transport

        call.tally.is_sent = False
        transport.sending.set(call.tally)

        async def attempt(forms: dict[str, int], hear: OnText = hear) -> Turn:
            return await self._send(call, forms, hear)

        if not self.keeps_beginnings or (begun := beginning(call)) is None:
            return await self._adapting.send(call.model, attempt)
        async with self._warming.turn(begun) as read:

            def hear_first(text: str) -> None:
                read()
                hear(text)

            return await self._adapting.send(call.model, lambda forms: attempt(forms, hear_first))

    async def _read(
        self,
        response: httpx2.Response,
        call: Call,
        take: Callable[[bytes], bool],
        said: Gathering,
        room: Room,
    ) -> None:
        try:
            await read_events(response, call.model, take, said, self._stall_seconds, self._pace, room)
        finally:
            await response.aclose()

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
            self._made = None
