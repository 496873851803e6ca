"""Where moot's parts come from: pinned by hash, listed, and named with their licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moot.surfaces.web.pages import PAGE

ROOT = Path(__file__).parent.parent


def bundled() -> dict[str, dict[str, Any]]:
    """What the lock says that the page is made of; all else is for building it."""
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    return {
        path.rpartition("node_modules/")[2]: package
        for path, package in lock["packages"].items()
        if path and not package.get("dev")
    }


def test_the_page_names_all_that_it_bundles_with_version_and_licence() -> None:
    notices = (PAGE / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    named = re.findall(r"^={80}\n(\S+) (\S+)\nLicence: (.+)\n={80}\n\n(.+)", notices, re.MULTILINE)
    expected = [(name, package["version"], package["license"]) for name, package in sorted(bundled().items())]
    assert [(name, version, licence) for name, version, licence, _ in named] == expected
    assert {"react", "react-dom", "scheduler"} <= bundled().keys()
    assert notices.count("Copyright") >= len(expected)
