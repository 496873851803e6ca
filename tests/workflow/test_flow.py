"""The workflow: every batch planned, reviewed, built and reassessed; what waits; stopping and failing."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.brainstorm.events import Part
from moot.brainstorm.flow import BrainstormEvent
from moot.brainstorm.menu import LevelConfirmed
from moot.brainstorm.state import Step
from moot.cli.menu_lines import read_line, shown
from moot.core.flow import AskPerson, Choice, DraftFailed, PersonAnswered, Takes, TaskDone
from moot.errors import IllegalMove, InvalidInput
from moot.workflow import menu
from moot.workflow.documents import change_id, design_document, slug, title_of
from moot.workflow.effects import BuildBatch, QueueRest
from moot.workflow.ending import headline, in_words
from moot.workflow.events import (
    AttemptFailed,
    Batch,
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    BatchSummary,
    BranchCreated,
    BranchedOff,
    ChangesArchived,
    CommandKept,
    DesignWritten,
    FoundTest,
    NextBegun,
    NotBranchedOff,
    NotSetAside,
    PlanDiscussed,
    PlanLaidOut,
    QueueFoundEmpty,
    QueueLeft,
    Reopened,
    Restored,
    RestQueued,
    Resumed,
    ScopeReassessed,
    Stash,
    Summary,
    TaskRolledBack,
    WorkflowFinalized,
    WorkflowOpened,
    WorkspaceChecked,
    WorkspaceScouted,
    WorkStashed,
)
from moot.workflow.flow import TRANSITIONS, WORKFLOW, OwnEvent, WorkflowEvent
from moot.workflow.handover import binding, brief
from moot.workflow.menu import (
    AdjustmentAsked,
    AdjustmentBegun,
    AdjustmentDropped,
    ArchiveChosen,
    BranchWanted,
    BuildResumed,
    CommandConfirmed,
    CommentBegun,
    CommentDropped,
    CommitsChosen,
    Continued,
    DesignReady,
    DesignReopened,
    DiscussionDropped,
    EndedHere,
    NextChosen,
    PlanApproved,
    PlanKept,
    PlanQuestioned,
    PlanWritingBegun,
    PlanWritingDropped,
    ReassessmentPassed,
    ReviewWanted,
    RevisionWanted,
    RollBackDropped,
    RollBackWanted,
    StashWanted,
    Stopped,
    TaskSkipped,
    TriedAgain,
    UncommittedAccepted,
)
from moot.workflow.snapshot import brings, queue_change, restored, snapshot
from moot.workflow.state import Phase, Stage, WorkflowState
from tests.support.workflow import (
    BATCHES,
    BILL,
    IDEA,
    OPENED,
    PLAN,
    SPLITS,
    Play,
    at,
    targets,
    triage,
)
from tests.support.workflow import REFUSED as REFUSED_PLAN

APPROVED = BatchReviewed("APPROVED")
NEEDS_REVISION = BatchReviewed("NEEDS_REVISION", "A High issue.", high=1)
REJECTED = BatchReviewed("REJECTED", "Fundamental problems.")


HELP_WAITS = WorkflowFinalized(("Help texts",))


TESTABLE = replace(PLAN, found=(FoundTest("make test", "Makefile"),))
TO_ARCHIVE = Summary((BatchSummary(IDEA, "change-0", 2, 2),), ("change-0",))
REFUSED = PlanLaidOut(REFUSED_PLAN)


def planned(**replies: Any) -> Play:
    """Opened, and the brainstorm skipped: the first batch runs as far as it gets without the person."""
    return Play({"brainstorm/triage": triage(), **replies}).open().choose("skip")


def in_batches(**replies: Any) -> Play:
    return planned(**{"brainstorm/triage": triage(batches=BATCHES), **replies})


def work(play: Play) -> list[str]:
    """What was done after the brainstorm, without the looks at what is not committed."""
    return [name for name in play.done if not name.startswith("brainstorm/") and name != "CheckWorkspace"]


# -- batches -------------------------------------------------------------------------------------


def test_the_design_document_can_wait_for_the_person_before_it_is_planned() -> None:
    play = at(Step.DESIGN)
    while (approve := len(play.talk.design_sections) - 1) > play.talk.current_section:
        assert "approve-and-wait" not in [choice.id for choice in play.asked.choices], approve
        play.choose("approve")
    play.choose("approve-and-wait")
    assert play.state.stage is Stage.AT_DESIGN_DOCUMENT
    assert play.state.design_path in play.asked.expects
    assert WORKFLOW.fold([restored(snapshot(play.state))]) == play.state
    stopped = WORKFLOW.advance(play.state, Stopped())
    assert WORKFLOW.advance(stopped, Resumed()).stage is Stage.AT_DESIGN_DOCUMENT
    planned = play.choose("plan").state
    assert planned.batch.change_id
    assert not planned.design_waits


def test_a_workflow_without_batches_is_one_batch() -> None:
    play = planned()
    assert work(play) == [
        "ScoutWorkspace", "WriteDesign", "PlanBatch", "ReviewPlan", "LayOutPlan", "BuildBatch",
        "FinalizeWorkflow",
    ]  # fmt: skip
    assert play.state.batches == (Batch(IDEA, IDEA, "complete", "change-0"),)
    assert (play.state.phase, play.effects) == (Phase.DONE, ())


def test_every_batch_is_planned_reviewed_built_and_reassessed() -> None:
    play = in_batches()
    assert play.asked.step == "reassess"
    assert play.state.batch.status == "complete"
    play.choose("next-batch")
    assert (play.state.current_batch, play.asked.step) == (1, "reassess")
    play.choose("next-batch")
    cycle = ["PlanBatch", "ReviewPlan", "LayOutPlan", "BuildBatch", "ScoutAgain", "workflow/reassess"]
    assert work(play) == ["ScoutWorkspace", "WriteDesign", *cycle, *cycle, "FinalizeWorkflow"]
    assert [batch.status for batch in play.state.batches] == ["complete", "complete"]
    assert [batch.change_id for batch in play.state.batches] == ["change-0", "change-1"]


@pytest.mark.parametrize("level", ["straightforward", "exploration", "complex"])
def test_reviews_run_on_every_batch_whatever_the_level(level: str) -> None:
    play = Play({"brainstorm/triage": triage(level, batches=BATCHES)}).open().choose("agree")
    while not play.state.finished:
        play.choose(next(way for way in ("skip", "finish", "approve", "next-batch") if way in play.ids))
    assert work(play).count("ReviewPlan") == work(play).count("BuildBatch") == 2


def test_the_pause_after_a_batch_offers_to_go_on_to_adjust_and_to_stop() -> None:
    play = in_batches()
    assert play.asked.choices == (
        Choice("next-batch", "Continue to batch 2: Cross-task validation"),
        Choice("adjust", "Adjust scope", Takes.OPTIONAL_TEXT),
        Choice("end-here", "Stop here – the other batches are not done, and the queue goes on"),
        Choice("stop", "Stop – everything is saved, and can be resumed"),
    )
    assert play.asked.expects == "Batch 1 complete (1 of 2; $3.02 so far). What next?"


def test_what_nobody_knows_the_price_of_is_not_said_to_be_free() -> None:
    play = in_batches()
    unpriced = replace(play.state, total_cost=0.0)
    assert menu.progress(unpriced) == "Batch 1 complete (1 of 2)."


def test_a_refused_choice_names_every_one_that_is_offered() -> None:
    play = Play({"brainstorm/triage": triage("complex", batches=BATCHES)}).open()
    offered = ", ".join(play.ids)
    assert offered.endswith("stop")
    with pytest.raises(InvalidInput, match=f"'zebra' is none of those offered: {offered}$"):
        play.choose("zebra")
    with pytest.raises(InvalidInput, match=f"has to be one of: {offered}$"):
        play.write("why so complex")


def test_each_batch_begins_with_a_fresh_look_at_the_workspace() -> None:
    play = in_batches()
    assert play.talk.scout_output != at(Step.TRIAGE).talk.scout_output


def test_the_scope_of_what_is_left_can_be_adjusted() -> None:
    play = in_batches()
    other = {"assessment": "Then so.", "batches": [{"title": "Docs", "description": "Only these."}]}
    play.replies["workflow/reassess"] = other
    play.choose("adjust").write("only the docs are left")
    assert play.state.proposed == (Part("Docs", "Only these."),)
    assert play.state.remaining[0].title == "Cross-task validation", "a proposal, until it is accepted"
    play.choose("next-batch")
    assert play.state.batches[1] == Batch("Docs", "Only these.", "complete", "change-1")
    said = [
        (entry.speaker, entry.content) for entry in play.talk.conversation_log if entry.step == "reassess"
    ]
    assert said[1] == ("person", "only the docs are left")


def test_a_proposed_adjustment_can_be_declined() -> None:
    other = {"assessment": "Less.", "batches": []}
    play = in_batches(**{"workflow/reassess": other})
    assert "keep-batches" in play.ids
    play.choose("keep-batches", "next-batch")
    assert play.state.batches[1].title == "Cross-task validation"


def test_nothing_left_leads_to_the_end() -> None:
    play = in_batches(**{"workflow/reassess": {"assessment": "All is there.", "batches": []}})
    assert play.asked.choices[0] == Choice("next-batch", "Continue to the end")
    play.choose("next-batch")
    assert (play.state.phase, len(play.state.batches)) == (Phase.DONE, 1)


def test_a_reassessment_that_cannot_be_had_can_be_done_without() -> None:
    events = in_batches().events
    assert isinstance(events[-1], ScopeReassessed)
    play = Play(state=WORKFLOW.fold(events[:-1])).fail()
    assert play.ids == ("try-again", "back", "stop")
    play.choose("back")
    assert (play.asked.step, play.state.proposed) == ("reassess", (Part(**BATCHES[1]),))


def test_adjusting_can_be_thought_better_of() -> None:
    play = in_batches()
    assert play.choose("adjust", "back").asked.step == "reassess"
    assert work(play).count("workflow/reassess") == 1


# -- reviews -------------------------------------------------------------------------------------


def test_a_plan_is_revised_by_itself_and_then_the_person_decides() -> None:
    play = planned(ReviewPlan=NEEDS_REVISION)
    assert work(play)[2:] == [
        "PlanBatch", "ReviewPlan", "RevisePlan", "ReviewPlan", "RevisePlan", "ReviewPlan", "LayOutPlan",
    ]  # fmt: skip
    assert (play.asked.step, play.ids) == ("verdict", ("revise", "discuss", "to-triage", "stop"))
    play.choose("revise: keep it smaller")
    assert work(play)[-3:] == ["RevisePlan", "ReviewPlan", "LayOutPlan"]
    assert play.asked.step == "verdict"


def test_where_no_further_revision_would_help_the_person_decides_at_once() -> None:
    ends = "only I1 is left, and keeps coming back: decide it yourself"
    play = planned(ReviewPlan=msgspec.structs.replace(NEEDS_REVISION, ends=ends))
    assert work(play)[2:] == ["PlanBatch", "ReviewPlan", "LayOutPlan"]
    assert (play.asked.step, play.ids) == ("verdict", ("revise", "discuss", "to-triage", "stop"))
    assert play.state.review_summary == f"A High issue. ({ends})"
    play.choose("revise: keep it smaller")
    assert work(play)[-3:] == ["RevisePlan", "ReviewPlan", "LayOutPlan"]
    assert play.asked.step == "verdict"


def test_how_often_a_plan_is_revised_by_itself_can_be_configured() -> None:
    play = Play({"brainstorm/triage": triage(), "ReviewPlan": NEEDS_REVISION})
    play.open(msgspec.structs.replace(OPENED, config={"maxRevisions": 0})).choose("skip")
    assert work(play)[2:] == ["PlanBatch", "ReviewPlan", "LayOutPlan"]


def test_a_rejected_plan_waits_for_the_person() -> None:
    play = planned(ReviewPlan=REJECTED)
    assert (work(play)[-2:], play.asked.step) == (["ReviewPlan", "LayOutPlan"], "verdict")
    play.replies["ReviewPlan"] = APPROVED
    assert play.choose("revise: with these changes").state.finished


def test_the_persons_wishes_reach_the_revision() -> None:
    play = planned(ReviewPlan=REJECTED)
    play.put(RevisionWanted("smaller"))
    assert (play.state.stage, play.state.wishes) == (Stage.REVISING, "smaller")
    assert play.settle().state.wishes == ""


def test_an_earlier_approval_does_not_count_for_the_next_batch() -> None:
    play = in_batches().put(Continued())
    assert (play.state.stage, play.state.verdict) == (Stage.PLANNING, None)


def test_open_tasks_wait_for_the_person() -> None:
    play = planned(BuildBatch=BatchBuilt(complete=False, message="No coding agent was found"))
    assert (play.asked.step, play.asked.expects) == ("open-tasks", "No coding agent was found. What now?")
    play.replies["BuildBatch"] = BatchBuilt(complete=True)
    assert play.choose("try-again").state.finished


FAILED_TASK = BatchBuilt(
    complete=False,
    message="`make test` ended with 2:\n1 failed: test_codes",
    tasks=2,
    failed_task=1,
    before_task="abc",
)


def at_failed_task(**replies: Any) -> Play:
    return planned(BuildBatch=FAILED_TASK, **replies)


def test_after_a_failed_task_the_person_retries_skips_rolls_back_comments_or_stops() -> None:
    play = at_failed_task()
    assert play.asked.expects == "`make test` ended with 2. What now?"
    assert [choice.label.split(" – ")[0] for choice in play.asked.choices] == [
        "Retry",
        "Skip",
        "Roll back",
        "Comment",
        "Stop",
    ]


def test_a_retry_knows_what_failed_and_what_the_person_says_to_it() -> None:
    play = at_failed_task()
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered(choice="try-again")))
    assert play.state.failed_with == FAILED_TASK.message
    play = at_failed_task()
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered("keep the codes", "comment")))
    assert play.state.failed_with.startswith(FAILED_TASK.message)
    assert play.state.failed_with.endswith("keep the codes")
    play = at_failed_task().choose("comment")
    assert play.asked.step == "comment"
    assert play.choose("back").asked.step == "open-tasks"


def test_a_skipped_task_is_left_out_of_what_follows() -> None:
    play = at_failed_task()
    play.replies["BuildBatch"] = BatchBuilt(complete=True, tasks_done=1, tasks=2)
    assert play.choose("skip").state.skipped == (1,)
    assert play.state.finished


def test_rolling_back_goes_to_before_the_first_attempt_at_the_task_and_asks_again() -> None:
    play = at_failed_task()
    play.replies["BuildBatch"] = msgspec.structs.replace(FAILED_TASK, before_task="later")
    assert play.choose("try-again").state.before_task == "abc"
    play.choose("roll-back")
    assert play.done[-1] == "RollBackTask"
    assert play.asked.step == "open-tasks"
    assert "roll-back" not in play.ids, "there is nothing left to roll back"
    assert "rolled back" in play.state.open_tasks
    failing = at_failed_task().put(RollBackWanted()).fail()
    assert failing.choose("back").asked.step == "open-tasks"


# -- uncommitted work ----------------------------------------------------------------------------

DIRTY = WorkspaceChecked(("half.py", "notes.md"), "2222")
CLEAN = WorkspaceChecked((), "1111")


def dirty(**replies: Any) -> Play:
    """Opened where two files are not committed; once they are stashed, none."""

    def check(state: WorkflowState) -> Any:
        return CLEAN if state.stashes or state.known_tree else DIRTY

    return Play({"CheckWorkspace": check, **replies}).open()


def test_uncommitted_work_is_the_first_thing_that_is_asked_about() -> None:
    play = dirty()
    assert play.done == ["CheckWorkspace"]
    assert play.asked.step == "uncommitted"
    assert play.asked.expects == "The workspace has uncommitted work (half.py, notes.md). What now?"
    assert [choice.label.split(" – ")[0] for choice in play.asked.choices] == [
        "Go on",
        "Stash",
        "New branch",
        "Stop",
    ]


def test_a_clean_workspace_is_not_asked_about() -> None:
    assert at(Step.TRIAGE).asked.step == "triage"


def test_going_on_accepts_what_was_shown() -> None:
    play = dirty().choose("mix")
    assert (play.asked.step, play.state.known_tree) == ("triage", "2222")
    assert play.state.uncommitted is None


def test_what_is_stashed_is_named_and_the_workspace_is_checked_again() -> None:
    play = dirty().choose("stash")
    assert play.done[:3] == ["CheckWorkspace", "StashChanges", "CheckWorkspace"]
    assert play.state.stashes == (Stash("moot: before 'x' (1234)", ("half.py",), 1),)
    assert play.asked.step == "triage"
    more = dirty(CheckWorkspace=DIRTY).choose("stash")
    assert more.asked.step == "uncommitted", "somebody has written more"


def test_a_new_branch_takes_along_what_was_shown() -> None:
    play = dirty().choose("new-branch")
    assert (play.asked.step, play.state.branch, play.state.known_tree) == ("triage", "moot-x-1234", "2222")


def test_what_cannot_be_stashed_is_asked_about_again_with_the_reason() -> None:
    for choice in ("stash", "new-branch"):
        play = dirty()
        play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered(choice=choice))).fail()
        assert play.asked.expects.startswith("it is gone. The workspace has uncommitted work (half.py")
        assert play.state.set_aside == ""
        assert play.choose("mix").asked.step == "triage"


def test_a_reply_for_another_step_decides_nothing_about_uncommitted_work() -> None:
    """Replies that are written beforehand are taken in their order."""
    elsewhere = {key for state in STAGES.values() for key in _keys_of(state)} - set("X")
    play = dirty()
    for key in {*elsewhere, "A", "S", "1", "yes"} - {key for key, _ in shown(play.asked)}:
        with pytest.raises(InvalidInput):
            read_line(play.asked, key)
    assert not set("GZN") & elsewhere


def _keys_of(state: WorkflowState) -> tuple[str, ...]:
    asked = [effect for effect in WORKFLOW.pending(state) if isinstance(effect, AskPerson)]
    return tuple(key for ask in asked if ask.step != "uncommitted" for key, _ in shown(ask))


def test_whoever_comes_back_is_asked_about_what_is_new_and_nothing_else() -> None:
    play = in_batches()
    play.replies["CheckWorkspace"] = lambda state: CLEAN if state.known_tree == "3333" else DIRTY
    play.put(Reopened()).settle()
    assert play.asked.step == "uncommitted"
    before = play.state
    play.choose("mix")
    assert play.asked.step == "reassess"
    assert (before.happened, before.total_cost) == (play.state.happened, play.state.total_cost)


def test_what_was_built_is_known() -> None:
    play = in_batches(BuildBatch=BatchBuilt(complete=True, tree="3333"))
    assert play.state.known_tree == "3333"


def test_a_batch_that_is_being_built_is_not_asked_about() -> None:
    """What is not committed then is the agent's, or was done by hand."""
    play = at_failed_task(CheckWorkspace=lambda state: CLEAN if state.happened < 2 else DIRTY)
    assert play.put(Reopened()).asked.step == "open-tasks"


