"""What was changed by hand in the artifacts: seen, said to the person and to models, and never mistaken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.analysis import artifacts
from moot.analysis.edits import edits
from moot.analysis.events import Edit, StepCompleted, StepRef, StepsRead
from moot.analysis.flow import ANALYSIS
from moot.analysis.ledger import ledger
from moot.analysis.material import MOST_EDITED, shared
from moot.analysis.replies import Notes
from moot.core.flow import Drafted, TaskDone
from moot.evidence.items import Evidence
from tests.analysis.test_earlier_versions import ITEM, LOG
from tests.analysis.test_flow import BILL, MAYA, Play

STEP = StepRef(
    "01-01", "Business Context", "01-requirements", MAYA, "brief", ("spec.md", "stories.json", "rows.csv")
)
STORY = {"as_a": "reader", "i_want": "to read (F-1)", "so_that": "time passes", "acceptance": ["it opens"]}
ROW = {"requirement": "F-1 Read", "priority": "must", "reason": "core", "source": "G-1 N-1"}


def played(**contents: Any) -> Play:
    play = Play(STEP).opens()
    play.says("Twenty people.")
    by_file = {name.replace("_", "."): content for name, content in contents.items()}
    play.settle(Drafted(Notes("Settled.", by_file), BILL))
    play.settle(TaskDone(StepCompleted("01-01", tuple(by_file))))
    return play


def test_the_sources_that_the_program_keeps_are_nobodys_change() -> None:
    play = played(spec_md="### G-1: Fewer calls [E1]")
    files = on_disk(play)
    evidence = (Evidence("a.md", "a.md", "0" * 64, "text/plain", "x"),)
    assert edits(play.state, {"spec.md": artifacts.with_sources(files["spec.md"], evidence)}) == ()


def on_disk(play: Play) -> dict[str, str]:
    """As the step really writes it."""
    record = play.state.record
    files: dict[str, str] = {}
    for name, content in record.contents.items():
        if name.endswith(".json"):
            files[name] = artifacts.with_stories(None, content, record.ref.id)
        elif name.endswith(".csv"):
            files[name] = artifacts.with_rows(None, content)
        else:
            marker = artifacts.step_marker(record.ref.id)
            files[name] = artifacts.with_section(
                None, title="Offline mode", heading=record.ref.title, marker=marker, body=content
            )
    return files


@given(st.text(alphabet="ab #*-|`<>!\\\n:[]()_0123é=+@'\"", min_size=1, max_size=300).filter(str.strip))
def test_what_a_step_has_written_is_never_a_change_by_hand(body: str) -> None:
    row = ROW | {"reason": " ".join(body.split()) or "x"}
    play = played(spec_md=body, stories_json=[STORY | {"so_that": body}], rows_csv=[row])
    assert edits(play.state, on_disk(play)) == ()


def test_what_was_added_and_taken_away_is_seen_line_by_line() -> None:
    play = played(spec_md="- Trains have signal.\n- Nobody pays.", stories_json=[STORY], rows_csv=[ROW])
    files = on_disk(play)
    files["spec.md"] = files["spec.md"].replace("- Nobody pays.", "- The county pays.")
    stories = json.loads(files["stories.json"])
    stories[0]["acceptance"].append("it opens in a tunnel")
    files["stories.json"] = json.dumps(stories)
    files["rows.csv"] += "F-2 Print,won't,,\n"
    assert edits(play.state, files) == (
        Edit("rows.csv", ("F-2 Print,won't,,",)),
        Edit("spec.md", ("- The county pays.",), ("- Nobody pays.",)),
        Edit("stories.json", ("acceptance: it opens in a tunnel",)),
    )


def test_another_shape_is_no_change() -> None:
    play = played(spec_md="| a | b |\n| --- | --- |\n| One | Two |\n\n- Three *four*", stories_json=[STORY])
    files = on_disk(play)
    reshaped = files["spec.md"].replace("| One | Two |", "|  One|Two  |").replace("- Three", "* Three")
    assert reshaped != files["spec.md"]
    files["spec.md"] = reshaped
    files["stories.json"] = json.dumps(json.loads(files["stories.json"]))
    assert edits(play.state, files) == ()


def test_a_file_that_is_gone_or_not_from_here_is_said_as_a_whole() -> None:
    play = played(spec_md="Text.")
    gone, foreign = edits(play.state, {"notes.md": "# My notes\n\nAsk Ruth.\n"})
    assert (str(gone), str(foreign)) == ("notes.md is not from here", "spec.md was deleted")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Edit("a.md", ("x",)), "a.md: 1 line new"),
        (Edit("a.md", ("x", "y"), ("z",)), "a.md: 2 lines new, 1 line gone"),
    ],
)
def test_a_change_is_said_in_a_few_words(edit: Edit, said: str) -> None:
    assert str(edit) == said


def test_minutes_feedback_and_a_board_are_from_here() -> None:
    state = ANALYSIS.fold(map(ANALYSIS.decode, LOG.splitlines()))
    files = {path.name: path.read_text(encoding="utf-8") for path in ITEM.iterdir() if path.suffix == ".md"}
    assert "Elaboration Insights" in files["quick-scan.md"]
    assert "The Board was asked" in files["quick-scan.md"]
    assert edits(state, files) == ()


def test_models_are_told_what_was_changed_by_hand() -> None:
    play = played(spec_md="Nobody pays.")
    files = {"spec.md": on_disk(play)["spec.md"].replace("Nobody pays.", "The county pays.")}
    (told,) = [one for block in shared(play.state, files) for one in block if "by hand" in one.name]
    assert "spec.md: 1 line new, 1 line gone\n+ The county pays.\n- Nobody pays." in told.text
    many = "\n".join(f"Line {number}." for number in range(MOST_EDITED + 1))
    (told,) = [
        one
        for block in shared(play.state, {"spec.md": f"{on_disk(play)['spec.md']}\n{many}"})
        for one in block
        if "by hand" in one.name
    ]
    assert "spec.md: 41 lines new\n</changed" in told.text


def test_a_change_by_hand_is_among_what_was_decided_so_far() -> None:
    play = played(spec_md="Nobody pays.")
    play.picks("continue")
    edit = Edit("spec.md", ("The county pays.",), ("Nobody pays.",))
    play.put(StepsRead(edits=(edit,)))
    assert play.state.edits == (edit,)
    (entry,) = [one for one in ledger(play.state) if one.key == "said:edit:spec.md"]
    said = "spec.md: 1 line new, 1 line gone\n+ The county pays.\n- Nobody pays."
    assert entry.text == f"Changed by hand: {said}"
