"""The board over HTTP: a real server, the real SDK, a stub model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer, running_stub
from tests.support.server import BRIEF, DECISION, Server, a_board, serving
from tests.support.speaker import speaker
from tests.support.waiting import until

EIGHT = [
    "the-devil-s-advocate",
    "the-strategist",
    "the-pragmatist",
    "the-coach",
    "the-mentor",
    "the-visionary",
    "the-analyst",
    "the-ethicist",
]
"""By intervention, ties in the order of the panel: 9, 7 7 7, 6 6 6 6."""


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def shared_server(shared_stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), shared_stub, "--grace", "1") as server:
        yield server


@pytest.fixture
def stub(shared_stub: StubServer) -> StubServer:
    shared_stub.wait(lambda s: s.open_streams == 0)
    shared_stub.reset()
    a_board(shared_stub)
    return shared_stub


@pytest.fixture
def server(shared_server: Server, stub: StubServer) -> Server:  # noqa: ARG001
    return shared_server


def challenged(persona: str = "the-strategist", **more: Any) -> dict[str, Any]:
    return {
        "personaId": persona,
        "decision": DECISION,
        "initialResponse": "Not yet.",
        "priorChallenges": [],
        "challengeText": "Why not?",
        **more,
    }


def brief_of(session_id: str) -> dict[str, Any]:
    said = {"personaId": "the-coach", "personaName": "The Coach", "content": "Go.", "isComplete": True}
    return {"sessionId": session_id, "decision": DECISION, "responses": [said]}


def heard_of(server: Server, path: str, **headers: str) -> list[dict[str, Any]]:
    with server.streaming("GET", path, headers=headers) as events:
        return list(events)


def stored(server: Server, at: str) -> dict[str, Any]:
    body: dict[str, Any] = server.get(at).json()["session"]
    return body


def paused(server: Server, at: str) -> bool:
    return bool(stored(server, at)["paused"])


def wait_until_paused(server: Server, at: str) -> None:
    """Its streams are closed before its lease is given back."""
    until(lambda: paused(server, at))


def advisors_asked(stub: StubServer) -> list[str]:
    return [speaker(r) for r in stub.requests if r.schema is None]


# -- the eight rows of the API ---------------------------------------------------------------------


def test_1_personas(server: Server) -> None:
    answered = server.get("/api/board/personas")
    assert answered.status_code == 200
    listed = answered.json()["personas"]
    assert [p["id"] for p in listed] == EIGHT
    assert {p["contributionType"] for p in listed} == {"integrator", "challenger", "sense-checker"}
    assert listed[0]["rubric"]["riskAppetite"]["score"] == 3


def test_2_questions(server: Server, stub: StubServer) -> None:
    answered = server.post("/api/board/questions", {"decision": DECISION})
    assert answered.status_code == 200
    questions = answered.json()["questions"]
    assert [q["id"] for q in questions] == ["q1", "q2", "q3"]
    assert questions[0] == {"id": "q1", "question": "Why one?", "hint": "a number"}
    sent = stub.requests[0]
    assert "8 advisors" in sent.system
    assert sent.body["max_completion_tokens" if "max_completion_tokens" in sent.body else "max_tokens"] == 512
    assert (sent.tools, answered.json()["lookedAt"]) == ((), [])
    stub.script(Behaviour(text="", tool_calls=(("list_directory", {}),)))
    answered = server.post("/api/board/questions", {"decision": DECISION, "looks": True})
    assert answered.json() == {"questions": questions, "lookedAt": ["the top folder"]}
    assert "read_file" in stub.requests[1].tools


def test_3_an_empty_decision_is_refused(server: Server, stub: StubServer) -> None:
    answered = server.post("/api/board/challenge", challenged(decision=""))
    assert answered.status_code == 400
    assert answered.json() == {"error": "decision: must not be empty."}
    assert stub.requests == []


def test_4_a_challenge_beyond_its_limit_is_refused(server: Server) -> None:
    answered = server.post("/api/board/challenge", challenged(challengeText="x" * 2001))
    assert answered.status_code == 400
    assert answered.json()["error"].startswith("challengeText: ")


def test_5_a_challenge_is_replied_to(server: Server, stub: StubServer) -> None:
    with server.streaming("POST", "/api/board/challenge", json=challenged()) as events:
        heard = list(events)
    tokens = [e["token"] for e in heard if e["type"] == "challenge_reply_token"]
    assert "".join(tokens) == "The Strategist says: Not yet, because of the lease."
    assert heard[-1]["type"] == "challenge_reply_complete"
    assert len(stub.requests) == 1


def test_6_a_challenge_continues_the_conversation_exactly(server: Server, stub: StubServer) -> None:
    server.session()
    first = next(r for r in stub.requests if "You are The Strategist" in r.system)
    stub.requests.clear()
    prior = [{"challengeText": "Sure?", "replyContent": "Yes.", "isReplyComplete": True}]
    with server.streaming("POST", "/api/board/challenge", json=challenged(priorChallenges=prior)) as events:
        list(events)
    sent = stub.requests[0]
    assert sent.system == first.system
    assert sent.model == first.model
    said = [(m["role"], m["content"]) for m in sent.messages if m["role"] != "system"]
    asked = next(m["content"] for m in first.messages if m["role"] == "user")
    assert said == [
        ("user", asked),
        ("assistant", "Not yet."),
        ("user", "Sure?"),
        ("assistant", "Yes."),
        ("user", "Why not?"),
    ]
    assert DECISION in asked
    assert asked.endswith("Provide your perspective as The Strategist.")


def test_7_a_brief_reflects_challenges(server: Server, stub: StubServer) -> None:
    exchange = {"challengeText": "Sure?", "replyContent": "Less so now.", "isReplyComplete": True}
    responses = [
        {"personaId": "the-strategist", "personaName": "The Strategist", "content": "Go.", "isComplete": True,
         "challenges": [exchange]},
        {"personaId": "the-analyst", "personaName": "The Analyst", "content": "Wait.", "isComplete": True,
         "challenges": []},
    ]  # fmt: skip
    answered = server.post("/api/board/brief", {"decision": DECISION, "responses": responses})
    assert answered.status_code == 200, answered.text
    assert answered.json() == {"brief": BRIEF, "cited": []}
    sent = stub.requests[0]
    follow_up = "#### Follow-up Discussion\n**User**: Sure?\n**The Strategist**: Less so now."
    assert f"### The Strategist\nGo.\n\n{follow_up}" in sent.said
    assert "refined positions should carry more weight" in sent.system
    assert sent.schema is not None


def test_8_a_whole_session(server: Server, stub: StubServer) -> None:
    events = server.session(answers=[{"question": "Why one?", "answer": "Because."}])
    types = [e["type"] for e in events]
    assert types[0] == "session_start"
    assert events[0]["personaCount"] == 8
    assert types.count("persona_start") == types.count("persona_complete") == 8
    assert types[-4:] == ["brief_start", "brief_complete", "session_complete", "idle"]
    assert events[-3]["brief"] == BRIEF
    numbers = [e["id"] for e in events[:-1]]
    assert numbers == list(range(1, len(numbers) + 1))
    for persona in EIGHT:
        own = [e for e in events if e.get("personaId") == persona]
        assert [e["type"] for e in own][:1] == ["persona_start"]
        assert own[-1]["type"] == "persona_complete"
        assert "".join(e["token"] for e in own if e["type"] == "persona_token").endswith("of the lease.")
    assert len(stub.requests) == 9
    assert all("Why one?" in r.said and "Because." in r.said for r in stub.requests)


# -- sessions --------------------------------------------------------------------------------------


def test_a_stored_session_is_its_whole_state(server: Server) -> None:
    session_id = server.session()[0]["sessionId"]
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    assert [r["personaId"] for r in body["responses"]] == EIGHT
    assert all(r["isComplete"] and r["usage"]["outputTokens"] > 0 for r in body["responses"])
    assert body["brief"] == BRIEF
    assert (body["step"], body["briefStale"], body["live"]) == ("review", False, False)
    listed = server.get("/api/board/sessions").json()["sessions"]
    assert listed[0]["id"] == session_id
    assert (listed[0]["completeCount"], listed[0]["hasBrief"]) == (8, True)


def test_the_list_says_which_sessions_are_live(server: Server, stub: StubServer) -> None:
    def live(session_id: str) -> bool:
        listed = server.get("/api/board/sessions").json()["sessions"]
        flag: bool = next(one["live"] for one in listed if one["id"] == session_id)
        return flag

    resting = server.session()[0]["sessionId"]
    a_board(stub, pace=50, words="word " * 500)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        speaking = next(events)["sessionId"]
        assert (live(speaking), live(resting)) == (True, False)
        with server.streaming("POST", "/api/board/challenge", json=challenged(sessionId=resting)) as reply:
            next(reply)
            assert live(resting), "somebody replies"
    until(lambda: not live(speaking) and not live(resting))
    assert stub.open_streams == 0
    body = server.get(f"/api/board/sessions/{speaking}").json()["session"]
    assert body["live"], "it goes on as soon as somebody listens"


def test_a_challenge_in_a_session_is_kept_and_makes_the_brief_stale(server: Server, stub: StubServer) -> None:
    session_id = server.session()[0]["sessionId"]
    with server.streaming("POST", "/api/board/challenge", json=challenged(sessionId=session_id)) as events:
        list(events)
    path = f"/api/board/sessions/{session_id}"
    body = server.get(path).json()["session"]
    strategist = next(r for r in body["responses"] if r["personaId"] == "the-strategist")
    (kept,) = strategist["challenges"]
    assert kept.pop("usage")["outputTokens"] > 0
    assert [kept] == [
        {
            "challengeText": "Why not?",
            "replyContent": "The Strategist says: Not yet, because of the lease.",
            "isReplyComplete": True,
            "citations": [],
        }
    ]
    assert body["briefStale"]
    before = len(stub.requests)
    asked = {
        "decision": DECISION,
        "responses": [{"personaId": "the-coach", "content": "x"}],
        "sessionId": session_id,
    }
    assert server.post("/api/board/brief", asked).json()["brief"] == BRIEF
    assert not server.get(path).json()["session"]["briefStale"]
    assert server.post("/api/board/brief", asked).status_code == 200
    assert len(stub.requests) == before + 1, "a fresh brief is not drafted again"


def test_one_failed_advisor_never_fails_the_session_and_can_be_retried(
    server: Server, stub: StubServer
) -> None:
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    events = server.session()
    failed = [e for e in events if e["type"] == "persona_error"]
    assert [(e["personaId"], "no coaching today" in e["message"]) for e in failed] == [("the-coach", True)]
    assert events[-2]["type"] == "session_complete"
    brief_request = next(r for r in stub.requests if r.schema is not None)
    assert "did not answer" in brief_request.system
    assert "The Coach" in brief_request.system
    session_id = events[0]["sessionId"]
    stub.reset()
    a_board(stub)
    assert (
        server.post(f"/api/board/sessions/{session_id}/retry", {"personaId": "the-coach"}).status_code == 202
    )
    with server.streaming("GET", f"/api/board/sessions/{session_id}/events?after={events[-2]['id']}") as more:
        types = [e["type"] for e in more]
    assert types[0] == "persona_start"
    assert "persona_complete" in types
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    assert all(r["isComplete"] for r in body["responses"])
    assert body["briefStale"]
    again = server.post(f"/api/board/sessions/{session_id}/retry", {"personaId": "the-coach"})
    assert again.status_code == 409


def test_last_event_id_gives_exactly_the_rest_from_every_position(server: Server) -> None:
    events = server.session()
    session_id, told = events[0]["sessionId"], events[:-1]
    for position in range(len(told) + 1):
        with server.streaming(
            "GET", f"/api/board/sessions/{session_id}/events", headers={"Last-Event-ID": str(position)}
        ) as rest:
            assert list(rest)[:-1] == told[position:], position


def test_a_second_listener_hears_the_same(server: Server, stub: StubServer) -> None:
    a_board(stub, pace=100, words="word " * 20)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as first:
        heard = [next(first)]
        session_id = heard[0]["sessionId"]
        with server.streaming("GET", f"/api/board/sessions/{session_id}/events") as second:
            also = list(second)
        heard.extend(first)
    assert heard == also


def test_a_session_can_be_exported_and_deleted(server: Server) -> None:
    session_id = server.session()[0]["sessionId"]
    path = f"/api/board/sessions/{session_id}"
    markdown = server.get(f"{path}/export")
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert DECISION in markdown.text
    assert server.get(f"{path}/export?format=json").json()["decision"] == DECISION
    assert "<script" not in server.get(f"{path}/export?format=html").text
    assert server.get(f"{path}/export?format=pdf").status_code == 400
    assert server.client.delete(f"{server.url}{path}").status_code == 204
    assert server.get(path).status_code == 404
    assert server.client.delete(f"{server.url}{path}").status_code == 404


def test_sequential_advisors_hear_those_before_them(server: Server, stub: StubServer) -> None:
    server.session(mode="sequential")
    assert stub.max_open_streams == 1
    last = next(r for r in stub.requests if "You are The Ethicist" in r.system)
    assert "### The Devil's Advocate\nThe Devil's Advocate says:" in last.said
    first = next(r for r in stub.requests if "You are The Devil's Advocate" in r.system)
    assert "have spoken before you" not in first.said


# -- who leaves ------------------------------------------------------------------------------------


def test_a_client_that_leaves_a_challenge_closes_its_stream_without_any_time_of_grace(
    server: Server, stub: StubServer
) -> None:
    session_id = server.session()[0]["sessionId"]
    stub.reset()
    stub.default = Behaviour(text="word " * 500, pace=50)
    with server.streaming("POST", "/api/board/challenge", json=challenged(sessionId=session_id)) as events:
        assert next(events)["type"] == "challenge_reply_token"
        with server.streaming("POST", "/api/board/session", json={"decision": DECISION}):
            stub.wait(lambda s: s.open_streams == 9)
    # Both are left, the session first. It has its time of grace; the challenge has none.
    stub.wait(lambda s: s.clients_left == 9)
    assert stub.left[0] is stub.requests[0]
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    assert all(r["challenges"] == [] for r in body["responses"])
    assert not body["briefStale"]


@pytest.mark.parametrize("route", ["questions", "brief"])
def test_a_client_who_leaves_before_the_answer_ends_the_asking(
    server: Server, stub: StubServer, route: str
) -> None:
    stub.default = Behaviour(first_token_delay=60)
    body: dict[str, Any] = {"decision": DECISION}
    if route == "brief":
        body["responses"] = [{"personaId": "the-coach", "content": "Go."}]
    with pytest.raises(httpx2.TimeoutException):
        server.post(f"/api/board/{route}", body, timeout=0.5)
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)


def test_a_new_challenge_takes_the_place_of_one_that_is_streaming(server: Server, stub: StubServer) -> None:
    session_id = server.session()[0]["sessionId"]
    stub.reset()
    stub.script(Behaviour(text="word " * 500, pace=50), Behaviour(text="Fine."))
    with server.streaming("POST", "/api/board/challenge", json=challenged(sessionId=session_id)) as first:
        next(first)
        second_asked = challenged("the-analyst", sessionId=session_id)
        with server.streaming("POST", "/api/board/challenge", json=second_asked) as second:
            assert list(second)[-1]["type"] == "challenge_reply_complete"
        assert list(first)[-1]["type"] == "error"
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
    counts = {r["personaId"]: len(r["challenges"]) for r in body["responses"]}
    assert (counts["the-strategist"], counts["the-analyst"]) == (0, 1)


def test_a_session_that_nobody_listens_to_stops_after_the_grace_time_and_can_be_picked_up(
    server: Server, stub: StubServer
) -> None:
    a_board(stub, pace=50, words="word " * 500)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        first = next(events)
        at = f"/api/board/sessions/{first['sessionId']}"
        stub.wait(lambda s: s.open_streams == 8)
        left = time.monotonic()
    stub.wait(lambda s: s.open_streams == 0)
    assert stub.left_at[-1] - left >= 1, "not before the grace time is over"
    wait_until_paused(server, at)
    stub.reset()
    a_board(stub)
    with server.streaming("GET", f"{at}/events", headers={"Last-Event-ID": str(first["id"])}) as events:
        types = [e["type"] for e in events]
    assert types[-2] == "session_complete"
    assert len(stub.requests) == 9


@pytest.mark.parametrize("query", ["", "?after=1"])
def test_opening_a_session_that_was_left_spends_nothing_until_somebody_goes_on(
    server: Server, stub: StubServer, query: str
) -> None:
    a_board(stub, pace=50, words="word " * 500)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        at = f"/api/board/sessions/{next(events)['sessionId']}"
        stub.wait(lambda s: s.open_streams == 8)
    stub.wait(lambda s: s.open_streams == 0)
    wait_until_paused(server, at)
    stub.reset()
    a_board(stub)
    for _ in range(2):
        assert heard_of(server, f"{at}/events{query}")[-1]["type"] == "idle"
    assert paused(server, at)
    assert stub.requests == []
    assert server.post(f"{at}/go-on").status_code == 202
    assert heard_of(server, f"{at}/events")[-2]["type"] == "session_complete"
    assert len(stub.requests) == 9


def test_asking_for_the_brief_of_a_session_that_was_left_among_its_advisors_asks_nobody(
    server: Server, stub: StubServer
) -> None:
    a_board(stub, pace=50, words="word " * 500)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        session_id = next(events)["sessionId"]
        stub.wait(lambda s: s.open_streams == 8)
    stub.wait(lambda s: s.open_streams == 0)
    wait_until_paused(server, f"/api/board/sessions/{session_id}")
    stub.reset()
    a_board(stub)
    assert server.post("/api/board/brief", brief_of(session_id)).status_code == 409
    assert stub.requests == []


def test_a_reload_within_the_grace_time_costs_nothing(server: Server, stub: StubServer) -> None:
    a_board(stub, pace=60, words="word " * 40)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        first = next(events)
        stub.wait(lambda s: s.open_streams == 8)
    with server.streaming(
        "GET", f"/api/board/sessions/{first['sessionId']}/events?after={first['id']}"
    ) as more:
        assert list(more)[-2]["type"] == "session_complete"
    assert len(stub.requests) == 9
    assert stub.clients_left == 0


@pytest.mark.parametrize("takes_up", [False, True])
def test_who_came_to_listen_and_left_again_has_nobody_asked_once_more(
    server: Server, stub: StubServer, takes_up: bool
) -> None:
    a_board(stub, pace=50, words="word " * 500)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        first = next(events)
        at = f"/api/board/sessions/{first['sessionId']}"
        stub.wait(lambda s: s.open_streams == 8)
        headers = {"Last-Event-ID": str(first["id"])} if takes_up else {}
        with server.streaming("GET", f"{at}/events", headers=headers) as more:
            next(more)
    wait_until_paused(server, at)
    assert (len(stub.requests), stub.clients_left) == (8, 8)


def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    with running_stub() as stub:
        a_board(stub)
        slow = {"You are The Coach": 60, "You are The Ethicist": 60}
        for who, pace in slow.items():
            stub.on(who, Behaviour(text="word " * 300, pace=pace))
        with serving(tmp_path, stub) as server:
            with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
                session_id = next(events)["sessionId"]
                complete = last = 0
                for one in events:
                    complete += one["type"] == "persona_complete"
                    if complete == 6:
                        last = one["id"]
                        break
                server.process.kill()
        stub.wait(lambda s: s.open_streams == 0)
        stub.reset()
        a_board(stub)
        with serving(tmp_path, stub) as server:
            with server.streaming(
                "GET", f"/api/board/sessions/{session_id}/events", headers={"Last-Event-ID": str(last)}
            ) as events:
                rest = list(events)
            body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        assert rest[-2]["type"] == "session_complete"
        assert [e["id"] for e in rest[:-1]] == list(range(last + 1, last + len(rest)))
        assert all(r["isComplete"] for r in body["responses"])
        asked = [speaker(r) for r in stub.requests if r.schema is None]
        assert sorted(asked) == ["The Coach", "The Ethicist"]


def test_a_session_that_a_crash_cut_off_is_taken_up_by_who_listened_and_not_by_who_opens_it(
    tmp_path: Path,
) -> None:
    with running_stub() as stub:
        a_board(stub)
        with serving(tmp_path, stub) as server, speaking(server, stub) as (at, _):
            server.process.kill()
        stub.wait(lambda s: s.open_streams == 0)
        stub.reset()
        a_board(stub)
        with serving(tmp_path, stub) as server:
            wait_until_paused(server, at)
            assert heard_of(server, f"{at}/events")[-1]["type"] == "idle"
            assert stub.requests == []
            assert (
                heard_of(server, f"{at}/events", **{"Last-Event-ID": "1"})[-2]["type"] == "session_complete"
            )
        assert sorted(advisors_asked(stub)) == ["The Coach", "The Ethicist"]


# -- stopping --------------------------------------------------------------------------------------


@contextmanager
def speaking(server: Server, stub: StubServer) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """A session in which the coach and the ethicist speak without an end, and all others have spoken."""
    for who in ("You are The Coach", "You are The Ethicist"):
        stub.on(who, ENDLESS)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        at = f"/api/board/sessions/{next(events)['sessionId']}"
        complete = 0
        while complete < 6:
            complete += next(events)["type"] == "persona_complete"
        stub.wait(lambda s: s.open_streams == 2)
        yield at, events


ENDLESS = Behaviour(text="word " * 5000, pace=30)


def test_one_advisor_is_stopped_and_the_others_go_on(server: Server, stub: StubServer) -> None:
    with speaking(server, stub) as (at, events):
        assert server.post(f"{at}/stop", {"personaId": "the-coach"}).status_code == 204
        failed = next(e for e in events if e["type"] == "persona_error")
        assert (failed["personaId"], failed["kind"]) == ("the-coach", "Stopped")
        stub.wait(lambda s: s.clients_left == 1)
        assert stub.open_streams == 1, "the ethicist speaks on"
        again = server.post(f"{at}/stop", {"personaId": "the-coach"})
        assert (again.status_code, again.json()["error"]) == (
            409,
            "The Coach does not speak at the moment: there is nothing to stop",
        )
        assert server.post(f"{at}/stop", {"personaId": "the-ethicist"}).status_code == 204
        assert list(events)[-2]["type"] == "session_complete"
    assert len(stub.requests) == 9, "eight advisors and the brief"
    stub.reset()
    a_board(stub)
    # Whom somebody stopped is asked again like anybody who did not answer.
    assert server.post(f"{at}/retry", {}).status_code == 202
    assert heard_of(server, f"{at}/events")[-1]["type"] == "idle"
    assert sorted(advisors_asked(stub)) == ["The Coach", "The Ethicist"]


def test_a_stopped_session_spends_nothing_until_somebody_goes_on_and_then_asks_only_who_is_missing(
    server: Server, stub: StubServer
) -> None:
    with speaking(server, stub) as (at, events):
        assert server.post(f"{at}/stop", {}).status_code == 204
        assert list(events)[-1]["type"] == "idle"
    stub.wait(lambda s: s.clients_left == 2 and s.open_streams == 0)
    assert server.post(f"{at}/stop", {}).status_code == 204, "stopped twice is stopped"
    stub.reset()
    a_board(stub)
    for headers in ({}, {"Last-Event-ID": "1"}):
        assert heard_of(server, f"{at}/events", **headers)[-1]["type"] == "idle"
    assert server.post("/api/board/brief", brief_of(at.rpartition("/")[2])).status_code == 409
    assert paused(server, at)
    assert stub.requests == []
    assert server.post(f"{at}/go-on").status_code == 202
    assert heard_of(server, f"{at}/events")[-2]["type"] == "session_complete"
    assert sorted(advisors_asked(stub)) == ["The Coach", "The Ethicist"]
    assert len(stub.requests) == 3, "two advisors and the brief"


def test_a_session_stopped_before_its_brief_writes_none_until_somebody_goes_on(
    server: Server, stub: StubServer
) -> None:
    stub.on(lambda request: request.schema is not None, Behaviour(json_text=json.dumps(BRIEF), pace=0.5))
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        at = f"/api/board/sessions/{next(events)['sessionId']}"
        next(e for e in events if e["type"] == "brief_start")
        stub.wait(lambda s: s.open_streams == 1)
        assert server.post(f"{at}/stop", {}).status_code == 204
        assert list(events)[-1]["type"] == "idle"
    stub.reset()
    a_board(stub)
    refused = server.post("/api/board/brief", brief_of(at.rpartition("/")[2]))
    assert (refused.status_code, refused.json()["error"]) == (
        409,
        "The board is stopped: go on with it first",
    )
    assert stub.requests == []
    assert server.post(f"{at}/go-on").status_code == 202
    assert heard_of(server, f"{at}/events")[-2]["type"] == "session_complete"
    assert len(stub.requests) == 1, "the brief"


@pytest.mark.parametrize("body", [{}, {"personaId": "the-strategist"}], ids=["all", "one"])
def test_a_reply_is_stopped_by_anybody_who_may(
    server: Server, stub: StubServer, body: dict[str, str]
) -> None:
    at = f"/api/board/sessions/{server.session()[0]['sessionId']}"
    stub.default = ENDLESS
    asked = challenged(sessionId=at.rpartition("/")[2])
    with server.streaming("POST", "/api/board/challenge", json=asked) as reply:
        assert next(reply)["type"] == "challenge_reply_token"
        assert server.post(f"{at}/stop", body).status_code == 204
        *_, last = reply
    assert (last["type"], last["message"]) == ("error", "The reply was stopped before its end.")
    stub.wait(lambda s: s.clients_left == 1 and s.open_streams == 0)
    now = stored(server, at)
    assert [r["challenges"] for r in now["responses"]] == [[]] * 8
    assert (now["briefStale"], now["paused"]) == (False, False)


def test_where_nobody_speaks_there_is_nothing_to_stop(server: Server, stub: StubServer) -> None:
    at = f"/api/board/sessions/{server.session()[0]['sessionId']}"
    asked = len(stub.requests)
    for body, status, words in (
        ({}, 409, "Nobody speaks at the moment: there is nothing to stop"),
        (
            {"personaId": "the-strategist"},
            409,
            "The Strategist does not speak at the moment: there is nothing to stop",
        ),
        ({"personaId": "the-cook"}, 400, "personaId: 'the-cook' is not an advisor of this session"),
    ):
        refused = server.post(f"{at}/stop", body)
        assert (refused.status_code, refused.json()["error"]) == (status, words)
    again = server.post(f"{at}/retry", {})
    assert (again.status_code, again.json()["error"]) == (
        409,
        "No advisor has failed: there is nobody to ask again",
    )
    assert server.post("/api/board/sessions/nope/stop", {}).status_code == 404
    assert server.post("/api/board/sessions/nope/go-on").status_code == 404
    assert server.post(f"{at}/go-on").status_code == 202, "a finished one has nothing to go on with"
    assert heard_of(server, f"{at}/events")[-2]["type"] == "session_complete"
    assert len(stub.requests) == asked


def test_a_stopped_session_is_still_stopped_after_a_restart(tmp_path: Path) -> None:
    with running_stub() as stub:
        a_board(stub)
        with serving(tmp_path, stub) as server, speaking(server, stub) as (at, events):
            assert server.post(f"{at}/stop", {}).status_code == 204
            assert list(events)[-1]["type"] == "idle"
            server.process.kill()
        stub.wait(lambda s: s.open_streams == 0)
        stub.reset()
        a_board(stub)
        with serving(tmp_path, stub) as server:
            assert paused(server, at)
            for headers in ({}, {"Last-Event-ID": "1"}):
                assert heard_of(server, f"{at}/events", **headers)[-1]["type"] == "idle"
            assert stub.requests == []
            assert server.post(f"{at}/go-on").status_code == 202
            assert heard_of(server, f"{at}/events")[-2]["type"] == "session_complete"
        assert sorted(advisors_asked(stub)) == ["The Coach", "The Ethicist"]
