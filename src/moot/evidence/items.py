"""One item of evidence, and how a model is told of it: whole, with numbered lines, under its number.

Refuses to know how an item was come by: files, URLs and secrets are for others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from moot.llm.messages import Image, Source, Weight
from moot.prompts.template import fill


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """`origin` is where it comes from: a path in the workspace or below the home folder, a name, a URL, or
    "standard input". The hash is of
    the bytes that were read; `text` is what they say. It is empty for an image, whose bytes `image` has."""

    name: str
    origin: str
    sha256: str
    media_type: str
    text: str = ""
    image: bytes = b""

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


def without_contents(value: Any) -> Any:
    """The same plain values, in which no item has its text or its image any more, but how many lines it has:
    for whoever is told of a session again and again."""
    match value:
        case {"sha256": str(), "media_type": str(), "origin": str()}:
            text = value.get("text", "")
            lines = text.count("\n") + 1 if text else 0
            return {name: one for name, one in value.items() if name not in ("text", "image")} | {
                "lines": lines
            }
        case dict():
            return {name: without_contents(one) for name, one in value.items()}
        case list() | tuple():
            return [without_contents(one) for one in value]
        case _:
            return value


def number_of(place: int) -> str:
    """Items are E1, E2, … in the order in which they were given."""
    return f"E{place + 1}"


def numbered(items: Sequence[Evidence]) -> list[tuple[str, Evidence]]:
    return [(number_of(place), item) for place, item in enumerate(items)]


def sources(items: Sequence[Evidence], known: int = 0) -> tuple[Source, ...]:
    """For a request: how to cite, then each item as a source of its own, so that it is there whole or named
    as left out. Nothing where there is no evidence. The first `known` of them, and how to cite, are in the
    request already."""
    new = numbered(items)[known:]
    if not new:
        return ()
    how = () if known else (Source("how to cite", fill("evidence/cite", {}), Weight.NEEDED),)
    return (*how, *(_source(number, item) for number, item in new))


def _source(number: str, item: Evidence) -> Source:
    image = Image(number, item.media_type, item.image) if item.image else None
    return Source(f"{number} ({item.name})", _shown(number, item), Weight.DEPENDED_ON, image)


_FENCE = re.compile(r"<(?=\s*/?\s*(?:evidence|decided-so-far|left-out)\b)", re.IGNORECASE)
"""What an item could pretend to end with, or to be followed by."""


_IN_PLACE = "an image: you see it with the first of the messages, as {}; it has no lines to cite"


def _shown(number: str, item: Evidence) -> str:
    lines = "\n".join(f"{place} {line}" for place, line in enumerate(item.lines, start=1))
    lines = f"({_IN_PLACE.format(number)})" if item.image else _FENCE.sub("‹", lines)
    # Earlier versions kept where on this machine a file was.
    origin = item.name if item.origin.startswith("/") else item.origin
    about = f'id="{number}" name="{_plain(item.name)}" origin="{_plain(origin)}"'
    return f"<evidence {about}>\n{lines}\n</evidence>"


def _plain(name: str) -> str:
    return name.replace('"', "'").replace("\n", " ").replace("<", "(").replace(">", ")")
