"""Documentation that follows from the code does follow from it, and links lead somewhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs import generate
from docs.typescript import wire_types

from moot import __version__

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_generated_pages_are_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == generate.PAGES[page](), "run `make docs`"


def test_nothing_is_written_before_a_page_is_asked_for() -> None:
    """Whoever only collects tests starts no processes and draws no flows."""
    script = (
        "import subprocess\n"
        "def refuse(*_, **__): raise AssertionError('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "import tests.test_docs as docs\n"
        "assert all(callable(write) for write in docs.generate.PAGES.values())\n"
        "docs.generate.commands()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def a_document(**schemas: Any) -> dict[str, Any]:
    limited: dict[str, dict[str, Any]] = {
        "SessionRequest": {"decision": {"maxLength": 5}, "answers": {"maxItems": 4}},
        "Answered": {"answer": {"maxLength": 3}},
        "ChallengeRequest": {"challengeText": {"maxLength": 2}, "priorChallenges": {"maxItems": 1}},
        "SessionChange": {"title": {"anyOf": [{"type": "string", "maxLength": 6}, {"type": "null"}]}},
        "WeighRequest": {"items": {"maxItems": 7}},
        "CorrectionRequest": {"text": {"maxLength": 8}},
    }
    needed = {
        name: {"properties": {field: {"type": "string", **limit} for field, limit in fields.items()}}
        for name, fields in limited.items()
    }
    return {"components": {"schemas": needed | schemas}}


def test_types_of_the_page_say_what_the_document_says() -> None:
    written = wire_types(
        a_document(
            Said={
                "description": "One\n  word.",
                "required": ["type", "by", "scores"],
                "properties": {
                    "type": {"const": "said", "type": "string"},
                    "by": {"anyOf": [{"$ref": "#/components/schemas/Who"}, {"type": "null"}]},
                    "at": {"type": "integer"},
                    "scores": {"type": "object", "additionalProperties": {"type": "number"}},
                    "sure": {"type": "array", "items": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}},
                },
            },
            Who={"enum": ["you", "me"], "type": "string"},
        )
    )
    assert (
        """/** One word. */
export interface Said {
  readonly type: "said";
  readonly by: Who | null;
  readonly at?: number;
  readonly scores: Readonly<Record<string, number>>;
  readonly sure?: readonly (boolean | null)[];
}
"""
        in written
    )
    assert 'export type Who = "you" | "me";\n' in written
    limits = (
        "decision: 5, answers: 4, answer: 3, challenge: 2, challenges: 1, title: 6, evidence: 7, decided: 8"
    )
    assert f"export const LIMITS = {{ {limits} }} as const;\n" in written


def test_an_object_of_which_nothing_is_said_is_unknown_to_the_page() -> None:
    for anything in ({"type": "object"}, {"type": "object", "additionalProperties": True, "title": "Some"}):
        written = wire_types(a_document(Some={"properties": {"more": anything}, "required": ["more"]}))
        assert "readonly more: Readonly<Record<string, unknown>>;" in written


def test_a_schema_that_has_no_type_for_the_page_is_an_error() -> None:
    with pytest.raises(ValueError, match="no TypeScript is known"):
        wire_types(a_document(Odd={"type": "object", "patternProperties": {}}))


def test_every_command_is_in_the_reference() -> None:
    described = {words[0] for words in generate.COMMANDS if words}
    listed = re.findall(r"^  ([a-z-]+)  ", generate._help(()).partition("Commands:")[2], re.MULTILINE)
    assert described == set(listed)


def test_the_newest_changes_are_this_version_s_or_not_released_yet() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] in (__version__, "Unreleased")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page",
    [*sorted((ROOT / "docs" / "reference").glob("*-requirements.md")), ROOT / "SECURITY.md"],
    ids=lambda page: page.name,
)
def test_every_test_that_a_requirement_names_exists(page: Path) -> None:
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text(encoding="utf-8"))
    assert named
    for file, name in named:
        assert name.startswith("test_"), name
        defined = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        assert name in {each.name for each in defined if isinstance(each, ast.FunctionDef)}, f"{file}::{name}"


ROWS = re.findall(
    r"^\| (?!word |---)(.+?) \| (.+) \| (.+) \|$",
    (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("word", "meaning", "where"), ROWS, ids=[word for word, _, _ in ROWS])
def test_what_the_glossary_names_is_where_it_says(word: str, meaning: str, where: str) -> None:
    paths = [ROOT / "src" / "moot" / path for path in re.findall(r"`([^`]+)`", where)]
    assert paths, word
    assert [path for path in paths if not path.exists()] == []
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    defined = {
        each.name
        for file in files
        if file.suffix == ".py"
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(each, ast.ClassDef)
    }
    assert set(re.findall(r"`([A-Z]\w*[a-z]\w*)`", meaning)) <= defined


def test_the_glossary_has_each_word_once() -> None:
    words = [word for word, _, _ in ROWS]
    assert len(words) > 40
    assert len(words) == len(set(words))
