"""Who takes part: the bare pass-through, moot on either database, and what a user would take instead."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench.processes import PEERS, Process, module, moot
from tests.support.postgres import running_postgresql

REFERENCE = "pass-through"
SQLITE, POSTGRESQL = "moot, SQLite", "moot, PostgreSQL"

_PEERS = {
    "OpenAI SDK": ("openai", "bench.peers.openai_sdk"),
    "Anthropic SDK": ("anthropic", "bench.peers.anthropic_sdk"),
    "pydantic-ai": ("pydantic_ai", "bench.peers.pydantic_ai_board"),
    "litellm": ("litellm", "bench.peers.litellm_board"),
}

BY_LETTERS = {"sqlite": SQLITE, "postgresql": POSTGRESQL} | {
    name.lower().replace(" ", "-"): name for name in _PEERS
}
"""How they are named on the command line."""


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    start: Callable[[str, int], contextlib.AbstractContextManager[Process]]
    """On (the model's URL, a port; 0 takes a free one). One that keeps sessions has nothing yet."""


class Databases:
    """A PostgreSQL for the whole run, and a new database in it for each who asks."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = itertools.count(1)

    def new(self) -> str:
        name = f"moot{next(self._numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url.replace("/postgres?", f"/{name}?")


@contextlib.contextmanager
def databases() -> Iterator[Databases]:
    with (
        tempfile.TemporaryDirectory(prefix="moot-bench-pg-") as folder,
        running_postgresql(Path(folder)) as url,
    ):
        yield Databases(url)


@contextlib.contextmanager
def _moot(model_url: str, port: int, *arguments: str) -> Iterator[Process]:
    with (
        tempfile.TemporaryDirectory(prefix="moot-bench-") as folder,
        moot(model_url, Path(folder), *arguments, port=port) as process,
    ):
        yield process


def contenders(known: Databases, *arguments: str) -> list[Contender]:
    """All that can run here, the reference first. `arguments` are for `moot serve`."""
    found = [
        Contender(REFERENCE, lambda url, port: module("bench.pass_through", url, str(port))),
        Contender(SQLITE, lambda url, port: _moot(url, port, *arguments)),
        Contender(POSTGRESQL, lambda url, port: _moot(url, port, "--database", known.new(), *arguments)),
    ]
    for name, (package, script) in _PEERS.items():
        if _installed(package):
            found.append(Contender(name, _peer(script)))
    return found


def absent() -> list[str]:
    """Peers that are not installed, by name."""
    return [name for name, (package, _) in _PEERS.items() if not _installed(package)]


def _peer(script: str) -> Callable[[str, int], contextlib.AbstractContextManager[Process]]:
    return lambda url, port: module(script, url, str(port), python=PEERS)


def _installed(package: str) -> bool:
    if not PEERS.exists():
        return False
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([PEERS, "-c", look], check=False).returncode == 0
