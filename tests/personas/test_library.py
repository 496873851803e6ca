from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.errors import DefinitionInvalid, InvalidId, InvalidInput, NotFound
from moot.personas.library import (
    SHIPPED,
    Contribution,
    Dimension,
    Library,
    Persona,
    Rubric,
    load_library,
    opposing_seat,
    parse_panel,
    parse_persona,
    scaffold,
    speaking_order,
)
from moot.text.forbidden_words import words_used

ADVISORS = {
    "the-strategist": ("The Strategist", "integrator", (6, 7, 8, 7, 4, 5)),
    "the-mentor": ("The Mentor", "sense-checker", (4, 5, 7, 6, 3, 6)),
    "the-devil-s-advocate": ("The Devil's Advocate", "challenger", (3, 9, 3, 9, 7, 3)),
    "the-visionary": ("The Visionary", "integrator", (8, 4, 9, 6, 2, 7)),
    "the-pragmatist": ("The Pragmatist", "challenger", (4, 7, 3, 7, 5, 8)),
    "the-analyst": ("The Analyst", "challenger", (4, 9, 2, 6, 5, 3)),
    "the-coach": ("The Coach", "sense-checker", (6, 4, 6, 7, 3, 7)),
    "the-ethicist": ("The Ethicist", "sense-checker", (2, 6, 4, 6, 8, 3)),
}
COLLEAGUES = {
    "business-analyst": ("Maya Chen", "Business Analyst", "BA"),
    "solutions-architect": ("Alex Rivera", "Solutions Architect", "Architect"),
    "system-designer": ("Jordan Park", "System Designer", "Designer"),
}
REVIEWERS = ("security",)

GOOD = """\
---
id: skipper
name: The Skipper
role: Weather and Crew
contribution: challenger
interaction:
  style: questions
  tone: direct
lens: wind, tide, tired people
rubric:
  risk_appetite: {score: 3, note: Reefs early.}
  evidence: {score: 7, note: Looks at the sky before the forecast.}
  ambiguity: {score: 5, note: Sails without a plan.}
  intervention: {score: 8, note: Shouts.}
  escalation: {score: 6, note: Turns back.}
  delivery_vs_rigour: {score: 5, note: Arrives.}
forbidden_words: [synergy, low-hanging fruit]
---

## Purpose

Keeps the boat up.

## Bio

Forty years at sea.

Never lost a mast.

## Reasoning

Looks up first.

## Boundaries

- Never sails alone.

## Voice

Gruff.

### Patterns

- Wind from X,
  so Y.
- Reef now.

### Behaviours

- Ends with an order.

### Forbidden

- No poetry.

## Openers

- The weather says that
- I would turn back if
"""
PANEL = """\
---
id: crew
name: The Crew
members:
  - skipper
  - cook
leads:
  01-harbour: skipper
---

Who is on board.
"""
SKIPPER = Path("skipper.md")


@pytest.fixture(scope="module")
def shipped() -> Library:
    return load_library()


def save(folder: Path, kind: str, name: str, text: str) -> Path:
    file = folder / kind / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def skipper(**changes: str) -> Persona:
    text = GOOD
    for old, new in changes.items():
        text = text.replace(old, new)
    return parse_persona(text, SKIPPER)


# -- what is shipped -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ADVISORS)
def test_the_advisors_have_the_agreed_facts(shipped: Library, key: str) -> None:
    persona = shipped.persona(key)
    name, contribution, scores = ADVISORS[key]
    rubric = persona.rubric
    assert (persona.name, persona.contribution) == (name, contribution)
    assert scores == (
        rubric.risk_appetite.score,
        rubric.evidence.score,
        rubric.ambiguity.score,
        rubric.intervention.score,
        rubric.escalation.score,
        rubric.delivery_vs_rigour.score,
    )
    assert len(persona.role.split()) <= 4


@pytest.mark.parametrize("key", COLLEAGUES)
def test_the_roundtable_has_the_agreed_people(shipped: Library, key: str) -> None:
    persona = shipped.persona(key)
    assert (persona.name, persona.role, persona.short_role) == COLLEAGUES[key]


