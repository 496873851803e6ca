"""The stub model server: real HTTP on loopback, behaving as a test scripted it.

Knows routes, counters and which answer is whose; one answer is given by exchange.py. It never contradicts a
request that was not scripted to fail: keys, models and limits are recorded and left to the test to judge.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Self

from aiohttp import web

from tests.stub import anthropic_wire, openai_wire, responses_wire
from tests.stub.exchange import Exchange
from tests.stub.reply import Wire
from tests.stub.script import Answer, Behaviour, Match, Recorded

_LOOK_AGAIN = 0.001


class StubServer:
    """`async with StubServer() as stub:` serves on the running loop; see `running_stub` for a thread.

    Matchers given to `on` are tried first, in the order given; then the queue of `script`; then `default`.
    All public methods and attributes may be used from any thread. A client may see the end of a reply a
    moment before the counters do: wait for them.
    """

    def __init__(self, port: int = 0, default: Answer | None = None) -> None:
        self.default: Answer = default or Behaviour()
        self.models: tuple[str, ...] = ("stub-model",)
        self.ollama = True
        """Whether Ollama's own addresses are answered."""
        self.requests: list[Recorded] = []
        self.probes: list[str] = []
        """Paths of the other requests: lists of models, counts, Ollama's addresses, unknown ones."""
        self.open_streams = 0
        self.max_open_streams = 0
        self.completed = 0
        """Replies sent whole."""
        self.faulted = 0
        """Requests that got the error, cut or truncation they were scripted to get."""
        self.sent: list[int] = []
        """Bytes of each reply's body that were given to the network, before any compression."""
        self.left_at: list[float] = []
        """time.monotonic() of each client's leaving before the end."""
        self.left: list[Recorded] = []
        """What they had asked for, in the same order."""
        self.exchanges: list[Exchange] = []
        """Of the same order as the requests; each says what it would cost."""
        self.url = ""
        self._hurried = False
        self._port = port
        self._lock = threading.RLock()
        self._queue: deque[Answer] = deque()
        self._matchers: list[tuple[Match, deque[Answer]]] = []
        self._handlers: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._runner: web.AppRunner | None = None

    @property
    def clients_left(self) -> int:
        return len(self.left_at)

    @property
    def anthropic_base_url(self) -> str:
        return self.url

    @property
    def openai_base_url(self) -> str:
        return f"{self.url}/v1"

    # -- scripting ---------------------------------------------------------------------------------

    def script(self, *answers: Answer) -> None:
        """One answer for each of the next requests, in order of arrival."""
        with self._lock:
            self._queue.extend(answers)

    def on(self, match: Match, *answers: Answer) -> None:
        """Answers for requests that contain a string or satisfy a predicate; the last one stays."""
        if not answers:
            raise ValueError("a matcher needs an answer")
        with self._lock:
            self._matchers.append((match, deque(answers)))

    def hurry(self) -> None:
        """Whoever speaks at a pace says the rest at once, and so does whoever is asked until a reset. So a
        reply can be as slow as a test needs while something happens, and nobody has to hear the end of it."""
        with self._lock:
            self._hurried = True
            for exchange in self.exchanges:
                exchange.hurried = True

    def reset(self) -> None:
        """Forgets scripts and counters, not the default. Streams that are still open go on."""
        with self._lock:
            self._hurried = False
            self._queue.clear()
            self._matchers.clear()
            self.requests, self.probes, self.left_at, self.sent = [], [], [], []
            self.exchanges, self.left = [], []
            self.completed = self.faulted = 0
            self.max_open_streams = self.open_streams

    def state(self) -> dict[str, Any]:
        with self._lock:
            return {
                "requests": [asdict(request) for request in self.requests],
                "probes": list(self.probes),
                "open_streams": self.open_streams,
                "max_open_streams": self.max_open_streams,
                "completed": self.completed,
                "faulted": self.faulted,
                "clients_left": len(self.left_at),
                "left_at": list(self.left_at),
            }

    async def wait_for(self, condition: Callable[[StubServer], bool], timeout: float = 5.0) -> None:  # noqa: ASYNC109
        deadline = time.monotonic() + timeout
        while not condition(self):
            self._check(deadline)
            await asyncio.sleep(_LOOK_AGAIN)

    def wait(self, condition: Callable[[StubServer], bool], timeout: float = 5.0) -> None:
        """`wait_for` outside an event loop."""
        deadline = time.monotonic() + timeout
        while not condition(self):
            self._check(deadline)
            time.sleep(_LOOK_AGAIN)

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            counters = {name: value for name, value in self.state().items() if name != "requests"}
            raise TimeoutError(f"the stub did not get there: {len(self.requests)} requests, {counters}")

    def _answer_to(self, request: Recorded) -> Behaviour:
        answer = self._next_answer(request)
        return answer if isinstance(answer, Behaviour) else answer(request)

    def _next_answer(self, request: Recorded) -> Answer:
        with self._lock:
            for match, answers in self._matchers:
                if match in request.said if isinstance(match, str) else match(request):
                    return answers.popleft() if len(answers) > 1 else answers[0]
            return self._queue.popleft() if self._queue else self.default

    # -- serving -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_post("/v1/messages", self._handler(anthropic_wire))
        app.router.add_post("/v1/chat/completions", self._handler(openai_wire))
        app.router.add_post("/v1/responses", self._handler(responses_wire))
        app.router.add_get("/__stub__/state", self._show_state)
        app.router.add_post("/v1/messages/count_tokens", self._counted)
        app.router.add_route("*", "/{path:.*}", self._probed)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{site.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        for task in self._handlers:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _show_state(self, _: web.Request) -> web.Response:
        return web.json_response(self.state())

    async def _counted(self, http: web.Request) -> web.Response:
        with self._lock:
            self.probes.append(http.path)
        request = anthropic_wire.record(0, http.path, {}, json.loads(await http.read()), 0)
        return web.json_response({"input_tokens": max(1, len(request.said.split()))})

    async def _probed(self, http: web.Request) -> web.Response:
        with self._lock:
            self.probes.append(http.path)
        if http.path == "/v1/models":
            wire: Wire = anthropic_wire if "anthropic-version" in http.headers else openai_wire
            return web.json_response(wire.models(self.models))
        if self.ollama and http.path == "/api/version":
            return web.json_response({"version": "0.30.0"})
        if self.ollama and http.path == "/api/tags":
            tags = [{"name": name, "model": name, "size": 1, "details": {}} for name in self.models]
            return web.json_response({"models": tags})
        return web.Response(status=404, text="404 page not found")

    def _handler(self, wire: Wire) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(http: web.Request) -> web.StreamResponse:
            body = json.loads(await http.read())
            headers = {name.lower(): value for name, value in http.headers.items()}
            with self._lock:
                request = wire.record(len(self.requests) + 1, http.path, headers, body, time.monotonic())
                self.requests.append(request)
                self.open_streams += 1
                self.max_open_streams = max(self.max_open_streams, self.open_streams)
            task = asyncio.current_task()
            assert task is not None
            self._handlers.add(task)
            whole = left = False
            exchange = Exchange(http, request, wire, self._answer_to(request))
            try:
                with self._lock:
                    exchange.hurried = self._hurried
                    self.exchanges.append(exchange)
                response, whole = await exchange.carry_out()
                return response
            except (asyncio.CancelledError, ConnectionResetError):
                left = True
                raise
            finally:
                ended_at = time.monotonic()
                self._handlers.discard(task)
                with self._lock:
                    self.open_streams -= 1
                    self.sent.append(exchange.sent)
                    if whole:
                        self.completed += 1
                    elif not left:
                        self.faulted += 1
                    elif not self._closing:
                        self.left_at.append(ended_at)
                        self.left.append(request)

        return handle


@contextmanager
def running_stub(port: int = 0, default: Answer | None = None) -> Iterator[StubServer]:
    """A stub on a thread and loop of its own, for tests that block or start processes."""
    stub = StubServer(port, default)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with stub:
            ready.set()
            await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="stub", daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the stub did not start")
    try:
        yield stub
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
