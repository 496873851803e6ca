"""The real Codex and Claude Code, each of a person of its own, with a stub model behind them.

They are no Python programs, so that nothing guards their network. Instead their settings forbid all calls
but those to the model, the model is on loopback, and whoever calls out all the same is sent by the proxy's
settings to a `Wall`, which refuses, and fails the test.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tests.netguard.sitecustomize as netguard
from moot.agents import Job, Reviewer, find
from moot.changes.folder import ChangeFolder
from moot.llm.messages import Tokens
from tests.stub.server import StubServer
from tests.support.mcp_client import a_change

ROOT = Path(__file__).parents[2]
CHANGE = "add-login"
NODE = str(Path(sys.executable).parent)
"""Where Node is, which some of the clients need: it comes with the project's own environment."""
# Claude Code knows what this one costs.
MODELS = {"codex": "stub-model", "claude": "claude-opus-4-5-20251101"}

_CODEX = """\
model = "stub-model"
model_provider = "stub"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.stub]
name = "stub"
base_url = "{url}"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[feedback]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
"""


def client(name: str) -> Path:
    """The one place that decides what a missing client means. CLIENTS names a folder to look in instead."""
    folder = Path(os.environ.get("CLIENTS", ROOT / ".clients"))
    program = folder / "node_modules" / ".bin" / name
    if program.exists():
        return program
    missing = f"no {name}: `make clients` installs it"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one reviewer sits: its program, its person's settings, and a workspace with a change."""

    reviewer: Reviewer
    folder: Path
    env: dict[str, str]
    stub: StubServer

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def change(self) -> Path:
        return self.workspace / "moot" / "changes" / CHANGE

    @property
    def proposal(self) -> str:
        return (self.change / "proposal.md").read_text(encoding="utf-8")

    def job(
        self,
        instructions: str = "Review the change.",
        *,
        resume: str | None = None,
        tokens_before: Tokens | None = None,
        mcp_command: tuple[str, ...] | None = None,
    ) -> Job:
        run = ChangeFolder(CHANGE, self.change).begin_run(self.reviewer.name, "")
        server = (sys.executable, "-m", "moot", "mcp", "--workspace", str(self.workspace), "--change", CHANGE)
        return Job(
            text=instructions,
            root=self.workspace,
            change_id=CHANGE,
            model=MODELS[self.reviewer.name],
            resume=resume,
            timeout=120,
            mcp_command=mcp_command or (*server, "--run", run),
            run=run,
            tokens_before=tokens_before or Tokens(),
        )

    def processes(self) -> list[str]:
        """Those that are still there of what was started for this desk."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                surroundings = (process / "environ").read_bytes()
            except OSError:
                continue
            if str(self.folder).encode() in command + surroundings:
                found.append(command.replace(b"\0", b" ").decode(errors="replace").strip())
        return found


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as built:
        thread = threading.Thread(target=built.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield built
        finally:
            built.shutdown()
            thread.join()
    assert built.called == []


@pytest.fixture(params=["codex", "claude"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, stub: StubServer, wall: Wall) -> Desk:
    name: str = request.param
    program = client(name)
    a_change(tmp_path / "workspace", CHANGE)
    env = environment_of(tmp_path, program.parent, stub) | wall.proxies
    reviewer = find(name, env)
    assert reviewer is not None
    return Desk(reviewer, tmp_path, env, stub)


def environment_of(folder: Path, programs: Path, stub: StubServer) -> dict[str, str]:
    for name in ("home", "tmp", "codex", "claude"):
        (folder / name).mkdir()
    (folder / "codex" / "config.toml").write_text(_CODEX.format(url=stub.openai_base_url), encoding="utf-8")
    # Whatever the person allows: a reviewer may not write.
    allowed = {"permissions": {"allow": ["Bash", "Write", "Edit"], "defaultMode": "acceptEdits"}}
    (folder / "claude" / "settings.json").write_text(json.dumps(allowed), encoding="utf-8")
    return {
        "PATH": os.pathsep.join([str(programs), NODE, os.environ["PATH"]]),
        "PYTHONPATH": str(Path(netguard.__file__).parent),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "CODEX_HOME": str(folder / "codex"),
        "STUB_KEY": "key",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "ANTHROPIC_BASE_URL": stub.anthropic_base_url,
        "ANTHROPIC_API_KEY": "key",
    }


class Wall(socketserver.ThreadingTCPServer):
    """A proxy that lets nobody through and remembers who tried."""

    daemon_threads = True
    server_address: tuple[str, int]

    def __init__(self) -> None:
        self.called: list[str] = []
        super().__init__(("127.0.0.1", 0), _Refusal)

    @property
    def proxies(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.server_address[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return dict.fromkeys(names, address) | {"NO_PROXY": "127.0.0.1,localhost", "NODE_USE_ENV_PROXY": "1"}


class _Refusal(socketserver.StreamRequestHandler):
    server: Wall

    def handle(self) -> None:
        self.server.called.append(self.rfile.readline(1000).decode(errors="replace").strip())
        self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