def test_every_shipped_file_is_loaded(shipped: Library) -> None:
    assert {persona.id for persona in shipped.personas} == {*ADVISORS, *COLLEAGUES, *REVIEWERS}
    assert {persona.id for persona in shipped.personas} == {f.stem for f in SHIPPED.glob("personas/*.md")}
    assert [panel.id for panel in shipped.panels] == ["board", "roundtable"]


def test_the_board_seats_the_advisors_in_order(shipped: Library) -> None:
    board = shipped.panel("board")
    assert board.members == tuple(ADVISORS)
    assert dict(board.leads) == {}
    assert [member.name for member in shipped.members(board)][:2] == ["The Strategist", "The Mentor"]


def test_the_roundtable_has_a_lead_for_every_phase(shipped: Library) -> None:
    roundtable = shipped.panel("roundtable")
    assert roundtable.members == ("business-analyst", "solutions-architect", "system-designer")
    assert dict(roundtable.leads) == {
        "00-quick-scan": "business-analyst",
        "01-requirements": "business-analyst",
        "02-impact-analysis": "solutions-architect",
        "03-architecture": "solutions-architect",
        "04-design": "system-designer",
    }


@pytest.mark.parametrize("key", [*ADVISORS, *COLLEAGUES, *REVIEWERS])
def test_every_shipped_persona_is_fully_written(shipped: Library, key: str) -> None:
    persona = shipped.persona(key)
    assert 60 <= len(persona.bio.split()) <= 120
    assert len(persona.openers) == 5
    assert all(opener[0].isupper() and opener[-1].isalpha() for opener in persona.openers)
    assert len(persona.voice.patterns) >= 4
    assert len(persona.voice.behaviours) >= 3
    assert len(persona.voice.forbidden.rules) >= 2
    assert len(persona.voice.forbidden.words) >= 6
    assert persona.voice.opening
    assert persona.voice.ending
    assert all(len(dimension.note.split()) >= 5 for _, dimension in persona.rubric.dimensions())


def test_no_two_shipped_personas_share_a_sentence(shipped: Library) -> None:
    sentences = [
        sentence
        for persona in shipped.personas
        for sentence in (
            *persona.openers,
            *persona.voice.patterns,
            *(dimension.note for _, dimension in persona.rubric.dimensions()),
            persona.role,
            persona.voice.lens,
            persona.voice.description,
            persona.voice.opening,
            persona.voice.ending,
            *persona.voice.behaviours,
        )
    ]
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("key", [*ADVISORS, *COLLEAGUES, *REVIEWERS])
def test_shipped_personas_keep_to_their_own_words(shipped: Library, key: str) -> None:
    persona = shipped.persona(key)
    own = "\n".join((persona.voice.description, *persona.voice.patterns, *persona.openers))
    assert words_used(persona.voice.forbidden.words, own) == ()


def test_the_business_analyst_has_no_jargon_of_her_own(shipped: Library) -> None:
    maya = shipped.persona("business-analyst")
    said = "What does the coupling of the Schema do to throughput?"
    assert words_used(maya.voice.forbidden.words, said) == ("coupling", "throughput", "schema")
    assert words_used(maya.voice.forbidden.words, said, prompted_by="The schema limits throughput.") == (
        "coupling",
    )


# -- order and strength --------------------------------------------------------------------------


def test_the_board_speaks_by_intervention_then_by_seat(shipped: Library) -> None:
    order = speaking_order(shipped.members(shipped.panel("board")))
    assert [persona.id for persona in order] == [
        "the-devil-s-advocate",  # 9
        "the-strategist",  # 7
        "the-pragmatist",  # 7
        "the-coach",  # 7
        "the-mentor",  # 6
        "the-visionary",  # 6
        "the-analyst",  # 6
        "the-ethicist",  # 6
    ]


# -- who makes the other case --------------------------------------------------------------------


def seat(shipped: Library, *members: str, opposes: str = "") -> str | None:
    listed = "\n".join(f"  - {member}" for member in members)
    named = f"opposes: {opposes}\n" if opposes else ""
    text = f"---\nid: crew\nname: Crew\nmembers:\n{listed}\n{named}---\n\nWho is on board.\n"
    panel = parse_panel(text, Path("crew.md"), set(members))
    return opposing_seat(panel, shipped.members(panel))


def test_the_devil_s_advocate_makes_the_other_case_on_the_shipped_board(shipped: Library) -> None:
    board = shipped.panel("board")
    assert board.opposes == "the-devil-s-advocate"
    assert opposing_seat(board, shipped.members(board)) == "the-devil-s-advocate"


