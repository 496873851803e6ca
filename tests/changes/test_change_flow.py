"""A change as a session: what may be chosen when, and that nothing is done but what was chosen."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.changes import flow
from moot.changes.flow import (
    CHANGE,
    CUT_OFF,
    STOPPED,
    TRANSITIONS,
    AbandonmentChosen,
    ApprovalChosen,
    ArchiveChosen,
    ChallengeChosen,
    ChangeApproved,
    ChangeEvent,
    ChangeGone,
    ChangeReopened,
    CommandConfirmed,
    ConfirmationChosen,
    DismissalChosen,
    DraftChosen,
    FilesRead,
    ImplementationChosen,
    IssueDismissed,
    ProposalDrafted,
    ProposalRevised,
    ReopeningChosen,
    ReviewCounted,
    RevisionChosen,
    RollBackChosen,
    SessionState,
    Step,
    TaskRolledBack,
    TasksBuilt,
    WorkBegun,
    WorkCutOff,
    WorkEnded,
    WorkFailed,
    WorkStopped,
    choices,
)
from moot.changes.phases import Phase
from moot.changes.review_block import Issue, Severity
from moot.changes.standing import FailedTask, Files, Obstacles, OpenIssue, Standing
from moot.core.flow import AskPerson, Outcome, PersonAnswered, Takes, Task, TaskDone
from moot.errors import IllegalMove, InvalidInput
from moot.repo.testing import Found

ISSUE = OpenIssue(2, Issue(Severity.HIGH, "No scenario for a lost passkey.", "specs/sign-in.md", "Add one."))
NO_APPROVAL = "Change 'feat-auth' is not approved as it is: its last review says NEEDS_REVISION"


def files(phase: Phase | str, *, obstacles: Obstacles = Obstacles(), **more: Any) -> Files:  # noqa: B008
    issues = more.pop("issues", (ISSUE,))
    return Files(f"{phase} {more}", Standing("feat-auth", str(phase), **more), True, issues, obstacles)


PROPOSED = files(Phase.PROPOSED)
UNDRAFTED = files(Phase.PROPOSED, obstacles=Obstacles(ready="proposal.md:1: the file is missing"), issues=())
CHALLENGED = files(Phase.CHALLENGED, issues=())
COMPLETE = files(Phase.COMPLETE, issues=())
FAILED = replace(
    files(Phase.IMPLEMENTING, issues=()),
    failed=FailedTask(2, "Send links", "2 tests fail", can_roll_back=True),
)
FOUND = replace(CHALLENGED, tests=(Found("tox", "tox.ini"), Found("make test", "Makefile")))

EVENTS: dict[type, ChangeEvent] = {
    type(event): event
    for event in (
        FilesRead(PROPOSED),
        ChangeGone("It is now in moot/archive/feat-auth"),
        DraftChosen("People sign in with a passkey."),
        ChallengeChosen(),
        RevisionChosen("Simpler."),
        ImplementationChosen(),
        ArchiveChosen(),
        ApprovalChosen("Good enough."),
        DismissalChosen(2, "Later."),
        ReopeningChosen(),
        AbandonmentChosen("Nobody wants it."),
        ConfirmationChosen("make test"),
        RollBackChosen(),
        WorkBegun("server-1"),
        ProposalDrafted(PROPOSED, "Drafted."),
        ReviewCounted(CHALLENGED, "APPROVED"),
        ProposalRevised(PROPOSED, "Revised."),
        TasksBuilt(COMPLETE, "2 done, 0 left"),
        ChangeApproved(CHALLENGED, "Approved."),
        IssueDismissed(PROPOSED, "Dismissed."),
        ChangeReopened(PROPOSED, "Reopened."),
        CommandConfirmed(CHALLENGED, "Kept."),
        TaskRolledBack(FAILED, "Rolled back: app.py"),
        WorkFailed(PROPOSED, problem="No key."),
        WorkCutOff(PROPOSED, problem=CUT_OFF),
        WorkStopped(),
    )
}
WHERE: dict[type, Files] = {
    DraftChosen: UNDRAFTED,
    ChallengeChosen: PROPOSED,
    RevisionChosen: PROPOSED,
    ImplementationChosen: CHALLENGED,
    ArchiveChosen: COMPLETE,
    ApprovalChosen: PROPOSED,
    DismissalChosen: PROPOSED,
    ReopeningChosen: COMPLETE,
    AbandonmentChosen: PROPOSED,
    ConfirmationChosen: FOUND,
    RollBackChosen: FAILED,
}
"""What the files say where it may be chosen."""

AT_WORK = {
    Step.DRAFTING: (DraftChosen, flow.DraftProposal, ProposalDrafted),
    Step.CHALLENGING: (ChallengeChosen, flow.ChallengeChange, ReviewCounted),
    Step.REVISING: (RevisionChosen, flow.ReviseProposal, ProposalRevised),
    Step.IMPLEMENTING: (ImplementationChosen, flow.ImplementChange, TasksBuilt),
    Step.ARCHIVING: (ArchiveChosen, flow.ArchiveChange, ChangeGone),
    Step.APPROVING: (ApprovalChosen, flow.ApproveChange, ChangeApproved),
    Step.DISMISSING: (DismissalChosen, flow.DismissIssue, IssueDismissed),
    Step.REOPENING: (ReopeningChosen, flow.ReopenChange, ChangeReopened),
    Step.ABANDONING: (AbandonmentChosen, flow.AbandonChange, ChangeGone),
    Step.CONFIRMING: (ConfirmationChosen, flow.KeepTestCommand, CommandConfirmed),
    Step.ROLLING_BACK: (RollBackChosen, flow.RollBackTask, TaskRolledBack),
}


def resting(found: Files = PROPOSED) -> SessionState:
    return CHANGE.fold([FilesRead(found)])


def chosen(kind: type) -> SessionState:
    return CHANGE.advance(resting(WHERE[kind]), EVENTS[kind])


def state_at(step: Step, event: type) -> SessionState:
    """Where that event may happen, if it may at that step."""
    match step:
        case Step.UNOPENED:
            return CHANGE.initial
        case Step.RESTING:
            return resting(WHERE.get(event, PROPOSED))
        case Step.GONE:
            return CHANGE.fold([FilesRead(PROPOSED), EVENTS[ChangeGone]])
        case _:
            return chosen(AT_WORK[step][0])


def ids(state: SessionState) -> list[str]:
    return [choice.id for choice in choices(state)]


def asked(state: SessionState) -> AskPerson:
    (ask,) = CHANGE.pending(state)
    assert isinstance(ask, AskPerson)
    return ask


# -- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "kind"), TRANSITIONS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_each_legal_event_leads_where_the_table_says(step: Step, kind: type) -> None:
    state = state_at(step, kind)
    assert state.step is step
    assert CHANGE.advance(state, EVENTS[kind]).step is TRANSITIONS[step, kind]


ILLEGAL = [pair for pair in itertools.product(Step, EVENTS) if pair not in TRANSITIONS]


@pytest.mark.parametrize(("step", "kind"), ILLEGAL, ids=lambda part: getattr(part, "__name__", str(part)))
def test_each_illegal_event_raises_and_changes_nothing(step: Step, kind: type) -> None:
    state = state_at(step, kind)
    with pytest.raises(IllegalMove) as raised:
        CHANGE.advance(state, EVENTS[kind])
    assert raised.value.allowed == tuple(event.__name__ for at, event in TRANSITIONS if at is step)
    assert state == state_at(step, kind)


def test_the_table_has_every_step_and_every_event() -> None:
    assert {step for step, _ in TRANSITIONS} == set(Step)
    assert {kind for _, kind in TRANSITIONS} == set(EVENTS)


# -- what may be chosen --------------------------------------------------------------------------

OFFERED = {
    Phase.PROPOSED: ["challenge", "revise", "dismiss-2", "approve", "abandon"],
    Phase.CHALLENGED: ["challenge", "revise", "implement", "dismiss-2", "approve", "reopen", "abandon"],
    Phase.IMPLEMENTING: ["challenge", "revise", "implement", "dismiss-2", "approve", "reopen", "abandon"],
    Phase.COMPLETE: ["archive", "reopen", "abandon"],
    # One that says so and was not moved: the command is called again.
    Phase.ARCHIVED: ["archive"],
    Phase.REJECTED: ["challenge", "revise", "archive", "dismiss-2", "approve", "reopen", "abandon"],
}


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_offers_what_its_commands_allow(phase: Phase) -> None:
    ask = asked(resting(files(phase)))
    assert [choice.id for choice in ask.choices] == OFFERED[phase]
    assert (ask.step, ask.hint, ask.optional, ask.free_text) == (phase, "", True, False)


@pytest.mark.parametrize(("phase", "kind"), list(itertools.product(Phase, WHERE)))
def test_what_is_not_offered_cannot_happen(phase: Phase, kind: type) -> None:
    state, event = resting(files(phase)), EVENTS[kind]
    if any(offered.partition("-")[0] == kind.choice for offered in OFFERED[phase]):  # type: ignore[attr-defined]
        assert CHANGE.advance(state, event).chosen == event
        return
    with pytest.raises(IllegalMove) as raised:
        CHANGE.advance(state, event)
    assert raised.value.allowed == tuple(OFFERED[phase])


@pytest.mark.parametrize(
    ("obstacles", "gone"),
    [
        (Obstacles(ready="tasks.md:1: the file is missing"), {"challenge", "implement", "approve"}),
        (Obstacles(challenge="its text is still what was rejected"), {"challenge"}),
        (Obstacles(implement=NO_APPROVAL), {"implement"}),
        (Obstacles(approve="its last review leaves 1 issue in the way"), {"approve"}),
    ],
)
def test_what_the_files_forbid_is_not_offered_and_it_is_said_why(
    obstacles: Obstacles, gone: set[str]
) -> None:
    state = resting(files(Phase.CHALLENGED, obstacles=obstacles))
    assert set(OFFERED[Phase.CHALLENGED]) - set(ids(state)) == gone
    assert asked(state).hint == "".join(
        (obstacles.ready, obstacles.challenge, obstacles.implement, obstacles.approve)
    )


def test_what_the_phase_forbids_needs_no_reason() -> None:
    assert asked(resting(files(Phase.PROPOSED, obstacles=Obstacles(implement=NO_APPROVAL)))).hint == ""


def test_a_change_without_a_proposal_can_be_drafted_with_the_words_that_were_said_before() -> None:
    failed = CHANGE.fold(
        [FilesRead(UNDRAFTED), EVENTS[DraftChosen], WorkFailed(UNDRAFTED, problem="No key.")]
    )
    assert ids(failed) == ["draft", "revise", "abandon"]
    draft = choices(failed)[0]
    assert (draft.takes, draft.suggestions) == (Takes.TEXT, ("People sign in with a passkey.",))
    assert failed.problem == "No key."


def test_a_revision_needs_words_where_no_issue_is_open() -> None:
    def takes(found: Files) -> Takes:
        return next(choice.takes for choice in choices(resting(found)) if choice.id == "revise")

    assert (takes(PROPOSED), takes(CHALLENGED)) == (Takes.OPTIONAL_TEXT, Takes.TEXT)


def test_files_that_cannot_be_read_leave_nothing_to_choose() -> None:
    unreadable = resting(Files("STATE.yaml: it is no YAML", Standing("feat-auth", problem="it is no YAML")))
    assert (ids(unreadable), CHANGE.pending(unreadable)) == ([], ())


# -- what is done --------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "task"), [(kind, task) for kind, task, _ in AT_WORK.values()])
def test_what_was_chosen_is_begun_by_one_process_and_then_done(kind: type, task: type[Task[Any]]) -> None:
    state = chosen(kind)
    key = WHERE[kind].mark
    assert CHANGE.pending(state) == (flow.BeginWork(key),)
    begun = CHANGE.advance(state, EVENTS[WorkBegun])
    assert (CHANGE.pending(begun), begun.driver) == ((task(key),), "server-1")


@pytest.mark.parametrize("step", AT_WORK)
def test_however_it_ends_the_person_chooses_next(step: Step) -> None:
    kind, _, ended = AT_WORK[step]
    begun = CHANGE.advance(chosen(kind), EVENTS[WorkBegun])
    for event in (ended, WorkFailed, WorkCutOff, WorkStopped):
        after = CHANGE.advance(begun, EVENTS[event])
        assert (after.chosen, after.driver) == (None, "")
        assert all(isinstance(effect, AskPerson) for effect in CHANGE.pending(after))


def test_how_the_last_thing_ended_is_said_until_something_is_chosen() -> None:
    stopped = CHANGE.advance(chosen(ChallengeChosen), WorkStopped())
    assert (stopped.message, stopped.problem) == ("", STOPPED)
    noticed = CHANGE.advance(stopped, FilesRead(CHALLENGED))
    assert (noticed.problem, noticed.files) == (STOPPED, CHALLENGED)
    assert CHANGE.advance(noticed, ImplementationChosen()).problem == ""


def test_an_ask_is_another_one_as_soon_as_the_files_say_something_else() -> None:
    state = resting()
    later = CHANGE.advance(state, FilesRead(replace(PROPOSED, mark="another")))
    assert asked(state).key != asked(later).key
    assert asked(later) == asked(CHANGE.advance(later, FilesRead(replace(PROPOSED, mark="another"))))


def test_another_change_of_the_same_id_begins_from_its_files_alone() -> None:
    gone = CHANGE.advance(chosen(DraftChosen), EVENTS[ChangeGone])
    assert gone.description
    assert CHANGE.advance(gone, FilesRead(UNDRAFTED)) == resting(UNDRAFTED)


@pytest.mark.parametrize(
    ("answer", "event"),
    [
        (PersonAnswered(" Passkeys. ", "draft"), DraftChosen("Passkeys.")),
        (PersonAnswered("", "challenge"), ChallengeChosen()),
        (PersonAnswered("", "revise"), RevisionChosen()),
        (PersonAnswered("Simpler.", "revise"), RevisionChosen("Simpler.")),
        (PersonAnswered("", "implement"), ImplementationChosen()),
        (PersonAnswered("", "archive"), ArchiveChosen()),
        (PersonAnswered("Fine.", "approve"), ApprovalChosen("Fine.")),
        (PersonAnswered("Later.", "dismiss-2"), DismissalChosen(2, "Later.")),
        (PersonAnswered("", "reopen"), ReopeningChosen()),
        (PersonAnswered("No.", "abandon"), AbandonmentChosen("No.")),
    ],
)
def test_answers_become_choices(answer: PersonAnswered, event: ChangeEvent) -> None:
    state = resting(WHERE[type(event)])
    recorded = CHANGE.record(state, asked(state), answer)
    assert recorded == event
    assert CHANGE.advance(state, recorded).chosen == event


@pytest.mark.parametrize(
    "answer",
    [
        PersonAnswered("challenge"),
        PersonAnswered("", "implement"),
        PersonAnswered("", "approve"),
        PersonAnswered("words", "challenge"),
        PersonAnswered("Later.", "dismiss-1"),
        PersonAnswered("", "dismiss-2"),
        PersonAnswered("Rare.", "accept-2"),
    ],
)
def test_an_answer_that_is_not_offered_is_refused(answer: PersonAnswered) -> None:
    state = resting()
    with pytest.raises(InvalidInput):
        CHANGE.record(state, asked(state), answer)


def test_only_of_a_disputed_issue_the_risk_can_be_accepted() -> None:
    disputed = OpenIssue(ISSUE.number, ISSUE.issue, disputed=True)
    state = resting(files(Phase.PROPOSED, issues=(disputed,)))
    ask = asked(state)
    labels = {choice.id: choice.label for choice in ask.choices}
    assert list(labels) == ["challenge", "revise", "dismiss-2", "accept-2", "approve", "abandon"]
    assert labels["dismiss-2"].startswith("Dismiss the disputed issue 2, High: No scenario")
    assert labels["accept-2"].startswith("Accept the risk of issue 2, High: No scenario")
    accepted = DismissalChosen(2, "Rare.", accepted=True)
    assert CHANGE.record(state, ask, PersonAnswered("Rare.", "accept-2")) == accepted
    assert CHANGE.advance(state, accepted).chosen == accepted


class Play:
    """A session whose files say what they are given, whatever is done."""

    def __init__(self, found: Files) -> None:
        self.state = resting(found)
        self.done: list[str] = []

    def choose(self, choice: str, text: str = "", *, leads_to: ChangeEvent) -> Play:
        self._record(asked(self.state), PersonAnswered(text, choice))
        for outcome in (TaskDone(WorkBegun("server-1")), TaskDone(leads_to)):
            (task,) = CHANGE.pending(self.state)
            assert isinstance(task, Task)
            self.done.append(type(task).__name__)
            self._record(task, outcome)
        return self

    def _record(self, effect: AskPerson | Task[Any], outcome: Outcome) -> None:
        self.state = CHANGE.advance(self.state, CHANGE.record(self.state, effect, outcome))


def test_a_whole_change() -> None:
    play = Play(UNDRAFTED)
    play.choose("draft", "Passkeys.", leads_to=ProposalDrafted(files(Phase.PROPOSED, issues=()), "Drafted."))
    in_the_way = Obstacles(approve="its last review leaves 1 issue in the way; dismiss it first")
    needs_revision = files(Phase.PROPOSED, verdict="NEEDS_REVISION", high=1, obstacles=in_the_way)
    play.choose("challenge", leads_to=ReviewCounted(needs_revision, "NEEDS_REVISION, 1 new"))
    assert ids(play.state) == ["challenge", "revise", "dismiss-2", "abandon"]
    play.choose("revise", leads_to=ProposalRevised(files(Phase.PROPOSED, iteration=2), "Revised."))
    play.choose("challenge", leads_to=ReviewCounted(CHALLENGED, "APPROVED"))
    half = files(Phase.IMPLEMENTING, tasks=2, tasks_done=1)
    play.choose("implement", leads_to=TasksBuilt(half, "1 done, 1 left", "`make test` ended with 1"))
    assert (play.state.message, play.state.problem) == ("1 done, 1 left", "`make test` ended with 1")
    play.choose("implement", leads_to=TasksBuilt(COMPLETE, "1 done, 0 left"))
    play.choose("archive", leads_to=EVENTS[ChangeGone])
    assert (play.state.step, CHANGE.pending(play.state)) == (Step.GONE, ())
    assert play.done[1::2] == [
        *("DraftProposal", "ChallengeChange", "ReviseProposal", "ChallengeChange"),
        *("ImplementChange", "ImplementChange", "ArchiveChange"),
    ]
    assert set(play.done[::2]) == {"BeginWork"}


# -- whatever happens ----------------------------------------------------------------------------


def test_events_survive_the_log() -> None:
    for event in EVENTS.values():
        assert CHANGE.decode_stored(CHANGE.encode(event)) == event


_obstacles = st.builds(Obstacles, *[st.sampled_from(["", "no"])] * 4)
_files = st.builds(
    files, st.sampled_from(Phase), obstacles=_obstacles, issues=st.sampled_from([(), (ISSUE,)])
)
_ends = [kind for kind in EVENTS if issubclass(kind, WorkEnded)]
_events = st.one_of(
    st.sampled_from(list(EVENTS.values())),
    st.builds(lambda kind, found: kind(found), st.sampled_from([FilesRead, *_ends]), _files),
)


@given(st.lists(_events, max_size=30))
def test_nothing_is_done_that_was_not_offered_and_chosen(events: list[ChangeEvent]) -> None:
    state = CHANGE.initial
    for event in events:
        before, offered = state, ids(state)
        try:
            state = CHANGE.advance(state, event)
        except IllegalMove:
            assert state is before
            continue
        if state.chosen is not before.chosen and state.chosen is not None:
            assert any(choice.partition("-")[0] == state.chosen.choice for choice in offered)
        assert (state.chosen is not None) == (state.step in AT_WORK)
        assert bool(state.driver) <= (state.chosen is not None)
        effects = CHANGE.pending(state)
        assert len(effects) <= 1
        assert all(isinstance(effect, Task) == (state.step in AT_WORK) for effect in effects)
        if state.files.obstacles.implement and state.step is Step.RESTING:
            assert "implement" not in ids(state)


def test_a_test_command_is_confirmed_as_it_was_shown_and_no_other() -> None:
    state = resting(FOUND)
    (ask,) = CHANGE.pending(state)
    assert isinstance(ask, AskPerson)
    labels = {one.id: one.label for one in ask.choices}
    assert labels["tests-2"] == "Let this command be run after each task: make test (found in Makefile)"
    assert CHANGE.make_event(state, ask, PersonAnswered("", "tests-2")) == ConfirmationChosen("make test")
    for command in ("make tests", "", "rm -r ."):
        with pytest.raises(IllegalMove):
            CHANGE.advance(state, ConfirmationChosen(command))
    assert not [one for one in choices(resting(CHALLENGED)) if one.id.startswith("tests")]
    (other,) = CHANGE.pending(resting(replace(FOUND, tests=FOUND.tests[::-1])))
    assert isinstance(other, AskPerson)
    assert other.key != ask.key, "an answer to the one is none to the other"


def test_a_failed_task_can_be_spoken_about_left_open_and_rolled_back() -> None:
    state = resting(FAILED)
    (ask,) = CHANGE.pending(state)
    assert isinstance(ask, AskPerson)
    labels = {one.id: one.label for one in ask.choices}
    assert labels["skip"] == "Skip: leave task 2 open, and go on with the next"
    assert labels["roll-back"] == "Roll back: undo what was done for task 2"
    for choice, text, event in (
        ("comment", "Use B.", ImplementationChosen("Use B.")),
        ("skip", "", ImplementationChosen(skip=2)),
        ("implement", "", ImplementationChosen()),
        ("roll-back", "", RollBackChosen()),
    ):
        assert CHANGE.make_event(state, ask, PersonAnswered(text, choice)) == event
        assert CHANGE.advance(state, event).chosen == event
    with pytest.raises(IllegalMove):
        CHANGE.advance(state, ImplementationChosen(skip=1))
    no_way_back = resting(replace(FAILED, failed=FailedTask(2, "Send links", "2 tests fail")))
    with pytest.raises(IllegalMove):
        CHANGE.advance(no_way_back, RollBackChosen())
    for event in (ImplementationChosen("Use B."), ImplementationChosen(skip=2)):
        with pytest.raises(IllegalMove):
            CHANGE.advance(resting(CHALLENGED), event)
