"""What listeners of a board session are told: the pure part of a live stream.

Words that arrive close together go out together: a persona's tokens are joined until the next flush. A
second `persona_start` for the same persona means that it begins again; what it had said before is void.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from moot.board import wire
from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    BoardEvent,
    Brief,
    BriefDrafted,
    BriefFailed,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    Member,
)
from moot.board.flow import ADVISOR, BOARD, BRIEF, CHALLENGE, go_on, stop
from moot.board.state import BoardState, Step
from moot.board.wire import UsageOut
from moot.core.citing import cited, cited_texts
from moot.core.flow import AskPersona, ModelEffect, Usage
from moot.server.format import Format, Outbox, Payload


class BoardOutbox(Outbox[BoardState, BoardEvent]):
    def began(self, effect: ModelEffect, state: BoardState) -> None:
        match effect:
            case AskPersona(persona, prompt) if prompt == ADVISOR:
                self._start_view(state.advisor(persona).member)
            case AskPersona(persona, prompt, number) if prompt == CHALLENGE:
                self._start_reply(persona, int(number))
            case _ if effect.prompt == BRIEF:
                self.tell(wire.BriefStart())

    def said(self, effect: ModelEffect, text: str) -> None:
        if not isinstance(effect, AskPersona):
            return
        persona, prompt = effect.persona, effect.prompt
        if prompt == CHALLENGE:
            self.add_words((prompt, persona), wire.ChallengeReplyToken(persona, int(effect.key), text))
        else:
            self.add_words((prompt, persona), wire.PersonaToken(persona, text))

    def happened(self, event: BoardEvent, before: BoardState, after: BoardState) -> None:
        number = after.challenges_made
        match event:
            case AdvisorSpoke(persona, text, usage):
                self.end_view(persona, text, usage, after)
            case AdvisorFailed(persona, kind, message):
                self._tell_after((ADVISOR, persona), wire.PersonaError(persona, message, kind))
            case ChallengeMade(persona, text):
                self._tell_after((CHALLENGE, persona), wire.ChallengeMade(persona, number, text))
            case ChallengeReplied(persona, text, usage):
                self.end_reply(persona, number, text, usage, after)
            case ChallengeWithdrawn(persona, kind, message, retry_after):
                why = message or "The challenge was withdrawn."
                error = wire.ChallengeReplyError(persona, number, kind, why, retry_after)
                self._tell_after((CHALLENGE, persona), error)
            case BriefDrafted(brief):
                self.tell(brief_complete(brief, after))
            case BriefFailed(_, message):
                self.tell(wire.BriefError(message))
            case _:
                return
        if before.at_work and after.step is Step.REVIEW:
            self.tell(wire.SessionComplete())

    def happened_elsewhere(self, event: BoardEvent, before: BoardState, after: BoardState) -> None:
        """Another process has added it to the log: what led to it was not told from here."""
        if isinstance(event, AdvisorSpoke):
            self.say_view(after.advisor(event.persona).member, event.text)
        elif isinstance(event, ChallengeReplied):
            self.say_reply(event.persona, after.challenges_made, event.text)
        self.happened(event, before, after)

    # -- views and replies -------------------------------------------------------------------

    def say_view(self, member: Member, text: str) -> None:
        """What an advisor said out of hearing."""
        self._start_view(member)
        self.tell(wire.PersonaToken(member.id, text))

    def end_view(self, persona: str, text: str, usage: Usage, state: BoardState) -> None:
        citations = cited(text, state.background.evidence)
        self._tell_after((ADVISOR, persona), wire.PersonaComplete(persona, UsageOut.of(usage), citations))

    def say_reply(self, persona: str, number: int, text: str) -> None:
        self._start_reply(persona, number)
        self.tell(wire.ChallengeReplyToken(persona, number, text))

    def end_reply(self, persona: str, number: int, text: str, usage: Usage, state: BoardState) -> None:
        citations = cited(text, state.background.evidence)
        complete = wire.ChallengeReplyComplete(persona, number, UsageOut.of(usage), citations)
        self._tell_after((CHALLENGE, persona), complete)

    def _start_view(self, member: Member) -> None:
        start = wire.PersonaStart(member.id, member.shown, member.role)
        self._tell_after((ADVISOR, member.id), start)

    def _start_reply(self, persona: str, number: int) -> None:
        self._tell_after((CHALLENGE, persona), wire.ChallengeReplyStart(persona, number))

    def _tell_after(self, speech: Hashable, frame: Payload) -> None:
        """No more words are joined to those before it."""
        self.close(speech)
        self.tell(frame)


def brief_complete(brief: Brief, state: BoardState) -> Payload:
    return wire.BriefComplete(brief, cited_texts(wire.texts_of(brief), state.background.evidence))


def session_start(session_id: str, state: BoardState, tiny: bool) -> Payload:
    return wire.SessionStart(session_id, len(state.advisors), state.model, tiny)


def missing(state: BoardState, told: list[Any], start: Payload, _log_seq: int) -> BoardOutbox:
    """What is in the log of a session but has not been told, because it is new, or the process ended that
    would have, or what was told has been cleared away: told now, so that whoever takes the stream up misses
    nothing."""
    complete = {frame["personaId"] for frame in told if frame["type"] == "persona_complete"}
    failed = {frame["personaId"] for frame in told if frame["type"] == "persona_error"}
    outbox = BoardOutbox()
    if not told:
        outbox.tell(start)
    for advisor in state.advisors:
        member, failure = advisor.member, advisor.failure
        if advisor.text is not None and advisor.usage is not None and member.id not in complete:
            outbox.say_view(member, advisor.text)
            outbox.end_view(member.id, advisor.text, advisor.usage, state)
        elif failure is not None and member.id not in failed:
            outbox.tell(wire.PersonaError(member.id, failure.message, failure.kind))
    _tell_challenges(outbox, state, told)
    types = {frame["type"] for frame in told}
    if state.brief is not None and "brief_complete" not in types:
        outbox.tell(wire.BriefStart())
        outbox.tell(brief_complete(state.brief, state))
    if state.step is Step.REVIEW and "session_complete" not in types:
        outbox.tell(wire.SessionComplete())
    return outbox


def _tell_challenges(outbox: BoardOutbox, state: BoardState, told: list[Any]) -> None:
    made, complete = (
        {frame["challenge"] for frame in told if frame["type"] == type_}
        for type_ in ("challenge_made", "challenge_reply_complete")
    )
    exchanges = ((one, advisor.member.id) for advisor in state.advisors for one in advisor.exchanges)
    for exchange, persona in sorted(exchanges, key=lambda one: one[0].number):
        number, reply, usage = exchange.number, exchange.reply, exchange.usage
        if told and reply is not None and number not in made:
            # Of a version that had no frames for challenges: whoever listened has it from elsewhere.
            continue
        if number not in made:
            outbox.tell(wire.ChallengeMade(persona, number, exchange.challenge))
        if reply is not None and usage is not None and number not in complete:
            outbox.say_reply(persona, number, reply)
            outbox.end_reply(persona, number, reply, usage, state)


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
