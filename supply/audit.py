"""`python -m supply.audit`: what is known against the pinned versions, asked of those who know.

uv and npm ask the services that they are made for; this names none. Exit codes: 0 nothing is known,
1 something is, 3 it could not be checked, which is not the same as nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supply.locks import PAGE_LOCK, ROOT, python_parts

SECONDS = 300
FOUND, UNCHECKED = 1, 3


@dataclass(frozen=True, slots=True)
class Checked:
    """`problem` says why it could not be checked."""

    found: tuple[str, ...] = ()
    problem: str = ""
    report: Any = field(default=None, repr=False)


def audit_python(uv: Sequence[str] = ("uv",)) -> Checked:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "pinned.py"
        script.write_text(_pinned(), encoding="utf-8")
        command = [*uv, "audit", "--script", str(script), "--output-format", "json"]
        checked = _run([*command, "--preview-features", "audit,json-output"])
    report = checked.report
    if (
        checked.problem
        or not isinstance(report, dict)
        or not report.get("summary", {}).get("audited_packages")
    ):
        return Checked(problem=checked.problem or "uv gave no report")
    return Checked(
        tuple(
            f"{one['dependency']['name']} {one['dependency']['version']}: {one['id']}"
            for one in report["vulnerabilities"]
        )
    )


def audit_page(npm: Sequence[str] = ("npm",)) -> Checked:
    checked = _run([*npm, "audit", "--package-lock-only", "--json"], cwd=PAGE_LOCK.parent)
    report = checked.report
    if checked.problem or not isinstance(report, dict) or "auditReportVersion" not in report:
        said = report.get("message", "") if isinstance(report, dict) else ""
        return Checked(problem=checked.problem or said or "npm gave no report")
    found = report["vulnerabilities"].values()
    return Checked(tuple(f"{one['name']} {one['range']}: {one['severity']}" for one in found))


def _pinned() -> str:
    """A script whose requirements are exactly the pins, with the project's own overrides."""
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    pins = [
        f"{part.name}=={part.version}" + (f" ; {part.marker}" if part.marker else "")
        for part in python_parts()
    ]
    lines = [
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(pins)}",
        "[tool.uv]",
        f"override-dependencies = {json.dumps(uv['override-dependencies'])}",
    ]
    return "\n".join(["# /// script", *(f"# {line}" for line in lines), "# ///", ""])


def _run(command: Sequence[str], cwd: Path = ROOT) -> Checked:
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Checked(problem=str(error))
    try:
        return Checked(report=json.loads(done.stdout))
    except ValueError:
        lines = done.stderr.strip().splitlines()
        said = next((line for line in lines if line.startswith("error")), " ".join(lines))
        return Checked(problem=said or f"{command[0]} ended with {done.returncode}")


def report(checked: dict[str, Checked]) -> int:
    for name, one in checked.items():
        if one.problem:
            print(f"{name}: COULD NOT BE CHECKED: {one.problem}")  # noqa: T201
        else:
            print(f"{name}: {len(one.found)} known vulnerabilities")  # noqa: T201
        for line in one.found:
            print(f"  {line}")  # noqa: T201
    if any(one.found for one in checked.values()):
        return FOUND
    return UNCHECKED if any(one.problem for one in checked.values()) else 0


if __name__ == "__main__":
    sys.exit(report({"Python": audit_python(), "page": audit_page()}))
