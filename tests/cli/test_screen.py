"""What a --json command prints can be read by a program and cannot act on a terminal. What a person reads
on a terminal is broken between words."""

from __future__ import annotations

import json
import os
import pty
import sys
import termios
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.cli import screen
from moot.cli.plain import visible

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


# -- lines that are too long for the terminal ---------------------------------------------------------

LONG = "Put a valid key into OPENAI_API_KEY, start moot again, and ask again: moot ask --last"


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, stream: str, columns: int, text: str) -> str:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, stream, terminal)
        patched.setenv("NO_COLOR", "1")
        (screen.say if stream == "stderr" else screen.show)(text)
        shown = os.read(ours, 2**16).decode()
    os.close(ours)
    return shown.replace("\r\n", "\n").removesuffix("\n")


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_on_a_terminal_lines_break_between_words(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    shown = on_a_terminal(monkeypatch, stream, 40, LONG)
    assert shown == (
        "Put a valid key into OPENAI_API_KEY,\nstart moot again, and ask again: moot\nask --last"
    )


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_elsewhere_lines_stay_whole(capsys: pytest.CaptureFixture[str], stream: str) -> None:
    (screen.say if stream == "stderr" else screen.show)(LONG)
    assert LONG in "".join(capsys.readouterr())


def test_a_line_that_fits_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "feat-auth      proposed   1  \n    indented,  with   gaps"
    assert on_a_terminal(monkeypatch, "stdout", 40, table) == table


def test_what_belongs_to_a_mark_stands_below_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in ("  [E] ", "  1. ", "- ", "  High   "):
        [first, *more] = on_a_terminal(monkeypatch, "stderr", 40, mark + LONG).split("\n")
        indent = len(mark) if mark.strip() != "High" else 2
        assert first.startswith(mark)
        assert more
        assert all(len(line) - len(line.lstrip()) == indent for line in more), (mark, more)


@given(st.text(st.sampled_from("ab- 1.[]\n日"), max_size=200), st.integers(24, 60))
def test_breaking_lines_loses_no_word(text: str, columns: int) -> None:
    assert screen.broken(text, columns).split() == text.split()
