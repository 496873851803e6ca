"""Nothing that comes with a repository runs, whatever moot is asked to do in it, except what the person has
asked to be run: its tests, and the commit."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from moot.repo import git
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.change import DRAFT
from tests.support.command import Ended, await_line, environment, path
from tests.support.hostile_repository import CHANGE, Hostile, Reviewer
from tests.support.postgres import running_postgresql

MOOT = Path(sys.executable).parent / "moot"
SECRETS = {
    "ANTHROPIC_API_KEY": "a-key",
    "OPENAI_API_KEY": "o-key",
    "MISTRAL_API_KEY": "m-key",
    "MOOT_DATABASE": "postgresql://ann:secret@127.0.0.1/moot",
    "MOOT_TOKEN": "secret-secret-secret",
    "GITHUB_TOKEN": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "DATABASE_URL": "postgresql://secret",
    "PYTHONSTARTUP": "/nowhere.py",
}


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def moot(hostile: Hostile, env: dict[str, str], *arguments: str) -> Ended:
    done = subprocess.run(
        [MOOT, *arguments],
        env=env,
        cwd=hostile.root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_the_traps_are_traps(hostile: Hostile) -> None:
    """What git and Python do where nobody holds them back."""
    # The process filter is none, and git ends where it finds that out.
    hostile.git("status", check=False)
    hostile.git("-c", "filter.evil.process=", "status")
    subprocess.run([sys.executable, "-m", "moot"], cwd=hostile.root, check=False, timeout=60)
    sprung = set(hostile.sprung)
    assert {"moot.__init__.py", "moot.__main__.py", "git-program"} <= sprung
    filters = {name.split("-")[1] for name in sprung if name.startswith("filter-")}
    assert filters == {"evil", "included", "conditional", "worktree", "info", "odd=na.me"}


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_a_challenge_runs_nothing_of_the_repository_and_gives_no_key_away(
    name: str, hostile: Hostile, tmp_path: Path, stub: StubServer
) -> None:
    reviewer = Reviewer(tmp_path, name)
    env = environment(tmp_path, stub, PATH=path(reviewer.folder)) | SECRETS
    ended = moot(hostile, env, "challenge", CHANGE, "--engine", name)
    assert ended.code == 0, ended.err
    assert "APPROVED" in ended.out
    assert hostile.sprung == []
    own, others = {"codex": ("OPENAI_", "ANTHROPIC_"), "claude": ("ANTHROPIC_", "OPENAI_")}[name]
    seen = reviewer.noted
    assert seen["reviewer"][f"{own}API_KEY"] == SECRETS[f"{own}API_KEY"]
    assert not [variable for variable in seen["reviewer"] if variable.startswith(others)]
    leaked = SECRETS.keys() - {f"{own}API_KEY"}
    assert leaked.isdisjoint(seen["reviewer"])
    assert SECRETS.keys().isdisjoint(seen["server"])
    assert seen["server"]["HOME"] == str(tmp_path)


def test_changes_are_listed_and_drafted_without_running_anything(
    hostile: Hostile, tmp_path: Path, stub: StubServer
) -> None:
    programs = Reviewer(tmp_path, "nobody").folder
    env = environment(tmp_path, stub, PATH=path(programs))
    for arguments in (("changes",), ("validate-proposal", CHANGE), ("doctor",), ("sessions",)):
        moot(hostile, env, *arguments)
    stub.script(Behaviour(text=json.dumps(DRAFT)))
    ended = moot(hostile, env, "proposal", "feat-other", "Links for those who lost a passkey")
    assert ended.code == 0, ended.err
    assert hostile.sprung == []


def test_git_tells_what_it_knows_without_running_anything(hostile: Hostile) -> None:
    (hostile.root / "new.txt").write_text("new\n", encoding="utf-8")
    (hostile.root / "plain.txt").write_text("changed\n", encoding="utf-8")
    found = git.files(hostile.root)
    assert found is not None
    assert {"new.txt", "plain.txt", "included.md"} <= set(found[0])
    assert git.subjects(hostile.root, 3) == ("Begin",)
    assert git.changed(hostile.root)
    assert {"new.txt", "plain.txt"} <= set(git.uncommitted(hostile.root))
    assert "included.md" not in git.uncommitted(hostile.root), "it has the same bytes"
    assert hostile.sprung == []


def test_a_submodule_has_settings_of_its_own_and_they_count_as_little(hostile: Hostile) -> None:
    inner = hostile.root / "inner"
    hostile.git("init", "-q", "inner")
    for arguments in (("commit", "-q", "--allow-empty", "-m", "Inside"),):
        hostile.git("-C", "inner", *arguments)
    hostile.git("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "inner")
    for mark in hostile.marks.iterdir():
        mark.unlink()
    with (inner / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f"[core]\n\tfsmonitor = {hostile.root}/.git/traps/program\n")
    assert git.changed(hostile.root)
    assert hostile.sprung == []


def test_several_servers_are_started_inside_it_and_run_nothing_of_it(
    hostile: Hostile, tmp_path: Path, stub: StubServer
) -> None:
    """What is inherited does not help the repository either: PYTHONPATH names it."""
    with running_postgresql(tmp_path / "postgresql") as database:
        env = environment(tmp_path, stub)
        marker = tmp_path / "loaded"
        marker.mkdir()
        (marker / "sitecustomize.py").write_text(
            "import sys; supervised = '--supervised' in sys.orig_argv; "
            f"open({str(hostile.marks)!r} + f'/inherited-{{supervised}}', 'w')",
            encoding="utf-8",
        )
        env |= {"PYTHONPATH": str(marker), "PYTHONSTARTUP": str(hostile.root / "json.py")}
        command = [str(MOOT), "serve", "--port", "0", "--no-open", "--workers", "2", "--database", database]
        with subprocess.Popen(
            command, env=env, cwd=hostile.root, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process:
            try:
                await_line(process, "moot is at http://")
            finally:
                process.terminate()
                process.wait(60)
    assert hostile.sprung == ["inherited-False"], "the first process is the person's own business"


def test_a_coding_agent_and_the_tests_get_no_keys_but_those_that_the_person_names(
    tmp_path: Path, stub: StubServer
) -> None:
    hostile = Hostile(tmp_path)
    reviewer = Reviewer(tmp_path, "codex")
    env = environment(tmp_path, stub, PATH=path(reviewer.folder)) | SECRETS | {"OWN": "kept"}
    assert moot(hostile, env, "challenge", CHANGE, "--engine", "codex").code == 0
    noting = "import json, os, sys; sys.stdin.read(); json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
    agent = [
        sys.executable,
        "-ISc",
        f"{noting}; open('app.py', 'a').write('#')",
        str(tmp_path / "agent.json"),
    ]
    settings = tmp_path / "config" / "moot" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"[implement]\nreview = false\ncommand = {json.dumps(agent)}\n"
        'pass_env = ["MISTRAL_API_KEY"]\ntest_pass_env = ["GITHUB_TOKEN"]\n',
        encoding="utf-8",
    )
    test = shlex.join([sys.executable, "-ISc", noting, str(tmp_path / "test.json")])
    ended = moot(hostile, env, "implement", CHANGE, "--test", test)
    assert ended.code == 0, ended.err
    for name, passed in (("agent", "MISTRAL_API_KEY"), ("test", "GITHUB_TOKEN")):
        seen = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        kept = {"DATABASE_URL", "PYTHONSTARTUP", passed}
        assert seen["OWN"] == "kept"
        assert SECRETS.keys() & seen.keys() == kept
    assert hostile.sprung == []


@pytest.mark.parametrize("setting", ["review.pass_env", "implement.pass_env", "implement.test_pass_env"])
def test_a_repository_names_no_variables(hostile: Hostile, tmp_path: Path, setting: str) -> None:
    section, name = setting.split(".")
    text = f'[{section}]\n{name} = ["GITHUB_TOKEN"]\n'
    (hostile.root / "moot.toml").write_text(text, encoding="utf-8")
    ended = moot(hostile, environment(tmp_path), "implement", CHANGE)
    assert ended.code == 1
    assert f"{setting} belongs into your own configuration" in ended.err