def test_a_panel_may_say_who_makes_the_other_case(shipped: Library) -> None:
    assert seat(shipped, "the-coach", "the-devil-s-advocate", opposes="the-coach") == "the-coach"
    assert seat(shipped, "the-coach", opposes="the-coach") == "the-coach"
    with pytest.raises(DefinitionInvalid, match="'the-analyst' is not a member of the panel"):
        seat(shipped, "the-coach", opposes="the-analyst")


@pytest.mark.parametrize(
    ("members", "opposes"),
    [
        (("the-coach", "the-analyst", "the-pragmatist"), "the-pragmatist"),  # challengers: 6 and 7
        (("the-analyst", "the-pragmatist", "system-designer"), "the-pragmatist"),  # 7 and 7: the seat decides
        (("the-analyst", "system-designer", "the-pragmatist"), "system-designer"),
        (("the-mentor", "the-coach", "the-strategist"), "the-coach"),  # nobody challenges
        (("the-devil-s-advocate",), None),
    ],
)
def test_without_a_word_of_the_panel_it_is_the_challenger_who_intervenes_most(
    shipped: Library, members: tuple[str, ...], opposes: str | None
) -> None:
    assert seat(shipped, *members) == opposes


def test_ties_keep_the_given_order(shipped: Library) -> None:
    seats = [shipped.persona(key) for key in ("the-coach", "the-pragmatist", "the-strategist")]
    assert speaking_order(seats) == tuple(seats)


def test_the_strongest_dimensions_are_farthest_from_the_middle() -> None:
    scores = dict(zip(Rubric.model_fields, (5, 9, 2, 6, 10, 1), strict=True))
    rubric = Rubric(**{name: Dimension(score=score, note="So.") for name, score in scores.items()})
    # Distances from 5.5: 0.5, 3.5, 3.5, 0.5, 4.5, 4.5.
    assert [name for name, _ in rubric.strongest(4)] == [
        "escalation",
        "delivery_vs_rigour",
        "evidence",
        "ambiguity",
    ]
    assert rubric.strongest(1) == (("escalation", Dimension(score=10, note="So.")),)
    assert len(rubric.strongest(99)) == 6


# -- reading a file ------------------------------------------------------------------------------


def test_a_file_becomes_a_persona() -> None:
    persona = skipper()
    assert persona.id == "skipper"
    assert persona.short_role == "Weather and Crew"
    assert persona.contribution is Contribution.CHALLENGER
    assert (persona.interaction.style, persona.interaction.tone) == ("questions", "direct")
    assert persona.purpose == "Keeps the boat up."
    assert persona.bio == "Forty years at sea.\n\nNever lost a mast."
    assert persona.boundaries == "- Never sails alone."
    assert persona.voice.description == "Gruff."
    assert persona.voice.lens == "wind, tide, tired people"
    assert persona.voice.patterns == ("Wind from X, so Y.", "Reef now.")
    assert persona.voice.behaviours == ("Ends with an order.",)
    assert persona.voice.forbidden.words == ("synergy", "low-hanging fruit")
    assert persona.voice.forbidden.rules == ("No poetry.",)
    assert (persona.voice.opening, persona.voice.ending) == ("", "")
    assert persona.openers == ("The weather says that", "I would turn back if")
    assert persona.rubric.intervention == Dimension(score=8, note="Shouts.")
    assert persona.model is None
    assert persona.source == SKIPPER


def test_a_persona_may_name_its_model_and_a_short_role() -> None:
    persona = skipper(**{"lens:": "model: local\nshort_role: Sea\nlens:"})
    assert (persona.model, persona.short_role) == ("local", "Sea")


def test_a_persona_may_own_its_first_and_its_last_sentence() -> None:
    said = "### Opening\n\n<!-- short -->\n\nThe wind,\nin two words.\n\n### Ending\n\nAn order.\n\n"
    persona = skipper(**{"### Behaviours": f"{said}### Behaviours"})
    assert (persona.voice.opening, persona.voice.ending) == ("The wind,\nin two words.", "An order.")


