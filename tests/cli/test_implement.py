"""Building an approved change through the real command: a real git repository, and a coding agent's stand-in
that the user has named in their own configuration."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from moot.changes import review_block
from moot.repo.listing import MOST_FILES
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.change import HIGH, PROPOSAL, TASKS, Change
from tests.support.fake_agents import is_running
from tests.support.ready import Popen
from tests.support.waiting import until

WORKS = """
import re
task = re.search("<task>\\n(.*)", order).group(1)
with open("app.py", "a") as code:
    code.write(f"# {task}\\n")
print("I am done.")
"""


class Project:
    """A change that was approved, in a repository with one commit."""

    def __init__(self, folder: Path, stub: StubServer, name: str = "moot") -> None:
        self.change = Change(name, folder, stub)
        self._agent = folder / "agent.py"
        self.change.reviewer_says("APPROVED")
        assert self.change.run("challenge", "feat-auth").code == 0
        (self.change.root / "app.py").write_text("", encoding="utf-8")
        self.git("init", "--quiet")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Begin")

    def agent_does(self, code: str, settings: str = "", *, reviewed: bool = False) -> None:
        self._agent.write_text(f"import sys\norder = sys.stdin.read()\n{code}", encoding="utf-8")
        command = json.dumps([sys.executable, str(self._agent)])
        self.change.user_says(
            f"[implement]\ncommand = {command}\nreview = {str(reviewed).lower()}\n{settings}"
        )

    def begin_again(self) -> None:
        """Every box is open, and the approval is as it was."""
        self.change.write("tasks.md", TASKS)
        state = self.change.read("STATE.yaml").replace("phase: complete", "phase: challenged")
        self.change.write("STATE.yaml", state)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.change.root, check=True, capture_output=True, text=True
        ).stdout

    @property
    def code(self) -> str:
        return (self.change.root / "app.py").read_text(encoding="utf-8")

    @property
    def phase(self) -> str:
        return str(self.change.state["phase"])


@pytest.fixture(params=["moot", "agentd"])
def named(request: pytest.FixtureRequest, tmp_path: Path, stub: StubServer) -> Project:
    return Project(tmp_path, stub, request.param)


@pytest.fixture
def project(tmp_path: Path, stub: StubServer) -> Project:
    return Project(tmp_path, stub)


# -- task by task --------------------------------------------------------------------------------


def test_tasks_are_done_one_by_one_tested_and_ticked(named: Project) -> None:
    named.agent_does(WORKS)
    ended = named.change.run("implement", "feat-auth", "--test", "echo tested >> tested.txt")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == ["done  Store public keys", "done  Verify a signature"]
    steps = [line.partition(": ")[2] for line in ended.err.splitlines() if line.startswith("Implement ")]
    assert steps == [
        "NOTHING IS REVIEWED: `review = false` is set under [implement] in your settings",
        "command does task 1: Store public keys",
        "command says: I am done.",
        "runs echo tested >> tested.txt",
        "command does task 2: Verify a signature",
        "command says: I am done.",
        "runs echo tested >> tested.txt",
    ]
    assert named.code == "# Store public keys\n# Verify a signature\n"
    assert (named.change.root / "tested.txt").read_text(encoding="utf-8") == "tested\n" * 2
    assert named.change.read("tasks.md") == TASKS.replace("[ ]", "[x]")
    assert named.phase == "complete"
    assert named.git("log", "--format=%s").splitlines() == ["Begin"], "nobody asked for a commit"
    calls = named.change.state["telemetry"]["calls"]
    assert [(call["step"], call["outcome"]) for call in calls[1:]] == [("implement", "ok")] * 2
    archived = named.change.run("archive", "feat-auth")
    assert archived.code == 0, archived.err
    assert archived.out.startswith("Change 'feat-auth' is now in moot/archive/")
    [place] = (named.change.root / "moot" / "archive").iterdir()
    assert review_block.verdict((place / "proposal.md").read_text(encoding="utf-8")) == "APPROVED"
    assert not named.change.path.exists()


def test_an_edit_is_seen_in_a_repository_of_many_files(project: Project) -> None:
    """More than a survey looks at, and the file that is edited is the furthest from the root."""
    many = project.change.root / "many"
    many.mkdir()
    for number in range(MOST_FILES + 1):
        (many / f"{number}.txt").touch()
    deep = project.change.root / "src" / "a" / "b" / "deep.py"
    deep.parent.mkdir(parents=True)
    deep.touch()
    project.agent_does('open("src/a/b/deep.py", "a").write("more\\n")')
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 0, ended.err
    assert deep.read_text(encoding="utf-8") == "more\n" * 2
    assert project.phase == "complete"


def test_each_task_is_a_commit_if_that_is_asked_for(project: Project) -> None:
    project.agent_does(WORKS)
    ended = project.change.run("implement", "feat-auth", "--commit")
    assert ended.code == 0, ended.err
    subjects = project.git("log", "--format=%s").splitlines()
    assert subjects == ["Verify a signature", "Store public keys", "Begin"]
    assert "Change: feat-auth" in project.git("log", "-1", "--format=%b")
    touched = set(project.git("show", "--format=", "--name-only", "HEAD").splitlines())
    folder = "moot/changes/feat-auth"
    assert touched == {"app.py", f"{folder}/STATE.yaml", f"{folder}/tasks.md"}
    assert project.git("status", "--porcelain") == "", "also where the change stands is in it"


def test_a_commit_takes_along_nobody_elses_work(project: Project) -> None:
    project.agent_does(WORKS)
    (project.change.root / "notes.txt").write_text("mine\n", encoding="utf-8")
    ended = project.change.run("implement", "feat-auth", "--commit")
    assert ended.code == 1
    assert "The workspace has uncommitted work" in ended.err
    assert (project.code, project.phase) == ("", "challenged")


def test_that_git_would_refuse_is_known_before_the_work(project: Project) -> None:
    project.agent_does(WORKS)
    project.git("config", "user.useConfigOnly", "true")
    project.git("config", "--unset", "user.email")
    ended = project.change.run("implement", "feat-auth", "--commit")
    assert ended.code == 1
    assert "git refused: " in ended.err
    assert (project.code, project.phase) == ("", "challenged")


def test_what_no_test_command_has_shown_is_said_to_be_untested(project: Project) -> None:
    project.agent_does(WORKS)
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 0, ended.err
    assert "NOTHING IS TESTED: there is no test command" in ended.err
    assert "Nothing was tested: no command has shown" in ended.err


def test_what_was_tested_is_said_to_be(project: Project) -> None:
    project.agent_does(WORKS)
    ended = project.change.run("implement", "feat-auth", "--json", "--test", "exit 0")
    assert (ended.code, ended.json["tested"]) == (0, True), ended.err
    assert "nothing is tested" not in ended.err.casefold()


def test_the_diff_of_each_task_is_reviewed_and_the_review_is_on_record(project: Project) -> None:
    project.agent_does(WORKS, reviewed=True)
    review = {"findings": [], "summary": "It says which task.", "rejects": False}
    project.change.stub.default = Behaviour(json_text=json.dumps(review))
    ended = project.change.run("implement", "feat-auth", "--json", "--test", "exit 0")
    assert ended.code == 0, ended.err
    assert (ended.json["reviewed"], ended.json["tested"]) == (True, True)
    first, second = ended.json["record"]
    assert first.startswith(
        "Store public keys: 1 file, +1 -0; tests passed (exit 0); reviewed by model: APPROVED ("
    )
    asked = project.change.stub.requests[-1].said
    assert "+# Verify a signature" in asked
    assert "+# Store public keys" not in asked, "that was another task"
    assert "After it, `exit 0` was run, and succeeded." in asked
    assert "An earlier attempt" not in asked
    session = second.rpartition("(")[2].removesuffix(")")
    assert session in [one["id"] for one in project.change.run("sessions", "--json").json["sessions"]]


def test_whoever_reviews_another_attempt_knows_what_was_wrong_and_what_the_person_has_said(
    project: Project,
) -> None:
    project.agent_does(WORKS, "attempts = 1\n", reviewed=True)
    wrong = {
        "severity": "High", "kind": "bug", "file": "app.py", "quote": "+# Store public keys", "line": 1,
        "problem": "It only says so.", "consequence": "No key is stored.", "fix": "",
    }  # fmt: skip
    stub = project.change.stub
    stub.script(Behaviour(json_text=json.dumps({"findings": [wrong], "summary": "No.", "rejects": False})))
    assert project.change.run("implement", "feat-auth").code == 1
    assert "Nothing was tested after it" in stub.requests[-1].said
    stub.default = Behaviour(json_text=json.dumps({"findings": [], "summary": "Yes.", "rejects": False}))
    seen = len(stub.requests)
    ended = project.change.run("implement", "feat-auth", "--comment", "a comment line is all I want")
    assert ended.code == 0, ended.err
    asked = stub.requests[seen].said
    assert "It only says so. No key is stored." in asked
    assert "The person says: a comment line is all I want" in asked


def test_a_command_of_the_repository_runs_once_it_is_confirmed_and_not_before(project: Project) -> None:
    project.agent_does(WORKS)
    project.change.repository_says('[implement]\ntest = "echo tested >> tested.txt"\n')
    tested = project.change.root / "tested.txt"
    answers = project.change.root.parent / "answers.yaml"
    answers.write_text("- {at: tests, reply: N}\n", encoding="utf-8")
    for more in ((), ("--answers", str(answers))):
        ended = project.change.run("implement", "feat-auth", *more)
        assert ended.code == 0, ended.err
        assert not tested.exists()
        assert (
            "`echo tested >> tested.txt` was found in moot.toml, and is not run before you confirm it"
            in ended.err
        )
        project.begin_again()
    answers.write_text("- {at: tests, reply: '1'}\n", encoding="utf-8")
    ended = project.change.run("implement", "feat-auth", "--answers", str(answers))
    assert ended.code == 0, ended.err
    assert tested.read_text(encoding="utf-8") == "tested\n" * 2
    # It is kept for the workspace, and for no other command.
    project.begin_again()
    assert project.change.run("implement", "feat-auth").code == 0
    assert tested.read_text(encoding="utf-8") == "tested\n" * 4
    project.begin_again()
    project.change.repository_says('[implement]\ntest = "echo evil >> tested.txt"\n')
    assert project.change.run("implement", "feat-auth").code == 0
    assert tested.read_text(encoding="utf-8") == "tested\n" * 6


def test_an_agent_that_waits_for_nothing_is_stopped_and_said_to_hang(project: Project) -> None:
    project.agent_does("import os\nos.read(os.pipe()[0], 1)\n", "[workflow]\ntimeout_secs = 1.0\n")
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 1
    assert "command hung or took too long: " in ended.err
    assert (project.change.read("tasks.md"), project.phase) == (TASKS, "implementing")


# -- not done ------------------------------------------------------------------------------------


def test_a_task_whose_test_fails_stays_open_and_is_where_it_goes_on(project: Project) -> None:
    project.agent_does(WORKS)
    test = "if grep -q Verify app.py; then echo broken hat >&2; exit 3; fi"
    project.change.env["PATH"] += ":/usr/bin:/bin"
    ended = project.change.run("implement", "feat-auth", "--test", test)
    assert ended.code == 1
    assert ended.out.splitlines() == ["done  Store public keys", "open  Verify a signature"]
    assert "ended with 3:\nbroken hat\n" in ended.err
    assert "Fix that, then continue with: moot implement feat-auth" in ended.err
    assert project.phase == "implementing"
    again = project.change.run("implement", "feat-auth")
    assert again.code == 0, again.err
    assert again.out.splitlines() == ["done  Verify a signature"]
    assert project.phase == "complete"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print('Nothing to do here.')", "command changed nothing, and said: Nothing to do here."),
        ("sys.exit('no hats left')", "it ended with 1: no hats left"),
        ("raise KeyboardInterrupt", "it ended with "),
    ],
    ids=["idle", "failed", "crashed"],
)
def test_what_an_agent_says_is_no_proof(code: str, told: str, project: Project) -> None:
    project.agent_does(code)
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 1
    assert told in ended.err
    assert project.change.read("tasks.md") == TASKS
    assert project.phase == "implementing"


def test_boxes_are_not_for_the_agent_to_tick(project: Project) -> None:
    file = str(project.change.path / "tasks.md")
    project.agent_does(
        f"text = open({file!r}).read()\nopen({file!r}, 'w').write(text.replace('[ ]', '[x]'))\n{WORKS}"
    )
    ended = project.change.run("implement", "feat-auth", "--test", "exit 1")
    assert ended.code == 1
    assert project.change.read("tasks.md") == TASKS
    assert project.phase == "implementing"


def test_reviews_outlive_an_agent_without_respect_for_them(project: Project) -> None:
    [review] = review_block.blocks(project.change.read("proposal.md"))
    file = str(project.change.path / "proposal.md")
    project.agent_does(f"open({file!r}, 'w').write('# Mine now\\n')\n{WORKS}")
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 0, ended.err
    assert "the change's own files are not for the agent to change, and are back" in ended.err
    assert [block.raw for block in review_block.blocks(project.change.read("proposal.md"))] == [review.raw]
    assert project.change.read("proposal.md").startswith(PROPOSAL), "the text, too"
    assert project.change.read("earlier/1/proposal.md") == "# Mine now\n"


def over(pid: int) -> bool:
    return not is_running(pid)


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_whoever_stops_it_ends_the_agent_and_what_it_started(
    how: signal.Signals, code: int, project: Project
) -> None:
    project.agent_does(
        "import os, subprocess, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pids.new', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "os.rename('pids.new', 'pids')\n"
        "time.sleep(600)\n"
    )
    pids = project.change.root / "pids"
    process = Popen(
        project.change.command("implement", "feat-auth"),
        env=project.change.env,
        cwd=project.change.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(pids.exists)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code, err
    for pid in pids.read_text(encoding="utf-8").split():
        until(partial(over, int(pid)))
    if how != signal.SIGKILL:
        assert project.change.state["telemetry"]["calls"][-1]["outcome"] == "interrupted"
    project.agent_does(WORKS)
    again = project.change.run("implement", "feat-auth")
    assert again.code == 0, again.err


# -- without an agent ----------------------------------------------------------------------------


def test_without_an_agent_it_says_what_to_hand_over(project: Project) -> None:
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 1
    for part in ("moot/changes/feat-auth/proposal.md", "- Store public keys", "- Verify a signature"):
        assert part in ended.out
    assert "No coding agent was found." in ended.err
    assert project.phase == "challenged", "nobody has begun"
    project.change.write("tasks.md", TASKS.replace("[ ]", "[x]"))
    by_hand = project.change.run("implement", "feat-auth", "--json")
    assert (by_hand.code, by_hand.json["phase"], by_hand.json["left"]) == (0, "complete", [])


@pytest.mark.parametrize("agent", ["codex", "claude", "command"])
def test_an_agent_that_is_not_there(agent: str, project: Project) -> None:
    ended = project.change.run("implement", "feat-auth", "--agent", agent)
    assert ended.code == 1
    assert "choose another with --agent" in ended.err
    assert project.phase == "challenged"


def test_a_repository_does_not_choose_which_program_runs(project: Project) -> None:
    project.change.repository_says('[implement]\ncommand = ["/bin/sh", "-c", "echo owned > owned.txt"]\n')
    ended = project.change.run("implement", "feat-auth")
    assert ended.code == 1
    assert "implement.command belongs into your own configuration" in ended.err
    assert not (project.change.root / "owned.txt").exists()


def test_a_change_that_was_rejected_is_not_built(tmp_path: Path, stub: StubServer) -> None:
    change = Change("moot", tmp_path, stub)
    change.reviewer_says("REJECTED", HIGH)
    change.run("challenge", "feat-auth")
    ended = change.run("implement", "feat-auth")
    assert ended.code == 1
    assert "implement is not possible at step 'rejected'" in ended.err
    assert "Possible now: challenge, reproposal, archive, dismiss, approve, reopen, abandon." in ended.err
