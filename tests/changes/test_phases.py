from __future__ import annotations

import itertools

import pytest

from moot.changes.phases import (
    COMMANDS,
    TRANSITIONS,
    Complexity,
    Move,
    Phase,
    commands,
    complexity,
    moved,
    of_verdict,
)
from moot.changes.review_block import Verdict
from moot.errors import IllegalMove

POSSIBLE = {
    Phase.PROPOSED: ("proposal", "challenge", "reproposal", "dismiss", "approve", "abandon"),
    Phase.CHALLENGED: (*("challenge", "reproposal", "implement", "dismiss", "approve", "reopen", "abandon"),),
    Phase.IMPLEMENTING: (
        *("implement", "challenge", "reproposal", "dismiss", "approve", "reopen", "abandon"),
    ),
    Phase.COMPLETE: ("archive", "reopen", "abandon"),
    Phase.ARCHIVED: (),
    Phase.REJECTED: ("challenge", "reproposal", "archive", "dismiss", "approve", "reopen", "abandon"),
}


@pytest.mark.parametrize(
    ("verdict", "phase"),
    [
        (Verdict.APPROVED, Phase.CHALLENGED),
        (Verdict.NEEDS_REVISION, Phase.PROPOSED),
        (Verdict.REJECTED, Phase.REJECTED),
    ],
)
@pytest.mark.parametrize("before", [Phase.PROPOSED, Phase.CHALLENGED, Phase.IMPLEMENTING, Phase.REJECTED])
def test_a_verdict_leads_where_r3_says(before: Phase, verdict: Verdict, phase: Phase) -> None:
    assert moved(before, of_verdict(verdict)) is phase


def test_nothing_but_a_verdict_or_the_person_leads_to_challenged_or_rejected() -> None:
    verdicts = {of_verdict(verdict) for verdict in Verdict}
    led = {
        move
        for (before, move), phase in TRANSITIONS.items()
        if phase in {Phase.CHALLENGED, Phase.REJECTED} and phase is not before
    }
    assert led == {Move.APPROVE, Move.REJECT, Move.APPROVE_THEMSELVES}
    assert led - verdicts == {Move.APPROVE_THEMSELVES}


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.ARCHIVED])
def test_every_phase_has_a_way_out(phase: Phase) -> None:
    assert moved(phase, Move.ABANDON) is Phase.ARCHIVED
    if phase is not Phase.PROPOSED:
        assert moved(phase, Move.REOPEN) is Phase.PROPOSED


def test_a_change_goes_all_the_way() -> None:
    phase = Phase.PROPOSED
    walked = []
    for move in (
        Move.NEED_REVISION,
        Move.REPROPOSE,
        Move.REJECT,
        Move.REPROPOSE,
        Move.APPROVE,
        Move.IMPLEMENT,
        Move.IMPLEMENT,
        Move.FINISH,
        Move.ARCHIVE,
    ):
        phase = moved(phase, move)
        walked.append(phase.value)
    assert walked == [
        "proposed",
        "proposed",
        "rejected",
        "proposed",
        "challenged",
        "implementing",
        "implementing",
        "complete",
        "archived",
    ]


def test_an_approved_change_can_be_reproposed() -> None:
    assert moved(Phase.CHALLENGED, Move.REPROPOSE) is Phase.PROPOSED


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_knows_its_commands(phase: Phase) -> None:
    assert commands(phase) == POSSIBLE[phase]


@pytest.mark.parametrize(
    ("phase", "move"), [pair for pair in itertools.product(Phase, Move) if pair not in TRANSITIONS]
)
def test_a_forbidden_move_names_the_commands_that_are_possible(phase: Phase, move: Move) -> None:
    with pytest.raises(IllegalMove) as caught:
        moved(phase, move)
    assert caught.value.step == phase
    assert caught.value.event == COMMANDS[move]
    assert caught.value.allowed == POSSIBLE[phase]


def test_an_unreviewed_change_cannot_be_archived() -> None:
    with pytest.raises(IllegalMove, match="archive is not possible at step 'proposed'"):
        moved(Phase.PROPOSED, Move.ARCHIVE)


def test_a_move_is_spoken_of_as_the_command_that_makes_it() -> None:
    assert set(COMMANDS) == set(Move)
    with pytest.raises(IllegalMove, match="challenge is not possible at step 'complete'"):
        moved(Phase.COMPLETE, Move.APPROVE)


@pytest.mark.parametrize(
    ("spec_files", "task_boxes", "expected"),
    [
        (0, 0, Complexity.LOW),
        (1, 3, Complexity.LOW),
        (1, 4, Complexity.MEDIUM),
        (0, 10, Complexity.MEDIUM),
        (11, 0, Complexity.HIGH),
        (5, 15, Complexity.HIGH),
        (5, 16, Complexity.CRITICAL),
        (0, 500, Complexity.CRITICAL),
    ],
)
def test_complexity_is_spec_files_and_task_boxes(
    spec_files: int, task_boxes: int, expected: Complexity
) -> None:
    assert complexity(spec_files, task_boxes) is expected
