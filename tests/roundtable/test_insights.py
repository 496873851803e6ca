from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.changes import tasks
from moot.files import markdown
from moot.roundtable import insights
from moot.roundtable.insights import ActionItem, Decision, Insight, OpenQuestion, Position, Synthesis
from moot.roundtable.quotes import Cited
from tests.support.hostile_markdown import documents, line_breaks, soup

OFFLINE = Synthesis(
    insights=(
        Insight(("Maya",), "A driver in a tunnel has to see that nothing is lost."),
        Insight(("Alex", "Jordan"), "Conflicts are settled per field, not per record."),
        Insight(("User",), "Dispatch may overrule a driver."),
        Insight(("All",), "Silence is the worst outcome."),
    ),
    decisions=(Decision("Keep the driver's version", "it is the newer one.", "User"),),
    open_questions=(OpenQuestion("Who is told of a conflict?", "dispatch has to say."),),
    action_items=(),
    one_line="Settled how conflicts end after a tunnel",
)
RENDERED = """\
### Elaboration Insights (Step 01-03: User Experience & Journeys)

**Participants**: Maya Chen (BA), Alex Rivera (Architect), Jordan Park (Designer)
**Turns**: 7 | **Exit**: user-initiated

#### Key Insights
- [Maya] A driver in a tunnel has to see that nothing is lost.
- [Alex/Jordan] Conflicts are settled per field, not per record.
- [User] Dispatch may overrule a driver.
- [All] Silence is the worst outcome.

#### Decisions Made
- Keep the driver's version: it is the newer one.

#### Open Questions
- Who is told of a conflict?: dispatch has to say."""
MARKER = "<!-- Elaboration: step 01-03, 2026-02-20T14:30:00.000Z -->"
LATER = "<!-- Elaboration: step 01-03, 2026-02-21T09:00:00.000Z -->"
TOPIC = "User Experience & Journeys"
PEOPLE = (("Maya Chen", "BA"), ("Alex Rivera", "Architect"), ("Jordan Park", "Designer"))
NOTHING = Synthesis((), (), (), (), "Nothing was settled")


def rendered(synthesis: Synthesis, **others: Any) -> str:
    about: dict[str, Any] = {
        "step_id": "01-03",
        "step_title": TOPIC,
        "participants": PEOPLE,
        "turns": 7,
        "exit_type": "user-initiated",
    }
    return insights.render(synthesis, **(about | others))


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in markdown.headings(text)]


def with_ancestors(text: str) -> list[tuple[str, ...]]:
    """Each heading's title below those of the sections it lies in."""
    sections = markdown.sections(text)
    return [
        tuple(around.heading.title for around in sections if around.start <= section.start < around.end)
        for section in sections
    ]


def is_one_insertion(old: str, new: str) -> bool:
    alike = (before == after for before, after in zip(old, new, strict=False))
    start = next((at for at, same in enumerate(alike) if not same), min(len(old), len(new)))
    return len(new) >= len(old) and new.endswith(old[start:])


# -- values --------------------------------------------------------------------------------------


def test_a_synthesis_survives_the_event_log() -> None:
    assert msgspec.json.decode(msgspec.json.encode(OFFLINE), type=Synthesis) == OFFLINE


def test_a_decision_need_not_say_who_stated_it() -> None:
    assert msgspec.convert({"decision": "a", "rationale": "b"}, Decision) == Decision("a", "b", "")


# -- rendering -----------------------------------------------------------------------------------


def test_what_remains_is_kept_in_the_words_in_which_it_is_held() -> None:
    held = Position("who is told.", (Cited(2, "Alex", "Nobody."), Cited(3, "User", "# Dispatch\nis.")))
    synthesis = msgspec.structs.replace(
        NOTHING,
        decisions=(Decision("Keep it", "it is newer", "User", "Keep\nit, then.", 4), Decision("Old", "", "")),
        positions=(held,),
        risks=(Insight(("Alex",), "It is lost."),),
        acceptance_criteria=(Insight(("Jordan", "User"), "It is there after a restart."),),
    )
    text = rendered(synthesis)
    assert "#### Decisions Made\n- Keep it: it is newer (User: “Keep it, then.”)\n- Old\n" in text
    assert text.endswith(
        "#### Remaining Positions\n- who is told: Alex: “Nobody.” – User: “# Dispatch is.”\n\n"
        "#### Risks\n- [Alex] It is lost.\n\n"
        "#### Acceptance Criteria\n- [Jordan/User] It is there after a restart."
    )
    assert insights.description(synthesis) == (
        "2 decisions, 1 remaining position, 1 risk and 1 acceptance criterion"
    )


