"""Evidence and corrections given in the terminal: `--with`, `@path`, `/with` and `/decided`, with the real
command."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.test_changes import DRAFT
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import Ended, environment, moot
from tests.support.hostile_files import png
from tests.support.server import a_board

QUESTION = "Should we open a second office?"


def ask(stub: StubServer, folder: Path, *arguments: str, answers: Any = None, stdin: str = "") -> Ended:
    stub.default = Behaviour(text="Not yet.")
    if answers is not None:
        (folder / "answers.yaml").write_text(json.dumps(answers), encoding="utf-8")
        arguments = (*arguments, "--answers", str(folder / "answers.yaml"))
    return moot("ask", *arguments, env=environment(folder, stub), cwd=folder, stdin=stdin)


def test_what_is_given_is_weighed_and_reaches_the_model_whole(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "rents.md").write_text("Rents fall.\nBy a tenth.\n", encoding="utf-8")
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, "--with", "rents.md")
    assert ended.code == 0
    assert "Evidence: 1 item, 6 tokens" in ended.err, "as on the page, without how to cite"
    assert "E1  rents.md" in ended.err
    [request] = stub.requests
    assert (
        '<evidence id="E1" name="rents.md" origin="rents.md">\n1 Rents fall.\n2 By a tenth.\n' in request.said
    )


def test_where_on_this_machine_a_file_is_stays_here(stub: StubServer, tmp_path: Path) -> None:
    for name in ("work", "home", "elsewhere/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home" / "rents.md").write_text("Rents fall.", encoding="utf-8")
    (tmp_path / "elsewhere" / "lease.md").write_text("Ten years.", encoding="utf-8")
    (tmp_path / "elsewhere" / "deep" / "plan.md").write_text("Move in May.", encoding="utf-8")
    ways = ("--with", "../home/rents.md", "--with", "../elsewhere/lease.md", "--with", "../elsewhere")
    env = environment(tmp_path, stub) | {"HOME": str(tmp_path / "home")}
    stub.default = Behaviour(text="Not yet.")
    ended = moot("ask", "the-strategist", QUESTION, *ways, env=env, cwd=tmp_path / "work")
    assert ended.code == 0, ended.err
    said = stub.requests[0].said
    origins = [f'origin="{one}"' for one in ("~/rents.md", "lease.md", "elsewhere/deep/plan.md")]
    assert [one in said for one in origins] == [True] * 3
    assert str(tmp_path) not in said


def test_standard_input_a_folder_and_what_a_question_names(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.md").write_text("Ten years.", encoding="utf-8")
    (tmp_path / "plan.txt").write_text("Move in May.", encoding="utf-8")
    question = "Does @plan.txt fit? Ask @the-coach, or mail me@plan.txt."
    ended = ask(
        stub, tmp_path, "the-strategist", question, "--with", "-", "--with", "docs", stdin="Piped words."
    )
    assert ended.code == 0
    said = stub.requests[0].said
    assert [
        f'id="E{n}" name="{name}"' in said
        for n, name in ((1, "standard input"), (2, "lease.md"), (3, "plan.txt"))
    ] == [True] * 3
    assert question in said


def test_an_image_is_shown_to_who_takes_images_and_the_person_is_told_who_does_not(
    stub: StubServer, tmp_path: Path
) -> None:
    (tmp_path / "plan.png").write_bytes(png())
    seen = ask(stub, tmp_path, "the-strategist", QUESTION, "--with", "plan.png")
    assert seen.code == 0
    assert "Evidence: 1 item, 1," in seen.err
    coded = base64.b64encode(png()).decode()
    assert f"data:image/png;base64,{coded}" in stub.requests[0].said
    assert "Not told" not in seen.err

    unseen = ask(
        stub, tmp_path, "the-strategist", QUESTION, "--with", "plan.png", "--model", "openai:o3-mini"
    )
    assert unseen.code == 0
    assert unseen.err.count("E1 (plan.png), which is an image: openai:o3-mini takes none") == 1
    assert coded not in stub.requests[1].said
    assert "- E1 (plan.png), which is an image: openai:o3-mini takes none" in stub.requests[1].said


def test_a_board_is_told_whom_an_image_was_not_shown(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / "plan.png").write_bytes(png())
    (tmp_path / "answers.yaml").write_text("[]", encoding="utf-8")
    arguments = ("--with", "plan.png", "--model", "openai:o3-mini", "--no-questions")
    ended = moot(
        *("board", QUESTION, *arguments, "--answers", "answers.yaml"),
        env=environment(tmp_path, stub),
        cwd=tmp_path,
    )
    said = "Not told to the model, for want of room unless it says why: E1 (plan.png), which is an image: "
    views = [request for request in stub.requests if request.schema is None]
    assert ended.err.count(f"{said}openai:o3-mini takes none.") >= len(views) == 8


def test_a_secret_stays_here_and_the_person_hears_where_it_is(stub: StubServer, tmp_path: Path) -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    (tmp_path / "notes.md").write_text(f"fine\ntoken is {secret}\n", encoding="utf-8")
    (tmp_path / "good.md").write_text("Rents fall.", encoding="utf-8")
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, "--with", "notes.md", "--with", "good.md")
    assert ended.code == 0
    assert "notes.md left out: line 2 looks like an access token" in ended.err
    assert secret not in ended.err + ended.out + stub.requests[0].said
    assert "Rents fall." in stub.requests[0].said


def test_a_change_keeps_what_it_was_given_for_whoever_reviews_and_builds_it(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.default = Behaviour(json_text=json.dumps(DRAFT))
    (tmp_path / "rents.md").write_text("Rents fall.", encoding="utf-8")
    (tmp_path / "law.md").write_text("Ten years at most.", encoding="utf-8")
    arguments = ("proposal", "add-logout", "Let users log out, as @law.md says.", "--with", "rents.md")
    ended = moot(*arguments, env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "Evidence: 2 items, " in ended.err
    design = (tmp_path / "moot" / "changes" / "add-logout" / "design.md").read_text(encoding="utf-8")
    for fact in ("Rents fall.", "Ten years at most."):
        assert all(fact in request.said for request in stub.requests)
        assert fact in design
    arguments = ("reproposal", "add-logout", "Shorter.", "--with", ".env")
    ended = moot(*arguments, env=environment(tmp_path, stub), cwd=tmp_path)
    assert (ended.code, len(stub.requests)) == (2, 1)
    assert ".env: there is no such file or folder" in ended.err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nothing.md", "nothing.md: there is no such file or folder"),
        (".env", ".env left out: is a private file by its name"),
        ("http://127.0.0.1:9/", "leads to an address that is not public"),
        ("file:///etc/hosts", "only http and https addresses are"),
    ],
)
def test_where_nothing_can_be_taken_nothing_is_asked(
    stub: StubServer, tmp_path: Path, given: str, why: str
) -> None:
    (tmp_path / ".env").write_text("A=1", encoding="utf-8")
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, "--with", given)
    assert ended.code != 0
    assert why in ended.err
    assert stub.requests == []


def test_at_any_prompt_evidence_is_added_and_the_same_is_asked_again(
    stub: StubServer, tmp_path: Path
) -> None:
    (tmp_path / "rents.md").write_text("Rents fall.", encoding="utf-8")
    (tmp_path / "my lease.md").write_text("Ten years.", encoding="utf-8")
    (tmp_path / "plan.txt").write_text("Move in May.", encoding="utf-8")
    answers = ["/with rents.md 'my lease.md'", "/with", "And with @plan.txt?", "Why?"]
    answers[0] += " nowhere.md"
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, "--json", answers=answers)
    assert ended.code == 0, ended.err
    assert re.search(
        r"Evidence: 2 items, \d+ tokens; nowhere.md left out: there is no such file or folder", ended.err
    )
    assert [turn["question"] for turn in ended.json["turns"]] == [QUESTION, "And with @plan.txt?", "Why?"]
    known = [
        [word in one.said for word in ("Rents fall", "Ten years", "Move in May")] for one in stub.requests
    ]
    assert known == [[False] * 3, [True] * 3, [True] * 3]
    assert "E2  my lease.md" in ended.err


def test_what_only_begins_with_a_slash_is_asked(stub: StubServer, tmp_path: Path) -> None:
    answers = ["/login fails", "/etc/with is a path", "/w"]
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, "--json", answers=answers)
    assert [turn["question"] for turn in ended.json["turns"]] == [QUESTION, *answers], ended.err


def test_what_is_decided_is_listed_corrected_and_dropped(stub: StubServer, tmp_path: Path) -> None:
    answers = [
        "/decided",
        "/decided No cloud.",
        "/decided Only Berlin.",
        "/decided D2: Berlin or Hamburg.",
        "/decided drop D1",
        "Why?",
    ]
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, answers=answers)
    assert ended.code == 0, ended.err
    assert "Nothing is decided so far." in ended.err
    assert "D2. Decided: Only Berlin." in ended.err
    assert ended.err.count("D1. Decided: No cloud.") == 1, "what did not change is not said again"
    said = stub.requests[1].said
    assert "D2. Decided: Berlin or Hamburg. (the person, at follow-up)" in said, "a number stays"
    assert "No cloud" not in said
    assert "D1. Struck: Decided: No cloud." in ended.err


def test_what_was_struck_or_corrected_is_taken_back(stub: StubServer, tmp_path: Path) -> None:
    answers = [
        "/decided No cloud.",
        "/decided D1: No cloud before May.",
        "/decided Only Berlin.",
        "/decided drop D1",
        "/decided undo D1",
        "/decided drop D2",
        "/decided undo",
        "Why?",
    ]
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, answers=answers)
    assert ended.code == 0, ended.err
    said = stub.requests[1].said
    assert "D1. Decided: No cloud before May. (the person, at follow-up)" in said
    assert "D2. Decided: Only Berlin. (the person, at follow-up)" in said


def test_no_way_of_the_terminal_lets_a_secret_out(stub: StubServer, tmp_path: Path) -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    planted = [tmp_path / name for name in ("given.md", "named.md", "later.md", ".env")]
    for path in planted:
        path.write_text(f"fine\ntoken is {secret}\n", encoding="utf-8")
    (tmp_path / "good.md").write_text("Rents fall.", encoding="utf-8")
    ways = [*("--with", "given.md", "--with", "-", "--with", ".env"), *("--with", "good.md")]
    answers = ["And @later.md, or @.env?", "Why?"]
    ended = ask(
        stub, tmp_path, "the-strategist", "What of @named.md?", *ways, answers=answers, stdin=f"a\n\n{secret}"
    )
    assert ended.code == 0, ended.err
    refused = ask(stub, tmp_path, "the-strategist", QUESTION, answers=["/with later.md .env"])
    told = ended.err + refused.err
    for name, line in (("given.md", 2), ("standard input", 3), ("named.md", 2), ("later.md", 2)):
        assert f"{name} left out: line {line} looks like an access token" in told
    assert ended.err.count(".env left out: is a private file by its name") == 2
    assert refused.code == 2

    assert len(stub.requests) == 4
    assert "Rents fall." in stub.requests[0].said
    assert secret not in json.dumps([request.body for request in stub.requests])
    assert secret not in told + ended.out + refused.out
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path not in planted]
    written = b"".join(path.read_bytes() for path in files if path.name != "answers.yaml")
    assert b"Rents fall." in written.replace((tmp_path / "good.md").read_bytes(), b"", 1)
    assert secret.encode() not in written


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/with nothing.md", "nothing.md left out: there is no such file or folder"),
        ("/wiht rents.md", "there is no such command; did you mean /with?"),
        ("/decide D1: x", "there is no such command; did you mean /decided?"),
        ("/with 'open", "a quotation mark is not closed"),
        ("/decided D7: x", "there is no D7: there is nothing yet"),
        ("/decided undo", "there is nothing to undo: nothing was corrected"),
        ("/decided undo D2", "D2 was not corrected: there is nothing to undo"),
    ],
)
def test_a_line_that_cannot_be_carried_out_is_refused_with_the_reason(
    stub: StubServer, tmp_path: Path, line: str, why: str
) -> None:
    ended = ask(stub, tmp_path, "the-strategist", QUESTION, answers=[line])
    assert ended.code == 2
    assert why in ended.err
    assert "Saved. Continue with" in ended.err


def test_a_conversation_that_is_taken_up_takes_more(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "rents.md").write_text("Rents fall.", encoding="utf-8")
    ask(stub, tmp_path, "the-strategist", QUESTION)
    ended = ask(stub, tmp_path, "--last", "And now?", "--with", "rents.md")
    assert ended.code == 0, ended.err
    assert "Rents fall." in stub.requests[1].said
