"""What is cited and is not in the evidence is said in the terminal, and so is what a model was not told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.server import BRIEF, DECISION
from tests.support.shop import IDEA, STRAIGHT, Brain, Shop
from tests.support.speaker import speaker

RIGHT = 'Rents fall: "it falls by a tenth" [E1:2].'
WRONG = 'Rents rise, "as everybody in the street says" [E1:2]. See [E4].'
SAID = [
    'Unverified: [E1:2]: not in the lines: "as everybody in the street says"',
    "Unverified: [E4]: no such item",
]
MARKED = (
    '"as everybody in the street says" [E1:2] (unverified: not in the lines). '
    "See [E4] (unverified: no such item)."
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rents.md").write_text("# The rent\nit falls by a tenth\n", encoding="utf-8")
    return tmp_path


def test_an_answer(stub: StubServer, folder: Path) -> None:
    stub.script(Behaviour(text=RIGHT), Behaviour(text=WRONG))
    (folder / "answers.yaml").write_text(json.dumps(["Really?"]), encoding="utf-8")
    asked = ("ask", "the-coach", "Why?", "--with", "rents.md", "--answers", "answers.yaml", "--json")
    ended = moot(*asked, env=environment(folder, stub), cwd=folder)
    assert ended.code == 0
    assert [line for line in ended.err.splitlines() if line.startswith("Unverified")] == SAID
    checks = [[one["check"] for one in turn["citations"]] for turn in ended.json["turns"]]
    assert checks == [["verified"], ["not in the lines", "no such item"]]
    resumed = moot("ask", "--resume", ended.json["session"], env=environment(folder, stub), cwd=folder)
    assert MARKED in " ".join(resumed.err.split())


def test_a_board(stub: StubServer, folder: Path) -> None:
    cited = {**BRIEF, "blindSpots": [WRONG]}

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(cited))
        return Behaviour(text=WRONG if speaker(request) == "The Coach" else RIGHT)

    stub.default = answer
    ended = moot(
        "board", DECISION, "--no-questions", "--with", "rents.md", env=environment(folder, stub), cwd=folder
    )
    assert ended.code == 0
    assert [line for line in ended.err.splitlines() if line.startswith("Unverified")] == SAID
    assert WRONG in ended.out, "their words are as they were"
    assert MARKED in " ".join(ended.out.split())


def test_a_brainstorm(stub: StubServer, tmp_path: Path) -> None:
    brain = Brain(triage={**STRAIGHT, "reasoning": WRONG})
    stub.default = brain
    shop = Shop(tmp_path, stub)
    shop.write("rents.md", "# The rent\nit falls by a tenth\n")
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Rents")
    ended = shop.run("brainstorm", IDEA, "--with", "rents.md", answers=["X"])
    assert ended.code == 0, ended.err
    assert [line for line in ended.err.splitlines() if line.startswith("Unverified")] == SAID


def test_a_roundtable(stub: StubServer, tmp_path: Path) -> None:
    brain = Brain()
    stub.default = lambda request: Behaviour(text=WRONG) if request.schema is None else brain(request)
    shop = Shop(tmp_path, stub)
    shop.write("rents.md", "# The rent\nit falls by a tenth\n")
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Rents")
    answers = ["T Is the rent right?", "done", "X"]
    ended = shop.run("brainstorm", IDEA, "--with", "rents.md", answers=answers)
    assert ended.code == 0, ended.err
    told = [line for line in ended.err.splitlines() if line.startswith("Unverified")]
    assert told[: len(SAID)] == SAID


def test_what_a_model_was_not_told_is_said_with_its_bill(stub: StubServer, folder: Path) -> None:
    (folder / "long.txt").write_text("We sold 41 loaves on that day.\n" * 2_600, encoding="utf-8")
    settings = folder / "config" / "moot" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[windows]\n"openai:gpt-5.6" = 9000\n', encoding="utf-8")
    stub.default = Behaviour(text="No.")
    asked = ("ask", "the-coach", "Why?", "--with", "rents.md", "--with", "long.txt")
    ended = moot(*asked, env=environment(folder, stub), cwd=folder)
    assert ended.code == 0
    assert ended.err.count("E2 (long.txt)") == 1
    assert "Not told to the model, for want of room unless it says why: E2 (long.txt)." in ended.err
