"""Servers of boards, and the model that they ask, in processes of their own on loopback."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.fast_stub import Script
from bench.harness import ROOT
from tests.support.command import MOOT, environment

PEERS = ROOT / ".venv-bench" / "bin" / "python"
_OF_MODELS = ("ANTHROPIC_", "OPENAI_", "MOOT_", "OTEL_")
SETTINGS = "[server]\nsessions_per_worker = 5000\n"


@dataclass(frozen=True, slots=True)
class Process:
    """A server. One that serves nobody has port 0."""

    port: int
    pid: int
    popen: subprocess.Popen[str]

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

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextlib.contextmanager
def _running(command: Sequence[str | Path], said: str, ready: str, **more: object) -> Iterator[Process]:
    """`said` is the stream on which the process says that it is ready, in a line that matches `ready`."""
    pipe = {said: subprocess.PIPE, "text": True}
    popen = subprocess.Popen([str(word) for word in command], **pipe, **more)  # type: ignore[call-overload]
    try:
        stream = getattr(popen, said)
        line = stream.readline()
        found = re.search(ready, line)
        if found is None:
            raise RuntimeError(f"{command[0]} … did not start: {line}")
        yield Process(int(found[1]) if found.groups() else 0, popen.pid, popen)
    finally:
        popen.kill()
        popen.wait()
        getattr(popen, said).close()


_ADDRESS = r"http://127\.0\.0\.1:(\d+)"


def module(
    name: str, *arguments: str, python: str | Path = sys.executable
) -> contextlib.AbstractContextManager[Process]:
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return _running([python, "-m", name, *arguments], "stdout", _ADDRESS, cwd=ROOT, env=env)


def stub(script: Script) -> contextlib.AbstractContextManager[Process]:
    return module("bench.fast_stub", msgspec.json.encode(script).decode())


def _environment(folder: Path, model_url: str) -> Mapping[str, str]:
    """A user who has nothing yet. A key of the real user's must not lead to a model that costs."""
    env = {n: value for n, value in environment(folder).items() if not n.startswith(_OF_MODELS)}
    settings = folder / "config" / "moot"
    settings.mkdir(parents=True, exist_ok=True)
    if not (settings / "config.toml").exists():
        (settings / "config.toml").write_text(SETTINGS, encoding="utf-8")
    return env | {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": f"{model_url}/v1"}


def moot(
    model_url: str, folder: Path, *arguments: str, port: int = 0
) -> contextlib.AbstractContextManager[Process]:
    """`moot serve`. Started anew on the same folder, or the same database, it finds the same sessions."""
    command = [*MOOT, "serve", "--no-open", "--port", str(port), *arguments]
    return _running(command, "stderr", _ADDRESS, env=_environment(folder, model_url), cwd=folder)


def worker(model_url: str, folder: Path, *arguments: str) -> contextlib.AbstractContextManager[Process]:
    env = _environment(folder, model_url)
    return _running([*MOOT, "worker", *arguments], "stderr", "moot works", env=env, cwd=folder)