def test_forbidden_words_and_rules_may_be_left_out() -> None:
    persona = skipper(
        **{"forbidden_words: [synergy, low-hanging fruit]\n": "", "### Forbidden\n\n- No poetry.\n": ""}
    )
    assert (persona.voice.forbidden.words, persona.voice.forbidden.rules) == ((), ())


def test_comments_and_fenced_headings_are_not_structure() -> None:
    persona = skipper(
        **{
            "Forty years": "<!-- how\n\n## Openers\n\nlong? -->\n\nForty years",
            "Looks up first.": "Looks up first.\n\n```\n## Bio\n```",
            "- Reef now.": "<!-- shorter -->\n\n- Reef now.",
        }
    )
    assert persona.bio == "Forty years at sea.\n\nNever lost a mast."
    assert persona.reasoning == "Looks up first.\n\n```\n## Bio\n```"
    assert persona.voice.patterns == ("Wind from X, so Y.", "Reef now.")


def test_section_titles_may_be_in_any_case() -> None:
    assert skipper(**{"## Bio": "## BIO", "### Patterns": "### patterns"}) == skipper()


def test_a_panel_becomes_a_panel() -> None:
    panel = parse_panel(PANEL, Path("crew.md"), {"skipper", "cook"})
    assert panel.name == "The Crew"
    assert panel.members == ("skipper", "cook")
    assert dict(panel.leads) == {"01-harbour": "skipper"}
    assert panel.opposes is None
    assert panel.description == "Who is on board."


LINES = GOOD.splitlines()