def test_the_next_of_the_queue_is_asked_about_uncommitted_work_as_well() -> None:
    waiting = queue_change(split().put(LevelConfirmed("complex")).state).add[0]
    play = planned(FinalizeWorkflow=HELP_WAITS, TakeNext=NextBegun(dict(waiting)))
    play.replies["CheckWorkspace"] = DIRTY
    play.choose("begin-next")
    assert (play.state.id, play.asked.step) == (waiting["id"], "uncommitted")
    assert play.choose("mix").asked.step == "triage"
    first = Play({"CheckWorkspace": DIRTY}).put(Restored({**waiting, "fromQueue": True})).settle()
    assert (first.done, first.asked.step) == (["LeaveQueue", "CheckWorkspace"], "uncommitted")


def test_a_stash_that_was_interrupted_is_finished_before_anything_is_asked() -> None:
    play = dirty().put(StashWanted())
    killed = Play(play.replies, WORKFLOW.advance(WORKFLOW.initial, restored(snapshot(play.state))))
    assert killed.put(Reopened()).state.stage is Stage.STASHING
    assert killed.settle().asked.step == "triage"


def test_a_file_of_an_earlier_version_is_asked_about_once_it_is_taken_up() -> None:
    saved = dict(snapshot(in_batches().state))
    for field in ("workspaceChecked", "knownTree"):
        del saved[field]
    play = Play({"CheckWorkspace": DIRTY}).put(restored(saved)).put(Reopened()).settle()
    assert play.asked.step == "uncommitted"
    assert play.choose("mix").asked.step == "reassess"


