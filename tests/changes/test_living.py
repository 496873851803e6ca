"""What a change does to the requirements that hold: nothing is lost, in whatever order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moot.changes import changelog, living
from moot.changes.living import Does, Merged, merge, operations, touched
from moot.changes.proposal import check_spec
from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK
from tests.support.hostile_markdown import Nasty, documents

SPEC = """\
# Specification: sign-in

## Overview

How a person signs in.

## Requirements

### R1

Keys MUST be stored as they are.

### R2: Rate **limit**

Ten a minute.

## Notes

1. Who pays?

## Acceptance Criteria

### Scenario: Known passkey

- **WHEN** it is used
- **THEN** they are signed in
"""

LIVING = """\
# Specification: sign-in

## Overview

How a person signs in.

## Requirements

### feat-auth/R1

Keys MUST be stored as they are.

### Rate **limit**

Ten a minute.

## Notes

1. Who pays?

## Acceptance Criteria

### Scenario: Known passkey

- **WHEN** it is used
- **THEN** they are signed in
"""


def spec_of(**sections: str) -> str:
    return "".join(f"## {title.replace('_', ' ')}\n\n{text}\n\n" for title, text in sections.items())


def merged(text: str | None, spec: str, change_id: str = "next") -> str:
    done = merge(text, spec, change_id)
    assert done.problems == ()
    return done.text


def problems(text: str | None, spec: str, known: Mapping[str, str] | None = None) -> list[str]:
    found = merge(text, spec, "next", known)
    assert (found.text, found.done) == (text or "", ()), "where something is wrong, nothing is done"
    return [f"{one.line}: {one.message}" for one in found.problems]


# -- what a change does --------------------------------------------------------------------------


def test_the_first_change_makes_the_living_specification() -> None:
    assert merged(None, SPEC, "feat-auth") == LIVING
    assert check_spec(LIVING, "sign-in.md") == ()


def test_requirements_are_added_modified_and_removed_each_by_its_name() -> None:
    spec = spec_of(
        Overview="Told again, in other words.",
        Requirements="### R1: Attestation\n\nMUST be checked.\n\n### R2\n\nNo passwords.",
        Modified_Requirements="### rate  `limit`\n\nTwenty a minute.",
        Removed_Requirements="### feat-auth/R1\n\nThey are encrypted now.",
        Acceptance_Criteria="### Scenario: Lost passkey\n- **WHEN** lost\n- **THEN** a link",
    )
    expected = (
        LIVING.replace(
            "### feat-auth/R1\n\nKeys MUST be stored as they are.", "### Attestation\n\nMUST be checked."
        )
        .replace("### Rate **limit**\n\nTen", "### next/R2\n\nNo passwords.\n\n### rate  `limit`\n\nTwenty")
        .replace(
            "signed in\n", "signed in\n\n### Scenario: Lost passkey\n- **WHEN** lost\n- **THEN** a link\n"
        )
    )
    assert merged(LIVING, spec) == expected


def test_numbers_are_told_apart_as_numbers_and_only_before_a_title() -> None:
    spec = spec_of(
        Requirements="### R10\n\na\n\n### R9\n\nb\n\n### R2-D2\n\nc\n\n### R2.1 x\n\nd\n\n### r3. - y\n\ne"
    )
    titles = [item.title for item in living.items(merged(None, spec))]
    assert titles == ["- y", "next/R9", "next/R10", "R2-D2", "R2.1 x"]


def test_a_scenario_is_told_again_under_its_title() -> None:
    """A specification has to have one; the same one adds nothing, and another one replaces it."""
    same = LIVING[LIVING.index("## Acceptance") :]
    assert merge(LIVING, same, "next") == Merged(LIVING)
    other = same.replace("used", "touched")
    assert merged(LIVING, other) == LIVING.replace("used", "touched")
    assert merged(LIVING, other.replace("Acceptance Criteria", "Modified requirements")) == LIVING.replace(
        "used", "touched"
    )
    gone = spec_of(Removed_Requirements="### scenario:  known passkey")
    assert "Scenario" not in merged(LIVING, gone)


def test_scenarios_below_other_headings_count_and_those_within_a_requirement_stay_there() -> None:
    spec = (
        "## Acceptance Criteria\n\n### Keys\n\nAll of them.\n\n#### Scenario: A\n\na\n\n"
        "#### Scenario: B\n\nb\n"
        "\n## Requirements\n\n#### Before\n\nWords.\n\n### One\n\n#### Scenario: C\n\nc\n"
    )
    assert merged(None, spec) == (
        "## Acceptance Criteria\n\n### Scenario: A\n\na\n\n"
        "### Scenario: B\n\nb\n\n### Keys\n\nAll of them.\n"
        "\n## Requirements\n\n#### Before\n\nWords.\n\n### One\n\n#### Scenario: C\n\nc\n"
    )


def test_a_section_that_is_missing_is_made() -> None:
    added = spec_of(Added_Requirements="### One\n\nIt is.")
    both = "# Ours\n\n## Requirements\n\n### One\n\nIt is.\n\n## Acceptance Criteria\n"
    assert merged("# Ours", added) == both
    assert merged("", added) == both.removeprefix("# Ours\n\n")
    assert merged("## Acceptance Criteria\n- none", added) == (
        "## Requirements\n\n### One\n\nIt is.\n\n## Acceptance Criteria\n- none"
    )


def test_what_is_left_open_is_closed_and_an_indented_heading_stays_one() -> None:
    old = "## Requirements\n\n### Z\n\n- z\n\n## Acceptance Criteria\n\n### Scenario: z\n\n```\nopen"
    spec = spec_of(
        Requirements=" <!-- why -->\n  ### A\n\n- a", Acceptance_Criteria="### Scenario: a\n\n<!-- left"
    )
    text = merged(old + "", spec)
    assert [item.title for item in living.items(text)] == ["A", "Z", "Scenario: a", "Scenario: z"]
    below = "## Requirements\n\n### A\n\n- a\n\n## Acceptance Criteria\n\n  ## Mine\n\nwords\n"
    again = merged(below, spec_of(Acceptance_Criteria="### Scenario: x\n\n- x"))
    assert again.endswith("- x\n\n<!-- -->\n  ## Mine\n\nwords\n")
    assert markdown.headings(again)[-1].title == "Mine"


def test_what_says_nothing_of_requirements_makes_nothing() -> None:
    assert merge(None, "# Notes\n\nWords.\n", "next") == Merged("")


# -- what contradicts ----------------------------------------------------------------------------


def test_what_is_there_already_is_not_added() -> None:
    spec = spec_of(Requirements="### Rate limit\n\nNone.")
    assert problems(LIVING, spec) == [
        "3: the requirement 'Rate limit' is to be added, and is in the living specification already (line "
        "13): write it below '## Modified Requirements' if it is to change, or give it another title"
    ]
    said = spec_of(Requirements="### R1\n\nten  a MINUTE.")
    assert problems(LIVING, said) == [
        "3: the requirement 'next/R1' is to be added, and is in the living specification already, as 'Rate "
        "limit' (line 13): leave it out"
    ]
    renamed = said + spec_of(Removed_Requirements="### Rate limit")
    assert "### next/R1\n\nten  a MINUTE." in merged(LIVING, renamed)


def test_what_is_not_there_is_neither_modified_nor_removed() -> None:
    spec = spec_of(Modified_Requirements="### One\n\nx", Removed_Requirements="### Scenario: Two")
    assert problems(LIVING, spec) == [
        "3: the requirement 'One' is to be modified, and is not in the living specification; it may have "
        "been renamed or removed",
        "9: 'Scenario: Two' is to be removed, and is not in the living specification; it may have been "
        "renamed or removed",
    ]
    assert len(problems(None, spec)) == 2


def test_to_modify_means_to_say_something() -> None:
    [problem] = problems(LIVING, spec_of(Modified_Requirements="### Rate limit"))
    assert problem.endswith("is to be modified, and nothing is said of what holds instead")


def test_one_thing_is_done_to_a_requirement() -> None:
    spec = spec_of(Modified_Requirements="### Rate limit\n\nx", Removed_Requirements="### Rate limit")
    assert problems(LIVING, spec) == ["9: the requirement 'Rate limit' is named twice in this specification"]
    told = "### Scenario: Known passkey\n\nx"
    [problem] = merge(None, spec_of(Acceptance_Criteria=f"{told}\n\n{told}y"), "next").problems
    assert (problem.line, problem.may_wait) == (7, True)
    twice = "### Scenario: Same\n\nx"
    assert merged(LIVING, spec_of(Acceptance_Criteria=f"{twice}\n\n{twice}")).count("Same") == 1


def test_what_is_there_twice_has_to_be_made_one() -> None:
    doubled = LIVING.replace("## Notes", "### Rate limit\n\nNone.\n\n## Notes")
    [problem] = problems(doubled, spec_of(Removed_Requirements="### Rate limit"))
    assert problem.endswith(
        "is more than once in the living specification (lines 13 and 17): keep one of them"
    )


def test_front_matter_that_is_left_open_is_named() -> None:
    [problem] = problems(f"---\n{LIVING}", spec_of(Requirements="### One\n\n---"))
    assert "the front matter of the living specification is not closed" in problem


@pytest.mark.parametrize(
    "spec",
    [
        spec_of(Modified_Requirements="### Rate limit\n\nTwenty."),
        spec_of(Removed_Requirements="### Rate limit"),
        spec_of(Acceptance_Criteria="### Scenario: Known passkey\n\nElse."),
    ],
)
def test_what_was_changed_since_it_was_checked_is_not_written_over(spec: str) -> None:
    known = touched(LIVING, spec, "next")
    by_hand = LIVING.replace("Ten a", "Nine a").replace("it is used", "it is shown")
    assert merge(LIVING, spec, "next", known).problems == ()
    [problem] = merge(by_hand, spec, "next", known).problems
    assert problem.may_wait
    assert "has changed in the living specification (line" in problem.message
    assert merge(by_hand, spec, "next").problems == (), "what is said now holds for whoever checks now"


def test_a_scenario_that_has_come_since_is_not_written_over() -> None:
    spec = spec_of(Acceptance_Criteria="### Scenario: Known passkey\n\nElse.")
    [problem] = merge(LIVING, spec, "next", {}).problems
    assert "is to be added, and is in the living specification already" in problem.message


def test_what_was_removed_since_is_said_to_have_been_there() -> None:
    spec = spec_of(Modified_Requirements="### Rate limit\n\nTwenty.")
    without = merged(LIVING, spec_of(Removed_Requirements="### Rate limit"))
    [problem] = merge(without, spec, "next", touched(LIVING, spec, "next")).problems
    assert problem.may_wait


# -- never and always ----------------------------------------------------------------------------

NAMES = [*(f"R{number}: Rule {number}" for number in (1, 2, 10)), "R1", "R12", "**bold** rule", "Żółw", "a/b"]
NEW = ["R3: Rule 3", "R7", "_new_ rule", "Łoś", "Rule 11", "0", "z"]
BODIES = [
    "It MUST.",
    "- a\n- b",
    "```\nopen",
    "<!-- open",
    "  text\n\n#### Part\n\n> quoted",
    "| a |\n| - |",
    "---",
]
SECTIONS = ("Requirements", "Modified Requirements", "Removed Requirements", "Acceptance Criteria")


@st.composite
def written(draw: st.DrawFn, /, **titles: list[str]) -> str:
    """A specification with these titles by section, each with words of its own: none repeats another."""
    found = []
    for section in draw(st.permutations(SECTIONS)):
        below = ""
        for title in titles.get(section.replace(" ", "_"), []):
            indent = draw(st.sampled_from(["", " ", "   "]))
            number = draw(st.integers(0, 10**12))
            below += f"{indent}### {title}\n\n{number}\n\n{draw(st.sampled_from(BODIES))}\n\n"
        found.append(f"## {section}\n\n{below}")
    return "# A spec\n\n## Overview\n\nWhat it is for.\n\n" + "".join(found)


def some(titles: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(titles), max_size=4, unique=True) if titles else st.just([])


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, str, str]:
    """A living specification between anything that a person may have written, and two changes that touch
    different requirements of it."""
    scenarios = [f"Scenario: case {number}" for number in range(8)]
    first = written(Requirements=draw(some(NAMES)), Acceptance_Criteria=draw(some(scenarios[:4])))
    made = merge(None, draw(first), "first").text
    above, below = draw(documents()), draw(documents())
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    text = LINE_BREAK.sub(eol, f"{above.text}\n\n{made}\n\n{below.text}")
    free = {
        "there": [item.title for item in living.items(text)],
        "new": list(NEW),
        "scenarios": scenarios[4:],
    }

    def take(pool: str) -> list[str]:
        taken = draw(some(free[pool]))
        free[pool] = [title for title in free[pool] if title not in taken]
        return taken

    def change() -> str:
        return draw(
            written(
                Requirements=take("new"),
                Modified_Requirements=take("there"),
                Removed_Requirements=take("there"),
                Acceptance_Criteria=take("scenarios"),
            )
        )

    return text, change(), change()


def outside(text: str) -> list[str]:
    """What a person wrote besides requirements, in the order in which it stays."""
    return [words for part in living._parts(text) for words in (part.words, part.rest) if words]


def held(text: str) -> list[tuple[str, str]]:
    return sorted((item.key, item.text) for item in living.items(text))


@settings(max_examples=60, deadline=None)
@given(histories())
def test_every_word_outside_of_requirements_stays_and_every_requirement_is_as_it_should_be(
    history: tuple[str, str, str],
) -> None:
    text, spec, _ = history
    done = merge(text, spec, "a")
    assert bool(done.done) != (done.text == text)
    at = 0
    for words in outside(text):
        at = done.text.find(words, at)
        assert at >= 0, f"{words!r} is lost"
        at += len(words)
    touched_keys = {one.item.key for one in done.done}
    stays = [(key, item) for key, item in held(text) if key not in touched_keys]
    comes = [(one.item.key, one.item.text) for one in done.done if one.does is not Does.REMOVE]
    assert held(done.text) == sorted([*stays, *comes])
    if not done.problems:
        again = merge(done.text, spec, "a", resumed=True)
        assert again == Merged(done.text), "what was done already is not done again"


@settings(max_examples=60, deadline=None)
@given(histories())
def test_two_changes_of_different_requirements_make_the_same_text_in_either_order(
    history: tuple[str, str, str],
) -> None:
    text, one, other = history
    assume(not merge(text, one, "a").problems and not merge(text, other, "b").problems)
    # What says the same in the same words is one requirement, whatever it is called.
    said = [{one.item.words.casefold() for one in operations(spec, "x")} for spec in (one, other)]
    assume(not said[0] & said[1])

    def both(first: str, first_id: str, second: str, second_id: str) -> str:
        half = merge(text, first, first_id)
        done = merge(half.text, second, second_id, touched(text, second, second_id))
        assert (half.problems, done.problems) == ((), ())
        return done.text

    assert both(one, "a", other, "b") == both(other, "b", one, "a")


@dataclass
class Workspace:
    """Living specifications as changes are archived, one after the other."""

    texts: dict[str, str] = field(default_factory=dict)

    def archive(self, change_id: str, specs: Mapping[str, str]) -> None:
        for name, spec in specs.items():
            done = merge(self.texts.get(name), spec, change_id)
            assert done.problems == ()
            self.texts[name] = done.text


def fifty(rng: random.Random, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Changes of which none touches what another does. Each adds, and every other one modifies or removes
    what was there before, in one file or two."""
    found: dict[str, dict[str, str]] = {}
    for number in range(50):
        changed = {}
        for name in rng.sample(names, rng.choice((1, 2))):
            does = rng.choice(("Modified", "Removed"))
            old = f"## {does} Requirements\n\n### Old {number}\n\nSince {number}.\n\n" if number % 2 else ""
            changed[name] = (
                f"# Specification: {name}\n\n## Overview\n\nOne for all.\n\n"
                f"## Requirements\n\n### R1\n\nUntitled {number}.\n\n"
                f"### R2: {number * 37 % 50} rule\n\n- {number}\n\n{old}"
                f"## Acceptance Criteria\n\n### Scenario: case {number}\n\n- **WHEN** a\n- **THEN** b\n"
            )
        found[f"change-{number}"] = changed
    return found


