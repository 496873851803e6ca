"""Which files say what kind of project this is, and the commands that they declare.

Knows names and the formats of a few manifests. Refuses to know where they are; one that makes no sense
declares nothing.
"""

from __future__ import annotations

import json
from typing import Any

from moot.text import toml

_MANIFESTS = """
build.gradle build.gradle.kts build.zig Cargo.toml CMakeLists.txt compose.yaml composer.json deno.json
docker-compose.yml Dockerfile dune-project flake.nix Gemfile go.mod Makefile meson.build mix.exs
package.json Package.swift pom.xml pubspec.yaml pyproject.toml requirements.txt setup.cfg setup.py
"""
NAMES = frozenset(_MANIFESTS.split())
_ENTRIES = """
__main__.py app.py asgi.py cli.py index.html index.js index.ts main.c main.cpp main.go main.js main.py
main.rs main.ts manage.py server.js server.ts wsgi.py
"""
ENTRY_FILES = frozenset(_ENTRIES.split())


def commands(manifest: str, text: str) -> list[tuple[str, str]]:
    """Each with what it calls."""
    found: Any = {}
    try:
        if manifest == "pyproject.toml":
            found = toml.parse(text).get("project", {}).get("scripts", {})
        elif manifest == "Cargo.toml":
            found = {each["name"]: each.get("path", "") for each in toml.parse(text).get("bin", [])}
        elif manifest == "package.json":
            package = json.loads(text)
            found = package.get("bin", {})
            found = {package.get("name", "bin"): found} if isinstance(found, str) else dict(found)
            found |= {"main": package["main"]} if "main" in package else {}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return []
    return [(str(name), str(target)) for name, target in found.items()] if isinstance(found, dict) else []
