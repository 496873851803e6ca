"""How the stub fails on purpose, driven by the two real SDKs."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.stub_tests.clients import PARTIAL, WIRES, hear, hear_until, shape_params


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_cut_drops_the_connection_in_the_middle(stub: StubServer, wire: str, reset: bool) -> None:
    stub.script(Behaviour(text="One two three", cut_after=2, reset=reset, pace=200))
    heard, error = hear_until(stub, wire, Exception)
    assert type(error).__name__ in ("RemoteProtocolError", "ReadError", "APIConnectionError")
    arrived = PARTIAL[: len(heard.pieces)] if reset else PARTIAL
    assert (heard.pieces, heard.stop) == (arrived, None)
    stub.wait(lambda s: (s.faulted, s.open_streams, s.clients_left) == (1, 0, 0))


@pytest.mark.parametrize("wire", WIRES)
def test_a_truncated_reply_ends_without_its_end(stub: StubServer, wire: str) -> None:
    stub.script(
        Behaviour(text="One two three", truncate_after=2), Behaviour(text="One two", truncate_after=99)
    )
    for _ in range(2):
        heard = hear(stub, wire)
        assert (heard.pieces, heard.stop, heard.output_tokens) == (PARTIAL, None, None)
    stub.wait(lambda s: (s.faulted, s.completed) == (2, 0))


@pytest.mark.parametrize(
    ("wire", "error"), [("anthropic", anthropic.APIStatusError), ("openai", openai.APIError)]
)
def test_an_error_event_follows_the_words(stub: StubServer, wire: str, error: type[Exception]) -> None:
    stub.script(Behaviour(text="One two three", error_event_after=2, error_message="Too many cooks"))
    heard, raised = hear_until(stub, wire, error)
    assert heard.pieces == PARTIAL
    assert "Too many cooks" in str(raised)


def test_anthropics_error_event_is_overloaded_by_default(stub: StubServer) -> None:
    stub.script(Behaviour(error_event_after=0))
    _, raised = hear_until(stub, "anthropic", anthropic.APIStatusError)
    assert "overloaded_error" in str(raised)


@pytest.mark.parametrize("wire", WIRES)
def test_garbage_is_a_data_line_that_does_not_parse(stub: StubServer, wire: str) -> None:
    stub.script(Behaviour(text="One two three", garbage_after=2))
    heard, _ = hear_until(stub, wire, json.JSONDecodeError)
    assert heard.pieces == PARTIAL


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (409, "ConflictError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ],
)
def test_each_status_is_the_sdks_own_error(stub: StubServer, wire: str, status: int, error: str) -> None:
    stub.script(Behaviour(status=status, retry_after=1.5, error_message="No."))
    base: type[Any] = {"anthropic": anthropic.APIStatusError, "openai": openai.APIStatusError}[wire]
    _, raised = hear_until(stub, wire, base)
    assert type(raised).__name__ == error
    assert "No." in str(raised)
    assert isinstance(raised, (anthropic.APIStatusError, openai.APIStatusError))
    assert raised.response.headers["retry-after"] == "1.5"


@pytest.mark.parametrize("status", [408, 413, 502, 503, 529])
def test_rarer_statuses_are_sent_with_a_typed_body(stub: StubServer, status: int) -> None:
    kinds = {408: "timeout_error", 413: "request_too_large", 529: "overloaded_error"}
    stub.script(Behaviour(status=status))
    _, raised = hear_until(stub, "anthropic", anthropic.APIStatusError)
    assert isinstance(raised, anthropic.APIStatusError)
    assert (raised.status_code, raised.type) == (status, kinds.get(status, "api_error"))


def test_an_error_may_have_a_proxys_body(stub: StubServer) -> None:
    stub.script(Behaviour(status=502, error_body="<html>Bad Gateway</html>"))
    _, raised = hear_until(stub, "anthropic", anthropic.InternalServerError)
    assert "<html>" in str(raised)


@pytest.mark.parametrize(
    ("wire", "param", "sent", "wording"),
    [
        (
            "anthropic",
            "temperature",
            {"extra_body": {"temperature": 0.4}},
            "`temperature` is deprecated for this model.",
        ),
        (
            "anthropic",
            "output_config",
            shape_params("anthropic"),
            "output_config: Extra inputs are not permitted",
        ),
        (
            "anthropic",
            "output_config.format",
            shape_params("anthropic"),
            "'m' does not support output format.",
        ),
        (
            "openai",
            "temperature",
            {"temperature": 0.4},
            "'temperature' does not support 0.4 with this model.",
        ),
        ("openai", "max_tokens", {"max_tokens": 5}, "Use 'max_completion_tokens' instead."),
        (
            "openai",
            "max_completion_tokens",
            {"max_completion_tokens": 5},
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        ("openai", "response_format", shape_params("openai"), "'response_format' of type 'json_schema'"),
        ("openai", "stream_options", {}, "Unrecognized request argument supplied: stream_options"),
    ],
)
def test_a_rejected_parameter_is_refused_only_where_it_is_sent(
    stub: StubServer, wire: str, param: str, sent: dict[str, Any], wording: str
) -> None:
    stub.default = Behaviour(text="Fine.", reject_params=(param,))
    base: type[Any] = {"anthropic": anthropic.BadRequestError, "openai": openai.BadRequestError}[wire]
    _, raised = hear_until(stub, wire, base, **sent)
    assert wording in str(raised)
    without = {"stream_options": openai.omit} if param == "stream_options" else {}
    assert hear(stub, wire, **without).text == "Fine."
