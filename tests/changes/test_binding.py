"""What binds a change: design.md, written by moot, and kept where the person has written in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.changes import approval, binding
from moot.changes.binding import Binding
from moot.changes.folder import ChangeFolder
from moot.changes.review_block import Review, Verdict
from moot.core.handover import Origin
from moot.core.ledger import Decided, Kind
from moot.errors import NotApproved
from moot.evidence.items import Evidence
from tests.support.change import write_change
from tests.support.changes import reviewed

DESIGN = """\
# Expense export

## Command line

A bad date ends with exit code 2.
"""
NO_DATABASE = Decided("triage", Kind.REJECTED, "A database", "person", "triage")
NOTES = Evidence("notes.txt", "docs/notes.txt", "sha256:ab", "text/plain", "Dates are ISO.\n\nAlways.")
RATES = Evidence("rates.csv", "docs/rates.csv", "sha256:cd", "text/csv", "EUR,1.07")
BOUND = Binding(DESIGN, (NO_DATABASE,), (NOTES,), "Batch 1 of 2.")


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", tmp_path / "feat-auth")
    write_change(folder.path, "proposed")
    return folder


def design_of(folder: ChangeFolder) -> str:
    text = folder.design()
    assert text is not None
    return text


def test_the_file_says_everything_in_words_that_can_be_cited(folder: ChangeFolder) -> None:
    folder.bind(BOUND)
    text = design_of(folder)
    assert "## Which part this change is\n\nBatch 1 of 2.\n" in text
    assert "A bad date ends with exit code 2.\n" in text
    assert "- D1 (rejected by the person, at triage): A database\n" in text
    assert "### E1: notes.txt\n\n```text\n1 Dates are ISO.\n2 \n3 Always.\n```\n" in text


# -- there and back ------------------------------------------------------------------------------

_texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "<!-- moot:decided -->",
            "<\\!-- moot:evidence -->\nx",
            "```\nnever closed",
            "- D1 (said by x): y",
            "# Title\n\n<!-- moot:item {} -->",
            "a --> b",
            "a\n\nb\n- c",
        ]
    ),
).map(lambda text: "\n".join(line.rstrip() for line in text.strip().splitlines()).strip())
_words = _texts.map(lambda text: " ".join(text.split())).filter(bool)
_names = st.text("abc xyz.-_", min_size=1, max_size=20).map(lambda name: " ".join(name.split())).filter(bool)


@settings(max_examples=200, deadline=None)
@given(
    design=_texts,
    part=_texts,
    said=st.lists(st.tuples(st.sampled_from(list(Kind)), _words, _names, _names), max_size=3),
    files=st.lists(st.tuples(_words, _texts.filter(bool)), max_size=3),
)
def test_what_was_written_is_read_again(
    design: str,
    part: str,
    said: list[tuple[Kind, str, str, str]],
    files: list[tuple[str, str]],
) -> None:
    decided = tuple(Decided(binding.key_of(text), kind, text, by, at) for kind, text, by, at in said)
    evidence = tuple(
        Evidence(name, f"docs/{name}", f"sha256:{place}", "text/plain", text)
        for place, (name, text) in enumerate(files)
    )
    bound = Binding(design, decided, evidence, part)
    again = binding.read(binding.render(bound))
    assert again == bound if bound else not again.decided


def test_a_line_that_no_reader_would_get_whole_is_written_as_several(folder: ChangeFolder) -> None:
    long = Evidence("min.js", "min.js", "sha256:ef", "text/plain", "x" * 20_000 + "\nend")
    folder.bind(Binding(evidence=(long,)))
    assert max(map(len, design_of(folder).splitlines())) < 8_010
    assert binding.read(design_of(folder)).evidence == (long,)


def test_a_file_written_by_hand_is_a_design(folder: ChangeFolder) -> None:
    (folder.path / "design.md").write_text(DESIGN, encoding="utf-8")
    assert binding.read(design_of(folder)) == Binding(design=DESIGN.strip())
    [source] = binding.sources(design_of(folder))
    assert "A bad date ends with exit code 2." in source.text


# -- something new -------------------------------------------------------------------------------


def test_evidence_is_added_and_keeps_its_number(folder: ChangeFolder) -> None:
    folder.bind(BOUND)
    folder.bind(Binding(evidence=(RATES, NOTES)))
    assert binding.read(design_of(folder)).evidence == (NOTES, RATES)
    assert binding.read(design_of(folder)).design == DESIGN.strip()
    assert folder.bind(Binding(evidence=(RATES,))) == "", "the same again is no news"


def test_what_the_person_has_written_in_it_stays_and_what_is_new_stands_below(folder: ChangeFolder) -> None:
    folder.bind(BOUND)
    own = design_of(folder).replace("exit code 2", "exit code 3")
    (folder.path / "design.md").write_text(own, encoding="utf-8")
    csv = Decided("own:1", Kind.DECIDED, "CSV only", "person", "plan")
    told = folder.bind(Binding(DESIGN, (NO_DATABASE, csv), (NOTES, RATES)))
    assert told == (
        "design.md was edited by hand and is kept; what is new stands at its end, and the design that was "
        "approved since is not in it"
    )
    assert design_of(folder).startswith(own.rstrip())
    read = binding.read(design_of(folder))
    assert [entry.text for entry in read.decided] == ["A database", "CSV only"]
    assert "- D2 (decided by the person, at plan): CSV only" in design_of(folder)
    assert read.evidence == (NOTES, RATES)
    before = design_of(folder)
    folder.bind(Binding("", (NO_DATABASE, csv), (NOTES, RATES)))
    assert design_of(folder) == before, "nothing is added twice"


def test_a_file_of_the_persons_own_gets_evidence_below_it(folder: ChangeFolder) -> None:
    (folder.path / "design.md").write_text(DESIGN, encoding="utf-8")
    folder.bind(Binding(evidence=(NOTES,)))
    assert binding.read(design_of(folder)) == Binding(design=DESIGN.strip(), evidence=(NOTES,))
    assert DESIGN in design_of(folder)


# -- approvals -----------------------------------------------------------------------------------

FINE = Review(Verdict.APPROVED, (), "Read it all.", "")


def test_an_approval_without_a_design_is_of_the_same_bytes_as_ever(folder: ChangeFolder) -> None:
    reviewed(folder, FINE)
    assert approval.check(folder).reviewed == (
        "sha256:4b647631f88f479b277ed8b01fb80132f42b464c4f16a68531c2fdaf1de7c53d"
    )


def test_under_another_design_the_same_text_is_not_approved(folder: ChangeFolder) -> None:
    folder.bind(BOUND)
    reviewed(folder, FINE)
    approval.check(folder)
    folder.bind(BOUND)
    approval.check(folder)
    folder.bind(Binding(decided=(NO_DATABASE, Decided("own:1", Kind.DECIDED, "CSV only", "person", ""))))
    with pytest.raises(NotApproved, match=r"since then it was changed: design\.md"):
        approval.check(folder)


def test_a_design_that_came_after_the_approval_makes_it_stale(folder: ChangeFolder) -> None:
    reviewed(folder, FINE)
    folder.bind(BOUND)
    with pytest.raises(NotApproved, match=r"design\.md"):
        approval.check(folder)


def test_a_path_of_this_machine_is_not_written_and_its_file_is_there_once() -> None:
    mine = Evidence("minutes.txt", "/home/ana/minutes.txt", "sha256:aa", "text/plain", "Two.")
    text = binding.render(binding.merge(Binding(), Binding(evidence=(NOTES, mine))))
    assert "/home/ana" not in text
    assert [item.origin for item in binding.read(text).evidence] == ["docs/notes.txt", "minutes.txt"]
    assert (
        binding.merge(binding.read(text), Binding(evidence=(mine,))).evidence == binding.read(text).evidence
    )
    assert binding.add(text, Binding(evidence=(mine,))) == text


# -- where it comes from, and numbers ------------------------------------------------------------

ORIGIN = Origin("board", "board-1", "Drop it?")
FOUR = tuple(Decided(f"k{n}", Kind.DECIDED, f"Text {n}", "person", "x", n) for n in (1, 2, 5, 9))


@given(_names, _texts)
def test_where_a_change_comes_from_comes_back_whatever_it_is_called(name: str, title: str) -> None:
    origin = Origin("analysis", name, title)
    text = binding.render(Binding("# Design\n\nIt must hold.", FOUR, (NOTES,), origin=origin))
    assert binding.origin_of(text) == origin
    assert binding.read(text).origin == origin
    assert [one.number for one in binding.read(text).decided] == [0, 0, 5, 9], "a place needs no number"
    assert binding.render(binding.read(text)) == text


def test_what_it_comes_from_is_no_design() -> None:
    text = binding.render(Binding(decided=FOUR, origin=ORIGIN))
    assert "This change was made from the board board-1 ['Drop it?']." in text
    assert binding.sources(text) == ()
    assert binding.origin_of("# Mine\n") is None
    assert binding.origin_of('<!-- moot:from {"format": 1} -->\n') is None


def test_an_entry_keeps_its_number_when_another_is_dropped(folder: ChangeFolder) -> None:
    folder.bind(Binding(decided=FOUR, origin=ORIGIN))
    there = binding.read(design_of(folder)).decided
    own = Decided("own:1", Kind.DECIDED, "New", "person", "x")
    folder.bind(Binding(decided=(there[0], there[3], own), replaces_decided=True))
    text = design_of(folder)
    assert [line[:5] for line in text.splitlines() if line.startswith("- D")] == ["- D1 ", "- D9 ", "- D10"]
    assert binding.read(text).origin == ORIGIN, "and where it comes from stays"


def test_an_entry_that_says_the_same_keeps_its_number_whatever_its_key() -> None:
    there = Binding(decided=FOUR[:3])
    again = tuple(Decided("other", one.kind, one.text, one.by, one.at) for one in FOUR[1:])
    assert [one.number for one in binding.merge(there, Binding(decided=again)).decided] == [2, 5, 6]


def test_what_is_added_by_the_program_to_a_file_of_the_person_s_is_numbered_behind_all() -> None:
    text = binding.render(Binding(decided=FOUR, origin=ORIGIN)) + "\nMine.\n"
    added = binding.add(text, Binding(decided=(Decided("own:1", Kind.DECIDED, "New", "person", "x"),)))
    assert "- D10 (decided by the person, at x): New" in added
    assert [entry.text for entry in binding.read(added).decided][-1] == "New"
