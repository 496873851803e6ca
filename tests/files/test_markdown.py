from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.errors import InvalidInput
from moot.files import markdown
from moot.files.markdown import Heading
from tests.support.hostile_markdown import FRONT_MATTER, OPEN_ENDS, PIECES, Nasty, documents, soup

INSIGHTS = "### Additional Insights from Elaboration"


def titles(text: str) -> list[str]:
    return [heading.title for heading in markdown.headings(text)]


def outermost_texts(text: str) -> list[str]:
    return [block.content for block in markdown.parse(text).blocks() if block.kind == "paragraph_open"]


def is_one_insertion(old: str, new: str) -> bool:
    alike = (before == after for before, after in zip(old, new, strict=False))
    start = next((at for at, same in enumerate(alike) if not same), min(len(old), len(new)))
    return len(new) >= len(old) and new.endswith(old[start:])


# -- headings ------------------------------------------------------------------------------------


def test_headings_of_both_kinds_carry_level_title_and_line() -> None:
    text = "# One #\n\ntext\n\nTwo\nlines\n---\n   ### `three` **four**\n"
    assert markdown.headings(text) == (
        Heading(1, "One", 1),
        Heading(2, "Two lines", 5),
        Heading(3, "three four", 8),
    )


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n```",
        "~~~\n# a\n```\n# b\n~~~",
        "`````\n# a\n````\n# b",
        "    # a",
        "\t# a",
        "> # a",
        "- # a",
        "1. x\n\n   # a",
        "<!--\n# a\n-->",
        "<div>\n# a\n</div>",
        "#a",
        "####### a",
        "---\na: b\n---\n",
        "\ufeff---\r\na: b\r\n---\r\n",
        "| a |\n| - |\n---",
        "\u2028# a",
        "a \x0b# b",
        "text\f# a",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert markdown.headings(text) == ()


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_lines_and_offsets_are_those_of_the_file(eol: str) -> None:
    text = "\ufeff" + eol.join([*FRONT_MATTER, "# A", "text\u2028more\fand", "", "## B", "b"])
    first, second = markdown.sections(text)
    assert (first.heading.line, second.heading.line) == (7, 10)
    assert text[first.start :].startswith("# A")
    assert text[first.body : second.start] == f"text\u2028more\fand{eol}{eol}"
    assert text[second.start : second.end] == f"## B{eol}b"


def test_byte_order_mark_hides_no_heading() -> None:
    assert markdown.sections("\ufeff# A")[0].start == 1


def test_lists_nested_without_end_hide_nothing_below_them() -> None:
    assert titles("- " * 500 + "x\n\n# A\n") == ["A"]
    assert titles("> " * 500 + "x\n\n# A\n") == ["A"]


@settings(max_examples=150, deadline=None)
@given(documents())
def test_headings_are_found_exactly_where_they_were_put(document: Nasty) -> None:
    found = tuple((heading.level, heading.title) for heading in markdown.headings(document.text))
    assert found == document.headings


def test_code_lines_are_those_of_fences_and_indented_code() -> None:
    text = "a\n\n```\nb\n```\n\n- c\n  ~~~\n  d\n\n    e\n\n      f\n\ntext\n\n    g\n"
    assert markdown.code_lines(text) == {3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 17}


# -- sections ------------------------------------------------------------------------------------


def test_a_section_reaches_to_the_next_heading_of_its_level_or_higher() -> None:
    text = "# A\n1\n## B\n2\n### C\n3\n## D\n4\n# E\n"
    assert [text[section.body : section.end] for section in markdown.sections(text)] == [
        "1\n## B\n2\n### C\n3\n## D\n4\n",
        "2\n### C\n3\n",
        "3\n",
        "4\n",
        "",
    ]


def test_a_comment_on_top_of_a_heading_belongs_to_that_heading() -> None:
    text = "# A\n\n<!-- review:start -->\n# B\n\nb\n<!-- review:end -->\n# C\n"
    a, b, _ = markdown.sections(text)
    assert text[a.body : a.end] == "\n"
    assert text[b.body : b.end] == "\nb\n<!-- review:end -->\n"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_comment_at_the_end_of_the_text_belongs_to_the_last_section(end: str) -> None:
    text = f"# A\n<!-- note -->{end}"
    (section,) = markdown.sections(text)
    assert text[section.body : section.end] == f"<!-- note -->{end}"
    assert inserted(text, "A", "NEW") == "# A\n<!-- note -->\n\nNEW\n"


