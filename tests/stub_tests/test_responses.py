"""The stub's Responses API, and what else the real clients ask for, driven by the real SDKs."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import openai
import pytest
from openai.types.responses import Response

from tests.stub.script import Behaviour, Spent
from tests.stub.server import StubServer
from tests.stub_tests.clients import anthropic_client, openai_client

LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
SPACE = {"type": "namespace", "name": "mcp__sky", "description": "The sky's.", "tools": [LOOK]}


def respond(stub: StubServer, **params: Any) -> tuple[list[str], list[str], Response]:
    """The kinds of the events in order, the pieces of text, and the response at the end."""

    async def ask() -> tuple[list[str], list[str], Response]:
        kinds: list[str] = []
        pieces: list[str] = []
        async with openai_client(stub) as client:
            stream: Any = await client.responses.create(
                model="m", instructions="Be brief.", input="Why so?", stream=True, **params
            )
            async for event in stream:
                kinds.append(event.type)
                if event.type == "response.output_text.delta":
                    pieces.append(event.delta)
            return kinds, pieces, event.response

    return asyncio.run(ask())


def test_a_stream_brings_each_word_and_then_the_whole_response(stub: StubServer) -> None:
    stub.script(Behaviour(text="It rains.", usage=Spent(40, 2, cache_read_tokens=30)))
    kinds, pieces, response = respond(stub)
    assert kinds == [
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_item.done",
        "response.completed",
    ]
    assert pieces == ["It", " rains."]
    assert response.output_text == "It rains."
    assert response.status == "completed"
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == 30
    assert (response.usage.input_tokens, response.usage.output_tokens) == (40, 2)
    (request,) = stub.requests
    assert (request.wire, request.system, request.model) == ("responses", "Be brief.", "m")
    assert "Why so?" in request.said


def test_a_response_without_a_stream_is_the_same(stub: StubServer) -> None:
    stub.script(Behaviour(thinking="Rain?", text="It rains."))

    async def ask() -> Response:
        async with openai_client(stub) as client:
            return await client.responses.create(model="m", input="Why so?")

    response = asyncio.run(ask())
    assert response.output_text == "It rains."
    assert [item.type for item in response.output] == ["reasoning", "message"]


def test_a_tool_in_a_namespace_is_known_and_called_by_both_names(stub: StubServer) -> None:
    stub.script(Behaviour(tool_calls=(("mcp__sky__look", {"at": "clouds"}), ("look", {}))))
    _, _, response = respond(stub, tools=[LOOK, SPACE])
    calls: list[Any] = list(response.output)
    assert stub.requests[0].tools == ("look", "mcp__sky__look")
    assert [(call.type, call.name, call.arguments) for call in calls] == [
        ("function_call", "look", '{"at": "clouds"}'),
        ("function_call", "look", "{}"),
    ]
    assert calls[0].namespace == "mcp__sky"
    assert calls[1].namespace is None
    assert calls[0].call_id != calls[1].call_id


def test_a_response_at_its_limit_is_incomplete(stub: StubServer) -> None:
    stub.script(Behaviour(text="It", stop="limit"))
    kinds, _, response = respond(stub)
    assert kinds[-1] == "response.incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


def test_an_error_event_ends_the_response(stub: StubServer) -> None:
    stub.script(Behaviour(text="It rains.", error_event_after=1))
    kinds, pieces, response = respond(stub)
    assert (kinds[-1], pieces, response.status) == ("response.failed", ["It"], "failed")


def test_a_scripted_status_is_the_sdks_own_exception(stub: StubServer) -> None:
    stub.script(Behaviour(status=401))
    with pytest.raises(openai.AuthenticationError):
        respond(stub)


def test_developer_messages_are_part_of_the_system_prompt(stub: StubServer) -> None:
    said = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why so?"}]},
    ]

    async def ask() -> None:
        async with openai_client(stub) as client:
            given: Any = said
            await client.responses.create(model="m", instructions="Be brief.", input=given)

    asyncio.run(ask())
    assert stub.requests[0].system == "Be brief.\nBe kind."
    assert stub.requests[0].messages == (said[1],)


def test_tokens_are_counted_without_being_a_request(stub: StubServer) -> None:
    async def count() -> int:
        async with anthropic_client(stub) as client:
            counted = await client.messages.count_tokens(
                model="m", system="Be brief.", messages=[{"role": "user", "content": "Why so?"}]
            )
        return counted.input_tokens

    assert asyncio.run(count()) == 4
    assert stub.requests == []
    assert stub.probes == ["/v1/messages/count_tokens"]


@pytest.mark.parametrize("method", ["HEAD", "GET", "POST", "DELETE"])
def test_an_unknown_address_is_remembered_whatever_the_method(stub: StubServer, method: str) -> None:
    async def ask() -> int:
        async with aiohttp.ClientSession() as session, session.request(method, f"{stub.url}/else") as answer:
            return answer.status

    assert asyncio.run(ask()) == 404
    assert stub.probes == ["/else"]
