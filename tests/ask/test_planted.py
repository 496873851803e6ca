"""Whatever is said anywhere in an ask is known in every answer that comes later."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.ask import prompts
from moot.ask.flow import ASK, AskEvent, AskOpened, AskState, QuestionAsked, ledger
from moot.ask.service import PROMPTS
from moot.config import Config, Settings
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.ledger import read_correction
from moot.evidence.items import Evidence
from moot.llm.context import needed_tokens
from moot.personas.library import load_library
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.held import Held
from tests.support.planted import Planting, left_out, planting_a_workspace

AskHeld = Held[AskState, AskEvent]
COACH = load_library().persona("the-coach")


def held(stub: StubServer, folder: Path, config: Config | None = None) -> AskHeld:
    return Held(ASK, PROMPTS, stub, folder, config=config)


def evidence(text: str, name: str) -> EvidenceGiven:
    return EvidenceGiven((Evidence(name, name, name, "text/plain", text),))


def corrected(ask: AskHeld, words: str) -> LedgerCorrected:
    state = ask.state
    return LedgerCorrected(read_correction(ledger(state), state.background.corrections, words, "x"))


def test_a_fact_at_each_place_is_known_ever_after(stub: StubServer, tmp_path: Path) -> None:
    facts = Planting(stub)
    ask = held(stub, tmp_path)
    ask.happen(AskOpened(COACH.id, ask.model), evidence(facts.plant("evidence"), "a.txt"))
    answer = facts.plant("answer")
    stub.default = lambda _: Behaviour(text=answer)
    ask.happen(QuestionAsked(facts.plant("question")))
    facts.begin("answer")
    ask.happen(evidence(facts.plant("later evidence"), "b.txt"), corrected(ask, facts.plant("correction")))
    ask.happen(QuestionAsked(facts.plant("follow-up")))
    instead = facts.plant("corrected correction")
    ask.happen(corrected(ask, f"D1: {instead}"))
    for number in range(30):
        ask.happen(QuestionAsked(f"And {number}? " + "words " * 250))
    assert len(stub.requests) == 32
    # What was corrected is gone: that it does not hold any more needs no words.
    kept = ("evidence", "question", "answer", "later evidence", "follow-up", "corrected correction")
    assert facts.unknown(*kept) == []


def test_what_is_in_the_workspace_is_behind_a_tool_for_whoever_may_look(
    stub: StubServer, tmp_path: Path
) -> None:
    facts = planting_a_workspace(tmp_path / "shop", stub)
    ask = held(stub, tmp_path)
    ask.workspace = tmp_path / "shop"
    stub.default = lambda _: Behaviour(text="No.")
    ask.happen(AskOpened(COACH.id, ask.model, looks=True), QuestionAsked("Why?"))
    ask.happen(QuestionAsked("So?"))
    assert len(facts.later("readme")) == 2
    assert facts.unknown("readme", "function body") == []


def test_what_was_read_for_an_answer_is_known_to_have_been_read(stub: StubServer, tmp_path: Path) -> None:
    planting_a_workspace(tmp_path / "shop", stub)
    ask = held(stub, tmp_path)
    ask.workspace = tmp_path / "shop"
    stub.script(
        Behaviour(tool_calls=(("read_file", {"path": "README.md"}),)),
        Behaviour(text="Yes."),
        Behaviour(text="No."),
    )
    ask.happen(AskOpened(COACH.id, ask.model, looks=True), QuestionAsked("Why?"))
    ask.happen(QuestionAsked("So?"))
    assert "- README.md 1–3\n</looked-up-before>" in stub.requests[-1].said
    assert "looked-up-before" not in stub.requests[0].said


@pytest.mark.parametrize(
    ("beyond", "missing"),
    [
        (-1, ()),
        (0, ()),
        (1, ("E1 (old.txt)",)),
        (2_500, ("2 earlier messages", "E1 (old.txt)", "E2 (new.txt)")),
    ],
)
def test_beyond_the_window_the_oldest_goes_first_and_everybody_hears_of_it(
    stub: StubServer, tmp_path: Path, beyond: int, missing: tuple[str, ...]
) -> None:
    measured = held(stub, tmp_path)
    before: list[AskEvent] = [
        AskOpened(COACH.id, measured.model),
        evidence("old " * 900, "old.txt"),
        evidence("new " * 900, "new.txt"),
    ]
    stub.default = lambda _: Behaviour(text="No. " * 300)
    measured.happen(*before, QuestionAsked("Why? " * 300))
    measured.events.append(QuestionAsked("So?"))
    size = needed_tokens(prompts.answer(measured.state, COACH, small=False))

    windows = {measured.model: size - beyond}
    ask = held(stub, tmp_path, Config(user=Settings(windows=windows)))
    ask.events += measured.events[:-1]
    state = ask.happen(QuestionAsked("So?"))
    assert left_out(stub.requests[-1]) == missing
    assert state.bills[-1].left_out == missing


def test_all_answers_begin_with_the_same_evidence(stub: StubServer, tmp_path: Path) -> None:
    ask = held(stub, tmp_path)
    ask.happen(AskOpened(COACH.id, ask.model), evidence("One.\nTwo.", "a.txt"), QuestionAsked("Why?"))
    ask.happen(QuestionAsked("So?"))
    first, second = (one.body["system"][0] for one in stub.requests)
    assert first == second
    assert "cache_control" in first
    assert "2 Two." in first["text"]


def test_what_was_cited_and_is_not_there_is_said_and_so_is_what_came_since(
    stub: StubServer, tmp_path: Path
) -> None:
    ask = held(stub, tmp_path)
    stub.default = lambda _: Behaviour(text="It says so [E2:1].")
    ask.happen(AskOpened(COACH.id, ask.model), evidence("one", "a.txt"), QuestionAsked("Why?"))
    ask.happen(evidence("two", "b.txt"), evidence("three", "c.txt"), QuestionAsked("So?"))
    ask.happen(QuestionAsked("And?"))
    first, second, third = (request.said for request in stub.requests)
    assert "<not-found>" not in first
    assert "<given-since>" not in first
    late = "- [E2:1]: no such item at the time: what has this number now came later\n"
    assert late in second, "what came later does not bear it out"
    assert "The person has given E2 to E3 since your last answer." in second
    assert "<given-since>" not in third
    assert [len(items) for _, items in ask.state.answers] == [1, 3, 3]
