"""A key that was refused is named with its variable, once, and everybody is asked again at once."""

from __future__ import annotations

from pathlib import Path

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.server import DECISION, a_board, serving

SESSIONS = "/api/board/sessions"
KEY = "refused the key in OPENAI_API_KEY"


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
