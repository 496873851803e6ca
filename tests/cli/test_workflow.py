"""`moot workflow`, and a workflow from batch to batch: planned, reviewed, built, reassessed, queued."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from moot.cli.answers import ScriptedPerson
from moot.cli.main import app
from moot.core.flow import AskPerson
from moot.core.runner import Runner, UserQuit
from moot.files import atomic, timestamps
from moot.files.documents import YamlDocument
from moot.files.json_text import JsonText
from moot.processes import git_settings
from moot.workflow.files import SnapshotLog
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import DRAFT
from tests.support.changes import STAMP
from tests.support.command import MOOT
from tests.support.fake_agents import is_running
from tests.support.ready import Popen
from tests.support.shop import BATCHES, IDEA, SPLITS, STRAIGHT, Brain, Shop
from tests.support.terminal import ENTER, at_terminal
from tests.support.waiting import until


@pytest.fixture
def brain(stub: StubServer) -> Brain:
    brain = Brain()
    stub.default = brain
    return brain


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer, brain: Brain) -> Shop:
    del brain
    return Shop(tmp_path, stub)


# -- from batch to batch -------------------------------------------------------------------------


def test_a_broad_idea_in_two_batches_and_an_independent_split(shop: Shop, brain: Brain) -> None:
    """Plan, review, execute, reassess twice, then the workflow that was queued."""
    brain.triage = {**STRAIGHT, "batches": BATCHES, "splits": SPLITS}
    ended = shop.brainstormed(
        "A",
        {"at": "design", "reply": "A"},
        {"at": "reassess", "reply": "A"},
        {"at": "reassess", "reply": "A"},
        {"at": "next", "reply": "A"},
        # What was built is not committed.
        {"at": "uncommitted", "reply": "G"},
        # The queued one is brainstormed, too; it is straightforward and in one piece.
        {"at": "triage", "reply": "K"},
        {"at": "triage", "reply": "A"},
        {"at": "design", "reply": "A"},
    )
    assert ended.code == 0, ended.err
    assert brain.asked.count("what_changes") == brain.asked.count("review") == 3
    assert brain.asked.count("assessment") == 2
    order = [what for what in brain.asked if what in ("what_changes", "review", "assessment")]
    assert order == ["what_changes", "review", "assessment"] * 2 + ["what_changes", "review"]
    reviews = shop.reviews()
    assert [name.rpartition("-")[0] for name in reviews] == [
        "cross-task-validation",
        "help-texts-rewrite-the-help-of-the-command-line",
        "test-baseline",
    ]
    assert all(verdicts == ["APPROVED"] for verdicts in reviews.values())
    assert shop.built == 6
    assert "Queued for later: Help texts" in ended.out
    assert "Next workflow: Help texts: Rewrite the help of the command line." in ended.out
    assert shop.workflow["userDescription"].startswith("Help texts")
    assert shop.workflow["phase"] == "done"
    assert json.loads(shop.read("moot/queue.json"))["workflows"] == []
    designs = sorted(path.name[11:] for path in (shop.root / "moot" / "designs").iterdir())
    assert designs == ["help-texts-rewrite-the-help-of-the-command-line.md", "new-endpoint.md"]


def test_the_description_of_a_batch_reaches_the_planner(shop: Shop, brain: Brain, stub: StubServer) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    shop.brainstormed("A", "A", "A", "A")
    plans = [r for r in stub.requests if r.schema is not None and "what_changes" in r.schema["properties"]]
    assert "Batch 1 of 2: Test baseline\n\nKnow what fails today." in plans[0].said
    assert "Batch 2 of 2: Cross-task validation\n\nWire it into execute." in plans[1].said
    assert "That went well." in plans[1].said, "what was reassessed reaches it too"


def test_the_workspace_is_looked_at_again_before_the_next_batch(
    shop: Shop, brain: Brain, stub: StubServer
) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    shop.brainstormed("A", "A", "X")
    assert "built.txt" in shop.brainstorm["scoutOutput"], "which the first batch has made"
    reassessed = next(r for r in stub.requests if r.schema and "assessment" in r.schema["properties"])
    assert "built.txt" in reassessed.said


def test_after_a_batch_the_scope_can_be_adjusted_or_kept_or_it_stops(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES}
    brain.left = []
    ended = shop.brainstormed("A", "A", "D drop the second one", "X")
    assert ended.code == 0
    assert "1 of 2 batches complete" in ended.out
    assert shop.workflow["stopped"] is True
    assert shop.built == 2, "nothing more was built"
    assert shop.resumed("A").code == 0
    assert [batch["status"] for batch in shop.workflow["batches"]] == ["complete"]


def test_stopping_here_leaves_the_other_batches_and_lets_the_queue_go_on(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES, "splits": SPLITS}
    ended = shop.brainstormed(
        "A",
        {"at": "design", "reply": "A"},
        {"at": "reassess", "reply": "H"},
        {"at": "next", "reply": "A"},
        {"at": "uncommitted", "reply": "X"},
    )
    assert ended.code == 0, ended.err
    assert "Next workflow: Help texts: Rewrite the help of the command line." in ended.out
    assert brain.asked.count("what_changes") == 1, "the second batch was not planned"
    [archived] = (shop.root / "moot" / "archive" / "workflows").iterdir()
    first = json.loads(archived.read_text(encoding="utf-8"))
    assert first["phase"] == "done"
    assert "stopped" not in first
    assert [batch["status"] for batch in first["batches"]] == ["complete", "pending"]


def test_a_plan_that_needs_revision_is_revised_and_reviewed_again(shop: Shop, brain: Brain) -> None:
    brain.verdicts = ["NEEDS_REVISION"]
    ended = shop.brainstormed("A", "A")
    assert ended.code == 0, ended.err
    assert list(shop.reviews().values()) == [["NEEDS_REVISION", "APPROVED"]]
    assert "NEEDS_REVISION (1 High, 0 Medium)" in ended.out
    assert brain.asked.count("what_changes") == 2


def test_a_plan_that_is_never_approved_is_the_persons_to_decide(shop: Shop, brain: Brain) -> None:
    brain.verdicts = ["NEEDS_REVISION"] * 5
    ended = shop.brainstormed("A", "A", {"at": "verdict", "reply": "R mention lost passkeys"}, "X")
    assert ended.code == 0, ended.err
    # A revision that changes nothing is not followed by another.
    assert list(shop.reviews().values()) == [["NEEDS_REVISION"] * 3]
    assert "the reviews end here: the last revision changed nothing" in ended.out + ended.err
    assert shop.built == 0, "nothing is built that was not approved"


def test_a_rejected_plan_is_not_built(shop: Shop, brain: Brain) -> None:
    brain.verdicts = ["REJECTED"]
    shop.brainstormed("A", "A", "X")
    assert list(shop.reviews().values()) == [["REJECTED"]]
    assert shop.built == 0


def test_without_a_coding_agent_it_says_what_to_hand_over(
    tmp_path: Path, stub: StubServer, brain: Brain
) -> None:
    del brain
    shop = Shop(tmp_path, stub, agent=False)
    ended = shop.brainstormed("A", "A", {"at": "plan", "reply": "A"}, "X")
    assert "No coding agent was found" in ended.err
    assert "Store public keys" in ended.err
    [change] = shop.reviews()
    tasks = f"moot/changes/{change}/tasks.md"
    shop.write(tasks, shop.read(tasks).replace("[ ]", "[x]"))
    assert shop.resumed("R").code == 0, "what was done by hand counts"
    assert shop.workflow["phase"] == "done"


# -- looking, and putting away -------------------------------------------------------------------


def test_status_says_where_it_stands(shop: Shop, brain: Brain) -> None:
    assert "There is no workflow" in shop.run("workflow", "status").err
    brain.triage = {**STRAIGHT, "batches": BATCHES, "splits": SPLITS}
    shop.brainstormed("A", "X")
    told = shop.run("workflow", "status")
    assert f"Workflow: {IDEA}" in told.out
    assert "Phase: brainstorm, stopped (design)" in told.out
    assert "Queued: Help texts" in told.out
    as_json = shop.run("workflow", "status", "--json").json
    assert as_json["workflow"]["brainstorm"]["complexityLevel"] == "straightforward"
    assert len(as_json["queue"]) == 1


def test_the_queue_is_listed_and_one_can_be_dropped(shop: Shop, brain: Brain) -> None:
    assert "No workflow is queued" in shop.run("workflow", "queue").err
    brain.triage = {**STRAIGHT, "splits": SPLITS}
    shop.brainstormed("A", "X")
    [waiting] = shop.run("workflow", "queue", "--json").json
    assert waiting["title"].startswith("Help texts")
    unknown = shop.run("workflow", "drop", "nonsense")
    assert unknown.code == 1
    assert waiting["id"] in unknown.err
    assert shop.run("workflow", "drop", waiting["id"]).code == 0
    assert shop.run("workflow", "queue", "--json").json == []


def test_a_dropped_workflow_is_kept_and_the_queue_goes_on(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "splits": SPLITS}
    shop.brainstormed("A", "X")
    dropped = shop.run("workflow", "drop")
    assert dropped.code == 0
    [kept] = (shop.root / "moot" / "archive" / "workflows").iterdir()
    assert kept.name in dropped.err
    brain.triage = STRAIGHT
    ended = shop.resumed("A", "A")
    assert ended.code == 0, ended.err
    assert "Next workflow: Help texts" in ended.out
    assert shop.workflow["userDescription"].startswith("Help texts")
    assert shop.run("workflow", "queue", "--json").json == []


def test_there_is_nothing_to_resume_or_drop_where_nothing_is(shop: Shop) -> None:
    for command in ("resume", "drop"):
        ended = shop.run("workflow", command)
        assert ended.code == 1
        assert 'There is no workflow.\nStart one with `moot brainstorm "your idea"`.' in ended.err
    assert not (shop.root / "moot").exists()


@pytest.mark.parametrize(
    ("damage", "line", "problem"),
    [
        ("{\n\n  nonsense\n}\n", 3, ""),
        ('{\n  "phase": "brainstorm",\n  "userDescription": 7\n}\n', 3, "userDescription"),
        ('{\n  "userDescription": "x",\n  "phase": "dancing"\n}\n', 3, "dancing"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_left_alone(
    shop: Shop, damage: str, line: int, problem: str
) -> None:
    shop.write("moot/workflow.json", damage)
    for command in (("workflow", "status"), ("workflow", "resume"), ("brainstorm", IDEA), ("brainstorm",)):
        ended = shop.run(*command, answers=[]) if command[-1] != "status" else shop.run(*command)
        assert ended.code == 1
        assert f"workflow.json, line {line}" in ended.err
        assert problem in ended.err
        assert shop.read("moot/workflow.json") == damage
    assert shop.run("workflow", "drop").code == 0, "dropping it is the way out"
    [kept] = (shop.root / "moot" / "archive" / "workflows").iterdir()
    assert kept.read_text(encoding="utf-8") == damage


def test_a_damaged_queue_is_named_and_left_alone(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "splits": SPLITS}
    shop.write("moot/queue.json", "[\n")
    ended = shop.brainstormed("A", "X")
    assert "queue.json" in ended.err
    assert shop.read("moot/queue.json") == "[\n"
    assert shop.run("workflow", "queue").code == 1


def test_files_of_another_tool_are_used_in_place(shop: Shop, brain: Brain) -> None:
    brain.triage = {**STRAIGHT, "splits": SPLITS}
    theirs = {
        "phase": "brainstorm",
        "userDescription": IDEA,
        "startedAt": 1760000000000,
        "mine": {"kept": True},
    }
    shop.write(".superteam-workflow.json", json.dumps(theirs))
    ended = shop.resumed("A", "X")
    assert ended.code == 0, ended.err
    now = json.loads(shop.read(".superteam-workflow.json"))
    assert now["mine"] == {"kept": True}
    assert now["brainstorm"]["complexityLevel"] == "straightforward"
    assert len(json.loads(shop.read(".superteam-workflow-queue.json"))["workflows"]) == 1
    assert not (shop.root / "moot" / "workflow.json").exists()


def test_what_others_write_into_the_file_stays(shop: Shop) -> None:
    shop.brainstormed("A")
    shop.write("moot/workflow.json", json.dumps({**shop.workflow, "reviewer": "Ann"}))
    assert shop.resumed("A").code == 0
    assert shop.workflow["reviewer"] == "Ann"


# -- two at once, interrupted, killed ------------------------------------------------------------


def started(shop: Shop, *arguments: str) -> subprocess.Popen[str]:
    return Popen(
        [*MOOT, *arguments], env=shop.env, cwd=shop.root, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def test_a_second_process_is_told_who_is_at_it(shop: Shop, stub: StubServer) -> None:
    stub.script(Behaviour(stall_after=0))
    answers = str(shop.answers(["A", "A"]))
    first = started(shop, "brainstorm", IDEA, "--answers", answers)
    stub.wait(lambda server: len(server.requests) > 0, timeout=30)
    second = shop.run("workflow", "resume", answers=[])
    assert second.code == 1
    assert f"is being carried on by process {first.pid}" in second.err
    first.kill()
    first.communicate(timeout=30)
    assert shop.resumed("A", "A").code == 0, "a killed process holds nothing"


def test_a_file_that_somebody_changes_meanwhile_is_theirs(shop: Shop, stub: StubServer) -> None:
    silent = threading.Event()

    def waits(_: Recorded) -> Behaviour:
        silent.wait(30)
        return Behaviour(json_text=json.dumps(STRAIGHT))

    stub.script(waits)
    running = started(shop, "brainstorm", IDEA, "--answers", str(shop.answers(["A", "A"])))
    stub.wait(lambda server: len(server.requests) > 0, timeout=60)
    shop.write("moot/workflow.json", json.dumps({**shop.workflow, "reviewer": "Ann"}))
    silent.set()
    _, told = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "was carried on by another process" in told
    assert "moot workflow resume" in told
    assert shop.workflow["reviewer"] == "Ann"
    assert shop.resumed("A", "A").code == 0


def test_ctrl_c_saves_and_says_how_to_go_on(shop: Shop, stub: StubServer) -> None:
    stub.script(Behaviour(stall_after=0))
    running = started(shop, "brainstorm", IDEA, "--answers", str(shop.answers(["A", "A"])))
    stub.wait(lambda server: len(server.requests) > 0, timeout=30)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Saved. Continue with: moot workflow resume" in told
    assert shop.resumed("A", "A").code == 0


STUBBORN = """#!{python} -IS
import os, signal, sys, time
from pathlib import Path
sys.stdin.read()
here = Path({here!r})
started = here / "agents"
if not started.exists():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    started.write_text(f"{{os.getpid()}} {{os.getppid()}}.")
    time.sleep(600)
