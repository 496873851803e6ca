"""Whatever is said or written anywhere in an analysis is known in every later request of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moot.analysis.flow import ANALYSIS
from moot.analysis.prompts import AnalysisPrompts
from moot.analysis.state import AnalysisState
from moot.analysis.steps import load_steps
from moot.config import Config, Settings
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import AskPerson, PersonAnswered, PersonGave
from moot.core.ledger import Correction
from moot.evidence.items import Evidence
from moot.llm.context import needed_tokens
from moot.personas.library import load_library
from moot.repo.eyes import Eyes
from tests.analysis.test_flow import Play
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer, running_stub
from tests.support import analysis_held
from tests.support.analysis_held import Said, kind, usual, workspace
from tests.support.held import Held
from tests.support.planted import Planting, left_out

ON = PersonAnswered(choice="continue")


def evidence(text: str, name: str) -> EvidenceGiven:
    return EvidenceGiven((Evidence(name, name, name, "text/plain", text),))


class Analysed:
    """All 24 steps at their own depth, with a fact at each place."""

    def __init__(self, stub: StubServer, folder: Path) -> None:
        self.stub = stub
        root = folder / "workspace"
        self.facts = facts = Planting(stub, *Eyes(root, 10_000, 10_000_000).tools())
        readme = facts.plant("readme", ("read_file", {"path": "README.md"}))
        body = facts.plant("function body", ("read_file", {"path": "src/late.py"}))
        code = f'def late_order(order):\n    """Whether it is late."""\n    return "{body}" in order\n'
        workspace(folder, {"README.md": f"# Shop\n\n{readme}\n", "src/late.py": code, "src/p.html": "<p>"})
        self.item = root / "moot" / "items" / "late-orders"
        self.description = facts.plant("description")
        self.evidence = evidence(facts.plant("evidence"), "a.txt")
        self.said = {place: facts.plant(place) for place in BY_MODELS}
        self._begun: set[str] = set()
        self._turns: dict[str, int] = {}
        stub.default = self.answer

    # -- the models --------------------------------------------------------------------------

    def answer(self, request: Recorded) -> Behaviour:
        what = kind(request)
        said = usual(request)
        for place, (wanted, field) in BY_MODELS.items():
            if wanted != what or (place in self._begun and what != "check"):
                continue
            # What was found once is named again.
            if place not in self._begun:
                self._begun.add(place)
                self.facts.begin(place, after=request)
            said = _put(said, field, self.said[place])
        if what == "read Business Context Discovery" and isinstance(said, dict):
            said |= {"answers": False, "reply": said["reply"] or "It is what it is."}
        return Behaviour(text=said) if isinstance(said, str) else Behaviour(json_text=json.dumps(said))

    # -- the person --------------------------------------------------------------------------

    def reply(self, ask: AskPerson, state: AnalysisState) -> Said:
        at = state.current.ref.id if state.current else ""
        place = at if ask.step == at else f"{ask.step} {at}"
        turn = self._turns[place] = self._turns.get(place, 0) + 1
        if own := self._script.get(f"{place} {turn}"):
            return own()
        return ON if ask.step == "menu" else PersonAnswered(f"Nothing else at {place}.")

    @property
    def _script(self) -> dict[str, Callable[[], Said]]:
        """By place, and how often the person was asked there."""
        plant = self.facts.plant
        return {
            "00-01 1": lambda: PersonAnswered(f"Let's go deep. {plant('answer')}"),
            "menu 00-01 1": lambda: corrects("own:1", plant("ledger correction")),
            "01-01 1": lambda: PersonAnswered(f"What do you mean by that? {plant('question back')}"),
            "01-02 2": lambda: PersonAnswered(plant("second answer")),
            "menu 01-03 1": lambda: PersonAnswered(plant("feedback")),
            "menu 01-06 1": lambda: PersonAnswered(choice="elaborate"),
            "roundtable 01-06 1": lambda: PersonAnswered(f"Alex, mind this. {plant('words at the table')}"),
            "roundtable 01-06 2": lambda: PersonAnswered(choice="done"),
            "menu 01-06 2": lambda: PersonAnswered(choice="ask-board"),
            "board-question 01-06 1": lambda: PersonAnswered(choice="question-1"),
            "menu 01-08 1": self._edit_by_hand,
            "menu 02-01 1": lambda: PersonGave((evidence(plant("later evidence"), "b.txt"),)),
            "menu 02-04 1": lambda: corrects("said:00-01:1", plant("corrected answer")),
        }

    def _edit_by_hand(self) -> Said:
        spec = self.item / "requirements-spec.md"
        text = spec.read_text(encoding="utf-8")
        spec.write_text(f"{text}\n{self.facts.plant('edit by hand')}\n", encoding="utf-8")
        return ON


def corrects(key: str, text: str) -> PersonGave:
    return PersonGave((LedgerCorrected(Correction(key, text, "menu")),))


BY_MODELS = {
    "opening": ("open Keyword Search", ""),
    "summary": ("assess Keyword Search", "summary"),
    "explanation": ("read Business Context Discovery", "reply"),
    "follow-up": ("assess User Needs Discovery", "follow_up"),
    "reply to feedback": ("feedback User Experience & Journeys", "reply"),
    "artifact": ("assess Technical Context", "contents"),
    "missing": ("assess Quality & Risk Assessment", "missing"),
    "framing": ("framing", "focus_question"),
    "contribution": ("talk", ""),
    "decision at the table": ("check", "decisions"),
    "open point": ("check", "open_points"),
    "minutes": ("minutes", "insights"),
    "risk": ("minutes", "risks"),
    "recommendation of the board": ("brief", "recommendation"),
    "decision": ("assess Architecture Options & Tradeoffs", "decided"),
    "architecture": ("assess Technology Decisions", "contents"),
    "ruled out": ("assess Integration Architecture", "rejected"),
}


def _put(said: dict[str, Any] | str, field: str, fact: str) -> dict[str, Any] | str:
    if isinstance(said, str):
        return f"{said} {fact}"
    match field:
        case "contents":
            return said | {"contents": dict.fromkeys(said["contents"], fact)}
        case "missing" | "decided" | "rejected":
            return said | {field: [fact]}
        case "recommendation":
            return said | {field: said[field] | {"summary": fact}}
        case "decisions" | "open_points":
            made = said[field][0] | ({"decision": fact} if field == "decisions" else {"question": fact})
            return said | {field: [made]}
        case "insights" | "risks":
            return said | {field: [said["insights"][0] | {"text": fact}]}
        case _:
            return said | {field: fact}


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running_stub() as stub:
        folder = tmp_path_factory.mktemp("planted")
        held = Analysed(stub, folder)
        item = ("Late orders", held.description)
        state = asyncio.run(analysis_held.hold(stub, folder, item, held.evidence, held.reply))
        yield held, state


def test_a_fact_at_each_place_is_known_ever_after(analysed: tuple[Analysed, AnalysisState]) -> None:
    held, state = analysed
    assert [ref.id for ref in state.steps if ref.id in state.completed] == [
        one.id for one in load_steps().steps
    ]
    asked = [kind(request) for request in held.stub.requests]
    assert "" not in asked
    assert asked.count("advisor") == 8
    assert len(asked) > 55
    own = ("answer", "ledger correction", "question back", "second answer", "feedback", "edit by hand")
    by_person = {*own, "words at the table", "later evidence", "corrected answer", "description"}
    for place in {*BY_MODELS, *by_person, "evidence", "readme", "function body"}:
        concerned = looks if place in ("readme", "function body") else ""
        assert held.facts.later(place, concerned), f"nobody was asked after {place}"
        assert held.facts.unknown(place, concerns=concerned) == []


def looks(request: Recorded) -> bool:
    """Minutes report what was said at the table: whoever takes them looks nothing up."""
    return kind(request).split()[0] not in ("check", "minutes")


def test_the_minutes_know_all_that_was_said_at_the_table(analysed: tuple[Analysed, AnalysisState]) -> None:
    held, _ = analysed
    said = ("framing", "contribution", "words at the table")
    assert len(held.facts.later("framing", "You take the minutes")) == 1
    assert held.facts.unknown(*said, concerns="You take the minutes") == []


def test_an_answer_that_was_corrected_is_known_until_then_and_the_correction_after(
    analysed: tuple[Analysed, AnalysisState],
) -> None:
    held, _ = analysed
    assert held.facts.unknown("answer") == []
    last = held.stub.requests[-1]
    assert f"Said: {held.facts['corrected answer'].text} (the person" in last.said


def test_the_architecture_review_knows_the_architecture(analysed: tuple[Analysed, AnalysisState]) -> None:
    held, _ = analysed
    reviews = [one for one in held.stub.requests if kind(one).endswith("Architecture Review & Approval")]
    assert [kind(one).split()[0] for one in reviews] == ["open", "assess"]
    for review in reviews:
        assert '<file name="architecture-overview.md">' in review.said
        assert all(
            held.facts[place].word in review.said for place in ("decision", "architecture", "ruled out")
        )


def test_what_was_changed_by_hand_is_said_to_be_the_persons(
    analysed: tuple[Analysed, AnalysisState],
) -> None:
    held, state = analysed
    assert [edit.file for edit in state.edits] == ["requirements-spec.md"]
    assert f"+ {held.facts['edit by hand'].text}" in held.stub.requests[-1].said


# -- at the window's edge ------------------------------------------------------------------------


ARCHITECTURE = "# Late orders\n\n### ADR-1: One queue\n"
FILES = {"architecture-overview.md": ARCHITECTURE, "quick-scan.md": "# Late orders\n\n" + "Scanned. " * 300}
FIRST = "what was said at step 00-01 (Scope Estimation)"


def a_review_is_due() -> Play:
    play = Play()
    play.put(evidence("old " * 300, "old.txt"))
    for answer in ("Twenty people. " * 100, "They read. " * 100):
        play.step(answer)
        play.picks("continue")
    return play


@pytest.mark.parametrize(
    ("beyond", "missing"),
    [(-1, ()), (0, ()), (1, (FIRST,)), (1_200, (FIRST, "the artifact quick-scan.md"))],
    ids=["above", "at", "below", "far below"],
)
def test_beyond_the_window_the_oldest_goes_first_and_everybody_hears_of_it(
    stub: StubServer, tmp_path: Path, beyond: int, missing: tuple[str, ...]
) -> None:
    stub.default = Behaviour(text="Is that right?")
    prompts = AnalysisPrompts(load_steps, lambda _: FILES)
    play = a_review_is_due()
    request = prompts.open(play.state, load_library().persona("business-analyst"), small=False)
    size = needed_tokens(replace(request, looks=0, tools_tokens=0))
    windows = {"anthropic:claude-sonnet-5-5": size - beyond}
    held = Held(ANALYSIS, prompts.prompts(), stub, tmp_path, config=Config(user=Settings(windows=windows)))
    state = held.happen(*play.events)
    assert left_out(stub.requests[-1]) == missing
    assert state.bills[-1].left_out == missing
    assert "They read." in stub.requests[-1].said, "the step before is what the next rests on"
