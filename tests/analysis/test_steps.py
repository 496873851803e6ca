from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.analysis.steps import (
    PHASES,
    SHIPPED,
    Condition,
    Step,
    Steps,
    conditions_met,
    load_steps,
    parse_step,
)
from moot.errors import DefinitionInvalid, NotFound
from moot.personas.library import load_library
from moot.text.depth import DEPTHS
from moot.text.forbidden_words import words_used

# id: title, depth, outputs, after
TABLE = {
    "00-01": ("Scope Estimation", "standard", "quick-scan.md", ""),
    "00-02": ("Keyword Search", "brief", "quick-scan.md", "00-01"),
    "00-03": ("File Count Estimation", "brief", "quick-scan.md", "00-02"),
    "01-01": ("Business Context Discovery", "standard", "requirements-spec.md", ""),
    "01-02": ("User Needs Discovery", "standard", "requirements-spec.md", "01-01"),
    "01-03": ("User Experience & Journeys", "standard", "requirements-spec.md", "01-02"),
    "01-04": ("Technical Context", "standard", "requirements-spec.md", "01-01"),
    "01-05": ("Quality & Risk Assessment", "standard", "requirements-spec.md nfr-matrix.md", "01-04"),
    "01-06": ("Core Feature Definition", "deep", "requirements-spec.md", "01-03"),
    "01-07": ("User Story Writing", "standard", "user-stories.json", "01-06"),
    "01-08": ("MoSCoW Prioritization", "brief", "requirements-spec.md traceability-matrix.csv", "01-06"),
    "02-01": ("Blast Radius Assessment", "standard", "impact-analysis.md", ""),
    "02-02": ("Entry Point Identification", "standard", "impact-analysis.md", "02-01"),
    "02-03": ("Risk Zone Analysis", "deep", "impact-analysis.md", "02-01"),
    "02-04": ("Impact Summary & User Review", "brief", "impact-analysis.md", "02-03"),
    "03-01": ("Architecture Options & Tradeoffs", "deep", "architecture-overview.md", ""),
    "03-02": ("Technology Decisions", "standard", "architecture-overview.md", "03-01"),
    "03-03": ("Integration Architecture", "standard", "architecture-overview.md", "03-01"),
    "03-04": ("Architecture Review & Approval", "brief", "architecture-overview.md", "03-03"),
    "04-01": ("Module Design & Boundaries", "deep", "module-design.md", ""),
    "04-02": ("Interface Contracts", "deep", "interface-spec.md", "04-01"),
    "04-03": ("Data Flow & State Management", "standard", "data-flow.md", "04-01"),
    "04-04": ("Error Handling & Validation", "standard", "error-taxonomy.md", "04-02"),
    "04-05": ("Design Review & Approval", "brief", "design-summary.md", "04-04"),
}
LEADS = {
    "00": ("00-quick-scan", "business-analyst"),
    "01": ("01-requirements", "business-analyst"),
    "02": ("02-impact-analysis", "solutions-architect"),
    "03": ("03-architecture", "solutions-architect"),
    "04": ("04-design", "system-designer"),
}
GOOD = """\
---
step_id: 05-01
title: Night Shift
phase: 05-operations
persona: solutions-architect
depth: standard
outputs: [run-book.md]
depends_on: [04-05]
skip_if: [no-ui, depth-brief]
---

## Brief Mode

Be quick.

- Who is woken?

## Standard Mode

<!-- for weekdays -->

Take your time.

### On the phone

- Who answers?

## Deep Mode

- Who answers at Christmas?

## Validation

- A name is
  written down.
- So is a number.

## Artifacts

In `run-book.md`:

```
## Validation
```
"""
NIGHT = Path("05-01.md")


@pytest.fixture(scope="module")
def shipped() -> Steps:
    return load_steps()


def night(**changes: str) -> Step:
    return parse_step(changed(**changes), NIGHT)


def changed(**changes: str) -> str:
    text = GOOD
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def phases(steps: Steps) -> tuple[str, ...]:
    return tuple(phase for phase, _ in groupby(steps.steps, key=lambda step: step.phase))


def of_phase(steps: Steps, phase: str) -> list[str]:
    return [step.id for step in steps.steps if step.phase == phase]


def save(folder: Path, step_id: str, **changes: str) -> Path:
    """The good step under another id."""
    file = folder / f"{step_id}.md"
    phase = LEADS[step_id[:2]][0] if step_id[:2] in LEADS else f"{step_id[:2]}-operations"
    text = GOOD.replace("step_id: 05-01", f"step_id: {step_id}").replace(
        "phase: 05-operations", f"phase: {phase}"
    )
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return file


