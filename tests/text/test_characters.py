from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.text.characters import strip_controls, strip_controls_in, strip_controls_in_json

OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def acts(sign: str) -> bool:
    return (unicodedata.category(sign) == "Cc" and sign not in "\t\n") or sign in OVERRIDES


texts = st.text(st.one_of(st.characters(), st.sampled_from(f"\t\n\r\x00\x07\x1b\x7f\x85\x9b{OVERRIDES}")))


@given(texts)
@example("a\x07b\x1b[31mc\u202ed\u2066e\x7f\r\n\tf")
def test_exactly_what_acts_is_gone(text: str) -> None:
    assert strip_controls(text) == "".join(sign for sign in text if not acts(sign))


@given(texts, texts)
def test_words_that_come_in_pieces_are_stripped_as_the_whole_is(first: str, second: str) -> None:
    assert strip_controls(first) + strip_controls(second) == strip_controls(first + second)


def test_right_to_left_words_keep_their_marks() -> None:
    assert strip_controls("\u200fשלום\u200e 👩\u200d👧") == "\u200fשלום\u200e 👩\u200d👧"


def test_every_text_within_a_value_is_stripped_and_nothing_else_is_touched() -> None:
    value = {"a\x00": ["b\x1b", {"c": "d\u202e"}, ("e\x7f",)], "n": 1, "none": None, "yes": True}
    assert strip_controls_in(value) == {"a": ["b", {"c": "d"}, ["e"]], "n": 1, "none": None, "yes": True}


DEEP = b'{"a": "\\u0007", "b": ' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.mark.parametrize("text", [b'"\\u0007', DEEP], ids=["broken", "nested without end"])
def test_json_that_cannot_be_read_is_left_to_whoever_decodes_it(text: bytes) -> None:
    assert strip_controls_in_json(b'{"a": "b\\u0007"}') == b'{"a": "b"}'
    assert strip_controls_in_json(text) == text
