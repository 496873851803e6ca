"""`moot board` as a person or a script uses it: the real command, real HTTP, a real terminal."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from moot.board.events import BoardStopped
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.board_session import events, keep
from tests.support.command import MOOT, Ended, environment, moot
from tests.support.ready import Popen, stand_in
from tests.support.server import BRIEF, DECISION, a_board, serving
from tests.support.speaker import speaker

ORDER = (
    "The Devil's Advocate", "The Strategist", "The Pragmatist", "The Coach",
    "The Mentor", "The Visionary", "The Analyst", "The Ethicist",
)  # fmt: skip
"""Of speaking."""


def says(name: str) -> str:
    return f"{name} says: Not yet, because of the lease."


def who(request: Recorded) -> str:
    return speaker(request)


def asked(stub: StubServer, name: str) -> int:
    return sum(request.schema is None and who(request) == name for request in stub.requests)


def answering(stub: StubServer, special: Callable[[Recorded], Behaviour | None]) -> None:
    """A board on which some requests are answered in a special way."""
    a_board(stub)
    usual = stub.default
    assert callable(usual)
    stub.default = lambda request: special(request) or usual(request)


def board(folder: Path, stub: StubServer, *arguments: str, replies: list[object] | None = None) -> Ended:
    if replies is not None:
        (folder / "replies.yaml").write_text(json.dumps(replies), encoding="utf-8")
        arguments = (*arguments, "--answers", "replies.yaml")
    return moot("board", *arguments, env=environment(folder, stub), cwd=folder)


# -- scripts -------------------------------------------------------------------------------------


def test_a_whole_session_as_one_document(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    replies: list[object] = [
        "Ten months.",
        "",
        "Ours.",
        {"at": "challenge", "reply": "Rents fall."},
        {"at": "challenge", "reply": "b"},
        {"at": "review", "reply": "b"},
    ]
    ended = board(tmp_path, stub, DECISION, "--json", replies=replies)
    assert ended.code == 0
    said = ended.json
    assert (said["session"], said["step"], said["decision"]) == (said["id"], "review", DECISION)
    assert said["answers"] == [
        {"question": "Why one?", "answer": "Ten months."},
        {"question": "Why three?", "answer": "Ours."},
    ]
    assert [r["personaName"] for r in said["responses"]] == list(ORDER)
    assert all(r["isComplete"] for r in said["responses"])
    assert said["responses"][0]["challenges"][0]["challengeText"] == "Rents fall."
    assert said["responses"][0]["challenges"][0]["replyContent"] == says(ORDER[0])
    assert (said["brief"], said["briefStale"]) == (BRIEF, False)
    assert "error" not in said
    # Questions, eight views, a brief, a reply, the brief anew.
    assert len(stub.requests) == 12
    assert "Rents fall." in stub.requests[-1].said
    assert "not needed" not in ended.err


def test_words_go_to_stdout_in_speaking_order_and_then_the_brief(stub: StubServer, tmp_path: Path) -> None:
    # The first to speak is the last to be heard of.
    answering(
        stub,
        lambda request: (
            Behaviour(text=says(ORDER[0]), first_token_delay=0.3)
            if request.schema is None and who(request) == ORDER[0]
            else None
        ),
    )
    ended = board(tmp_path, stub, DECISION, "--no-questions")
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if " says: " in line] == [says(name) for name in ORDER]
    assert "The Strategist · " in ended.out
    assert ended.out.endswith(
        """
THE BOARD'S BRIEF

Recommendation (confidence: moderate)
Wait.

Agreement (moderate)
- The lease is the trap.

Tensions
- The Strategist / The Analyst: When to move.
  Decide what would count as too late.

Blind spots
- Nobody asked the customers.

