"""What the name of a file tells about it, by the customs of many languages. Names are paths with `/`."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_PROSE = frozenset([".adoc", ".md", ".rst", ".txt"])
_PROSE_STEMS = frozenset(["authors", "changelog", "copying", "license", "notice", "readme"])
_TEST_FOLDERS = frozenset(["__tests__", "e2e", "test", "tests"])
_SPEC_FOLDERS = frozenset(["spec", "specs"])
"""What is prose in them says what holds; what is code tests it."""
_TEST_MARK = re.compile(r"^test_|_tests?$|[._]spec$|\.test$|(?<=[a-z])Tests?$")
_NAMELESS_STEMS = """
__init__ __main__ base common config constants core helpers index init main models readme routes server setup
test tests types util utils views
"""
_NAMELESS = frozenset(_NAMELESS_STEMS.split())
_DELICATE = (
    ("stored data depends on it", re.compile(r"(?:^|/)(?:migrations?|alembic)/|(?:^|/)schema\.|\.sql$")),
    (
        "it decides who may do what",
        re.compile(r"(?:^|[/_-])(?:auth(?:n|z|entication|orization)?|permissions?|security|crypto)[/._-]"),
    ),
    ("others depend on its shape", re.compile(r"\.(?:proto|graphql)$|openapi|swagger")),
    ("everything is built or released by it", re.compile(r"(?:^|/)(?:dockerfile|makefile|jenkinsfile)$")),
)


def is_test(file: str) -> bool:
    path = PurePosixPath(file)
    folders = _TEST_FOLDERS if path.suffix.lower() in _PROSE else _TEST_FOLDERS | _SPEC_FOLDERS
    return _TEST_MARK.search(path.stem) is not None or not folders.isdisjoint(path.parts[:-1])


def is_prose(file: str) -> bool:
    path = PurePosixPath(file)
    return path.suffix.lower() in _PROSE or path.stem.lower() in _PROSE_STEMS


def name_under_test(file: str) -> str | None:
    """The name, in small letters, that a test's file is named after."""
    stem = PurePosixPath(file).stem
    name = _TEST_MARK.sub("", stem)
    return None if name == stem else name.casefold()


def own_name(file: str) -> str | None:
    """The name by which other files mention this one; None if many files are called that."""
    stem = PurePosixPath(file).stem
    return stem if len(stem) > 3 and stem.lower() not in _NAMELESS else None


def why_delicate(file: str) -> tuple[str, ...]:
    return tuple(reason for reason, pattern in _DELICATE if pattern.search(file.lower()))
