"""Server-sent events on the way out: `id:` and `data:` lines, nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from starlette.responses import StreamingResponse


def event(payload: Any) -> bytes:
    return b"data: " + msgspec.json.encode(payload) + b"\n\n"


def numbered(frames: Sequence[Any]) -> bytes:
    """Frames of a session, which are JSON already."""
    return b"".join(b"id: %d\ndata: %b\n\n" % (frame.seq, frame.body) for frame in frames)


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        # No proxy may gather or keep what is said as it is said.
        super().__init__(chunks, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
