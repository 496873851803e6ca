"""A quote is found where it stands, whatever its white space, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.changes.quotes import Spot, find, is_new, section

TEXTS = {
    "proposal.md": "# Login\n\n## Why\nPasswords get\n  phished.\n\n## Impact\nSmall.\n",
    "specs/a.md": "Small steps.\n",
}


@pytest.mark.parametrize(
    ("quote", "spot"),
    [
        ("Passwords get phished.", Spot("proposal.md", 4, 5)),
        (" get\n\tphished ", Spot("proposal.md", 4, 5)),
        ("“Small steps.”", Spot("specs/a.md", 1, 1)),
        ("`Impact`", Spot("proposal.md", 7, 7)),
        ("## Why Passwords", Spot("proposal.md", 3, 4)),
        ("Small.", Spot("proposal.md", 8, 8)),
        (" 4| Passwords get\n 5|   phished.", Spot("proposal.md", 4, 5)),
        ("passwords", None),
        ("Passwords phished.", None),
        ("Small. Small steps.", None),
        ("", None),
        (" “” \n", None),
    ],
)
def test_a_quote_is_found_whatever_its_white_space(quote: str, spot: Spot | None) -> None:
    assert find(quote, TEXTS) == spot


def test_the_section_is_the_heading_above() -> None:
    assert section(Spot("proposal.md", 4, 5), TEXTS) == "proposal.md / Why"
    assert section(Spot("proposal.md", 7, 7), TEXTS) == "proposal.md / Impact"
    assert section(Spot("specs/a.md", 1, 1), TEXTS) == "specs/a.md"


def spot_of(quote: str, text: str) -> Spot:
    found = find(quote, {"a.md": text})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("quote", "new"),
    [("one", False), ("two", True), ("three", False), ("one two", True), ("two three", True), ("five", True)],
)
def test_new_is_what_lies_in_lines_that_were_not_there(quote: str, new: bool) -> None:
    text = "one\ntwo\nthree\nfour\nfive\n"
    before = {"a.md": "one\nthree\nfour\n5\n"}
    assert is_new(spot_of(quote, text), before, {"a.md": text}) is new


def test_what_stands_beside_something_that_was_taken_out_is_new() -> None:
    now = "one\ntwo\nfour\nfive\n"
    before = {"a.md": "one\ntwo\nthree\nfour\nfive\n"}
    new = [word for word in now.split() if is_new(spot_of(word, now), before, {"a.md": now})]
    assert new == ["two", "four"]


def test_blank_lines_make_nothing_new() -> None:
    now = "one\n\ntwo\n\n\nthree\n"
    assert not is_new(spot_of("one two three", now), {"a.md": "\none\ntwo\nthree"}, {"a.md": now})


def test_a_file_that_was_not_there_is_new_and_one_that_nobody_revises_is_not() -> None:
    spot = spot_of("one", "one\n")
    assert is_new(spot, {"b.md": "x"}, {"a.md": "one\n"})
    assert not is_new(spot, {"b.md": "x"}, {"b.md": "x"})


words = st.text("ab.\n ", max_size=30)


@given(words, words, words)
def test_what_is_copied_from_a_text_is_found_there(before: str, quote: str, after: str) -> None:
    text = f"{before} {quote} {after}"
    found = find(quote, {"a.md": text})
    if quote.split():
        assert found is not None
        assert 1 <= found.first <= found.last <= len(text.split("\n"))
        assert not is_new(found, {"a.md": text}, {"a.md": text})
    else:
        assert found is None
