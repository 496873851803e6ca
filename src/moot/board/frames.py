"""What listeners of a board session are told, as JSON: the pure part of a live stream.

Words that arrive close together go out together: a persona's tokens are joined until the next flush. A
second `persona_start` for the same persona means that it begins again; what it had said before is void.
"""

from __future__ import annotations

import msgspec

from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    BoardEvent,
    BriefDrafted,
    BriefFailed,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    Member,
)
from moot.board.flow import ADVISOR, BOARD, BRIEF, CHALLENGE, go_on, stop
from moot.board.state import BoardState, Step
from moot.core.flow import AskPersona, ModelEffect, Usage
from moot.server.format import Format, Outbox, Payload


def usage(spoken: Usage) -> Payload:
    return {
        "model": spoken.model,
        "inputTokens": spoken.input_tokens,
        "outputTokens": spoken.output_tokens,
        "costUsd": spoken.cost_usd,
        "durationMs": spoken.duration_ms,
    }


class BoardOutbox(Outbox[BoardState, BoardEvent]):
    def began(self, effect: ModelEffect, state: BoardState) -> None:
        self.close(_voice(effect))
        match effect:
            case AskPersona(persona, prompt) if prompt == ADVISOR:
                member = state.advisor(persona).member
                self.tell("persona_start", personaId=persona, personaName=member.shown, role=member.role)
            case AskPersona(persona, prompt, number) if prompt == CHALLENGE:
                self.tell("challenge_reply_start", personaId=persona, challenge=int(number))
            case _ if effect.prompt == BRIEF:
                self.tell("brief_start")

    def said(self, effect: ModelEffect, text: str) -> None:
        if not isinstance(effect, AskPersona):
            return
        key, persona = _voice(effect), effect.persona
        if effect.prompt == CHALLENGE:
            number = int(effect.key)
            self.add_word(key, "challenge_reply_token", text, personaId=persona, challenge=number)
        else:
            self.add_word(key, "persona_token", text, personaId=persona)

    def add_view(self, member: Member, text: str, spoken: Usage) -> None:
        """What an advisor said out of hearing."""
        self.close((ADVISOR, member.id))
        self.tell("persona_start", personaId=member.id, personaName=member.shown, role=member.role)
        self.tell("persona_token", personaId=member.id, token=text)
        self.tell("persona_complete", personaId=member.id, usage=usage(spoken))

    def add_reply(self, persona: str, number: int, text: str, spoken: Usage) -> None:
        self.close((CHALLENGE, persona))
        self.tell("challenge_reply_start", personaId=persona, challenge=number)
        self.tell("challenge_reply_token", personaId=persona, challenge=number, token=text)
        self.tell("challenge_reply_complete", personaId=persona, challenge=number, usage=usage(spoken))

    def happened_elsewhere(self, event: BoardEvent, before: BoardState, after: BoardState) -> None:
        """Another process has added it to the log: what led to it was not told from here."""
        if isinstance(event, AdvisorSpoke):
            self.add_view(after.advisor(event.persona).member, event.text, event.spoken)
            self._ended(before, after)
        elif isinstance(event, ChallengeReplied):
            self.add_reply(event.persona, after.challenges_made, event.text, event.spoken)
        else:
            self.happened(event, before, after)

    def happened(self, event: BoardEvent, before: BoardState, after: BoardState) -> None:
        match event:
            case AdvisorSpoke(persona, _, spoken):
                self.close((ADVISOR, persona))
                self.tell("persona_complete", personaId=persona, usage=usage(spoken))
            case AdvisorFailed(persona, kind, message):
                self.close((ADVISOR, persona))
                self.tell("persona_error", personaId=persona, message=message, kind=kind)
            case ChallengeMade() | ChallengeReplied() | ChallengeWithdrawn():
                self._in_a_challenge(event, after.challenges_made)
            case BriefDrafted(brief):
                self.tell("brief_complete", brief=msgspec.to_builtins(brief))
            case BriefFailed(_, message):
                self.tell("brief_error", message=message)
            case _:
                return
        self._ended(before, after)

    def _in_a_challenge(
        self, event: ChallengeMade | ChallengeReplied | ChallengeWithdrawn, number: int
    ) -> None:
        whose = {"personaId": event.persona, "challenge": number}
        self.close((CHALLENGE, event.persona))
        match event:
            case ChallengeMade(_, text):
                self.tell("challenge_made", **whose, text=text)
            case ChallengeReplied(_, _, spoken):
                self.tell("challenge_reply_complete", **whose, usage=usage(spoken))
            case ChallengeWithdrawn(_, kind, message, retry_after):
                self.tell(
                    "challenge_reply_error",
                    **whose,
                    kind=kind,
                    message=message or "The challenge was withdrawn.",
                    retryAfter=retry_after,
                )

    def _ended(self, before: BoardState, after: BoardState) -> None:
        if before.step in (Step.ADVISORS, Step.BRIEF) and after.step is Step.REVIEW:
            self.tell("session_complete")


