"""Weights on this machine as reviewer: those that are too small never, larger ones with the whole change in
their prompt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.service import Changes
from moot.errors import ModelTooSmall
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.prices import FREE
from moot.llm.protocol import Call
from tests.support.change import PROPOSAL, SPEC, TASKS, write_change
from tests.support.changes import at_work, silent
from tests.support.scripted import Line, ScriptedProvider

FINE = json.dumps({"verdict": "APPROVED", "issues": [], "summary": "Read it all."})


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", tmp_path / "project" / "moot" / "changes" / "feat-auth")
    write_change(folder.path)
    return folder


def challenged(folder: ChangeFolder, *lines: Line, engine: str = "model", small: bool = False) -> str:
    """The verdict of local weights that say these lines."""
    model = Model(ModelName("local", "weights"), ScriptedProvider(lines), small=small, pricing=FREE)

    async def chosen(_: object) -> Model:
        return model

    async def challenge() -> str:
        async with at_work(folder.path.parents[2]) as moot:
            vars(moot).update(gateway=SimpleNamespace(model=chosen, named=lambda _: model))
            ended = await Challenging(Changes(moot)).challenge(folder.id, engine, silent)
            return str(ended.verdict)

    return asyncio.run(challenge())


@pytest.mark.parametrize("engine", ["auto", "model"])
def test_weights_that_are_too_small_review_nothing(folder: ChangeFolder, engine: str) -> None:
    with pytest.raises(ModelTooSmall, match="local:weights reviews nothing: it is too small"):
        challenged(folder, FINE, engine=engine, small=True)
    assert folder.proposal() == PROPOSAL
    assert folder.state().run is None


def test_larger_weights_review_what_they_were_given_whole(folder: ChangeFolder) -> None:
    assert challenged(folder, FINE) == "APPROVED"
    [made] = folder.reviews()
    assert (made.record.engine, made.record.model) == ("model", "local:weights")
    assert made.record.files == folder.reviewed_files()


def test_what_they_cannot_be_given_whole_they_do_not_review(folder: ChangeFolder) -> None:
    room = 24_000 - len(PROPOSAL) - len(SPEC)
    folder.write_tasks(TASKS + "x" * (room - len(TASKS)))
    assert challenged(folder, FINE) == "APPROVED"
    folder.write_specs({"more.md": SPEC})
    with pytest.raises(ModelTooSmall, match="24,000 at most"):
        challenged(folder, FINE)


def test_they_are_given_the_design_point_by_point_and_asked_again_for_what_they_leave_out(
    folder: ChangeFolder,
) -> None:
    folder.bind(Binding("# X\n\n## Dates\n\nA bad date ends with exit code 2.\n"))
    calls: list[Call] = []

    def saying(reply: str) -> Line:
        def line(call: Call) -> str:
            calls.append(call)
            return reply

        return line

    judged = {**json.loads(FINE), "coverage": [{"point": "P1", "state": "covered", "where": "tasks.md"}]}
    assert challenged(folder, saying(FINE), saying(json.dumps(judged))) == "APPROVED"
    first, second = calls
    assert "Dates:\n- P1: A bad date ends with exit code 2." in first.system
    assert '<file name="design.md">' in first.messages[-1].text
    assert "what became of these points of the design: P1 (A bad date ends" in second.messages[-1].text
