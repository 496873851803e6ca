"""The MCP Inspector, a client that none of us wrote, on the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from moot.agents.protocol import TOOLS
from tests.clients.conftest import CHANGE, NODE, Wall, client
from tests.support.command import environment
from tests.support.mcp_client import ISSUE, a_change, serving


def inspect(folder: Path, wall: Wall, target: tuple[str, ...], *arguments: str) -> Any:
    done = inspected(folder, wall, target, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def inspected(
    folder: Path, wall: Wall, target: tuple[str, ...], *arguments: str
) -> subprocess.CompletedProcess[str]:
    program = client("mcp-inspector")
    env = environment(folder) | wall.proxies
    env["PATH"] = os.pathsep.join([NODE, env["PATH"]])
    return subprocess.run(
        [str(program), "--cli", *target, *arguments],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_inspector_sees_and_uses_the_tools_of_one_change(tmp_path: Path, wall: Wall) -> None:
    change = a_change(tmp_path, CHANGE)
    server = (sys.executable, "-m", "moot", "mcp", "--workspace", str(tmp_path), "--change", CHANGE)
    listed = inspect(tmp_path, wall, server, "--method", "tools/list")
    assert tuple(tool["name"] for tool in listed["tools"]) == TOOLS
    before = (change / "proposal.md").read_text(encoding="utf-8")
    # Each of its calls is a server of its own, which nobody has challenged anything with.
    refused = inspected(
        tmp_path,
        wall,
        server,
        *("--method", "tools/call", "--tool-name", "append_review"),
        *("--tool-arg", "verdict=NEEDS_REVISION", f"issues={json.dumps([ISSUE])}", "summary=Not yet."),
    )
    assert refused.returncode != 0
    assert "Start it with `moot challenge add-login`." in refused.stderr
    listing = ("--method", "tools/call", "--tool-name", "list_directory", "--tool-arg", "path=specs")
    used = inspect(tmp_path, wall, server, *listing)
    assert used["structuredContent"]["entries"] == [{"name": "login.md", "kind": "file"}]
    assert (change / "proposal.md").read_text(encoding="utf-8") == before


def test_the_inspector_reaches_the_server_over_http(tmp_path: Path, wall: Wall) -> None:
    client("mcp-inspector")
    a_change(tmp_path, CHANGE)
    with serving(tmp_path, "--workspace", str(tmp_path), "--change", CHANGE) as address:
        read = inspect(
            tmp_path,
            wall,
            (address,),
            *("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=proposal.md"),
        )
    assert "Users can log in." in read["structuredContent"]["text"]
