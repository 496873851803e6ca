from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.agents import ENGINES, find
from moot.agents.protocol import describe_use, failure, one_line
from moot.errors import (
    KeyRefused,
    NotFound,
    ProviderDown,
    ProviderFailed,
    RateLimited,
    RequestRejected,
    ReviewerCrashed,
)
from tests.support.fake_agents import Fake, Run, a_job


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_file", {"path": "proposal.md"}, "reads proposal.md"),
        ("read_file", {}, "reads a file"),
        ("list_directory", {"path": "specs"}, "lists specs"),
        ("list_directory", {}, "lists the change"),
        ("append_review", {"verdict": "APPROVED"}, "appends its review"),
        ("dance", {}, "uses dance"),
        ("read_file", {"path": "a\x1b[31m\nb\u202e" + "c" * 100}, "reads a [31m b " + "c" * 70 + "…"),
    ],
)
def test_progress_says_what_the_reviewer_does(tool: str, arguments: dict[str, str], words: str) -> None:
    assert describe_use(tool, arguments) == words


@given(st.text())
def test_foreign_text_is_always_one_short_printable_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 80
    assert line.isprintable()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, KeyRefused),
        (403, KeyRefused),
        (400, RequestRejected),
        (404, RequestRejected),
        (429, RateLimited),
        (500, ProviderDown),
        (529, ProviderDown),
        (None, ReviewerCrashed),
        (302, ReviewerCrashed),
    ],
)
def test_a_failure_is_of_the_kind_that_its_status_says(
    status: int | None, kind: type[ProviderFailed]
) -> None:
    problem = failure("codex", "it  broke\n", status)
    assert type(problem) is kind
    assert str(problem) == "codex: it broke"
    assert problem.status == status


@pytest.mark.parametrize(
    ("resume", "session"),
    [
        (None, None),
        ("01a1df63-31f2-70b0-ab0f-4691ec633013", "01a1df63-31f2-70b0-ab0f-4691ec633013"),
        ("--dangerously-bypass-approvals-and-sandbox", None),
        ("the-one-about-login", None),
        ("01a1df63-31f2-70b0-ab0f-4691ec633013\n", None),
        ("", None),
    ],
)
def test_only_what_looks_like_a_session_is_resumed(resume: str | None, session: str | None) -> None:
    assert a_job(Path("/w"), resume=resume).session == session


@pytest.mark.parametrize("name", ENGINES)
def test_a_reviewer_is_found_on_the_given_path_only(tmp_path: Path, name: str) -> None:
    fake = Fake(tmp_path, name, Run())
    found = find(name, fake.env)
    assert found is not None
    assert found.name == name
    assert find(name, {"PATH": str(tmp_path)}) is None


def test_an_unknown_reviewer_is_named_with_those_that_are_known() -> None:
    with pytest.raises(NotFound, match="Reviewer 'gpt' not found") as caught:
        find("gpt", {})
    assert caught.value.known == ("codex", "claude")
