"""A repository with an idea, a model that plays the brainstormer, the planner and the reviewer, and an agent
that does every task by adding a line to a file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moot.changes import review_block
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import DRAFT, HIGH
from tests.support.command import Ended, environment, moot, path
from tests.support.roundtable import check_reply, minutes_reply, turns

IDEA = "Strip ANSI codes in the review parser"
STRAIGHT = {"level": "straightforward", "reasoning": "A focused change.", "suggestedSkips": ["questions"]}
EXPLORE = {"level": "exploration", "reasoning": "There are choices.", "suggestedSkips": []}
BATCHES = [
    {"title": "Test baseline", "description": "Know what fails today."},
    {"title": "Cross-task validation", "description": "Wire it into execute."},
]
SPLITS = [
    {"title": "New endpoint", "description": "Serve the reviews."},
    {"title": "Help texts", "description": "Rewrite the help of the command line."},
]
QUESTIONS = [
    {"text": "What persistence layer do you want?", "type": "text", "options": []},
    {"text": "Should this support real-time updates?", "type": "text", "options": []},
    {"text": "What is the auth model?", "type": "choice", "options": ["None", "Sessions"]},
]
ASKED_ANEW = "Should a page update by itself?"
"""The second question, after it was discussed."""
APPROACHES = [
    {"title": "In place", "summary": "Strip while parsing.", "tradeoffs": "Quick.", "taskEstimate": 2},
    {"title": "Before", "summary": "Strip before parsing.", "tradeoffs": "Clean.", "taskEstimate": 3},
]
SECTIONS = [
    {"title": "Parser", "content": "One pass removes the codes."},
    {"title": "Tests", "content": "A table of hostile inputs."},
]
_AGENT = '#!/bin/sh\n/bin/cat > /dev/null\necho "a task" >> built.txt\n'


@dataclass
class Brain:
    """What the model says, by what it is asked for. Set a field to change its mind."""

    triage: Mapping[str, Any] = field(default_factory=lambda: STRAIGHT)
    questions: list[dict[str, Any]] = field(default_factory=lambda: list(QUESTIONS))
    approaches: list[dict[str, Any]] = field(default_factory=lambda: list(APPROACHES))
    sections: list[dict[str, Any]] = field(default_factory=lambda: list(SECTIONS))
    plan: Mapping[str, Any] = field(default_factory=lambda: DRAFT)
    left: list[dict[str, Any]] | None = None
    """Batches that a reassessment leaves; None keeps what the triage had."""
    verdicts: list[str] = field(default_factory=list)
    """Of the first reviews; after them, everything is approved."""
    asked: list[str] = field(default_factory=list)
    asked_by: dict[str, list[str]] = field(default_factory=dict)
    """The same for each key that was used."""

    def __call__(self, request: Recorded) -> Behaviour:
        if "append_review" in request.tools:
            return self._review(request)
        if request.schema is None:
            self._note(request, "words")
            return Behaviour(text="I see a risk in the edge cases.")
        fields = request.schema["properties"]
        kind = next((name for name in _REPLIES if name in fields), "")
        self._note(request, f"discuss-{kind}" if "reply" in fields else kind)
        if kind == "assessment":
            return Behaviour(json_text=json.dumps(self._reassessed(request)))
        return Behaviour(json_text=json.dumps(self._typed(kind, request.said, discussed="reply" in fields)))

    def _note(self, request: Recorded, what: str) -> list[str]:
        """What this key has asked for before."""
        self.asked.append(what)
        own = self.asked_by.setdefault(request.headers["authorization"].removeprefix("Bearer "), [])
        own.append(what)
        return own[:-1]

    def _reassessed(self, request: Recorded) -> dict[str, Any]:
        following = re.search(r"beginning with batch (\d+)", request.said)
        assert following
        planned = self.triage.get("batches", [])[int(following[1]) - 1 :]
        return {"assessment": "That went well.", "batches": planned if self.left is None else self.left}

    def _typed(self, kind: str, told: str, *, discussed: bool) -> dict[str, Any]:
        said = {"reply": "You have a point."} if discussed else {}
        match kind:
            case "level":
                return {"batches": [], "splits": [], **self.triage, **said}
            case "questions" if discussed:
                return {"questions": [{"id": "q2", "text": ASKED_ANEW}], "replaces": [], **said}
            case "questions":
                return {"questions": self.questions}
            case "approaches":
                return {"approaches": self.approaches, "recommendation": 1, "because": "it is quick", **said}
            case "sections":
                return {"sections": self.sections, **said}
            case "what_changes":
                return dict(self.plan)
            case "revision":
                return {"revision": "", **said}
            case "focus_question":
                return {"summary": "It is about codes.", "focus_question": "Where are they stripped?"}
            case "disagreements":
                return check_reply()
            case _:
                alex = next((turn for turn in turns(told) if turn[1] == "Alex"), turns(told)[0])
                return minutes_reply("strip early", ("Strip early.", alex))

    def _review(self, request: Recorded) -> Behaviour:
        answered = [str(message["content"]) for message in request.messages if message.get("role") == "tool"]
        if not answered:
            reads = (("read_file", {"path": path}) for path in ("proposal.md", "tasks.md"))
            return Behaviour(tool_calls=(*reads, ("list_directory", {"path": "specs"})))
        if len(answered) > 3:
            return Behaviour(text="Done.")
        specs = [name for name in answered[2].split() if name.endswith(".md")]
        before = self._note(request, "review").count("review")
        verdict = self.verdicts[before] if before < len(self.verdicts) else "APPROVED"
        issues = [] if verdict == "APPROVED" else [HIGH]
        review = {"verdict": verdict, "issues": issues, "summary": f"Read it all, as number {before + 1}."}
        points = dict.fromkeys(ids_of_points(request.said))
        review["coverage"] = [{"point": one, "state": "covered", "where": "tasks.md"} for one in points]
        open_ids = dict.fromkeys(re.findall(r"^\d+\. (I\d+), ", request.said, re.MULTILINE))
        if not issues:
            review["dispositions"] = [
                {"id": one, "state": "fixed", "evidence": "tasks.md"} for one in open_ids
            ]
        reads = (("read_file", {"path": f"specs/{name}"}) for name in specs)
        return Behaviour(tool_calls=(*reads, ("append_review", review)))


def ids_of_points(told: str) -> list[str]:
    """Of a design's, and of what was decided, as a reviewer is told them."""
    decided = re.findall(r"^And what was decided, by the numbers .*: (.*)$", told, re.MULTILINE)
    return [*re.findall(r"^- (P\d+): ", told, re.MULTILINE), *re.findall(r"D\d+", " ".join(decided))]


