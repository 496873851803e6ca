"""What drafts and reviews cost is said before and after, and one limit holds for both, looks included."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.service import Changes
from moot.errors import LimitReached
from tests.stub.script import Behaviour, Spent
from tests.stub.server import StubServer
from tests.support.change import PROPOSAL, write_change
from tests.support.changes import MODEL, at_the_stub, drafted

PRICED = f'[prices."{MODEL}"]\ninput = 3.0\noutput = 15.0\n'
READS = Behaviour(
    tool_calls=tuple(
        ("read_file", {"path": path}) for path in ("proposal.md", "specs/sign-in.md", "tasks.md")
    ),
    usage=Spent(2_000, 10),
)
APPENDS = Behaviour(
    tool_calls=(("append_review", {"verdict": "APPROVED", "issues": [], "summary": "Fine."}),),
    usage=Spent(3_000, 20),
)


def test_what_it_takes_is_said_before_the_first_request_and_what_it_took_afterwards(
    stub: StubServer, tmp_path: Path
) -> None:
    root, told = tmp_path / "project", list[tuple[int, str]]()
    root.mkdir()

    def tell(line: str) -> None:
        told.append((len(stub.requests), line))

    async def work() -> None:
        async with at_the_stub(stub, root, PRICED) as moot:
            stub.script(Behaviour(json_text=drafted(), usage=Spent(1_000, 100)))
            await Changes(moot).propose("passkeys", "Passkeys for all.", tell)
            stub.script(READS, APPENDS)
            await Challenging(Changes(moot)).challenge("passkeys", "model", tell)

    asyncio.run(work())
    costs = [(number, line) for number, line in told if line.startswith("this t")]
    assert [number for number, _ in costs] == [0, 1, 1, 3], "with its review it is done"
    for _, line in costs[::2]:
        assert re.fullmatch(r"this takes at least about [\d,]+ tokens, \$0\.\d+", line)
    for line, requests in ((costs[0][1], stub.requests[:1]), (costs[2][1], stub.requests[1:])):
        foretold = int(re.sub(r"\D", "", line.partition(" tokens")[0]))
        assert foretold <= sum(len(json.dumps(one.body)) for one in requests) // 4, "what is read is more"
    assert costs[1][1] == "this took 1,100 tokens, under $0.01"
    assert costs[3][1] == "this took 5,030 tokens, $0.02"


LIMITED = "[limits]\nsession_tokens = 50000\n"


def test_a_limit_ends_a_draft_that_looks_on_and_on_and_the_review_that_follows(
    stub: StubServer, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    write_change(root / "moot" / "changes" / "passkeys", "proposed")
    folder = ChangeFolder("passkeys", root / "moot" / "changes" / "passkeys")
    stub.script(Behaviour(tool_calls=(("git_log", {}),), usage=Spent(49_999, 10)))
    stub.default = Behaviour(json_text=drafted())

    async def work() -> None:
        async with at_the_stub(stub, root, LIMITED) as moot:
            changes = Changes(moot)
            with pytest.raises(LimitReached, match="session_tokens"):
                await changes.repropose("passkeys", "Shorter.", lambda _: None)
            with pytest.raises(LimitReached, match="session_tokens"):
                await Challenging(changes).challenge("passkeys", "model", lambda _: None)

    asyncio.run(work())
    assert len(stub.requests) == 1
    assert folder.proposal() == PROPOSAL, "nothing is written of it"
    assert [(call.step, call.outcome, call.tokens_in) for call in folder.state().calls] == [
        ("reproposal", "LimitReached", 49_999),
        ("challenge", "LimitReached", 0),
    ]
