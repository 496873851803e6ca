"""`moot ask` as a person or a script uses it: the real command, real HTTP, a real terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pexpect
import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import MOOT, environment, moot
from tests.support.ready import Popen, stand_in

QUESTION = "Should we open a second office?"


def test_words_go_to_stdout_and_all_else_to_stderr(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="Not yet. The lease is the trap.")
    ended = moot("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 0
    assert ended.out == "Not yet. The lease is the trap.\n"
    assert "The Strategist is thinking (openai:gpt-5.6)" in ended.err
    assert "7 tokens" in ended.err
    assert "moot ask --resume ask-" in ended.err
    sent = stub.requests[0]
    assert "You are The Strategist" in sent.system
    assert sent.messages[-1]["content"] == QUESTION


def test_the_anthropic_wire_serves_too(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, ANTHROPIC_API_KEY="x", ANTHROPIC_BASE_URL=stub.anthropic_base_url)
    ended = moot("ask", "the-strategist", QUESTION, env=env, cwd=tmp_path)
    assert ended.code == 0
    assert (stub.requests[0].wire, stub.requests[0].model) == ("anthropic", "claude-sonnet-5-5")


def test_json_is_one_document(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="No."), Behaviour(text="Because of the lease."))
    answers = tmp_path / "answers.yaml"
    answers.write_text("- Why?\n", encoding="utf-8")
    ended = moot(
        "ask", "the-strategist", QUESTION, "--json", "--answers", str(answers),
        env=environment(tmp_path, stub), cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 0
    assert ended.json["persona"] == "the-strategist"
    assert ended.json["step"] == "follow-up"
    assert [(t["question"], t["answer"]) for t in ended.json["turns"]] == [
        (QUESTION, "No."),
        ("Why?", "Because of the lease."),
    ]
    assert ended.json["turns"][0]["spoken"]["output_tokens"] == 1
    second = [(m["role"], m["content"]) for m in stub.requests[1].messages if m["role"] != "system"]
    assert second == [("user", QUESTION), ("assistant", "No."), ("user", "Why?")]


def test_what_may_be_spent_in_a_day_holds_in_the_terminal_too(stub: StubServer, tmp_path: Path) -> None:
    settings = tmp_path / "config" / "moot" / "config.toml"
    settings.parent.mkdir(parents=True)
    priced = '[prices."openai:gpt-5.6"]\ninput = 1.0\noutput = 1.0\n'
    settings.write_text(f"[limits]\nday_usd = 0.0\n{priced}", encoding="utf-8")
    ended = moot("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 1
    assert "[limits] day_usd stops them at $0.00" in ended.err
    assert stub.requests == []


def test_a_conversation_is_taken_up_where_it_stood(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="No."), Behaviour(text="Because."), Behaviour(text="Indeed."))
    env = environment(tmp_path, stub)
    first = moot("ask", "the-strategist", QUESTION, "--json", env=env, cwd=tmp_path).json
    second = moot("ask", "--resume", first["session"], "Why?", "--json", env=env, cwd=tmp_path)
    assert second.code == 0
    assert [t["answer"] for t in second.json["turns"]] == ["No.", "Because."]
    assert f"You:\n{QUESTION}\n" in second.err
    third = moot("ask", "--last", "Sure?", env=env, cwd=tmp_path)
    assert third.out == "Indeed.\n"
    listed = moot("sessions", "--json", env=env, cwd=tmp_path).json["sessions"]
    assert [(s["id"], s["step"], s["turns"]) for s in listed] == [(first["session"], "follow-up", 6)]


def test_a_resumed_conversation_keeps_its_model_unless_told_otherwise(
    stub: StubServer, tmp_path: Path
) -> None:
    env = environment(tmp_path, stub)
    moot("ask", "the-coach", QUESTION, env=env | {"MOOT_MODEL": "openai:small"}, cwd=tmp_path)
    moot("ask", "--last", "Why?", env=env, cwd=tmp_path)
    moot("ask", "--last", "Why?", "--model", "openai:large", env=env, cwd=tmp_path)
    assert [r.model for r in stub.requests] == ["small", "small", "large"]


def test_a_killed_answer_is_asked_for_again_and_nothing_complete_is_lost(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.script(
        Behaviour(text="No."),
        Behaviour(text="Because of the lease.", pace=100, stall_after=2),
        Behaviour(text="Because of the people."),
    )
    env = environment(tmp_path, stub)
    session = moot("ask", "the-strategist", QUESTION, "--json", env=env, cwd=tmp_path).json["session"]
    with Popen(
        [*MOOT, "ask", "--resume", session, "Why?"], env=env, cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read(7) == b"Because"
        process.send_signal(signal.SIGKILL)
    resumed = moot("ask", "--resume", session, "--json", env=env, cwd=tmp_path)
    assert resumed.code == 0
    assert [(t["question"], t["answer"]) for t in resumed.json["turns"]] == [
        (QUESTION, "No."),
        ("Why?", "Because of the people."),
    ]
    assert len(stub.requests) == 3


def test_ctrl_c_closes_the_stream_saves_and_exits_130(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="One two three four.", stall_after=2))
    with Popen(
        [*MOOT, "ask", "the-strategist", QUESTION], env=environment(tmp_path, stub), cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read(3) == "One"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Saved. Continue with: moot ask --resume ask-" in err
    assert "Traceback" not in err
    stub.wait(lambda s: s.clients_left == 1)


# -- a terminal ----------------------------------------------------------------------------------


def terminal(*arguments: str, env: dict[str, str], cwd: Path) -> pexpect.spawn[str]:
    program, *rest = stand_in(*arguments)
    return pexpect.spawn(
        program,
        rest,
        # pexpect answers no questions about the cursor, as terminals do.
        env={**env, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
        cwd=str(cwd),
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 60),
    )


PROMPT = "\x1b\\[\\?2004h"
"""Sent when the line editor is ready for keys."""


def test_a_person_follows_up_and_leaves(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="No."), Behaviour(text="Because."))
    there = terminal("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect("The Strategist")
    there.expect("No\\.")
    there.expect("follow-up question")
    there.expect(PROMPT)
    there.send("Why?\r")
    there.expect("Because\\.")
    there.expect(PROMPT)
    there.send("\r")
    there.expect("moot ask --resume")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 0


def test_a_person_is_asked_for_the_question(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="No."))
    there = terminal("ask", "the-strategist", env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect("Your question:")
    there.expect(PROMPT)
    there.send(f"{QUESTION}\r")
    there.expect("No\\.")
    there.expect(PROMPT)
    there.sendcontrol("d")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 0


def test_ctrl_c_at_the_prompt_exits_130(stub: StubServer, tmp_path: Path) -> None:
    there = terminal("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect(PROMPT)
    there.sendcontrol("c")
    there.expect("Saved")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 130


def test_after_a_failure_a_person_can_retry(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(status=401, error_message="invalid x-api-key"), Behaviour(text="No."))
    there = terminal("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect("invalid x-api-key")
    there.expect("\\[r\\] Retry")
    there.expect(PROMPT)
    there.send("r\r")
    there.expect("No\\.")
    there.expect(PROMPT)
    there.send("\r")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 0


def test_what_a_model_says_cannot_take_over_the_terminal(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(tokens=("Fine\x1b", "]0;owned\x07", " \x1b[2J", "then.")))
    ended = moot("ask", "the-strategist", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    assert "\x1b" not in ended.out
    assert "\x07" not in ended.out


# -- things that go wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "kind", "advice"),
    [
        (Behaviour(status=401), "KeyRefused", "Or choose another model"),
        (Behaviour(status=404), "RequestRejected", "Check the model's name"),
        (Behaviour(text="One two three.", cut_after=1), "StreamBroken", "Try again"),
        (Behaviour(text="One two.", truncate_after=2), "StreamBroken", "Try again"),
        (Behaviour(status=429, retry_after=3600), "RateLimited", "Wait a moment"),
        (Behaviour(text="", stop="refused"), "ReplyRefused", "other words"),
    ],
)
def test_a_failed_answer_is_kept_as_a_failure_with_advice(
    behaviour: Behaviour, kind: str, advice: str, stub: StubServer, tmp_path: Path
) -> None:
    stub.script(behaviour)
    ended = moot("ask", "the-coach", QUESTION, "--json", env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 1
    assert f"moot ask --resume {ended.json['session']} r" in ended.err
    assert ended.json["failure"]["kind"] == kind
    assert ended.json["turns"] == [{"question": QUESTION, "answer": None}]
    assert advice in ended.err
    resumed = moot("ask", "--last", "r", env=environment(tmp_path, stub), cwd=tmp_path)
    assert (resumed.code, resumed.out) == (0, "The stub has read the request and has nothing against it.\n")


def test_what_was_said_is_shown_again_without_gaps(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(text="No.\n\nNot yet."), Behaviour(text="Because."))
    env = environment(tmp_path, stub)
    moot("ask", "the-coach", QUESTION, env=env, cwd=tmp_path)
    ended = moot("ask", "--last", "Why?", env=env, cwd=tmp_path)
    assert f"You:\n{QUESTION}\n\nThe Coach:\nNo.\n\nNot yet.\n" in ended.err
    assert "\n\n\n" not in ended.err
    assert "Not yet.\n\nThe Coach is" not in ended.err


def test_waiting_for_a_busy_server_is_told(stub: StubServer, tmp_path: Path) -> None:
    stub.script(Behaviour(status=429, retry_after="0.01"), Behaviour(text="No."))
    ended = moot("ask", "the-coach", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 0
    assert "asking again at once" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ask", "nobody", QUESTION), 1, "Persona 'nobody' not found"),
        (("ask", "the-devil", QUESTION), 1, "Did you mean the-devil-s-advocate? Available: "),
        (("ask", "starategist", QUESTION), 1, "Did you mean the-strategist? Available: "),
        (("ask", "--last", QUESTION), 1, "There is no ask session.\n`moot sessions` lists them."),
        (("ask", "nobody", QUESTION), 1, "the-strategist"),
        (("ask",), 2, "name a persona (`moot personas` lists them)"),
        (("ask", "--last"), 1, "moot sessions"),
        (("ask", "--resume", "ask-xyz"), 1, "Session 'ask-xyz' not found"),
        (("ask", "the-coach", " "), 2, "Your question is empty: ask something."),
        (("ask", "the-coach", "x" * 5001), 2, "5,001 characters"),
        (("ask", "the-coach", QUESTION, "--model", "claude"), 2, "no model name"),
        (("ask", "the-coach", QUESTION, "--model", "nope:x"), 1, "no provider 'nope'"),
        (("ask", "the-coach", QUESTION, "--answers", "gone.yaml"), 2, "gone.yaml"),
        (("ask", "the-coach"), 1, "step 'question' needs an answer"),
        (("ask", "the-coach", QUESTION, "--database", "nonsense"), 1, "sqlite:////path"),
        (("ask", "the-coach", "caf\udce9?"), 2, "no UTF-8 text"),
        (("asks",), 2, "No such command"),
        (("ask", "the-coach", "Should", "we?"), 2, "'we?' is left over: put a sentence in quotes"),
    ],
)
def test_mistakes_are_told_with_their_exit_code(
    arguments: tuple[str, ...], code: int, said: str, stub: StubServer, tmp_path: Path
) -> None:
    ended = moot(*arguments, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == code
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert stub.requests == []


def test_a_follow_up_that_is_refused_says_why(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    session = moot("ask", "the-coach", QUESTION, "--json", env=env, cwd=tmp_path).json["session"]
    ended = moot("ask", "--last", "x" * 5001, "--json", env=env, cwd=tmp_path)
    assert ended.code == 2
    assert "5,001 characters" in ended.err
    assert ended.json["session"] == session
    assert ended.json["error"]["kind"] == "InvalidInput"


@pytest.mark.parametrize("key", ["…", "two\nlines"])
def test_a_key_that_cannot_be_one_is_told(key: str, stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub, OPENAI_API_KEY=key)
    ended = moot("ask", "the-coach", QUESTION, env=env, cwd=tmp_path)
    assert ended.code == 1
    assert "OPENAI_API_KEY holds something that cannot be a key" in ended.err
    assert stub.requests == []


def test_a_hostile_persona_file_cannot_take_over_the_terminal(stub: StubServer, tmp_path: Path) -> None:
    personas = tmp_path / "moot" / "personas"
    personas.mkdir(parents=True)
    shipped = moot("personas", "show", "the-coach", env=environment(tmp_path), cwd=tmp_path).out
    hostile = "\n".join(
        'role: "Coach \\e]0;PWNED\\a"' if line.startswith("role:") else line for line in shipped.splitlines()
    )
    (personas / "the-coach.md").write_text(hostile, encoding="utf-8")
    ended = moot("ask", "the-coach", QUESTION, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 1
    assert "the-coach.md" in ended.err
    assert "role" in ended.err


def test_letters_that_the_terminal_does_not_have_do_not_cost_the_answer(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.script(Behaviour(text="Fine 🎯 then."))
    env = environment(tmp_path, stub, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    ended = moot("ask", "the-coach", QUESTION, env=env, cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "Fine ? then.\n")


def test_nothing_is_stored_for_a_wrong_persona_or_question(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    moot("ask", "nobody", QUESTION, env=env, cwd=tmp_path)
    moot("ask", "the-coach", " ", env=env, cwd=tmp_path)
    assert moot("sessions", "--json", env=env, cwd=tmp_path).json["sessions"] == []


def test_a_reader_that_goes_away_is_no_crash(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="word " * 30_000)
    env = environment(tmp_path, stub)
    reading, writing = os.pipe()
    with Popen(
        [*MOOT, "ask", "the-coach", QUESTION], env=env, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    listed = moot("sessions", "--json", env=env, cwd=tmp_path).json["sessions"]
    assert [s["step"] for s in listed] == ["answer"], "the reader's leaving is no failure of the model"