# -- what is shipped -----------------------------------------------------------------------------


def test_all_shipped_files_are_steps_in_order(shipped: Steps) -> None:
    assert shipped.warnings == ()
    assert [step.id for step in shipped.steps] == list(TABLE)
    assert {file.stem for file in SHIPPED.glob("*")} == set(TABLE)
    assert phases(shipped) == PHASES


@pytest.mark.parametrize("step_id", TABLE)
def test_a_shipped_step_has_the_agreed_facts(shipped: Steps, step_id: str) -> None:
    step = shipped.step(step_id)
    title, depth, outputs, after = TABLE[step_id]
    assert (step.title, step.depth) == (title, depth)
    assert step.outputs == tuple(outputs.split())
    assert step.depends_on == tuple(after.split())
    assert (step.phase, step.persona) == LEADS[step_id[:2]]


def test_no_shipped_step_waits_for_one_that_may_not_apply(shipped: Steps) -> None:
    needed = {other for step in shipped.steps for other in step.depends_on}
    assert [step.id for step in shipped.steps if step.skip_if] == ["00-03", "02-02"]
    assert not needed & {step.id for step in shipped.steps if step.skip_if}


def items(text: str) -> list[str]:
    return [" ".join(item.split()) for item in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


@pytest.mark.parametrize("step_id", TABLE)
def test_a_shipped_step_is_fully_written(shipped: Steps, step_id: str) -> None:
    step = shipped.step(step_id)
    brief, standard, both = (items(step.modes[depth]) for depth in DEPTHS)
    deep = both[len(standard) :]
    assert both[: len(standard)] == standard
    assert 1 <= len(brief) <= 2
    assert 3 <= len(standard) <= 5
    assert 3 <= len(deep) <= 6
    assert all(question.endswith("?") and len(question.split()) >= 6 for question in brief + both)
    assert all(text[0].isupper() for text in step.modes.values())
    assert 3 <= len(items(step.validation)) <= 5
    assert all(check.endswith(".") for check in items(step.validation))
    assert all(f"In `{output}`" in step.artifacts for output in step.outputs)
    assert len(items(step.artifacts)) >= 2


def test_shipped_steps_do_not_repeat_each_other(shipped: Steps) -> None:
    said = [
        sentence
        for step in shipped.steps
        for text in (step.modes["brief"], step.modes["deep"], step.validation)
        for paragraph in re.split(r"\n\n|\n(?=- )", text)
        for sentence in re.split(r"(?<=[.?]) ", " ".join(paragraph.split()))
    ]
    assert len(said) > 24 * 15
    assert sorted(said) == sorted(set(said))


@pytest.mark.parametrize("step_id", TABLE)
def test_a_shipped_step_does_not_tempt_its_persona_to_forbidden_words(shipped: Steps, step_id: str) -> None:
    step = shipped.step(step_id)
    persona = load_library().persona(step.persona)
    text = "\n".join((*step.modes.values(), step.validation, step.artifacts))
    assert words_used(persona.voice.forbidden.words, text) == ()


def test_ids_that_steps_refer_to_are_given_out_by_a_step(shipped: Steps) -> None:
    given_out = [
        series
        for step in shipped.steps
        for series in re.findall(r"`(?:### )?([A-Z]+)-1(?:: …)?`", step.artifacts)
    ]
    assert given_out == ["G", "N", "J", "C", "R", "NFR", "F", "E", "Z", "ADR", "I", "DF"]


# -- reading a file ------------------------------------------------------------------------------


def test_a_file_becomes_a_step() -> None:
    step = night()
    assert (step.id, step.title, step.phase) == ("05-01", "Night Shift", "05-operations")
    assert (step.persona, step.depth) == ("solutions-architect", "standard")
    assert (step.outputs, step.depends_on) == (("run-book.md",), ("04-05",))
    assert step.skip_if == (Condition.NO_UI, Condition.DEPTH_BRIEF)
    assert dict(step.modes) == {
        "brief": "Be quick.\n\n- Who is woken?",
        "standard": "Take your time.\n\n### On the phone\n\n- Who answers?",
        "deep": "Take your time.\n\n### On the phone\n\n- Who answers?\n\n- Who answers at Christmas?",
    }
    assert step.validation == "- A name is\n  written down.\n- So is a number."
    assert step.artifacts == "In `run-book.md`:\n\n```\n## Validation\n```"
    assert step.source == NIGHT


def test_a_step_needs_neither_dependencies_nor_conditions() -> None:
    step = night(**{"depends_on: [04-05]\n": "", "skip_if: [no-ui, depth-brief]\n": ""})
    assert (step.depends_on, step.skip_if) == ((), ())


@pytest.mark.parametrize("phase", ["phase: 03-architecture\n", ""])
def test_a_step_of_a_shipped_phase_may_leave_its_name_out(phase: str) -> None:
    text = changed(**{"step_id: 05-01": "step_id: 03-02b", "phase: 05-operations\n": phase})
    assert parse_step(text, Path("03-02b.md")).phase == "03-architecture"


LINES = GOOD.splitlines()


def line_of(beginning: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if line.startswith(beginning))


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "problem"),
    [
        ("depth: standard", "deph: standard", "deph", line_of("depth"), "did you mean 'depth'?"),
        ("title: Night Shift\n", "", "title", 1, "is missing"),
        ("title: Night Shift", "title: 7", "title", line_of("title"), "has to be text"),
        ("depth: standard", "depth: shallow", "depth", line_of("depth"), "'brief', 'standard' or 'deep'"),
        ("step_id: 05-01", "step_id: 5-1", "step_id", 2, "'5-1' is not a step: write phase and number"),
        ("step_id: 05-01", "step_id: 05-02", "step_id", 2, "the file's name says '05-01'"),
        ("persona: sol", "persona: Sol", "persona", line_of("persona"), "is not an id"),
        ("phase: 05-operations\n", "", "phase", 1, "is missing: say what phase 05 is"),
        ("phase: 05-op", "phase: op", "phase", line_of("phase"), "'operations' is not a phase"),
        ("phase: 05-op", "phase: 06-op", "phase", line_of("phase"), "05-01 belongs to '05-…'"),
        ("[run-book.md]", "run-book.md", "outputs", line_of("outputs"), "has to be a list"),
        ("[run-book.md]", "[]", "outputs", line_of("outputs"), "must not be empty"),
        ("[run-book.md]", "[a.md, a.md]", "outputs.1", line_of("outputs"), "listed twice"),
        ("[04-05]", "[4-5]", "depends_on.0", line_of("depends"), "is not a step"),
        ("[no-ui,", "[no-cli,", "skip_if.0", line_of("skip_if"), "'no-existing-code', 'no-ui'"),
        ("## Deep Mode", "## Depp Mode", "Depp Mode", line_of("## Deep"), "did you mean 'Deep Mode'?"),
        ("## Deep Mode", "### Deep Mode", "Deep Mode", 1, "section is missing"),
        ("Be quick.\n\n- Who is woken?\n", "", "Brief Mode", line_of("## Brief"), "is empty"),
        ("- A name is\n  written down.", "A name.", "Validation", line_of("## Valid"), "has to be a list"),
        ("## Brief Mode", "Hello.\n\n## Brief Mode", "body", line_of("## Brief"), "above the first section"),
        ("## Brief Mode", "### Hm\n\n## Brief Mode", "body", line_of("## Brief"), "above the first section"),
        ("title: Night", "title: [Night", "front matter", line_of("title") + 1, "YAML"),
    ],
)
def test_a_bad_step_names_file_field_and_line(
    old: str, new: str, field: str, line: int, problem: str
) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        night(**{old: new})
    assert (caught.value.file, caught.value.field, caught.value.line) == ("05-01.md", field, line)
    assert problem in str(caught.value)