@settings(max_examples=4, deadline=None)
@given(st.integers())
def test_fifty_archived_changes_make_the_same_text_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    old = "".join(f"### Old {number}\n\nWas {number}.\n\n" for number in range(50))
    there = {
        name: f"# {name}\n\n## Overview\n\nOurs,  with\ttabs.\n\n## Requirements\n\n{old}## Notes\n\nKept.\n"
        for name in ("one.md", "two.md", "three.md")
    }
    changes = fifty(rng, [*there, "new.md"])
    for change in changes.values():
        if "new.md" in change:
            # What is made by several has nothing yet that could be modified.
            spec = change["new.md"]
            start, end = spec.find("## Modified"), spec.index("## Acceptance")
            start = start if start >= 0 else spec.find("## Removed")
            change["new.md"] = spec if start < 0 else spec[:start] + spec[end:]
    found = []
    for _ in range(2):
        order = list(changes)
        rng.shuffle(order)
        workspace = Workspace(dict(there))
        for change_id in order:
            workspace.archive(change_id, changes[change_id])
        found.append(workspace.texts)
    assert found[0] == found[1]
    for name, text in found[0].items():
        added = sum(name in change for change in changes.values())
        assert text.count("Untitled") == added
        assert name == "new.md" or "Ours,  with\ttabs." in text


