"""What an approval holds for: what moot itself writes later is no part of it, and everything else is."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from moot.changes import review_block, reviewed, tasks
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.files.frontmatter import LINE_BREAK
from tests.support.hostile_markdown import Nasty, documents, soup

REVIEWS = (
    Review(Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "No."),), "Not yet.", "today"),
    Review(Verdict.APPROVED, (), "Fine.", "tomorrow"),
)
BOXES = "# Tasks\n\n- [ ] One\n- [x] Two\n  1. [ ] Three\n"


def of(name: str, text: str) -> str:
    return reviewed.hashes({name: text})[name]


@given(documents())
def test_the_reviews_that_follow_the_first_change_nothing(nasty: Nasty) -> None:
    """The first may close what the text has left open, so that it is computed with that one in it."""
    first = review_block.append(nasty.text, REVIEWS[0])
    again = review_block.append(first, REVIEWS[1])
    assert of("proposal.md", again) == of("proposal.md", first)


def test_a_review_of_a_plain_text_changes_nothing() -> None:
    for text in ("# P\n", "# P", "# P\n\n\n", "# P\r\n\r\nWords\r\n"):
        assert of("proposal.md", review_block.append(text, REVIEWS[0])) == of("proposal.md", text)


@given(soup, soup)
def test_two_texts_that_differ_have_two_hashes(one: str, other: str) -> None:
    def plain(text: str) -> str:
        return LINE_BREAK.sub("\n", text.removeprefix("\ufeff")).rstrip()

    assume(plain(one) != plain(other))
    assert of("specs/a.md", one) != of("specs/a.md", other)


@given(documents())
def test_line_ends_and_the_end_of_a_file_do_not_matter(nasty: Nasty) -> None:
    text = LINE_BREAK.sub("\n", nasty.text)
    for name in ("specs/a.md", "proposal.md", "tasks.md"):
        assert of(name, text) == of(name, text.replace("\n", "\r\n")) == of(name, f"{text}\n\n")


def test_ticks_do_not_matter_and_words_do() -> None:
    ticked = BOXES
    for task in tasks.tasks(BOXES):
        if not task.done:
            ticked = tasks.tick(ticked, task.line)
    assert "[ ]" not in ticked
    assert of("tasks.md", ticked) == of("tasks.md", BOXES) == of("tasks.md", tasks.untick_all(BOXES))
    for other in (BOXES + "- [ ] Four\n", BOXES.replace("One", "1"), BOXES.replace("- [x] Two\n", "")):
        assert of("tasks.md", other) != of("tasks.md", BOXES)
    assert of("specs/a.md", ticked) != of("specs/a.md", BOXES), "in a specification, a tick is a word"


@given(st.text("ab", max_size=3), st.text("ab", max_size=3))
def test_an_approval_belongs_to_one_change(one: str, other: str) -> None:
    files = {"proposal.md": "sha256:0", "tasks.md": "sha256:1"}
    same = reviewed.hash_of_all(one, files) == reviewed.hash_of_all(other, files)
    assert same == (one == other)
    assert reviewed.hash_of_all(one, {"proposal.md": "sha256:0"}) != reviewed.hash_of_all(one, files)