def test_a_shipped_phase_keeps_its_name() -> None:
    text = changed(**{"step_id: 05-01": "step_id: 03-09", "05-operations": "03-operations"})
    with pytest.raises(DefinitionInvalid, match="03-09 belongs to '03-architecture'"):
        parse_step(text, Path("03-09.md"))


@pytest.mark.parametrize(
    "output",
    [
        "meta.json",
        "session.jsonl",
        "run-book.insights.md",
        "../run-book.md",
        "/run-book.md",
        "notes/run-book.md",
        ".md",
        "run book.md",
        "run-book",
        "run-book.py",
        "Run-Book.md",
    ],
)
def test_a_step_writes_only_plain_files_that_are_not_the_items_own(output: str) -> None:
    with pytest.raises(DefinitionInvalid, match="cannot be written"):
        night(**{"[run-book.md]": f"['{output}']"})


@pytest.mark.parametrize(
    ("old", "new"),
    [("step_id: 05-01", 'step_id: "\\e[2J"'), ("05-operations", '"\\e[2J"'), ("[run-book.md]", '["\\e[2J"]')],
)
def test_a_fault_sends_no_control_characters_to_a_terminal(old: str, new: str) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        night(**{old: new})
    assert "[2J" in str(caught.value)
    assert str(caught.value).isprintable()


