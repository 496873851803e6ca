"""How a workflow goes on at least: the shortest way to its design, for whoever wants to know beforehand what
models are going to be asked.

What its batches take is said when they are planned and reviewed. Refuses to know sizes and prices.
"""

from __future__ import annotations

from moot.brainstorm.events import CodeFound, ScoutReported, Triage
from moot.brainstorm.menu import AnswersClosed, ApproachChosen, LevelConfirmed
from moot.brainstorm.replies import TRIAGE
from moot.brainstorm.state import BrainstormState, Situation
from moot.core.flow import Event
from moot.core.model_effects import Usual
from moot.roundtable.prompts import USUAL as OF_A_ROUNDTABLE
from moot.workflow.events import WorkspaceChecked
from moot.workflow.state import Stage, WorkflowState

_NOT_FORESEEN = (
    Situation.ANSWERING,
    Situation.WRITING,
    Situation.CONVENING,
    Situation.AT_ROUNDTABLE,
    Situation.AT_DESIGN,
    Situation.DONE,
)
"""The person has begun to say something, somebody else is asked first, or the batches come next."""
_SENTENCE = "so it is in the file that has it, "
_REPORT = ScoutReported(_SENTENCE * 50)
_TRIAGE = Triage("straightforward", _SENTENCE * 10)


def _goes_on(state: WorkflowState) -> Event | None:
    if state.stage is Stage.CHECKING:
        return WorkspaceChecked()
    return _in_brainstorm(state.brainstorm) if state.stage is Stage.BRAINSTORMING else None


def _in_brainstorm(talk: BrainstormState) -> Event | None:
    """Nothing where somebody else is asked first, or where models have nothing more to do in it."""
    match talk.situation:
        case Situation.SCOUTING:
            return _REPORT
        case Situation.AT_TRIAGE:
            return LevelConfirmed(talk.level_at_hand)
        case Situation.AT_QUESTIONS:
            return AnswersClosed()
        case Situation.AT_APPROACHES:
            return ApproachChosen((talk.recommended or talk.approaches[0]).id)
        case _ if talk.situation in _NOT_FORESEEN:
            return None
        case _:
            return CodeFound() if talk.code_is_due else None


USUAL = Usual({TRIAGE: _TRIAGE, **OF_A_ROUNDTABLE.drafts}, _goes_on)