def test_many_files_are_counted_and_some_are_named() -> None:
    names = tuple(f"file-{number:03}" for number in range(250))
    play = dirty(CheckWorkspace=WorkspaceChecked(names, "2222"))
    assert "(file-000, file-001, file-002, file-003, file-004 and 245 more)" in play.asked.expects
    assert play.state.uncommitted is not None
    assert (len(play.state.uncommitted.files), play.state.uncommitted.count) == (100, 250)


# -- splits and the queue ------------------------------------------------------------------------


def split(**replies: Any) -> Play:
    return Play({"brainstorm/triage": triage(splits=SPLITS), **replies}).open()


def test_a_split_narrows_the_workflow_and_queues_the_rest() -> None:
    play = split().put(LevelConfirmed("exploration"))
    assert [type(effect) for effect in play.effects] == [QueueRest]
    change = queue_change(play.state)
    (entry,) = change.add
    assert (entry["userDescription"], entry["phase"]) == (
        "Help texts: Rewrite the help of the command line.",
        "brainstorm",
    )
    assert change.remove == ()
    play.settle()
    assert play.state.queued == (entry["id"],)
    assert queue_change(play.state) == ((), ())
    assert play.talk.subject == "New endpoint: Serve the reviews."
    assert play.choose("back", "skip").state.batches[0].title == "New endpoint"