@given(output=st.text(max_size=20) | st.from_regex(r"[a-z./\\]{1,20}\.(md|json)", fullmatch=True))
@settings(max_examples=200, deadline=None)
def test_an_output_never_leaves_the_items_folder(output: str) -> None:
    quoted = "".join(f"\\U{ord(character):08X}" for character in output)
    try:
        step = night(**{"[run-book.md]": f'["{quoted}"]'})
    except DefinitionInvalid:
        return
    assert step.outputs == (output,)
    assert re.fullmatch(r"[a-z0-9-]+\.(md|json|csv)", output)


# -- a user's own --------------------------------------------------------------------------------


def test_a_users_step_replaces_the_shipped_one_in_its_place(tmp_path: Path, shipped: Steps) -> None:
    file = save(tmp_path, "01-03", **{"[04-05]": "[01-02]"})
    steps = load_steps(tmp_path)
    assert steps.warnings == ()
    assert [step.id for step in steps.steps] == [step.id for step in shipped.steps]
    assert (steps.step("01-03").title, steps.step("01-03").source) == ("Night Shift", file)


def test_users_steps_and_phases_are_added_in_the_order_of_their_ids(tmp_path: Path) -> None:
    save(tmp_path, "06-01")
    save(tmp_path, "05-02")
    save(tmp_path, "05-01")
    save(tmp_path, "01-03b", **{"[04-05]": "[01-03]"})
    steps = load_steps(tmp_path)
    assert steps.warnings == ()
    assert phases(steps) == (*PHASES, "05-operations", "06-operations")
    assert of_phase(steps, "05-operations") == ["05-01", "05-02"]
    assert of_phase(steps, "01-requirements")[2:5] == ["01-03", "01-03b", "01-04"]


def test_the_last_folder_has_the_last_word(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    save(first, "05-01")
    save(second, "05-01", **{"Night Shift": "Day Shift"})
    assert load_steps(first, second).step("05-01").title == "Day Shift"
    assert load_steps(second, first).step("05-01").title == "Night Shift"


def test_a_folder_that_is_missing_adds_nothing(tmp_path: Path, shipped: Steps) -> None:
    assert load_steps(tmp_path / "steps") == shipped


def test_other_files_are_not_steps(tmp_path: Path, shipped: Steps) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / ".05-01.md").write_text("x", encoding="utf-8")
    (tmp_path / "old.md").mkdir()
    assert load_steps(tmp_path) == shipped


def test_a_bad_file_is_skipped_with_a_warning_and_the_shipped_step_stays(
    tmp_path: Path, shipped: Steps
) -> None:
    bad = save(tmp_path, "01-03", **{"depth: standard": "depth: shallow"})
    unreadable = tmp_path / "05-02.md"
    unreadable.write_bytes(b"---\n\xff\n")
    steps = load_steps(tmp_path)
    assert steps.steps == shipped.steps
    assert steps.warnings == (
        f"{bad}, line 6: depth: has to be 'brief', 'standard' or 'deep', and is 'shallow'. "
        "This file is skipped.",
        f"{unreadable}, line 2: file: is not UTF-8 text. This file is skipped.",
    )


def test_a_step_that_depends_on_nothing_known_is_skipped(tmp_path: Path, shipped: Steps) -> None:
    file = save(tmp_path, "05-01", **{"[04-05]": "[04-05, 04-06]"})
    steps = load_steps(tmp_path)
    assert steps.steps == shipped.steps
    assert steps.warnings == (
        f"{file}, line 8: depends_on.1: there is no step '04-06'. This file is skipped.",
    )


def test_a_circle_is_skipped_and_so_is_what_depends_on_it(tmp_path: Path, shipped: Steps) -> None:
    save(tmp_path, "05-01", **{"[04-05]": "[05-02]"})
    save(tmp_path, "05-02", **{"[04-05]": "[05-01]"})
    save(tmp_path, "05-03", **{"[04-05]": "[05-03]"})
    steps = load_steps(tmp_path)
    assert steps.steps == shipped.steps
    first, second, third = steps.warnings
    assert "05-01.md, line 8: depends_on.0: '05-02' comes later" in first
    assert "05-02.md, line 8: depends_on.0: step '05-01' is skipped itself" in second
    assert "05-03.md, line 8: depends_on.0: a step cannot depend on itself" in third