@pytest.mark.parametrize("title", ["Why", "  wHY ", "**Why**", "`why`", "<b>Why</b>"])
def test_a_title_is_found_whatever_its_case_space_and_markup(title: str) -> None:
    section = markdown.find_section("# Not why\n\n## *Why*\n\nBecause.\n", title)
    assert section is not None
    assert section.heading.line == 3


def test_plain_and_marked_up_titles_both_find_an_escaped_heading() -> None:
    text = "# a \\*b\\*\n"
    assert markdown.find_section(text, "a *b*") == markdown.find_section(text, "a \\*b\\*") is not None


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Error handling strategy", "Error Handling & Validation"),
        ("Scope", "Scope Estimation"),
        ("The data flow", "Data Flow"),
        ("Data model", None),
        ("of the", None),
        ("Validation of errors", None),
        ("Payments", None),
        ("", None),
    ],
)
def test_the_title_with_most_words_in_common_is_found_if_these_are_enough(
    title: str, found: str | None
) -> None:
    text = (
        "# Scope Estimation\n# Data Flow\n# Data Flow in the Large\n# Error Handling & Validation\n# of The\n"
    )
    section = markdown.find_section(text.replace("# of The\n", ""), title)
    assert (section.heading.title if section else None) == found


# -- adding --------------------------------------------------------------------------------------


def inserted(text: str, title: str, addition: str) -> str:
    section = markdown.find_section(text, title)
    assert section is not None
    return markdown.insert_at_section_end(text, section, addition)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# A\na\n# B\n", "# A\na\n\nNEW\n\n# B\n"),
        ("# A\n\na\n\n# B\n", "# A\n\na\n\nNEW\n\n# B\n"),
        ("# A", "# A\n\nNEW\n"),
        ("# A\r\na", "# A\r\na\r\n\r\nNEW\r\n"),
        ("# A\r\n\r\na\r\n\r\nB\r\n===\r\n", "# A\r\n\r\na\r\n\r\nNEW\r\n\r\nB\r\n===\r\n"),
        ("# A\ra\r# B\r", "# A\ra\r\rNEW\r\r# B\r"),
        ("# A\n\n\na\r", "# A\n\n\na\r\rNEW\n"),
        ("# A\na\n  ", "# A\na\n  \nNEW\n"),
        ("# A\na\n```\n# B\n", "# A\na\n\nNEW\n\n```\n# B\n"),
        ("# A\n\n<!-- open\n# B\n", "# A\n\nNEW\n\n<!-- open\n# B\n"),
        ("# A\n```\na\n```", "# A\n```\na\n```\n\nNEW\n"),
        ("# A\n- a\n  ```\n  b", "# A\n- a\n  ```\n  b\n\nNEW\n"),
        ("# A\na\n<!-- review:start -->\n# B\n", "# A\na\n\nNEW\n\n<!-- review:start -->\n# B\n"),
        ("# A\na\n  # B\n", "# A\na\n\nNEW\n\n<!-- -->\n\n  # B\n"),
    ],
)
def test_an_addition_stands_at_the_end_of_the_section_between_blank_lines(old: str, new: str) -> None:
    assert inserted(old, "A", "NEW") == new


def test_an_addition_takes_the_line_ending_of_the_file_and_loses_blank_lines_around_it() -> None:
    assert inserted("# A\r\n", "A", "\n\n- x\n- y\n \n") == "# A\r\n\r\n- x\r\n- y\r\n"


def test_a_fence_left_open_by_the_addition_is_closed() -> None:
    assert inserted("# A\n# B\n", "A", "~~~~\ncode") == "# A\n\n~~~~\ncode\n~~~~\n\n# B\n"


def test_an_indented_addition_does_not_continue_the_list_above() -> None:
    new = inserted("# A\n- a\n", "A", "  NEW")
    assert new == "# A\n- a\n\n<!-- -->\n\n  NEW\n"
    assert outermost_texts(new) == ["NEW"]