def test_what_is_queued_follows_the_scope() -> None:
    play = split().choose("agree")
    queued = play.state.queued
    play.choose("back", "keep-whole").put(LevelConfirmed("exploration"))
    assert queue_change(play.state) == (queued, ())
    assert play.settle().state.queued == ()
    assert "QueueRest" in play.done


def test_queuing_the_same_parts_twice_is_queuing_them_once() -> None:
    first, second = (queue_change(split().put(LevelConfirmed("complex")).state) for _ in range(2))
    assert first == second


def test_a_queue_that_holds_something_else_is_not_taken_for_this_one() -> None:
    with pytest.raises(InvalidInput, match="ids"):
        split().put(LevelConfirmed("complex")).put(RestQueued(("w-other",)))


def test_a_finished_workflow_offers_the_next() -> None:
    waiting = queue_change(split().put(LevelConfirmed("complex")).state).add[0]
    play = planned(FinalizeWorkflow=HELP_WAITS, TakeNext=NextBegun(dict(waiting)))
    assert (play.asked.step, play.asked.optional, play.ids) == ("next", True, ("begin-next",))
    play.choose("begin-next")
    assert play.state.id == waiting["id"]
    assert (play.talk.description, play.state.total_cost) == (
        "Help texts: Rewrite the help of the command line.",
        0.01,
    )
    assert work(play)[-3:] == ["TakeNext", "LeaveQueue", "ScoutWorkspace"]
    assert play.asked.step == "triage"


