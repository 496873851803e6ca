from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.cli.plain import Wrapping, visible, width


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\n\ttext é 🎯", "plain\n\ttext é 🎯"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\rb", "ab"),
        ("a\r\nb", "a\nb"),
        ("a\x08\x7f\x9bb", "ab"),
        ("safe\u202eevil", "safeevil"),
    ],
)
def test_nothing_that_moves_the_cursor_gets_through(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text())
def test_no_control_character_ever_gets_through(text: str) -> None:
    assert not [c for c in visible(text) if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]


def wrapped(pieces: list[str], columns: int) -> str:
    wrapping = Wrapping(columns)
    return "".join(wrapping.feed(piece) for piece in pieces) + wrapping.end()


def test_lines_break_between_words() -> None:
    assert (
        wrapped(["The quick brown fox ", "jumps over", " it."], 20) == "The quick brown fox\njumps over it."
    )


def test_paragraphs_stay() -> None:
    assert wrapped(["One.\n\nTwo."], 20) == "One.\n\nTwo."


def test_a_word_is_held_back_until_it_is_whole() -> None:
    wrapping = Wrapping(20)
    assert wrapping.feed("The qui") == "The"
    assert wrapping.feed("ck fox") == " quick"
    assert wrapping.end() == " fox"


def test_wide_characters_count_twice() -> None:
    assert width("日本é") == 5


words = st.text(st.sampled_from("ab日é"), min_size=1, max_size=30)
texts = st.lists(st.one_of(words, st.sampled_from([" ", "  ", "\n", "\n\n"])), max_size=40).map("".join)


@given(texts, st.integers(20, 40), st.data())
def test_wrapping_changes_nothing_but_white_space_however_the_text_is_cut(
    text: str, columns: int, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    places = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    result = wrapped(pieces, columns)
    assert result == wrapped([text], columns)
    assert result.split() == text.split()
    for line in result.split("\n"):
        assert width(line) <= columns or len(line.split()) == 1
