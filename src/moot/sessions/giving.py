"""What a person gives a session of any format, and corrects of what was decided so far, in the same words on
every surface that is no terminal.

Knows how items are written, and how it is told what came of them. Refuses to know how that travels.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic.alias_generators import to_camel

from moot.core.ledger import LONGEST_ENTRY, Decided, Kind, numbered
from moot.errors import InvalidInput, NotFound
from moot.evidence.bounds import STANDARD
from moot.evidence.gather import Gathered, Offer, Weighed, tokens_in
from moot.evidence.items import Evidence, number_of
from moot.text.characters import strip_controls

MOST_ITEMS = STANDARD.items
_MOST_CHARACTERS = 16 * 1024 * 1024
"""Of what one item is written as. How much is taken is for the intake to say."""


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


# -- what is given -------------------------------------------------------------------------------

_Short = Annotated[str, StringConstraints(max_length=4_096)]
_Long = Annotated[str, StringConstraints(max_length=_MOST_CHARACTERS)]


class EvidenceIn(_Part):
    """One item: a path in the workspace, the address of a page, text, or a file's bytes as base64; text and
    bytes have a name."""

    path: _Short | None = Field(None, description="In the workspace: a file, or a folder for its text files.")
    url: _Short | None = Field(None, description="http or https; moot fetches it, and never a private one.")
    name: _Short = Field("", description="What text or bytes are called.")
    text: _Long | None = Field(None, description="The words themselves.")
    base64: _Long | None = Field(None, description="A file's bytes: text, a PDF or an image.")

    @field_validator("path", "url", "name", mode="before")
    @classmethod
    def _strip_controls(cls, value: object) -> object:
        return strip_controls(value) if isinstance(value, str) else value

    @field_validator("base64")
    @classmethod
    def _is_base64(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                binascii.a2b_base64(value, strict_mode=True)
            except (binascii.Error, ValueError):
                raise ValueError("is not base64") from None
        return value

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        given = [one for one in (self.path, self.url, self.text, self.base64) if one is not None]
        if len(given) != 1:
            raise ValueError("has to have one of path, url, text and base64")
        return self

    @property
    def offer(self) -> Offer:
        if self.path is not None:
            return Offer(path=self.path)
        if self.url is not None:
            return Offer(url=self.url)
        text = self.text
        data = base64.b64decode(self.base64 or "") if text is None else text.encode("utf-8", "replace")
        return Offer(name=self.name, data=data)


Items = Annotated[tuple[EvidenceIn, ...], Field(max_length=MOST_ITEMS)]


def offers_of(items: Sequence[EvidenceIn]) -> list[Offer]:
    return [item.offer for item in items]


Words = Annotated[str, StringConstraints(max_length=LONGEST_ENTRY)]


# -- what is told --------------------------------------------------------------------------------


class EvidenceOut(_Part):
    """An item, without what it says. `lines` counts them; `sha256` is of the bytes that were read."""

    id: str = Field(description="E1, E2 and so on: how it is cited.")
    name: str
    origin: str
    sha256: str
    media_type: str
    lines: int
    tokens: int
    is_image: bool


class ItemOut(EvidenceOut):
    """An item with what it says: its lines as they are cited, or, of an image, its bytes as base64."""

    text: str
    image: str | None


class LeftOutOut(_Part):
    name: str
    why: str


class GivenOut(_Part):
    """What came of giving: items are taken whole, or left out with the reason."""

    taken: tuple[EvidenceOut, ...]
    left_out: tuple[LeftOutOut, ...]
    tokens: int = Field(description="About as many as one reading of what is taken has.")
    cost_usd: float | None = Field(description="Of one reading; null where the price is not known.")
    summary: str = Field(description="The same in a sentence.")


STRUCK = "What the person has struck of it: a correction with `undo` and its key brings it back."


class DecidedOut(_Part):
    """An entry of what was decided so far."""

    number: str = Field(description="D1, D2 and so on; empty where an entry that is struck has none.")
    key: str = Field(description="What it came from, which stays: a correction names it.")
    kind: Kind
    text: str
    by: str
    at: str


class LedgerOut(_Part):
    """All that was decided so far."""

    ledger: tuple[DecidedOut, ...]
    struck: tuple[DecidedOut, ...] = Field(description=STRUCK)


@dataclass(frozen=True, slots=True)
class Given:
    """`first` is the place that the first of these items has, or would have, in its session."""

    weighed: Weighed
    first: int = 0

    @property
    def gathered(self) -> Gathered:
        return self.weighed.gathered

    def check_any_is_taken(self) -> None:
        """Raises where a session was to begin with evidence and would have none of it."""
        if self.gathered.left_out and not self.gathered.items:
            left_out = "; ".join(map(str, self.gathered.left_out))
            raise InvalidInput("evidence", f"nothing of it can be taken: {left_out}")


def given_out(given: Given) -> GivenOut:
    weighed = given.weighed
    return GivenOut(
        taken=items_out(weighed.gathered.items, given.first),
        left_out=tuple(LeftOutOut(name=one.name, why=one.why) for one in weighed.gathered.left_out),
        tokens=weighed.gathered.tokens,
        cost_usd=weighed.cost_usd,
        summary=weighed.summary,
    )


def read_item(items: Sequence[Evidence], number: str) -> ItemOut:
    """The item that is called E1, E2 and so on. Raises NotFound."""
    known = items_out(items)
    for head, item in zip(known, items, strict=True):
        if head.id == number:
            image = base64.b64encode(item.image).decode() if item.image else None
            return ItemOut(**head.model_dump(), text=item.text, image=image)
    raise NotFound("item of evidence", number, tuple(one.id for one in known))


def items_out(items: Sequence[Evidence], first: int = 0) -> tuple[EvidenceOut, ...]:
    return tuple(item_out(place, item) for place, item in enumerate(items, start=first))


def item_out(place: int, item: Evidence) -> EvidenceOut:
    return EvidenceOut(
        id=number_of(place),
        name=item.name,
        origin=item.origin,
        sha256=item.sha256,
        media_type=item.media_type,
        lines=len(item.lines) if item.text else 0,
        tokens=tokens_in(item),
        is_image=bool(item.image),
    )


def ledger_out(ledger: Sequence[Decided]) -> tuple[DecidedOut, ...]:
    return tuple(_decided_out(number, one) for number, one in numbered(ledger).items())


def struck_out(struck: Sequence[Decided]) -> tuple[DecidedOut, ...]:
    return tuple(_decided_out(one.number, one) for one in struck)


def _decided_out(number: int, one: Decided) -> DecidedOut:
    shown = f"D{number}" if number else ""
    return DecidedOut(number=shown, key=one.key, kind=one.kind, text=one.text, by=one.by, at=one.at)