def test_a_queue_that_was_emptied_meanwhile_ends_it() -> None:
    play = planned(FinalizeWorkflow=HELP_WAITS).choose("begin-next")
    assert (play.state.stage, play.effects) == (Stage.FINISHED, ())


def test_nothing_can_be_begun_from_an_empty_queue() -> None:
    with pytest.raises(IllegalMove):
        planned().put(NextChosen())


def test_what_waits_can_be_begun_without_a_workflow_before_it() -> None:
    waiting = queue_change(split().put(LevelConfirmed("complex")).state).add[0]
    play = Play().put(NextBegun(dict(waiting)))
    assert play.state.stage is Stage.LEAVING_QUEUE
    assert brings(play.events[0]) == waiting
    assert play.settle().asked.step == "triage"


# -- stopping and failing ------------------------------------------------------------------------


def every_stage() -> dict[Stage, WorkflowState]:
    """One state of each, as it is come by."""
    found: dict[Stage, WorkflowState] = {}
    for play in (
        split().choose("agree", "back", "keep-whole", "agree"),
        in_batches(ReviewPlan=NEEDS_REVISION).choose("stop"),
        in_batches()
        .choose("adjust")
        .write("only one")
        .choose("adjust")
        .put(AdjustmentDropped())
        .put(Continued()),
        planned(BuildBatch=BatchBuilt(complete=False, message="No agent")).choose("stop"),
        at_failed_task().choose("roll-back", "comment"),
        planned(
            FinalizeWorkflow=WorkflowFinalized(("One",)), TakeNext=NextBegun(dict(snapshot(split().state)))
        ).choose("begin-next"),
        Play().put(OPENED).perform().fail(),
        dirty().choose("stash"),
        dirty().choose("new-branch"),
        at(Step.DESIGN).choose("approve", "approve-and-wait"),
        planned(FinalizeWorkflow=WorkflowFinalized(summary=TO_ARCHIVE)).choose("archive"),
        planned(LayOutPlan=PlanLaidOut(TESTABLE))
        .choose("tests-1", "discuss")
        .write("Why?")
        .choose("build-on-branch"),
    ):
        state = WORKFLOW.initial
        found.setdefault(state.stage, state)
        for event in play.events:
            state = WORKFLOW.advance(state, event)
            found.setdefault(state.stage, state)
    return found


STAGES = every_stage()


def test_every_stage_is_known_to_these_tests() -> None:
    assert set(STAGES) == set(Stage)


_KEPT = [stage for stage in Stage if stage is not Stage.KEEPING_TESTS]


@pytest.mark.parametrize("stage", [stage for stage in _KEPT if (stage, Stopped) in TRANSITIONS])
def test_stopped_anywhere_nothing_is_asked_of_anybody_until_it_is_resumed(stage: Stage) -> None:
    state = STAGES[stage]
    stopped = WORKFLOW.advance(state, Stopped())
    assert WORKFLOW.pending(stopped) == ()
    again = WORKFLOW.advance(WORKFLOW.initial, restored(snapshot(stopped)))
    assert WORKFLOW.pending(again) == ()
    resumed = WORKFLOW.advance(again, Resumed())
    assert resumed.stage is (state.beneath if stage is Stage.FAILED else stage)
    assert WORKFLOW.pending(resumed)


@pytest.mark.parametrize("stage", [stage for stage in Stage if (stage, AttemptFailed) in TRANSITIONS])
def test_what_fails_can_be_retried_or_aborted(stage: Stage) -> None:
    failed = WORKFLOW.advance(STAGES[stage], AttemptFailed("ProviderDown", "529", "raw"))
    (ask,) = WORKFLOW.pending(failed)
    assert isinstance(ask, AskPerson)
    assert (ask.step, ask.expects) == ("failed", "529. What now?")
    labels = {choice.id: choice.label.split()[0] for choice in ask.choices}
    assert (labels["try-again"], labels["stop"]) == ("Retry", "Abort")
    assert WORKFLOW.record(failed, ask, PersonAnswered(choice="try-again")) == TriedAgain()
    assert WORKFLOW.advance(failed, TriedAgain()).stage is stage
    assert WORKFLOW.record(failed, ask, PersonAnswered(choice="stop")) == Stopped()


