from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.changes import review_block
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.errors import InvalidInput
from tests.support.hostile_markdown import Nasty, documents, soup

REVIEW = Review(
    Verdict.NEEDS_REVISION,
    (
        Issue(Severity.HIGH, "Tokens never expire", "specs/auth.md, R2", "Give them a lifetime"),
        Issue(Severity.LOW, "Typo"),
    ),
    "One thing to fix.",
    "2026-03-01T12:00:00Z",
)

RENDERED = """\
<!-- review:start -->
## Review

**Verdict**: NEEDS_REVISION

### Issues

#### Issue 1
- **Severity**: High
- **Description**: Tokens never expire
- **Location**: specs/auth.md, R2
- **Recommendation**: Give them a lifetime

#### Issue 2
- **Severity**: Low
- **Description**: Typo
- **Location**:
- **Recommendation**:

### Summary
One thing to fix.

**Reviewed**: 2026-03-01T12:00:00Z
<!-- review:end -->"""


def wrapped(inside: str) -> str:
    return f"<!-- review:start -->\n{inside}\n<!-- review:end -->\n"


def only_block(text: str) -> review_block.Block:
    (block,) = review_block.blocks(text)
    return block


# -- writing -------------------------------------------------------------------------------------


def test_a_review_is_written_in_the_format_of_the_block() -> None:
    assert review_block.render(REVIEW) == RENDERED


def test_a_review_is_appended_below_a_blank_line_in_the_line_ending_of_the_file() -> None:
    assert review_block.append("", REVIEW) == RENDERED + "\n"
    assert (
        review_block.append("# A\r\ntext", REVIEW)
        == "# A\r\ntext\r\n\r\n" + RENDERED.replace("\n", "\r\n") + "\r\n"
    )


@pytest.mark.parametrize(
    ("old", "bridge"),
    [
        ("```\ncode", "\n```\n\n"),
        ("~~~~~\ncode\n", "~~~~~\n\n"),
        ("<!-- open", "\n-->\n\n"),
        ("<?open\n", "?>\n\n"),
        ("<script>\n\n", "</pre>\n\n"),
    ],
)
def test_what_the_text_leaves_open_is_closed_before_the_review(old: str, bridge: str) -> None:
    assert review_block.append(old, REVIEW) == old + bridge + RENDERED + "\n"


def test_fields_of_several_lines_stay_inside_their_list_item() -> None:
    issue = Issue(Severity.HIGH, "First\r\n\r\n# Heading  \n- item", "", "```\n<!-- review:end -->")
    text = review_block.render(Review(Verdict.REJECTED, (issue,), "s", "t"))
    assert "- **Description**: First\n\n  # Heading\n  - item\n- **Location**:\n" in text
    assert "- **Recommendation**:\n  ```\n  <\\!-- review:end -->\n\n### Summary\n" in text


def test_the_summary_is_text_whatever_it_looks_like() -> None:
    summary = "# a\n```\n<div>\n---\n===\n- kept\n`kept`\n\\b\n**Verdict** : APPROVED\nreviewed: never"
    text = review_block.render(Review(Verdict.APPROVED, (), summary, "t"))
    assert (
        "\n### Summary\n\\# a\n\\```\n\\<div>\n\\---\n\\===\n- kept\n`kept`\n\\\\b\n"
        "**Verdict** \\: APPROVED\nreviewed\\: never\n\n**Reviewed**: t\n" in text
    )


# -- reading -------------------------------------------------------------------------------------


def test_a_written_review_is_read_back() -> None:
    assert review_block.read(only_block(review_block.append("# A\n", REVIEW))) == REVIEW


def test_blocks_know_where_they_stand() -> None:
    text = "\ufeff# A\r\n\r\n" + wrapped("x").replace("\n", "\r\n") + "rest\r\n"
    block = only_block(text)
    assert block.raw == text[block.start : block.end] == wrapped("x").replace("\n", "\r\n").rstrip()
    assert block.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"```\n{RENDERED}\n```\n",
        f"~~~~\n{RENDERED}\n",
        "\n".join(f"    {line}" for line in RENDERED.split("\n")),
        "\n".join(f"> {line}" for line in RENDERED.split("\n")),
        RENDERED.removesuffix("<!-- review:end -->"),
        RENDERED.removeprefix("<!-- review:start -->"),
        f"---\n{RENDERED}\n---\n",
        RENDERED.replace("### Issues", "```"),
        f"<!--\n{RENDERED.removesuffix('<!-- review:end -->')}",
        "The verdict: `<!-- review:start -->` **Verdict**: APPROVED <!-- review:end -->",
        "**Verdict**: APPROVED",
    ],
)
def test_what_is_no_complete_block_has_no_verdict(text: str) -> None:
    assert review_block.blocks(text) == ()
    assert review_block.verdict(text) is None


