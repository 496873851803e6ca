"""The walks through the program that docs/architecture.md shows are short, and each stop is where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_STOP = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| `(?P<name>\w+)` \|", re.MULTILINE)
_SECTION = re.compile(r"^## Two walks\n(.*?)^## ", re.MULTILINE | re.DOTALL)


def walks() -> list[list[tuple[str, str]]]:
    found = _SECTION.search((ROOT / "docs" / "architecture.md").read_text("utf-8"))
    assert found
    parts = found[1].split("| file | function | what happens |")[1:]
    return [_STOP.findall(part) for part in parts]


@pytest.mark.parametrize(("number", "most"), [(0, 20), (1, 22)])
def test_a_walk_is_short_and_opens_no_file_twice(number: int, most: int) -> None:
    files = [file for file, _ in walks()[number]]
    assert len(set(files)) == len(files)
    assert 15 <= len(files) <= most


@pytest.mark.parametrize(("file", "name"), [stop for walk in walks() for stop in walk])
def test_what_happens_at_a_stop_is_there(file: str, name: str) -> None:
    module = ast.parse((ROOT / "src" / "moot" / file).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assert name in {node.name for node in ast.walk(module) if isinstance(node, kinds)}
