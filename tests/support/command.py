"""The real command in a process of its own, against the stub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tests.netguard.sitecustomize as netguard
from tests.stub.server import StubServer
from tests.support.ready import Popen

MOOT = (sys.executable, "-m", "moot")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def path(*folders: Path) -> str:
    """A PATH of these folders alone, and that by which the guard of the network is found."""
    return os.pathsep.join([*map(str, folders), str(Path(netguard.__file__).parent)])


def environment(folder: Path, stub: StubServer | None = None, **more: str) -> dict[str, str]:
    """A user of their own below `folder`; with a stub, OpenAI's key and address lead to it. OpenAI's, because
    importing its SDK takes half as long as the other."""
    env = {
        **os.environ,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OLLAMA_HOST": "127.0.0.1:9",
    }
    if stub is not None:
        env |= {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": stub.openai_base_url}
    return env | more


def moot(*arguments: str, env: Mapping[str, str], cwd: Path, stdin: str = "", timeout: float = 120) -> Ended:
    """Runs a command to its end, in a process of its own."""
    return run([*MOOT, *arguments], env, cwd, stdin, timeout)


def run(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: str = "", timeout: float = 120
) -> Ended:
    with Popen(
        command,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            out, err = process.communicate(stdin, timeout)
        finally:
            process.kill()
        return Ended(process.returncode, out, err)


def await_line(process: subprocess.Popen[str], beginning: str) -> str:
    """The first line that a process says on stderr. One that says something else is ended, so that all of it
    can be read."""
    assert process.stderr is not None
    line = process.stderr.readline()
    if not line.startswith(beginning):
        process.kill()
        raise AssertionError(line + process.stderr.read())
    return line
