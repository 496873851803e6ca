"""What /openapi.json says is what the server does: no other status, no other content type, no failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.definitions import OPENAPI_32_VALIDATOR

from moot.app import Moot
from moot.web.app import create_app
from tests.stub.script import Behaviour
from tests.stub.server import StubServer, running_stub
from tests.support.server import BRIEF, Server, a_board, serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

PANEL = "---\nid: board\nname: The Board\nmembers: [the-coach]\n---\n\nA small one.\n"

DOCUMENT: dict[str, Any] = create_app(cast("Moot", None)).openapi()
"""Needed before there is a server: each operation is a test of its own."""


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        a_board(stub)
        # Of any number of advisors, so no two of them are at odds.
        brief = Behaviour(json_text=json.dumps({**BRIEF, "tensions": []}))
        stub.on(lambda asked: "consensus" in (asked.schema or {}).get("properties", {}), brief)
        yield stub


@pytest.fixture(scope="module")
def server(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    panels = folder / "moot" / "panels"
    panels.mkdir(parents=True)
    # One advisor, because every session that is begun here is heard to its end.
    (panels / "board.md").write_text(PANEL, encoding="utf-8")
    with serving(folder, stub, "--grace", "0") as server:
        yield server


@pytest.fixture(scope="module")
def session_id(server: Server) -> str:
    made: str = server.session()[0]["sessionId"]
    return made


Operation = schemathesis.APIOperation[Any, Any, Any, Any]
OPERATIONS: list[Operation] = [
    found.ok()  # type: ignore[union-attr]
    for found in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()
]
TAKING = [one for one in OPERATIONS if one.body or one.query or one.headers]

bounded = settings(
    max_examples=6,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
@bounded
@given(data=st.data())
def test_what_is_in_order_is_answered_as_the_document_says(
    operation: Operation, server: Server, session_id: str, data: st.DataObject
) -> None:
    case = data.draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    if "session_id" in case.path_parameters and case.method != "DELETE":
        case.path_parameters["session_id"] = session_id
    case.call_and_validate(base_url=server.url, checks=CHECKS)


@pytest.mark.parametrize("operation", TAKING, ids=lambda one: one.label)
@bounded
@given(data=st.data())
def test_what_is_not_in_order_is_answered_as_the_document_says(
    operation: Operation, server: Server, data: st.DataObject
) -> None:
    case = data.draw(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    case.call_and_validate(base_url=server.url, checks=CHECKS)


def test_the_document_is_the_served_one_and_knows_no_422(server: Server) -> None:
    assert server.get("/openapi.json").json() == json.loads(json.dumps(DOCUMENT))
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            assert "422" not in operation["responses"]
    assert "HTTPValidationError" not in json.dumps(DOCUMENT)


def test_the_document_is_valid_openapi() -> None:
    assert DOCUMENT["openapi"] == "3.2.0"
    OPENAPI_32_VALIDATOR.validate(DOCUMENT)


@pytest.mark.parametrize(
    ("path", "method", "union"),
    [
        ("/api/board/session", "post", "SessionEvent"),
        ("/api/board/sessions/{session_id}/events", "get", "SessionEvent"),
        ("/api/board/challenge", "post", "ChallengeEvent"),
    ],
)
def test_a_stream_says_what_the_data_of_its_events_is(path: str, method: str, union: str) -> None:
    content = DOCUMENT["paths"][path][method]["responses"]["200"]["content"]
    (described,) = content.values()
    assert list(content) == ["text/event-stream"]
    data = described["itemSchema"]["properties"]["data"]
    assert data["contentMediaType"] == "application/json"
    assert data["contentSchema"] == {"$ref": f"#/components/schemas/{union}"}
