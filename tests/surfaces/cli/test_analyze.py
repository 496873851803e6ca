"""`moot analyze` as a person or a script uses it: the real command, a real repository, real HTTP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.analysing import reply
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.surfaces.cli.command import Ended, environment, moot


def speaking(request: Recorded) -> Behaviour:
    said = reply(request.system, request.said, request.schema)
    return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)


class Project:
    def __init__(self, folder: Path, stub: StubServer) -> None:
        self.root = folder / "reader"
        (self.root / "src").mkdir(parents=True)
        self.write("src/sync.py", "def sync_offline(document):\n    return document\n")
        self.write("src/page.html", "<p>Reader</p>\n")
        self.write("README.md", "# Reader\n\nReads documents, offline too.\n")
        git = ("git", "-C", str(self.root), "-c", "user.name=t", "-c", "user.email=t@example.org")
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
            subprocess.run([*git, *arguments], check=True)
        self.env = environment(folder, stub)
        self.item = self.root / "moot" / "items" / "offline-mode"
        self._folder = folder

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.item / name).read_text(encoding="utf-8")

    @property
    def meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = json.loads(self.read("meta.json"))
        return meta

    def run(self, *arguments: str, answers: list[Any] | None = None) -> Ended:
        more: tuple[str, ...] = ()
        if answers is not None:
            file = self._folder / "answers.yaml"
            file.write_text(json.dumps(answers), encoding="utf-8")
            more = ("--answers", str(file))
        return moot(*arguments, *more, env=self.env, cwd=self.root, timeout=300)


@pytest.fixture
def project(tmp_path: Path, stub: StubServer) -> Project:
    stub.default = speaking
    return Project(tmp_path, stub)


def test_a_whole_analysis_with_two_roundtables(project: Project, stub: StubServer) -> None:
    """All five phases of a real repository, by --answers alone."""
    answers: list[Any] = []
    for number in range(24):
        answers.append("People on trains, about twenty of them.")
        if number in (0, 11):
            answers += ["E", "Alex, what about conflicts?", "done"]
        answers.append("C")
    ended = project.run("analyze", "Offline mode", "--json", answers=answers)
    assert ended.code == 0, ended.err
    assert ended.json["status"] == "analyzed"
    assert len(ended.json["steps_completed"]) == 24
    assert [e["step"] for e in ended.json["elaborations"]] == ["00-01", "02-01"]
    assert project.meta["analysis_status"] == "analyzed"
    assert len(project.meta["phases_completed"]) == 5
    assert len(project.meta["elaborations"]) == 2
    scan = project.read("quick-scan.md")
    assert "### Elaboration Insights (Step 00-01: Scope Estimation)" in scan
    assert "- [Alex] Conflicts need a visible list." in scan
    assert json.loads(project.read("user-stories.json"))[0]["id"] == "US-001"
    assert project.read("traceability-matrix.csv").count("\n") == 2
    opening = next(r for r in stub.requests if "You lead one step" in r.system)
    assert "src/sync.py" in opening.system, "the quick scan cites the workspace"


def test_it_is_resumed_where_it_was_with_a_greeting(project: Project) -> None:
    begun = project.run("analyze", "Offline mode", answers=["Twenty people.", "E", "done", "C"])
    assert begun.code == 1
    assert "needs an answer" in begun.err
    again = project.run("analyze", "offline-mode", answers=["About ten files.", "C"])
    assert "Maya Chen: Welcome back. Last time we completed Scope Estimation." in again.out
    assert "roundtable discussion on Scope Estimation" in again.out
    assert "Let us pick up from Keyword Search." in again.out
    assert project.meta["steps_completed"] == ["00-01", "00-02"]


def test_feedback_is_added_and_nothing_is_lost(project: Project) -> None:
    ended = project.run("analyze", "Offline mode", answers=["Twenty.", "You forgot the tunnels."])
    assert "You are right, I have added that." in ended.out
    text = project.read("quick-scan.md")
    assert text.count("What the step has settled for quick-scan.md") == 2
    assert "<!-- Step 00-01, feedback 1 -->" in text


def test_the_board_is_convened_on_an_open_question(project: Project, stub: StubServer) -> None:
    brief = {
        "consensus": {"areas": ["Storage is cheap."], "strength": "moderate"},
        "tensions": [],
        "blindSpots": [],
        "recommendation": {"summary": "Let the reader pay.", "confidence": "high", "conditions": []},
    }
    stub.on(
        lambda r: r.schema is not None and "blindSpots" in r.schema["properties"],
        Behaviour(json_text=json.dumps(brief)),
    )
    answers = ["Twenty.", "E", "Team, what do you think?", "done", "B", "1", "C"]
    ended = project.run("analyze", "Offline mode", answers=answers)
    assert "The Board on: Who pays for the storage?" in ended.out
    assert "Let the reader pay." in ended.out
    [file] = [path.name for path in project.item.iterdir() if path.name.startswith("board-")]
    assert f"[{file}]({file})" in project.read("quick-scan.md")


def test_a_model_that_fails_can_be_tried_again(project: Project, stub: StubServer) -> None:
    stub.script(Behaviour(status=400, error_message="no"))
    ended = project.run("analyze", "Offline mode", answers=[{"at": "failed", "reply": "r"}, "Twenty."])
    assert "Maya asks" in ended.out
    assert project.meta["steps_completed"] == ["00-01"]


def test_items_says_how_far_each_is(project: Project) -> None:
    assert "no items yet" in project.run("items").err
    project.run("analyze", "Offline mode", answers=["Twenty."])
    (project.root / "moot" / "items" / "broken").mkdir()
    (project.root / "moot" / "items" / "broken" / "meta.json").write_text("{", encoding="utf-8")
    listed = project.run("items")
    assert listed.code == 0
    assert "offline-mode" in listed.out
    assert "partial" in listed.out
    assert "broken" in listed.out
    assert "meta.json" in listed.out
