"""The lock files, read: every part of moot with its version and hashes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PYTHON_LOCK = ROOT / "requirements.lock"
PAGE_LOCK = ROOT / "web" / "package-lock.json"

Scope = Literal["required", "optional", "excluded"]
"""In moot, in one of its extras, or only in what builds and tests it."""


@dataclass(frozen=True, slots=True)
class Part:
    kind: Literal["pypi", "npm"]
    name: str
    version: str
    hashes: tuple[tuple[str, str], ...]
    """Algorithm, as CycloneDX names it, and hexadecimal digits; of each file in which the part comes."""
    scope: Scope
    licence: str | None = None
    marker: str = ""

    @property
    def purl(self) -> str:
        return f"pkg:{self.kind}/{self.name.replace('@', '%40')}@{self.version}"


_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\]+?))? ?\\?$")
_HASH = re.compile(r"^    --hash=sha256:([0-9a-f]{64})")


def python_parts(lock: Path = PYTHON_LOCK) -> list[Part]:
    scopes = _scopes()
    found: list[tuple[str, str, str, list[tuple[str, str]]]] = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if pinned := _PINNED.match(line):
            found.append((canonicalize_name(pinned[1]), pinned[2], pinned[3] or "", []))
        elif hashed := _HASH.match(line):
            found[-1][3].append(("SHA-256", hashed[1]))
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{lock.name}: no pin and no hash: {line}")
    return [
        Part("pypi", name, version, tuple(hashes), scopes.get(name, "excluded"), _licence(name), marker)
        for name, version, marker, hashes in found
    ]


def page_parts(lock: Path = PAGE_LOCK) -> list[Part]:
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return [
        Part(
            "npm",
            path.rpartition("node_modules/")[2],
            package["version"],
            tuple(_integrity(package["integrity"])),
            "excluded" if package.get("dev") else "required",
            package.get("license"),
        )
        for path, package in packages.items()
        if path
    ]


def _integrity(told: str) -> Iterator[tuple[str, str]]:
    for one in told.split():
        algorithm, _, digest = one.partition("-")
        yield algorithm.upper().replace("SHA", "SHA-"), base64.b64decode(digest).hex()


def _scopes() -> dict[str, Scope]:
    scopes: dict[str, Scope] = dict.fromkeys(closure(), "required")
    for extra in metadata.metadata("moot").get_all("Provides-Extra") or ():
        for name in closure(extra):
            scopes.setdefault(name, "optional")
    return scopes


def closure(extra: str = "") -> set[str]:
    """All that moot asks for, alone or with an extra, on any platform: what is for another one is in the
    lock, too."""
    seen: set[tuple[str, str]] = set()
    todo = [("moot", ""), ("moot", extra)]
    while todo:
        name, wanted = todo.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for requirement in _requirements(name):
            marker = requirement.marker
            if marker and "extra" in str(marker) and not marker.evaluate({"extra": wanted}):
                continue
            needed = canonicalize_name(requirement.name)
            todo += [(needed, ""), *((needed, more) for more in requirement.extras)]
    return {name for name, _ in seen} - {"moot"}


def _requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(line) for line in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:
        return []


def _licence(package: str) -> str | None:
    """As the installed package says it, where it says so in one line."""
    try:
        told = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return None
    licence = next((told[name] for name in ("License-Expression", "License") if name in told), "")
    return licence if licence and "\n" not in licence and len(licence) < 100 else None
