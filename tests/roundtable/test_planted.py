"""Whatever is said at a roundtable is known to whoever speaks later, and to whoever takes the minutes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moot.config import Config, Settings
from moot.core.flow import Drafted, Usage
from moot.core.model_effects import Prompts
from moot.llm.context import needed_tokens
from moot.llm.messages import Source, Weight
from moot.personas.library import load_library
from moot.roundtable import prompts
from moot.roundtable.events import (
    PersonaContributed,
    PersonaSilent,
    PersonLeft,
    PersonSpokeUp,
    RoundtableEvent,
    TopicFramed,
)
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.prompts import PROMPTS, Hosted
from moot.roundtable.state import RoundtableState, Step
from tests.roundtable.test_flow import (
    ALEX,
    CONCRETE,
    INVENTED,
    JORDAN,
    MAYA,
    OPENED,
    drafted,
    opened,
    synthesizing,
)
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.held import Held
from tests.support.planted import Known, left_out, planting_a_workspace
from tests.support.roundtable import check_reply, is_check, minutes_reply, turns
from tests.support.speaker import speaker

TableHeld = Held[RoundtableState, RoundtableEvent]
BILL = Usage("local", 10, 5, 0.0, 800)


def hosting(*sources: Source) -> Prompts:
    """As a session hosts a roundtable that knows these sources."""

    def within(prompt: Callable[..., Any]) -> Callable[..., Any]:
        def hosted(state: RoundtableState, *given: Any, small: bool) -> Any:
            return prompt(Hosted(state, (sources[:1],), sources[1:], 3, 24_000), *given, small=small)

        return hosted

    return Prompts(
        {name: within(speech) for name, speech in PROMPTS.speeches.items()},
        {name: within(draft) for name, draft in PROMPTS.drafts.items()},
        PROMPTS.replies,
    )


def is_minutes(request: Recorded) -> bool:
    return "one_line" in str(request.schema)


class Discussed:
    """Two rounds, a disagreement, a redirect, and a person who decides while leaving."""

    def __init__(self, stub: StubServer, folder: Path) -> None:
        self.facts = facts = planting_a_workspace(folder / "workspace", stub)
        self.said = {place: facts.plant(place) for place in BY_MODELS}
        evidence = Source("E1 (notes.txt)", facts.plant("evidence"), Weight.DEPENDED_ON)
        step = Source("what was said at step 01-02", facts.plant("earlier step"))
        self.spoken: list[str] = []
        self._begun: set[str] = set()
        stub.default = self.answer
        self.table = TableHeld(ROUNDTABLE, hosting(evidence, step), stub, folder)
        self.table.workspace = folder / "workspace"
        self.table.happen(opened(max_turns=20, step_title=facts.plant("title"), item=facts.plant("item")))
        self.table.happen(PersonSpokeUp(f"What now? {facts.plant('question')}"))
        self.table.happen(PersonSpokeUp(f"Jordan, and then? {facts.plant('second question')}", (JORDAN,)))
        with pytest.raises(AssertionError, match="InsertInsights"):
            # What becomes of the minutes is the business of the session that holds it.
            self.table.happen(PersonLeft(f"{facts.plant('decision in leaving')} And we are done."))

    def answer(self, request: Recorded) -> Behaviour:
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(self._draft(request)))
        if "Two of the colleagues disagree" in request.said:
            return self._says("tradeoff", request)
        who = speaker(request).split()[0]
        self.spoken.append(who)
        nth = self.spoken.count(who)
        if (who, nth) == ("Maya", 2):
            # Whatever stands in a redirect is the model's.
            self._begin("redirect", request)
            return Behaviour(text=f"REDIRECT: prices | {self.said['redirect']}")
        return self._says(f"{who}'s contribution" if nth == 1 else "", request)

    def _draft(self, request: Recorded) -> dict[str, Any]:
        if "focus_question" in str(request.schema):
            self._begin("summary", request)
            self._begin("focus question", request)
            return {"summary": self.said["summary"], "focus_question": self.said["focus question"]}
        said = turns(request.said)
        if is_check(request.schema or {}):
            for place in ("found decision", "found disagreement", "found question"):
                self._begin(place, request)
            return check_reply(
                [(self.said["found decision"], "", said[1])],
                [(self.said["found disagreement"], said[1], said[2])],
                [(self.said["found question"], "", said[1])],
            )
        return minutes_reply("we talked", ("So it is.", said[1]))

    def _says(self, place: str, request: Recorded) -> Behaviour:
        self._begin(place, request)
        own = self.said.get(place, "")
        return Behaviour(text=f"{own} The {len(self.spoken)}th thing of {speaker(request)} is another.")

    def _begin(self, place: str, request: Recorded) -> None:
        if place in self.said and place not in self._begun:
            self._begun.add(place)
            self.facts.begin(place, after=request)


BY_MODELS = (
    "summary",
    "focus question",
    "Alex's contribution",
    "Jordan's contribution",
    "Maya's contribution",
    "tradeoff",
    "redirect",
    "found decision",
    "found disagreement",
    "found question",
)


def test_a_fact_at_each_place_is_known_ever_after(stub: StubServer, tmp_path: Path) -> None:
    held = Discussed(stub, tmp_path)
    facts = held.facts
    by_person = ("question", "second question", "decision in leaving")
    for place in (*BY_MODELS, *by_person, "title", "item", "evidence", "earlier step"):
        assert facts.later(place), f"nobody was asked after {place}"
        assert facts.unknown(place) == []
    speaks = [one for one in stub.requests if one.schema is None]
    assert len(speaks) >= 7
    for place in ("readme", "function body"):
        assert {facts.known(place, one) for one in speaks} == {Known.BEHIND_TOOL}
    assert is_minutes(stub.requests[-1])


def test_what_somebody_reads_is_kept_with_what_they_said(stub: StubServer, tmp_path: Path) -> None:
    planting_a_workspace(tmp_path / "workspace", stub)

    def answer(request: Recorded) -> Behaviour:
        if "focus_question" in str(request.schema):
            return Behaviour(json_text=json.dumps({"summary": "so", "focus_question": "What now?"}))
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(check_reply()))
        if "read_file" in request.tools and "# The shop" not in json.dumps(request.messages):
            return Behaviour(tool_calls=(("read_file", {"path": "README.md"}),))
        return Behaviour(text=f"{speaker(request)} has read it.")

    stub.default = answer
    table = TableHeld(ROUNDTABLE, hosting(Source("rules", "Be kind.")), stub, tmp_path)
    table.workspace = tmp_path / "workspace"
    table.happen(OPENED)
    said = [event for event in table.events if isinstance(event, PersonaContributed)]
    assert [event.persona for event in said] == [ALEX, JORDAN]
    for event in said:
        assert event.spoken is not None
        assert any("README.md" in what for what in event.spoken.looked_at)


def test_who_gives_minutes_again_is_told_what_of_them_holds() -> None:
    table = synthesizing()
    table.settle(Drafted(drafted(INVENTED, CONCRETE), BILL))
    request, _ = prompts.synthesis(table.state, small=False)
    (said,) = request.messages
    assert (
        "- insight, by Jordan: Conflicts are shown.\n- action item: Write the resolver; owner: Jordan"
        in said.text
    )
    assert "- Insight 1: turn 2 does not say “we merge on the server”" in said.text
    assert request.last


# -- at the window's edge ------------------------------------------------------------------------


BEFORE: list[RoundtableEvent] = [
    opened(max_turns=20),
    TopicFramed("so", "What now?", BILL),
    PersonaContributed(ALEX, "Alex knows a risk. " * 60, BILL),
    PersonaSilent(JORDAN, BILL),
    PersonSpokeUp("It is mine to say. " * 60),
    PersonaContributed(MAYA, "Maya knows who. " * 60, BILL),
]
SOURCES = (
    Source("the rules", "Be kind.", Weight.NEEDED),
    Source("what was said at step 00-01", "old " * 300),
    Source("what was said at step 00-02", "new " * 300),
)
OLDEST = ("what was said at step 00-01",)
ALL = ("what was said at step 00-01", "what was said at step 00-02", "turn 1 of the discussion, by Maya")


@pytest.mark.parametrize(
    ("beyond", "missing"),
    [(-1, ()), (0, ()), (1, OLDEST), (800, ALL)],
    ids=["above", "at", "below", "far below"],
)
def test_beyond_the_window_the_oldest_goes_first_and_everybody_hears_of_it(
    stub: StubServer, tmp_path: Path, beyond: int, missing: tuple[str, ...]
) -> None:
    state = ROUNDTABLE.fold(BEFORE)
    table = Hosted(state, (SOURCES[:1],), SOURCES[1:], 0)
    alex = load_library().persona(ALEX)
    size = needed_tokens(prompts.contribution(table, alex, small=False))
    stub.default = Behaviour(text="Something else, by somebody who knows.")
    windows = {"anthropic:claude-sonnet-5-5": size - beyond}
    held = TableHeld(
        ROUNDTABLE, _hosting_blind(), stub, tmp_path, config=Config(user=Settings(windows=windows))
    )
    held.happen(*BEFORE)
    (first, *_) = [one for one in stub.requests if one.schema is None]
    assert left_out(first) == missing
    said = next(e for e in held.events[len(BEFORE) :] if isinstance(e, PersonaContributed | PersonaSilent))
    assert said.spoken is not None
    assert said.spoken.left_out == missing
    assert "It is mine to say." in first.said, "what was said last is what is answered"


def _hosting_blind() -> Prompts:
    def within(prompt: Callable[..., Any]) -> Callable[..., Any]:
        return lambda state, *given, small: prompt(
            Hosted(state, (SOURCES[:1],), SOURCES[1:], 0), *given, small=small
        )

    return replace(
        PROMPTS,
        speeches={name: within(speech) for name, speech in PROMPTS.speeches.items()},
        drafts={name: within(draft) for name, draft in PROMPTS.drafts.items()},
    )


def test_minutes_that_do_not_fit_leave_out_what_is_older_than_the_discussion(
    stub: StubServer, tmp_path: Path
) -> None:
    ended = [*BEFORE, PersonLeft()]
    state = ROUNDTABLE.fold(ended)
    assert state.step is Step.SYNTHESIS
    request, _ = prompts.check(Hosted(state, (SOURCES[:1],), SOURCES[1:], 0), small=False)
    stub.default = Behaviour(json_text=json.dumps(check_reply()))
    windows = {"anthropic:claude-sonnet-5-5": needed_tokens(request) - 1}
    held = TableHeld(
        ROUNDTABLE, _hosting_blind(), stub, tmp_path, config=Config(user=Settings(windows=windows))
    )
    held.happen(*ended)
    assert left_out(stub.requests[0]) == OLDEST
    assert all(f'<turn number="{number}"' in stub.requests[0].said for number in (1, 2, 3, 4))
