"""The stop before building: nothing is built before the person has seen the plan and said so, unless they
have said beforehand that they need not be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from moot.brainstorm.state import Step
from moot.cli.menu_lines import read_line, shown
from moot.core.flow import PersonAnswered
from moot.errors import IllegalMove, InvalidInput
from moot.workflow.events import (
    Batch,
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    CommandKept,
    DesignWritten,
    FoundTest,
    NotBranchedOff,
    Plan,
    PlanLaidOut,
    Reopened,
)
from moot.workflow.flow import WORKFLOW
from moot.workflow.menu import CommandConfirmed, CommitsChosen, DesignReopened, PlanApproved, plan_in_words
from moot.workflow.snapshot import restored, snapshot
from moot.workflow.state import Phase, Stage, WorkflowState
from tests.support.workflow import BATCHES, IDEA, PLAN, Play, at, due, triage, whole

ASKED = PlanLaidOut(PLAN)


def stopped(**replies: Any) -> Play:
    """At the plan of the first batch, by the longest way."""
    return approved(at(Step.DESIGN, **{"LayOutPlan": ASKED, **replies}))


def approved(play: Play) -> Play:
    """Section by section."""
    while play.effects and play.asked.step == "design":
        play.choose("approve")
    return play


def work(play: Play) -> list[str]:
    begun = play.done.index("WriteDesign")
    return [name for name in play.done[begun:] if name != "CheckWorkspace"]


def test_an_approved_plan_is_not_built_before_the_person_says_so() -> None:
    play = stopped()
    assert work(play) == ["WriteDesign", "PlanBatch", "ReviewPlan", "LayOutPlan"]
    assert (play.asked.step, play.asked.expects) == ("plan", "whether this plan is built (2 tasks)")
    assert play.ids == (
        "build", "build-on-branch", "revise", "discuss", "to-design", "to-approaches", "stop",
    )  # fmt: skip
    assert play.choose("build").state.finished
    assert work(play)[-2:] == ["BuildBatch", "FinalizeWorkflow"]


def test_only_the_person_themselves_can_have_it_built() -> None:
    theirs = {choice.id for choice in stopped().asked.choices if choice.in_person}
    assert theirs == {"build", "build-on-branch"}


def test_every_batch_stops_before_it_is_built() -> None:
    play = Play({"brainstorm/triage": triage(batches=BATCHES), "LayOutPlan": ASKED}).open().choose("skip")
    play.choose("build", "next-batch")
    assert (play.state.current_batch, play.asked.step) == (1, "plan")
    assert play.done.count("BuildBatch") == 1


def test_whoever_wants_no_questions_is_asked_none() -> None:
    play = stopped(LayOutPlan=PlanLaidOut(PLAN, unattended=True))
    assert play.state.finished


def test_what_is_laid_out_says_tasks_issues_cost_and_that_nothing_is_tested() -> None:
    plan = replace(PLAN, issues=("I1 (Medium): No limit.",), untested="NOTHING IS TESTED")
    told = plan_in_words(plan).splitlines()
    assert told == [
        "Codes are stripped.",
        "Tasks:",
        "  1. Strip them",
        "  2. Test it",
        "Open issues:",
        "  I1 (Medium): No limit.",
        "Building it: 2 tasks",
        "NOTHING IS TESTED",
    ]
    assert plan_in_words(replace(plan, tests="make test")).endswith("After each task: make test")


# -- revised and discussed -----------------------------------------------------------------------


def test_a_plan_is_revised_with_a_comment_and_reviewed_and_laid_out_again() -> None:
    wishes: list[str] = []

    def revised(state: WorkflowState) -> BatchRevised:
        wishes.append(state.wishes)
        return BatchRevised()

    play = stopped(RevisePlan=revised)
    play.choose("revise: fewer tasks")
    assert (work(play)[-3:], wishes) == (["RevisePlan", "ReviewPlan", "LayOutPlan"], ["fewer tasks"])
    assert (play.asked.step, play.state.revisions) == ("plan", 1)
    play.choose("revise")
    assert (play.asked.step, play.asked.expects) == ("comment", "what should be different")
    assert play.choose("back").asked.step == "plan"
    play.choose("revise").write("none at all")
    assert wishes[-1] == "none at all"


def test_a_plan_is_discussed_with_all_that_is_known_and_nothing_changes_by_it() -> None:
    play = stopped()
    before = play.state
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered("Why two?", "discuss")))
    said = whole(due(play.state))
    for known in ("# Strip", "Why two?", "Made from", "The reviewer says APPROVED: Sound.", "2 tasks"):
        assert known in said, known
    play.settle()
    assert (play.asked.step, play.state.plan, play.state.verdict) == ("plan", before.plan, "APPROVED")
    assert [(one.speaker, one.content) for one in play.talk.conversation_log][-2:] == [
        ("person", "Why two?"),
        ("brainstormer", "It is in task 2.\nIt would have revised: Put it first."),
    ]
    revise = next(choice for choice in play.asked.choices if choice.id == "revise")
    assert revise.suggestions == ("Put it first.",)
    assert read_line(play.asked, "R 1") == PersonAnswered("Put it first.", "revise")


def test_a_discussion_that_fails_can_be_done_without() -> None:
    play = stopped()
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered("Why two?", "discuss"))).fail()
    assert play.ids == ("try-again", "back", "stop")
    assert play.choose("back").asked.step == "plan"


# -- back ----------------------------------------------------------------------------------------


def test_back_to_the_design_and_on_leads_to_the_same_change_again() -> None:
    play = stopped()
    play.choose("to-design")
    assert (play.state.phase, play.asked.step) == (Phase.BRAINSTORM, "design")
    approved(play.choose("revise: two passes"))
    assert work(play)[-4:] == ["WriteDesign", "PlanBatch", "ReviewPlan", "LayOutPlan"]
    assert (play.asked.step, play.state.batches) == ("plan", (Batch(IDEA, IDEA, "active", "change-0"),))


def test_a_design_that_was_only_looked_at_is_not_written_again() -> None:
    play = stopped()
    path = play.state.design_path
    play.choose("to-design", "approve")
    assert play.asked.step == "plan"
    assert (play.state.design_path, play.done.count("WriteDesign")) == (path, 1)


def test_back_to_the_approaches_walks_on_from_there() -> None:
    play = stopped().choose("to-approaches")
    assert play.asked.step == "approaches"
    play.choose("approach-1")
    assert play.asked.step == "design", "it is as it was: nothing is asked for again"
    assert play.choose("back", "approach-2").done.count("brainstorm/design") == 2


def test_the_plan_is_made_again_for_what_was_gone_back_for_and_for_nothing_else() -> None:
    seen: list[bool] = []

    def planned(state: WorkflowState) -> BatchPlanned:
        seen.append(state.plan_again)
        return BatchPlanned(f"change-{state.current_batch}")

    play = stopped(PlanBatch=planned)
    play.choose("to-design", "approve", "build")
    assert seen == [False, True]
    assert play.state.plan_again is False


def test_what_was_built_stays_built_when_the_design_is_gone_back_to() -> None:
    play = Play({"brainstorm/triage": triage("straightforward", batches=BATCHES), "LayOutPlan": ASKED}).open()
    play.choose("agree", "approve", "build", "next-batch", "to-design", "approve")
    assert (play.asked.step, play.state.current_batch) == ("plan", 1)
    assert [(one.status, one.change_id) for one in play.state.batches] == [
        ("complete", "change-0"),
        ("active", "change-1"),
    ]
    assert play.done.count("BuildBatch") == 1


def test_there_is_no_way_back_to_what_was_never_visited() -> None:
    play = Play({"brainstorm/triage": triage(), "LayOutPlan": ASKED}).open().choose("skip")
    assert [one for one in play.ids if one.startswith("to-")] == ["to-triage"]
    with pytest.raises(IllegalMove):
        play.put(DesignReopened(Step.DESIGN))
    assert play.choose("to-triage").asked.step == "triage"


# -- what is run ---------------------------------------------------------------------------------

FOUND = (FoundTest("make test", "Makefile"), FoundTest("tox", "tox.ini"))


def test_a_test_command_is_confirmed_once_exactly_as_it_was_found() -> None:
    play = stopped(LayOutPlan=PlanLaidOut(replace(PLAN, found=FOUND)))
    offered = [choice for choice in play.asked.choices if choice.id.startswith("tests-")]
    assert [(one.id, one.label, one.in_person) for one in offered] == [
        ("tests-1", "Run this after each task: make test (found in Makefile)", True),
        ("tests-2", "Run this after each task: tox (found in tox.ini)", True),
    ]
    kept: list[str] = []

    def keep(state: WorkflowState) -> CommandKept:
        kept.append(state.tests_chosen)
        return CommandKept(state.tests_chosen)

    play.replies["KeepTests"] = keep
    play.replies["LayOutPlan"] = PlanLaidOut(replace(PLAN, tests="tox"))
    play.choose("tests-2")
    assert kept == ["tox"]
    assert (play.asked.step, play.state.plan) == ("plan", replace(PLAN, tests="tox"))
    assert not any(one.startswith("tests-") for one in play.ids)
    with pytest.raises(IllegalMove):
        play.put(CommandConfirmed("rm -rf ."))


def test_no_file_can_say_that_a_command_was_confirmed() -> None:
    play = stopped(LayOutPlan=PlanLaidOut(replace(PLAN, found=FOUND))).put(CommandConfirmed("tox"))
    assert play.state.stage is Stage.KEEPING_TESTS
    assert "tox" not in json.dumps({**snapshot(play.state), "plan": None})
    forged = {**snapshot(play.state), "testsChosen": "make evil"}
    assert WORKFLOW.fold([restored(forged)]).stage is Stage.AT_PLAN


# -- where it is built ---------------------------------------------------------------------------


def test_it_is_built_on_a_new_branch_where_git_can() -> None:
    play = stopped().choose("build-on-branch")
    assert work(play)[-3:] == ["BranchOff", "BuildBatch", "FinalizeWorkflow"]
    assert play.state.build_branch == "moot-build-x-1234"
    play = stopped(LayOutPlan=PlanLaidOut(replace(PLAN, can_branch=False)))
    assert "build-on-branch" not in play.ids
    with pytest.raises(IllegalMove):
        play.put(PlanApproved(on_branch=True))


def test_each_task_becomes_a_commit_if_the_person_wants_it_and_nothing_else_would_be_taken_along() -> None:
    seen: list[bool] = []

    def build(state: WorkflowState) -> BatchBuilt:
        seen.append(state.commit_tasks)
        return BatchBuilt(complete=True)

    clean = PlanLaidOut(replace(PLAN, can_commit=True))
    play = stopped(LayOutPlan=clean, BuildBatch=build).choose("commit-tasks")
    assert "no-commits" in play.ids
    play.choose("no-commits", "commit-tasks", "build")
    assert seen == [True]
    play = stopped(LayOutPlan=clean).choose("commit-tasks")
    play.replies["LayOutPlan"] = ASKED
    assert play.put(Reopened()).settle().state.commit_tasks is False
    with pytest.raises(IllegalMove):
        play.put(CommitsChosen(wanted=True))


def test_a_branch_that_cannot_be_created_is_said_and_nothing_is_built() -> None:
    play = stopped()
    play.put(PlanApproved(on_branch=True)).fail()
    assert play.asked.expects == "it is gone. What now?"
    assert isinstance(play.events[-1], NotBranchedOff)
    assert "BuildBatch" not in play.done


# -- the files are what is approved --------------------------------------------------------------


def test_a_plan_that_was_changed_since_its_review_is_reviewed_again_or_not_built() -> None:
    changed = replace(PLAN, obstacle="Change 'x' is not approved as it is: tasks.md")
    play = stopped(LayOutPlan=PlanLaidOut(changed, unattended=True))
    assert play.asked.expects == "Change 'x' is not approved as it is: tasks.md. What now?"
    assert play.ids[0] == "review"
    with pytest.raises(IllegalMove):
        play.put(PlanApproved())
    play.replies["LayOutPlan"] = ASKED
    assert play.choose("review").ids[0] == "build"
    assert play.done.count("ReviewPlan") == 2


def test_what_the_person_has_approved_elsewhere_can_be_built() -> None:
    rejected = BatchReviewed("REJECTED", "No.")
    obstacle = replace(PLAN, obstacle="its last review says REJECTED")
    play = stopped(ReviewPlan=rejected, LayOutPlan=PlanLaidOut(obstacle))
    assert play.asked.step == "verdict"
    play.replies["LayOutPlan"] = ASKED
    assert play.put(Reopened()).settle().ids[0] == "build"


def test_whoever_comes_back_sees_it_as_it_is_now() -> None:
    play = stopped()
    play.replies["LayOutPlan"] = PlanLaidOut(Plan("Codes go.", ("One task",)))
    play.put(Reopened()).settle()
    assert play.state.plan == Plan("Codes go.", ("One task",))


def test_a_file_with_an_approved_review_and_nothing_built_stops_before_building() -> None:
    saved = json.loads(json.dumps(snapshot(stopped().state)))
    del saved["plan"]
    state = WORKFLOW.fold([restored(saved)])
    assert (state.phase, state.stage) == (Phase.REVIEW, Stage.LAYING_OUT)


def test_a_reply_for_another_step_builds_nothing() -> None:
    play = stopped()
    assert [key for key, _ in shown(play.asked)] == ["A", "AB", "R", "D", "B", "BA", "X"]
    for line in ("1", "yes", "S", "E", "K"):
        with pytest.raises(InvalidInput):
            read_line(play.asked, line)


def test_the_design_is_written_where_it_was_changed() -> None:
    play = stopped()
    play.replies["WriteDesign"] = DesignWritten("moot/designs/2026-11-15-strip-2.md")
    approved(play.choose("to-design", "revise: two passes"))
    assert play.state.design_path.endswith("-2.md")
