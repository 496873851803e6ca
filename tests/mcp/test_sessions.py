"""A session of every format over MCP, by one client that knows no format and uses these tools alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from mcp import Client
from moot.analysis.flow import ANALYSIS
from moot.analysis.sessions import AnalysisService
from moot.ask.flow import ASK
from moot.ask.service import AskService
from moot.board.flow import BOARD
from moot.board.service import BoardService
from moot.core.flow import Flow
from moot.files.lock import claimed
from moot.roundtable.events import ContributionReturned, PersonaSilent, SynthesisReturned
from moot.sessions.service import AnyService
from moot.workflow.flow import WORKFLOW
from moot.workflow.sessions import WorkflowService
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support import analysis
from tests.support.mcp_client import a_change, over_stdio, refused, text_of, used
from tests.support.server import BRIEF, DECISION, a_board
from tests.support.server import serving as serving_http
from tests.support.shop import IDEA, Brain, Shop

FLOWS: dict[type[AnyService], Flow[Any, Any]] = {
    BoardService: BOARD,
    AskService: ASK,
    AnalysisService: ANALYSIS,
    WorkflowService: WORKFLOW,
}


class Agent:
    """Hands on answers; collects what was said, and what it was told of the progress."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session: dict[str, Any] = {}
        self.said: list[dict[str, Any]] = []
        self.told: list[str | None] = []

    async def call(self, tool: str, **arguments: Any) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            self.told.append(message)

        result = await self.client.call_tool(tool, arguments, progress_callback=hear)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        self.session = result.structured_content
        self.said += self.session["said"]

    async def begin(self, format_: str, **opening: Any) -> None:
        await self.call("begin_session", format=format_, opening=opening)

    @property
    def id(self) -> str:
        id_: str = self.session["id"]
        return id_

    @property
    def ask(self) -> dict[str, Any] | None:
        waiting = [ask for ask in self.session["asks"] if not ask["interrupting"]]
        return waiting[0] if waiting else None

    def which(self) -> dict[str, Any]:
        assert self.ask is not None
        return {"session_id": self.id, "step": self.ask["step"], "key": self.ask["key"]}

    async def answer(self, **answer: Any) -> None:
        await self.call("answer_session", **self.which(), **answer)

    async def state(self) -> dict[str, Any]:
        read = await used(self.client, "get_session", session_id=self.id, include_state=True)
        assert read["said"] == []
        state: dict[str, Any] = read["state"]
        return state

    def words(self, what: str) -> list[tuple[str, str]]:
        return [(one["by"], one["text"]) for one in self.said if one["what"] == what]


def speaking(request: Recorded) -> Behaviour:
    said = analysis.reply(request.system, request.said, request.schema)
    return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)


def play(folder: Path, stub: StubServer, scene: Callable[[Agent], Any]) -> None:
    async def playing() -> None:
        async with over_stdio(folder, stub=stub) as client:
            await scene(Agent(client))

    asyncio.run(playing())


# -- each format once ----------------------------------------------------------------------------


def test_a_question_to_one_persona_and_a_follow_up(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)

    async def scene(agent: Agent) -> None:
        await agent.begin("ask", persona="the-analyst")
        assert (agent.session["format"], agent.session["paused"], agent.said) == ("ask", False, [])
        await agent.answer(text="Should we?")
        await agent.answer(text="And then?")
        answer = ("The Analyst", "The Analyst says: Not yet, because of the lease.")
        assert agent.words("AnswerGiven") == [answer, answer]
        assert agent.told.count("The Analyst speaks") == agent.told.count("The Analyst has spoken") == 2
        assert agent.ask is not None
        assert (agent.ask["optional"], agent.ask["freeText"]) == (True, True)
        assert agent.session["state"] is None
        entries = (await agent.state())["conversation"]["entries"]
        assert [entry["content"] for entry in entries][::2] == ["Should we?", "And then?"]

    play(tmp_path, stub, scene)
    assert len(stub.requests) == 2