def line_of(beginning: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if line.startswith(beginning))


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "problem"),
    [
        ("role: Weather", "rol: Weather", "rol", line_of("role:"), "did you mean 'role'?"),
        ("  style: q", "  stile: q", "interaction.stile", line_of("  style"), "did you mean 'style'?"),
        (
            "note: Reefs",
            "nota: Reefs",
            "rubric.risk_appetite.nota",
            line_of("  risk"),
            "did you mean 'note'?",
        ),
        ("  evidence:", "  evidense:", "rubric.evidense", line_of("  evidence"), "did you mean 'evidence'?"),
        ("name: The Skipper\n", "", "name", 1, "is missing"),
        ("  tone: direct\n", "", "interaction.tone", line_of("interaction"), "is missing"),
        ("name: The Skipper", "name: 7", "name", line_of("name"), "has to be text"),
        ("name: The Skipper", "name: '  '", "name", line_of("name"), "is empty"),
        ("id: skipper", "id: Skipper", "id", line_of("id"), "is not an id"),
        ("id: skipper", "id: -x", "id", line_of("id"), "is not an id"),
        ("id: skipper", "id: other", "id", line_of("id"), "'skipper'"),
        (
            "score: 3",
            "score: 0",
            "rubric.risk_appetite.score",
            line_of("  risk"),
            "has to be at least 1, and is 0",
        ),
        (
            "score: 3",
            "score: 11",
            "rubric.risk_appetite.score",
            line_of("  risk"),
            "has to be at most 10, and is 11",
        ),
        (
            "score: 3",
            "score: true",
            "rubric.risk_appetite.score",
            line_of("  risk"),
            "has to be a whole number",
        ),
        (
            "score: 3",
            "score: '3'",
            "rubric.risk_appetite.score",
            line_of("  risk"),
            "has to be a whole number",
        ),
        (
            "score: 3",
            "score: 3.5",
            "rubric.risk_appetite.score",
            line_of("  risk"),
            "has to be a whole number",
        ),
        (
            "contribution: challenger",
            "contribution: boss",
            "contribution",
            line_of("contr"),
            "'sense-checker'",
        ),
        ("tone: direct", "tone: loud", "interaction.tone", line_of("  tone"), "'confrontational'"),
        ("[synergy, low-hanging fruit]", "synergy", "forbidden_words", line_of("forb"), "has to be a list"),
        ("[synergy,", "[7,", "forbidden_words.0", line_of("forb"), "has to be text"),
        ("Keeps the boat up.\n", "", "Purpose", line_of("## Purpose"), "is empty"),
        ("Keeps the boat up.\n", "<!-- later -->\n", "Purpose", line_of("## Purpose"), "is empty"),
        ("- No poetry.\n", "", "Voice.Forbidden", line_of("### Forbidden"), "is empty"),
        ("- No poetry.\n", "-\n", "Voice.Forbidden", line_of("### Forbidden"), "empty item"),
        ("- No poetry.\n", "No poetry.\n", "Voice.Forbidden", line_of("### Forbidden"), "has to be a list"),
        ("## Bio", "## Boi", "Boi", line_of("## Bio"), "did you mean 'Bio'?"),
        (
            "### Patterns",
            "### Pattern",
            "Voice.Pattern",
            line_of("### Patt"),
            "did you mean 'Voice.Patterns'?",
        ),
        (
            "### Patterns",
            "## Patterns",
            "Patterns",
            line_of("### Patterns"),
            "did you mean 'Voice.Patterns'?",
        ),
        ("## Bio", "##", "(untitled)", line_of("## Bio"), "unknown section"),
        ("## Reasoning", "## Bio", "Bio", line_of("## Reasoning"), "is there twice"),
        ("## Purpose\n\nKeeps the boat up.\n", "", "Purpose", 1, "section is missing"),
        ("## Purpose", "Ahoy.\n\n## Purpose", "body", line_of("## Purpose"), "above the first section"),
        (
            "- I would turn back if",
            "- I would turn back.",
            "Openers",
            line_of("## Openers"),
            "within a clause",
        ),
        ("name: The Skipper", "name: [The Skipper", "front matter", line_of("name") + 1, "YAML"),
        (
            "name: The Skipper",
            'name: "The \\u202eSkipper"',
            "name",
            line_of("name"),
            "one line without control characters",
        ),
        ("name: The", "name: A\nname: The", "front matter", line_of("name") + 1, "twice"),
    ],
)
def test_a_bad_persona_names_file_field_and_line(
    old: str, new: str, field: str, line: int, problem: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(DefinitionInvalid, match=re.escape(problem)) as caught:
        skipper(**{old: new})
    assert (caught.value.file, caught.value.field, caught.value.line) == ("skipper.md", field, line)


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "problem"),
    [
        ("  - cook", "  - cok", "members.1", 6, "no persona 'cok'"),
        ("  - cook", "  - skipper", "members.1", 6, "listed twice"),
        ("  - cook", "  - 7", "members.1", 6, "has to be text"),
        ("members:\n  - skipper\n  - cook", "members: []", "members", 4, "must not be empty"),
        (
            "members:\n  - skipper\n  - cook",
            f"members: [{'cook,' * 21}]",
            "members",
            4,
            "has to have at most 20 entries",
        ),
        ("01-harbour: skipper", "01-harbour: boy", "leads.01-harbour", 8, "not a member"),
        ("01-harbour: skipper", "Harbour!: skipper", "leads.Harbour!.[key]", 8, "is not an id"),
        ("leads:", "leaders:", "leaders", 7, "did you mean 'leads'?"),
        ("Who is on board.\n", "", "body", 1, "is empty"),
        ("id: crew", "id: mob", "id", 2, "'crew'"),
    ],
)
def test_a_bad_panel_names_file_field_and_line(
    old: str, new: str, field: str, line: int, problem: str
) -> None:
    assert PANEL.count(old) == 1
    with pytest.raises(DefinitionInvalid, match=re.escape(problem)) as caught:
        parse_panel(PANEL.replace(old, new), Path("crew.md"), {"skipper", "cook"})
    assert (caught.value.file, caught.value.field, caught.value.line) == ("crew.md", field, line)


@pytest.mark.parametrize("text", ["", "\n", "Ahoy.", "---\n---\n", "---\nid: skipper\n"])
def test_what_is_no_persona_file_at_all_is_refused(text: str) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse_persona(text, SKIPPER)
    assert caught.value.line == 1


# -- folders -------------------------------------------------------------------------------------


def test_a_users_persona_joins_the_shipped_ones(tmp_path: Path) -> None:
    file = save(tmp_path, "personas", "skipper.md", GOOD)
    library = load_library(tmp_path)
    assert library.persona("skipper").source == file
    assert len(library.personas) == len(load_library().personas) + 1


def test_a_later_folder_overrides_an_earlier_one_in_place(tmp_path: Path) -> None:
    coach = GOOD.replace("id: skipper", "id: the-coach")
    save(tmp_path / "a", "personas", "the-coach.md", coach)
    last = save(tmp_path / "b", "personas", "the-coach.md", coach.replace("The Skipper", "Second Mate"))
    library = load_library(tmp_path / "a", tmp_path / "b")
    assert library.persona("the-coach").name == "Second Mate"
    assert library.persona("the-coach").source == last
    assert [persona.id for persona in library.personas] == [p.id for p in load_library().personas]
    assert library.members(library.panel("board"))[6].name == "Second Mate"


