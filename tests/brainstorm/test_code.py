"""Whoever is asked something in a brainstorm has been shown the code that it is about."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from moot.brainstorm.effects import LookAtCode
from moot.brainstorm.events import CodeFound, DesignDiscussed
from moot.brainstorm.menu import AnswerGiven, AnswersClosed, GoneBack, RequestMade, RequestWithdrawn
from moot.brainstorm.state import Step
from moot.core.flow import TaskDone
from moot.llm.messages import Source
from moot.workflow.flow import WORKFLOW
from moot.workflow.menu import TriedAgain
from moot.workflow.snapshot import restored, snapshot
from moot.workflow.tasks import WorkflowWork
from tests.support.changes import at_work, silent
from tests.support.workflow import BILL, Play, at, due, whole

ROOT = Path(__file__).resolve().parents[2]
BODY = Source("body of strip() in src/codes.py:1-2", "<code>\ndef strip(): ...\n</code>")
STEPS = (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN)
SHOWN: dict[str, Any] = {"LookAtCode": CodeFound((BODY,))}


def asking(step: Step, wish: Any = "discuss", text: str = "why?") -> Play:
    play = at(step)
    play.finds_code = False
    return play.put(RequestMade(wish, text))


@pytest.mark.parametrize("wish", ["discuss", "revise", "board", "roundtable"])
def test_the_code_is_looked_for_before_anybody_is_asked(wish: str) -> None:
    play = asking(Step.DESIGN, wish)
    assert [type(effect) for effect in play.effects] == [LookAtCode]
    play.put(CodeFound((BODY,)))
    assert LookAtCode not in map(type, play.effects)
    assert play.talk.code == (BODY,)


@pytest.mark.parametrize("step", STEPS)
def test_a_first_draft_and_a_discussion_carry_it(step: Step) -> None:
    play = at(step, **SHOWN)
    states = [WORKFLOW.fold(play.events[:count]) for count in range(len(play.events))]
    (drafting,) = [one for one in states if one.brainstorm.step is step and one.brainstorm.code]
    assert BODY.text in whole(due(drafting))
    assert play.talk.code == (), "at a menu nobody is asked"
    assert BODY.text in whole(due(play.put(RequestMade("discuss", "why?")).state))


def test_what_the_person_asks_about_comes_before_the_idea() -> None:
    play = asking(Step.QUESTIONS, text="what does parse_date do?")
    asked, rest = play.talk.code_wanted
    assert asked == "what does parse_date do?"
    assert rest.startswith("Strip ANSI codes")
    chosen = at(Step.QUESTIONS).choose("question-1: in parse_date", "finish", "approach-1").talk
    asked, rest = chosen.code_wanted
    assert asked == ""
    assert rest.startswith("Strip ANSI codes")
    assert "in parse_date" in rest
    assert "Way 1" in rest


def test_it_goes_with_the_reply_and_its_names_stay() -> None:
    play = asking(Step.DESIGN).put(CodeFound((BODY,)))
    looked_at = replace(BILL, looked_at=("src/codes.py, lines 1 to 9", BODY.name))
    state = WORKFLOW.advance(play.state, DesignDiscussed("As you say.", (), looked_at))
    assert state.brainstorm.code == ()
    assert state.brainstorm.conversation_log[-1].read == (BODY.name, "src/codes.py, lines 1 to 9")
    kept = WORKFLOW.fold([restored(snapshot(state))])
    assert kept == state


def test_it_is_looked_for_again_where_other_words_are_asked_about() -> None:
    play = at(Step.QUESTIONS)
    play.finds_code = False
    play.put(AnswersClosed()).put(CodeFound((BODY,))).put(GoneBack()).put(AnswerGiven("q1", "a file"))
    play.put(AnswersClosed())
    assert isinstance(play.effects[0], LookAtCode)
    assert play.talk.code == ()


def test_without_a_reply_it_goes_as_well() -> None:
    play = asking(Step.DESIGN).put(CodeFound((BODY,))).put(RequestWithdrawn())
    assert (play.talk.code, play.talk.code_from) == ((), "")


def test_a_kill_keeps_what_was_found_until_the_reply_is_there() -> None:
    play = asking(Step.DESIGN).put(CodeFound((BODY,)))
    killed = WORKFLOW.fold([restored(snapshot(play.state))])
    assert killed == play.state
    assert WORKFLOW.pending(killed) == play.effects


def test_what_cannot_be_looked_at_can_be_tried_again() -> None:
    for wish in ("discuss", "roundtable"):
        play = asking(Step.DESIGN, wish).fail()
        assert play.asked.step == "failed"
        assert isinstance(play.put(TriedAgain()).effects[0], LookAtCode)


# -- in this very repository ---------------------------------------------------------------------


def test_the_first_discussion_about_a_named_function_carries_its_body() -> None:
    play = asking(Step.TRIAGE, text="Why does read_correction() refuse D0?")

    async def look() -> CodeFound:
        async with at_work(ROOT) as moot:
            (task,) = play.effects
            assert isinstance(task, LookAtCode)
            outcome = await WorkflowWork(moot, silent).carry_out(task, play.state)
        assert isinstance(outcome, TaskDone)
        return task.event_of(outcome)

    found = asyncio.run(look())
    told = whole(due(play.put(found).state))
    body = (ROOT / "src/moot/core/ledger.py").read_text(encoding="utf-8")
    start = body.index("def read_correction(")
    for line in body[start : body.index("\n\n\n", start)].splitlines():
        assert line in told
    assert found.code[-1].name.startswith("body of read_correction()"), "the likeliest is left out last"
