"""A board's state as what travels, and what a client says was said as the board knows it. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic.alias_generators import to_camel

from moot.board.events import Answer
from moot.board.flow import BOARD
from moot.board.state import Advisor, BoardState
from moot.board.wire import MemberOut, TotalOut, UsageOut, texts_of
from moot.core.background import struck
from moot.core.citing import CitedText, cited, cited_texts
from moot.personas.library import Persona
from moot.sessions.giving import items_out, ledger_out, struck_out
from moot.sessions.wire import Kept, head_of
from moot.web import wire


def answers_of(answers: list[wire.Answered]) -> tuple[Answer, ...]:
    return tuple(Answer(answered.question, answered.answer) for answered in answers)


def fingerprint(asked: wire.Received) -> str:
    """The same for requests that ask for the same."""
    return hashlib.sha256(asked.model_dump_json().encode()).hexdigest()


def exchanges_of(exchanges: list[wire.Exchanged]) -> tuple[tuple[str, str], ...]:
    """Only what is complete: a reply that broke off was never given."""
    return tuple(
        (one.challenge_text, one.reply_content)
        for one in exchanges
        if one.is_reply_complete and one.reply_content.strip()
    )


def response(advisor: Advisor) -> wire.ResponseOut:
    return wire.ResponseOut(
        persona_id=advisor.member.id,
        persona_name=advisor.member.shown,
        content=advisor.text or "",
        is_complete=advisor.text is not None,
        citations=cited(advisor.text or "", advisor.evidence),
        error=advisor.failure.message if advisor.failure else None,
        error_kind=advisor.failure.kind if advisor.failure else None,
        challenges=[
            wire.ExchangeOut(
                challenge_text=e.challenge,
                reply_content=e.reply or "",
                is_reply_complete=True,
                citations=cited(e.reply or "", e.evidence),
                usage=UsageOut.of(e.usage) if e.usage else None,
            )
            for e in advisor.replied
        ],
        usage=UsageOut.of(advisor.usage) if advisor.usage else None,
    )


def brief_cited(state: BoardState) -> tuple[CitedText, ...]:
    return cited_texts(texts_of(state.brief), state.brief_evidence) if state.brief else ()


def persona(known: Persona) -> wire.PersonaOut:
    return wire.PersonaOut(
        id=known.id,
        name=known.shown,
        role=known.role,
        contribution_type=known.contribution,
        rubric={to_camel(name): dimension for name, dimension in known.rubric.dimensions()},
    )


@dataclass(frozen=True, slots=True)
class Place:
    """After which session the list goes on, and how that travels: as a moment and an id, with a `p` before
    them if it is pinned."""

    updated_at: datetime
    id: str
    pinned: bool = False

    @classmethod
    def of(cls, text: str) -> Place:
        moment, _, id_ = text.partition("-")
        pinned = moment.startswith("p")
        return cls(_EPOCH + timedelta(microseconds=int(moment.removeprefix("p"))), id_, pinned)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def place_of(kept: Kept) -> str:
    moment = (kept.updated_at - _EPOCH) // timedelta(microseconds=1)
    return f"{'p' if kept.pinned else ''}{moment}-{kept.id}"


def _board(kept: Kept, state: BoardState) -> dict[str, Any]:
    told = {"decision": state.decision, "model": state.model, "step": state.step}
    return head_of(kept) | told | {"title": kept.name or state.decision, "brief_stale": state.brief_stale}


def summary(kept: Kept, state: BoardState, *, live: bool) -> wire.SessionSummary:
    return wire.SessionSummary(
        **_board(kept, state),
        persona_count=len(state.advisors),
        complete_count=sum(a.text is not None for a in state.advisors),
        challenge_count=sum(len(a.replied) for a in state.advisors),
        has_brief=state.brief is not None,
        live=live,
    )


def session(kept: Kept, state: BoardState, *, live: bool, tiny: bool, last_event_id: int) -> wire.SessionBody:
    return wire.SessionBody(
        **_board(kept, state),
        answers=state.answers,
        mode=state.mode,
        tiny=tiny,
        personas=[MemberOut.of(a.member) for a in state.advisors],
        responses=[response(a) for a in state.advisors],
        brief=state.brief,
        brief_cited=brief_cited(state),
        brief_usage=UsageOut.of(state.brief_usage) if state.brief_usage else None,
        brief_error=state.brief_failure.message if state.brief_failure else None,
        ticked_conditions=[condition for condition, ticked in state.conditions if ticked],
        usage=TotalOut.of(state.bills),
        evidence=items_out(state.background.evidence),
        ledger=ledger_out(BOARD.ledger(state)),
        struck=struck_out(struck(BOARD, state)),
        # What has not been told to its end is worth listening to, whoever is at work on it.
        live=live or (state.at_work and not state.stopped),
        paused=state.at_work and (state.stopped or not live),
        last_event_id=last_event_id,
    )
