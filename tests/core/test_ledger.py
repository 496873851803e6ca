"""What was decided so far, and how the person corrects it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core import ledger
from moot.core.conversation import PERSON
from moot.core.ledger import (
    Correction,
    Decided,
    Kind,
    correct,
    correction_of,
    read_correction,
    without_strikes,
)
from moot.errors import InvalidInput

ENTRIES = (
    Decided("level", Kind.DECIDED, "It is complex", PERSON, "triage"),
    Decided("approach:a2", Kind.REJECTED, "A database", "the brainstormer", "approaches"),
)


def test_it_is_told_with_who_and_where() -> None:
    assert ledger.lines(ENTRIES) == [
        "D1. Decided: It is complex (the person, at triage)",
        "D2. Rejected: A database (the brainstormer, at approaches)",
    ]


def test_a_number_and_words_say_what_holds_instead() -> None:
    """Also of what was rejected: "Rejected: A database is fine" would say the opposite."""
    mended = read_correction(ENTRIES, (), "d2: A database is fine", "design")
    assert correct(ENTRIES, (mended,))[1] == Decided(
        "approach:a2", Kind.DECIDED, "A database is fine", PERSON, "design"
    )


@pytest.mark.parametrize(
    ("kind", "words", "becomes"),
    [
        (Kind.OPEN, "Until Friday", Kind.DECIDED),
        (Kind.OPEN, "Until when at most?", Kind.OPEN),
        (Kind.SAID, "Keep it small", Kind.SAID),
    ],
)
def test_an_answer_settles_what_was_open_and_a_question_does_not(
    kind: Kind, words: str, becomes: Kind
) -> None:
    entries = (Decided("one", kind, "Until when?", PERSON, "questions"),)
    mended = read_correction(entries, (), f"D1: {words}", "design")
    assert correct(entries, (mended,)) == (Decided("one", becomes, words, PERSON, "design"),)


def test_what_is_dropped_is_gone() -> None:
    dropped = read_correction(ENTRIES, (), "drop D1", "design")
    assert correct(ENTRIES, (dropped,)) == ENTRIES[1:]


def test_anything_else_holds_from_now_on() -> None:
    first = read_correction(ENTRIES, (), "Never use a database", "triage")
    second = read_correction(ENTRIES, (first,), "D-Bus is out", "triage")
    own = correct(ENTRIES, (first, second))[2:]
    assert [each.text for each in own] == ["Never use a database", "D-Bus is out"]
    assert {each.by for each in own} == {PERSON}


def test_one_of_their_own_can_be_mended_and_dropped() -> None:
    first = read_correction((), (), "Never use a database", "triage")
    held = correct((), (first,))
    second = read_correction(held, (first,), "D1: Never use two databases", "design")
    assert [each.text for each in correct((), (first, second))] == ["Never use two databases"]
    third = read_correction(held, (first, second), "drop d1", "design")
    assert correct((), (first, second, third)) == ()
    again = read_correction((), (first, second, third), "SQLite it is", "design")
    assert [each.text for each in correct((), (first, second, third, again))] == ["SQLite it is"]


def test_what_was_said_last_is_taken_back_again_and_again() -> None:
    said = [
        read_correction(ENTRIES, (), "D1: It is easy", "design"),
        Correction("approach:a2"),
        Correction("level", "It is middling", "design"),
    ]
    for left in (["It is easy"], ["It is easy", "A database"], ["It is complex", "A database"]):
        said.append(read_correction(correct(ENTRIES, said), said, "undo", "design"))
        assert [each.text for each in correct(ENTRIES, said)] == left
    with pytest.raises(InvalidInput, match="nothing to undo"):
        read_correction(ENTRIES, said, "undo", "design")


def test_what_was_struck_is_what_it_was_before_that() -> None:
    said = [Correction("level", "It is easy"), Correction("level"), Correction("own:1", "No cloud")]
    said += [Correction("own:1"), Correction("own:2", "Berlin")]
    assert [each.text for each in correct(ENTRIES, said)] == ["A database", "Berlin"]
    before = correct(ENTRIES, without_strikes(said))
    assert [each.text for each in before] == ["It is easy", "A database", "No cloud", "Berlin"]


def test_what_is_struck_can_still_be_read_and_is_brought_back_before_it_is_changed() -> None:
    struck = (msgspec.structs.replace(ENTRIES[1], number=2),)
    left = (msgspec.structs.replace(ENTRIES[0], number=1),)
    told = ledger.whole(left, "d2", struck)
    assert told == "D2. Struck: Rejected: A database (the brainstormer, at approaches)"
    for words in ("D2: x", "drop D2"):
        with pytest.raises(InvalidInput, match="D2 is struck: 'undo D2' brings it back"):
            read_correction(left, (Correction("approach:a2"),), words, "design", struck)


@pytest.mark.parametrize(("key", "words"), [("level", ""), (None, ""), ("gone", ""), ("own:1", "x")])
def test_by_its_key_only_what_was_corrected_is_undone(key: str | None, words: str) -> None:
    said = [Correction("own:1", "No cloud")]
    with pytest.raises(InvalidInput):
        correction_of(correct(ENTRIES, said), said, key, words, "design", undo=True)
    undone = correction_of(correct(ENTRIES, said), said, "own:1", "", "design", undo=True)
    assert correct(ENTRIES, [*said, undone]) == ENTRIES


_KEYS = ["level", "approach:a2", "own:1"]
_SAID = st.builds(
    Correction, st.sampled_from(_KEYS), st.sampled_from(["", "a", "b"]), st.just(""), st.booleans()
)


@given(st.lists(_SAID, max_size=12))
def test_no_order_of_corrections_loses_what_was_struck(said: list[Correction]) -> None:
    there = {each.key for each in correct(ENTRIES, said)}
    before = {each.key for each in correct(ENTRIES, without_strikes(said))}
    assert there <= before
    assert {"level", "approach:a2"} <= before


@pytest.mark.parametrize("words", ["D3: x", "drop D3", "D0: x", "D1:", "drop D1: x", "  ", "drop D1 now"])
def test_what_cannot_be_meant_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput):
        read_correction(ENTRIES, (), words, "design")


@given(st.text(max_size=60))
def test_words_are_kept_or_refused(words: str) -> None:
    try:
        given_ = read_correction(ENTRIES, (), words, "design")
    except InvalidInput:
        return
    shown = correct(ENTRIES, (given_,))
    assert not given_.text or any(each.text == given_.text for each in shown)


def test_nothing_is_told_of_nothing() -> None:
    assert ledger.source(()) == ()
    assert "Rejected: A database" in ledger.source(ENTRIES)[0].text


def test_numbers_stay_whatever_comes_and_goes() -> None:
    order = ("approach:a2", "settled", "level")
    new = Decided("new", Kind.SAID, "Soon", PERSON, "")
    listed = ledger.number((new, *ENTRIES), order)
    assert [line.partition(".")[0] for line in ledger.lines(listed)] == ["D1", "D3", "D4"]
    assert [entry.key for entry in listed] == ["approach:a2", "level", "new"]
    assert read_correction(listed, (), "D3: It is simple", "").key == "level"
    with pytest.raises(InvalidInput, match="there is no D2 any more: there is D1 to D4"):
        read_correction(listed, (), "drop D2", "")
    with pytest.raises(InvalidInput, match="there is no D5: there is D1 to D4"):
        read_correction(listed, (), "drop D5", "")


def test_an_outline_is_by_kind_and_short_and_a_number_alone_shows_all_of_it() -> None:
    said = "Standard depth, please. The size fits, and there are no more than sixteen of us at any time."
    entries = (
        Decided("1", Kind.SAID, said, PERSON, "01-01"),
        Decided("2", Kind.DECIDED, "It is\ncomplex " + "and more " * 40, PERSON, "triage"),
        Decided("3", Kind.OPEN, "Who pays?", "the notes", ""),
        Decided("4", Kind.SAID, "Yes.", PERSON, "01-01"),
        Decided("6", Kind.SAID, "Take A.", "the Board", "01-02"),
        Decided("7", Kind.REJECTED, "A cloud", PERSON, "01-01", is_taken_back=True),
    )
    listed = ledger.number(entries, "1234567")
    told = ledger.outline(listed)
    assert told == [
        "Open:",
        "  D3. Who pays? (the notes)",
        "Decided:",
        f"  D2. It is complex {'and more ' * 20}and m… (the person, at triage)",
        "Taken back:",
        "  D7. A cloud (the person, at 01-01)",
        "Said:",
        "  D6. Take A. (the Board, at 01-02)",
        "  01-01: D1 “Standard depth, please. The size fits, and ther…”, D4 “Yes.”",
        "No longer listed, because it was settled, replaced or dropped: D5.",
    ]
    assert ledger.whole(listed, "d1") == f"D1. Said: {said} (the person, at 01-01)"
    assert ledger.whole(listed, "D1: x") is ledger.whole(listed, "") is None
    with pytest.raises(InvalidInput, match="there is no D5 any more"):
        ledger.whole(listed, "D5")
    assert "dropped: D5." in ledger.source(listed)[0].text
    assert "No longer listed" not in ledger.source(ENTRIES)[0].text


def test_what_is_known_is_not_told_again_under_its_number() -> None:
    listed = ledger.number(ENTRIES, ("other", "level"))
    (source,) = ledger.source(listed, ENTRIES[:1])
    assert "D3. Rejected: A database" in source.text
    assert "It is complex" not in source.text
