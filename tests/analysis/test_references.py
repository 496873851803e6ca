"""What a model cites is looked up by code, and what is not there is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.analysis.citable import not_there, strays
from moot.analysis.events import StepCompleted, StepOpened, StepRef
from moot.analysis.ledger import ledger
from moot.analysis.lines import MOST_ASKED, Lines
from moot.analysis.material import at_hand
from moot.analysis.references import KINDS, There, as_text, defined, kinds_in, mentioned
from moot.analysis.replies import Notes
from moot.analysis.steps import load_steps
from moot.core.background import EvidenceGiven
from moot.core.flow import Drafted, PersonaSpoke, TaskDone
from moot.evidence.items import Evidence
from moot.roundtable.effects import InsertInsights
from moot.roundtable.events import ArtifactsUpdated, ElaborationRecorded
from moot.roundtable.findings import Named
from moot.roundtable.replies import Framing
from tests.analysis.test_flow import BILL, MAYA, STEPS, Play, seated

THERE = There(
    ids={"F-1", "NFR-2", "SLA-3"},
    steps=["01-01", "01-02"],
    decisions=3,
    evidence=(Evidence("a.txt", "a.txt", "x", "text/plain", "One.\nTwo."),),
    lines=lambda name: {"src/sync.py": 40, "gone.py": None}.get(name, 0),
)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("F-1 and NFR-2 hold.", ()),
        ("F-9 holds, and F-9 again.", ("F-9 (no file defines it)",)),
        ("SLA-4 is of a kind that was defined here.", ("SLA-4 (no file defines it)",)),
        ("UTF-8, SHA-256, ISO-8601 and JIRA-77 are no ids of ours.", ()),
        ("An F-9-like thing, or AF-9.", ()),
        ("See step 01-02.", ()),
        ("See steps 01-01, 01-02 and 07-09.", ("step 07-09 (there is none)",)),
        ("Between 10-15 people, on 2026-07-09.", ()),
        ("Two steps 10 apart.", ()),
        ("By D3, not D4 or D0.", ("D4 (there is D1 to D3)", "D0 (there is D1 to D3)")),
        ("Drawn with D9.js, DF9 and 3-D9.", ()),
        ("It says so [E1:2].", ()),
        ("It says so [E1:3] and [E2].", ("[E1:3] (no such lines, E1 has 2)", "[E2] (no such item)")),
        ("In `src/sync.py:12-40`.", ()),
        ("In src/sync.py:12-41.", ("src/sync.py:12-41 (the file has 40 lines)",)),
        ("In gone.py:1.", ("gone.py:1 (there is no such file)",)),
        ("At https://example.com:8443/a.py:1 or 127.0.0.1:80.", ()),
    ],
)
def test_what_is_cited_and_not_there_is_named(text: str, unknown: tuple[str, ...]) -> None:
    assert THERE.unknown(text) == unknown


@given(st.text(alphabet="FDE-0123456789[]:., stepRNsrc/sync.py\n", max_size=80))
def test_what_is_there_is_never_named_and_nothing_typed_breaks_the_check(text: str) -> None:
    unknown = THERE.unknown(f"{text}\nF-1 and NFR-2 rest on D1, step 01-01, src/sync.py:12 and [E1:2].")
    assert not {"F-1", "NFR-2", "D1", "src/sync.py:12"} & {one.split(" ")[0] for one in unknown}
    assert THERE.unknown(text, KINDS) == tuple(dict.fromkeys(THERE.unknown(text, KINDS)))


def test_an_id_that_nobody_has_is_named_whatever_its_kind() -> None:
    here = replace(THERE, is_known=lambda one: one == "JIRA-77")
    assert here.unknown("See Q-39, JIRA-77, UTF-8 and ISO-8601.") == ("Q-39 (no file defines it)",)
    assert here.unknown("- Q-1: Who pays?\n\nQ-1 is open.") == ()


def test_a_step_may_define_only_what_its_guide_numbers() -> None:
    text = "### F-2: Book\n\n- F-3: Print (see F-4)"
    assert THERE.unknown(text, {"F"}) == ("F-4 (no file defines it)",)
    assert [one[:3] for one in THERE.unknown(text)] == ["F-2", "F-3", "F-4"]


def test_before_anything_is_decided_there_is_no_decision_to_cite() -> None:
    assert There((), ()).unknown("By D1.") == ("D1 (there is none yet)",)


def test_every_id_of_the_shipped_guides_is_known_as_one() -> None:
    found = [kinds_in(step.artifacts) for step in load_steps().steps]
    assert {kind for kinds in found for kind in kinds} | {"US"} == set(KINDS)
    assert kinds_in("One `### J-1: …` each, `ADR-…: …`, `R-1`, `R-2`; not C-1.") == {"J", "ADR", "R"}


def test_an_id_is_defined_by_the_first_line_that_begins_with_it() -> None:
    files = {
        "spec.md": "### F-1: Book a seat\n\n| NFR-1 | fast |\nSee F-2.\n",
        "stories.json": '[{"id": "US-001", "as_a": "a", "i_want": "to book (F-1)"}]',
        "overview.md": "| F-1 | met by ADR-1 |\n- **ADR-1**: One queue\n",
    }
    assert list(defined(files).values()) == [
        "ADR-1 (overview.md): One queue",
        "F-1 (spec.md): Book a seat",
        "NFR-1 (spec.md): fast",
        "US-001 (stories.json): to book (F-1)",
    ]


def test_whatever_a_file_gets_is_read_as_words() -> None:
    assert as_text(["One.", {"i_want": "to book", "acceptance": ["it opens", "it closes"]}]) == (
        "One.\nto book\nit opens\nit closes"
    )
    assert mentioned(["We need F-7, and UTF-8."]) == {"F-7", "UTF-8"}


def test_lines_are_those_of_the_item_or_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "sync.py").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / ".env").write_text("A=1\n", encoding="utf-8")
    (tmp_path / "moot" / "items" / "x").mkdir(parents=True)
    (tmp_path / "moot" / "items" / "x" / "spec.md").write_text("See Q-39.", encoding="utf-8")
    lines = Lines(tmp_path, {"spec.md": "One.\nTwo.\nThree."})
    assert [lines(name) for name in ("spec.md", "src/sync.py", "sync.py")] == [3, 2, 2]
    assert lines("src/merge.py") is None
    assert (lines.have("a\nb"), lines.have("A=1"), lines.have("Q-39")) == (True, False, False)
    assert [lines.have("Q-39") for _ in range(MOST_ASKED)].count(True) == 3, "no answer takes for ever"
    assert [lines(name) for name in ("example.com", ".env", "notes.rs")] == [0, 0, 0]


def test_what_an_opening_cites_is_looked_up_in_what_was_written_and_said() -> None:
    first = StepRef("01-01", "Context", "01-requirements", MAYA, "brief", ("spec.md",))
    second = StepRef("01-02", "Needs", "01-requirements", MAYA, "brief", ("spec.md",))
    play = Play(first, second, description="It is about R-7.").opens()
    play.says("We call it G-4.")
    play.settle(Drafted(Notes("Settled.", {"spec.md": "### G-1: Fewer calls"}), BILL))
    play.settle(TaskDone(StepCompleted("01-01", ("spec.md",), unknown=("R-9 (no file defines it)",))))
    play.picks("continue")
    play.settle(PersonaSpoke("G-1, G-4 and R-7 hold; G-2 and step 09-01 do not.", BILL))
    opened = play.events[-1]
    assert isinstance(opened, StepOpened)
    assert opened.unknown == ("G-2 (no file defines it)", "step 09-01 (there is none)")
    assert "Cited, but not there: R-9 (no file defines it)" in [one.text for one in ledger(play.state)]


def at_the_table(*said: str) -> Play:
    """Colleagues have spoken there, one after the other."""
    evidence = Evidence("meeting.md", "meeting.md", "x", "text/plain", "One.\nTwo.")
    play = Play(scan="brief")
    play.put(EvidenceGiven((evidence,)))
    play.step().picks("elaborate")
    play.settle(TaskDone(seated(STEPS[0])))
    play.settle(Drafted(Framing("it is agreed", "Who?"), BILL))
    for text in said:
        play.settle(PersonaSpoke(text, BILL))
    return play


def test_whoever_speaks_at_the_table_is_told_what_was_cited_there_and_is_not_there() -> None:
    play = at_the_table('They said "one of four came late" [E1:1].')
    told = "\n".join(source.text for source in at_hand(play.state))
    assert '- Alex in turn 2: [E1:1] (not in the lines: "one of four came late")\n</not-there>' in told
    play.settle(PersonaSpoke("It stands in [E1:99-120], in step 09-01 and in [E1:2].", BILL))
    told = "\n".join(source.text for source in at_hand(play.state))
    assert "- Jordan in turn 3: step 09-01 (there is none)" in told
    assert "- Jordan in turn 3: [E1:99-120] (no such lines, E1 has 2)\n</not-there>" in told
    play.settle(Drafted(Named(), BILL))
    play.says("")
    play.settle(PersonaSpoke("There is no [E1:99-120], Jordan.", BILL))
    told = "\n".join(source.text for source in at_hand(play.state))
    assert told.count("[E1:99-120] (no such lines, E1 has 2)") == 1, "who says so has not cited it"
    assert "not-there" not in "".join(source.text for source in at_hand(at_the_table("By [E1:2].").state))


def test_what_is_proposed_is_not_cited() -> None:
    play = Play()
    play.settle(PersonaSpoke("- F-1: Book a seat\n- F-2: Print it\n\nWe leave F-9 out.", BILL))
    assert not_there(play.state, ["F-2 comes first.", "Then F-3."]) == ((), ("F-3 (no file defines it)",))
    opened = play.events[-1]
    assert isinstance(opened, StepOpened)
    assert opened.unknown == ("F-9 (no file defines it)",)


def test_an_id_that_nobody_can_have_found_is_named_in_talk_too() -> None:
    play = Play()
    play.settle(PersonaSpoke("As Q-39 says. Who?", BILL))
    assert not_there(play.state, ["By Q-39."]) == (("Q-39 (no file defines it)",),)
    found = replace(play.state, scan="- `todo.md:1` `Q-39 Pay`")
    assert not_there(found, ["By Q-39."]) == ((),)
    read = replace(play.state.record, looked_at=("src/a.py",))
    assert not_there(replace(play.state, current=read), ["By Q-39."]) == ((),)


def test_what_the_minutes_cite_and_is_not_there_stays_open_until_it_is_settled() -> None:
    play = at_the_table("Once.", "Never twice.")
    play.settle(Drafted(Named(), BILL))
    play.says("done")
    while not isinstance(play.asked(), InsertInsights):
        play.settle(play._at_table(play.asked(), ()))
    play.settle(TaskDone(ArtifactsUpdated(("Updated spec.md.",), ("R-9 (no file defines it)",))))
    play.settle(TaskDone(ElaborationRecorded(True)))
    assert "Cited, but not there: R-9 (no file defines it)" in [one.text for one in ledger(play.state)]
    assert "R-9" in strays(play.state)
