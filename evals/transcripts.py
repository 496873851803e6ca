"""What models said in one case of an evaluation, as a file: small enough to be read, and to be kept.

Knows replies and the bill. Refuses to know what is right about them: see each evaluation's `score`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from moot.errors import FileDamaged

_NOT_WORDS = frozenset({"type", "persona", "id", "step", "status", "level"})
"""Fields whose text names something for the program."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One whole reply. `kind` is the event that it became, such as AdvisorSpoke; `during` is what the case
    calls the moment; `value` is the reply as it was typed, or its `text`; `looked_at` is what the model has
    read by itself."""

    kind: str
    value: dict[str, Any]
    during: str = ""
    by: str = ""
    looked_at: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that it says, in order, a line for each field."""
        return "\n".join(texts(self.value))


class Bill(msgspec.Struct, frozen=True, omit_defaults=True):
    """`unpriced` requests have no known price, so that the sum is too low."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0
    unpriced: int = 0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )


class Transcript(msgspec.Struct, frozen=True, omit_defaults=True):
    """`model` is empty where a person wrote the replies; `failed` says why the session did not get to its
    end."""

    evaluation: str
    case: str
    replies: tuple[Reply, ...]
    model: str = ""
    date: str = ""
    bill: Bill = Bill()
    failed: str = ""

    def during(self, moment: str) -> tuple[Reply, ...]:
        return tuple(reply for reply in self.replies if reply.during == moment)


def texts(value: Any) -> Iterator[str]:
    """Every text that somebody would read."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key not in _NOT_WORDS:
                yield from texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from texts(part)


def read(file: Path) -> list[Transcript]:
    """One transcript, or a list of them. Raises FileDamaged, naming the file."""
    try:
        body = file.read_bytes()
        if body.lstrip().startswith(b"["):
            return msgspec.json.decode(body, type=list[Transcript])
        return [msgspec.json.decode(body, type=Transcript)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileDamaged(str(file), f"is no transcript of an evaluation: {error}") from None


def read_all(paths: Sequence[Path]) -> list[Transcript]:
    """Of files, and of all JSON files in folders, in the order of their names."""
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    return [transcript for file in files for transcript in read(file)]


def write(transcript: Transcript, folder: Path, number: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{transcript.evaluation}-{transcript.case}-{number}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(transcript), indent=2) + b"\n")
    return file