def test_costs_add_up_as_far_as_they_are_known() -> None:
    assert planned().state.total_cost == pytest.approx(0.01 + 1.0 + 2.0)


# -- the table -----------------------------------------------------------------------------------

EVENTS: dict[type, WorkflowEvent] = {
    WorkflowOpened: OPENED,
    Restored: Restored(dict(snapshot(split().state))),
    NextBegun: NextBegun(dict(snapshot(split().state))),
    RestQueued: RestQueued(()),
    DesignWritten: DesignWritten("moot/designs/x.md"),
    BatchPlanned: BatchPlanned("x"),
    BatchReviewed: BatchReviewed("APPROVED"),
    DesignReady: DesignReady(),
    RevisionWanted: RevisionWanted(),
    BatchRevised: BatchRevised(),
    PlanLaidOut: PlanLaidOut(PLAN),
    PlanApproved: PlanApproved(),
    ReviewWanted: ReviewWanted(),
    CommitsChosen: CommitsChosen(wanted=False),
    CommandConfirmed: CommandConfirmed("make test"),
    CommandKept: CommandKept("make test"),
    PlanWritingBegun: PlanWritingBegun("discuss"),
    PlanWritingDropped: PlanWritingDropped(),
    PlanQuestioned: PlanQuestioned("Why?"),
    PlanDiscussed: PlanDiscussed("So.", "", BILL),
    DiscussionDropped: DiscussionDropped(),
    DesignReopened: DesignReopened(Step.DESIGN),
    BranchedOff: BranchedOff("moot-build-x"),
    NotBranchedOff: NotBranchedOff("no commit yet"),
    BatchBuilt: BatchBuilt(complete=True),
    Reopened: Reopened(),
    WorkspaceChecked: WorkspaceChecked(),
    UncommittedAccepted: UncommittedAccepted(),
    StashWanted: StashWanted(),
    BranchWanted: BranchWanted(),
    WorkStashed: WorkStashed("moot: x", ("half.py",)),
    BranchCreated: BranchCreated("moot-x"),
    NotSetAside: NotSetAside("no commit yet"),
    BuildResumed: BuildResumed(),
    TaskSkipped: TaskSkipped(),
    CommentBegun: CommentBegun(),
    CommentDropped: CommentDropped(),
    RollBackWanted: RollBackWanted(),
    RollBackDropped: RollBackDropped(),
    TaskRolledBack: TaskRolledBack(),
    WorkspaceScouted: WorkspaceScouted("Files."),
    ScopeReassessed: ScopeReassessed("As planned.", (), BILL),
    ReassessmentPassed: ReassessmentPassed(),
    AdjustmentBegun: AdjustmentBegun(),
    AdjustmentDropped: AdjustmentDropped(),
    AdjustmentAsked: AdjustmentAsked("less"),
    PlanKept: PlanKept(),
    Continued: Continued(),
    EndedHere: EndedHere(),
    WorkflowFinalized: WorkflowFinalized(),
    ArchiveChosen: ArchiveChosen(),
    ChangesArchived: ChangesArchived(("change-0",)),
    NextChosen: NextChosen(),
    QueueFoundEmpty: QueueFoundEmpty(),
    QueueLeft: QueueLeft(),
    AttemptFailed: AttemptFailed("ProviderDown", "529"),
    TriedAgain: TriedAgain(),
    Stopped: Stopped(),
    Resumed: Resumed(),
}


def test_every_event_is_known_to_these_tests() -> None:
    assert set(EVENTS) | set(get_args(BrainstormEvent)) == set(get_args(OwnEvent))
    assert {kind for _, kind in TRANSITIONS} == set(get_args(OwnEvent))


@pytest.mark.parametrize("stage", Stage)
def test_what_the_table_does_not_allow_raises_and_names_what_it_does(stage: Stage) -> None:
    allowed = {kind for at_, kind in TRANSITIONS if at_ is stage}
    for kind, event in EVENTS.items():
        if kind in allowed:
            continue
        with pytest.raises(IllegalMove) as refused:
            WORKFLOW.advance(STAGES[stage], event)
        assert set(refused.value.allowed) == {each.__name__ for each in allowed}


def test_building_comes_after_an_approving_review_and_after_nothing_else() -> None:
    into = {(stage, kind) for (stage, kind), to in TRANSITIONS.items() if Stage.BUILDING in targets(to)}
    looked = (Reopened, WorkspaceChecked, UncommittedAccepted, BranchCreated)
    returning = (Restored, Resumed, QueueLeft, TriedAgain, *looked)
    by_restoring = {(stage, kind) for stage, kind in into if kind in returning}
    assert into - by_restoring == {
        (Stage.LAYING_OUT, PlanLaidOut),
        (Stage.AT_PLAN, PlanApproved),
        (Stage.BRANCHING_OFF, BranchedOff),
        (Stage.AT_OPEN_TASKS, BuildResumed),
        (Stage.AT_OPEN_TASKS, TaskSkipped),
        (Stage.COMMENTING, BuildResumed),
    }
    for verdict in ("NEEDS_REVISION", "REJECTED"):
        reviewed = WORKFLOW.advance(STAGES[Stage.REVIEWING], BatchReviewed(verdict))
        assert reviewed.stage in (Stage.REVISING, Stage.LAYING_OUT)
        refused = WORKFLOW.advance(STAGES[Stage.REVIEWING], BatchReviewed("REJECTED"))
        for unattended in (False, True):
            laid_out = WORKFLOW.advance(refused, replace(REFUSED, unattended=unattended))
            assert laid_out.stage is Stage.AT_VERDICT


# -- any way through it --------------------------------------------------------------------------

