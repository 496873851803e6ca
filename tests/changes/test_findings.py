from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.changes.findings import Matched, in_words, match, pairs
from moot.changes.review_block import Issue, Review, Severity, Verdict

EXPIRY = Issue(Severity.HIGH, "Tokens never expire", "specs/auth.md, R2", "Give them a lifetime")
TYPO = Issue(Severity.LOW, "The title has a typo", "proposal.md")
NO_THEN = Issue(Severity.MEDIUM, "The scenario has no THEN", "specs/auth.md")
LOGGING = Issue(Severity.MEDIUM, "Passwords appear in the log", "tasks.md, 3")


def review(*issues: Issue) -> Review:
    return Review(Verdict.NEEDS_REVISION, issues, "s", "t")


def test_all_findings_of_a_first_review_are_new() -> None:
    assert match(None, review(EXPIRY, TYPO)) == Matched((EXPIRY, TYPO), (), ())


def test_a_finding_is_known_by_its_words_not_by_its_place_or_severity() -> None:
    again = Issue(Severity.MEDIUM, "Expiry: **tokens** still never expire!", "specs/auth.md (R2)")
    found = match(review(TYPO, EXPIRY, NO_THEN), review(LOGGING, again))
    assert found == Matched(new=(LOGGING,), repeated=(again,), resolved=(TYPO, NO_THEN))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The token has no expiry date", "Tokens have no expiration date"),
        ("No rollback plan for the migration", "The migration plan still has no rollback"),
        ("???", "???"),
        ("To be or", "to be or"),
        ("Миграция без отката", "миграция  без ОТКАТА"),
    ],
)
def test_the_same_in_other_words_is_repeated(before: str, after: str) -> None:
    later = Issue(Severity.HIGH, after)
    assert match(review(Issue(Severity.HIGH, before)), review(later)).repeated == (later,)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Tokens never expire", "Passwords appear in the log"),
        ("It is in the log", "It is in the title"),
        ("???", "!!!"),
        ("", ""),
        ("Tokens never expire", ""),
    ],
)
def test_another_finding_is_new(before: str, after: str) -> None:
    found = match(review(Issue(Severity.HIGH, before)), review(Issue(Severity.HIGH, after)))
    assert in_words(found) == "1 new, 0 repeated, 1 resolved"


def test_the_location_alone_makes_no_finding_the_same() -> None:
    found = match(
        review(Issue(Severity.HIGH, "Tokens never expire", "a.md")),
        review(Issue(Severity.HIGH, "Typo", "a.md")),
    )
    assert in_words(found) == "1 new, 0 repeated, 1 resolved"


def test_of_two_that_fit_the_one_at_the_same_place_is_matched() -> None:
    elsewhere = Issue(Severity.MEDIUM, NO_THEN.description, "specs/login.md")
    found = match(review(elsewhere, NO_THEN), review(NO_THEN))
    assert found == Matched((), (NO_THEN,), (elsewhere,))


def test_a_finding_is_repeated_only_as_often_as_it_was_made() -> None:
    assert in_words(match(review(EXPIRY), review(EXPIRY, EXPIRY, EXPIRY))) == "2 new, 1 repeated, 0 resolved"
    assert in_words(match(review(EXPIRY, EXPIRY), review(EXPIRY))) == "0 new, 1 repeated, 1 resolved"


def test_what_the_person_has_dismissed_is_resolved_by_nobody_and_may_be_repeated() -> None:
    dismissed = {EXPIRY.description}
    assert in_words(match(review(EXPIRY, LOGGING), review(), dismissed)) == "0 new, 0 repeated, 1 resolved"
    assert in_words(match(review(EXPIRY), review(EXPIRY), dismissed)) == "0 new, 1 repeated, 0 resolved"


def test_the_best_pair_is_matched_first() -> None:
    close = Issue(Severity.HIGH, "Tokens never expire and leak")
    exact = Issue(Severity.HIGH, "Tokens never expire")
    found = match(review(Issue(Severity.HIGH, "Tokens never expire")), review(close, exact))
    assert found == Matched((close,), (exact,), ())


def test_findings_of_one_id_are_the_same_whatever_they_say_and_of_two_ids_never() -> None:
    old = (Issue(Severity.HIGH, "No rate limit.", id="I1"), Issue(Severity.LOW, "A typo.", id="I2"))
    new = (
        Issue(Severity.LOW, "A typo.", id="I3"),
        Issue(Severity.HIGH, "Anybody may try for ever.", id="I1"),
        Issue(Severity.LOW, "A typo."),
    )
    assert pairs(old, new) == [(0, 1), (1, 2)]


# -- promises ------------------------------------------------------------------------------------

words = st.lists(st.sampled_from(["token", "tokens", "expire", "the", "log", "R2", "?"]), max_size=4).map(
    " ".join
)
issues = st.lists(st.builds(Issue, st.sampled_from(Severity), words, words), max_size=6)


@settings(max_examples=200, deadline=None)
@given(before=issues, after=issues)
def test_every_finding_is_in_exactly_one_place_and_in_order(before: list[Issue], after: list[Issue]) -> None:
    earlier, later = review(*before), review(*after)
    found = match(earlier, later)
    assert len(found.new) + len(found.repeated) == len(after)
    assert len(found.resolved) + len(found.repeated) == len(before)
    assert is_interleaved(found.new, found.repeated, tuple(after))
    assert match(earlier, later) == found
    backwards = match(later, earlier)
    assert (len(backwards.new), len(backwards.resolved)) == (len(found.resolved), len(found.new))


def is_interleaved(one: tuple[Issue, ...], other: tuple[Issue, ...], whole: tuple[Issue, ...]) -> bool:
    if not whole:
        return not one and not other
    return (one[:1] == whole[:1] and is_interleaved(one[1:], other, whole[1:])) or (
        other[:1] == whole[:1] and is_interleaved(one, other[1:], whole[1:])
    )


@settings(max_examples=50, deadline=None)
@given(before=issues)
def test_the_same_review_again_brings_nothing_new(before: list[Issue]) -> None:
    described = [issue for issue in before if issue.description]
    found = match(review(*described), review(*described))
    assert found == Matched((), tuple(described), ())
