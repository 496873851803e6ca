"""The first commands of docs/how-to/mcp.md, exactly as they stand there, after an installation that has
changed nobody's PATH."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import NODE, ROOT, Desk

PAGE = ROOT / "docs" / "how-to" / "mcp.md"


def commands(client: str) -> list[str]:
    """Of the page's first block, those for one client."""
    block = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return [line for line in block[1].splitlines() if line.startswith(f"{client} ")]


def test_the_first_command_of_the_page_works_without_a_path_to_moot(desk: Desk, tmp_path: Path) -> None:
    name = desk.reviewer.name
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "node").symlink_to(Path(NODE) / "node")
    (programs / name).symlink_to(ROOT / ".clients" / "node_modules" / ".bin" / name)
    guard = [folder for folder in desk.env["PATH"].split(os.pathsep) if folder.endswith("/netguard")]
    env = desk.env | {"PATH": os.pathsep.join([str(programs), "/usr/bin", "/bin", *guard])}

    def run(command: str, folder: Path) -> str:
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with pytest.raises(AssertionError):
        run("command -v moot", ROOT)
    [line] = commands(name)
    run(line, ROOT)
    if name == "claude":
        listed = run("claude mcp list", desk.workspace)
        assert re.search(r"moot: .*/\.venv/bin/moot mcp.*Connected", listed), listed
    else:
        transport = json.loads(run("codex mcp get moot --json", desk.workspace))["transport"]
        assert transport["command"] == str(ROOT / ".venv" / "bin" / "moot")
        assert transport["args"] == ["mcp"]
        assert "over MCP" in run(f"{transport['command']} mcp --help", desk.workspace)
