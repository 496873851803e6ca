"""The frame of the command line, and the commands that report."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from moot import __version__
from tests.stub.server import StubServer
from tests.support.command import environment, moot


def test_the_version(tmp_path: Path) -> None:
    ended = moot("--version", env=environment(tmp_path), cwd=tmp_path)
    assert (ended.code, ended.out) == (0, f"moot {__version__}\n")


def test_where_there_is_room_help_cuts_nothing_off(tmp_path: Path) -> None:
    ended = moot("--help", env={**environment(tmp_path), "COLUMNS": "100"}, cwd=tmp_path)
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if line.startswith("  ") and line.endswith("...")] == []


def test_help_loads_nothing_that_help_does_not_need(tmp_path: Path) -> None:
    """What makes `moot --help` fast, held as a fact about imports because times vary."""
    code = (
        "import sys\n"
        "sys.argv = ['moot', '--help']\n"
        "from moot.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert ended.code == 0\n"
        "heavy = {'asyncio', 'pydantic', 'sqlalchemy', 'anthropic', 'openai', 'aiohttp', 'httpx2', 'rich',\n"
        "         'prompt_toolkit', 'msgspec', 'markdown_it', 'ruamel', 'genai_prices', 'xllamacpp'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(tmp_path)
    )
    assert "Argue it before you build it." in done.stdout
    assert done.stderr == "[]\n"


def test_completion_can_be_had(tmp_path: Path) -> None:
    asked = {"_MOOT_COMPLETE": "complete_bash", "COMP_WORDS": "moot per", "COMP_CWORD": "1"}
    command = Path(sys.executable).parent / "moot"
    done = subprocess.run(
        [command], capture_output=True, text=True, check=False, env=environment(tmp_path) | asked
    )
    assert done.stdout.strip() == "personas"


def test_doctor_says_which_model_speaks_and_how_to_get_a_better_one(tmp_path: Path) -> None:
    ended = moot("doctor", env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 0
    assert "local, built in and tiny: SmolLM2-135M-Instruct" in ended.out
    assert "set ANTHROPIC_API_KEY or OPENAI_API_KEY" in ended.out
    assert re.search(r"^(--  codex +not installed|ok  codex +/)", ended.out, re.MULTILINE)
    assert not (tmp_path / "data").exists(), "looking must not create anything"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("board", "x", "--mode", "foo"), "'--mode': 'foo' is not one of 'independent', 'sequential'\n"),
        (("serve", "--port", "abc"), "'--port': has to be a whole number, and is 'abc'\n"),
        (("sessions", "--limit", "0"), "'--limit': has to be at least 1, and is '0'\n"),
    ],
)
def test_an_option_is_refused_in_our_own_words(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    ended = moot(*arguments, env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.endswith(f"Error: Invalid value for {why}")


def test_doctor_says_why_it_is_that_model(stub: StubServer, tmp_path: Path) -> None:
    ended = moot("doctor", "--json", env=environment(tmp_path, stub), cwd=tmp_path)
    found = {f["what"]: f for f in ended.json["findings"]}
    assert ended.json["healthy"] is True
    assert found["model"]["found"] == "openai:gpt-5.6 (chosen by: OPENAI_API_KEY)"
    assert stub.requests == []


def test_doctor_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text("[models]\ndefualt = 'x'\n", encoding="utf-8")
    personas = tmp_path / "moot" / "personas"
    personas.mkdir(parents=True)
    (personas / "the-clerk.md").write_text("---\nid: the-clerk\n---\n", encoding="utf-8")
    ended = moot("doctor", "--json", env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    bad = {f["what"]: f["found"] for f in ended.json["findings"] if not f["good"]}
    assert set(bad) == {"model", "workspace", "personas"}
    assert "did you mean 'default'?" in bad["workspace"]
    assert "the-clerk.md" in bad["personas"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nope:x", "no provider 'nope'"),
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY is not set"),
        ("ollama:qwen3", "no Ollama answers"),
        ("local:nope", "nope"),
    ],
)
def test_doctor_finds_a_model_that_cannot_speak(tmp_path: Path, model: str, said: str) -> None:
    ended = moot("doctor", "--json", "--model", model, env=environment(tmp_path), cwd=tmp_path)
    (bad,) = [f for f in ended.json["findings"] if not f["good"]]
    assert ended.code == 1
    assert bad["what"] == "model"
    assert said in bad["found"]


def test_doctor_tells_who_speaks_through_another_model(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text('[models.personas]\nthe-coach = "openai:large"\n', encoding="utf-8")
    found = moot("doctor", "--json", env=environment(tmp_path, stub), cwd=tmp_path).json["findings"]
    assert [f["found"] for f in found if f["what"] == "the-coach"] == [
        f"openai:large (chosen by: {tmp_path}/moot.toml, models.personas.the-coach)"
    ]


def test_settings_that_are_no_file_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").symlink_to("/dev/zero")
    ended = moot("doctor", env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "moot.toml" in ended.out
    assert "cannot be read" in ended.out


def test_one_session_that_cannot_be_read_does_not_hide_the_others(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    moot("ask", "the-coach", "Well?", env=env, cwd=tmp_path)
    with sqlite3.connect(tmp_path / "data" / "moot" / "moot.sqlite3") as database:
        database.execute(
            "INSERT INTO sessions SELECT 'future-1', 'future', 'Later', created_at, updated_at, workspace,"
            " owner, name, pinned FROM sessions"
        )
    database.close()
    listed = moot("sessions", "--json", env=env, cwd=tmp_path).json["sessions"]
    assert {(s["format"], s["step"]) for s in listed} == {("ask", "follow-up"), ("future", "unreadable")}


@pytest.mark.parametrize("event", ['{"type":"Sung"}', '{"type":"QuestionAsked","text":3}', "[1]", "[" * 5000])
def test_a_session_with_an_event_of_another_version_is_said_to_have_one(
    stub: StubServer, tmp_path: Path, event: str
) -> None:
    env = environment(tmp_path, stub)
    moot("ask", "the-coach", "Well?", env=env, cwd=tmp_path)
    with sqlite3.connect(tmp_path / "data" / "moot" / "moot.sqlite3") as database:
        database.execute("UPDATE events SET body = ? WHERE seq = 1", (event.encode(),))
        (session,) = database.execute("SELECT id FROM sessions").fetchone()
    database.close()
    ended = moot("ask", "--resume", session, env=env, cwd=tmp_path)
    assert ended.code == 1
    assert f"session {session}: cannot be read: it has an event that this version of moot does not know." in (
        ended.err
    )


def test_a_database_that_is_held_by_another_is_told_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "moot.db"
    file.write_text("no database at all\n" * 100, encoding="utf-8")
    ended = moot("sessions", "--database", f"sqlite:///{file}", env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "cannot be used" in ended.err
    assert "--database or MOOT_DATABASE" in ended.err
    assert "Traceback" not in ended.err


def test_a_persona_is_not_written_through_a_link_that_leads_away(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "moot").mkdir(parents=True)
    outside.mkdir()
    (workspace / "moot" / "personas").symlink_to(outside)
    ended = moot("personas", "new", "the-clerk", env=environment(tmp_path), cwd=workspace)
    assert ended.code == 2
    assert list(outside.iterdir()) == []


def test_personas_are_listed(tmp_path: Path) -> None:
    listed = moot("personas", "--json", env=environment(tmp_path), cwd=tmp_path).json
    assert len(listed["personas"]) == 12
    assert {panel["id"] for panel in listed["panels"]} == {"board", "roundtable"}
    plain = moot("personas", env=environment(tmp_path), cwd=tmp_path)
    assert "the-devil-s-advocate" in plain.out


def test_a_persona_is_shown_as_file_and_as_prompt(tmp_path: Path) -> None:
    env = environment(tmp_path)
    assert moot("personas", "show", "the-coach", env=env, cwd=tmp_path).out.startswith("---\nid: the-coach\n")
    prompt = moot("personas", "show", "the-coach", "--prompt", env=env, cwd=tmp_path)
    assert prompt.out.startswith("You are The Coach")
    unknown = moot("personas", "show", "the-cook", "--json", env=env, cwd=tmp_path)
    assert unknown.code == 1
    assert unknown.json["error"]["message"] == "Persona 'the-cook' not found"


def test_a_persona_of_ones_own_is_written_and_speaks(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    (tmp_path / ".git").mkdir()
    below = tmp_path / "src"
    below.mkdir()
    made = moot("personas", "new", "the-clerk", env=env, cwd=below)
    assert made.code == 0
    assert Path(made.out.strip()) == tmp_path.resolve() / "moot" / "personas" / "the-clerk.md"
    assert moot("personas", "new", "the-clerk", env=env, cwd=below).code == 1
    assert moot("ask", "the-clerk", "Well?", env=env, cwd=below).code == 0
    assert "The Clerk" in stub.requests[0].system


def test_a_users_persona_overrides_a_shipped_one(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    shipped = moot("personas", "show", "the-coach", env=env, cwd=tmp_path).out
    personas = tmp_path / "moot" / "personas"
    personas.mkdir(parents=True)
    changed = shipped.replace("name: The Coach", "name: The Trainer")
    assert changed != shipped
    (personas / "the-coach.md").write_text(changed, encoding="utf-8")
    assert moot("ask", "the-coach", "Well?", env=env, cwd=tmp_path).code == 0
    assert "You are The Trainer" in stub.requests[0].system


@pytest.mark.parametrize("bad", ["../x", "The-Clerk", "a" * 65, "-x"])
def test_a_persona_id_stays_an_id(tmp_path: Path, bad: str) -> None:
    ended = moot("personas", "new", "--", bad, env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 2
    assert "is not an id" in ended.err
    assert not (tmp_path / "moot").exists()


def test_local_models_are_listed(tmp_path: Path) -> None:
    listed = moot("models", "list", "--json", env=environment(tmp_path), cwd=tmp_path).json["models"]
    assert all(model["licence"] and model["path"] is None for model in listed)
    assert "pull NAME" in moot("models", "list", env=environment(tmp_path), cwd=tmp_path).err


def test_a_model_that_is_not_listed_cannot_be_pulled(tmp_path: Path) -> None:
    ended = moot("models", "pull", "gpt-9", env=environment(tmp_path), cwd=tmp_path)
    assert ended.code == 1
    assert "Model 'gpt-9' not found" in ended.err


def test_no_sessions_yet(tmp_path: Path) -> None:
    ended = moot("sessions", env=environment(tmp_path), cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert "Begin one" in ended.err
    assert json.loads(moot("sessions", "--json", env=environment(tmp_path), cwd=tmp_path).out) == {
        "sessions": [],
        "more": False,
    }
