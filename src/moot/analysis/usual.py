"""How an analysis goes on until its next question, for whoever wants to know beforehand what models are going
to be asked. Each answer leads to more, which nobody knows yet. Refuses to know sizes and prices."""

from __future__ import annotations

from moot.analysis.events import ImpactLooked, StepsRead, WorkspaceScanned
from moot.analysis.state import AnalysisState, Step
from moot.core.flow import Event
from moot.core.model_effects import Usual
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE

_FOUND = "so it is in the file that has it, " * 50


def _goes_on(state: AnalysisState) -> Event | None:
    match state.step:
        case _ if state.failure is not None:
            return None
        case Step.SCANNING:
            return WorkspaceScanned(_FOUND, "standard")
        case Step.LOOKING:
            return ImpactLooked(_FOUND)
        case Step.OPENING if not state.steps_read:
            return StepsRead()
        case _:
            return None


USUAL = Usual(ROUNDTABLE.usual.drafts, _goes_on)