try:
    stat = Path(f"/proc/{{started.read_text().split()[0]}}/stat").read_text()
    lives = stat.rpartition(")")[2].split()[0] not in "ZX"
except OSError:
    lives = False
with (here / "seen").open("a") as seen:
    seen.write("beside the first\\n" if lives else "alone\\n")
with open("built.txt", "a") as built:
    built.write("a task\\n")
"""
"""An agent that does not end when asked, the first time; later it says whether that first one still lives."""


def test_after_a_kill_no_second_agent_works_beside_the_first(shop: Shop) -> None:
    agent = shop.root.parent / "bin" / "agent"
    agent.write_text(STUBBORN.format(python=sys.executable, here=str(shop.root.parent)), encoding="utf-8")
    running = started(shop, "brainstorm", IDEA, "--answers", str(shop.answers(["A", "A"])))
    noted = shop.root.parent / "agents"
    until(lambda: noted.exists() and noted.read_text(encoding="utf-8").endswith("."))
    agent_id, lifeline = map(int, noted.read_text(encoding="utf-8").rstrip(".").split())
    # Whatever ends the agent takes as long as this test wants it to.
    os.kill(lifeline, signal.SIGSTOP)
    try:
        running.kill()
        running.communicate(timeout=30)
        again = started(shop, "workflow", "resume", "--answers", str(shop.answers([])))
        assert again.stderr is not None
        said = next(iter(again.stderr))
        assert is_running(agent_id)
        assert "of the earlier run is still ending" in said
        assert not (shop.root.parent / "seen").exists(), "nobody was started beside it"
    finally:
        os.kill(lifeline, signal.SIGCONT)
    _, told = again.communicate(timeout=60)
    assert again.returncode == 0, told
    assert not is_running(agent_id)
    assert (shop.root.parent / "seen").read_text(encoding="utf-8") == "alone\n" * 2
    assert shop.workflow["phase"] == "done"


def shaped(request: Recorded, field: str) -> bool:
    return request.schema is not None and field in request.schema["properties"]


@pytest.mark.parametrize("what", ["level", "sections", "what_changes", "review"])
def test_killed_while_a_model_speaks_it_goes_on(
    shop: Shop, stub: StubServer, brain: Brain, what: str
) -> None:
    silent: list[Recorded] = []

    def asked(request: Recorded) -> bool:
        wanted = "append_review" in request.tools if what == "review" else shaped(request, what)
        if wanted and not silent:
            silent.append(request)
            return True
        return False

    stub.on(asked, Behaviour(stall_after=0))
    running = started(shop, "brainstorm", IDEA, "--answers", str(shop.answers(["A", "A"])))
    stub.wait(lambda _: bool(silent), timeout=60)
    running.kill()
    running.communicate(timeout=30)
    left = {"level": ["A", "A"], "sections": ["A"]}.get(what, [])
    ended = shop.resumed(*left)
    assert ended.code == 0, ended.err
    assert brain.asked == ["level", "sections", "what_changes", "review"], "nothing was asked for twice"
    assert list(shop.reviews().values()) == [["APPROVED"]]


# -- what is left by a kill at any event ---------------------------------------------------------


def test_a_failed_test_run_shows_its_output_and_the_retry_passes_it_on(shop: Shop, brain: Brain) -> None:
    brain.plan = {**DRAFT, "tasks": ["Do it"]}
    agent = (shop.root.parent / "bin" / "agent").as_posix()
    shop.write("check.sh", "/usr/bin/grep -q second built.txt || { echo no line says second; exit 2; }\n")
    shop.user_says(
        f'[implement]\nreview = false\nattempts = 1\ncommand = ["{agent}"]\ntest = "/bin/sh check.sh"\n'
        "[workflow]\nunattended = true\n"
    )
    told = '/usr/bin/grep -q "no line says" order.txt && echo second >> built.txt'
    script = f"#!/bin/sh\n/bin/cat > order.txt\n{told}\n"
    (shop.root.parent / "bin" / "agent").write_text(f"{script}echo x >> built.txt\n", encoding="utf-8")
    ended = shop.brainstormed("G", "A", "A", "X")
    assert "no line says second" in ended.err
    again = shop.resumed("R")
    assert again.code == 0, again.err
    assert "no line says second" in again.err, "whoever comes back is shown it, too"
    assert shop.workflow["phase"] == "done"


def test_each_thing_is_said_once_when_a_task_fails(shop: Shop, brain: Brain) -> None:
    brain.plan = {**DRAFT, "tasks": ["Do it", "Do more"]}
    brain.triage = {**STRAIGHT, "splits": SPLITS}
    script = "#!/bin/sh\n/bin/cat > /dev/null\necho x >> built.txt\n[ -f more.txt ] || { echo no; exit 3; }\n"
    (shop.root.parent / "bin" / "agent").write_text(script, encoding="utf-8")
    with at_terminal("brainstorm", IDEA, env=shop.env, cwd=shop.root) as terminal:
        for reply, shown in (
            ("A", "Approve the design"),
            ("A", "it ended with 3: no. What now?"),
            ("U", "it ended with 3: no. What now?"),
        ):
            terminal.wait_for(">")
            terminal.type(f"{reply}{ENTER}")
            terminal.wait_for(shown)
        terminal.wait_for(">")
        shop.write("more.txt", "")
        terminal.type(f"S{ENTER}")
        terminal.wait_for("1 of 2 tasks done; what was skipped stays open in tasks.md")
        terminal.wait_for("1 waiting; the next: Help texts")
        terminal.wait_for(">")
        terminal.type(ENTER)
        assert terminal.end() == 0
    seen = terminal.seen
    assert seen.casefold().count("rolled back: built.txt") == 1
    assert seen.count("it ended with 3: no") == 2, "one for each menu that asks what to do about it"
    assert seen.count("Help texts: Rewrite") == 2, "the next, and what A begins"
    assert "moot commits nothing" in seen


ANSWERS = ["Z", "A", "A", "A", "A", "A", "G", "X"]
"""Stash what is not committed; agree, approve; to the second batch, to the end, to the queued workflow;
go on with what was built; and stop there."""
AT_ROUNDTABLE = ["Z", "T Where is it stripped?", "Alex, is that safe?", "done", "X"]
"""The same beginning, and a roundtable on it."""


@dataclass(frozen=True)
class Point:
    """What a kill leaves: a copy of everything, the events in the file, the answers used by then, and what
    had been paid for."""

    name: str
    events: int
    used: int
    paid: int


class Kept:
    """Keeps what the disk holds just before and just after every event is in the file. A point at which
    nothing is different from an earlier one is left out."""

    def __init__(self, shop: Shop, place: Path, paid: Callable[[], int]) -> None:
        self.points: list[Point] = []
        self.events: list[str] = []
        self.after: list[tuple[dict[str, str], int]] = []
        self._shop = shop
        self._place = place
        self._paid = paid
        self._seen: set[str] = set()
        self._used = 0

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        answer, append = ScriptedPerson.answer, SnapshotLog._append
        used_before = 0

        async def counted(person: ScriptedPerson, ask: AskPerson, problem: str | None) -> str:
            said = await answer(person, ask, problem)
            self._used += 1
            return said

        def kept(log: SnapshotLog[Any, Any], event: Any) -> None:
            nonlocal used_before
            self.events.append(type(event).__name__)
            self._keep("before", used_before)
            append(log, event)
            self.after.append((files(self._shop.root), self._paid()))
            self._keep("after", self._used)
            used_before = self._used

        patch.setattr(ScriptedPerson, "answer", counted)
        patch.setattr(SnapshotLog, "_append", kept)

    def _keep(self, when: str, used: int) -> None:
        now = json.dumps([files(self._shop.root), used])
        if now not in self._seen:
            self._seen.add(now)
            name = f"{len(self.events):02}-{when}-{self.events[-1]}"
            shutil.copytree(self._shop.root.parent, self._place / name, symlinks=True)
            self.points.append(Point(name, len(self.after), used, self._paid()))


def files(root: Path) -> dict[str, str]:
    """All that the workspace holds, but for times: of a change's STATE.yaml only the phase. In JSON, fields
    that come and go may stand in another order."""
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts and not path.name.startswith(".")
    }

    def told(name: str, text: str) -> str:
        if name.endswith("STATE.yaml"):
            return str(json.loads(text)["phase"])
        if not name.endswith(".json"):
            return text
        return re.sub(r'"duration_ms": \d+', "", json.dumps(json.loads(text), sort_keys=True))

    return {name: told(name, text) for name, text in texts.items()}


def hurried(patch: pytest.MonkeyPatch) -> None:
    """Most of the time would go into keeping the comments of YAML, of which JSON is a part without any, into
    asking git which programs the repository names, and into waiting for the disk: what a killed process has
    written, the system still has."""
    patch.setattr(git_settings, "harmless", lambda *_: {})
    patch.setattr(YamlDocument, "_format", JsonText)
    patch.setattr(atomic.Disk, "fsync", lambda *_: None)
    patch.setattr(atomic.Disk, "fsync_dir", lambda *_: None)


def leave_after(events: int, patch: pytest.MonkeyPatch) -> None:
    fold_in = Runner._fold_in
    left = iter(range(events - 1, -1, -1))

    def counted(runner: Runner[Any, Any], event: Any, state: Any) -> None:
        fold_in(runner, event, state)
        if next(left) == 0:
            raise UserQuit

    patch.setattr(Runner, "_fold_in", counted)


# Typer makes its commands anew at each call, from forty functions' signatures.
command_of = cache(get_command)


def in_this_process(shop: Shop, key: str, patch: pytest.MonkeyPatch, *arguments: str) -> int:
    for name, value in {**shop.env, "OPENAI_API_KEY": key}.items():
        patch.setenv(name, value)
    patch.chdir(shop.root)
    return int(command_of(app)(list(arguments), standalone_mode=False) or 0)


@pytest.mark.parametrize(
    ("replies", "fewest"), [(ANSWERS, 25), (AT_ROUNDTABLE, 18)], ids=["from-idea-to-queue", "at-a-roundtable"]
)
def test_whatever_a_kill_leaves_is_resumed_identically_and_not_paid_twice(
    tmp_path: Path,
    stub: StubServer,
    brain: Brain,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[str],
    fewest: int,
) -> None:
    brain.triage = {**STRAIGHT, "batches": BATCHES, "splits": SPLITS}
    brain.verdicts = ["NEEDS_REVISION"]
    brain.plan = {**DRAFT, "tasks": ["Do it"]}
    hurried(monkeypatch)
    monkeypatch.setattr(timestamps, "now", lambda: STAMP)
    monkeypatch.setattr(secrets, "token_hex", lambda count: "ab" * count)
    (tmp_path / "whole").mkdir()
    shop = Shop(tmp_path / "whole", stub)
    shop.write("half.py", "unfinished\n")
    kept = Kept(shop, tmp_path, lambda: len(brain.asked))
    answers = str(shop.answers(replies))
    with monkeypatch.context() as watched:
        kept.watch(watched)
        assert in_this_process(shop, "whole", monkeypatch, "brainstorm", IDEA, "--answers", answers) == 0
    end = files(shop.root), len(brain.asked)
    assert len(kept.events) > fewest
    assert kept.events[-1] == "Stopped"
    for number, point in enumerate(kept.points[:-1]):
        brain.asked_by[point.name] = brain.asked[: point.paid]
        again = Shop(tmp_path / point.name, stub)
        begun = (again.root / "moot" / "workflow.json").exists()
        command = ("workflow", "resume") if begun else ("brainstorm", IDEA)
        answers = str(again.answers(replies[point.used :]))
        # All that a process has is the files: whoever comes to those of a later event comes to the end.
        stops = number % 6 > 0
        with monkeypatch.context() as patch:
            if stops:
                leave_after(3, patch)
            code = in_this_process(again, point.name, patch, *command, "--answers", answers)
        assert code == 0, point
        now = files(again.root), len(brain.asked_by[point.name])
        assert now in (kept.after[point.events :] if stops else [end]), point
