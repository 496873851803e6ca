"""Replies to challenges as frames: what listeners are told, and what whoever made the challenge reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.board.challenge_reply import BROKEN_OFF, REPLACED, ChallengeReply
from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    BriefFailed,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    DecisionPresented,
    Member,
)
from moot.board.flow import BOARD
from moot.board.frames import BoardOutbox, missing
from moot.board.wire import read_frame
from moot.core.flow import AskPersona, Usage
from moot.server import Payload

BILL = Usage("m", 1, 2, None, 3)
USAGE = {
    "model": "m",
    "inputTokens": 1,
    "outputTokens": 2,
    "costUsd": None,
    "durationMs": 3,
    "cachedTokens": 0,
    "lookedAt": [],
    "leftOut": [],
}
ADA, BEN = (Member(id_, id_.title(), "role", "integrator") for id_ in ("ada", "ben"))
OPENING: list[BoardEvent] = [
    DecisionPresented("Move?", (ADA, BEN), "independent", "m"),
    BoardConvened(),
    AdvisorSpoke("ada", "No.", BILL),
    AdvisorFailed("ben", "ProviderDown", "away"),
    BriefFailed("ProviderDown", "away"),
]

Frames = list[dict[str, Any]]


def frame(type_: str, challenge: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": type_, "personaId": "ada", "challenge": challenge, **more}


MADE = frame("challenge_made", text="Why?")
START = frame("challenge_reply_start")
COMPLETE = frame("challenge_reply_complete", usage=USAGE, citations=[])


def word(token: str, challenge: int = 1) -> dict[str, Any]:
    return frame("challenge_reply_token", challenge, token=token)


def taken(outbox: BoardOutbox) -> Frames:
    return [json.loads(body) for body in outbox.take()]


# -- what listeners are told ----------------------------------------------------------------------


def test_a_challenge_and_its_reply_are_frames_and_words_of_one_moment_are_one() -> None:
    outbox = BoardOutbox()
    before = BOARD.fold(OPENING)
    after = BOARD.advance(before, ChallengeMade("ada", "Why?"))
    outbox.happened(ChallengeMade("ada", "Why?"), before, after)
    [effect] = BOARD.pending(after)
    assert isinstance(effect, AskPersona)
    outbox.began(effect, after)
    outbox.said(effect, "Be")
    outbox.said(effect, "cause")
    assert taken(outbox) == [MADE, START, word("Because")]
    outbox.said(effect, ".")
    replied = ChallengeReplied("ada", "Because.", BILL)
    outbox.happened(replied, after, BOARD.advance(after, replied))
    assert taken(outbox) == [word("."), COMPLETE]


def test_a_reply_that_another_process_has_logged_is_told_whole() -> None:
    outbox = BoardOutbox()
    before = BOARD.fold([*OPENING, ChallengeMade("ada", "Why?")])
    replied = ChallengeReplied("ada", "Because.", BILL)
    outbox.happened_elsewhere(replied, before, BOARD.advance(before, replied))
    assert taken(outbox) == [START, word("Because."), COMPLETE]


@pytest.mark.parametrize(
    ("event", "kind", "message", "retry_after"),
    [
        (ChallengeWithdrawn("ada"), "", "The challenge was withdrawn.", None),
        (ChallengeWithdrawn("ada", "RateLimited", "too many", 7.0), "RateLimited", "too many", 7.0),
    ],
)
def test_a_challenge_that_gets_no_reply_is_told_with_the_reason(
    event: ChallengeWithdrawn, kind: str, message: str, retry_after: float | None
) -> None:
    outbox = BoardOutbox()
    before = BOARD.fold([*OPENING, ChallengeMade("ada", "Why?")])
    outbox.happened(event, before, BOARD.advance(before, event))
    told = frame("challenge_reply_error", kind=kind, message=message, retryAfter=retry_after)
    assert taken(outbox) == [told]


def test_whoever_drives_next_tells_what_was_not_told_of_challenges() -> None:
    one = ChallengeMade("ada", "Why?"), ChallengeReplied("ada", "Because.", BILL)
    two = ChallengeMade("ada", "Still?")
    state = BOARD.fold([*OPENING, *one, two])
    still = frame("challenge_made", 2, text="Still?")
    settled = [{"type": "session_start"}, {"type": "persona_complete", "personaId": "ada"}]
    settled += [{"type": "persona_error", "personaId": "ben"}, {"type": "session_complete"}]

    def of_challenges(told: Frames) -> Frames:
        frames = taken(missing(state, told, Payload(), 0))
        return [one for one in frames if one["type"].startswith("challenge")]

    whole = [MADE, START, word("Because."), COMPLETE]
    assert of_challenges([]) == [*whole, still], "where all frames were cleared away"
    assert of_challenges([*settled, MADE, START, word("Be")]) == [*whole[1:], still], "after a crash"
    assert of_challenges([*settled, *whole]) == [still]
    assert of_challenges([*settled, *whole, still]) == []
    assert of_challenges(settled) == [still], "an earlier version had no frames for challenges"


# -- what whoever made it reads -------------------------------------------------------------------


def read(*frames: dict[str, Any], number: int = 1) -> Frames:
    reply = ChallengeReply("ada", number)
    told: Frames = []
    for one in frames:
        assert not reply.ended
        told += next_of(reply, one)
    return told


def next_of(reply: ChallengeReply, one: dict[str, Any]) -> Frames:
    heard = reply.read(read_frame(json.dumps(one).encode()))
    return [] if heard is None else [json.loads(msgspec.json.encode(heard))]


def test_only_the_frames_of_this_challenge_are_read() -> None:
    other = {"type": "persona_token", "personaId": "ben", "token": "Well"}
    unknown = {"type": "of_a_later_version", "challenge": 1}
    assert read(other, MADE, START, word("Be"), other, unknown, word("cause."), COMPLETE) == [
        word("Be"),
        word("cause."),
        COMPLETE,
    ]
    assert read(MADE, START, word("Be"), number=2) == []


def test_a_later_challenge_ends_it() -> None:
    [token, failed] = read(START, word("Be"), frame("challenge_made", 2, text="And?"))
    assert (token, failed["type"], failed["message"]) == (word("Be"), "challenge_reply_error", REPLACED)


def test_an_error_ends_it() -> None:
    failed = frame("challenge_reply_error", kind="RateLimited", message="too many", retryAfter=7.0)
    assert read(START, failed) == [failed]


def test_a_reply_that_begins_again_goes_on_if_it_says_the_same() -> None:
    assert read(START, word(" Be"), START, word("Because."), COMPLETE) == [
        word("Be"),
        word("cause."),
        COMPLETE,
    ]
    assert read(START, word("Because. "), START, word("Because."), COMPLETE) == [word("Because. "), COMPLETE]


@pytest.mark.parametrize("again", [[word("But")], [word("B"), COMPLETE]])
def test_words_of_two_attempts_are_never_joined(again: Frames) -> None:
    told = read(START, word("Be"), START, *again)
    assert [one.get("message") for one in told] == [None, BROKEN_OFF]


PIECES = st.lists(st.text("ab \n", min_size=1, max_size=3), max_size=6)


@given(first=PIECES, second=PIECES)
@example(first=["a", " "], second=["a", "\n"])
def test_what_was_told_is_always_the_beginning_of_one_attempt_or_all_of_it(
    first: list[str], second: list[str]
) -> None:
    reply = ChallengeReply("ada", 1)
    told, ended = "", ""
    for one in (START, *map(word, first), START, *map(word, second), COMPLETE):
        for heard in next_of(reply, one):
            told += heard.get("token", "")
            ended = heard["type"]
        if reply.ended:
            break
    said = ["".join(pieces).lstrip() for pieces in (first, second)]
    assert any(one.startswith(told) for one in said)
    assert reply.ended
    assert (ended == "challenge_reply_complete") == (said[1].rstrip() == told.rstrip())
