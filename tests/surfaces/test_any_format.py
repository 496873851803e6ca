"""A session of every format over HTTP and its stream, by one client that knows no format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moot.changes import review_block
from moot.files.lock import claimed
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support import analysis
from tests.support.any_format import AnyFormatClient, Ask
from tests.support.command import environment, moot
from tests.support.server import DECISION, Server, a_board, serving
from tests.support.shop import IDEA, Brain, Shop

Answer = dict[str, Any]


def scripted(*answers: Answer) -> Callable[[Ask], Answer | None]:
    """Gives the answers in order, whatever is asked."""
    left = iter(answers)
    return lambda _ask: next(left, None)


def kinds(client: AnyFormatClient) -> list[str]:
    return [frame["event"]["type"] for frame in client.frames if frame["type"] == "event"]


def words(client: AnyFormatClient) -> str:
    return " ".join(frame["token"] for frame in client.frames if "token" in frame)


def speaking(request: Recorded) -> Behaviour:
    said = analysis.reply(request.system, request.said, request.schema)
    return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)


@pytest.fixture
def server(tmp_path: Path, stub: StubServer) -> Iterator[Server]:
    (tmp_path / "project").mkdir()
    with serving(tmp_path, stub, "--workspace", str(tmp_path / "project")) as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    return Shop(tmp_path, stub)


def serving_shop(shop: Shop, tmp_path: Path, stub: StubServer) -> Any:
    return serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"])


# -- each format once ----------------------------------------------------------------------------


def test_a_board_with_questions_a_challenge_and_its_brief(server: Server, stub: StubServer) -> None:
    a_board(stub)
    client = AnyFormatClient.begin(server, "board", decision=DECISION)
    challenges = scripted({"text": "Rents fall."}, {"choice": "brief"})

    def choose(ask: Ask) -> Answer | None:
        if any(choice["id"] == "convene" for choice in ask["choices"]):
            return {"choice": "convene"}
        return challenges(ask) if ask["step"] == "challenge" else None

    client.play(choose)
    state = client.session["state"]
    assert state["brief"]["recommendation"]["summary"] == "Wait."
    [exchange] = [one for advisor in state["advisors"] for one in advisor["exchanges"]]
    assert exchange["challenge"] == "Rents fall."
    assert words(client).count("because of the lease") == 9


def test_a_question_to_one_persona_and_a_follow_up(server: Server, stub: StubServer) -> None:
    a_board(stub)
    client = AnyFormatClient.begin(server, "ask", persona="the-analyst")
    client.play(scripted({"text": "Should we?"}, {"text": "And then?"}))
    said = [entry["content"] for entry in client.session["state"]["conversation"]["entries"]]
    assert said[::2] == ["Should we?", "And then?"]
    assert words(client).count("The Analyst says: Not yet") == 2
    assert client.asked() is not None, "it rests where a follow-up may be asked"


def test_an_analysis_with_a_roundtable(server: Server, stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking
    client = AnyFormatClient.begin(server, "analysis", item="Offline mode", about="Reading on trains")
    client.play(
        scripted(
            {"text": "Twenty people."},
            {"choice": "elaborate"},
            {"text": "Alex, what about conflicts?"},
            {"choice": "done"},
        )
    )
    item = tmp_path / "project" / "moot" / "items" / "offline-mode"
    assert "Conflicts need a visible list." in (item / "quick-scan.md").read_text("utf-8")
    assert json.loads((item / "meta.json").read_text("utf-8"))["steps_completed"] == ["00-01"]
    assert {"StepOpened", "PersonaContributed", "SynthesisDrafted", "ElaborationRecorded"} <= {*kinds(client)}
    logged = (item / "session.jsonl").read_text("utf-8").splitlines()
    assert client.session["state"]["step"] == "menu"
    assert len(logged) == max(frame["number"] for frame in client.frames if "number" in frame)


def test_a_workflow_from_idea_to_built_change(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    stub.default = Brain()
    with serving_shop(shop, tmp_path, stub) as server:
        client = AnyFormatClient.begin(server, "workflow", idea=IDEA)
        client.play(scripted({"choice": "agree"}, {"choice": "approve"}))
        assert client.session["state"]["phase"] == "done"
    assert shop.workflow["phase"] == "done"
    assert list(shop.reviews().values()) == [["APPROVED"]]
    assert shop.built == 2
    assert any(frame["type"] == "progress" for frame in client.frames), "work is told as it comes along"


def test_a_plan_is_laid_out_and_approved_over_http(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    stub.default = Brain()
    shop.attended()
    with serving_shop(shop, tmp_path, stub) as server:
        client = AnyFormatClient.begin(server, "workflow", idea=IDEA)
        client.play(scripted({"choice": "agree"}, {"choice": "approve"}, {"choice": "build"}))
        assert client.session["state"]["phase"] == "done"
        laid_out = next(
            frame["event"]["plan"]
            for frame in client.frames
            if frame["type"] == "event" and frame["event"]["type"] == "PlanLaidOut"
        )
        assert laid_out["tasks"] == ["Store public keys", "Send links"]
        assert laid_out["estimate"].startswith("2 tasks, at least about ")
        asked = [
            {choice["id"]: choice["inPerson"] for choice in ask["choices"]}
            for frame in client.frames
            if frame["type"] == "asked"
            for ask in frame["asks"]
            if ask["step"] == "plan"
        ]
        assert asked[0]["build"] is True
        assert asked[0]["discuss"] is False
    assert shop.built == 2


def test_a_change_from_a_description_to_the_archive(shop: Shop, tmp_path: Path, stub: StubServer) -> None:
    stub.default = Brain(verdicts=["NEEDS_REVISION"])
    with serving_shop(shop, tmp_path, stub) as server:
        client = AnyFormatClient.begin(server, "change", change="strip-codes", description=IDEA)
        again = AnyFormatClient.begin(server, "change", change="strip-codes", description=IDEA)
        assert again.path == client.path, "a request that is sent twice drafts once"
        offered: list[list[str]] = []
        wanted = scripted(
            {"choice": "challenge"},
            {"choice": "revise", "text": "Keep it small."},
            {"choice": "challenge"},
            {"choice": "implement"},
            {"choice": "archive"},
        )

        def choose(ask: Ask) -> Answer | None:
            offered.append([choice["id"] for choice in ask["choices"]])
            return wanted(ask)

        client.play(choose)
        state = client.session["state"]
        assert [one["title"] for one in server.get("/api/sessions").json()["sessions"]] == ["strip-codes"]
        there = server.post("/api/sessions", {"format": "change", "opening": {"change": "other"}})
        assert (there.status_code, there.json()["error"]) == (404, "Change 'other' not found")
    assert offered == [
        ["challenge", "revise", "approve", "abandon"],
        ["challenge", "revise", "dismiss-1", "abandon"],
        ["challenge", "revise", "dismiss-1", "abandon"],
        ["challenge", "revise", "implement", "approve", "reopen", "abandon"],
        ["archive", "reopen", "abandon"],
    ]
    [archived] = (shop.root / "moot" / "archive").iterdir()
    assert (state["step"], state["message"]) == ("gone", f"It is now in moot/archive/{archived.name}")
    reviews = review_block.blocks((archived / "proposal.md").read_text("utf-8"))
    assert [str(review_block.read(one).verdict) for one in reviews] == ["NEEDS_REVISION", "APPROVED"]
    assert shop.built == 2
    assert {"ProposalDrafted", "ReviewCounted", "ProposalRevised", "TasksBuilt"} <= {*kinds(client)}
    progress = [frame["text"] for frame in client.frames if frame["type"] == "progress"]
    assert "appended NEEDS_REVISION: 1 High, 0 Medium, 0 Low" in progress
    [account] = json.loads(shop.run("spending", "--json").out)["sessions"]
    assert account["name"] == f"change strip-codes in {shop.root}"
    assert account["requests"] == len(stub.requests) + shop.built, "each is on the meter, once"


def test_a_workflow_whose_triage_is_discussed_at_a_roundtable(
    shop: Shop, tmp_path: Path, stub: StubServer
) -> None:
    brain = stub.default = Brain()
    old = "moot/.roundtable.jsonl"
    shop.write(old, "of an earlier version\n")
    with serving_shop(shop, tmp_path, stub) as server:
        client = AnyFormatClient.begin(server, "workflow", idea=IDEA)
        client.play(
            scripted(
                {"choice": "roundtable", "text": "Where is it stripped?"},
                {"text": "Alex, is that safe?"},
            )
        )
        ask = client.asked()
        assert ask is not None
        assert (ask["step"], [one["id"] for one in ask["choices"]]) == ("roundtable", ["listen", "done"])
        assert len(client.session["state"]["brainstorm"]["roundtable"]) > 3
        assert "I see a risk in the edge cases." in words(client)
        before = len(brain.asked)
        client.play(scripted({"choice": "done"}))
        assert brain.asked[before:] == ["disagreements", "one_line"], "only what it came to was asked for"
        talk = client.session["state"]["brainstorm"]
        assert "roundtable" not in talk
        told = talk["conversationLog"][-1]
        assert (told["role"], told["step"]) == ("roundtable", "triage")
        assert "Strip early." in told["content"]
        client.play(scripted({"choice": "stop"}))
    assert "roundtable" not in shop.brainstorm
    assert not (shop.root / old).exists()


# -- what holds for all --------------------------------------------------------------------------


def test_every_format_says_what_begins_a_session_and_a_list_has_them_all(
    server: Server, stub: StubServer
) -> None:
    stub.default = speaking
    described = {one["name"]: one for one in server.get("/api/formats").json()["formats"]}
    assert [*described] == ["board", "ask", "analysis", "workflow", "change", "diff"]
    assert described["analysis"]["opening"]["required"] == ["item"]
    in_files = [name for name, one in described.items() if one["writesFiles"]]
    assert in_files == ["analysis", "workflow", "change", "diff"]
    begun = {
        "board": AnyFormatClient.begin(server, "board", decision="Move?"),
        "analysis": AnyFormatClient.begin(server, "analysis", item="C++"),
    }
    again = AnyFormatClient.begin(server, "analysis", item="C++")
    assert again.path == begun["analysis"].path, "an item is one session"
    listed = server.get("/api/sessions").json()["sessions"]
    assert {one["format"]: one["title"] for one in listed} == {"board": "Move?", "analysis": "C++"}
    assert server.client.delete(f"{server.url}{again.path}").status_code == 409
    assert server.client.delete(f"{server.url}{begun['board'].path}").status_code == 204
    assert [one["format"] for one in server.get("/api/sessions").json()["sessions"]] == ["analysis"]


def test_only_what_is_asked_can_be_answered(server: Server, stub: StubServer) -> None:
    a_board(stub)
    client = AnyFormatClient.begin(server, "ask", persona="the-analyst")
    ask = client.asked()
    assert ask is not None

    def refused(**answer: Any) -> tuple[int, str]:
        response = server.post(f"{client.path}/answers", {"step": ask["step"], "key": ask["key"], **answer})
        return response.status_code, response.json()["error"]

    assert refused(choice="retry")[0] == 400
    assert refused(text="")[0] == 400
    assert refused(text="Why?", key="7") == (
        409,
        "That is not asked any more: load the session again and answer what it asks now",
    )
    assert (
        server.post("/api/sessions", {"format": "poll", "opening": {}}).json()["error"].startswith("format:")
    )
    missing = server.post("/api/sessions", {"format": "ask", "opening": {}})
    assert (missing.status_code, missing.json()["error"]) == (400, "opening: persona: is missing")
    assert stub.requests == []


def test_two_clients_answer_the_same_question_and_one_is_heard(server: Server, stub: StubServer) -> None:
    a_board(stub)
    client = AnyFormatClient.begin(server, "ask", persona="the-analyst")
    ask = client.asked()
    assert ask is not None
    client.answer(ask, text="First?")
    late = server.post(f"{client.path}/answers", {"step": ask["step"], "key": ask["key"], "text": "Second?"})
    assert late.status_code == 409
    client.follow()
    assert len(stub.requests) == 1


def test_a_killed_server_goes_on_where_the_files_are(tmp_path: Path, stub: StubServer) -> None:
    stub.default = speaking
    (tmp_path / "project").mkdir()
    with serving(tmp_path, stub, "--workspace", str(tmp_path / "project")) as first:
        client = AnyFormatClient.begin(first, "analysis", item="Offline mode")
        client.play(scripted())
        ask, heard = client.asked(), client.newest
        first.kill()
    asked = len(stub.requests)
    with serving(tmp_path, stub, "--workspace", str(tmp_path / "project")) as second:
        client.server = second
        assert client.asked() == ask
        assert ask is not None
        client.answer(ask, text="Twenty people.")
        frames = client.follow()
        assert next(frame["id"] for frame in frames if frame["id"]) == heard + 1
        assert client.session["state"]["step"] == "menu"
    assert len(stub.requests) == asked + 1, "nothing is asked twice"


def test_a_file_that_is_changed_underneath_is_noticed_and_never_overwritten(
    shop: Shop, tmp_path: Path, stub: StubServer
) -> None:
    stub.default = Brain()
    with serving_shop(shop, tmp_path, stub) as server:
        client = AnyFormatClient.begin(server, "workflow", idea=IDEA)
        client.play(scripted())
        changed = {**shop.workflow, "note": "by hand"}
        changed["brainstorm"]["triage"]["reasoning"] = "I know better."
        shop.write("moot/workflow.json", json.dumps(changed))
        client.play(scripted({"choice": "stop"}))
        assert client.session["state"]["brainstorm"]["triage"]["reasoning"] == "I know better."
    assert shop.workflow["note"] == "by hand"
    assert shop.brainstorm["triage"]["reasoning"] == "I know better."


def test_what_a_terminal_holds_is_refused_and_nothing_is_written(
    server: Server, stub: StubServer, tmp_path: Path
) -> None:
    stub.default = speaking
    client = AnyFormatClient.begin(server, "analysis", item="Offline mode")
    client.play(scripted())
    item = tmp_path / "project" / "moot" / "items" / "offline-mode"
    before, ask = (item / "session.jsonl").read_text("utf-8"), client.asked()
    assert ask is not None
    with claimed(item, "analysed", "item"):
        held = server.post(f"{client.path}/answers", {"step": ask["step"], "key": ask["key"], "text": "Ten."})
    assert held.status_code == 409
    assert "being analysed by process" in held.json()["error"]
    assert (item / "session.jsonl").read_text("utf-8") == before


def test_a_stop_is_kept_until_somebody_goes_on(server: Server, stub: StubServer) -> None:
    stub.default = lambda _: Behaviour(text="word " * 200, pace=0.02)
    client = AnyFormatClient.begin(server, "ask", persona="the-analyst", question="Why?")
    assert server.post(f"{client.path}/go-on").status_code == 202
    with server.streaming("GET", f"{client.path}/events") as frames:
        next(frame for frame in frames if frame["type"] == "speech_token")
        assert server.post(f"{client.path}/stop").status_code == 204
        assert list(frames)[-1]["type"] == "idle"
    stub.wait(lambda stub: stub.open_streams == 0)
    assert client.session["paused"]
    a_board(stub)
    client.play(scripted())
    assert not client.session["paused"]
    assert len(client.session["state"]["conversation"]["entries"]) == 2


def test_the_terminal_takes_up_what_began_over_http(server: Server, stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking
    client = AnyFormatClient.begin(server, "analysis", item="Offline mode")
    client.play(scripted({"text": "Twenty people."}))
    answers = tmp_path / "answers.yaml"
    answers.write_text(json.dumps(["C"]), encoding="utf-8")
    moot(
        *("analyze", "offline-mode", "--answers", str(answers)),
        env=environment(tmp_path, stub),
        cwd=tmp_path / "project",
    )
    client.follow()
    assert client.session["state"]["current"]["ref"]["id"] == "00-02"
