"""Tests cannot reach the network or the developer's settings. 192.0.2.1 belongs to nobody, by RFC 5737."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.processes import environment
from tests.netguard.sitecustomize import refuse_live_calls

REFUSED = "tests may not reach the network"


def connect(host: str) -> None:
    with socket.socket() as connection:
        connection.settimeout(0.5)
        connection.connect((host, 9))


def send(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.sendto(b"x", (host, 9))


def connect_in_a_loop(host: str) -> None:
    asyncio.run(asyncio.wait_for(asyncio.open_connection(host, 9), 0.5))


@pytest.mark.parametrize(
    ("call", "host"),
    [
        (connect, "192.0.2.1"),
        (send, "192.0.2.1"),
        (connect_in_a_loop, "192.0.2.1"),
        (connect_in_a_loop, "example.org"),
        (lambda host: socket.getaddrinfo(host, 80), "example.org"),
        (lambda host: socket.getaddrinfo(host, 80), b"example.org"),
        (lambda host: socket.getaddrinfo(host, 80), "127.0.0.1.example.org"),
        (socket.gethostbyname, "example.org"),
        (socket.gethostbyaddr, "192.0.2.1"),
        (lambda host: socket.getnameinfo((host, 80), 0), "192.0.2.1"),
    ],
)
def test_live_calls_are_refused_in_this_process(call: Callable[[str], object], host: str) -> None:
    with pytest.raises(RuntimeError, match=REFUSED):
        call(host)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket().connect(('192.0.2.1', 9))",
        "import socket; socket.getaddrinfo('example.org', 80)",
    ],
)
def test_live_calls_are_refused_in_processes_that_tests_start(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 1
    assert REFUSED in done.stderr


@pytest.mark.parametrize(
    "env",
    [
        environment.for_moot(os.environ),
        environment.for_review_server(os.environ),
        environment.for_git(os.environ),
    ],
    ids=["server", "reviewer's server", "git"],
)
@pytest.mark.parametrize("options", [("-P",), ("-I",), ()])
def test_live_calls_are_refused_in_processes_that_moot_starts(
    env: dict[str, str], options: tuple[str, ...]
) -> None:
    assert "PYTHONPATH" not in env
    code = "import socket; socket.socket().connect(('192.0.2.1', 9))"
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert REFUSED in done.stderr


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", b"localhost", "0.0.0.0", "", None]
)
def test_looking_up_this_machine_is_allowed(host: str | bytes | None) -> None:
    refuse_live_calls("socket.getaddrinfo", (host, 80, 0, 0, 0))


def test_connecting_to_this_machine_is_allowed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        client.connect(str(tmp_path / "socket"))


def test_the_developers_settings_and_files_are_out_of_reach() -> None:
    settings = (
        "ANTHROPIC_API_KEY",
        "OPENAI_BASE_URL",
        "MOOT_MODEL",
        "OLLAMA_HOST",
        "HF_HOME",
        "https_proxy",
        "NO_COLOR",
    )
    code = (
        "import json, os, tests.conftest as conftest; print(json.dumps(dict(os.environ)));"
        "conftest.pytest_unconfigure()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | dict.fromkeys(settings, "set"),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    environment = json.loads(found.stdout)
    assert environment.keys().isdisjoint(settings)
    home = Path(environment["HOME"])
    assert home.name.startswith("moot-tests-")
    assert home != Path.home()
    assert not home.exists()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        assert Path(environment[name]).parent == home


def test_this_process_has_a_home_of_its_own() -> None:
    assert Path.home().name.startswith("moot-tests-")
    assert Path.home().is_dir()
