"""SIGTERM is a clean stop: everything is closed, written and sent before the process ends."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.cluster import Several, new_database
from tests.support.command import MOOT, environment
from tests.support.postgres import running_postgresql
from tests.support.ready import Popen
from tests.support.server import DECISION, a_board, serving
from tests.telemetry.test_telemetry import Collector, collector  # noqa: F401


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


def left_in_the_wal(file: Path) -> int:
    wal = file.with_name(f"{file.name}-wal")
    return wal.stat().st_size if wal.exists() else 0


def stopped(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(20)


def test_a_server_writes_everything_into_its_database_file(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite3"
    a_board(stub, pace=20, words="word " * 40)
    with serving(tmp_path, stub, "--database", f"sqlite:///{file}") as server:
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
            next(event for event in events if event["type"] == "persona_token")
            assert left_in_the_wal(file) > 0
            assert stopped(server.process) == 0
            assert server.process.stderr is not None
            assert "Traceback" not in server.process.stderr.read()
    assert left_in_the_wal(file) == 0
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)


def test_a_server_sends_what_it_has_to_report(
    stub: StubServer,
    collector: Collector,  # noqa: F811
    tmp_path: Path,
) -> None:
    a_board(stub)
    never = {"OTEL_METRIC_EXPORT_INTERVAL": "3600000", "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
    with serving(tmp_path, stub, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **never) as server:
        server.session()
        assert collector.spans == []
        assert stopped(server.process) == 0
    assert [span.name for span in collector.spans].count("chat gpt-5.6") == 9
    assert collector.points("gen_ai.client.token.usage")


def test_several_servers_and_a_worker_stop_cleanly(postgresql: str, stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=20, words="word " * 40)
    several = Several(tmp_path, stub, new_database(postgresql, "stopping"))
    with several.worker() as worker, several.server("--workers", "2") as server:
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
            next(event for event in events if event["type"] == "persona_token")
            assert stopped(worker) == 0
            assert stopped(server.process) == 0


@pytest.mark.parametrize("how", ["stdio", "http"])
def test_an_mcp_server_stops_while_a_board_is_at_work(how: str, stub: StubServer, tmp_path: Path) -> None:
    """And while its client waits on stdin, which only the client can end."""
    arguments = ("--http", "--port", "0") if how == "http" else ()
    stub.default = Behaviour(text="word " * 400, pace=20)
    with _mcp(tmp_path, stub, *arguments) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if how == "http":
            process.stderr.readline()
        else:
            for message in _convening():
                process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            stub.wait(lambda stub: len(stub.requests) >= 8, 20)
        assert stopped(process) == 0
        assert "Traceback" not in process.stderr.read()
    file = tmp_path / "data" / "moot" / "moot.sqlite3"
    assert file.exists() is (how == "stdio")
    assert left_in_the_wal(file) == 0


def test_a_command_that_is_told_to_stop_keeps_what_was_complete(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="word " * 400, pace=20)
    process = Popen(
        [*MOOT, "ask", "the-strategist", DECISION],
        env=environment(tmp_path, stub),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    stub.wait(lambda stub: len(stub.requests) >= 1, 20)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert left_in_the_wal(tmp_path / "data" / "moot" / "moot.sqlite3") == 0


def _mcp(folder: Path, stub: StubServer, *arguments: str) -> subprocess.Popen[str]:
    return Popen(
        [*MOOT, "mcp", *arguments],
        env=environment(folder, stub),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _convening() -> list[dict[str, Any]]:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "0"},
    }
    call = {"name": "convene_board", "arguments": {"decision": DECISION}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
