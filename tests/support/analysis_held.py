"""A whole analysis against the stub, in this process: the real service, a real workspace, and a person whose
every answer a test gives."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from moot.analysis.service import Analyses, Analysis
from moot.analysis.state import AnalysisState
from moot.app import Options, opened
from moot.core.background import EvidenceGiven
from moot.core.flow import AskPerson, PersonAnswered, PersonGave
from tests.stub.script import Recorded
from tests.stub.server import StubServer
from tests.support.analysis import reply
from tests.support.board_held import is_brief
from tests.support.command import environment
from tests.support.server import BRIEF
from tests.support.speaker import speaker

Said = PersonAnswered | PersonGave
Answers = Callable[[AskPerson, AnalysisState], Said]

_STEP = re.compile(r"(?:You lead one step of an analysis:|in the step|The step|In the step) \*\*(.*?)\*\*")


class Deaf:
    def began(self, *_: object) -> None: ...
    def said(self, *_: object) -> None: ...
    def waits(self, *_: object) -> None: ...
    def looks(self, *_: object) -> None: ...
    def happened(self, *_: object) -> None: ...


class _Person:
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.held: Analysis | None = None

    async def answer(self, ask: AskPerson, problem: str | None) -> Said:
        assert problem is None, (ask, problem)
        assert self.held is not None
        return self._answers(ask, self.held.state)


def workspace(folder: Path, files: Mapping[str, str]) -> Path:
    root = folder / "workspace"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git = ("git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
        subprocess.run([*git, *arguments], check=True)
    return root


async def hold(
    stub: StubServer, folder: Path, item: tuple[str, str], given: EvidenceGiven, answers: Answers
) -> AnalysisState:
    """Until nothing is asked any more, in the workspace that is in the folder."""
    env = environment(folder, stub)
    options = Options(folder / "workspace", "openai:gpt-5.6", f"sqlite:///{folder / 'moot.sqlite3'}")
    async with opened(options, env) as moot:
        analyses = Analyses(moot)
        person = _Person(answers)
        with analyses.claimed(analyses.item(*item)):
            held = await analyses.analysis(*item, person, Deaf(), lambda _: None)
            person.held = held
            await held.runner.put(given)
            await held.runner.run()
            return held.state


def kind(request: Recorded) -> str:
    """Which of an analysis' requests it is, with the title of its step, or of those of the Board that it
    calls."""
    said = request.said
    for what, sign in (
        ("open", "You lead one step of an analysis"),
        ("assess", "You take the notes for"),
        ("feedback", "is written up, and the person has said"),
        ("read", "you have asked the person something, and they"),
        ("framing", "You prepare a short discussion"),
        ("talk", "You sit at a table"),
        ("check", "You read what was said in a discussion"),
        ("minutes", "You take the minutes"),
    ):
        if sign in said:
            found = _STEP.search(said)
            return f"{what} {found[1]}" if found else what
    if is_brief(request):
        return "brief"
    return "advisor" if speaker(request) else ""


def usual(request: Recorded) -> dict[str, Any] | str:
    """What a model says that has nothing of its own to say."""
    if is_brief(request):
        return dict(BRIEF)
    said = reply(request.system, request.said, request.schema)
    return said if request.schema is None else dict(json.loads(said))
