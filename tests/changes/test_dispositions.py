"""Issues keep their ids, and a review says of each open one what became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.changes.dispositions import Disposition, Fate, as_fate, faults, must_be_said, number
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.errors import InvalidInput

RATE = Issue(Severity.HIGH, "The form has no rate limit.")
KEYS = Issue(Severity.MEDIUM, "Nobody says where the keys are kept.")
LEFT = {"I1": replace(RATE, id="I1"), "I2": replace(KEYS, id="I2")}
KNOWN = {**LEFT, "I7": replace(RATE, id="I7")}


def review(*issues: Issue) -> Review:
    return Review(Verdict.NEEDS_REVISION, issues, "So so.", "now")


def ids(*issues: Issue, known: dict[str, Issue] = KNOWN, left: dict[str, Issue] = LEFT) -> list[str]:
    return [issue.id for issue in number(review(*issues), known, left).issues]


def test_the_first_review_counts_from_one() -> None:
    assert ids(RATE, KEYS, RATE, known={}, left={}) == ["I1", "I2", "I3"]


def test_an_id_that_was_given_stays_and_the_next_is_beyond_all_that_there_were() -> None:
    new = Issue(Severity.LOW, "Entirely something else")
    assert ids(replace(new, id="I2"), new) == ["I2", "I8"]


def test_an_open_issue_that_is_raised_without_its_id_gets_it() -> None:
    assert ids(KEYS, replace(RATE, severity=Severity.LOW)) == ["I2", "I1"]


def test_what_is_no_longer_open_is_not_found_by_its_words() -> None:
    assert ids(RATE, left={}) == ["I8"]


def test_what_can_be_no_id_is_none() -> None:
    given_ids = ("", "I0", "I01", "i1", "I1x", "I²", "I9999999999")
    assert ids(*(Issue(Severity.LOW, f"{at}", id=name) for at, name in enumerate(given_ids)), known={}) == [
        f"I{at}" for at in range(1, 8)
    ]


names = st.sampled_from(["", "I1", "I2", "I3", "I9"])
some = st.lists(st.builds(Issue, st.sampled_from(Severity), st.sampled_from(["a", "b", "c d"]), id=names))


@given(some.filter(lambda found: len(named := [one.id for one in found if one.id]) == len(set(named))))
def test_no_two_issues_of_a_review_have_one_id(found: list[Issue]) -> None:
    numbered = ids(*found)
    assert len(set(numbered)) == len(found)
    assert all(before.id in ("", after) for before, after in zip(found, numbered, strict=True))
    assert ids(*found) == numbered


@pytest.mark.parametrize(
    ("raised", "said", "reasons"),
    [
        (("", "I7"), (), []),
        (("I1",), (Disposition("I2", Fate.FIXED, "tasks.md"),), []),
        (("I8",), (), ["no review has raised I8; leave the id of a new issue empty"]),
        ((), (Disposition("I7", Fate.FIXED, "x"),), ["no issue I7 is open"]),
        (("I1", "I1"), (), ["I1 is there twice: raise it again, or say what became of it, once"]),
        (
            ("I1",),
            (Disposition("I1", Fate.FIXED, "x"),),
            ["I1 is there twice: raise it again, or say what became of it, once"],
        ),
        ((), (Disposition("I1", Fate.WITHDRAWN, " "),), ["I1 is withdrawn: say what shows it"]),
    ],
)
def test_what_is_wrong_with_what_a_review_says_of_them(
    raised: tuple[str, ...], said: tuple[Disposition, ...], reasons: list[str]
) -> None:
    assert faults(KNOWN, LEFT, [replace(RATE, id=name) for name in raised], said) == reasons


def test_only_an_approval_cannot_be_silent_about_a_high_issue() -> None:
    assert must_be_said(LEFT, Verdict.APPROVED)
    assert not must_be_said({"I2": LEFT["I2"]}, Verdict.APPROVED)
    assert not must_be_said(LEFT, Verdict.NEEDS_REVISION)


def test_the_words_are_read_whatever_is_around_them() -> None:
    assert (as_fate(" **Fixed** "), as_fate("withdrawn.")) == (Fate.FIXED, Fate.WITHDRAWN)
    with pytest.raises(InvalidInput, match="'gone' is none of fixed, withdrawn"):
        as_fate("gone")
