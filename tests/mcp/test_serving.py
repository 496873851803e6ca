"""How the server is run: nothing but the protocol on stdout, and no page of another site over HTTP."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from moot.board.events import MAX_ANSWER, MAX_ANSWERS
from moot.board.service import known
from moot.mcp.deliberating import MAX_CONTEXT
from moot.server.http import MAX_EVIDENCE
from tests.support.command import MOOT, environment, moot
from tests.support.mcp_client import a_change, serving
from tests.support.ready import Popen

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "0"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


def read(path: str) -> dict[str, Any]:
    call = {"name": "read_file", "arguments": {"path": path}}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}


def test_stdout_has_nothing_but_the_protocol(tmp_path: Path) -> None:
    a_change(tmp_path)
    lines = ["this is no message", json.dumps(INITIALIZE)]
    lines += [json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})]
    process = Popen(
        [*MOOT, "mcp", "--change", "add-login"],
        env=environment(tmp_path),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write("\n".join([*lines, json.dumps(read("proposal.md")), ""]))
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while 2 not in answers:
            message = json.loads(process.stdout.readline())
            if message.get("id") is not None:
                answers[message["id"]] = message["result"]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(10) == 0
        said = process.stderr.read()
    assert answers[1]["serverInfo"]["name"] == "moot"
    assert answers[2]["structuredContent"]["lines"] == 13
    assert json.loads(answers[2]["content"][0]["text"]) == answers[2]["structuredContent"]
    assert "The client read proposal.md, lines 1–13 of 13" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--change", "nope"), 1, "Change 'nope' not found"),
        (("--change", "../x"), 2, "'../x' is not an id"),
        (("--port", "8000"), 2, "is for --http"),
        (("--http", "--port", "TAKEN"), 2, "cannot be used: Address already in use; try --port 0"),
    ],
)
def test_what_cannot_be_served_is_said_on_stderr(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [port if argument == "TAKEN" else argument for argument in arguments]
        ended = moot("mcp", *given, env=environment(tmp_path), cwd=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert not (tmp_path / "data").exists(), "looking must not create anything"


def test_another_name_of_the_program_finds_its_own_changes(tmp_path: Path) -> None:
    a_change(tmp_path)
    (tmp_path / "moot").rename(tmp_path / "agentd")
    (tmp_path / "moot" / "changes").mkdir(parents=True)
    arguments = ("mcp", "--change", "add-login")
    assert moot(*arguments, env=environment(tmp_path), cwd=tmp_path).code == 1
    assert moot(*arguments, "--agentd", env=environment(tmp_path), cwd=tmp_path).code == 0


def test_only_requests_to_this_very_server_are_heard(tmp_path: Path) -> None:
    a_change(tmp_path)
    with serving(tmp_path) as url, httpx2.Client(timeout=30) as client:
        address = url.removeprefix("http://").removesuffix("/mcp")

        def asked(**headers: str) -> int:
            return client.post(url, json=INITIALIZE, headers={**ACCEPT, **headers}).status_code

        assert asked() == 200
        assert asked(origin=f"http://{address}") == 200
        assert asked(host="rebound.example") == 421
        assert asked(host=f"rebound.example:{address.partition(':')[2]}") == 421
        assert asked(host="127.0.0.1:1") == 421
        assert asked(origin="https://elsewhere.example") == 403
        assert asked(origin="http://127.0.0.1:1") == 403
        assert asked(origin="null") == 403
        hostile = {**ACCEPT, "origin": "https://elsewhere.example"}
        assert client.get(url, headers=hostile).status_code == 403
        assert client.delete(url, headers=hostile).status_code in (403, 405)
        too_large = json.dumps(INITIALIZE) + " " * MAX_EVIDENCE
        answer = client.post(url, content=too_large, headers={**ACCEPT, "content-type": "application/json"})
        assert answer.status_code == 413


def test_ctrl_c_ends_a_server(tmp_path: Path) -> None:
    for arguments in ((), ("--http", "--port", "0")):
        process = Popen(
            [*MOOT, "mcp", *arguments],
            env=environment(tmp_path),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdin, process.stdout, process.stderr:
            if arguments:
                process.stderr.readline()
            else:
                process.stdin.write(json.dumps(INITIALIZE) + "\n")
                process.stdin.flush()
                process.stdout.readline()
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(10) in (0, 130, -signal.SIGINT)
            finally:
                process.kill()
                process.wait(10)
            assert "Traceback" not in process.stderr.read()


# -- what the board has to know ------------------------------------------------------------------


def test_a_context_is_given_in_pieces_that_lose_no_word() -> None:
    assert known(" \n ") == ()
    (short,) = known(" We are five. ")
    assert (short.question, short.answer) == ("What does the board have to know?", "We are five.")
    for text in ("word " * (MAX_CONTEXT // 5), "x" * MAX_CONTEXT, ("x" * 501 + " ") * 9, "a\n\n" * 1000):
        pieces = known(text)
        assert 1 < len(pieces) <= MAX_ANSWERS
        assert all(len(piece.answer) <= MAX_ANSWER for piece in pieces)
        assert "".join("".join(piece.answer for piece in pieces).split()) == "".join(text.split())
    assert known("word " * 400)[1].question == "What does the board have to know? (part 2)"
