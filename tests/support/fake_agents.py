"""Programs that stand in for reviewers: they note how they were started and print what was recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moot.agents import Job
from moot.llm.messages import Tokens

RECORDED = Path(__file__).parents[1] / "agents" / "recorded"

_PROGRAM = """#!{python} -IS
import json, os, subprocess, sys, time
from pathlib import Path
here = Path({here!r})
number = len(list(here.glob("started-*")))
runs = json.loads((here / "runs.json").read_text(encoding="utf-8"))
run = runs[min(number, len(runs) - 1)]
note = {{"arguments": sys.argv[1:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "env": dict(os.environ)}}
(here / f"started-{{number}}").write_text(json.dumps(note), encoding="utf-8")
if run["child"]:
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if run["stubborn"] else ""
    code = ignore + "print(flush=True); import time; time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-ISc", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    (here / "child").write_text(str(child.pid), encoding="utf-8")
for line in run["lines"]:
    print(line, flush=True)
sys.stderr.write(run["stderr"])
sys.stderr.flush()
if run["hangs"]:
    time.sleep(600)
sys.exit(run["code"])
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program. `child` leaves a process behind; a stubborn one ignores SIGTERM."""

    lines: list[str] = field(default_factory=list)
    stderr: str = ""
    code: int = 0
    hangs: bool = False
    child: bool = False
    stubborn: bool = False


class Fake:
    """A program of that name in a folder of its own; the last of its runs stays."""

    def __init__(self, folder: Path, name: str, *runs: Run) -> None:
        self._folder = folder / "fake"
        self._folder.mkdir()
        self.program = self._folder / name
        self.program.write_text(
            _PROGRAM.format(python=sys.executable, here=str(self._folder)), encoding="utf-8"
        )
        self.program.chmod(0o755)
        made = [{name: getattr(run, name) for name in Run.__slots__} for run in runs]
        (self._folder / "runs.json").write_text(json.dumps(made), encoding="utf-8")
        self.env = {"PATH": str(self._folder), "CODEX_X": "codex", "CLAUDE_X": "claude", "OWN": "x"}

    @property
    def child(self) -> int:
        return int((self._folder / "child").read_text(encoding="utf-8"))

    def started(self, number: int = 0) -> dict[str, Any]:
        noted: dict[str, Any] = json.loads((self._folder / f"started-{number}").read_text(encoding="utf-8"))
        return noted

    @property
    def times_started(self) -> int:
        return len(list(self._folder.glob("started-*")))


def recorded(name: str) -> list[str]:
    return (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def lines(*events: Mapping[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def is_running(pid: int) -> bool:
    """Not a zombie: in a container there may be nobody to bury an orphan."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def a_job(
    folder: Path,
    *,
    model: str | None = None,
    resume: str | None = None,
    timeout: float = 20,
    tokens_before: Tokens | None = None,
) -> Job:
    return Job(
        text="--review\nthe “change”.",
        root=folder,
        change_id="add-login",
        model=model,
        resume=resume,
        timeout=timeout,
        mcp_command=("/opt/py thon", "-m", "moot", "mcp", "--change", 'add-"login"'),
        tokens_before=tokens_before or Tokens(),
    )