def test_a_synthesis_is_rendered_word_for_word() -> None:
    assert rendered(OFFLINE) == RENDERED


def test_action_items_have_a_list_of_their_own_if_there_are_any() -> None:
    synthesis = msgspec.structs.replace(OFFLINE, action_items=(ActionItem("Ask dispatch.", "Maya"),))
    assert rendered(synthesis) == f"{RENDERED}\n\n#### Action Items\n- Ask dispatch: Maya"


def test_empty_lists_say_none() -> None:
    text = rendered(NOTHING, turns=10, exit_type="turn-limit")
    assert text == (
        "### Elaboration Insights (Step 01-03: User Experience & Journeys)\n\n"
        "**Participants**: Maya Chen (BA), Alex Rivera (Architect), Jordan Park (Designer)\n"
        "**Turns**: 10 | **Exit**: turn-limit\n\n"
        "#### Key Insights\n- None.\n\n#### Decisions Made\n- None.\n\n#### Open Questions\n- None."
    )


def test_what_says_nothing_is_left_out() -> None:
    empty = Synthesis(
        (Insight(("Maya",), " \n "),), (Decision("", ""),), (OpenQuestion("\0", " "),), (), "Nothing"
    )
    assert rendered(empty) == rendered(NOTHING)


@pytest.mark.parametrize(
    ("by", "written"),
    [
        (("Maya",), "Maya"),
        (("Maya", "Alex"), "Maya/Alex"),
        (("Maya", "Maya", "Alex"), "Maya/Alex"),
        (("User",), "User"),
        (("All",), "All"),
        ((), "All"),
        (("", " "), "All"),
        (("Ma]ya",), "Ma ya"),
        (("Ana María",), "Ana María"),
    ],
)
def test_attribution_names_each_speaker_once(by: tuple[str, ...], written: str) -> None:
    assert insights.attribution(by) == written


@pytest.mark.parametrize(
    ("decision", "rationale", "item"),
    [
        ("Use REST.", "it is there", "- Use REST: it is there"),
        ("Use REST", "", "- Use REST"),
        ("", "it is there", "- it is there"),
        ("**Use** `REST`", "it _is_ there", "- **Use** `REST`: it _is_ there"),
        ("Use\n\n# REST", "it\r\n- is\u2028there", "- Use # REST: it - is there"),
        ("# REST", "a", r"- \# REST: a"),
        ("```", "a", r"- \```: a"),
        ("> a", "b", r"- \> a: b"),
        ("- a", "b", r"- \- a: b"),
        ("* * *", "", r"- \* * *"),
        ("___", "", r"- \___"),
        ("1. First", "b", r"- 1\. First: b"),
        ("1.5 s at most", "b", "- 1.5 s at most: b"),
        ("-1 means none", "b", "- -1 means none: b"),
        ("[ ] a task", "b", r"- \[ ] a task: b"),
        ("[x] a task", "b", r"- \[x] a task: b"),
        ("[gone]", "a definition", r"- \[gone]: a definition"),
        ("[ADR 3](adr-3.md)", "b", "- [ADR 3](adr-3.md): b"),
        ("<details>", "b", r"- \<details>: b"),
        ("a <!-- b", "c --> d", r"- a <\!-- b: c --> d"),
        ("a\0b\x1b[2J", "\ud800c", "- a b [2J: c"),
    ],
)
def test_a_field_stays_part_of_its_line(decision: str, rationale: str, item: str) -> None:
    text = rendered(msgspec.structs.replace(NOTHING, decisions=(Decision(decision, rationale),)))
    assert text.split("#### Decisions Made\n")[1].split("\n")[0] == item


def test_an_attribution_is_never_the_box_of_a_task() -> None:
    text = rendered(msgspec.structs.replace(NOTHING, insights=(Insight(("x",), "Ship it."),)))
    assert "- \\[x] Ship it." in text.split("\n")
    assert tasks.tasks(text) == ()


