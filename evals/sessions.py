"""Sessions of each format, held as a surface holds them. Nothing is decided here, and nothing is prompted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from evals.person import Script
from evals.room import Room, SessionFailed
from moot.analysis.events import StepEvent
from moot.analysis.service import Analyses
from moot.ask.service import new_ask
from moot.board.service import Said, new_board, open_boards, present
from moot.board.wire import ChallengeReplyError
from moot.changes.challenge import Challenging
from moot.changes.service import Changes
from moot.core.background import EvidenceGiven
from moot.core.flow import Event, Task, TaskDone
from moot.core.runner import Participants, Runner, open_session
from moot.evidence.items import Evidence
from moot.llm.names import Speaker
from moot.roundtable.effects import InsertInsights
from moot.roundtable.events import ArtifactsUpdated, ElaborationRecorded, RoundtableEvent
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE_PROMPTS
from moot.roundtable.state import RoundtableState, Step
from moot.server.active_session import MemoryLog
from moot.workflow.service import Company, Workflows


def _quiet(_: str) -> None:
    """What the program says on the way is not the model's."""


async def ask(room: Room, persona: str, script: Script, evidence: Sequence[Evidence] = ()) -> None:
    session = await new_ask(room.moot, persona, None, script, room.record)
    await _run(session.runner, evidence)


async def board(
    room: Room, decision: str, members: Sequence[str], script: Script, evidence: Sequence[Evidence] = ()
) -> None:
    """With probing questions, advisors at once, and a brief whenever the script asks for it."""
    speakers = tuple(room.moot.library.persona(one) for one in members)
    first = await present(room.moot, decision, speakers, "independent")
    session = await new_board(room.moot, first, script, room.record, questions=True)
    await _run(session.runner, evidence)


async def analysis(
    room: Room, title: str, about: str, script: Script, evidence: Sequence[Evidence] = ()
) -> None:
    analyses = Analyses(room.moot)
    with analyses.claimed(analyses.item(title, about)):
        held = await analyses.analysis(title, about, script, room.record, _quiet)
        by_step = {ref.id: ref.persona for ref in held.state.steps}
        by_itself = room.record.speaker

        def speaker(event: Event) -> str:
            return by_step.get(event.step, "") if isinstance(event, StepEvent) else by_itself(event)

        room.record.speaker = speaker
        await _run(held.runner, evidence)


async def brainstorm(room: Room, idea: str, script: Script, evidence: Sequence[Evidence] = ()) -> None:
    async with Workflows(room.moot).begin(idea, Company(script, room.record, _quiet)) as workflow:
        await _run(workflow.runner, evidence)


async def minutes(room: Room, held: Sequence[RoundtableEvent]) -> None:
    """A roundtable that has been held so far, up to its minutes."""
    name = (await room.moot.gateway.choice(Speaker("analysis"))).name
    speak = await room.moot.speaking(name, ROUNDTABLE_PROMPTS, room.moot.account("minutes"))
    participants = Participants(speak, room.record, room.script(()), _file_nothing)
    runner = await open_session(ROUNDTABLE, MemoryLog(held), participants, "minutes")
    if runner.state.step is not Step.SYNTHESIS:
        raise SessionFailed(f"the discussion of this case stands at {runner.state.step}")
    await runner.run()
    if runner.state.synthesis is None:
        raise SessionFailed("; ".join(room.record.failures) or "no minutes were taken")


async def _file_nothing(effect: Task[Any], _state: RoundtableState) -> TaskDone:
    """There is no artifact here, and no item to record it with."""
    if isinstance(effect, InsertInsights):
        return TaskDone(ArtifactsUpdated(()))
    return TaskDone(ElaborationRecorded(saved=True))


async def propose(room: Room, change_id: str, description: str) -> None:
    changes = Changes(room.moot)
    folder = await changes.propose(change_id, description, _quiet)
    texts = {"proposal": folder.proposal() or "", "specs": folder.specs(), "tasks": folder.tasks() or ""}
    room.record.add("ProposalDrafted", texts)


async def review(room: Room, change_id: str) -> None:
    """By the model, whatever other reviewers this machine has."""
    changes = Changes(room.moot)
    challenged = await Challenging(changes).challenge(change_id, "model", _quiet)
    made = changes.folders.open(change_id).state().reviews or ()
    coverage = {"coverage": msgspec.to_builtins(made[-1].coverage)}
    room.record.add("ReviewAppended", msgspec.to_builtins(challenged.review) | coverage)


async def _run(runner: Runner[Any, Any], evidence: Sequence[Evidence]) -> None:
    if evidence:
        await runner.put(EvidenceGiven(tuple(evidence)))
    await runner.run()


async def challenge(room: Room, decision: str, persona: str, view: str, text: str) -> None:
    """One reply to a challenge of a view that is given, as a call that names no session."""
    async with open_boards(room.moot, grace=0, work="own") as boards:
        live = await boards.detached_challenge(decision, (), Said(persona, view))
        async for frame in boards.challenge(live, persona, text):
            if isinstance(frame, ChallengeReplyError):
                raise SessionFailed(frame.message)
        reply = live.state.advisor(persona).replied
        if not reply:
            raise SessionFailed("there was no reply")
        room.record.add("ChallengeReplied", {"text": reply[-1].reply}, persona)
