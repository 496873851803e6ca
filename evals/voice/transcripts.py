"""Who said what, read from the files that a roundtable leaves behind, with the give-aways taken out.

Knows two kinds of files: logs of events, one JSON document per line, and any JSON that holds objects with
`speaker` and `text`. Refuses to know what the speakers are like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.errors import FileDamaged

_NO_PERSONA = {"user", "program", ""}
_OWN_PREFIX = re.compile(r"\W*[^\W\d][\w .'-]{0,60}\([\w ]{1,60}\)\W{0,3}:\W*")


@dataclass(frozen=True, slots=True)
class Contribution:
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """`first_names` are those that the file itself gives its speakers."""

    file: str
    contributions: tuple[Contribution, ...]
    first_names: frozenset[str] = frozenset()


def read(file: Path) -> Transcript:
    """Raises FileDamaged, naming file and line, also where nobody says anything."""
    text = file.read_text(encoding="utf-8")
    found = [entry for document in _documents(text, file) for entry in _objects(document)]
    contributions = tuple(said for entry in found if (said := _contribution(entry)))
    if not contributions:
        raise FileDamaged(str(file), "no object in it has a speaker and a text")
    names = (entry.get("first_name") for entry in found)
    return Transcript(str(file), contributions, frozenset(name for name in names if isinstance(name, str)))


def blind(text: str, first_names: Collection[str]) -> str:
    """Nobody names themselves, so a name in a text says who did not write it."""
    text = _OWN_PREFIX.sub("", text, count=1) if _OWN_PREFIX.match(text) else text
    if not first_names:
        return text
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, sorted(first_names)))})\b", "Colleague", text)


def _documents(text: str, file: Path) -> Iterator[Any]:
    numbered = enumerate(text.split("\n"), start=1) if file.suffix == ".jsonl" else [(1, text)]
    for line, source in numbered:
        if not source.strip():
            continue
        try:
            yield json.loads(source)
        except ValueError as error:
            at = line + getattr(error, "lineno", 1) - 1
            raise FileDamaged(str(file), f"not valid JSON: {error}", at) from None


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _objects(part)


def _contribution(entry: dict[str, Any]) -> Contribution | None:
    """Of events only this one: what was returned, kept silent or said by the program has no voice."""
    match entry:
        case {"type": "PersonaContributed", "persona": str(speaker), "text": str(text)}:
            return Contribution(speaker, text)
        case {"type": _}:
            return None
        case {"speaker": str(speaker), "text": str(text)} if (
            speaker.casefold() not in _NO_PERSONA and text.strip()
        ):
            return Contribution(speaker, text)
    return None
