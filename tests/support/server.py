"""A real `moot serve` in a process of its own, and a client for it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import MOOT, await_line, environment
from tests.support.ready import Popen
from tests.support.speaker import speaker

DECISION = "Should we rewrite our billing service this quarter?"
BRIEF = {
    "consensus": {"areas": ["The lease is the trap."], "strength": "moderate"},
    "tensions": [
        {
            "between": ["The Strategist", "The Analyst"],
            "issue": "When to move.",
            "implication": "Decide what would count as too late.",
        }
    ],
    "blindSpots": ["Nobody asked the customers."],
    "recommendation": {"summary": "Wait.", "confidence": "moderate", "conditions": ["Rents do not fall."]},
}
QUESTIONS = {"questions": [{"question": f"Why {n}?", "hint": "a number"} for n in ("one", "two", "three")]}


@dataclass
class Server:
    url: str
    process: subprocess.Popen[str]
    client: httpx2.Client

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.client.close()

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.get(f"{self.url}{path}", **more)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        return self.client.post(f"{self.url}{path}", json=body, **more)

    def session(self, **more: Any) -> list[dict[str, Any]]:
        """A whole session's events."""
        with self.streaming("POST", "/api/board/session", json={"decision": DECISION, **more}) as events:
            return list(events)

    @contextmanager
    def streaming(self, method: str, path: str, **more: Any) -> Iterator[Iterator[dict[str, Any]]]:
        with self.client.stream(method, f"{self.url}{path}", **more) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield _events(response)


def _events(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    number = None
    for line in response.iter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            yield {"id": number, **json.loads(line[6:])}
            number = None


@contextmanager
def serving(
    folder: Path, stub: StubServer, *arguments: str, through: Sequence[str] = (), **env: str
) -> Iterator[Server]:
    """Started anew on the same folder, it finds the same sessions. `through` is a command that starts it."""
    process = Popen(
        [*through, *MOOT, "serve", "--port", "0", *arguments],
        env=environment(folder, stub, **env),
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        line = await_line(process, "moot is at http://")
        url = line.split()[3].rstrip("/")
        with httpx2.Client(timeout=30) as client:
            yield Server(url, process, client)
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()


def a_board(stub: StubServer, *, pace: float = 0, words: str = "Not yet, because of the lease.") -> None:
    """Advisors say who they are, the clerk drafts a brief, questions are asked."""

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            asked_for = QUESTIONS if "questions" in request.schema["properties"] else BRIEF
            return Behaviour(json_text=json.dumps(asked_for))
        name = speaker(request)
        return Behaviour(text=f"{name} says: {words}", pace=pace)

    stub.default = answer
