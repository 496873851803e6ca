"""Server-sent events out of a byte stream that may be split anywhere, in the middle of a character too.

Knows framing alone: lines, blank lines, `data:`. What the data means is for a wire module to say.
"""

from __future__ import annotations

from collections.abc import Iterator


class EventReader:
    """Feed it chunks; it yields the data of each event that has become whole."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of every event that ends in this chunk."""
        buffered = self._rest + chunk if self._rest else chunk
        if b"\r" in buffered:
            # A lone CR ends a line too, but one at the very end may be half of a CRLF: it waits.
            held = b"\r" if buffered.endswith(b"\r") else b""
            if held:
                buffered = buffered[:-1]
            buffered = buffered.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        *lines, self._rest = buffered.split(b"\n")
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line and data:
                yield data[0] if len(data) == 1 else b"\n".join(data)
                data.clear()