# -- the changelog -------------------------------------------------------------------------------

DONE = {"specs/sign-in.md": merge(None, SPEC, "feat-auth").done}
REMOVED = {
    "specs/sign-in.md": merge(
        LIVING, spec_of(Removed_Requirements="### Rate limit\n\nNobody\ntries."), "next"
    ).done,
    "specs/a.md": merge(LIVING, spec_of(Modified_Requirements="### Rate limit\n\nTwenty."), "next").done,
}
CHANGELOG = """\
# Changelog

What each archived change has done to the specifications in `specs/`, newest first.

## 2026-11-16 next: Less

- Modified in `specs/a.md`: Rate limit
- Removed from `specs/sign-in.md`: Rate limit (Nobody tries.)

## 2026-11-15 feat-auth: Passkeys

- Added to `specs/sign-in.md`: feat-auth/R1
- Added to `specs/sign-in.md`: Rate limit
- Added to `specs/sign-in.md`: Scenario: Known passkey
"""


def test_the_changelog_has_an_entry_for_each_change_the_newest_first() -> None:
    first = changelog.add_entry(None, "feat-auth", "Passkeys", "2026-11-15T09:00:00Z", DONE)
    assert changelog.add_entry(" \n", "feat-auth", "Passkeys", "2026-11-15T09:00:00Z", DONE) == first
    second = changelog.add_entry(first, "next", "Less", "2026-11-16T09:00:00Z", REMOVED)
    assert second == CHANGELOG
    assert changelog.add_entry(second, "feat-auth", "Passkeys", "2026-11-15T10:00:00Z", {}) == second


def test_a_changelog_with_an_indented_heading_keeps_it() -> None:
    made = changelog.add_entry("# Ours\n\n ## Before\n", "next", "Less", "2026-11-16T09:00:00Z", DONE)
    assert made.endswith("Known passkey\n\n<!-- -->\n ## Before\n")
    again = changelog.add_entry(made, "more", "More", "2026-11-17T09:00:00Z", DONE)
    assert (again.count("<!-- -->"), again.endswith("<!-- -->\n ## Before\n")) == (1, True)


@given(documents())
def test_every_word_of_a_changelog_stays(old: Nasty) -> None:
    made = changelog.add_entry(old.text, "next", "Less", "2026-11-16T09:00:00Z", DONE)
    pieces = markdown.pieces(old.text)
    first = next((at for at, one in enumerate(pieces) if one.heading and one.heading.level == 2), len(pieces))
    above = "".join(piece.text for piece in pieces[:first])
    assert made.startswith(above if old.text.strip() else "# Changelog")
    assert made.endswith("".join(piece.text for piece in pieces[first:]))
    assert "2026-11-16 next: Less" in [heading.title for heading in markdown.headings(made)]