Conditions
1. [ ] Rents do not fall.
"""
    )
    assert "The Strategist is thinking (openai:gpt-5.6)" in ended.err
    assert "The brief is being written" in ended.err
    assert "Saved. Continue with: moot board --resume board-" in ended.err
    assert len(stub.requests) == 9


def test_in_sequence_each_hears_those_before(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--mode", "sequential")
    assert ended.code == 0
    assert [who(request) for request in stub.requests[:8]] == list(ORDER)
    assert says(ORDER[0]) not in stub.requests[0].said
    assert says(ORDER[0]) in stub.requests[1].said
    assert [line for line in ended.out.splitlines() if " says: " in line] == [says(name) for name in ORDER]


def test_an_advisor_who_failed_is_retried_and_the_stale_brief_written_anew(
    stub: StubServer, tmp_path: Path
) -> None:
    failures = [Behaviour(status=401, error_message="no such key")]
    answering(
        stub,
        lambda request: (
            failures.pop() if failures and request.schema is None and who(request) == "The Coach" else None
        ),
    )
    env = environment(tmp_path, stub)
    first = moot("board", DECISION, "--no-questions", "--json", env=env, cwd=tmp_path)
    assert first.code == 0, "one advisor who does not answer fails nothing"
    assert "The Coach did not answer" in first.err
    assert "Or choose another model" in first.err
    coach = first.json["responses"][3]
    assert (coach["personaName"], coach["isComplete"]) == ("The Coach", False)
    assert "no such key" in coach["error"]

    replies: list[object] = [{"at": "challenge", "reply": "b"}, "r 4", "b"]
    second = board(tmp_path, stub, "--resume", first.json["id"], "--json", replies=replies)
    assert second.code == 0
    assert second.json["responses"][3]["content"] == says("The Coach")
    assert says("The Coach") in second.err
    assert (second.json["brief"], second.json["briefStale"]) == (BRIEF, False)
    assert [asked(stub, name) for name in ORDER] == [1, 1, 1, 2, 1, 1, 1, 1]
    assert sum(request.schema is not None for request in stub.requests) == 2
    assert f"{ORDER[0]}:\n{says(ORDER[0])}\n" in second.err, "what was said before is told again"


def test_an_advisor_whose_provider_asks_to_wait_is_listed_with_the_wait(
    stub: StubServer, tmp_path: Path
) -> None:
    # Longer than anybody is kept waiting for a retry.
    answering(
        stub,
        lambda request: (
            Behaviour(status=429, retry_after=300)
            if request.schema is None and who(request) == "The Coach"
            else None
        ),
    )
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--json")
    assert ended.code == 0
    (told,) = [line for line in ended.err.splitlines() if line.startswith("The Coach did not answer.")]
    assert told.endswith("Try again in 300 s.")
    assert [r["retryAfter"] for r in ended.json["responses"]] == [None] * 3 + [300.0] + [None] * 4


def until_heard(advisors: int, env: dict[str, str], folder: Path) -> None:
    """Until the log of the one session has so many, as another process sees it."""
    for _ in range(100):
        (listed,) = moot("sessions", "--json", env=env, cwd=folder).json["sessions"]
        assert (listed["format"], listed["step"]) == ("board", "advisors")
        if listed["turns"] == advisors:
            return
    pytest.fail(f"not all of {advisors} advisors were heard")


def test_a_killed_session_goes_on_without_asking_anybody_again(stub: StubServer, tmp_path: Path) -> None:
    stalling = [True]

    def special(request: Recorded) -> Behaviour | None:
        if stalling and request.schema is None and who(request) == "The Pragmatist":
            return Behaviour(text="Half a thought is none.", stall_after=2)
        return None

    answering(stub, special)
    env = environment(tmp_path, stub)
    with Popen(
        [*MOOT, "board", DECISION, "--no-questions"], env=env, cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while says("The Strategist") not in process.stdout.readline():
            pass
        until_heard(7, env, tmp_path)
        process.send_signal(signal.SIGKILL)
    stalling.clear()
    resumed = board(tmp_path, stub, "--last", "--json")
    assert resumed.code == 0
    assert [r["content"] for r in resumed.json["responses"]] == [says(name) for name in ORDER]
    assert [asked(stub, name) for name in ORDER] == [1, 1, 2, 1, 1, 1, 1, 1]


def test_answers_survive_being_left_in_the_middle(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    first = board(tmp_path, stub, DECISION, "--json", replies=["Ten months."])
    assert first.code == 1
    assert "step 'answers' needs an answer (Why two? (a number)" in first.err
    assert (first.json["step"], first.json["error"]["kind"]) == ("answers", "AnswersExhausted")
    second = board(tmp_path, stub, "--last", "--json", replies=["c"])
    assert second.code == 0
    assert second.json["answers"] == [{"question": "Why one?", "answer": "Ten months."}]
    assert sum(request.schema is not None for request in stub.requests) == 2, "questions and brief, once each"


def test_questions_that_fail_hold_nobody_up(stub: StubServer, tmp_path: Path) -> None:
    answering(
        stub,
        lambda request: (
            Behaviour(status=400, error_message="too deep")
            if request.schema is not None and "questions" in request.schema["properties"]
            else None
        ),
    )
    ended = board(tmp_path, stub, DECISION, "--json", replies=["c"])
    assert ended.code == 0
    assert "too deep" in ended.err
    assert ended.json["brief"] == BRIEF


def test_a_brief_that_fails_is_told_and_can_be_had_later(stub: StubServer, tmp_path: Path) -> None:
    failing = [True]
    answering(
        stub, lambda request: Behaviour(json_text="Well…") if failing and request.schema is not None else None
    )
    first = board(tmp_path, stub, DECISION, "--no-questions", "--json")
    assert first.code == 1
    assert "Well…" in first.err
    assert "Try again" in first.err
    assert (first.json["step"], first.json["brief"]) == ("review", None)
    failing.clear()
    second = board(tmp_path, stub, "--last", replies=["b"])
    assert second.code == 0
    assert "THE BOARD'S BRIEF" in second.out


def test_a_useless_brief_is_neither_printed_nor_kept_whole(stub: StubServer, tmp_path: Path) -> None:
    answering(stub, lambda request: Behaviour(text="x" * 120_000) if request.schema is not None else None)
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--json")
    assert ended.code == 1
    assert "xxx" in ended.err
    assert len(ended.err) < 10_000
    files = (tmp_path / "data" / "moot").iterdir()
    assert not any(b"x" * 10_000 in file.read_bytes() for file in files)


def test_a_board_that_nobody_answers_on_has_failed(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(status=401)
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--json")
    assert ended.code == 1
    assert ended.err.count("did not answer") == 8
    assert all(r["error"] for r in ended.json["responses"])


def test_a_challenge_that_fails_leaves_no_trace_but_is_told(stub: StubServer, tmp_path: Path) -> None:
    answering(
        stub,
        lambda request: Behaviour(status=401) if request.schema is None and "Rents" in request.said else None,
    )
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--json", replies=["Rents fall."])
    assert ended.code == 0
    assert "Or choose another model" in ended.err
    assert (ended.json["responses"][0]["challenges"], ended.json["briefStale"]) == ([], False)


def test_the_record_is_exported_from_the_menu_and_at_the_end(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    replies: list[object] = ["b", "e record.html", "e record.json", "e the record.MD"]
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--export", "end.md", replies=replies)
    assert ended.code == 0
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.glob("*.*")}
    del written["replies.yaml"]
    assert sorted(written) == ["end.md", "record.html", "record.json", "the record.MD"]
    assert all("Nobody asked the customers." in text for text in written.values())
    assert written["end.md"] == written["the record.MD"]
    assert written["end.md"].startswith("# Board session")
    assert written["record.html"].startswith("<!doctype html>")
    assert json.loads(written["record.json"])["brief"] == BRIEF
    assert "The record is in end.md." in ended.err


def test_a_record_that_cannot_be_written_costs_nothing_else(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / "folder.md").mkdir()
    ended = board(
        tmp_path, stub, DECISION, "--no-questions", "--json", replies=["b", "e folder.md", "1 Why?"]
    )
    assert ended.code == 0
    assert "folder.md cannot be written" in ended.err
    assert ended.json["responses"][0]["challenges"][0]["isReplyComplete"]


def test_the_page_shows_a_session_of_the_terminal(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    session = board(tmp_path, stub, DECISION, "--no-questions", "--json").json["id"]
    with serving(tmp_path, stub) as server:
        shown = server.get(f"/api/board/sessions/{session}").json()["session"]
    assert shown["brief"] == BRIEF
    assert [r["personaName"] for r in shown["responses"]] == list(ORDER)


def test_a_session_of_the_page_goes_on_in_the_terminal(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    with serving(tmp_path, stub) as server:
        session = server.session()[0]["sessionId"]
    ended = board(tmp_path, stub, "--resume", session, "--json", replies=["Why?"])
    assert ended.code == 0
    assert ended.json["responses"][0]["challenges"][0]["challengeText"] == "Why?"


def test_a_session_keeps_to_its_model_unless_told_otherwise(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    board(tmp_path, stub, DECISION, "--no-questions", "--model", "openai:small")
    board(tmp_path, stub, "--last", replies=["Why?"])
    board(tmp_path, stub, "--last", "--model", "openai:large", replies=["Why?"])
    assert [request.model for request in stub.requests] == ["small"] * 10 + ["large"]


def test_a_wish_for_advisors_is_heard(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / "config" / "moot").mkdir(parents=True)
    settings = tmp_path / "config" / "moot" / "config.toml"
    settings.write_text('[models.roles]\nadvisor = "openai:wise"\n', encoding="utf-8")
    board(tmp_path, stub, DECISION, "--no-questions")
    assert {request.model for request in stub.requests} == {"wise"}


def test_a_panel_of_ones_own_sits_on_the_board(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / "moot" / "panels").mkdir(parents=True)
    (tmp_path / "moot" / "panels" / "pair.md").write_text(
        "---\nid: pair\nname: The Pair\nmembers:\n  - the-analyst\n  - the-strategist\n---\n\nTwo.\n",
        encoding="utf-8",
    )
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--panel", "pair", "--json")
    assert [r["personaName"] for r in ended.json["responses"]] == ["The Strategist", "The Analyst"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("board",), 2, "name a decision"),
        (("board", DECISION, "--last"), 2, "name a decision"),
        (("board", "--last"), 1, "moot sessions"),
        (("board", "--last", "--panel", "board"), 2, "--panel: a session keeps to what it began with"),
        (("board", "--resume", "board-xyz"), 1, "Session 'board-xyz' not found"),
        (("board", " "), 2, "Your decision is empty."),
        (("board", "x" * 5001), 2, "5,001 characters"),
        (("board", DECISION, "--panel", "nobody"), 2, "there is none called 'nobody'"),
        (("board", DECISION, "--mode", "loud"), 2, "loud"),
        (("board", DECISION, "--export", "record.pdf"), 2, "must end in"),
        (("board", DECISION, "--model", "claude"), 2, "no model name"),
        (("board", DECISION, "--model", "nope:x"), 1, "no provider 'nope'"),
        (("board", DECISION, "--answers", "gone.yaml"), 2, "gone.yaml"),
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


def test_what_was_settled_at_the_beginning_cannot_be_wished_for_later(
    stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    session = board(tmp_path, stub, DECISION, "--no-questions", "--json").json["id"]
    asked_before = len(stub.requests)
    for option, *value in (["--mode", "independent"], ["--panel", "board"], ["--no-questions"]):
        ended = board(tmp_path, stub, "--resume", session, option, *value, replies=["Why?"])
        assert ended.code == 2
        assert f"{option}: a session keeps to what it began with: leave this option out" in ended.err
        assert ended.out == ""
    assert len(stub.requests) == asked_before


def test_nothing_is_stored_for_a_wrong_decision_or_model(stub: StubServer, tmp_path: Path) -> None:
    assert board(tmp_path, stub, " ").code == 2
    assert board(tmp_path, stub, DECISION, "--model", "nope:x").code == 1
    assert moot("sessions", "--json", env=environment(tmp_path, stub), cwd=tmp_path).json["sessions"] == []


def test_a_conversation_with_one_persona_is_no_board(stub: StubServer, tmp_path: Path) -> None:
    env = environment(tmp_path, stub)
    session = moot("ask", "the-coach", "Why?", "--json", env=env, cwd=tmp_path).json["session"]
    ended = moot("board", "--resume", session, env=env, cwd=tmp_path)
    assert ended.code == 1
    assert f"Board session '{session}' not found" in ended.err


def test_ctrl_c_saves_and_exits_130(stub: StubServer, tmp_path: Path) -> None:
    answering(
        stub,
        lambda request: (
            Behaviour(text="One two three.", stall_after=2)
            if request.schema is None and who(request) == ORDER[1]
            else None
        ),
    )
    env = environment(tmp_path, stub)
    with Popen(
        [*MOOT, "board", DECISION, "--no-questions", "--mode", "sequential"], env=env, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        # A shell that runs the tests in the background has Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        heard = ""
        while not heard.endswith("One"):
            heard += process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Saved. Continue with: moot board --resume board-" in err
    assert "Traceback" not in err
    stub.wait(lambda s: s.clients_left == 1)
    listed = moot("sessions", "--json", env=env, cwd=tmp_path).json["sessions"]
    assert [(s["step"], s["turns"]) for s in listed] == [("advisors", 1)]


@pytest.mark.parametrize("mode", ["independent", "sequential"])
def test_what_advisors_say_cannot_take_over_the_terminal(mode: str, stub: StubServer, tmp_path: Path) -> None:
    hostile = {**BRIEF, "blindSpots": ["\x1b]0;owned\x07 \x1b[2Jthe cursor"]}
    stub.default = lambda request: (
        Behaviour(json_text=json.dumps(hostile))
        if request.schema is not None
        else Behaviour(tokens=("Fine\x1b", "]0;owned\x07", " \x1b[2J", "then."))
    )
    ended = board(tmp_path, stub, DECISION, "--no-questions", "--mode", mode)
    assert ended.code == 0
    assert "the cursor" in ended.out
    assert not {"\x1b", "\x07"} & set(ended.out + ended.err)


# -- a terminal ----------------------------------------------------------------------------------


def terminal(*arguments: str, env: dict[str, str], cwd: Path) -> pexpect.spawn[str]:
    program, *rest = stand_in("board", *arguments)
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


def test_a_person_is_taken_through_a_session(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    there = terminal(DECISION, env=environment(tmp_path, stub), cwd=tmp_path)
    for question, answer in (("Why one\\? \\(a number\\)", "Ten."), ("Why two", ""), ("Why three", "c")):
        there.expect(question)
        there.expect("\\[Enter\\] Skip this question")
        there.expect(PROMPT)
        there.send(f"{answer}\r")
    there.expect("The Strategist")
    there.expect("THE|Ethicist says")
    there.expect("A challenge to The Devil's Advocate:")
    there.expect("\\[Enter\\] Go on to The Strategist")
    there.expect(PROMPT)
    there.send("\r")
    there.expect("A challenge to The Strategist:")
    there.expect(PROMPT)
    there.send("Rents fall.\r")
    there.expect("The Strategist says")
    there.expect("A challenge to The Strategist:")
    there.expect(PROMPT)
    there.send("b\r")
    there.expect("THE BOARD'S BRIEF")
    there.expect("Wait\\.")
    there.expect("What next\\?")
    there.expect("Enter leaves, \\? helps")
    there.expect(PROMPT)
    there.send("nonsense\r")
    there.expect("none of those offered")
    there.expect(PROMPT)
    there.send("e record.md\r")
    there.expect("The record is in record.md")
    there.expect(PROMPT)
    there.send("\r")
    there.expect("moot board --resume")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 0
    record = (tmp_path / "record.md").read_text(encoding="utf-8")
    assert "> Ten." in record
    assert "> Rents fall." in record
    # Questions, eight views, a brief, a reply, the brief anew.
    assert len(stub.requests) == 12


def test_who_thinks_and_who_speaks_is_seen(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=20, words="One two three four five six seven eight nine ten.")
    there = terminal(DECISION, "--no-questions", env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect("The Strategist is speaking: [0-9]+ words")
    there.expect("A challenge to The Devil's Advocate:")
    there.expect(PROMPT)
    there.sendcontrol("c")
    there.expect("Saved")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 130


def test_in_sequence_words_are_seen_as_they_come(stub: StubServer, tmp_path: Path) -> None:
    answering(
        stub,
        lambda request: (
            Behaviour(text="One two three.", stall_after=2)
            if request.schema is None and who(request) == ORDER[1]
            else None
        ),
    )
    env = environment(tmp_path, stub)
    there = terminal(DECISION, "--no-questions", "--mode", "sequential", env=env, cwd=tmp_path)
    there.expect(f"{ORDER[0]} says")
    there.expect("One")
    there.sendcontrol("c")
    there.expect("Saved")
    there.expect(pexpect.EOF)
    there.close()
    assert there.exitstatus == 130


# -- a stopped board -----------------------------------------------------------------------------


def stopped(folder: Path) -> str:
    """A session in which one of two has spoken, and somebody has stopped it."""
    return keep(folder, [*events(model="openai:gpt-5.6")[:3], BoardStopped()])


def test_a_stopped_session_says_so_and_asks_before_it_goes_on(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    session = stopped(tmp_path)
    without: tuple[list[object] | None, ...] = (None, [], ["x"])
    for replies in without:
        refused = board(tmp_path, stub, "--resume", session, replies=replies)
        assert refused.code != 0
        assert "'stopped'" in refused.err
        assert "the board is stopped; type g to continue" in refused.err
    assert stub.requests == []
    ended = board(tmp_path, stub, "--resume", session, "--json", replies=[{"at": "stopped", "reply": "g"}])
    assert [response["isComplete"] for response in ended.json["responses"]] == [True, True]
    assert asked(stub, "The Strategist") == 0
    assert asked(stub, "The Mentor") == 1


def test_a_person_is_asked_before_a_stopped_session_goes_on(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    there = terminal("--resume", stopped(tmp_path), env=environment(tmp_path, stub), cwd=tmp_path)
    there.expect("The board is stopped; type g to continue")
    there.expect("\\[g\\] Go on")
    there.expect(PROMPT)
    assert stub.requests == []
    there.send("g\r")
    there.expect("The Mentor says")
    there.expect("A challenge to The Strategist:")
    there.sendcontrol("c")
    there.expect(pexpect.EOF)
    there.close()


def test_a_board_in_a_terminal_is_stopped_from_elsewhere_at_once(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="word " * 5000, pace=30)
    env = environment(tmp_path, stub)
    there = terminal(DECISION, "--no-questions", env=env, cwd=tmp_path)
    there.expect("speaking")
    stub.wait(lambda s: s.open_streams == 8)
    with serving(tmp_path, stub, "--no-open") as server:
        [session] = server.get("/api/board/sessions").json()["sessions"]
        at = f"/api/board/sessions/{session['id']}"
        assert server.post(f"{at}/stop", {}).status_code == 204
        stub.wait(lambda s: s.clients_left == 8 and s.open_streams == 0)
        there.expect("The board is stopped; type g to continue")
        there.expect(PROMPT)
        stub.reset()
        a_board(stub)
        there.send("g\r")
        there.expect("A challenge to The Devil's Advocate:")
        there.expect(PROMPT)
        there.sendcontrol("c")
        there.expect(pexpect.EOF)
        there.close()
        assert sorted(map(who, (r for r in stub.requests if r.schema is None))) == sorted(ORDER)