def test_a_board_with_questions_a_challenge_and_its_brief(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)

    async def scene(agent: Agent) -> None:
        await agent.begin("board", decision=DECISION)
        [drafted] = agent.said
        assert drafted["what"] == "QuestionsDrafted"
        assert drafted["content"]["questions"][0]["question"] == "Why one?"
        assert agent.ask is not None
        assert "convene" in [choice["id"] for choice in agent.ask["choices"]]
        await agent.answer(text="Because of the rent.")
        await agent.answer(choice="convene")
        views = agent.words("AdvisorSpoke")
        assert len(views) == 8
        assert ("The Coach", "The Coach says: Not yet, because of the lease.") in views
        await agent.answer(text="Rents fall.")
        [(by, reply)] = agent.words("ChallengeReplied")
        assert reply == f"{by} says: Not yet, because of the lease."
        await agent.answer(choice="brief")
        assert agent.said[-1]["content"]["brief"] == BRIEF
        assert (await agent.state())["brief"] == BRIEF

    play(tmp_path, stub, scene)


def test_a_step_of_an_analysis_with_a_roundtable(stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking

    async def scene(agent: Agent) -> None:
        await agent.begin("analysis", item="Offline mode", about="Reading on trains")
        assert agent.words("StepOpened") == [("Maya Chen", "Maya asks: 1. Who needs it?")]
        await agent.answer(text="Twenty people.")
        await agent.answer(choice="elaborate")
        assert [one["by"] for one in agent.said if one["by"]][-1].split()[0] in analysis.WORDS
        assert agent.said[-1]["what"] == "TranscriptChecked", "what was found is told as well"
        await agent.answer(text="Alex, what about conflicts?")
        await agent.answer(choice="done")
        whats = [one["what"] for one in agent.said]
        assert {"StepAssessed", "StepCompleted", "TopicFramed", "SynthesisDrafted"} <= set(whats)
        assert "PersonSpokeUp" not in whats, "what the person says they know"
        assert agent.words("PersonaContributed")[0][1] in [
            word for one in analysis.WORDS.values() for word in one
        ]
        assert (await agent.state())["step"] == "menu"
        assert "StepsRead" not in whats, "that a step's files were looked at is no news"
        scan = item / "quick-scan.md"
        scan.write_text(f"{scan.read_text('utf-8')}\nNever a database.\n", "utf-8")
        await agent.answer(choice="continue")
        [read] = [one for one in agent.said if one["what"] == "StepsRead"]
        assert read["content"]["edits"] == [
            {"file": "quick-scan.md", "added": ["Never a database."], "removed": [], "whole": False}
        ]

    item = tmp_path / "moot" / "items" / "offline-mode"
    play(tmp_path, stub, scene)
    assert "Conflicts need a visible list." in (item / "quick-scan.md").read_text("utf-8")
    assert json.loads((item / "meta.json").read_text("utf-8"))["steps_completed"] == ["00-01"]


@asynccontextmanager
async def at(shop: Shop) -> AsyncIterator[Agent]:
    async with over_stdio(shop.root, env=shop.env) as client:
        yield Agent(client)


def test_a_workflow_from_idea_to_built_change(stub: StubServer, tmp_path: Path) -> None:
    shop, stub.default = Shop(tmp_path, stub), Brain()

    async def scene() -> None:
        async with at(shop) as agent:
            await agent.begin("workflow", idea=IDEA)
            triage = agent.said[-1]
            assert (triage["what"], triage["content"]["triage"]["level"]) == (
                "TriageDrafted",
                "straightforward",
            )
            await agent.answer(choice="agree")
            assert agent.said[-1]["content"]["sections"][0]["content"] == "One pass removes the codes."
            assert shop.built == 0, "nothing is built before the person has agreed"
            await agent.answer(choice="approve")
            assert agent.ask is not None
            assert [choice["id"] for choice in agent.ask["choices"]] == ["archive"]
            assert (agent.session["paused"], agent.session["live"]) == (False, False)
            done = [one["what"] for one in agent.session["said"]]
            assert done == [
                "DesignWritten",
                "BatchPlanned",
                "BatchReviewed",
                "PlanLaidOut",
                "BatchBuilt",
                "WorkflowFinalized",
            ]
            assert "command does task 1: Store public keys" in agent.told
            state = await agent.state()
            assert state["phase"] == "done"
            assert str(tmp_path) not in json.dumps([state, agent.said, agent.told])

    asyncio.run(scene())
    assert shop.workflow["phase"] == "done"
    assert list(shop.reviews().values()) == [["APPROVED"]]
    assert shop.built == 2


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("agrees", [True, False, None])
def test_a_plan_is_built_only_if_the_person_agrees_whom_their_client_asks(
    stub: StubServer, tmp_path: Path, mode: str, agrees: bool | None
) -> None:
    """None: a client that cannot ask."""
    shop, stub.default, put = Shop(tmp_path, stub), Brain(), []
    shop.attended()

    async def person(_: object, asked: ElicitRequestParams) -> ElicitResult:
        put.append(asked.message)
        return ElicitResult(action="accept", content={"agree": bool(agrees)})

    async def scene() -> None:
        asking: dict[str, Any] = {} if agrees is None else {"elicitation_callback": person}
        async with over_stdio(shop.root, env=shop.env, mode=mode, **asking) as client:
            agent = Agent(client)
            await agent.begin("workflow", idea=IDEA)
            await agent.answer(choice="agree")
            await agent.answer(choice="approve")
            assert agent.ask is not None
            assert agent.ask["step"] == "plan"
            theirs = [choice["id"] for choice in agent.ask["choices"] if choice["inPerson"]]
            assert theirs == ["build", "build-on-branch", "commit-tasks"]
            if agrees:
                await agent.answer(choice="build")
            else:
                no = await refused(client, "answer_session", **agent.which(), choice="build")
                assert no.startswith("Only the person themselves may choose that")
            assert await agent.state()

    asyncio.run(scene())
    assert len(put) == (0 if agrees is None else 1)
    assert all("Approve – build it?" in message for message in put)
    assert shop.built == (2 if agrees else 0)
    assert shop.workflow["phase"] == ("done" if agrees else "review")


# -- what holds for all --------------------------------------------------------------------------


def test_a_refused_call_says_what_to_do_next_and_changes_nothing(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)

    async def scene(agent: Agent) -> None:
        async def no(tool: str, **arguments: Any) -> str:
            return await refused(agent.client, tool, **arguments)

        assert await no("begin_session", format="poll", opening={}) == (
            "format: there is none called 'poll'; there is board, ask, analysis, workflow, diff."
        )
        assert await no("begin_session", format="ask", opening={}) == "opening: persona: is missing."
        assert (await no("begin_session", format="ask", opening={"persona": "x"})).startswith(
            "Persona 'x' not found. There is: "
        )
        for tool in ("get_session", "stop_session", "go_on_with_session"):
            assert await no(tool, session_id="nope") == (
                "Session 'nope' not found. list_sessions gives those that there are."
            )
        await agent.begin("ask", persona="the-analyst")
        first = agent.which()
        assert await no("answer_session", **first, choice="retry") == (
            "choice: 'retry' is none of those offered. What may be answered is in the asks of get_session."
        )
        assert await no("answer_session", **first) == "question: is empty: ask something."
        assert await no("answer_session", **first, text="x" * 20_001) == (
            "Input not accepted: text: has to have at most 20000 characters."
        )
        assert stub.requests == []
        await agent.answer(text="Why?")
        assert await no("answer_session", **first, text="Why?") == (
            "That is not asked any more: load the session again and answer what it asks now. "
            "Call get_session for that."
        )

    play(tmp_path, stub, scene)
    assert len(stub.requests) == 1


def test_what_a_terminal_holds_is_refused_and_nothing_is_written(stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking
    item = tmp_path / "moot" / "items" / "offline-mode"

    async def scene(agent: Agent) -> None:
        await agent.begin("analysis", item="Offline mode")
        before = (item / "session.jsonl").read_text("utf-8")
        with claimed(item, "analysed", "item"):
            for tool, arguments in (
                ("answer_session", {**agent.which(), "text": "Ten."}),
                ("go_on_with_session", {"session_id": agent.id}),
                ("begin_session", {"format": "analysis", "opening": {"item": "Offline mode"}}),
            ):
                said = await refused(agent.client, tool, **arguments)
                assert said.startswith("Item 'offline-mode' is being analysed by process ")
                assert said.endswith(
                    "Ask the person to end it there, or wait until it has ended; then try again."
                )
        assert (item / "session.jsonl").read_text("utf-8") == before
        await agent.answer(text="Ten.")

    play(tmp_path, stub, scene)


def test_damage_is_named_without_a_path_of_the_machine(stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking
    log = tmp_path / "moot" / "items" / "offline-mode" / "session.jsonl"

    async def scene(agent: Agent) -> None:
        await agent.begin("analysis", item="Offline mode")
        log.write_text(f"no event\n{log.read_text('utf-8')}", encoding="utf-8")
        said = await refused(agent.client, "go_on_with_session", session_id=agent.id)
        assert said.startswith("moot/items/offline-mode/session.jsonl, line 1: ")
        assert str(tmp_path) not in said

    play(tmp_path, stub, scene)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_client_that_goes_away_loses_nothing_that_is_complete(
    stub: StubServer, tmp_path: Path, leaves: bool
) -> None:
    a_board(stub)
    stub.on("You are The Coach", Behaviour(text="word " * 5000, pace=30))
    opening = {"decision": DECISION, "questions": False, "mode": "sequential"}

    def the_coach_speaks(stub: StubServer) -> bool:
        return stub.open_streams == 1 and "You are The Coach" in stub.requests[-1].system

    async def go_away(agent: Agent) -> str:
        begun = {"format": "board", "opening": opening}
        call = asyncio.create_task(agent.client.call_tool("begin_session", begun))
        await stub.wait_for(the_coach_speaks, timeout=30)
        [listed] = (await used(agent.client, "list_sessions"))["sessions"]
        assert listed["live"]
        if not leaves:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await stub.wait_for(lambda s: s.open_streams == 0, timeout=10)
            read = await used(agent.client, "get_session", session_id=listed["id"])
            assert read["id"] == listed["id"], "the server goes on serving"
        id_: str = listed["id"]
        return id_

    async def scene() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            id_ = await go_away(Agent(client))
        await stub.wait_for(lambda s: s.open_streams == 0, timeout=10)
        spoken = len(stub.requests) - 1
        stub.reset()
        a_board(stub)
        async with over_stdio(tmp_path, stub=stub) as client:
            agent = Agent(client)
            await agent.call("go_on_with_session", session_id=id_)
            assert len(agent.words("AdvisorSpoke")) == 8 - spoken, "nobody who has spoken is asked again"
            assert all(advisor["text"] for advisor in (await agent.state())["advisors"])

    asyncio.run(scene())


def test_a_session_that_one_call_drives_another_stops_until_somebody_goes_on(
    stub: StubServer, tmp_path: Path
) -> None:
    stub.default = Behaviour(text="word " * 5000, pace=30)

    async def scene(agent: Agent) -> None:
        await agent.begin("ask", persona="the-analyst")
        asking = asyncio.create_task(agent.answer(text="Why?"))
        await stub.wait_for(lambda s: s.open_streams == 1, timeout=30)
        stopped = await used(agent.client, "stop_session", session_id=agent.id)
        assert (stopped["paused"], stopped["asks"]) == (True, [])
        await asking
        assert (agent.session["paused"], agent.said) == (True, [])
        await stub.wait_for(lambda s: s.open_streams == 0, timeout=10)
        assert (await used(agent.client, "get_session", session_id=agent.id))["paused"]
        a_board(stub)
        await agent.call("go_on_with_session", session_id=agent.id)
        assert [by for by, _ in agent.words("AnswerGiven")] == ["The Analyst"]
        assert not agent.session["paused"]

    play(tmp_path, stub, scene)
    assert len(stub.requests) == 2


def test_what_a_server_drives_is_listened_to_and_nobody_is_asked_twice(
    stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub, pace=10, words="word " * 1000)

    async def listen(session_id: str) -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            agent = Agent(client)
            listening = asyncio.create_task(agent.call("go_on_with_session", session_id=session_id))
            # What is answered after it says that it has begun.
            await used(client, "list_sessions")
            assert stub.open_streams > 0
            stub.hurry()
            await listening
            assert not agent.session["live"]
            said = [by for by, _ in agent.words("AdvisorSpoke")]
            assert len(said) == len(set(said))
            assert all(advisor["text"] for advisor in (await agent.state())["advisors"])

    with (
        serving_http(tmp_path, stub) as server,
        server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events,
    ):
        session_id = next(events)["sessionId"]
        stub.wait(lambda s: s.open_streams > 0)
        asyncio.run(listen(session_id))
    assert len(stub.requests) == 9


def test_tools_for_boards_and_for_any_session_drive_the_same_one_once(
    stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub, pace=10, words="word " * 1000)

    async def scene(agent: Agent) -> None:
        opening = {"decision": DECISION, "questions": False}
        begun = asyncio.create_task(agent.begin("board", **opening))
        await stub.wait_for(lambda s: len(s.requests) == 8, timeout=30)
        [listed] = (await used(agent.client, "list_sessions"))["sessions"]
        which = {"session_id": listed["id"], "include_views": True}
        going_on = asyncio.create_task(used(agent.client, "go_on_with_board", **which))
        # What is answered after it says that it has begun.
        await used(agent.client, "list_sessions")
        assert stub.open_streams == 8
        stub.hurry()
        board = await going_on
        await begun
        assert board["brief"] == BRIEF
        assert len(agent.words("AdvisorSpoke")) == 8
        assert {view for _, view in agent.words("AdvisorSpoke")} == {one["view"] for one in board["advisors"]}

    play(tmp_path, stub, scene)
    assert len(stub.requests) == 9


@pytest.mark.parametrize("service", [BoardService, AskService, AnalysisService, WorkflowService])
def test_what_models_said_is_told_unless_it_was_returned_or_passed_over(service: type[AnyService]) -> None:
    said = {
        event
        for event in get_args(FLOWS[service].events)
        if {"usage", "spoken", "kind"} & {*event.__struct_fields__}
    }
    assert said - {PersonaSilent, ContributionReturned, SynthesisReturned} <= set(service.told)
    assert set(service.told) <= set(get_args(FLOWS[service].events))


def test_no_agent_decides_about_a_change_in_the_person_s_name(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Brain()
    shop = Shop(tmp_path, stub)
    a_change(shop.root)
    with serving_http(tmp_path, stub, "--workspace", str(shop.root)) as server:
        begun = server.post("/api/sessions", {"format": "change", "opening": {"change": "add-login"}})
        session = begun.json()["session"]
    offered = [choice["id"] for ask in session["asks"] for choice in ask["choices"]]
    assert "approve" in offered, "over HTTP it is for the person"

    async def scene() -> None:
        async with at(shop) as agent:
            opening = {"change": "add-login"}
            said = await refused(agent.client, "begin_session", format="change", opening=opening)
            assert said.endswith("there is board, ask, analysis, workflow, diff.")
            [ask] = [one for one in session["asks"] if not one["interrupting"]]
            which = {"session_id": session["id"], "step": ask["step"], "key": ask["key"]}
            for tool, arguments in (
                ("get_session", {"session_id": session["id"]}),
                ("go_on_with_session", {"session_id": session["id"]}),
                ("answer_session", {**which, "choice": "approve", "text": "They said so."}),
            ):
                assert (await refused(agent.client, tool, **arguments)).startswith("Session 'change-")
            assert (await used(agent.client, "list_sessions"))["sessions"] == []

    asyncio.run(scene())


def test_the_list_has_the_sessions_of_all_formats(stub: StubServer, tmp_path: Path) -> None:
    stub.default = speaking

    async def scene(agent: Agent) -> None:
        await agent.begin("analysis", item="Offline mode")
        a_board(stub)
        await agent.begin("ask", persona="the-analyst", question="Why offline?")
        listed = (await used(agent.client, "list_sessions"))["sessions"]
        assert {one["format"]: one["title"] for one in listed} == {
            "analysis": "Offline mode",
            "ask": "Why offline?",
        }
        found = await used(agent.client, "list_sessions", search="why")
        assert ([one["id"] for one in found["sessions"]], found["more"]) == ([agent.id], False)

    play(tmp_path, stub, scene)
