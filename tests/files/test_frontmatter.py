from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.errors import FileDamaged
from moot.files import frontmatter


def damage(text: str) -> FileDamaged:
    with pytest.raises(FileDamaged) as caught:
        frontmatter.read(text, "a.md")
    assert "\n" not in str(caught.value)
    return caught.value


def test_fields_and_body_are_parted() -> None:
    found = frontmatter.read("---\nname: Maya\nscores: [1, 2.5, true, null]\n---\n\n# Body\n", "a.md")
    assert found.fields == {"name": "Maya", "scores": [1, 2.5, True, None]}
    assert found.body == "\n# Body\n"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_byte_order_mark_and_line_endings_make_no_difference(eol: str, bom: str) -> None:
    found = frontmatter.read(bom + eol.join(["---", "a: 1", "b:", "  - x", "--- ", "Body"]), "a.md")
    assert (found.fields, found.body) == ({"a": 1, "b": ["x"]}, "Body")
    assert found.line_of("b", 0) == 4


@pytest.mark.parametrize(
    "text", ["", "# Only a body\n---\n", "\ufeff# Only a body\n---\n", " ---\na: 1\n---\n"]
)
def test_no_front_matter_leaves_the_whole_body(text: str) -> None:
    found = frontmatter.read(text, "a.md")
    assert (found.fields, found.body) == ({}, text.removeprefix("\ufeff"))


@pytest.mark.parametrize("text", ["---\n---\nBody", "---\n\n---\nBody", "---\n# a comment\n---\nBody"])
def test_empty_front_matter_has_no_fields(text: str) -> None:
    found = frontmatter.read(text, "a.md")
    assert (found.fields, found.body) == ({}, "Body")


def test_line_of_names_the_key_the_item_or_the_nearest_parent() -> None:
    found = frontmatter.read(
        "---\na: 1\nrubric:\n  risk:\n    score: 3\n  list:\n    - x\n    - y\n---\n", "a.md"
    )
    assert found.line_of("rubric", "risk", "score") == 5
    assert found.line_of("rubric", "list", 1) == 8
    assert found.line_of("rubric", "absent", "deeper") == 3
    assert found.line_of("absent") == 1
    assert found.line_of() == 1


def test_dates_and_odd_words_stay_text_and_keys_are_always_text() -> None:
    found = frontmatter.read("---\ncreated: 2026-01-31\nanswer: yes\n1: one\non: x\n---\n", "a.md")
    assert found.fields == {"created": "2026-01-31", "answer": "yes", "1": "one", "on": "x"}


@pytest.mark.parametrize(
    ("yaml", "line", "words"),
    [
        ("a: 1\na: 2", 3, "'a' appears twice"),
        ("a: 1\nb:\n  c: 1\n  c: 2", 5, "'c' appears twice"),
        ("1: x\n'1': y", 3, "'1' appears twice"),
        ("a: 1\nb: c: d", 3, "mapping values are not allowed here"),
        ("a: 1\nb: 'open\nc: 3", 3, "unexpected end"),
        ("a: 1\nb: [1, 2", 3, "flow sequence"),
        ("a: 1\nb: @x", 3, "'@'"),
        ("- a\n- b", 2, "name: value"),
        ("just words", 2, "name: value"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]", 3, "!!python/object/apply:os.system"),
        ("a: 1\nb: !mine x", 3, "!mine"),
        ("!mine\na: 1", 2, "!mine"),
        ("a: !!set {x}", 2, "!!set"),
        ("a: &x [1]\nb: [*x, *x]", 2, "&x"),
        ("a: &x [*x]", 2, "&x"),
        ("a: 1\nb: &x 1\nc: &x 2", 3, "&x"),
        ("a: *x", 2, "alias"),
        ("a: 1\n<<: {b: 1}", 3, "<<"),
        ("? [a]\n: b", 2, "name must be plain text"),
        ("a: 1\nb: \x07", 3, "U+0007"),
        ("a: " + "9" * 5000, 2, "!!int"),
        ("a: !!bool maybe", 2, "!!bool"),
        ("a: " + "[" * 3000, 2, "nested more than 50"),
        ("a: 1\n--- b", 3, "another document"),
    ],
)
def test_damage_is_named_with_its_line(yaml: str, line: int, words: str) -> None:
    error = damage(f"---\n{yaml}\n---\nBody\n")
    assert (error.file, error.line) == ("a.md", line)
    assert words in error.problem


@pytest.mark.parametrize(
    "text", ["---\na: 1\n", "---", "\ufeff---\r\na: 1\r\n----\r\n", "---\na: 1\n --- \n"]
)
def test_front_matter_that_is_never_closed_is_damage_on_line_one(text: str) -> None:
    assert damage(text).line == 1


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["---", "\n", "\r\n", "\r", "a: ", "- ", "&x ", "*x", "!t ", "[", "'", "1", "  "])
    )
)
def test_any_text_is_read_or_reported_as_damaged(pieces: list[str]) -> None:
    text = "---\n" + "".join(pieces)
    last_line = text.count("\n") + text.count("\r") + 1
    line: int | None = 1
    try:
        frontmatter.read(text, "a.md")
    except FileDamaged as error:
        line = error.line
    assert line is not None
    assert 1 <= line <= last_line