SCOPES = st.sampled_from(
    [{}, {"batches": BATCHES}, {"splits": SPLITS}, {"batches": BATCHES, "splits": SPLITS}]
)


def _laid_out(laid_out: PlanLaidOut, state: WorkflowState) -> PlanLaidOut:
    """Nobody has approved elsewhere what the review has not."""
    return laid_out if state.verdict == "APPROVED" else REFUSED


OUTCOMES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "CheckWorkspace": st.sampled_from([CLEAN, DIRTY]),
        "ReviewPlan": st.sampled_from([APPROVED, NEEDS_REVISION, REJECTED]),
        "LayOutPlan": st.sampled_from(
            [
                partial(_laid_out, one)
                for one in (PlanLaidOut(TESTABLE), PlanLaidOut(PLAN, unattended=True), REFUSED)
            ]
        ),
        "BuildBatch": st.sampled_from([BatchBuilt(complete=True), BatchBuilt(complete=False), FAILED_TASK]),
        "FinalizeWorkflow": st.sampled_from(
            [
                WorkflowFinalized(),
                WorkflowFinalized(("One",)),
                WorkflowFinalized(("One",), TO_ARCHIVE),
            ]
        ),
        "TakeNext": st.sampled_from(
            [
                QueueFoundEmpty(),
                NextBegun(dict(queue_change(split().put(LevelConfirmed("complex")).state).add[0])),
            ]
        ),
        "workflow/reassess": st.sampled_from(
            [
                {"assessment": "Less.", "batches": []},
                {"assessment": "Another.", "batches": [{"title": "Docs", "description": "Write them."}]},
            ]
        ),
    }
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_way_through_a_workflow_resumes_identically_and_builds_only_what_was_approved(
    data: st.DataObject,
) -> None:
    scope = triage("straightforward", **data.draw(SCOPES))
    play = Play({"brainstorm/triage": scope}, finds_code=False).put(OPENED)
    approved: set[tuple[str, int]] = set()
    for _ in range(data.draw(st.integers(1, 60))):
        if not play.effects:
            break
        play.replies.update(data.draw(OUTCOMES))
        before = play.state
        effect = play.effects[0]
        if isinstance(effect, BuildBatch):
            assert (before.id, before.current_batch) in approved, "a review came first, and it approved"
        if isinstance(effect, AskPerson):
            play.put(WORKFLOW.record(before, effect, data.draw(_answers(effect))))
        elif data.draw(st.integers(0, 9)) == 9:
            play.fail()
        else:
            play.perform()
        last = play.events[-1]
        if isinstance(last, BatchReviewed | BatchRevised):
            approved.discard((before.id, before.current_batch))
        if isinstance(last, BatchReviewed) and last.verdict == "APPROVED":
            approved.add((before.id, before.current_batch))
        if isinstance(last, Stopped):
            assert play.effects == ()
            play.put(Resumed())
        assert play.state.stage in targets(TRANSITIONS[before.stage, type(last)]) or isinstance(last, Stopped)
        killed = WORKFLOW.advance(WORKFLOW.initial, restored(snapshot(play.state)))
        # A command that was confirmed and not kept yet is confirmed again: no file can say that it was.
        assert killed == replace(play.state, tests_chosen="")
        assert WORKFLOW.pending(killed) == play.effects or play.state.tests_chosen


def _answers(ask: AskPerson) -> st.SearchStrategy[PersonAnswered]:
    if ask.step == "comment":
        return st.just(PersonAnswered("words"))
    return st.sampled_from(ask.choices).map(
        lambda choice: PersonAnswered("" if choice.takes is Takes.NOTHING else "hm", choice.id)
    )


# -- papers --------------------------------------------------------------------------------------


def test_the_design_document_tells_what_was_decided() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "finish", "approach-1", "skip")
    text = design_document(play.state)
    assert text.startswith(
        f"# {IDEA}\n\n## Idea\n\n{IDEA}\n\n## Assessment\n\nNeeds exploration. It is exploration."
    )
    assert "PostgreSQL" in text
    assert "## Approach: Way 1" in text
    assert "- Decided: exploration Strip ANSI codes in the review parser 0? PostgreSQL (the person" in text
    assert (
        "Rejected: Approach: Way 2. It was recommended because it is plain; the person took 'Way 1'." in text
    )
    assert "## Part 0" in text


def test_the_description_of_a_batch_reaches_the_planner() -> None:
    play = in_batches()
    begun = next(n for n, event in enumerate(play.events) if isinstance(event, DesignWritten))
    first = brief(WORKFLOW.fold(play.events[:begun]))
    assert first.startswith("Batch 1 of 2: Test baseline\n\nKnow what fails today.")
    assert f"Its other parts are not this change's:\n{IDEA}\n" in first, (
        "what holds for all of it counts here"
    )
    assert "later ones do it:\n- Cross-task validation: Wire it into execute." in first
    second = brief(play.put(Continued()).state)
    assert second.startswith("Batch 2 of 2: Cross-task validation\n\nWire it into execute.")
    assert "build on it:\n- Test baseline" in second
    assert "After the batch before this one:\nAs planned." in second


def test_a_long_design_binds_whole_beside_a_short_brief() -> None:
    long = {"sections": [{"title": "Long", "content": "word " * 1_600 + "end"}] * 4}
    play = at(Step.DESIGN, **{"brainstorm/design": long}).choose("skip")
    assert len(brief(play.state)) < 1_000
    assert "that this is a part of" not in brief(play.state)
    assert binding(play.state).design.count("word end") == 4


