"""Whatever was said on a board or in an analysis is known to whoever plans, reviews and revises the change
that is made from it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from moot.analysis.events import FeedbackGiven, FeedbackTaken, FeedbackWritten
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.review_tools import ReviewTools
from moot.changes.service import Changes
from moot.changes.source import LONGEST_ASKED
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.ledger import Correction
from moot.evidence.items import Evidence
from moot.repo.eyes import Eyes
from moot.sessions.sources import Sources
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import DRAFT, HIGH, appending
from tests.support.changes import STAMP, at_the_stub, silent
from tests.support.planted import Planting
from tests.support.sourced import BILL, Held, Notes, keep_board, write_item

CHANGE = "moot/changes/planted"
FILES = ("AGENTS.md", "design.md", "proposal.md", "specs/sign-in.md", "tasks.md")


def is_review(request: Recorded) -> bool:
    return "append_review" in request.tools


def is_draft(request: Recorded) -> bool:
    return request.schema is not None


class Facts:
    """Known to drafters by what they are given, and to reviewers also by the files that they have to read."""

    def __init__(self, stub: StubServer, root: Path) -> None:
        (root / CHANGE).mkdir(parents=True)
        folder = ChangeFolder("planted", root / CHANGE)
        self.stub = stub
        self._drafters = Planting(stub, *Eyes(root, 1_000, 1_000_000).tools())
        self._reviewers = Planting(stub, *ReviewTools(folder, root, lambda: STAMP, silent).tools())

    def plant(self, place: str) -> str:
        self._drafters.plant(place)
        return self._reviewers.plant(place, ("read_file", {"path": "design.md"}))

    def unknown(self) -> list[str]:
        assert [is_review(one) for one in self.stub.requests].count(True) == 2
        assert [is_draft(one) for one in self.stub.requests].count(True) == 2
        drafters = self._drafters.unknown(concerns=is_draft)
        return drafters + self._reviewers.unknown(concerns=is_review)


def play(stub: StubServer, *points: str) -> None:
    """A drafter, a reviewer who is not content, and the drafter again."""
    requirement = f"It MUST be so. ({', '.join(points)})"
    plan = {**DRAFT, "specs": [{**DRAFT["specs"][0], "requirements": [requirement]}], "left_open": []}
    plan["impact"] = "D1 to D30 are known."
    drafted = Behaviour(json_text=json.dumps(plan))
    coverage = [{"point": point, "state": "covered", "where": "proposal.md"} for point in points]
    review = {"verdict": "NEEDS_REVISION", "issues": [HIGH], "summary": "No.", "coverage": coverage}
    reads: Behaviour | Callable[..., Behaviour] = Behaviour(
        tool_calls=tuple(("read_file", {"path": path}) for path in FILES)
    )
    stub.script(drafted, reads, appending(review), drafted)


async def make_and_revise(moot_at: Changes, named: str, words: str) -> None:
    source = await Sources(moot_at.moot).find(named, words)
    await moot_at.propose("planted", source.asked, silent, source.binding, limit=LONGEST_ASKED)
    await Challenging(moot_at).challenge("planted", "model", silent)
    await moot_at.repropose("planted", "", silent)


def evidence(text: str) -> EvidenceGiven:
    return EvidenceGiven((Evidence("notes.txt", "notes.txt", "sha256:1", "text/plain", text),))


def test_what_was_said_on_a_board_is_known_to_all_who_work_on_its_change(
    stub: StubServer, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    facts = Facts(stub, root)
    held = Held(
        decision=f"Should we drop them? {facts.plant('decision')}",
        answer=facts.plant("answer"),
        views=(facts.plant("first view"), facts.plant("second view")),
        challenge=facts.plant("challenge"),
        reply=facts.plant("reply"),
        recommends=facts.plant("recommendation"),
        conditions=(facts.plant("condition"), facts.plant("condition that is met")),
        dissent=facts.plant("dissent"),
    )
    own = LedgerCorrected(Correction("own:1", facts.plant("correction")))
    words = facts.plant("wish")
    given = evidence(facts.plant("evidence"))

    async def work() -> None:
        async with at_the_stub(stub, root) as moot:
            session = await keep_board(moot, held, own, given)
            play(stub, "D1", "D4", "D6")
            await make_and_revise(Changes(moot), session, words)

    asyncio.run(work())
    assert facts.unknown() == []


def test_what_was_said_in_an_analysis_is_known_to_all_who_work_on_its_change(
    stub: StubServer, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    facts = Facts(stub, root)
    notes = Notes(
        said=facts.plant("answer"),
        decided=(facts.plant("decision"),),
        rejected=(facts.plant("rejection"),),
        left_open=(facts.plant("open question"),),
        artifact=f"# Quick scan\n\n{facts.plant('artifact')}\n",
    )
    feedback, held = facts.plant("feedback"), facts.plant("decided afterwards")
    taken = FeedbackTaken("Yes.", {}, BILL, decided=(held,))
    own = LedgerCorrected(Correction("own:1", facts.plant("correction")))
    given = evidence(facts.plant("evidence"))

    async def work() -> None:
        async with at_the_stub(stub, root) as moot:
            more = (FeedbackGiven(feedback), taken, FeedbackWritten(()), own, given)
            await write_item(root, notes, *more)
            play(stub, "D2", "D3", "D5", "D7")
            await make_and_revise(Changes(moot), "offline-mode", facts.plant("wish"))

    asyncio.run(work())
    assert facts.unknown() == []
