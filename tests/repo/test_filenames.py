"""What names of files tell."""

from __future__ import annotations

import pytest

from moot.repo.filenames import is_prose, is_test, name_under_test, own_name, why_delicate


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("tests/test_upload.py", "upload"),
        ("src/upload.test.ts", "upload"),
        ("src/upload.spec.ts", "upload"),
        ("spec/upload_spec.rb", "upload"),
        ("pkg/upload_test.go", "upload"),
        ("src/UploadTest.java", "upload"),
    ],
)
def test_a_test_is_named_after_what_it_tests(file: str, name: str) -> None:
    assert is_test(file)
    assert name_under_test(file) == name


@pytest.mark.parametrize("file", ["tests/server.py", "web/__tests__/upload.js"])
def test_what_is_among_tests_is_one_and_named_after_nothing(file: str) -> None:
    assert is_test(file)
    assert name_under_test(file) is None


@pytest.mark.parametrize(
    "file", ["src/upload.py", "latest.py", "src/contest.go", "attestation/x.py", "moot/specs/upload.md"]
)
def test_other_files_are_no_tests(file: str) -> None:
    assert not is_test(file)
    assert name_under_test(file) is None


def test_prose_is_known_by_its_suffix_or_its_usual_names() -> None:
    assert all(map(is_prose, ["docs/a.MD", "README", "LICENSE", "CHANGELOG.html"]))
    assert not any(map(is_prose, ["src/a.py", "licensing.py"]))


def test_names_that_many_files_have_name_none() -> None:
    assert own_name("src/survey.py") == "survey"
    assert [own_name(file) for file in ("a/__init__.py", "b/index.ts", "c/io.py")] == [None, None, None]


@pytest.mark.parametrize(
    ("file", "reasons"),
    [
        ("db/migrations/0001_init.py", ("stored data depends on it",)),
        ("src/auth/login.py", ("it decides who may do what",)),
        ("src/user_permissions.py", ("it decides who may do what",)),
        ("api/board.proto", ("others depend on its shape",)),
        ("Dockerfile", ("everything is built or released by it",)),
        ("src/authors.py", ()),
        ("src/upload.py", ()),
    ],
)
def test_delicate_places_are_known_by_their_names(file: str, reasons: tuple[str, ...]) -> None:
    assert why_delicate(file) == reasons
