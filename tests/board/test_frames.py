"""What a board tells of citations and of what is looked up: live, told again later, to whoever challenged."""

from __future__ import annotations

import json
from typing import Any

from moot.board import wire
from moot.board.challenge_reply import ChallengeReply
from moot.board.events import (
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    ChallengeMade,
    ChallengeReplied,
    Consensus,
    DecisionPresented,
    Member,
    Recommendation,
)
from moot.board.flow import BOARD
from moot.board.frames import BoardOutbox, missing, session_start
from moot.core.background import EvidenceGiven
from moot.core.flow import AskPersona, Usage
from moot.evidence.items import Evidence
from moot.server.format import Looked

BILL = Usage("m", 1, 1, None, 1)
MEMBER = Member("a", "A", "r", "challenger")
HELD: list[BoardEvent] = [
    DecisionPresented("Stay?", (MEMBER,), "independent", "m"),
    EvidenceGiven((Evidence("plan.md", "plan.md", "ab", "text/markdown", "one\ntwo"),)),
    BoardConvened(),
    AdvisorSpoke("a", "See [E1:2].", BILL),
    BriefDrafted(Brief(Consensus((), "weak"), (), (), Recommendation("Go [E2]", "low", ())), BILL),
    ChallengeMade("a", "Sure?"),
    ChallengeReplied("a", "No [E1:7].", BILL),
]
VIEW = {"item": "E1", "first": 2, "last": 2, "start": 4, "end": 10, "check": "verified"}
REPLY = {"item": "E1", "first": 7, "last": 7, "start": 3, "end": 9, "check": "no such lines"}
IN_BRIEF = {"item": "E2", "first": None, "last": None, "start": 3, "end": 7, "check": "no such item"}


def told_live() -> list[Any]:
    outbox, state = BoardOutbox(), BOARD.initial
    for event in HELD:
        after = BOARD.advance(state, event)
        outbox.happened(event, state, after)
        state = after
    return [json.loads(frame) for frame in outbox.take()]


def told_later() -> list[Any]:
    state = BOARD.fold(HELD)
    outbox = missing(state, [], session_start("s", state, tiny=False), len(HELD))
    return [json.loads(frame) for frame in outbox.take()]


def cited(frames: list[Any]) -> dict[str, Any]:
    return {one["type"]: one.get("citations", one.get("cited")) for one in frames if one["type"] in ENDS}


ENDS = ("persona_complete", "challenge_reply_complete", "brief_complete")


def test_what_is_cited_is_told_with_the_end_of_the_words_and_told_again() -> None:
    expected = {
        "persona_complete": [VIEW],
        "challenge_reply_complete": [REPLY],
        "brief_complete": [{"text": "Go [E2]", "citations": [IN_BRIEF]}],
    }
    assert cited(told_live()) == expected
    assert cited(told_later()) == expected


def test_frames_of_earlier_versions_are_read() -> None:
    usage = {"model": "m", "inputTokens": 1, "outputTokens": 2, "costUsd": None, "durationMs": 3}
    old = {"type": "persona_complete", "personaId": "a", "usage": usage}
    read = wire.read_frame(json.dumps(old).encode())
    assert isinstance(read, wire.PersonaComplete)
    assert read.citations == ()
    assert (read.usage.cached_tokens, read.usage.looked_at, read.usage.left_out) == (0, (), ())


def test_whoever_challenged_hears_what_is_looked_up_for_their_reply_alone() -> None:
    outbox = BoardOutbox()
    outbox.looks(AskPersona("a", "board/advisor", "1"), "a.py, lines 1 to 9")
    outbox.looks(AskPersona("b", "board/challenge", "2"), "b.py, lines 1 to 9")
    outbox.looks(AskPersona("a", "board/challenge", "2"), "c.py, lines 1 to 9")
    reply = ChallengeReply("a", 2)
    heard = [reply.read(wire.read_frame(frame)) for frame in outbox.take()]
    assert heard == [None, None, Looked("a", "board/challenge", "2", "c.py, lines 1 to 9")]