def test_a_users_panel_may_mix_shipped_and_own_personas(tmp_path: Path) -> None:
    save(tmp_path, "personas", "skipper.md", GOOD)
    save(tmp_path, "panels", "crew.md", PANEL.replace("cook", "the-coach"))
    library = load_library(tmp_path)
    assert [member.name for member in library.members(library.panel("crew"))] == ["The Skipper", "The Coach"]


def test_a_panel_of_strangers_is_refused(tmp_path: Path) -> None:
    file = save(tmp_path, "panels", "crew.md", PANEL)
    with pytest.raises(DefinitionInvalid, match="no persona 'skipper'") as caught:
        load_library(tmp_path).panel("crew")
    assert (caught.value.file, caught.value.line) == (str(file), 5)


def test_a_copied_file_with_the_old_id_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "personas", "skipper.md", GOOD)
    copy = save(tmp_path, "personas", "mate.md", GOOD)
    with pytest.raises(DefinitionInvalid, match="the file's name says 'mate'") as caught:
        load_library(tmp_path).persona("mate")
    assert (caught.value.file, caught.value.field, caught.value.line) == (str(copy), "id", 2)


def test_what_is_no_markdown_file_is_left_alone(tmp_path: Path) -> None:
    save(tmp_path, "personas", "notes.txt", "nothing")
    save(tmp_path, "personas", ".skipper.md", "an editor's leftovers")
    (tmp_path / "personas" / "drafts.md").mkdir()
    assert load_library(tmp_path, tmp_path / "missing") == load_library()


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    file = save(tmp_path, "personas", "skipper.md", "")
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode("utf-8"))
    persona = load_library(tmp_path).persona("skipper")
    assert (persona.bio, persona.voice, persona.rubric) == (skipper().bio, skipper().voice, skipper().rubric)


def test_a_file_that_is_not_utf_8_is_refused_by_line(tmp_path: Path) -> None:
    file = save(tmp_path, "personas", "skipper.md", "")
    file.write_bytes(GOOD.replace("Gruff.", "Grüff.").encode("latin-1"))
    with pytest.raises(DefinitionInvalid, match="UTF-8") as caught:
        load_library(tmp_path).persona("skipper")
    assert caught.value.line == line_of("Gruff.")


def test_an_unknown_name_is_told_what_is_known(shipped: Library) -> None:
    with pytest.raises(NotFound) as caught:
        shipped.persona("nobody")
    assert (caught.value.kind, caught.value.name) == ("persona", "nobody")
    assert set(caught.value.known) == {*ADVISORS, *COLLEAGUES, *REVIEWERS}
    with pytest.raises(NotFound) as caught:
        shipped.panel("nobody")
    assert (caught.value.kind, caught.value.known) == ("panel", ("board", "roundtable"))


# -- scaffold ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Ada", 'Ada "the" $Count: #1', "O'Neil", "Müller & Søn \U0001f9ed", "true", "{x}"]
)
def test_a_scaffold_is_a_persona_already(name: str) -> None:
    persona = parse_persona(scaffold("my-own", name), Path("my-own.md"))
    assert (persona.id, persona.name) == ("my-own", name)
    assert len(persona.openers) == 5
    assert "<!--" not in "".join((persona.purpose, persona.bio, persona.reasoning, persona.boundaries))


def test_a_scaffold_needs_an_id_and_a_name() -> None:
    with pytest.raises(InvalidId):
        scaffold("My Own", "Ada")
    with pytest.raises(InvalidId):
        scaffold("ada\n", "Ada")
    for name in ("", "  ", "Ada\nmodel: x"):
        with pytest.raises(InvalidInput, match="name"):
            scaffold("ada", name)


