"""Whatever is said anywhere in a workflow is known to everybody who is asked later, and what binds it also to
whoever reviews and builds."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from moot.app import Options, opened
from moot.brainstorm.events import CodeFound, QuestionsDiscussed
from moot.brainstorm.menu import RequestMade
from moot.brainstorm.state import Step
from moot.config import Config, Settings
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import AskPerson, Event, PersonAnswered, PersonGave
from moot.core.ledger import read_correction
from moot.core.runner import UserQuit
from moot.evidence.items import Evidence
from moot.llm.context import needed_tokens
from moot.repo.eyes import Eyes
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.prompts import PROMPTS
from moot.workflow.service import Company, Workflow, Workflows
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.held import Held
from tests.support.planted import Planting, left_out
from tests.support.shop import EXPLORE, IDEA, Brain, Shop
from tests.support.workflow import at, due, triage

BATCHES = [
    {"title": "Test baseline", "description": "Know what fails today."},
    {"title": "Validation", "description": "Wire it into execute."},
]
AGENT = """#!/bin/sh
n=$(/bin/ls "{orders}" | /usr/bin/wc -l)
/bin/cat > "{orders}/$n"
echo "a task" >> built.txt
echo "{said}"
"""


def brainstormer(request: Recorded) -> bool:
    return "You are the brainstormer." in request.said


def planner(request: Recorded) -> bool:
    return "You write change proposals" in request.said or "You revise a change proposal" in request.said


def roundtable(request: Recorded) -> bool:
    return "You sit at a table with" in request.said or "You prepare a short discussion" in request.said


def board(request: Recorded) -> bool:
    return "Your part is that of one advisor" in request.said


def reviewer(request: Recorded) -> bool:
    return "append_review" in request.tools


def everybody(request: Recorded) -> bool:
    """But whoever takes minutes, or sums up views, of what was said in front of them."""
    return any(is_one(request) for is_one in (brainstormer, planner, roundtable, board))


@dataclass
class Mind(Brain):
    """A model that says a fact in everything that it says."""

    facts: Planting | None = None
    said: dict[str, str] = field(default_factory=dict)

    def fact(self, place: str, request: Recorded) -> str:
        """From the first time that it is said, it has been said."""
        assert self.facts is not None
        if place not in self.said:
            self.said[place] = self.facts.plant(place)
            self.facts.begin(place, after=request)
        return self.said[place]

    def __call__(self, request: Recorded) -> Behaviour:
        if reviewer(request):
            return self._reviewed(super().__call__(request), request)
        if request.schema is None:
            return Behaviour(text=self.fact("view" if board(request) else "contribution", request))
        fields = request.schema["properties"]
        if "blindSpots" in fields:
            return Behaviour(json_text=json.dumps(self._brief(request)))
        if "sections" in fields and "id" in _section_of(request)["properties"]:
            return Behaviour(json_text=json.dumps(self._changed(fields, request)))
        behaviour = super().__call__(request)
        reply = json.loads(behaviour.json_text or "{}")
        return Behaviour(json_text=json.dumps(self._with_facts(reply, request)))

    def _with_facts(self, reply: dict[str, Any], request: Recorded) -> dict[str, Any]:
        names = {
            "reasoning": "triage",
            "assessment": "assessment",
            "because": "reason for an approach",
            "summary": "framing",
            "one_line": "minutes",
        }
        if "what_changes" in reply:
            tasks = [f"{reply['tasks'][0]} {self.fact('plan', request)}", *reply["tasks"][1:]]
            return {**reply, "tasks": tasks}
        for name, place in names.items():
            if name in reply:
                reply[name] = f"{reply[name]} {self.fact(place, request)}"
        if "reply" in reply:
            kinds = ("level", "questions", "approaches", "revision")
            kind = next(name for name in kinds if name in reply)
            reply["reply"] += f" {self.fact(f'reply about {kind}', request)}"
        elif "questions" in reply:
            reply["questions"][0]["text"] = f"{self.fact('question', request)} Is it?"
        elif "approaches" in reply:
            reply["approaches"][0]["summary"] += f" {self.fact('approach', request)}"
        elif "sections" in reply:
            reply["sections"][0]["content"] += f" {self.fact('section', request)}"
        if "insights" in reply:
            reply["insights"][0]["text"] += f" {self.fact('insight', request)}"
        return reply

    def _changed(self, fields: Mapping[str, Any], request: Recorded) -> dict[str, Any]:
        if "reply" in fields:
            return {"reply": self.fact("reply about the design", request), "sections": []}
        kept = self.said["section"]
        content = f"Two passes. {kept} {self.fact('revised section', request)}"
        return {"sections": [{"id": "s1", "title": "", "content": content}]}

    def _brief(self, request: Recorded) -> dict[str, Any]:
        advice = {"summary": self.fact("brief", request), "confidence": "high", "conditions": []}
        agreed = {"areas": ["Strip early."], "strength": "moderate"}
        return {"consensus": agreed, "tensions": [], "blindSpots": [], "recommendation": advice}

    def _reviewed(self, behaviour: Behaviour, request: Recorded) -> Behaviour:
        calls = tuple(
            (name, {**given, "summary": f"{given['summary']} {self.fact('review', request)}"})
            if name == "append_review" and isinstance(given, Mapping)
            else (name, given)
            for name, given in behaviour.tool_calls
        )
        return Behaviour(text=behaviour.text, tool_calls=calls)


def _section_of(request: Recorded) -> Mapping[str, Any]:
    assert request.schema is not None
    section: Mapping[str, Any] = request.schema["$defs"]["Section"]
    return section


Answer = Callable[[], PersonAnswered | PersonGave]


@dataclass
class Speaking:
    """Says one thing after the other, each at its step; what they say is planted when they say it."""

    facts: Planting
    left: Iterator[tuple[str, Answer]] = field(default_factory=lambda: iter(()))
    said: dict[str, str] = field(default_factory=dict)

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered | PersonGave:
        assert problem is None, problem
        following = next(self.left, None)
        if following is None and ask.optional:
            raise UserQuit
        assert following is not None, ask
        step, answer = following
        assert ask.step == step
        return answer()

    def saying(self, choice: str, place: str, words: str = "") -> Answer:
        def answer() -> PersonAnswered:
            return PersonAnswered(f"{words} {self.fact(place)}".strip(), choice or None)

        return answer

    def fact(self, place: str) -> str:
        self.said[place] = self.facts.plant(place)
        return self.said[place]


def choosing(choice: str) -> Answer:
    return lambda: PersonAnswered(choice=choice)


class Deaf:
    def began(self, *_: object) -> None: ...
    def said(self, *_: object) -> None: ...
    def waits(self, *_: object) -> None: ...
    def looks(self, *_: object) -> None: ...
    def happened(self, *_: object) -> None: ...


def evidence(text: str, name: str) -> EvidenceGiven:
    return EvidenceGiven((Evidence(name, name, name, "text/plain", text),))


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    return Shop(tmp_path, stub)


def test_a_fact_at_each_place_is_known_ever_after(shop: Shop, stub: StubServer, tmp_path: Path) -> None:
    facts = Planting(stub, *Eyes(shop.root, 10_000, 10_000_000).tools())
    mind = Mind(facts=facts, triage={**EXPLORE, "batches": BATCHES}, verdicts=["NEEDS_REVISION"])
    stub.default = mind
    shop.attended()
    person = Speaking(facts)
    orders = tmp_path / "orders"
    orders.mkdir()
    agent = tmp_path / "bin" / "agent"
    agent.write_text(AGENT.format(orders=orders, said=person.fact("agent")), encoding="utf-8")

    source, readme = "src/review_parser.py", "README.md"
    body = facts.plant("function body", ("read_file", {"path": source}))
    shop.write(source, f"def parse(text):\n    return text  # {body}\n")
    shop.write(
        readme, f"# Shop\n\nReviews parcels. {facts.plant('readme', ('read_file', {'path': readme}))}\n"
    )
    shop.git("commit", "-qam", "Say more")
    idea = f"{IDEA}. {person.fact('idea')}"
    running: list[Workflow] = []

    def give(*events: Event) -> PersonGave:
        return PersonGave(events)

    def correct(place: str) -> PersonGave:
        state = running[0].state
        return give(
            LedgerCorrected(
                read_correction(WORKFLOW.ledger(state), state.corrections, person.fact(place), "x")
            )
        )

    def edit_by_hand() -> PersonAnswered:
        path = shop.root / running[0].state.design_path
        with path.open("a", encoding="utf-8") as design:
            design.write(f"\n{person.fact('edited design')}\n")
        return PersonAnswered(f"Keep it small. {person.fact('adjustment')}", "adjust")

    person.left = iter(
        [
            ("triage", lambda: give(evidence(person.fact("evidence"), "notes.txt"))),
            ("triage", person.saying("discuss", "comment on the triage", "Never a database.")),
            ("triage", choosing("agree")),
            ("questions", person.saying("question-2", "answer")),
            ("questions", lambda: correct("correction")),
            ("questions", person.saying("discuss", "comment on the questions")),
            ("questions", choosing("finish")),
            ("approaches", person.saying("discuss", "comment on the approaches")),
            ("approaches", person.saying("board", "question to the board", "Is one pass enough?")),
            ("approaches", person.saying("roundtable", "question to the roundtable", "Where?")),
            ("roundtable", person.saying("", "word at the roundtable", "Alex, is that safe?")),
            ("roundtable", choosing("done")),
            ("approaches", choosing("approach-1")),
            ("design", person.saying("discuss", "comment on the design")),
            ("design", person.saying("revise", "wish for the design")),
            ("design", choosing("skip")),
            ("plan", person.saying("discuss", "comment on the plan", "No table of codes.")),
            ("plan", choosing("build")),
            ("reassess", lambda: give(evidence(person.fact("later evidence"), "later.txt"))),
            ("reassess", lambda: correct("later correction")),
            ("reassess", edit_by_hand),
            ("reassess", choosing("next-batch")),
            ("plan", choosing("build")),
            ("reassess", choosing("next-batch")),
        ]
    )

    async def whole() -> None:
        env = {**shop.env, "PATH": os.pathsep.join((str(tmp_path / "bin"), "/usr/bin", "/bin"))}
        async with opened(Options(workspace=shop.root), env=env) as moot:
            vars(moot).update(user_config_file=tmp_path / "config" / "moot" / "config.toml")
            company = Company(person, Deaf(), lambda _: None)
            async with Workflows(moot).begin(idea, company) as workflow:
                running.append(workflow)
                await workflow.runner.run()

    asyncio.run(whole())
    assert running[0].state.finished
    assert next(person.left, None) is None

    by_person = set(person.said) - {"agent"}
    assert len(by_person) == 17
    # Of what advisors say, the brief is what a brainstorm knows.
    by_model = set(mind.said) - {"view"}
    known = {*by_person, *by_model, "function body", "readme"} - _OF_BATCHES
    assert facts.unknown(*known, concerns=everybody) == []
    after_planning = {"comment on the plan", "reply about revision"}
    later = {"later evidence", "later correction", "edited design", "adjustment", "assessment"}
    for place in known - later - after_planning:
        for is_one in (brainstormer, planner):
            assert facts.later(place, is_one), f"{place} was said too late for {is_one.__name__}"
    built = next(n for n, one in enumerate(stub.requests) if "A batch of this work has just been" in one.said)
    facts.begin("agent", after=stub.requests[built - 1])
    for place in _OF_BATCHES:
        after = [one for one in facts.later(place) if brainstormer(one)]
        assert after, place
        assert facts.unknown(place, concerns=brainstormer) == []

    binds = {
        "idea",
        "evidence",
        "answer",
        "correction",
        "comment on the triage",
        "comment on the questions",
        "comment on the approaches",
        "word at the roundtable",
        "comment on the design",
        "wish for the design",
        "section",
        "revised section",
        "edited design",
        "adjustment",
        "comment on the plan",
        "later evidence",
        "later correction",
    }
    assert facts.unknown(*binds, concerns=reviewer) == []
    assert all(facts.later(place, reviewer) for place in binds)
    _check_orders(orders, shop, facts, binds)


_OF_BATCHES = {"agent", "plan", "review"}
"""What comes of a batch: whoever reassesses, and plans the next, is told."""


def _check_orders(orders: Path, shop: Shop, facts: Planting, binds: set[str]) -> None:
    """Each order to the agent says it, or the design that it is pointed to."""
    given = [
        one.read_text(encoding="utf-8") for one in sorted(orders.iterdir(), key=lambda one: int(one.name))
    ]
    designs = {
        folder.name: (folder / "design.md").read_text(encoding="utf-8")
        for folder in (shop.root / "moot" / "changes").iterdir()
    }
    assert len(designs) == 2
    late = {"edited design", "adjustment", "later evidence", "later correction"}
    for order in given:
        (change,) = [name for name in designs if f"moot/changes/{name}/design.md" in order]
        expected = binds if change.startswith("validation") else binds - late
        missing = [place for place in expected if facts[place].word not in order + designs[change]]
        assert missing == []


# -- at the window's edge ----------------------------------------------------------------------------

OLD, NEWER = (f"what the brainstormer said at triage (entry {n} of the conversation)" for n in (1, 3))


@pytest.mark.parametrize(
    ("beyond", "missing"), [(0, ()), (-1, ()), (1, (OLD,)), (1_500, (OLD, NEWER)), (40, (OLD,))]
)
def test_beyond_the_window_the_oldest_goes_first_and_both_hear_of_it(
    stub: StubServer, tmp_path: Path, beyond: int, missing: tuple[str, ...]
) -> None:
    """At the size of a request, one above it, one below and many below. What the person said stays."""
    long = {**triage(), "reasoning": "old " * 900}
    replies = {"brainstorm/triage": long, "brainstorm/discuss-triage": {**triage(), "reply": "newer " * 600}}
    play = at(Step.TRIAGE, **replies).choose("discuss: never use a database", "agree")
    more: tuple[WorkflowEvent, ...] = (RequestMade("discuss", "and why?"), CodeFound())
    request = due(WORKFLOW.fold((*play.events, *more)))
    size = needed_tokens(replace(request, looks=0, tools_tokens=0))

    settings = Settings(windows={"anthropic:claude-sonnet-5-5": size - beyond})
    held = Held(WORKFLOW, PROMPTS, stub, tmp_path, config=Config(user=settings))
    held.events += play.events
    asked = [{"id": one.id, "text": one.text} for one in play.talk.questions]
    reply = {"reply": "They stay.", "questions": asked, "replaces": []}
    stub.default = Behaviour(json_text=json.dumps(reply))
    held.happen(*more)

    (sent,) = stub.requests
    assert left_out(sent) == missing
    assert "never use a database" in sent.said
    (heard,) = [event for event in held.events if isinstance(event, QuestionsDiscussed)]
    assert heard.spoken.left_out == missing
