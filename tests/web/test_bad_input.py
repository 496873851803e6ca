"""What cannot be taken is refused with a sentence, costs no model's reply and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from moot.personas.library import SHIPPED
from tests.stub.script import Behaviour
from tests.stub.server import StubServer, running_stub
from tests.support.server import BRIEF as DRAFTED
from tests.support.server import DECISION, Server, a_board, serving
from tests.text.test_faults import THEIRS

QUESTIONS, SESSION = "/api/board/questions", "/api/board/session"
CHALLENGE, BRIEF = "/api/board/challenge", "/api/board/brief"
SESSIONS = "/api/board/sessions"

TWENTY_ONE = [f"advisor-{number:02}" for number in range(21)]
"""The workspace's own, because the board's eight do not reach the limit of twenty."""


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def shared_server(shared_stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    _seat_more_advisors(folder / "moot" / "personas")
    with serving(folder, shared_stub, "--grace", "0.3") as server:
        yield server


def _seat_more_advisors(personas: Path) -> None:
    personas.mkdir(parents=True)
    coach = (SHIPPED / "personas" / "the-coach.md").read_text(encoding="utf-8")
    for one in TWENTY_ONE:
        text = coach.replace("id: the-coach", f"id: {one}").replace("name: The Coach", f"name: {one}")
        (personas / f"{one}.md").write_text(text, encoding="utf-8")


@pytest.fixture
def stub(shared_stub: StubServer) -> StubServer:
    shared_stub.wait(lambda s: s.open_streams == 0)
    shared_stub.reset()
    a_board(shared_stub)
    # Of any number of advisors, so no two of them are at odds.
    brief = Behaviour(json_text=json.dumps({**DRAFTED, "tensions": []}))
    shared_stub.on(lambda asked: "consensus" in (asked.schema or {}).get("properties", {}), brief)
    return shared_stub


@pytest.fixture
def server(shared_server: Server, stub: StubServer) -> Server:  # noqa: ARG001
    return shared_server


@pytest.fixture
def unmoved(server: Server, stub: StubServer) -> Iterator[Server]:
    """A server on which nothing may have happened when the test is over."""
    before = server.get(SESSIONS).json()
    yield server
    assert server.get(SESSIONS).json() == before
    assert stub.requests == []


def refusal(answered: httpx2.Response, status: int = 400) -> str:
    """The sentence with which a request was refused."""
    assert answered.status_code == status, answered.text
    assert answered.headers["content-type"] == "application/json"
    body = answered.json()
    assert list(body) == ["error"]
    assert isinstance(body["error"], str)
    assert body["error"]
    assert not THEIRS.search(body["error"]), body["error"]
    return str(body["error"])


def sent(
    server: Server, path: str, body: bytes | Iterator[bytes], kind: str | None = "application/json"
) -> httpx2.Response:
    """A body as it is; one that comes in pieces does not say its length."""
    headers = {} if kind is None else {b"content-type": kind.encode("latin-1")}
    return server.client.post(f"{server.url}{path}", content=body, headers=headers)


# -- what is asked ---------------------------------------------------------------------------------


def exchange(**more: Any) -> dict[str, Any]:
    return {"challengeText": "Sure?", "replyContent": "Yes.", "isReplyComplete": True, **more}


def response(persona: str = "the-coach", **more: Any) -> dict[str, Any]:
    return {
        "personaId": persona,
        "personaName": persona,
        "content": "Go.",
        "isComplete": True,
        "challenges": [],
        **more,
    }


def asked(path: str, **more: Any) -> dict[str, Any]:
    """A request that is in order but for what is given."""
    bodies: dict[str, dict[str, Any]] = {
        QUESTIONS: {"decision": DECISION},
        SESSION: {"decision": DECISION, "answers": [], "panel": "board", "mode": "independent"},
        CHALLENGE: {
            "personaId": "the-coach",
            "decision": DECISION,
            "answers": [],
            "initialResponse": "Not yet.",
            "priorChallenges": [],
            "challengeText": "Why not?",
        },
        BRIEF: {"decision": DECISION, "answers": [], "responses": [response()]},
    }
    return {**bodies[path], **more}


def answer(**more: Any) -> dict[str, Any]:
    return {"question": "Why?", "answer": "Because.", **more}


def text(length: int) -> str:
    """Of characters that are four bytes each and two units of UTF-16: neither is what a limit counts."""
    return "🦊" * length


POSTS = (QUESTIONS, SESSION, CHALLENGE, BRIEF)

# -- limits ----------------------------------------------------------------------------------------

Asking = Callable[[int], dict[str, Any]]

LIMITS: list[tuple[str, str, int, Asking]] = [
    *((path, "decision", 5_000, lambda n, path=path: asked(path, decision=text(n))) for path in POSTS),
    *(
        limit
        for path in (SESSION, CHALLENGE, BRIEF)
        for limit in (
            (path, "answers", 10, lambda n, path=path: asked(path, answers=[answer()] * n)),
            (path, "answers[0].answer", 1_000,
             lambda n, path=path: asked(path, answers=[answer(answer=text(n))])),
            (path, "answers[0].question", 1_000,
             lambda n, path=path: asked(path, answers=[answer(question=text(n))])),
        )
    ),
    (CHALLENGE, "challengeText", 2_000, lambda n: asked(CHALLENGE, challengeText=text(n))),
    (CHALLENGE, "initialResponse", 10_000, lambda n: asked(CHALLENGE, initialResponse=text(n))),
    (CHALLENGE, "priorChallenges", 10, lambda n: asked(CHALLENGE, priorChallenges=[exchange()] * n)),
    (CHALLENGE, "priorChallenges[0].challengeText", 2_000,
     lambda n: asked(CHALLENGE, priorChallenges=[exchange(challengeText=text(n))])),
    (CHALLENGE, "priorChallenges[0].replyContent", 10_000,
     lambda n: asked(CHALLENGE, priorChallenges=[exchange(replyContent=text(n))])),
    (BRIEF, "responses", 20, lambda n: asked(BRIEF, responses=[response(one) for one in TWENTY_ONE[:n]])),
    (BRIEF, "responses[0].content", 10_000, lambda n: asked(BRIEF, responses=[response(content=text(n))])),
    (BRIEF, "responses[0].challenges", 10,
     lambda n: asked(BRIEF, responses=[response(challenges=[exchange()] * n)])),
    (BRIEF, "responses[0].challenges[0].replyContent", 10_000,
     lambda n: asked(BRIEF, responses=[response(challenges=[exchange(replyContent=text(n))])])),
]  # fmt: skip

LIMIT_IDS = [f"{path.rsplit('/')[-1]}-{field}" for path, field, *_ in LIMITS]


@pytest.mark.parametrize(
    ("path", "field", "most", "asking"),
    LIMITS,
    ids=LIMIT_IDS,
)
def test_what_is_exactly_at_its_limit_passes(
    server: Server, path: str, field: str, most: int, asking: Asking
) -> None:
    answered = server.post(path, asking(most))
    assert answered.status_code == 200, (field, answered.text)


@pytest.mark.parametrize(("path", "field", "most", "asking"), LIMITS, ids=LIMIT_IDS)
def test_what_is_one_beyond_its_limit_is_refused(
    unmoved: Server, path: str, field: str, most: int, asking: Asking
) -> None:
    said = refusal(unmoved.post(path, asking(most + 1)))
    assert said.startswith(f"{field}: ")
    assert str(most) in said.replace(",", "")


# -- fields ----------------------------------------------------------------------------------------

WRONG: dict[type, tuple[Any, ...]] = {
    str: (None, 5, True, [], {}, ["x"]),
    list: (None, 5, True, "x", {}, [None], ["x"], [[]], [{}]),
}
FIELDS = [(path, field) for path in POSTS for field in asked(path)]
INNER = [
    (CHALLENGE, "priorChallenges", exchange(), "challengeText"),
    (CHALLENGE, "priorChallenges", exchange(), "replyContent"),
    (CHALLENGE, "answers", answer(), "answer"),
    (SESSION, "answers", answer(), "question"),
    (BRIEF, "responses", response(), "personaId"),
    (BRIEF, "responses", response(), "content"),
]


@pytest.mark.parametrize(("path", "field"), FIELDS)
def test_a_field_of_the_wrong_type_is_refused_by_name(unmoved: Server, path: str, field: str) -> None:
    for wrong in WRONG[type(asked(path)[field])]:
        assert refusal(unmoved.post(path, asked(path, **{field: wrong}))).startswith(field), wrong


@pytest.mark.parametrize(("path", "outer", "item", "field"), INNER)
def test_a_field_within_a_list_is_refused_by_its_place(
    unmoved: Server, path: str, outer: str, item: dict[str, Any], field: str
) -> None:
    missing = {name: value for name, value in item.items() if name != field}
    for bad in (missing, *({**item, field: wrong} for wrong in WRONG[str])):
        said = refusal(unmoved.post(path, asked(path, **{outer: [item, bad]})))
        assert said.startswith(f"{outer}[1].{field}: "), bad


OPTIONAL = {"answers", "panel", "mode"}


@pytest.mark.parametrize(("path", "field"), [one for one in FIELDS if one[1] not in OPTIONAL])
def test_a_missing_field_is_refused_by_name(unmoved: Server, path: str, field: str) -> None:
    body = asked(path)
    del body[field]
    assert refusal(unmoved.post(path, body)).startswith(f"{field}: ")


BLANK = ("", " ", "\n\t\r ", "\u00a0\u2003")
NEVER_BLANK = [
    *((path, "decision") for path in POSTS),
    (CHALLENGE, "challengeText"),
    (CHALLENGE, "initialResponse"),
]


@pytest.mark.parametrize(("path", "field"), NEVER_BLANK)
def test_a_blank_text_is_refused(unmoved: Server, path: str, field: str) -> None:
    for blank in BLANK:
        assert refusal(unmoved.post(path, asked(path, **{field: blank}))) == f"{field}: must not be empty."


TEXTS: list[tuple[str, str, Callable[[str], dict[str, Any]]]] = [
    *((path, "decision", lambda t, path=path: asked(path, decision=t)) for path in POSTS),
    (CHALLENGE, "challengeText", lambda t: asked(CHALLENGE, challengeText=t)),
    (CHALLENGE, "initialResponse", lambda t: asked(CHALLENGE, initialResponse=t)),
    (CHALLENGE, "personaId", lambda t: asked(CHALLENGE, personaId=t)),
    (CHALLENGE, "sessionId", lambda t: asked(CHALLENGE, sessionId=t)),
    (CHALLENGE, "priorChallenges[0].challengeText",
     lambda t: asked(CHALLENGE, priorChallenges=[exchange(challengeText=t)])),
    (CHALLENGE, "priorChallenges[0].replyContent",
     lambda t: asked(CHALLENGE, priorChallenges=[exchange(replyContent=t)])),
    (SESSION, "panel", lambda t: asked(SESSION, panel=t)),
    (SESSION, "mode", lambda t: asked(SESSION, mode=t)),
    (SESSION, "answers[0].answer", lambda t: asked(SESSION, answers=[answer(answer=t)])),
    (SESSION, "answers[0].question", lambda t: asked(SESSION, answers=[answer(question=t)])),
    (BRIEF, "responses[0].content", lambda t: asked(BRIEF, responses=[response(content=t)])),
    (BRIEF, "responses[0].personaName", lambda t: asked(BRIEF, responses=[response(personaName=t)])),
    (BRIEF, "responses[0].challenges[0].replyContent",
     lambda t: asked(BRIEF, responses=[response(challenges=[exchange(replyContent=t)])])),
]  # fmt: skip
texts = pytest.mark.parametrize(
    ("path", "field", "asking"), TEXTS, ids=[f"{path.rsplit('/')[-1]}-{field}" for path, field, _ in TEXTS]
)


@texts
def test_half_a_character_is_refused_by_name(
    unmoved: Server, path: str, field: str, asking: Callable[[str], dict[str, Any]]
) -> None:
    for half in ("\ud800", "go \udfff now", "\udc00\ud800"):
        # As an escape: the client would not send it otherwise.
        answered = sent(unmoved, path, json.dumps(asking(half)).encode("ascii"))
        assert refusal(answered).startswith(f"{field}: "), half


@pytest.mark.parametrize("path", POSTS)
def test_a_decision_of_control_characters_alone_is_empty(unmoved: Server, path: str) -> None:
    for nothing in ("\0", "\x1b\x07\u202e"):
        assert refusal(unmoved.post(path, asked(path, decision=nothing))).startswith("decision: ")


def test_names_that_nobody_bears_are_refused(unmoved: Server) -> None:
    stranger = "the-stranger"
    assert refusal(unmoved.post(CHALLENGE, asked(CHALLENGE, personaId=stranger))).startswith("personaId: ")
    strangers = [response(), response(stranger)]
    assert refusal(unmoved.post(BRIEF, asked(BRIEF, responses=strangers))).startswith("personaId: ")
    said = refusal(unmoved.post(SESSION, asked(SESSION, panel="parliament")))
    assert said.startswith("panel: ")
    assert "board" in said, "it says which there are"
    assert refusal(unmoved.get("/api/board/personas?panel=parliament")).startswith("panel: ")
    for mode in ("all-at-once", "", "INDEPENDENT", "independent "):
        assert refusal(unmoved.post(SESSION, asked(SESSION, mode=mode))).startswith("mode: ")


def test_an_advisor_who_responded_twice_is_refused(unmoved: Server) -> None:
    twice = [response(), response("the-analyst"), response()]
    assert refusal(unmoved.post(BRIEF, asked(BRIEF, responses=twice))).startswith("responses: ")


def test_a_brief_about_nothing_is_refused(unmoved: Server) -> None:
    nothing: tuple[list[dict[str, Any]], ...]
    nothing = ([], [response(isComplete=False)], [response(content="")], [response(content=" \n")])
    for responses in nothing:
        assert refusal(unmoved.post(BRIEF, asked(BRIEF, responses=responses))).startswith("responses: ")


def test_a_reply_that_broke_off_is_not_retold(server: Server, stub: StubServer) -> None:
    broken = exchange(challengeText="Broken off?", replyContent="I was ab", isReplyComplete=False)
    silent = exchange(challengeText="Silent?", replyContent=" ")
    body = asked(CHALLENGE, priorChallenges=[broken, exchange(), silent])
    assert server.post(CHALLENGE, body).status_code == 200
    said = [one["content"] for one in stub.requests[0].messages if one["role"] != "system"]
    assert said[1:] == ["Not yet.", "Sure?", "Yes.", "Why not?"]


# -- bodies ----------------------------------------------------------------------------------------

BODIES: dict[str, bytes] = {
    "none": b"",
    "blank": b" \n ",
    "broken": b'{"decision": "x"',
    "two": b'{"decision": "x"} {"decision": "x"}',
    "single-quoted": b"{'decision': 'x'}",
    "array": b'[{"decision": "x"}]',
    "string": b'"decision"',
    "number": b"42",
    "infinite": b"Infinity",
    "endless-number": b"1" * 10_000,
    "null": b"null",
    "true": b"true",
    "latin-1": b'{"decision": "caf\xe9"}',
    "overlong": b'{"decision": "\xc0\x80"}',
    "half-a-character": b'{"decision": "\xed\xa0\x80"}',
    "bytes": bytes(range(256)),
    "nested-1000": b"[" * 1_000 + b"]" * 1_000,
    "nested-100000": b"[" * 100_000 + b"]" * 100_000,
    "nested-in-a-field": b'{"decision":' * 50_000 + b"1" + b"}" * 50_000,
    "never-closed": b"[" * 100_000,
}


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_json_object_is_refused(unmoved: Server, path: str, body: bytes) -> None:
    told = refusal(sent(unmoved, path, body))
    # Each names the body or a field of it: FastAPI has words of its own for what ends its parser.
    assert told.startswith("The body ") or ": " in told, told


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/json",
        "json",
        ";",
        "\xff",
        None,
    ],
)
def test_json_under_another_content_type_is_refused(unmoved: Server, path: str, kind: str | None) -> None:
    # These are what a form on another site can post without asking first.
    body = json.dumps(asked(path)).encode()
    assert "application/json" in refusal(sent(unmoved, path, body, kind))


@pytest.mark.parametrize("path", POSTS)
def test_a_body_beyond_the_limit_is_refused_whether_or_not_it_says_its_length(
    unmoved: Server, path: str
) -> None:
    most = 16 << 20 if path in (QUESTIONS, SESSION) else 1 << 20
    body = json.dumps(asked(path, more="x" * (most + (1 << 20)))).encode()
    chunks = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
    for content in (body, chunks):
        answered = sent(unmoved, path, content)
        assert refusal(answered, 413) == f"The body is larger than {most:,} bytes."
        assert answered.headers["connection"] == "close", "so that nobody uses a connection that is given up"


@pytest.mark.parametrize(("path", "most"), [(QUESTIONS, 16 << 20), (CHALLENGE, 1 << 20)])
def test_a_body_of_exactly_the_limit_passes(server: Server, path: str, most: int) -> None:
    frame = asked(path, more="")
    body = json.dumps({**frame, "more": "x" * (most - len(json.dumps(frame)))}).encode()
    assert len(body) == most
    for content in (body, iter([body])):
        answered = sent(server, path, content)
        assert answered.status_code == 200, answered.text


# -- sessions --------------------------------------------------------------------------------------


@pytest.fixture
def session_id(server: Server, stub: StubServer) -> str:
    """A session in which the coach could not speak."""
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    made: str = server.session()[0]["sessionId"]
    stub.reset()
    return made


STRANGE_IDS = [
    "no-such-session",
    "x" * 64,
    "%25",
    "_",
    "..%2f..%2fetc",
    "%ed%a0%80",
    "x" * 5_000,
    "🦊",
]


@pytest.mark.parametrize("strange", STRANGE_IDS, ids=range(len(STRANGE_IDS)))
def test_a_session_that_does_not_exist_is_not_found(session_id: str, unmoved: Server, strange: str) -> None:
    for found in (strange, session_id[:6]):
        path = f"{SESSIONS}/{found}"
        refusal(unmoved.get(path), 404)
        refusal(unmoved.get(f"{path}/events"), 404)
        refusal(unmoved.get(f"{path}/export"), 404)
        refusal(unmoved.client.delete(f"{unmoved.url}{path}"), 404)
        refusal(unmoved.post(f"{path}/retry", {"personaId": "the-coach"}), 404)


def test_a_challenge_or_a_brief_for_a_session_that_does_not_exist_is_not_found(unmoved: Server) -> None:
    for path in (CHALLENGE, BRIEF):
        said = refusal(unmoved.post(path, asked(path, sessionId="no-such-session")), 404)
        assert "no-such-session" in said


def test_only_an_advisor_who_has_spoken_in_the_session_can_be_challenged(
    session_id: str, unmoved: Server
) -> None:
    for nobody in ("advisor-00", "the-stranger", "the-coach"):
        asking = asked(CHALLENGE, sessionId=session_id, personaId=nobody)
        assert refusal(unmoved.post(CHALLENGE, asking)).startswith("personaId: ")


def test_only_an_advisor_who_failed_can_be_retried(session_id: str, unmoved: Server) -> None:
    path = f"{SESSIONS}/{session_id}/retry"
    refusal(unmoved.post(path, {"personaId": "the-analyst"}), 409)
    assert refusal(unmoved.post(path, {"personaId": "the-stranger"})).startswith("personaId: ")
    assert refusal(unmoved.post(path, {"personaId": ""})).startswith("personaId: ")
    refusal(unmoved.post(path))


def test_an_id_with_a_nul_is_refused(unmoved: Server) -> None:
    for path in ("%00", "x%00", "%00/events", "x%00/export"):
        assert refusal(unmoved.get(f"{SESSIONS}/{path}")) == "session_id: must not contain NUL characters."


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 30, "2147483648", ""])
def test_a_position_that_is_no_number_of_an_event_is_refused(
    session_id: str, unmoved: Server, number: str
) -> None:
    path = f"{SESSIONS}/{session_id}/events"
    assert refusal(unmoved.get(f"{path}?after={number}")).startswith("after: ")
    assert refusal(unmoved.get(path, headers={"Last-Event-ID": number})).startswith("last-event-id: ")


def test_a_position_beyond_the_last_event_has_nothing_more(session_id: str, server: Server) -> None:
    with server.streaming("GET", f"{SESSIONS}/{session_id}/events?after=2147483647") as events:
        assert [one["type"] for one in events] == ["idle"]


def test_a_format_that_there_is_not_is_refused(session_id: str, unmoved: Server) -> None:
    for other in ("pdf", "", "../md", "HTML"):
        said = refusal(unmoved.get(f"{SESSIONS}/{session_id}/export", params={"format": other}))
        assert said.startswith("format: ")


# -- what models say -------------------------------------------------------------------------------

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) \"'&"


def test_what_a_model_says_never_becomes_markup_in_an_export(server: Server, stub: StubServer) -> None:
    a_board(stub, words=HOSTILE)
    session_id = server.session(decision=f"Ship {HOSTILE}?")[0]["sessionId"]
    exported = server.get(f"{SESSIONS}/{session_id}/export?format=html").text
    assert exported.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 9
    for markup in ("<script", "<img", "<a ", "href=", "<iframe"):
        assert markup not in exported.lower()