def test_a_change_has_the_same_id_whenever_it_is_asked_for() -> None:
    state = in_batches().state
    assert change_id(state) == change_id(state)
    assert change_id(state).startswith("test-baseline-")
    other = WORKFLOW.advance(WORKFLOW.initial, restored({**snapshot(state), "id": "w-2"}))
    assert change_id(other) != change_id(state)


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_title_gives_an_id(text: str) -> None:
    assert msgspec.convert(slug(text), type=str)
    assert slug(text).strip("-abcdefghijklmnopqrstuvwxyz0123456789") == ""
    assert not slug(text).startswith("-")
    assert len(slug(text)) <= 48


def test_a_queued_workflow_is_named_by_its_idea() -> None:
    assert title_of({"userDescription": "Help\n texts"}) == "Help texts"
    assert title_of({}) == ""


def test_an_outcome_that_makes_no_sense_is_a_mistake_of_ours() -> None:
    play = at(Step.TRIAGE)
    with pytest.raises(AssertionError):
        WORKFLOW.record(play.state, play.asked, TaskDone({}))


def test_a_task_leads_to_the_events_that_it_names_and_to_no_other() -> None:
    planning = STAGES[Stage.PLANNING]
    (task,) = WORKFLOW.pending(planning)
    planned = BatchPlanned("passkeys")
    assert WORKFLOW.record(planning, task, TaskDone(planned)) is planned
    with pytest.raises(AssertionError, match="PlanBatch"):
        WORKFLOW.record(planning, task, TaskDone(APPROVED))
    taking = STAGES[Stage.TAKING_NEXT]
    (task,) = WORKFLOW.pending(taking)
    assert WORKFLOW.record(taking, task, TaskDone(QueueFoundEmpty())) == QueueFoundEmpty()
    with pytest.raises(AssertionError, match="TakeNext"):
        WORKFLOW.record(taking, task, TaskDone(QueueLeft()))


# -- what is too much ----------------------------------------------------------------------------


@given(raw=st.text(min_size=1).map(lambda text: text * 9000), message=st.text(max_size=3))
def test_a_useless_reply_is_never_kept_whole(raw: str, message: str) -> None:
    play = Play().put(OPENED).perform().perform()
    (effect,) = play.effects
    event = WORKFLOW.record(play.state, effect, DraftFailed("DraftInvalid", message + raw, raw))
    assert isinstance(event, AttemptFailed)
    assert len(event.raw) < 5000
    assert len(event.message) < 5000
    assert event.raw[:100] == raw[:100]


# -- the end -------------------------------------------------------------------------------------


def test_what_was_built_whole_is_offered_to_be_archived_and_once_is_enough() -> None:
    play = planned(FinalizeWorkflow=WorkflowFinalized(summary=TO_ARCHIVE))
    assert (play.state.finished, play.ids, play.asked.optional) == (True, ("archive",), True)
    play.choose("archive")
    assert (play.done[-1], play.effects, play.state.to_archive) == ("ArchiveChanges", (), ())
    with pytest.raises(IllegalMove):
        play.put(ArchiveChosen())


def test_what_contradicts_what_holds_stays_and_is_said() -> None:
    play = planned(FinalizeWorkflow=WorkflowFinalized(("Help texts",), TO_ARCHIVE))
    assert play.ids == ("begin-next", "archive")
    play.replies["ArchiveChanges"] = ChangesArchived((), "R1 was changed by somebody else.\nSee moot/specs.")
    play.choose("archive")
    assert play.asked.expects == "R1 was changed by somebody else. What now?"
    assert (play.ids, play.state.to_archive) == (("begin-next", "archive"), ("change-0",))


def test_done_is_said_only_where_nothing_is_open() -> None:
    whole, half = BatchSummary("One", "one", 2, 2), BatchSummary("Two", "two", 1, 2, ("Test it",))
    done = planned(FinalizeWorkflow=WorkflowFinalized(summary=Summary((whole,)))).state
    assert headline(done) == "Done: 1 of 1 batch complete"
    skipped = replace(done, summary=Summary((half,)))
    assert headline(skipped) == "Ended, and not done: 1 of 1 batch complete; 1 task is open"
    ended = in_batches(FinalizeWorkflow=WorkflowFinalized(summary=Summary((whole,)))).choose("end-here").state
    assert headline(ended) == "Ended, and not done: 1 of 2 batches complete"


def test_the_end_says_what_shows_each_task_and_what_nobody_has_tested_or_reviewed() -> None:
    built = BatchSummary(
        "One", "one", 2, 3, ("Ship it",), ("Do it: 1 file, +1 -0; NOT TESTED",), 2, 1, "2 files, +3 -0"
    )
    assert list(in_words(Summary((built, BatchSummary("Two", ""))))) == [
        "Batch 1, One: 2 of 3 tasks; 2 files, +3 -0",
        "  Do it: 1 file, +1 -0; NOT TESTED",
        "  open: Ship it",
        "Batch 2, Two: not begun",
        "NOT TESTED: no command has shown that 2 tasks work.",
        "NOT REVIEWED: nobody has looked at what was done for 1 task.",
    ]


# -- ending before the last batch ----------------------------------------------------------------


def test_stopping_here_ends_the_workflow_and_lets_the_queue_go_on() -> None:
    play = in_batches(FinalizeWorkflow=HELP_WAITS)
    assert play.asked.choices[-2:] == (
        Choice("end-here", "Stop here – the other batches are not done, and the queue goes on"),
        Choice("stop", "Stop – everything is saved, and can be resumed"),
    )
    play.choose("end-here")
    assert (play.state.phase, play.asked.step) == (Phase.DONE, "next")
    assert [batch.status for batch in play.state.batches] == ["complete", "pending"]