# -- forbidden words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("Pure synergy.", ("synergy",)),
        ("SYNERGY!", ("synergy",)),
        ("Synergy's friend", ("synergy",)),
        ("synergy-driven", ("synergy",)),
        ("synergybased photosynergy synergy_x", ()),
        ("The low hanging\nfruit first", ("low-hanging fruit",)),
        ("low-hanging fruits", ()),
        ("low and hanging fruit", ()),
        ("Low-hanging fruit and synergy, synergy", ("synergy", "low-hanging fruit")),
        ("", ()),
    ],
)
def test_forbidden_words_are_found_whole_and_in_any_case(text: str, used: tuple[str, ...]) -> None:
    assert words_used(skipper().voice.forbidden.words, text) == used


def test_a_word_that_others_brought_up_may_be_quoted() -> None:
    said = "You call it synergy; I call it low-hanging fruit."
    assert words_used(skipper().voice.forbidden.words, said, prompted_by="Think of the SYNERGY.") == (
        "low-hanging fruit",
    )
    assert words_used(skipper().voice.forbidden.words, said, prompted_by="Think of synergybased things.") == (
        "synergy",
        "low-hanging fruit",
    )


PIECES = st.sampled_from(
    ["synergy", "Synergy", "low-hanging", "fruit", "low", "hanging", "x", "-", " ", "\n", "ſ"]
)


@settings(max_examples=100)
@given(
    text=st.lists(PIECES | st.text(max_size=3)).map("".join),
    heard=st.lists(PIECES | st.text(max_size=3), max_size=4).map("".join),
)
def test_a_word_that_does_not_occur_is_never_reported(text: str, heard: str) -> None:
    for word in words_used(SPEAKER.voice.forbidden.words, text, heard):
        spoken, listed = re.findall(r"\w+", text.casefold()), re.findall(r"\w+", word)
        assert any(spoken[at : at + len(listed)] == listed for at in range(len(spoken)))
        assert word not in words_used(SPEAKER.voice.forbidden.words, text, f"{heard} {word}")


SPEAKER = skipper()

# -- any file ------------------------------------------------------------------------------------

VALUES = st.sampled_from(
    [
        "",
        "7",
        "true",
        "null",
        "[]",
        "{}",
        "x: y",
        "[",
        "'",
        '"',
        "&a",
        "*a",
        "!!set",
        "2026-01-01",
        "- -",
        "\t",
        "---",
    ]
)
Mutation = Callable[[list[str]], list[str]]


def _at(number: int, change: Callable[[str], list[str]]) -> Mutation:
    return lambda lines: [
        new
        for index, line in enumerate(lines)
        for new in (change(line) if index == number % len(lines) else [line])
    ]


def _mutations() -> st.SearchStrategy[Mutation]:
    number = st.integers(0, 99)
    value = VALUES | st.text(max_size=12)
    return st.one_of(
        st.builds(_at, number, st.just(lambda _: [])),
        st.builds(_at, number, st.just(lambda line: [line, line])),
        st.builds(_at, number, value.map(lambda v: lambda line: [f"{line.split(':')[0]}: {v}"])),
        st.builds(_at, number, value.map(lambda v: lambda line: [line, v])),
        st.builds(_at, number, value.map(lambda v: lambda line: [line + v])),
        st.builds(_at, number, st.integers(0, 20).map(lambda cut: lambda line: [line[:cut]])),
        st.integers(1, 60).map(lambda cut: lambda lines: lines[:cut]),
    )


def fault_of(text: str, panel: bool) -> DefinitionInvalid | None:
    try:
        if panel:
            parse_panel(text, Path("crew.md"), {"skipper", "cook"})
        else:
            parse_persona(text, SKIPPER)
    except DefinitionInvalid as fault:
        return fault
    return None


@settings(max_examples=150, deadline=None)
@given(mutations=st.lists(_mutations(), min_size=1, max_size=4), panel=st.booleans())
@example(mutations=[lambda lines: lines[:1]], panel=True)
@example(mutations=[lambda lines: [lines[0], ": ", *lines[1:]]], panel=False)
def test_a_mangled_file_loads_or_says_where_it_is_wrong(mutations: list[Mutation], panel: bool) -> None:
    lines = (PANEL if panel else GOOD).split("\n")
    for mutation in mutations:
        lines = mutation(lines) or [""]
    text = "\n".join(lines)
    fault = fault_of(text, panel)
    if fault is not None:
        assert fault.field
        assert fault.line is not None
        assert 1 <= fault.line <= len(re.split(r"\r\n?|\n", text))
