"""What a workflow asks at least is known before anybody is asked, from wherever it stands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from moot.brainstorm.menu import AnswersClosed, LevelConfirmed, RequestMade
from moot.brainstorm.state import Situation, Step
from moot.core.background import EvidenceGiven
from moot.core.estimate import Foreseen, foresee
from moot.evidence.items import Evidence
from moot.personas.library import load_library
from moot.workflow.flow import WORKFLOW
from moot.workflow.prompts import PROMPTS
from moot.workflow.state import WorkflowState
from tests.brainstorm.test_flow import somewhere_at
from tests.support.workflow import OPENED, Play, at, whole

LIBRARY = load_library()


def foreseen(state: WorkflowState) -> Foreseen:
    return foresee(WORKFLOW, state, PROMPTS, LIBRARY.persona)


def texts(state: WorkflowState) -> list[str]:
    return [whole(asked[0]) for asked in foreseen(state).requests if isinstance(asked, tuple)]


def test_before_it_begins_it_is_an_assessment_and_a_design_at_least() -> None:
    notes = EvidenceGiven((Evidence("n.md", "n.md", "ab" * 32, "text/plain", "The lease ends."),))
    assess, design = texts(WORKFLOW.fold((OPENED, notes)))
    assert "Judge how much thinking" in assess
    assert "Write the design, in 1 to 2 sections" in design
    assert all("The lease ends." in asked for asked in (assess, design))
    assert foreseen(WORKFLOW.fold((OPENED,))).at_least


@pytest.mark.parametrize(
    ("play", "asked"),
    [
        (at(Step.TRIAGE), "Ask the person 3 to 5 questions"),
        (at(Step.QUESTIONS), "Lay out two to four ways"),
        (at(Step.APPROACHES), "Write the design"),
        (at(Step.TRIAGE).put(LevelConfirmed("complex")), "Ask the person 5 to 7 questions"),
        (at(Step.QUESTIONS).put(AnswersClosed()), "Lay out two to four ways"),
        (at(Step.DESIGN).put(RequestMade("revise", "shorter")), "wants the design revised"),
    ],
)
def test_from_each_menu_on_the_next_request_is_known(play: Play, asked: str) -> None:
    (told,) = texts(play.state)
    assert asked in told
    assert foreseen(play.state).at_least


@pytest.mark.parametrize("wish", ["board", "roundtable"])
def test_what_others_are_going_to_be_asked_is_not(wish: str) -> None:
    play = at(Step.DESIGN)
    play.finds_code = False
    assert foreseen(play.put(RequestMade(wish, "is it?")).state) == Foreseen((), at_least=True)  # type: ignore[arg-type]
    assert foreseen(at(Step.DESIGN).state) == Foreseen((), at_least=True), "then the batches begin"


@pytest.mark.parametrize("situation", [one for one in Situation if one is not Situation.DONE])
def test_it_can_be_asked_wherever_a_brainstorm_stands(situation: Situation) -> None:
    talk = somewhere_at(situation)
    state = replace(at(Step.TRIAGE).state, brainstorm=talk)
    assert foreseen(state).at_least


def test_what_is_being_written_is_not_foreseen() -> None:
    for play in (at(Step.DESIGN).choose("discuss"), at(Step.QUESTIONS).choose("question-1")):
        assert foreseen(play.state) == Foreseen((), at_least=True)
