"""How much of a board's input a provider's cache can serve: computed from what was really sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moot.board.events import Answer, BoardConvened, BriefRequested, ChallengeMade
from moot.core.background import EvidenceGiven
from moot.evidence.items import Evidence
from tests.stub.script import Recorded
from tests.stub.server import StubServer
from tests.support.board_held import ADVISORS, a_board_held, is_brief, is_questions, presented
from tests.support.providers import Wire

LINES = "\n".join(
    f"On day {day} the shop sold {day * 7 % 41} loaves and {day % 13} cakes." for day in range(820)
)
TWENTY_THOUSAND = tuple(Evidence(f"{name}.txt", f"{name}.txt", name, "text/plain", LINES) for name in "ab")
SMALLEST = 1024
"""Tokens that Anthropic's cache takes at least, for the model that is asked here."""


def held(stub: StubServer, folder: Path, wire: Wire) -> list[Recorded]:
    """Questions, eight views, two replies and the brief."""
    board = a_board_held(stub, folder, wire)
    board.happen(presented("Should we open a second shop?", board.model), EvidenceGiven(TWENTY_THOUSAND))
    board.happen(BoardConvened((Answer("Since when?", "Since May."),)))
    board.happen(ChallengeMade(ADVISORS[0].id, "The lease is signed already: page 3."))
    board.happen(ChallengeMade(ADVISORS[1].id, "I am the owner, and I say it is a good idea."))
    # The first brief is out of date, and nobody reads it before the challenges are over.
    (drafted,) = [number for number, sent in enumerate(stub.requests) if is_brief(sent)]
    board.happen(BriefRequested())
    sent = [one for number, one in enumerate(stub.requests) if number != drafted]
    assert len(sent) == 12
    return sent


def tokens(text: str) -> float:
    return len(text) / 4


def whole(request: Recorded) -> float:
    schema = json.dumps(request.schema) if request.schema else ""
    return tokens(request.said + schema)


def beginnings(request: Recorded) -> list[str]:
    """What Anthropic is asked to keep, up to each breakpoint."""
    said, kept = "", list[str]()
    for block in request.body["system"]:
        said += block["text"]
        if "cache_control" in block:
            kept.append(said)
    return kept


def test_four_fifths_of_a_boards_input_can_come_from_anthropics_cache(
    stub: StubServer, tmp_path: Path
) -> None:
    sent = held(stub, tmp_path, "anthropic")
    for request in sent:
        marked = json.dumps(request.body).count('"cache_control"')
        assert 1 <= marked <= 4, "no request has more breakpoints than Anthropic takes"
        assert all(tokens(beginning) > SMALLEST for beginning in beginnings(request))
    common = set.intersection(*({*beginnings(request)} for request in sent))
    longest = max(common, key=len)
    assert tokens(longest) > 20_000
    assert all("".join(block["text"] for block in one.body["system"]).startswith(longest) for one in sent)
    share = len(sent) * tokens(longest) / sum(map(whole, sent))
    assert share >= 0.8, f"{share:.1%} is marked and the same in all twelve"


def test_views_and_replies_really_share_what_the_shape_of_a_draft_would_keep_apart(
    stub: StubServer, tmp_path: Path
) -> None:
    """With Anthropic, another `output_config.format` is another beginning, and so are other tools: what is
    streamed has neither, and therefore shares everything up to the persona."""
    sent = held(stub, tmp_path, "anthropic")
    spoken = [one for one in sent if one.schema is None]
    assert len(spoken) == 10
    assert len({json.dumps(one.body.get("tools")) for one in spoken}) == 1
    assert len({json.dumps(one.body["thinking"]) for one in spoken}) == 1
    assert len({beginnings(one)[-1] for one in spoken}) == 1
    read = 9 * tokens(beginnings(spoken[0])[-1])
    assert read / sum(map(whole, sent)) >= 0.7


def test_four_fifths_begin_alike_for_openai_too(stub: StubServer, tmp_path: Path) -> None:
    sent = held(stub, tmp_path, "openai")
    systems = [one.system for one in sent]
    common = _common_beginning(systems)
    assert tokens(common) > 20_000
    assert len(sent) * tokens(common) / sum(map(whole, sent)) >= 0.8
    keys = {one.body.get("prompt_cache_key") for one in sent}
    assert len(keys) == 1
    assert keys != {None}


def test_the_first_of_eight_views_is_read_before_the_others_are_sent(
    stub: StubServer, tmp_path: Path
) -> None:
    """Else each of them would pay for keeping 20,000 tokens of evidence."""
    sent = held(stub, tmp_path, "anthropic")
    views = [one for one in sent if one.schema is None][:8]
    assert is_questions(sent[0])
    first, *others = sorted(views, key=lambda one: one.time)
    assert min(one.time for one in others) > first.time


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_a_short_board_marks_what_is_common_and_waits_for_nobody(
    stub: StubServer, tmp_path: Path, wire: Wire
) -> None:
    board = a_board_held(stub, tmp_path, wire)
    board.happen(presented("Should we open a second shop?", board.model), BoardConvened())
    views = [one for one in stub.requests if one.schema is None]
    assert len(views) == 8
    assert tokens(_common_beginning([one.system for one in views])) > 500


def _common_beginning(texts: list[Any]) -> str:
    low, high = min(texts), max(texts)
    length = next(
        (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low)
    )
    return str(low[:length])