fields = st.one_of(soup, st.text(max_size=20))
credited = st.builds(Insight, st.lists(fields, max_size=3).map(tuple), fields)
sides = st.lists(st.builds(Cited, st.just(1), fields, fields), max_size=3).map(tuple)
syntheses = st.builds(
    Synthesis,
    st.lists(st.builds(Insight, st.lists(fields, max_size=3).map(tuple), fields), max_size=3).map(tuple),
    st.lists(st.builds(Decision, fields, fields, fields, fields), max_size=3).map(tuple),
    st.lists(st.builds(OpenQuestion, fields, fields), max_size=3).map(tuple),
    st.lists(st.builds(ActionItem, fields, fields), min_size=1, max_size=3).map(tuple),
    fields,
    st.lists(st.builds(Position, fields, sides), min_size=1, max_size=2).map(tuple),
    st.lists(credited, min_size=1, max_size=2).map(tuple),
    st.lists(credited, min_size=1, max_size=2).map(tuple),
)


TICK = (Insight(("`",), "`"),)
TICKED = Synthesis(
    (), (), (), (ActionItem("`", "`"),), "", (Position("`", (Cited(1, "`", "`"),)),), TICK, TICK
)


@settings(max_examples=200, deadline=None)
@given(syntheses, fields, fields, fields)
@example(TICKED, "x)\n# y", "`", "<pre>")
def test_no_field_ever_becomes_structure(synthesis: Synthesis, step_id: str, title: str, name: str) -> None:
    text = rendered(synthesis, step_id=step_id, step_title=title, participants=((name, name),))
    levels = [heading.level for heading in markdown.headings(f"{text}\n\n# Below")]
    assert levels == [3, *[4] * 7, 1]
    kinds = {token.type for token in markdown.parse(text).tokens}
    assert kinds <= {
        *("heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    }
    assert "<!--" not in text
    text.encode("utf-8")


# -- markers and insertion -----------------------------------------------------------------------


def test_the_marker_names_step_and_time() -> None:
    assert insights.marker("01-03", "2026-02-20T14:30:00.000Z") == MARKER


@given(fields, fields)
def test_nothing_ends_the_marker_before_its_end(step_id: str, timestamp: str) -> None:
    marker = insights.marker(step_id, timestamp)
    assert marker.startswith("<!-- Elaboration: step ")
    assert marker.find("-->") == len(marker) - 3
    assert len(marker.splitlines()) == 1


ARTIFACT = """\
# Requirements

## User Experience & Journeys

Three journeys.

### The tunnel

A driver loses the network.

## Priorities

None yet.
"""


def test_insights_stand_at_the_end_of_the_section_of_that_title() -> None:
    inserted = insights.insert(ARTIFACT, RENDERED, MARKER, TOPIC)
    above, below = ARTIFACT.split("## Priorities")
    assert inserted.text == f"{above}{MARKER}\n{RENDERED}\n\n## Priorities{below}"
    assert (inserted.heading, inserted.already) == (TOPIC, False)


def test_without_that_title_the_section_with_most_words_in_common_takes_them() -> None:
    inserted = insights.insert("# A\n\n## 3. User Journeys\n\na\n\n## Users\n", RENDERED, MARKER, TOPIC)
    assert inserted.text == f"# A\n\n## 3. User Journeys\n\na\n\n{MARKER}\n{RENDERED}\n\n## Users\n"
    assert inserted.heading == "3. User Journeys"


@pytest.mark.parametrize(
    "old", ["", "No heading.\n", "# Priorities\n\nNone.", "```\n## User Journeys\n```\n"]
)
def test_without_a_match_they_stand_at_the_end_under_a_heading_for_it(old: str) -> None:
    inserted = insights.insert(old, RENDERED, MARKER, TOPIC)
    gap = "" if not old else "\n" if old.endswith("\n") else "\n\n"
    assert inserted.text == f"{old}{gap}### Additional Insights from Elaboration\n\n{MARKER}\n{RENDERED}\n"
    assert inserted.heading == "Additional Insights from Elaboration"


@pytest.mark.parametrize(
    "old", [ARTIFACT, "", "### User Journeys\n\na\n\n### Other\n", "#### User Journeys\n"]
)
def test_a_second_elaboration_stands_below_the_first_in_the_same_section(old: str) -> None:
    first = insights.insert(old, RENDERED, MARKER, TOPIC)
    second = insights.insert(first.text, RENDERED, LATER, TOPIC)
    assert second.heading == first.heading
    assert not second.already
    assert second.text == first.text.replace(f"{RENDERED}\n", f"{RENDERED}\n\n{LATER}\n{RENDERED}\n")


def test_headings_of_earlier_insights_take_nothing() -> None:
    once = insights.insert("# A\n\n## Priorities\n\na\n\n# B\n", RENDERED, MARKER, "Priorities").text
    for topic in ("Open Questions", "User Experience & Journeys", "Key Insights"):
        inserted = insights.insert(once, RENDERED, LATER, topic)
        assert inserted.heading == "Additional Insights from Elaboration"
        assert inserted.text.startswith(once)


def test_from_a_deeper_section_they_go_to_the_one_around_it() -> None:
    old = "## Journeys\n\n#### User Experience & Journeys\n\na\n\n#### Other\n\nb\n\n## Last\n"
    inserted = insights.insert(old, RENDERED, MARKER, TOPIC)
    assert inserted.text == old.replace("## Last", f"{MARKER}\n{RENDERED}\n\n## Last")
    assert inserted.heading == "Journeys"


def test_the_same_elaboration_is_never_inserted_twice() -> None:
    once = insights.insert(ARTIFACT, RENDERED, MARKER, TOPIC)
    again = insights.insert(once.text, "### Other words", MARKER, TOPIC)
    assert again == insights.Inserted(once.text, once.heading, already=True)


def test_a_marker_that_was_moved_still_counts() -> None:
    moved = f"# A\n\n> {MARKER}\n> moved by hand\n"
    assert insights.insert(moved, RENDERED, MARKER, TOPIC).already


def test_a_windows_file_stays_one() -> None:
    old = "---\r\nitem: x\r\n---\r\n# User Journeys\r\n\r\n| a |\r\n| - |\r\n| 1 |"
    new = insights.insert(old, RENDERED, MARKER, TOPIC).text
    block = f"{MARKER}\n{RENDERED}".replace("\n", "\r\n")
    assert new == f"{old}\r\n\r\n{block}\r\n"


DEEP = ("# User", "## Journeys", "### User Journeys", "#### User Experience & Journeys", "##### Experience")
plain_outlines = st.lists(st.sampled_from(DEEP), max_size=8).map("\n\ntext\n\n".join)
artifacts = st.one_of(
    documents().map(lambda document: document.text),
    soup,
    plain_outlines,
    st.builds(lambda text, eol: text.replace("\n", eol), plain_outlines, line_breaks),
)
topics = st.sampled_from(
    [TOPIC, "One", "Two bold", "Under lined", "Summary", "Three more", "Nowhere", "", "# `"]
)


@settings(max_examples=300, deadline=None)
@given(artifacts, topics, topics)
def test_insertion_only_ever_adds_and_moves_no_heading(old: str, topic: str, next_topic: str) -> None:
    once = insights.insert(old, RENDERED, MARKER, topic)
    assert not once.already
    assert is_one_insertion(old, once.text)
    assert insights.insert(once.text, RENDERED, MARKER, topic) == insights.Inserted(
        once.text, once.heading, already=True
    )

    twice = insights.insert(once.text, RENDERED, LATER, next_topic)
    assert not twice.already
    assert is_one_insertion(once.text, twice.text)

    own = {(3, insights.ADDITIONAL), *outline(RENDERED)}
    assert [heading for heading in outline(twice.text) if heading not in own] == outline(old)
    assert outline(twice.text).count((3, f"Elaboration Insights (Step 01-03: {TOPIC})")) == 2
    ours = {title for _, title in own}
    assert [path for path in with_ancestors(twice.text) if path[-1] not in ours] == with_ancestors(old)


# -- files, and what is said about them ----------------------------------------------------------


def test_only_markdown_takes_insights_itself() -> None:
    assert insights.companion("user-stories.json") == "user-stories.json.insights.md"
    assert insights.insights_file("user-stories.json") == "user-stories.json.insights.md"
    assert insights.insights_file("traceability-matrix.csv") == "traceability-matrix.csv.insights.md"
    assert insights.insights_file("requirements-spec.md") == "requirements-spec.md"
    assert insights.insights_file("NOTES.MD") == "NOTES.MD"


def test_an_update_is_announced_word_for_word() -> None:
    said = insights.announcement("quick-scan.md", "Scope", insights.description(OFFLINE))
    assert said == (
        'Updated quick-scan.md, section "Scope": added 4 insights, 1 decision and 1 open question.'
    )


def test_a_synthesis_of_nothing_is_a_summary() -> None:
    assert insights.description(NOTHING) == "a summary"
    only = msgspec.structs.replace(NOTHING, action_items=(ActionItem("a", "b"), ActionItem("c", "d")))
    assert insights.description(only) == "2 action items"


def test_a_missing_artifact_is_named() -> None:
    assert insights.missing_artifact("quick-scan.md") == (
        "Could not update quick-scan.md (file not found). "
        "Elaboration insights are in the synthesis summary above."
    )
