"""A workflow that is killed at every event, before and after it is in the file, and resumed each time:
`python -m tests.surfaces.cli.killed_workflow DIR STUB_URL`.

A process of its own, because only one without threads can safely fork; each run is the real command in a
child that dies by SIGKILL. What it finds wrong is an AssertionError with the event. What it prints at the end
is, for each run, under which key it asked the model and which event it was killed at.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import shutil
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from moot.surfaces.cli.answers import ScriptedPerson
from moot.surfaces.cli.main import app
from moot.workspace import change_state, writing
from moot.workspace.workflows import SnapshotLog
from tests.changing import STAMP
from tests.surfaces.cli.brainstorming import IDEA, Shop

ANSWERS = ["A", "A", "A", "A", "A", "K", "A", "A"]
"""Agree, approve; to the second batch, to the end, to the queued workflow; keep that whole, agree, approve."""


@dataclass(frozen=True)
class Point:
    """After which event, or before it; how many answers are in the file by then."""

    number: int
    event: str
    before: bool
    given: int


class Run:
    """One process: the command, and where it dies, if it does. `given` are answers that were used before."""

    def __init__(self, shop: Shop, key: str, given: int = 0, dies_at: Point | None = None) -> None:
        self._shop = shop
        self._key = key
        self._given = given
        self._dies_at = dies_at
        self._log = shop.root.parent / "events.jsonl"
        self._imported = shop.root.parent / "modules.txt"

    def start(self, *command: str) -> int:
        """The exit code, or minus the signal that ended it."""
        assert threading.active_count() == 1
        answers = self._shop.answers(list(ANSWERS[self._given :]))
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        code = 70
        try:
            code = self._command([*command, "--answers", str(answers)])
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _command(self, arguments: list[str]) -> int:
        os.environ.clear()
        os.environ.update(self._shop.env, OPENAI_API_KEY=self._key)
        os.chdir(self._shop.root)
        with (self._shop.root.parent / "told.txt").open("a") as told:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
        self._watch()
        try:
            app(arguments, standalone_mode=False)
        except click.exceptions.Exit as ended:
            return int(ended.exit_code)
        finally:
            # Packages of others are imported by ours.
            own = sorted(name for name in sys.modules if name.startswith(("moot.", "openai", "aiohttp")))
            self._imported.write_text("\n".join(own), encoding="utf-8")
        return 0

    def _watch(self) -> None:
        used, appended = self._given, 0
        answer, append = ScriptedPerson.answer, SnapshotLog._append

        async def counted(person: ScriptedPerson, ask: Any, problem: str | None) -> str:
            nonlocal used
            said = await answer(person, ask, problem)
            used += 1
            return said

        def watched(log: SnapshotLog[Any, Any], event: Any) -> None:
            nonlocal appended
            appended += 1
            point = self._dies_at
            here = point is not None and point.number == appended
            if here and point is not None and point.before:
                os.kill(os.getpid(), signal.SIGKILL)
            append(log, event)
            with self._log.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps([type(event).__name__, used]) + "\n")
            if here:
                os.kill(os.getpid(), signal.SIGKILL)

        type.__setattr__(ScriptedPerson, "answer", counted)
        type.__setattr__(SnapshotLog, "_append", watched)

    @property
    def modules(self) -> list[str]:
        return self._imported.read_text(encoding="utf-8").splitlines()

    @property
    def events(self) -> list[tuple[str, int]]:
        return [tuple(json.loads(line)) for line in self._log.read_text(encoding="utf-8").splitlines()]


def files(root: Path) -> dict[str, str]:
    """All that the workspace holds, but for what is measured anew in every run."""
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts and path.name != "STATE.yaml"
    }


def points(events: list[tuple[str, int]]) -> list[Point]:
    found = []
    given = 0
    for number, (event, used) in enumerate(events, start=1):
        found.append(Point(number, event, True, given))
        found.append(Point(number, event, False, used))
        given = used
    return found


def main(place: Path, url: str) -> dict[str, Any]:
    vars(change_state)["now"] = lambda: STAMP
    vars(secrets)["token_hex"] = lambda count: "ab" * count
    # What a killed process has written, the system still has.
    type.__setattr__(writing.Disk, "fsync", lambda *_: None)
    type.__setattr__(writing.Disk, "fsync_dir", lambda *_: None)

    (place / "new").mkdir()
    Shop(place / "new", None)

    def prepared(name: str) -> Shop:
        shutil.copytree(place / "new", place / name, symlinks=True)
        shop = Shop(place / name, None)
        shop.env |= {"OPENAI_BASE_URL": url}
        return shop

    whole = prepared("whole")
    run = Run(whole, "whole")
    assert run.start("brainstorm", IDEA) == 0, (place / "whole" / "told.txt").read_text()
    wanted = files(whole.root)
    # Children that have nothing left to import are quick, and all run the same code.
    for name in run.modules:
        importlib.import_module(name)
    killed = {}
    for point in points(run.events):
        key = f"{point.number}-{'before' if point.before else 'after'}"
        shop = prepared(key)
        try:
            assert Run(shop, key, 0, point).start("brainstorm", IDEA) == -signal.SIGKILL
            begun = (shop.root / "moot" / "workflow.json").exists()
            again = Run(shop, key, point.given)
            ended = again.start(*(("workflow", "resume") if begun else ("brainstorm", IDEA)))
            assert ended == 0, (place / key / "told.txt").read_text()
            assert files(shop.root) == wanted
        except BaseException as error:
            error.add_note(f"killed {key} {point.event}: {place / key}")
            raise
        killed[key] = point.event
        shutil.rmtree(place / key)
    return {"events": len(run.events), "killed": killed}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2])) + "\n")
