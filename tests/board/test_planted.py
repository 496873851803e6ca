"""Whatever is said anywhere on a board is known to everybody who speaks later and whom it concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.board import prompts
from moot.board.events import Answer, BoardConvened, BriefRequested, ChallengeMade
from moot.board.ledger import ledger
from moot.config import Config, Settings
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.ledger import read_correction
from moot.evidence.items import Evidence
from moot.llm.context import needed_tokens
from tests.stub.script import Recorded
from tests.stub.server import StubServer
from tests.support.board_held import ADVISORS, BoardHeld, a_board_held, is_brief, presented
from tests.support.planted import Planting, left_out, planting_a_workspace
from tests.support.speaker import speaker

FIRST, SECOND, *_, LAST = ADVISORS


def evidence(text: str, name: str = "notes.txt") -> EvidenceGiven:
    return EvidenceGiven((Evidence(name, name, name, "text/plain", text),))


def corrected(board: BoardHeld, words: str) -> LedgerCorrected:
    state = board.state
    return LedgerCorrected(read_correction(ledger(state), state.background.corrections, words, "x"))


def test_a_fact_at_each_place_is_known_ever_after(stub: StubServer, tmp_path: Path) -> None:
    facts = Planting(stub)
    said = {"view": facts.plant("view"), "reply": facts.plant("reply")}

    def says(request: Recorded) -> str:
        if speaker(request) != FIRST.name:
            return f"{speaker(request)} says no."
        return said["reply" if "objects" in request.messages[-1]["content"] else "view"]

    board = a_board_held(stub, tmp_path, says=says)
    decision, first = facts.plant("decision"), facts.plant("evidence")
    board.happen(presented(f"Should we move? {decision}", board.model), evidence(first))
    answer = facts.plant("answer")
    correction = facts.plant("correction")
    board.happen(corrected(board, correction))
    board.happen(BoardConvened((Answer("Since when?", answer),)))
    facts.begin("view", after=next(one for one in stub.requests if is_brief(one)))

    later = facts.plant("later evidence")
    board.happen(evidence(later, "later.txt"))
    instead = facts.plant("corrected answer")
    board.happen(corrected(board, f"D3: {instead}"))
    challenge = facts.plant("challenge")
    board.happen(ChallengeMade(FIRST.id, f"Somebody objects. {challenge}"))
    facts.begin("reply")
    board.happen(ChallengeMade(SECOND.id, "And you?"))
    board.happen(ChallengeMade(FIRST.id, "Somebody objects once more."))
    board.happen(BriefRequested())

    everybody = (
        "decision",
        "evidence",
        "correction",
        "answer",
        "later evidence",
        "corrected answer",
        "challenge",
    )
    assert len(stub.requests) == 14
    assert facts.unknown(*everybody) == []

    # Advisors answer independently: what one says is for them and for the brief.
    def own(request: Recorded) -> bool:
        return speaker(request) == FIRST.name or is_brief(request)

    assert facts.unknown("view", "reply", concerns=own) == []
    assert [len(facts.later(place, own)) for place in ("view", "reply")] == [3, 2]
    strangers = [one for one in facts.later("reply") if not own(one)]
    assert len(strangers) == 1
    assert facts["reply"].word not in strangers[0].said


def test_in_a_sequential_board_a_view_is_known_to_all_who_come_after(
    stub: StubServer, tmp_path: Path
) -> None:
    facts = Planting(stub)
    view = facts.plant("view")
    board = a_board_held(stub, tmp_path, says=lambda one: view if speaker(one) == FIRST.name else "No.")
    board.happen(presented("Should we move?", board.model, "sequential"), BoardConvened())
    facts.begin("view", after=stub.requests[0])
    assert len(facts.later("view")) == 8, "seven views and the brief"
    assert facts.unknown("view") == []


def test_what_is_in_the_workspace_is_behind_a_tool_for_every_advisor_who_may_look(
    stub: StubServer, tmp_path: Path
) -> None:
    facts = planting_a_workspace(tmp_path / "shop", stub)
    board = a_board_held(stub, tmp_path)
    board.workspace = tmp_path / "shop"
    board.happen(presented("Should we move?", board.model, looks=True), BoardConvened())
    board.happen(ChallengeMade(FIRST.id, "Have you looked?"))
    board.happen(BriefRequested())

    def speaks(request: Recorded) -> bool:
        return request.schema is None

    assert len(facts.later("readme", speaks)) == 9
    assert facts.unknown("readme", "function body", concerns=speaks) == []


def test_nobody_is_offered_the_workspace_who_may_not_look(stub: StubServer, tmp_path: Path) -> None:
    facts = planting_a_workspace(tmp_path / "shop", stub)
    board = a_board_held(stub, tmp_path)
    board.workspace = tmp_path / "shop"
    board.happen(presented("Should we move?", board.model), BoardConvened())
    assert len(facts.unknown("readme")) == len(stub.requests)


# -- at the window's edge ----------------------------------------------------------------------------


OLD, NEW = evidence("old " * 900, "old.txt"), evidence("new " * 900, "new.txt")


def windowed(window: int) -> Config:
    return Config(user=Settings(windows={"anthropic:claude-sonnet-5-5": window}))


@pytest.mark.parametrize(
    ("beyond", "missing"),
    [(0, ()), (-1, ()), (1, ("E1 (old.txt)",)), (2_000, ("E1 (old.txt)", "E2 (new.txt)"))],
)
def test_beyond_the_window_the_oldest_goes_first_and_everybody_hears_of_it(
    stub: StubServer, tmp_path: Path, beyond: int, missing: tuple[str, ...]
) -> None:
    """At the size of the largest view, one above it, and one and many below."""
    measured = a_board_held(stub, tmp_path)
    measured.events += [presented("Should we move?", measured.model), OLD, NEW, BoardConvened()]
    sizes = {one.id: needed_tokens(prompts.view(measured.state, one, small=False)) for one in ADVISORS}
    largest = max(sizes, key=lambda one: sizes[one])
    name = next(one.name for one in ADVISORS if one.id == largest)

    board = a_board_held(stub, tmp_path, config=windowed(sizes[largest] - beyond))
    state = board.happen(*measured.events)
    (asked,) = [one for one in stub.requests if speaker(one) == name]
    assert left_out(asked) == missing
    usage = state.advisor(largest).usage
    assert usage is not None
    assert usage.left_out == missing
