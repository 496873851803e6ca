"""Boards that go on while everything around them is killed: the players, and what has to be true at the end.

Clients do what a browser does: they listen, and when a stream breaks they ask any server that is there for
the rest, by the number of the last event they heard. Nothing here knows how moot manages that.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from moot.board.events import AdvisorSpoke, BriefDrafted
from moot.board.flow import BOARD
from moot.store.sessions import open_store
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import MOOT, environment
from tests.support.ready import Popen
from tests.support.server import BRIEF
from tests.support.speaker import speaker

START_SECONDS = 60
PATIENCE_SECONDS = 240


# -- who speaks ------------------------------------------------------------------------------------


def speaking(stub: StubServer, words: int, pace: float) -> None:
    """Each advisor takes a time of its own, always the same for the same advisor and decision."""

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(BRIEF))
        who, decision = asked(request)
        length = random.Random(f"{who} {decision}").randint(words // 4, words)
        text = f"{who} says of number {decision}: " + " ".join(str(n) for n in range(length)) + " end."
        return Behaviour(text=text, pace=pace)

    stub.default = answer


def asked(request: Recorded) -> tuple[str, int]:
    """Who was asked, and about which decision."""
    who = speaker(request)
    found = re.search(r"decision number (\d+)", request.said)
    assert found is not None
    return who, int(found[1])


# -- servers ---------------------------------------------------------------------------------------


class Cluster:
    """Server processes, each of which may be killed at any moment and is started again."""

    def __init__(self, place: Path, stub: StubServer, count: int, *arguments: str, **env: str) -> None:
        self.urls: dict[int, str] = {}
        self.kills = 0
        self._arguments = arguments
        self._env = env
        self._place = place
        self._stub = stub
        self._count = count
        self._processes: dict[int, subprocess.Popen[str]] = {}

    @contextmanager
    def running(self) -> Iterator[Cluster]:
        try:
            for number in range(self._count):
                self._begin(number)
            assert all(self._await(number) for number in range(self._count))
            yield self
        finally:
            for process in self._processes.values():
                process.kill()
                process.wait(10)
                assert process.stderr is not None
                process.stderr.close()

    def _begin(self, number: int) -> None:
        folder = self._place / f"machine-{number}"
        folder.mkdir(exist_ok=True)
        self._processes[number] = Popen(
            [*MOOT, "serve", "--port", "0", *self._arguments],
            env=environment(folder, self._stub, **self._env),
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def _await(self, number: int) -> bool:
        """Whether it came up. One that finds no database says so and ends, to be started again."""
        process = self._processes[number]
        assert process.stderr is not None
        said = ""
        while not (line := process.stderr.readline()).startswith("moot is at http://"):
            said += line
            if not line:
                assert "cannot be used" in said, said
                process.wait(10)
                process.stderr.close()
                return False
        self.urls[number] = line.split()[3].rstrip("/")
        return True

    def kill(self, number: int) -> None:
        del self.urls[number]
        process = self._processes[number]
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert process.stderr is not None
        process.stderr.close()
        self.kills += 1

    def start_again(self, number: int) -> None:
        self._begin(number)
        while not self._await(number):
            self._begin(number)


# -- clients ---------------------------------------------------------------------------------------


@dataclass
class Client:
    """One person with one decision, who wants to hear the board out."""

    number: int
    cluster: Cluster
    lots: random.Random
    session: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    done: bool = False

    async def listen(self, http: aiohttp.ClientSession) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.done:
            assert time.monotonic() < deadline, f"{self.session} does not come to its end: {self.heard[-3:]}"
            urls = list(self.cluster.urls.values())
            if urls:
                with suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
                    await self._connect(http, self.lots.choice(urls))
            if not self.done:
                await asyncio.sleep(0.05)

    async def _connect(self, http: aiohttp.ClientSession, url: str) -> None:
        self.connections += 1
        if self.session:
            last = str(self.heard[-1]["id"])
            request = http.get(
                f"{url}/api/board/sessions/{self.session}/events", headers={"Last-Event-ID": last}
            )
        else:
            # A server that was killed may have convened a board without anybody hearing of it.
            self.number += 1000
            decision = f"Should we, in decision number {self.number}, go on?"
            request = http.post(f"{url}/api/board/session", json={"decision": decision})
        async with request as response:
            if response.status == 503:
                return
            assert response.status == 200, await response.text()
            await self._hear(response)

    async def _hear(self, response: aiohttp.ClientResponse) -> None:
        number = None
        async for raw in response.content:
            line = raw.decode("utf-8").rstrip("\n")
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                event = json.loads(line[6:])
                if number is None:
                    # Not part of the session: that it rests, or that the stream failed.
                    assert event["type"] in ("idle", "error"), event
                    continue
                assert number == len(self.heard) + 1, (number, len(self.heard), event)
                self.heard.append({"id": number, **event})
                number = None
                self.session = self.session or event["sessionId"]
                self.done = self.done or event["type"] == "session_complete"


async def listen_all(clients: list[Client], at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)
    timeout = aiohttp.ClientTimeout(total=None, connect=5, sock_read=30)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as http:

        async def one(client: Client) -> None:
            async with gate:
                await client.listen(http)

        await asyncio.gather(*(one(client) for client in clients))


# -- what has to be true ---------------------------------------------------------------------------


async def check(clients: list[Client], database: str, stub: StubServer) -> str:
    """Every session is complete; what was told is what is stored, each event once; nobody who had spoken
    was asked again. A line on what it took."""
    wall = time.time() - time.monotonic()
    asked_at: dict[tuple[str, int], list[float]] = {}
    for request in stub.requests:
        if request.schema is None:
            asked_at.setdefault(asked(request), []).append(request.time + wall)
    async with open_store(database) as store:
        for client in clients:
            frames = await store.frames(client.session)
            stored = [{"id": frame.seq, **json.loads(frame.body)} for frame in frames]
            for heard, kept in zip(client.heard, stored, strict=False):
                assert heard == kept, f"{client.session}: {heard} was told, and {kept} is stored"
            assert len(client.heard) <= len(stored)
            assert [event["id"] for event in stored] == list(range(1, len(stored) + 1))
            logged = await store.events(client.session)
            events = [(entry.at.timestamp(), BOARD.decode(entry.body)) for entry in logged]
            assert [entry.seq for entry in logged] == list(range(1, len(logged) + 1))
            spoke = {e.persona: (at, e) for at, e in events if isinstance(e, AdvisorSpoke)}
            assert len(spoke) == sum(isinstance(e, AdvisorSpoke) for _, e in events) == 8
            assert sum(isinstance(e, BriefDrafted) for _, e in events) == 1
            _check_told(client.heard, {who: e.text for who, (_, e) in spoke.items()})
            for at, event in spoke.values():
                name = event.text.split(" says of ")[0]
                late = [t for t in asked_at[name, client.number] if t > at]
                assert not late, f"{name} was asked again {late[0] - at:.3f} s after the reply was kept"
    times = [len(one) for one in asked_at.values()]
    return (
        f"{len(clients)} sessions, {sum(c.connections for c in clients)} connections, "
        f"{sum(len(c.heard) for c in clients)} events, {sum(times)} advisors asked for {len(times)} replies"
    )


def _check_told(heard: list[dict[str, Any]], texts: dict[str, str]) -> None:
    """What a client put together is what is kept; a second beginning voids the first."""
    said: dict[str, str] = {}
    complete: list[str] = []
    for event in heard:
        match event:
            case {"type": "persona_start", "personaId": who}:
                assert who not in complete
                said[who] = ""
            case {"type": "persona_token", "personaId": who, "token": token}:
                said[who] += token
            case {"type": "persona_complete", "personaId": who}:
                complete.append(who)
    assert sorted(complete) == sorted(texts)
    for who, text in texts.items():
        of_it = [(e["id"], e["type"], e.get("token")) for e in heard if e.get("personaId") == who]
        assert said[who].strip() == text, f"{who} said {text!r}, and this was told: {of_it}"
    assert [event["type"] for event in heard].count("brief_complete") == 1


# -- the play --------------------------------------------------------------------------------------


async def play(
    cluster: Cluster,
    sessions: int,
    *,
    at_once: int,
    kills: int,
    lots: random.Random,
    pause: tuple[float, float],
    halfway: Callable[[], None] | None = None,
) -> list[Client]:
    """Sessions are heard out while servers are killed at random moments, and started again."""
    clients = [Client(n, cluster, lots) for n in range(1, sessions + 1)]
    listening = asyncio.create_task(listen_all(clients, at_once))
    starting: set[asyncio.Task[None]] = set()
    half_done = halfway is None
    while not listening.done() and cluster.kills < kills:
        await asyncio.wait((listening, *starting), timeout=lots.uniform(*pause))
        starting = {task for task in starting if not task.done() or task.result()}
        if cluster.urls and not listening.done():
            victim = lots.choice(list(cluster.urls))
            await asyncio.to_thread(cluster.kill, victim)
            starting.add(asyncio.create_task(asyncio.to_thread(cluster.start_again, victim)))
        if halfway is not None and not half_done and cluster.kills >= kills // 2:
            half_done = True
            await asyncio.to_thread(halfway)
    await asyncio.gather(*starting)
    await listening
    assert half_done
    assert cluster.kills == kills, f"the sessions were over after {cluster.kills} kills"
    return clients
