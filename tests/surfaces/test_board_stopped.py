"""A board that is stopped spends nothing until somebody goes on. A key that was refused is named with its
variable, and everybody is asked again at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.flows.board_events import BoardStopped
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.surfaces.board_session import events, keep
from tests.surfaces.cli.command import environment, moot
from tests.surfaces.web.server import DECISION, a_board, serving

SESSIONS = "/api/board/sessions"
KEY = "refused the key in OPENAI_API_KEY"
NOT_YET_SPOKEN = 2
"""Events of a session in which everybody is still to speak."""


def test_over_http_one_advisor_is_stopped_and_the_others_speak_on(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    stub.on("You are The Coach", Behaviour(text="word " * 3000, pace=30))
    with serving(tmp_path, stub) as server:
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as told:
            session = next(told)["sessionId"]
            next(one for one in told if one["type"] == "persona_token" and one["personaId"] == "the-coach")
            stopped = server.post(f"{SESSIONS}/{session}/stop", {"personaId": "the-coach"})
            assert stopped.status_code == 204, stopped.text
            rest = list(told)
        [failed] = [one for one in rest if one["type"] == "persona_error"]
        assert (failed["personaId"], failed["kind"]) == ("the-coach", "Stopped")
        stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
        assert server.get(f"{SESSIONS}/{session}").json()["session"]["brief"] is not None


def test_over_http_everybody_is_stopped(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=30, words="word " * 3000)
    with serving(tmp_path, stub) as server:
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as told:
            session = next(told)["sessionId"]
            stub.wait(lambda s: s.open_streams == 8)
            assert server.post(f"{SESSIONS}/{session}/stop", {}).status_code == 204
            stub.wait(lambda s: s.clients_left == 8 and s.open_streams == 0)
        found = server.get(f"{SESSIONS}/{session}").json()["session"]
        assert (found["paused"], found["step"]) == (True, "advisors")


@pytest.mark.parametrize("last", [(BoardStopped(),), ()], ids=["stopped", "left"])
def test_over_http_a_board_that_rests_is_looked_at_for_nothing_and_goes_on_when_asked_to(
    stub: StubServer, tmp_path: Path, last: tuple[BoardStopped, ...]
) -> None:
    session = keep(tmp_path, [*events()[:NOT_YET_SPOKEN], *last])
    a_board(stub)
    with serving(tmp_path, stub) as server:
        for _ in range(2):
            assert server.get(f"{SESSIONS}/{session}").json()["session"]["paused"] is True
            with server.streaming("GET", f"{SESSIONS}/{session}/events?goOn=false") as told:
                assert "persona_start" not in [one["type"] for one in told]
        assert stub.requests == []
        assert server.post(f"{SESSIONS}/{session}/go-on").status_code == 202
        with server.streaming("GET", f"{SESSIONS}/{session}/events") as told:
            assert len([one for one in told if one["type"] == "persona_complete"]) == 2
        assert server.get(f"{SESSIONS}/{session}").json()["session"]["paused"] is False


def test_in_the_terminal_a_stopped_board_asks_before_anything_is_spent(
    stub: StubServer, tmp_path: Path
) -> None:
    session = keep(tmp_path, [*events()[:NOT_YET_SPOKEN], BoardStopped()])
    a_board(stub)
    env, answers = environment(tmp_path, stub), tmp_path / "answers.yaml"
    command = ("board", "--resume", session, "--model", "openai:gpt-x", "--answers", str(answers))
    answers.write_text("[]\n", encoding="utf-8")
    ended = moot(*command, env=env, cwd=tmp_path)
    assert "step 'stopped' needs an answer" in ended.err
    assert stub.requests == []
    answers.write_text("- g\n", encoding="utf-8")
    assert "The Mentor says: Not yet" in moot(*command, env=env, cwd=tmp_path).out


def test_over_http_a_refused_key_is_named_with_its_variable_and_all_are_asked_again(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.on(lambda request: request.schema is None, Behaviour(status=401, error_message="invalid key"))
    with serving(tmp_path, stub) as server:
        told = server.session()
        failed = [one for one in told if one["type"] == "persona_error"]
        assert len(failed) == 8
        for one in failed:
            assert one["kind"] == "KeyRefused"
            assert KEY in one["message"]
            assert "Put a valid key into OPENAI_API_KEY" in one["message"]
        stub.reset()
        a_board(stub)
        session = server.get(SESSIONS).json()["sessions"][0]["id"]
        assert server.post(f"{SESSIONS}/{session}/retry", {}).status_code in (200, 202, 204)
        last = max(one["id"] or 0 for one in told)
        with server.streaming("GET", f"{SESSIONS}/{session}/events?after={last}") as again:
            assert len([one for one in again if one["type"] == "persona_complete"]) == 8


def test_in_the_terminal_a_refused_key_is_named_once_and_all_are_asked_again(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.on(lambda request: request.schema is None, Behaviour(status=401, error_message="invalid key"))
    env, answers = environment(tmp_path, stub), tmp_path / "answers.yaml"
    answers.write_text("[]\n", encoding="utf-8")
    ended = moot("board", DECISION, "--no-questions", "--answers", str(answers), env=env, cwd=tmp_path)
    assert ended.err.count(KEY) == 1, ended.err
    assert ended.err.count("Put a valid key into OPENAI_API_KEY") == 1
    same = "did not answer, for the same reason as The Devil's Advocate."
    assert ended.err.count(same) == 7
    stub.reset()
    a_board(stub)
    answers.write_text("- r all\n- b\n", encoding="utf-8")
    again = moot("board", "--last", "--answers", str(answers), env=env, cwd=tmp_path)
    assert "Nobody asked the customers." in again.out, again.err
