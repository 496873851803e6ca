"""The Board in the middle of a brainstorm: it is given all that is known, and asked once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from moot.app import Options, opened
from moot.brainstorm.consultation import Matter, ask_board, evidence_of
from moot.brainstorm.events import CodeFound, Consulted
from moot.brainstorm.menu import RequestMade
from moot.brainstorm.state import Step
from moot.evidence.items import Evidence
from moot.llm.messages import Source
from moot.workflow.ledger import source
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.changes import silent
from tests.support.command import environment
from tests.support.server import BRIEF
from tests.support.workflow import Play, at

NOTES = Evidence("notes.md", "notes.md", "ab" * 32, "text/markdown", "The lease ends.")
BODY = Source("body of strip()", "<code>\ndef strip(): ...\n</code>")


def asking(question: str) -> Play:
    play = at(Step.TRIAGE, LookAtCode=CodeFound((BODY,))).choose("discuss: mind the word Zorbatil")
    play.choose("agree", "question-1: " + "PostgreSQL " * 900)
    return play.put(RequestMade("board", question))


def matter_of(play: Play) -> Matter:
    talk = play.talk
    assert talk.request is not None
    evidence = evidence_of(talk, (NOTES,), source(play.state))
    return Matter(talk.request.text, talk.step, talk.subject, evidence)


def test_everything_that_is_known_is_evidence_and_what_the_person_gave_comes_first() -> None:
    items = matter_of(asking("is it right?")).evidence
    assert [item.name for item in items] == [
        "notes.md",
        "the idea",
        "what was found in the workspace",
        "the code that it is about",
        "what was said at the step triage",
        "what was said at the step questions",
        "where the brainstorm stands",
        "what was decided so far",
    ]
    said = "\n".join(item.text for item in items)
    for known in ("Zorbatil", "PostgreSQL " * 900, "def strip(): ...", "Level: Needs exploration"):
        assert known.strip() in said
    assert len({(item.origin, item.sha256) for item in items}) == len(items)


def answer(request: Recorded) -> Behaviour:
    if request.schema is not None:
        return Behaviour(json_text=json.dumps(BRIEF))
    return Behaviour(text="I am for it.")


@pytest.mark.parametrize("again", ["is it right?", "is it wrong?"])
def test_who_was_asked_just_this_before_is_not_asked_again(
    stub: StubServer, tmp_path: Path, again: str
) -> None:
    stub.default = answer
    first, then = matter_of(asking("is it right?")), matter_of(asking(again))

    async def whole() -> tuple[Consulted, Consulted]:
        async with opened(Options(workspace=tmp_path), env=environment(tmp_path, stub)) as moot:
            return await ask_board(moot, first, silent), await ask_board(moot, then, silent)

    before, after = asyncio.run(whole())
    assert len(stub.requests) == (9 if again == first.question else 18)
    assert (before.text == after.text) is (again == first.question)
    assert before.recommendation == "Wait."
    assert "in what it cites, E1 is notes.md; E2 is the idea; " in before.text
    assert all("The lease ends." in asked.said and "Zorbatil" in asked.said for asked in stub.requests)