def test_an_empty_addition_changes_nothing() -> None:
    assert inserted("# A\n", "A", " \n\n") == "# A\n"
    assert markdown.append_under("a", INSIGHTS, "\r\n") == "a"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", f"{INSIGHTS}\n\nNEW\n"),
        ("a", f"a\n\n{INSIGHTS}\n\nNEW\n"),
        ("```\nopen", f"{INSIGHTS}\n\nNEW\n\n```\nopen"),
        ("\ufeff```\nopen", f"\ufeff{INSIGHTS}\n\nNEW\n\n```\nopen"),
        ("---\na: 1\n---", f"---\na: 1\n---\n\n{INSIGHTS}\n\nNEW\n"),
        (f"{INSIGHTS}\nold\n# B\n", f"{INSIGHTS}\nold\n\nNEW\n\n# B\n"),
    ],
)
def test_without_a_section_the_addition_goes_below_a_heading_that_is_made_once(old: str, new: str) -> None:
    assert markdown.append_under(old, INSIGHTS, "NEW") == new


def test_the_heading_to_append_under_must_be_one() -> None:
    with pytest.raises(InvalidInput, match="heading"):
        markdown.append_under("a", "no heading", "NEW")


def test_a_rule_in_the_addition_does_not_become_the_end_of_front_matter() -> None:
    new = markdown.append_under("---\n\n# A\n", INSIGHTS, "NEW\n\n---\n\nmore")
    assert new == f"---\n\n# A\n\n{INSIGHTS}\n\nNEW\n\n ---\n\nmore\n"
    assert titles(new) == ["A", INSIGHTS[4:]]


additions = st.one_of(
    st.sampled_from([*(piece.lines for piece in PIECES), *OPEN_ENDS]).map("\n".join),
    soup,
)
INDENTS = st.sampled_from(["", " ", "   "])


def check_addition(old: str, new: str, heading: str | None, known: list[str]) -> None:
    """`known` are the titles of the old text; all must still be there, in order, and nothing else but what
    the addition (which begins with the paragraph "zebra") brought in one place."""
    assert is_one_insertion(old, new)
    assert "zebra" in outermost_texts(new)
    found = titles(new)
    more = len(found) - len(known)
    assert any(found[:at] + found[at + more :] == known for at in range(len(known) + 1))
    if heading is not None:
        assert heading in found


@settings(max_examples=150, deadline=None)
@given(document=documents(), addition=additions, indent=INDENTS, pick=st.integers(0, 50))
def test_insertions_keep_every_old_text_and_heading_and_are_structure(
    document: Nasty, addition: str, indent: str, pick: int
) -> None:
    for section in markdown.sections(document.text)[pick % 5 : pick % 5 + 1]:
        new = markdown.insert_at_section_end(document.text, section, f"{indent}zebra\n\n{addition}")
        check_addition(document.text, new, None, titles(document.text))


@settings(max_examples=150, deadline=None)
@given(document=documents(), addition=additions, indent=INDENTS)
def test_appending_keeps_every_old_text_and_heading_and_is_structure(
    document: Nasty, addition: str, indent: str
) -> None:
    new = markdown.append_under(document.text, "### Zoo", f"{indent}zebra\n\n{addition}")
    check_addition(document.text, new, "Zoo", titles(document.text))
    again = markdown.append_under(new, "### Zoo", "giraffe")
    assert titles(again) == titles(new)
    assert "giraffe" in outermost_texts(again)


@settings(max_examples=250, deadline=None)
@given(text=soup, addition=additions, indent=INDENTS)
@example(text="---\n", addition="---\n\n# a", indent="")
@example(text="# a\n\n-\t```", addition="-", indent=" ")
def test_additions_to_any_text_keep_it_and_are_structure(text: str, addition: str, indent: str) -> None:
    new = markdown.append_under(text, "### Zoo", f"{indent}zebra\n\n{addition}")
    check_addition(text, new, "Zoo", titles(text))
    for section in markdown.sections(text)[:2]:
        new = markdown.insert_at_section_end(text, section, f"{indent}zebra\n\n{addition}")
        check_addition(text, new, None, titles(text))