_REPLIES = (
    "level",
    "questions",
    "approaches",
    "sections",
    "assessment",
    "what_changes",
    "revision",
    "focus_question",
    "disagreements",
    "one_line",
)


class Shop:
    """The repository and its user. `agent` says whether the stand-in coding agent is installed."""

    def __init__(self, folder: Path, stub: StubServer | None, *, agent: bool = True) -> None:
        self.root = folder / "shop"
        self._folder = folder
        self.env = environment(folder, stub, PATH=path(folder / "bin"))
        if not self.root.exists():
            self._prepare(agent=agent)

    def _prepare(self, *, agent: bool) -> None:
        self.write("README.md", "# Shop\n\nReviews parcels.\n")
        self.write("src/review_parser.py", "def parse(text):\n    return text\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        # Where neither Codex nor Claude Code is: the model reviews.
        tools = self._folder / "bin"
        tools.mkdir()
        (tools / "git").symlink_to("/usr/bin/git")
        script = tools / "agent"
        script.write_text(_AGENT, encoding="utf-8")
        script.chmod(0o755)
        if agent:
            self.user_says(
                f'[implement]\nreview = false\ncommand = ["{script}"]\n[workflow]\nunattended = true\n'
            )

    def attended(self) -> None:
        """The person wants to be asked before something is built."""
        settings = (self._folder / "config" / "moot" / "config.toml").read_text(encoding="utf-8")
        self.user_says(settings.replace("unattended = true", ""))

    def user_says(self, settings: str) -> None:
        file = self._folder / "config" / "moot" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(settings, encoding="utf-8")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["/usr/bin/git", "-C", str(self.root), *who, *arguments], check=True)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    @property
    def workflow(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.read("moot/workflow.json"))
        return data

    @property
    def brainstorm(self) -> dict[str, Any]:
        data: dict[str, Any] = self.workflow["brainstorm"]
        return data

    @property
    def built(self) -> int:
        file = self.root / "built.txt"
        return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0

    def reviews(self) -> dict[str, list[str]]:
        """The verdicts of every change's reviews, as they stand in its proposal."""
        changes = self.root / "moot" / "changes"
        return {
            folder.name: [
                str(review_block.read(block).verdict)
                for block in review_block.blocks((folder / "proposal.md").read_text(encoding="utf-8"))
            ]
            for folder in sorted(changes.iterdir())
        }

    def answers(self, replies: list[Any]) -> Path:
        file = self._folder / "answers.yaml"
        file.write_text(json.dumps(replies), encoding="utf-8")
        return file

    def run(self, *arguments: str, answers: list[Any] | None = None) -> Ended:
        more = () if answers is None else ("--answers", str(self.answers(answers)))
        return moot(*arguments, *more, env=self.env, cwd=self.root)

    def brainstormed(self, *replies: Any, idea: str = IDEA) -> Ended:
        return self.run("brainstorm", idea, answers=list(replies))

    def resumed(self, *replies: Any) -> Ended:
        return self.run("workflow", "resume", answers=list(replies))