def _voice(effect: ModelEffect) -> tuple[str, str]:
    return effect.prompt, effect.persona if isinstance(effect, AskPersona) else ""


def session_start(session_id: str, state: BoardState, tiny: bool) -> Payload:
    count = len(state.advisors)
    return {"sessionId": session_id, "personaCount": count, "model": state.model, "tiny": tiny}


def missing(state: BoardState, told: list[Payload], start: Payload, _log_seq: int) -> BoardOutbox:
    """What is in the log of a session but has not been told, because it is new, or the process ended that
    would have, or what was told has been cleared away: told now, so that whoever takes the stream up misses
    nothing."""
    complete = {frame["personaId"] for frame in told if frame["type"] == "persona_complete"}
    failed = {frame["personaId"] for frame in told if frame["type"] == "persona_error"}
    outbox = BoardOutbox()
    if not told:
        outbox.tell("session_start", **start)
    for advisor in state.advisors:
        member = advisor.member
        if advisor.text is not None and advisor.spoken is not None and member.id not in complete:
            outbox.add_view(member, advisor.text, advisor.spoken)
        elif advisor.failure is not None and member.id not in failed:
            failure = advisor.failure
            outbox.tell("persona_error", personaId=member.id, message=failure.message, kind=failure.kind)
    _tell_challenges(outbox, state, told)
    types = {frame["type"] for frame in told}
    if state.brief is not None and "brief_complete" not in types:
        outbox.tell("brief_start")
        outbox.tell("brief_complete", brief=msgspec.to_builtins(state.brief))
    if state.step is Step.REVIEW and "session_complete" not in types:
        outbox.tell("session_complete")
    return outbox


def _tell_challenges(outbox: BoardOutbox, state: BoardState, told: list[Payload]) -> None:
    made, complete = (
        {frame["challenge"] for frame in told if frame["type"] == type_}
        for type_ in ("challenge_made", "challenge_reply_complete")
    )
    exchanges = ((one, advisor.member.id) for advisor in state.advisors for one in advisor.exchanges)
    for exchange, persona in sorted(exchanges, key=lambda one: one[0].number):
        number, reply, spoken = exchange.number, exchange.reply, exchange.spoken
        if told and reply is not None and number not in made:
            # Of a version that had no frames for challenges: whoever listened has it from elsewhere.
            continue
        if number not in made:
            outbox.tell("challenge_made", personaId=persona, challenge=number, text=exchange.challenge)
        if reply is not None and spoken is not None and number not in complete:
            outbox.add_reply(persona, number, reply, spoken)


FORMAT: Format[BoardState, BoardEvent] = Format(
    BOARD,
    outbox=BoardOutbox,
    start=session_start,
    missing=missing,
    title=lambda state: state.decision,
    model=lambda state: state.model,
    stop=lambda state: stop(state, ""),
    go_on=go_on,
)
