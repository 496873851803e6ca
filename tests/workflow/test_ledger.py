"""What was decided so far in a workflow: by whom, at which step, and as the person corrects it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from moot.brainstorm.events import Consulted
from moot.brainstorm.ledger import note_roundtable
from moot.brainstorm.state import Step
from moot.changes.binding import Binding, render
from moot.changes.points import in_words, points
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.ledger import Correction, Kind, lines, read_correction
from moot.evidence.items import Evidence
from moot.roundtable.insights import Decision, Synthesis
from moot.roundtable.state import USER, RoundtableState, Said
from moot.workflow.documents import design_document
from moot.workflow.events import BatchBuilt, BatchReviewed
from moot.workflow.flow import WORKFLOW
from moot.workflow.ledger import binding
from moot.workflow.ledger import source as ledger_source
from moot.workflow.menu import Continued, EndedHere
from moot.workflow.snapshot import queue_change, restored, snapshot
from moot.workflow.state import WorkflowState
from tests.support.roundtable import check_reply
from tests.support.workflow import BATCHES, IDEA, SPLITS, Play, at, said, triage

NOTES = Evidence("notes.md", "docs/notes.md", "ab" * 32, "text/markdown", "Codes are kept.")


def told(state: WorkflowState) -> list[str]:
    return [line.partition(". ")[2] for line in lines(WORKFLOW.ledger(state))]


def test_nothing_is_decided_before_anything_has_happened() -> None:
    assert told(WORKFLOW.initial) == []
    assert told(at(Step.TRIAGE).state) == []


def test_what_is_confirmed_answered_chosen_and_approved_is_decided() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "finish", "approach-1")
    assert told(play.state) == [
        "Decided: Level: Needs exploration (the person, at triage)",
        f"Decided: exploration {IDEA} 0? PostgreSQL (the person, at questions)",
        f"Open: exploration {IDEA} 1? Left to the brainstormer's judgment (the person, at questions)",
        f"Open: exploration {IDEA} 2? Left to the brainstormer's judgment (the person, at questions)",
        "Decided: Approach: Way 1. Made from PostgreSQL user deferred — use your best judgment "
        "user deferred — use your best judgment (the person, at approaches)",
        "Rejected: Approach: Way 2. It was recommended because it is plain; the person took 'Way 1'. "
        "Its tradeoffs: Slow. (the person, at approaches)",
    ]
    play.choose("approve")
    assert "Decided: The design's section 'Part 0' is approved (the person, at design)" in told(play.state)


def test_the_reason_for_what_was_recommended_is_that_against_the_others() -> None:
    play = at(Step.APPROACHES).choose("agree")
    (rejected,) = [line for line in told(play.state) if line.startswith("Rejected")]
    assert rejected.startswith(
        "Rejected: Approach: Way 1. The person took 'Way 2', which was recommended because it is plain. Its"
    )


def test_what_is_open_again_is_not_decided() -> None:
    play = at(Step.DESIGN).choose("back")
    assert not any("Approach" in line for line in told(play.state)), "it is to be chosen once more"
    play = at(Step.DESIGN).choose("approve", "back", "back", "question-1: other", "finish")
    assert not any("Approach" in line or "section" in line for line in told(play.state))


def test_what_was_proposed_to_be_left_out_is_where_the_assessment_is_taken_as_it_was() -> None:
    proposed = {**triage("complex"), "suggestedSkips": ["the database", "colours"]}
    play = at(Step.TRIAGE, **{"brainstorm/triage": proposed})
    agreed = play.choose("agree").state
    assert "Decided: Left out: the database; colours (the person, at triage)" in told(agreed)
    assert "Left out, as was agreed: the database; colours" in design_document(agreed)
    assert binding(agreed) == (), "the design has it"
    other = at(Step.TRIAGE, **{"brainstorm/triage": proposed}).choose("exploration").state
    assert not any("Left out" in line for line in told(other))


def test_parts_are_decided_as_they_were_confirmed() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(splits=SPLITS, batches=BATCHES)}).choose("agree")
    assert told(play.state)[1:] == [
        "Decided: Only this part is worked on here: New endpoint: Serve the reviews. Workflows of their "
        "own: Help texts (Rewrite the help of the command line) (the person, at triage)",
        "Decided: Built in 2 batches, in this order: Test baseline (Know what fails today); "
        "Cross-task validation (Wire it into execute) (the person, at triage)",
    ]


def test_parts_that_the_person_does_not_want_are_rejected() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(batches=BATCHES)}).choose("keep-whole", "agree")
    assert told(play.state)[0] == (
        "Rejected: Building it in batches: Test baseline (Know what fails today); "
        "Cross-task validation (Wire it into execute) (the person, at triage)"
    )


def test_what_the_brainstormer_assumed_is_open_until_its_section_is_approved() -> None:
    content = "Assumed: files are in UTF-8. They are read once.\n- **Assumed:** nobody runs it twice"
    drafted = [{"title": "Reading", "content": content}, {"title": "Rest", "content": "It ends."}]
    play = at(Step.DESIGN, **{"brainstorm/design": {"sections": drafted}})
    assumed = ["Assumed: files are in UTF-8.", "Assumed: nobody runs it twice"]
    by = "(the brainstormer, at design)"
    assert [line for line in told(play.state) if "Assumed" in line] == [
        f"Open: {one} {by}" for one in assumed
    ]
    play.choose("approve")
    assert [line for line in told(play.state) if "Assumed" in line] == [
        f"Decided: {one} {by}" for one in assumed
    ]


def test_every_comment_of_the_person_was_said() -> None:
    play = at(Step.TRIAGE).choose("discuss: never use a database", "agree", "discuss: and no cloud")
    assert [line for line in told(play.state) if line.startswith("Said")] == [
        "Said: never use a database (the person, at triage)",
        "Said: and no cloud (the person, at questions)",
    ]


def test_an_answer_that_a_discussion_replaced_is_rejected() -> None:
    said = {"reply": "Right.", "questions": [{"text": "The right one?"}], "replaces": ["q1"]}
    play = at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said})
    play.choose("question-1: yes", "discuss: q1 is wrong")
    gone = f"exploration {IDEA} 0? yes (no longer asked, after a discussion)"
    assert f"Rejected: {gone} (the brainstormer, at questions)" in told(play.state)


def test_a_roundtable_decides_and_leaves_open_what_was_found_there() -> None:
    def found(state: WorkflowState) -> dict[str, Any]:
        alex, maya = said(state, "Alex"), (1, "Maya", "We just covered Roundtable.")
        return check_reply(
            [("Show conflicts", "They hurt.", alex), ("Ship on Friday", "", (2, "User", "On Friday, then."))],
            [("what is shown", maya, alex)],
            [("Who reads it?", "Nobody knew.", alex)],
        )

    play = at(Step.APPROACHES, **{"roundtable/check": found}).choose("roundtable: where?")
    decided = [line for line in told(play.state) if "approaches" in line and not line.startswith("Said")]
    assert decided == [
        "Decided: Show conflicts (They hurt) (Alex at the roundtable, at approaches)",
        "Open: Who reads it? (Nobody knew) (the roundtable, at approaches)",
        "Open: what is shown: Maya: “We just covered Roundtable.” – Alex: “Conflicts are shown.” "
        "(the roundtable, at approaches)",
    ]


def test_the_board_advises_and_decides_nothing() -> None:
    brief = Consulted("The brief.", 0.5, "Wait until spring.")
    play = at(Step.APPROACHES, ConveneBoard=brief).choose("board: now?")
    assert "Said: Recommendation: Wait until spring. (the Board, at approaches)" in told(play.state)


def test_what_happens_to_a_batch_is_in_the_ledger() -> None:
    needs = BatchReviewed("NEEDS_REVISION", "The date is not checked.")
    play = at(Step.DESIGN, ReviewPlan=needs, **{"brainstorm/triage": triage(batches=BATCHES)})
    play.replies["BuildBatch"] = BatchBuilt(complete=False, message="It failed", failed_task=2, tasks=3)
    play.choose("skip")
    play.replies["ReviewPlan"] = BatchReviewed("APPROVED", "Sound.")
    play.choose("revise: check the date").choose("try-again: mind the tests", "skip")
    play.replies["BuildBatch"] = BatchBuilt(complete=True)
    play.choose("try-again")
    since = told(play.state)
    why = "NEEDS_REVISION. The date is not checked."
    for line in (
        f"Rejected: The plan of batch 'Test baseline': {why} (the reviewer, at review)",
        "Said: check the date (the person, at verdict)",
        "Decided: The plan of batch 'Test baseline': APPROVED. Sound. (the reviewer, at review)",
        "Said: mind the tests (the person, at open-tasks)",
        "Decided: Task 2 of batch 'Test baseline' is left open (the person, at open-tasks)",
        "Decided: Batch 1, 'Test baseline', is built (moot, at build)",
    ):
        assert line in since


def test_an_adjusted_scope_is_decided_once_the_person_goes_on() -> None:
    less = {"assessment": "Less.", "batches": [{"title": "Docs", "description": "Only these."}]}
    play = (
        Play({"brainstorm/triage": triage(batches=BATCHES), "workflow/reassess": less}).open().choose("skip")
    )
    ended = WORKFLOW.advance(play.state, EndedHere())
    assert "Rejected: Built no more after batch 1: Cross-task validation (the person, at reassess)" in told(
        ended
    )
    play.put(Continued())
    assert (
        "Decided: After batch 1, what is left to build: Docs (Only these); before: Cross-task validation "
        "(the person, at reassess)"
    ) in told(play.state)


def test_the_person_corrects_strikes_and_adds_and_the_file_keeps_it() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "discuss: hm")
    for words in ("D2: SQLite", "drop D3", "Never in the cloud"):
        state = play.state
        correction = read_correction(WORKFLOW.ledger(state), state.corrections, words, state.brainstorm.step)
        play.put(LedgerCorrected(correction))
    assert told(play.state) == [
        "Decided: Level: Needs exploration (the person, at triage)",
        "Decided: SQLite (the person, at questions)",
        "Decided: Never in the cloud (the person, at questions)",
    ]
    again = WORKFLOW.fold([restored(snapshot(play.put(EvidenceGiven((NOTES,))).state))])
    assert again == play.state
    assert again.evidence == (NOTES,)


def test_a_comment_changes_no_number_of_what_the_person_has_added() -> None:
    play = at(Step.TRIAGE)
    play.put(LedgerCorrected(Correction("own:1", "No cloud", "triage")))
    before = lines(WORKFLOW.ledger(play.state))
    after = lines(WORKFLOW.ledger(play.choose("discuss: D1 holds on Sundays, too").state))
    assert after == [*before, "D2. Said: D1 holds on Sundays, too (the person, at triage)"]


def test_an_entry_keeps_its_number_whatever_comes_and_goes_and_so_it_is_bound() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "question-2: daily", "discuss: hm")
    assert [entry.number for entry in WORKFLOW.ledger(play.state)] == [1, 2, 3, 4]
    play.put(LedgerCorrected(Correction("answer:q1")))
    play.choose("question-3: no", "finish", "approach-1", "approve", "approve")
    found = {entry.number: entry.text for entry in WORKFLOW.ledger(play.state)}
    assert 2 not in found
    assert found[3].endswith("daily")
    assert found[4] == "hm"
    assert found[5].endswith("no")
    bound = render(Binding(decided=binding(play.state)))
    assert f"- D3 (decided by the person, at questions): {found[3]}" in bound
    assert "D2 (" not in bound
    assert f"- D3: {found[3]}" in in_words(points(bound))
    again = WORKFLOW.fold([restored(snapshot(play.state))])
    assert WORKFLOW.ledger(again) == WORKFLOW.ledger(play.state)


def test_what_is_given_at_any_stage_moves_nothing_on() -> None:
    for play in (at(Step.TRIAGE), Play().open().choose("skip"), at(Step.DESIGN).choose("stop")):
        before, pending = play.state, play.effects
        play.put(EvidenceGiven((NOTES,))).put(LedgerCorrected(Correction("own:1", "x")))
        assert replace(play.state, evidence=(), corrections=(), order=before.order) == before
        assert play.effects == pending


def test_a_part_that_is_split_off_takes_along_what_was_said_and_decided() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(splits=SPLITS)})
    play.replies["brainstorm/discuss-triage"] = {"reply": "So.", **triage(splits=SPLITS)}
    play.choose("discuss: never use a database").put(EvidenceGiven((NOTES,)))
    play.put(LedgerCorrected(Correction("own:1", "No cloud", "triage"))).choose("agree")
    (waiting,) = queue_change(replace(play.state, queued=())).add
    part = WORKFLOW.fold([restored(waiting)])
    assert part.brainstorm.description == "Help texts: Rewrite the help of the command line."
    assert part.evidence == (NOTES,)
    assert told(part) == [
        f"Decided: This is one of the parts of a larger idea: {IDEA}\n   Its parts: New endpoint; Help texts "
        "(the person, at triage)",
        "Decided: No cloud (the person, at triage)",
        "Said: never use a database (the person, at triage)",
    ]


def test_what_the_person_has_taken_back_does_not_come_again_in_a_part_that_is_split_off() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(splits=SPLITS)})
    play.replies["brainstorm/discuss-triage"] = {"reply": "So.", **triage(splits=SPLITS)}
    play.choose("discuss: never use a database", "discuss: no colours")
    database, colours = [each.key for each in WORKFLOW.ledger(play.state) if each.kind is Kind.SAID]
    play.put(LedgerCorrected(Correction(database, "SQLite will do", "triage")))
    play.put(LedgerCorrected(Correction(colours, "", "triage"))).choose("agree")
    (waiting,) = queue_change(replace(play.state, queued=())).add
    part = WORKFLOW.fold([restored(waiting)])
    assert told(part)[1:] == ["Said: SQLite will do (the person, at triage)"]
    (source,) = ledger_source(part)
    assert "No longer holds: Said: no colours" in source.text


def test_neither_questions_nor_advice_bind_a_change() -> None:
    play = at(Step.TRIAGE, ConveneBoard=Consulted("Wait.", None, "Wait a month."))
    play.choose("board: Is it right?", "discuss: Why? And how?", "discuss: No cloud. Why?")
    said = {each.text for each in WORKFLOW.ledger(play.state)}
    assert {"Is it right?", "Why? And how?", "No cloud. Why?", "Recommendation: Wait a month."} <= said
    assert [each.text for each in binding(play.state)] == ["No cloud. Why?"]


def test_what_the_person_decided_at_a_roundtable_is_not_said_twice() -> None:
    spoken = (Said(USER, "contribution", "Keep colours."), Said(USER, "contribution", "Hm."))
    minutes = Synthesis((), (Decision("Keep colours.", "", USER),), (), (), "we kept colours")
    table = RoundtableState(transcript=spoken, synthesis=minutes)
    noted = note_roundtable(at(Step.APPROACHES).talk, table).noted
    assert [(each.kind, each.text) for each in noted] == [("said", "Hm."), ("decided", "Keep colours.")]
