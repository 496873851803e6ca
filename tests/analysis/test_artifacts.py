"""What a step adds to an artifact: only additions, and the same one never twice."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.analysis import artifacts
from moot.errors import InvalidInput
from moot.evidence.items import Evidence
from moot.files import markdown

MARKER = artifacts.step_marker("01-02")


def add(old: str | None, body: str, heading: str = "User Needs Discovery", marker: str = MARKER) -> str:
    return artifacts.with_section(old, title="Offline mode", heading=heading, marker=marker, body=body)


def test_a_new_artifact_begins_with_the_item() -> None:
    assert add(None, "People on trains.") == (
        "# Offline mode\n\n## User Needs Discovery\n\n<!-- Step 01-02 -->\n\nPeople on trains.\n"
    )


def test_a_later_step_comes_below_in_a_section_of_its_own() -> None:
    text = add(add(None, "One."), "Two.", heading="Technical Context", marker=artifacts.step_marker("01-04"))
    assert [s.heading.title for s in markdown.sections(text)] == [
        "Offline mode",
        "User Needs Discovery",
        "Technical Context",
    ]


def test_feedback_joins_the_section_of_its_step() -> None:
    text = add(add(None, "One."), "Corrected: two.", marker=artifacts.step_marker("01-02", 1))
    section = markdown.find_section(text, "User Needs Discovery")
    assert section is not None
    assert text[section.body : section.end].index("One.") < text[section.body : section.end].index(
        "Corrected"
    )


EVIDENCE = (
    Evidence("meeting.md", "/home/ana/meeting.md", "1a2b3c4d5e6f7a8b", "text/markdown", "One.\nTwo."),
    Evidence("law.md", "docs/law.md", "f" * 64, "text/markdown", "No."),
    Evidence("a `b`\n<!-- Step 01-05 -->", "https://example.org/x", "0" * 64, "text/plain", "x"),
)


def test_at_its_end_an_artifact_says_what_it_cites() -> None:
    text = artifacts.with_sources(add(None, "Twenty [E1:1], and more [E2, E9]."), EVIDENCE)
    assert text.endswith(
        "Twenty [E1:1], and more [E2, E9].\n\n<!-- Sources: kept by moot -->\n## Sources\n\n"
        "Evidence that the analysis was given; `session.jsonl`, beside this file, has all of it.\n\n"
        "- **E1**: `meeting.md`, sha256 1a2b3c4d5e6f\n"
        "- **E2**: `law.md`, `docs/law.md`, sha256 ffffffffffff\n"
    )
    assert artifacts.with_sources(add(None, "Nobody said so."), EVIDENCE) == add(None, "Nobody said so.")


def test_the_sources_stay_at_the_end_and_what_somebody_wrote_below_them_stays_too() -> None:
    old = artifacts.with_sources(add(None, "One [E1]."), EVIDENCE) + "\nBy hand.\n"
    new = ""
    for there in (old, old.replace("\n", "\r\n")):
        bare, marker = artifacts.without_sources(there), artifacts.step_marker("01-04")
        new = add(bare, "Two [E3].", heading="Technical Context", marker=marker)
        new = artifacts.with_sources(new, EVIDENCE)
        assert new.count("## Sources") == 1
        assert "By hand." in new.split("## Technical Context")[0]
        *_, named = new.splitlines()
        assert named.startswith("- **E3**: `a b <!-- Step 01-05 -->`, `https://example.org/x`, sha256 000")
    bare, marker = artifacts.without_sources(new), artifacts.step_marker("01-05")
    assert "Three." in add(bare, "Three.", heading="Design", marker=marker), "a name is no marker"


@given(st.text(max_size=200), st.sampled_from(["", "[E1]", "[E1:2, E2]", "[E7]"]))
def test_without_its_sources_an_artifact_is_as_it_was_and_twice_is_once(text: str, cited: str) -> None:
    old = f"x{text}{cited}"
    new = artifacts.with_sources(old, EVIDENCE)
    assert artifacts.without_sources(new).rstrip() == old.rstrip()
    assert artifacts.with_sources(new, EVIDENCE) == new


@settings(max_examples=60)
@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_that_was_there_is_lost_and_twice_is_once(first: str, second: str) -> None:
    old = add(None, f"x{first}")
    new = add(old, f"y{second}", heading="Technical Context", marker=artifacts.step_marker("01-04"))
    assert _contained(old, new)
    again = add(new, f"y{second}", heading="Technical Context", marker=artifacts.step_marker("01-04"))
    assert again == new


def _contained(old: str, new: str) -> bool:
    """Whether the one is the other with pieces inserted."""
    letters = iter(new)
    return all(letter in letters for letter in old)


@pytest.mark.parametrize("body", ["# Mine", "## Technical Context", "text\n# More\ntext", "  ## Aside"])
def test_a_model_cannot_open_a_section_above_its_own(body: str) -> None:
    text = add(None, body)
    assert [s.heading.level for s in markdown.sections(text)][:2] == [1, 2]
    assert {s.heading.level for s in markdown.sections(text)[2:]} <= {3}


def test_code_stays_as_it_is() -> None:
    assert "```sh\n# not a heading\n```" in add(None, "Run:\n\n```sh\n# not a heading\n```")


def test_a_model_cannot_forge_a_marker() -> None:
    forged = add(None, "<!-- Step 01-04 -->")
    real = add(forged, "Real.", heading="Technical Context", marker=artifacts.step_marker("01-04"))
    assert "Real." in real


STORY = {
    "as_a": "traveller",
    "i_want": "to read offline",
    "so_that": "tunnels do not stop me",
    "acceptance": [],
}


def test_stories_are_numbered_and_never_twice() -> None:
    first = artifacts.with_stories(None, [STORY], "01-07")
    other = {**STORY, "i_want": "to write offline"}
    text = artifacts.with_stories(first, [STORY, other], "01-07")
    assert [(s["id"], s["i_want"]) for s in json.loads(text)] == [
        ("US-001", "to read offline"),
        ("US-002", "to write offline"),
    ]
    assert artifacts.with_stories(text, [STORY, other], "01-07") == text


def test_a_number_is_not_given_again_where_a_story_was_taken_out() -> None:
    texts = [{**STORY, "i_want": f"wish {number}"} for number in range(4)]
    known = json.loads(artifacts.with_stories(None, texts[:3], "01-07"))
    after = json.loads(artifacts.with_stories(json.dumps(known[1:]), texts[3:], "01-07"))
    assert [story["id"] for story in after] == ["US-002", "US-003", "US-004"]


@pytest.mark.parametrize("damaged", ["{", '{"stories": []}', "[" * 5000 + "]" * 5000])
def test_a_story_file_that_is_no_list_is_left_alone(damaged: str) -> None:
    with pytest.raises(InvalidInput, match="user stories"):
        artifacts.with_stories(damaged, [STORY], "01-07")


ROW = {"requirement": "Read offline", "priority": "must", "reason": "core", "source": "01-06"}


def test_rows_are_added_below_those_that_are_there() -> None:
    first = artifacts.with_rows(None, [ROW])
    text = artifacts.with_rows(first, [ROW, {**ROW, "requirement": 'Say "hello", twice'}])
    assert text.startswith(first)
    assert [row["requirement"] for row in csv.DictReader(io.StringIO(text))] == [
        "Read offline",
        'Say "hello", twice',
    ]


def test_a_table_that_cannot_be_read_is_left_alone() -> None:
    with pytest.raises(InvalidInput, match="the file is no table that can be read"):
        artifacts.with_rows(f"requirement\n{'x' * 200_000}\n", [ROW])


def test_columns_of_others_are_kept() -> None:
    text = artifacts.with_rows("requirement,owner\nOld,me\n", [ROW])
    assert text == "requirement,owner\nOld,me\nRead offline,\n"


def test_no_cell_is_a_formula() -> None:
    text = artifacts.with_rows(None, [{**ROW, "requirement": "=1+1"}])
    assert "'=1+1" in text
