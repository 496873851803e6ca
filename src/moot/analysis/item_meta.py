"""What meta.json says of an item: a mapping ⇄ values, and the entries that are added to it.

Knows the fields, and that other tools write them too: what they have put where a list or a mapping belongs
reads as empty, an entry of the wrong kind is passed over, and neither is removed from the file by reading it.
Refuses to know the file, and what a step or a phase is.

The functions that change the mapping change it in place, so that several of them make one write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from moot.changes.state_file import InvalidField, as_text, text_hash
from moot.text.depth import DEPTHS, Depth
from moot.text.faults import fault_of

Status = Literal["raw", "partial", "analyzed"]

Data = MutableMapping[str, Any]

_LONGEST_SLUG = 64
_SHORTEST_CUT = 24


def slug_of(title: str) -> str:
    """An id that a person recognises the title in; one of a title without Latin letters is a hash."""
    plain = unicodedata.normalize("NFKD", title.casefold()).encode("ascii", "ignore").decode("ascii")
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")
    if len(slug) > _LONGEST_SLUG:
        whole_words = slug[: _LONGEST_SLUG + 1].rpartition("-")[0]
        slug = whole_words if len(whole_words) >= _SHORTEST_CUT else slug[:_LONGEST_SLUG]
    return slug.strip("-") or f"item-{_digest(title)}"


def slugs_of(title: str) -> tuple[str, str]:
    """The slug of a title, and the one that it gets where an item of another title has that already."""
    slug = slug_of(title)
    digest = _digest(_essence(title))
    return slug, f"{slug[: _LONGEST_SLUG - len(digest) - 1].strip('-')}-{digest}"


def is_same_title(one: str, other: str) -> bool:
    """Case, accents, spaces and punctuation make no other title; any other sign does: C++ is not C#."""
    return _essence(one) == _essence(other)


def _essence(title: str) -> str:
    signs = unicodedata.normalize("NFKD", title.casefold())
    plain = "".join(sign for sign in signs if not unicodedata.combining(sign))
    return " ".join(re.sub(r"[\s\-_.,:;!?…()\"'“”‘’–—]+", " ", plain.replace("'", "")).split())


def _digest(text: str) -> str:
    return text_hash(text.encode("utf-8", "replace").decode("utf-8")).removeprefix("sha256:")[:8]


# -- what a field can say ------------------------------------------------------------------------


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in _list(value) if isinstance(each, str)))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _depths(value: object) -> Mapping[str, Depth]:
    return {phase: depth for phase, depth in _mapping(value).items() if depth in DEPTHS}


def _elaborations(value: object) -> tuple[Elaboration, ...]:
    """Those that say which step they are of, and when they were written."""
    found = []
    for entry in _list(value):
        with suppress(ValidationError):
            said = {"turn_count": 0, "personas_active": (), **_mapping(entry)}
            found.append(_ELABORATION.validate_python(said))
    return tuple(found)


_Word = Annotated[str, BeforeValidator(as_text)]
_Remark = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
_Count = Annotated[int, BeforeValidator(lambda value: value if isinstance(value, int) else 0)]
_Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


@dataclass(frozen=True, slots=True)
class Elaboration:
    """The record of one roundtable. `timestamp` is when it was written, `opened_at` tells it from others of
    its step; where there is none, an earlier version or another tool wrote it, and the time does."""

    step_id: str
    turn_count: _Count
    personas_active: _Texts
    timestamp: str
    synthesis_summary: _Remark = ""
    opened_at: _Remark = ""


_ELABORATION = TypeAdapter(Elaboration)


@dataclass(frozen=True, slots=True)
class ItemMeta:
    """The fields of a new file, in the order in which people read them. `title` and `description` are moot's
    own; an item of another tool is called by its slug."""

    slug: _Word
    title: _Word = ""
    description: _Word = ""
    source: _Word = ""
    source_id: _Word = ""
    created_at: _Word = ""
    analysis_status: Status = "raw"
    phases_completed: _Texts = ()
    codebase_hash: _Word = ""
    steps_completed: _Texts = ()
    depth_overrides: Annotated[Mapping[str, Depth], BeforeValidator(_depths)] = field(default_factory=dict)
    elaborations: Annotated[tuple[Elaboration, ...], BeforeValidator(_elaborations)] = ()
    elaboration_config: Annotated[Mapping[str, Any], BeforeValidator(_mapping)] = field(default_factory=dict)


_META = TypeAdapter(ItemMeta)


# -- entries to values ---------------------------------------------------------------------------


def read(data: Mapping[str, Any], slug: str) -> ItemMeta:
    """What the mapping says; a field that is missing, null or empty has its first value. Raises
    InvalidField."""
    said = {name: value for name, value in data.items() if value not in (None, "")}
    try:
        return _META.validate_python({"slug": slug, "title": slug.replace("-", " "), **said})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidField(str(first["loc"][0]), fault_of(first)) from None


# -- values to entries ---------------------------------------------------------------------------


def begin(data: Data, slug: str, at: str) -> None:
    data.update(asdict(ItemMeta(slug, source="manual", created_at=at)))


def note_step(data: Data, step_id: str, phases_completed: Iterable[str], status: Status) -> None:
    """Nothing that is recorded as completed becomes incomplete by this."""
    _add_missing(data, "steps_completed", (step_id,))
    _add_missing(data, "phases_completed", phases_completed)
    data["analysis_status"] = status


def note_elaboration(data: Data, record: Elaboration) -> None:
    """A roundtable that is recorded already is not recorded again, even if it is told otherwise now."""
    records = _begun(data, "elaborations")
    recorded = {_identity(entry) for entry in _elaborations(records)}
    if _identity(record) not in recorded:
        entry = asdict(record) | {"personas_active": list(record.personas_active)}
        records.append({name: value for name, value in entry.items() if value or name != "opened_at"})


def _identity(record: Elaboration) -> tuple[str, str]:
    return record.step_id, record.opened_at or record.timestamp


def _add_missing(data: Data, name: str, values: Iterable[str]) -> None:
    there = _begun(data, name)
    there.extend(value for value in dict.fromkeys(values) if value not in there)


def _begun(data: Data, name: str) -> list[Any]:
    """The list of that name; what cannot be one gives way to it."""
    if not isinstance(data.get(name), list):
        data[name] = []
    begun: list[Any] = data[name]
    return begun