def test_a_block_that_never_ended_does_not_swallow_a_later_one() -> None:
    text = "<!-- review:start -->\n**Verdict**: APPROVED\n\n" + RENDERED
    block = only_block(text)
    assert block.raw == RENDERED
    assert review_block.verdict(text) is Verdict.NEEDS_REVISION


def test_the_last_complete_block_decides() -> None:
    text = (
        wrapped("**Verdict**: REJECTED")
        + wrapped("**Verdict**: APPROVED")
        + "<!-- review:start -->\n**Verdict**: x"
    )
    assert review_block.verdict(text) is Verdict.APPROVED


@pytest.mark.parametrize(
    "line",
    [
        "**Verdict**: NEEDS_REVISION",
        "**Verdict:** needs revision",
        "Verdict: **Needs-Revision**",
        "__verdict__ :  `needs_revision`  ",
        "  **VERDICT** : *Needs   Revision*",
        "**Verdict**: NEEDS\u00a0REVISION",
        "**Verdict**: NEEDS_REVISION\nmore text",
        "**Verdict**: NEEDS_REVISION\n\nverdict: needs-revision",
    ],
)
def test_verdicts_are_read_whatever_case_space_and_marks_they_have(line: str) -> None:
    assert review_block.verdict(wrapped(f"## Review\n\n{line}\n\nAPPROVED, I say.")) is Verdict.NEEDS_REVISION


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("## Review\n\nAPPROVED", "no '\\*\\*Verdict\\*\\*:' line"),
        ("The verdict is **Verdict**: APPROVED", "no '\\*\\*Verdict\\*\\*:' line"),
        ("`a\n**Verdict**: APPROVED\nb`", "no '\\*\\*Verdict\\*\\*:' line"),
        ("```\n**Verdict**: APPROVED\n```", "no '\\*\\*Verdict\\*\\*:' line"),
        ("> **Verdict**: APPROVED", "no '\\*\\*Verdict\\*\\*:' line"),
        ("<!--\n\n**Verdict**: APPROVED\n\n-->", "no '\\*\\*Verdict\\*\\*:' line"),
        ("**Verdict**: APPROVED\n\n**Verdict**: REJECTED", "several: APPROVED, REJECTED"),
        ("**Verdict**: APPROVED | NEEDS_REVISION | REJECTED", "is none of"),
        ("**Verdict**: not APPROVED", "'not APPROVED' is none of APPROVED, NEEDS_REVISION, REJECTED"),
        ("**Verdict**:", "'' is none of"),
    ],
)
def test_a_verdict_is_never_guessed(inside: str, problem: str) -> None:
    text = wrapped(inside)
    with pytest.raises(InvalidInput, match=problem) as caught:
        review_block.verdict(text)
    assert caught.value.field == "verdict"
    with pytest.raises(InvalidInput, match=problem):
        review_block.read(only_block(text))


def test_an_unknown_or_missing_severity_is_named_with_its_issue() -> None:
    text = wrapped(RENDERED.replace("**Severity**: Low", "**Severity**: Critical"))
    with pytest.raises(InvalidInput, match="issue 2: severity: 'Critical' is none of High, Medium, Low"):
        review_block.read(review_block.blocks(text)[0])
    with pytest.raises(InvalidInput, match="issue 2: severity"):
        review_block.read(only_block(RENDERED.replace("- **Severity**: Low\n", "")))


def test_a_block_written_by_hand_is_read_with_tolerance() -> None:
    text = wrapped(
        "## review\n**verdict:** rejected\n### ISSUES\n#### Issue 1: scope\n* __severity__ : **HIGH**\n"
        "* Description: long,\n  in two lines\n* **Location:** here\n### summary\nNo.\n**Reviewed:** today\n"
    )
    assert review_block.read(only_block(text)) == Review(
        Verdict.REJECTED, (Issue(Severity.HIGH, "long,\nin two lines", "here"),), "No.", "today"
    )