def test_an_override_that_would_close_a_circle_leaves_the_shipped_step(
    tmp_path: Path, shipped: Steps
) -> None:
    save(tmp_path, "01-01", **{"[04-05]": "[01-08]"})
    steps = load_steps(tmp_path)
    assert steps.steps == shipped.steps
    assert "'01-08' comes later" in steps.warnings[0]


def test_a_phase_has_one_name(tmp_path: Path) -> None:
    save(tmp_path, "05-01")
    save(tmp_path, "05-02", **{"05-operations": "05-launch"})
    steps = load_steps(tmp_path)
    assert of_phase(steps, "05-operations") == ["05-01"]
    assert "05-02.md, line 4: phase: is '05-launch'" in steps.warnings[0]


def test_a_step_is_led_by_somebody_who_is_there(tmp_path: Path, shipped: Steps) -> None:
    file = save(tmp_path, "05-01", **{"persona: solutions-architect": "persona: night-porter"})
    known = {persona.id for persona in load_library().personas}
    steps = load_steps(tmp_path, personas=known)
    assert steps.steps == shipped.steps
    assert steps.warnings == (
        f"{file}, line 5: persona: there is no persona 'night-porter'. This file is skipped.",
    )
    assert load_steps(tmp_path, personas={*known, "night-porter"}).step("05-01").persona == "night-porter"


def test_the_example_of_the_guide_can_be_used_as_it_is(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "steps.md"
    example = guide.read_text(encoding="utf-8").partition("```markdown\n")[2].partition("```\n")[0]
    (tmp_path / "05-01.md").write_text(example, encoding="utf-8")
    steps = load_steps(tmp_path)
    assert steps.warnings == ()
    assert steps.step("05-01").title == "Operations Handover"


def test_the_guide_lists_every_condition() -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "steps.md"
    listed = re.findall(r"^\| `((?:no|depth)-[a-z-]+)` \|", guide.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(Condition)


def test_an_unknown_step_is_not_found(shipped: Steps) -> None:
    with pytest.raises(NotFound) as caught:
        shipped.step("05-01")
    assert caught.value.known == tuple(TABLE)


IDS = [f"05-{number:02}" for number in range(1, 6)]


@given(depends=st.fixed_dictionaries({step_id: st.sets(st.sampled_from(IDS), max_size=2) for step_id in IDS}))
@settings(max_examples=20, deadline=None)
def test_whatever_users_write_a_step_always_comes_after_what_it_needs(
    tmp_path_factory: pytest.TempPathFactory, depends: dict[str, set[str]]
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    for step_id, needed in depends.items():
        save(folder, step_id, **{"[04-05]": f"[{', '.join(sorted(needed))}]"})
    steps = load_steps(folder)
    met: set[str] = set()
    for step in steps.steps:
        assert met.issuperset(step.depends_on)
        met.add(step.id)
    assert len(steps.warnings) == len(set(IDS) - met)


# -- when a step does not apply ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "met"),
    [
        ([], {"no-existing-code", "no-ui"}),
        (["README.md", "LICENSE", "Makefile", "docs/plan.TXT", "a.yml"], {"no-existing-code", "no-ui"}),
        (["README.md", "src/main.py"], {"no-ui"}),
        (["payroll.cob"], {"no-ui"}),
        (["src/main.py", "web/Page.TSX"], set()),
        (["index.html"], set()),
    ],
)
def test_file_names_tell_whether_there_is_code_and_something_to_see(files: list[str], met: set[str]) -> None:
    assert conditions_met(files) == met


def test_depth_is_a_condition_once_it_is_known() -> None:
    files = ["index.html"]
    assert conditions_met(files, "brief") == {"depth-brief"}
    assert conditions_met(files, "standard") == {"depth-standard"}
    assert conditions_met(files, "deep") == frozenset()


def test_one_condition_is_enough_to_pass_a_step_over() -> None:
    step = night()
    assert step.does_not_apply(set()) == ""
    assert step.does_not_apply({Condition.NO_EXISTING_CODE}) == ""
    assert step.does_not_apply({Condition.DEPTH_BRIEF}) == "the analysis is brief"
    assert (
        step.does_not_apply({Condition.DEPTH_BRIEF, Condition.NO_UI})
        == "there are no pages or screens in the workspace"
    )


@pytest.mark.parametrize("condition", Condition)
def test_every_condition_says_why(condition: Condition) -> None:
    step = night(**{"[no-ui, depth-brief]": f"[{condition}]"})
    assert len(step.does_not_apply({condition}).split()) >= 4
