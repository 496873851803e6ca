"""What the two decoders make of replies that servers should not send."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.errors import ProviderFailed, StreamBroken
from moot.llm import anthropic, openai
from moot.llm.messages import UserSaid, deaf
from moot.llm.protocol import Call, Turn
from moot.llm.sse import EventReader

CALL = Call("m", "", (UserSaid("?"),), 16)


def openai_turn(*chunks: Any) -> Turn:
    decoder = openai.Decoder(CALL, deaf)
    for chunk in chunks:
        decoder.take(chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode())
    return decoder.turn()


def said(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize("reason", ["error", "abort", "something-new"])
def test_only_a_known_end_is_an_end(reason: str) -> None:
    with pytest.raises(StreamBroken, match=reason):
        openai_turn(said("half a sen"), said("", reason))
    decoder = anthropic.Decoder(CALL, deaf)
    decoder.take(json.dumps({"type": "message_delta", "delta": {"stop_reason": reason}}).encode())
    decoder.take(b'{"type": "message_stop"}')
    with pytest.raises(StreamBroken, match=reason):
        decoder.turn()


def test_a_paused_turn_is_not_a_whole_one() -> None:
    decoder = anthropic.Decoder(CALL, deaf)
    decoder.take(b'{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}')
    decoder.take(b'{"type": "message_stop"}')
    with pytest.raises(StreamBroken, match="pause_turn"):
        decoder.turn()


def test_two_calls_with_one_index_are_two_calls() -> None:
    def call(identity: str, arguments: str) -> dict[str, Any]:
        function = {"name": "read_file", "arguments": arguments}
        return {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": identity, "function": function}]}}]}

    turn = openai_turn(call("a", '{"x":1}'), call("b", '{"x":2}'), said("", "tool_calls"))
    assert [(c.id, c.arguments) for c in turn.tool_calls] == [("a", '{"x":1}'), ("b", '{"x":2}')]


def test_calls_without_an_id_get_one() -> None:
    function = {"name": "read_file", "arguments": "{}"}
    turn = openai_turn(
        {"choices": [{"delta": {"tool_calls": [{"function": function}]}, "finish_reason": "stop"}]}
    )
    assert turn.tool_calls[0].id
    assert turn.stop == "tools"


@pytest.mark.parametrize("decoder", [anthropic.Decoder, openai.Decoder])
@given(data=st.one_of(st.binary(max_size=40), st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "delta", "choices", "usage", "error", "content_block"]), inner, max_size=3
    ),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_no_event_ever_raises_anything_but_a_provider_failure(decoder: Any, data: bytes) -> None:
    with contextlib.suppress(ProviderFailed):
        decoder(CALL, deaf).take(data)


EVENTS = [b"one", b'{"two": "\xc3\xbc"}', b"three\nlines\nhere", b"", b"four"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(EVENTS[:2] + EVENTS[4:]),
            st.lists(st.sampled_from([b": comment", b"event: x", b""]), max_size=3),
        ),
        max_size=6,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_events_come_out_whole_however_the_bytes_are_cut(
    told: list[tuple[bytes, list[bytes]]], line_end: bytes, data: st.DataObject
) -> None:
    events = [event for event, _ in told]
    stream = b"".join(
        b"".join(line + line_end for line in before) + b"data: " + event + line_end * 2
        for event, before in told
    )
    # A lone CR at the very end might be half of a CRLF, so one more line shows that it was not.
    stream += b": end" + line_end + b": really" + line_end
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = EventReader()
    seen: list[bytes] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        seen.extend(reader.feed(stream[begin:end]))
    assert seen == events


def test_data_of_several_lines_is_one_event() -> None:
    assert list(EventReader().feed(b"data: a\ndata:b\n\n")) == [b"a\nb"]
