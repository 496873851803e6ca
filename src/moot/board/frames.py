"""What listeners of a board session are told, as JSON: the pure part of a live stream.

Words that arrive close together go out together: a persona's tokens are joined until the next flush. A
second `persona_start` for the same persona means that it begins again; what it had said before is void.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moot.board.events import AdvisorFailed, AdvisorSpoke, BoardEvent, BriefDrafted, BriefFailed, Member
from moot.board.flow import ADVISOR, BRIEF
from moot.board.state import BoardState, Step
from moot.core.flow import AskPersona, ModelEffect, Spoken

Payload = dict[str, Any]


def usage(spoken: Spoken) -> Payload:
    return {
        "model": spoken.model,
        "inputTokens": spoken.input_tokens,
        "outputTokens": spoken.output_tokens,
        "costUsd": spoken.cost_usd,
        "durationMs": spoken.duration_ms,
    }


class Outbox:
    """Collects what there is to tell until it is taken."""

    def __init__(self) -> None:
        self._waiting: list[Payload] = []
        self._open: dict[str, Payload] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        self._open.clear()
        return [msgspec.json.encode(payload) for payload in waiting]

    def tell(self, type_: str, **fields: Any) -> None:
        self._waiting.append({"type": type_, **fields})

    def began(self, effect: ModelEffect, state: BoardState) -> None:
        if isinstance(effect, AskPersona) and effect.prompt == ADVISOR:
            member = state.advisor(effect.persona).member
            self._open.pop(member.id, None)
            self.tell("persona_start", personaId=member.id, personaName=member.shown, role=member.role)
        elif effect.prompt == BRIEF:
            self.tell("brief_start")

    def said(self, effect: ModelEffect, text: str) -> None:
        if not isinstance(effect, AskPersona) or effect.prompt != ADVISOR:
            return
        joined = self._open.get(effect.persona)
        if joined is not None:
            joined["token"] += text
            return
        self.tell("persona_token", personaId=effect.persona, token=text)
        self._open[effect.persona] = self._waiting[-1]

    def tell_whole(self, member: Member, text: str, spoken: Spoken) -> None:
        """What an advisor said out of hearing."""
        self._open.pop(member.id, None)
        self.tell("persona_start", personaId=member.id, personaName=member.shown, role=member.role)
        self.tell("persona_token", personaId=member.id, token=text)
        self.tell("persona_complete", personaId=member.id, usage=usage(spoken))

    def happened_elsewhere(self, event: BoardEvent, before: Step, after: BoardState) -> None:
        """Another process has added it to the log: what led to it was not told from here."""
        if isinstance(event, AdvisorSpoke):
            self.tell_whole(after.advisor(event.persona).member, event.text, event.spoken)
            self._ended(before, after)
        else:
            self.happened(event, before, after)

    def happened(self, event: BoardEvent, before: Step, after: BoardState) -> None:
        match event:
            case AdvisorSpoke(persona, _, spoken):
                self._open.pop(persona, None)
                self.tell("persona_complete", personaId=persona, usage=usage(spoken))
            case AdvisorFailed(persona, kind, message):
                self._open.pop(persona, None)
                self.tell("persona_error", personaId=persona, message=message, kind=kind)
            case BriefDrafted(brief):
                self.tell("brief_complete", brief=msgspec.to_builtins(brief))
            case BriefFailed(_, message):
                self.tell("brief_error", message=message)
            case _:
                return
        self._ended(before, after)

    def _ended(self, before: Step, after: BoardState) -> None:
        if before in (Step.ADVISORS, Step.BRIEF) and after.step is Step.REVIEW:
            self.tell("session_complete")


def session_start(session_id: str, state: BoardState, *, tiny: bool) -> Payload:
    count = len(state.advisors)
    return {"sessionId": session_id, "personaCount": count, "model": state.model, "tiny": tiny}


def missing(state: BoardState, told: list[Payload], start: Payload) -> Outbox:
    """What is in the log of a session but has not been told, because it is new, or the process ended that
    would have, or what was told has been cleared away: told now, so that whoever takes the stream up misses
    nothing."""
    complete = {frame["personaId"] for frame in told if frame["type"] == "persona_complete"}
    failed = {frame["personaId"] for frame in told if frame["type"] == "persona_error"}
    outbox = Outbox()
    if not told:
        outbox.tell("session_start", **start)
    for advisor in state.advisors:
        member = advisor.member
        if advisor.text is not None and advisor.spoken is not None and member.id not in complete:
            outbox.tell_whole(member, advisor.text, advisor.spoken)
        elif advisor.failure is not None and member.id not in failed:
            failure = advisor.failure
            outbox.tell("persona_error", personaId=member.id, message=failure.message, kind=failure.kind)
    types = {frame["type"] for frame in told}
    if state.brief is not None and "brief_complete" not in types:
        outbox.tell("brief_start")
        outbox.tell("brief_complete", brief=msgspec.to_builtins(state.brief))
    if state.step is Step.REVIEW and "session_complete" not in types:
        outbox.tell("session_complete")
    return outbox
