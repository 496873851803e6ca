"""What makes a board think, in the requests as they are sent on both wires: not in a prompt file, not in what
is put together before it is fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.board.events import BoardConvened, ChallengeMade
from moot.core.background import EvidenceGiven
from moot.evidence.items import Evidence
from moot.prompts.template import fill, when_challenged
from tests.stub.script import Recorded
from tests.stub.server import StubServer
from tests.support.board_held import ADVISORS, a_board_held, is_brief, presented
from tests.support.providers import WIRES, Wire
from tests.support.speaker import speaker

DEVIL = ADVISORS[0]
both_wires = pytest.mark.parametrize("wire", WIRES)


def sent(stub: StubServer, folder: Path, wire: Wire) -> list[Recorded]:
    """Eight views, the brief, and a reply to the one who opposes and to somebody else."""
    board = a_board_held(stub, folder, wire, says=lambda one: f'{speaker(one)}: "it is one of many" [E1:1]')
    evidence = EvidenceGiven((Evidence("a.txt", "a.txt", "a", "text/plain", "It is one."),))
    board.happen(presented("Should we move?", board.model), evidence, BoardConvened())
    board.happen(ChallengeMade(DEVIL.id, "I am the boss here."))
    board.happen(ChallengeMade(ADVISORS[1].id, "Rents have fallen by a tenth."))
    return stub.requests


def spoken(requests: list[Recorded]) -> list[Recorded]:
    return [one for one in requests if one.schema is None]


@both_wires
def test_everybody_is_told_their_own_first_and_last_sentence_and_nobody_elses(
    stub: StubServer, tmp_path: Path, wire: Wire
) -> None:
    asked = spoken(sent(stub, tmp_path, wire))
    assert len(asked) == 10
    for request in asked:
        for one in ADVISORS:
            is_own = speaker(request) == one.name
            assert (one.voice.opening in request.said) == is_own, (one.name, speaker(request))
            assert (one.voice.ending in request.said) == is_own


@both_wires
def test_one_seat_makes_the_other_case_and_the_clerk_knows_which(
    stub: StubServer, tmp_path: Path, wire: Wire
) -> None:
    requests = sent(stub, tmp_path, wire)
    task = fill("board/opposes", {})
    assert {speaker(one) for one in spoken(requests) if task in one.said} == {DEVIL.name}
    assert len([one for one in spoken(requests) if task in one.said]) == 2, "in the view and in the reply"
    [brief] = [one for one in requests if is_brief(one)]
    assert fill("board/opposed", {"name": DEVIL.name}) in brief.said


@both_wires
def test_everybody_is_told_what_to_do_when_challenged_from_their_view_on(
    stub: StubServer, tmp_path: Path, wire: Wire
) -> None:
    for request in spoken(sent(stub, tmp_path, wire)):
        assert request.said.count(when_challenged()) == 1
    rules = when_challenged()
    for rule in ("hold, move or withdraw", "are no facts", "at most 150 words", "Answer only the point"):
        assert rule in " ".join(rules.split())


@both_wires
def test_a_citation_that_does_not_hold_is_known_to_whoever_it_concerns(
    stub: StubServer, tmp_path: Path, wire: Wire
) -> None:
    requests = sent(stub, tmp_path, wire)
    [brief] = [one for one in requests if is_brief(one)]
    assert brief.said.count("[E1:1] (unverified: not in the lines)") == 8
    replies = spoken(requests)[8:]
    assert all('- [E1:1]: not in the lines: "it is one of many"' in one.said for one in replies)
    assert not any("<not-found>" in one.said for one in spoken(requests)[:8])