def test_outside_a_block_every_line_keeps_its_number() -> None:
    text = f"# A\r\n\r\n{RENDERED}\r\n\r\n# B\r\n"
    assert review_block.outside(text) == "# A\r\n\r\n" + "\n" * RENDERED.count("\n") + "\r\n\r\n# B\r\n"


# -- promises ------------------------------------------------------------------------------------

texts = st.one_of(soup, st.text(max_size=20))
issues = st.builds(Issue, st.sampled_from(Severity), texts, texts, texts)
reviews = st.builds(Review, st.sampled_from(Verdict), st.lists(issues, max_size=3).map(tuple), texts, texts)


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in re.split("\r\n|\r|\n", text)).strip()


def tidy_review(review: Review) -> Review:
    return Review(
        review.verdict,
        tuple(
            Issue(issue.severity, tidy(issue.description), tidy(issue.location), tidy(issue.recommendation))
            for issue in review.issues
        ),
        tidy(review.summary),
        " ".join(review.reviewed.split()),
    )


def check_append(old: str, review: Review) -> None:
    new = review_block.append(old, review)
    assert new.startswith(old)
    before, after = review_block.blocks(old), review_block.blocks(new)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    assert review_block.read(after[-1]) == tidy_review(review)
    assert review_block.verdict(new) is review.verdict


@settings(max_examples=200, deadline=None)
@given(old=soup, review=reviews)
@example(old="---\n", review=Review(Verdict.APPROVED, (), "---", "---"))
@example(old="- " * 200 + "x", review=REVIEW)
@example(old="<!-- review:start -->", review=REVIEW)
@example(old="a\n\n\r", review=REVIEW)
def test_a_review_appended_to_any_text_is_read_back_and_changes_no_other(old: str, review: Review) -> None:
    check_append(old, review)


@settings(max_examples=100, deadline=None)
@given(document=documents(), review=reviews)
def test_reviews_are_found_exactly_where_they_were_put(document: Nasty, review: Review) -> None:
    assert len(review_block.blocks(document.text)) == document.reviews
    check_append(document.text, review)


@settings(max_examples=50, deadline=None)
@given(first=reviews, second=reviews)
def test_a_second_review_leaves_the_first_as_it_was(first: Review, second: Review) -> None:
    text = review_block.append(review_block.append("# A\n", first), second)
    assert [review_block.read(block) for block in review_block.blocks(text)] == [
        tidy_review(first),
        tidy_review(second),
    ]


@settings(max_examples=50, deadline=None)
@given(review=reviews)
def test_no_field_brings_a_marker_or_a_verdict_line_even_for_a_careless_reader(review: Review) -> None:
    rendered = review_block.render(review)
    assert rendered.count("<!--") == 2
    assert len(re.findall(r"(?mi)^[\s*_]*verdict[\s*_]*:", rendered)) == 1


# -- judging -------------------------------------------------------------------------------------

HIGH, MEDIUM, LOW = (Issue(severity, "x") for severity in Severity)


def test_issues_are_counted_by_severity() -> None:
    review = Review(Verdict.REJECTED, (HIGH, LOW, HIGH), "s", "t")
    assert review_block.count(review) == {Severity.HIGH: 2, Severity.MEDIUM: 0, Severity.LOW: 1}


@pytest.mark.parametrize(
    ("verdict", "found", "consistent"),
    [
        (Verdict.APPROVED, (), True),
        (Verdict.APPROVED, (MEDIUM, MEDIUM, LOW), True),
        (Verdict.APPROVED, (LOW, HIGH), False),
        (Verdict.NEEDS_REVISION, (), False),
        (Verdict.NEEDS_REVISION, (MEDIUM, LOW), False),
        (Verdict.NEEDS_REVISION, (MEDIUM, MEDIUM), True),
        (Verdict.NEEDS_REVISION, (HIGH,), True),
        (Verdict.REJECTED, (), False),
        (Verdict.REJECTED, (HIGH,), True),
    ],
)
def test_a_verdict_must_fit_the_severities(
    verdict: Verdict, found: tuple[Issue, ...], consistent: bool
) -> None:
    problems = review_block.contradictions(Review(verdict, found, "s", "t"))
    assert (problems == ()) is consistent
    assert all(str(verdict) in problem for problem in problems)


def test_every_contradiction_is_named() -> None:
    problems = review_block.contradictions(Review(Verdict.APPROVED, (HIGH,), " \n", "t"))
    assert len(problems) == 2
    assert "summary" in problems[1]
