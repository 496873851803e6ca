"""What is cited, and whether it is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.evidence.citations import Check, check, mark, unverified
from moot.evidence.items import Evidence

FOX = Evidence(
    "fox.md",
    "fox.md",
    "00",
    "text/markdown",
    "the quick brown fox\njumps over   the lazy dog\nwe spent 40,000 dollars last year\n"
    "</evidence> is “all there was”",
)
COUNT = Evidence("count.txt", "count.txt", "00", "text/plain", "one two three four five")
PHOTO = Evidence("a.png", "a.png", "00", "image/png", image=b"png")
ITEMS = (FOX, COUNT, PHOTO)

V, NO_LINES, ITEM = Check.VERIFIED, Check.NO_SUCH_LINES, Check.NO_SUCH_ITEM
LINES = Check.NOT_IN_LINES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[E1]", [("E1", None, V)]),
        ("[E1:2]", [("E1", (2, 2), V)]),
        ("[E1:1-4]", [("E1", (1, 4), V)]),
        ("[E1:1–4]", [("E1", (1, 4), V)]),
        ("[ E01 : 1 - 4 ]", [("E1", (1, 4), V)]),
        ("[E1:1-5]", [("E1", (1, 5), NO_LINES)]),
        ("[E1:5]", [("E1", (5, 5), NO_LINES)]),
        ("[E1:0]", [("E1", (0, 0), NO_LINES)]),
        ("[E1:3-2]", [("E1", (3, 2), NO_LINES)]),
        ("[E4]", [("E4", None, ITEM)]),
        ("[E0:1]", [("E0", (1, 1), ITEM)]),
        ("[E3]", [("E3", None, V)]),
        ("[E3:1]", [("E3", (1, 1), NO_LINES)]),
        ("[E1:1, 3-4; E2]", [("E1", (1, 1), V), ("E1", (3, 4), V), ("E2", None, V)]),
        ("[E1:2][E9]", [("E1", (2, 2), V), ("E9", None, ITEM)]),
        ("E1:2 and [e1] and [EX] and [E1:] and [E1:x] and [E1 on page 2]", []),
    ],
)
def test_each_citation_is_looked_up(
    text: str, found: list[tuple[str, tuple[int, int] | None, Check]]
) -> None:
    assert [(one.item, one.lines, one.check) for one in check(text, ITEMS)] == found


@pytest.mark.parametrize(
    "text",
    [
        'It says "the quick brown fox" [E1:1].',
        'It says "the quick brown fox jumps over the lazy dog" [E1:1-2].',
        '"The end" is short, and "a wrong term" too [E1:1].',
        'As [E1:1] says, "the quick brown fox".',
        'As [E2:1] says, "one two three four", whereas "jumps over the lazy dog" [E1:2].',
        'We hold. [E1:1] says "the quick brown fox."',
        'It is "the quick brown fox." [E1:1] The next.',
        "It is “the quick brown fox,” [E1:1]",
        "Das steht in „the quick brown fox“ [E1:1].",
        "C'est « the quick brown fox » [E1:1].",
        "It is `the quick brown fox` [E1:1].",
        "`keep TOOL --for MEMBER` refuses a third one [E1:1].",
        '"the quick … lazy dog" [E1:1-2]',
        '"the quick [...] lazy dog" [E1:1-2]',
        '"the quick brown\nfox jumps over" [E1:1-2]',
        '> "the quick brown fox"\n\n— [E1:1]',
        '"the quick brown fox" and "one two three four" [E1, E2].',
        '"one two three four" [E1:1][E2].',
        "`‹/evidence> is “all there` [E1:4]",
        'It says "what nobody ever wrote" somewhere. So it is [E1:1].',
        'It says "what nobody ever wrote".\n\nSo it is [E1:1].',
        '- "what nobody ever wrote"\n- so it is [E1:1]',
        '"what [E1:1] nobody ever wrote"',
        'The photo says "no entry without a pass" [E3].',
        'You said "never more than three foxes", and the paper says "the quick brown fox" [E1:1].',
        'That "a fox must be quick" is yours; nobody is harmed at "jumps over" [E1:2].',
        '"jumps over" [E1:2] is there, whereas it was you who said "a fox must be quick".',
    ],
)
def test_what_is_quoted_beside_it_is_found(text: str) -> None:
    assert unverified(text, ITEMS) == ()


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ('It says "the quick brown cat" [E1:1].', ["E1"]),
        ('It says "jumps over the lazy dog" [E1:1].', ["E1"]),
        ('It says "the lazy dog the quick brown fox" [E1].', ["E1"]),
        ('It says "the lazy dog … the quick brown fox" [E1].', ["E1"]),
        ('"one two three four" [E1:1], and much more [E2:1].', ["E1"]),
        ('"the quick brown cat" they say, and that is so [E1:1], or even more [E2].', ["E1"]),
        ('As [E2] says of it all, "the quick brown cat".', ["E2"]),
        ('It is "the quick brown cat." [E1:1] The next.', ["E1"]),
        ('The photo says "no entry without a pass" [E3:2].', ["E3"]),
        ('"we spent 50,000 dollars last year" [E1:3]', ["E1"]),
        ("`one two three six` [E2:1]", ["E2"]),
        ('"one two three four" [E9]', ["E9"]),
        ('"nobody ever wrote this" and "the quick brown fox" [E1:1].', ["E1"]),
        ('"nobody ever wrote this", "the quick brown fox" and "jumps over" [E1:1-2].', ["E1"]),
        ('"one two three four" [E2:1-9]', ["E2"]),
        ('"one two three four" [E2:7-2]', ["E2"]),
    ],
)
def test_what_is_quoted_beside_it_and_is_not_there_is_unverified(text: str, failing: list[str]) -> None:
    assert [one.item for one in unverified(text, ITEMS)] == failing


def test_a_quotation_far_from_its_citation_counts_for_any_of_its_sentence() -> None:
    text = 'Where [E2] counts to five we read of "the quick brown fox", which is told again in [E1:1].'
    assert unverified(text, ITEMS) == ()


def test_a_text_is_marked_where_a_citation_fails() -> None:
    text = 'It is so [E1:1], "the quick brown cat" [E1:2], or [E8, E9], or [E1:9].'
    assert mark(text, ITEMS) == (
        'It is so [E1:1], "the quick brown cat" [E1:2] (unverified: not in the lines), '
        "or [E8, E9] (unverified: no such item), or [E1:9] (unverified: no such lines, E1 has 4)."
    )
    assert mark("Nothing is cited.", ITEMS) == "Nothing is cited."


_WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "(x)", "3.5", "it's", "§"]), min_size=4, max_size=9
)


@given(_WORDS, st.integers(1, 40), st.sampled_from([" ", "  ", "\n"]))
def test_what_is_there_is_always_verified(words: list[str], at: int, gap: str) -> None:
    lines = [f"line {number}" for number in range(at - 1)]
    item = Evidence("x", "x", "0", "text/plain", "\n".join([*lines, " ".join(words), "the end"]))
    assert unverified(f'They say "{gap.join(words)}" [E1:{at}].', [item]) == ()
    assert unverified(f'They say "{gap.join(words)} zeta" [E1:{at}].', [item]) != ()
    assert unverified(f'They say "{gap.join(words)}" [E1:{at + 1}].', [item]) != ()


@given(st.text(alphabet='[]E12:-,; "“”«»`.…\nab', max_size=80))
def test_any_text_is_taken(text: str) -> None:
    for one in check(text, ITEMS):
        assert text[one.start] == "["
        assert text[one.end - 1] == "]"
