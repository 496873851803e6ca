"""Server-sent events out of a byte stream that may be split anywhere, in the middle of a character too.

Knows framing alone: lines, blank lines, `data:`. What the data means is for a wire module to say.
"""

from __future__ import annotations


class EventReader:
    """Feed it chunks; it tells the data of each event that has become whole."""

    __slots__ = ("_pieces", "_rest", "held")

    def __init__(self) -> None:
        self._rest = b""
        self._pieces: list[bytes] = []
        self.held = 0
        """How many bytes wait for the end of their event."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event that ends in this chunk."""
        if self.held and b"\n" not in chunk and b"\r" not in chunk:
            # Nothing ends here. Joined only once something does: a long line may come in many pieces.
            self._pieces.append(chunk)
            self.held += len(chunk)
            return []
        buffered = self._rest + chunk if self._rest else chunk
        if self._pieces:
            buffered = b"".join((self._rest, *self._pieces, chunk))
            self._pieces.clear()
        if b"\r" in buffered:
            # A lone CR ends a line too, but one at the very end may be half of a CRLF: it waits.
            held = b"\r" if buffered.endswith(b"\r") else b""
            if held:
                buffered = buffered[:-1]
            buffered = buffered.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        if buffered.startswith(b"data: ") and buffered.endswith(b"\n\n"):
            data = buffered[6:-2].split(b"\n\ndata: ")
            if buffered.count(b"\n") == 2 * len(data):
                # Whole events of one line each, as most are: cut in one go.
                self._rest, self.held = b"", 0
                return data
        *events, self._rest = buffered.split(b"\n\n")
        self.held = len(self._rest)
        found: list[bytes] = []
        for event in events:
            if event.startswith(b"data: ") and b"\n" not in event:
                found.append(event[6:])
            else:
                found.extend(_data(event))
        return found


def _data(event: bytes) -> list[bytes]:
    """What the data lines of an event say, as one; nothing where it has none."""
    data = [
        line[6:] if line.startswith(b"data: ") else line[5:]
        for line in event.split(b"\n")
        if line.startswith(b"data:")
    ]
    return [b"\n".join(data)] if data else []
