"""Images: on both wires as each has them, and left out aloud where the model takes none."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from moot.llm.context import fit, needed_tokens, shared_texts
from moot.llm.eyesight import takes_images
from moot.llm.messages import Image, ModelSaid, Request, Source, UserSaid, Weight
from moot.llm.metering import IMAGE_TOKENS
from moot.llm.names import parse
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.hostile_files import png
from tests.support.providers import WIRES, Wire, run, talking

PIXELS = png()
CODED = base64.b64encode(PIXELS).decode()


def picture(number: str, weight: Weight = Weight.DEPENDED_ON) -> Source:
    return Source(f"{number} (a.png)", f"<{number}/>", weight, Image(number, "image/png", PIXELS))


REQUEST = Request(
    "You are terse.",
    (UserSaid("Say it.", (picture("E2"),)),),
    100,
    shared=((Source("rules", "Rules.", Weight.NEEDED), picture("E1")),),
)
UNSEEN = tuple(f"{number} (a.png), which is an image: openai:m takes none" for number in ("E1", "E2"))


def test_what_all_requests_begin_with_has_its_images_in_the_first_message() -> None:
    fitted = fit(REQUEST, needed_tokens(REQUEST), "openai:m")
    assert fitted.left_out == ()
    assert shared_texts(fitted.request) == ("Rules.\n\n<E1/>",)
    [message] = fitted.request.messages
    assert isinstance(message, UserSaid)
    assert [image.name for image in message.images] == ["E1", "E2"]
    assert message.text == "<E2/>\n\nSay it."


def test_of_several_messages_each_keeps_its_own() -> None:
    later = UserSaid("And?", (picture("E3"),))
    request = replace(REQUEST, messages=(*REQUEST.messages, ModelSaid("No."), later), history=2)
    first, _, last = fit(request, needed_tokens(request), "m").request.messages
    assert isinstance(first, UserSaid)
    assert isinstance(last, UserSaid)
    assert [[image.name for image in one.images] for one in (first, last)] == [["E1", "E2"], ["E3"]]


def test_an_image_takes_room_and_goes_like_any_source() -> None:
    texts = replace(REQUEST, messages=(UserSaid("Say it."),), shared=(REQUEST.shared[0][:1],))
    assert needed_tokens(REQUEST) - needed_tokens(texts) in range(2 * IMAGE_TOKENS, 2 * IMAGE_TOKENS + 10)
    fitted = fit(REQUEST, needed_tokens(REQUEST) - 1, "openai:m")
    assert fitted.left_out == ("E1 (a.png)",)
    [message] = fitted.request.messages
    assert isinstance(message, UserSaid)
    assert [image.name for image in message.images] == ["E2"]


def test_who_takes_none_is_told_which_and_so_is_the_person() -> None:
    fitted = fit(REQUEST, 1_000_000, "openai:m", sees=False)
    assert fitted.left_out == UNSEEN
    [message] = fitted.request.messages
    assert isinstance(message, UserSaid)
    assert message.images == ()
    assert "<E1/>" not in shared_texts(fitted.request)[0]
    assert "<E2/>" not in message.text
    assert all(f"- {name}" in message.text for name in UNSEEN)


def test_what_cannot_be_seen_is_said_beside_what_does_not_fit() -> None:
    request = replace(REQUEST, messages=(UserSaid("Say it.", (Source("old", "x" * 900), picture("E2"))),))
    everything = fit(request, 1_000_000, "openai:m", sees=False).request
    fitted = fit(request, needed_tokens(everything) - 1, "openai:m", sees=False)
    assert fitted.left_out == (*UNSEEN, "old")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("sees", [True, False])
def test_each_wire_has_them_in_its_own_form(stub: StubServer, wire: Wire, sees: bool) -> None:
    stub.default = Behaviour(text="A square.")

    async def ask() -> Any:
        async with talking(wire, stub, sees=sees) as talk:
            return await talk.stream(REQUEST)

    reply = run(ask)
    [request] = stub.requests
    assert reply.text == "A square."
    if not sees:
        assert [name.partition(",")[0] for name in reply.left_out] == ["E1 (a.png)", "E2 (a.png)"]
        assert CODED not in str(request.body)
        return
    assert reply.left_out == ()
    (name_1, shown_1), (name_2, shown_2), asked = _content(request)
    assert (name_1["text"], name_2["text"]) == ("E1:", "E2:")
    expected: dict[Wire, dict[str, Any]] = {
        "anthropic": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": CODED},
        },
        "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODED}"}},
    }
    assert shown_1 == shown_2 == expected[wire]
    assert asked == {"type": "text", "text": "<E2/>\n\nSay it."}


def _content(request: Recorded) -> tuple[Any, Any, Any]:
    first, shown, second, shown_too, asked = request.messages[-1]["content"]
    return (first, shown), (second, shown_too), asked


@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-sonnet-5-5",
        "anthropic:claude-3-5-haiku-20241022",
        "openai:gpt-5.6",
        "openai:gpt-4o-mini",
        "openai:gpt-4-turbo",
        "openai:o3",
        "openai:chatgpt-4o-latest",
        "ollama:gemma3:12b",
        "ollama:llama3.2-vision",
        "ollama:qwen2.5vl:7b",
        "ollama:qwen3-vl",
        "http://h/v1#anthropic/claude-opus-4.6",
        "http://h/v1#meta-llama/Llama-4-Scout",
    ],
)
def test_these_take_images(model: str) -> None:
    assert takes_images(parse(model))
    assert not takes_images(parse(model), own=False)


@pytest.mark.parametrize(
    "model",
    [
        "local",
        "anthropic:claude-2.1",
        "anthropic:claude-instant-1",
        "openai:gpt-3.5-turbo",
        "openai:gpt-4",
        "openai:gpt-4-0613",
        "openai:o3-mini",
        "openai:gpt-oss-120b",
        "openai:gpt-4o-audio-preview",
        "ollama:qwen3:4b",
        "ollama:gemma3:1b",
        "ollama:llama3.2",
        "http://h/v1#some-model",
    ],
)
def test_these_take_none_unless_the_user_says_so_of_a_server(model: str) -> None:
    assert not takes_images(parse(model))
    assert takes_images(parse(model), own=True) is (model != "local")
