"""What a --json command prints can be read by a program and cannot act on a terminal."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.surfaces.cli import screen
from moot.surfaces.cli.plain import visible

ACTS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters, lone surrogates, separators of lines and paragraphs."""

texts = st.text(st.characters()) | st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zp")), min_size=1)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


def test_every_character_that_a_terminal_acts_on_is_escaped() -> None:
    acting = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ACTS]
    assert {"\x85", "\x9b", "\u202e", "\u2066", "\u061c", "\u2028", "\ufeff"} <= set(acting)
    printed = screen.json_text(acting)
    assert [c for c in printed if unicodedata.category(c) in ACTS and c != "\n"] == []
    assert json.loads(printed) == acting


@given(documents)
def test_what_was_printed_reads_back_as_it_was(document: Any) -> None:
    printed = screen.json_text(document)
    assert json.loads(printed) == document
    assert not any(unicodedata.category(character) in ACTS for character in printed if character != "\n")
    printed.encode("utf-8")


def test_words_of_all_languages_stay_readable() -> None:
    assert screen.json_text({"a": "größer 🎯 日本 עברית"}) == '{\n  "a": "größer 🎯 日本 עברית"\n}'


def test_the_document_is_printed_so(capsys: pytest.CaptureFixture[str]) -> None:
    screen.show_json({"said": "\x9b31mred\u202edab"})
    assert capsys.readouterr().out == '{\n  "said": "\\u009b31mred\\u202edab"\n}\n'


@given(st.text(st.characters(categories=("Cc", "Cs", "Zl", "Zp"))))
def test_plain_text_has_none_that_breaks_lines_or_cannot_be_printed(text: str) -> None:
    shown = visible(f"a{text}b")
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown if c not in "\n\t")
