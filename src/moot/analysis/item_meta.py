"""What meta.json says of an item: a mapping ⇄ values, and the entries that are added to it.

Knows the fields, and that other tools write them too: what they have put where a list or a mapping belongs
reads as empty, an entry of the wrong kind is passed over, and neither is removed from the file by reading it.
Refuses to know the file, and what a step or a phase is.

The functions that change the mapping change it in place, so that several of them make one write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from moot.changes.state_file import InvalidField, text_hash
from moot.text.depth import DEPTHS, Depth

Status = Literal["raw", "partial", "analyzed"]
STATUSES: tuple[Status, ...] = get_args(Status)

Data = MutableMapping[str, Any]

_LONGEST_SLUG = 64
_SHORTEST_CUT = 24


@dataclass(frozen=True, slots=True)
class Elaboration:
    """The record of one roundtable. `timestamp` is when it was written, `opened_at` tells it from others of
    its step; where there is none, an earlier version or another tool wrote it, and the time does."""

    step_id: str
    turn_count: int
    personas_active: tuple[str, ...]
    timestamp: str
    synthesis_summary: str = ""
    opened_at: str = ""


@dataclass(frozen=True, slots=True)
class ItemMeta:
    """`title` and `description` are moot's own fields; an item of another tool is called by its slug."""

    slug: str
    title: str = ""
    description: str = ""
    source: str = ""
    source_id: str = ""
    created_at: str = ""
    analysis_status: Status = "raw"
    phases_completed: tuple[str, ...] = ()
    codebase_hash: str = ""
    steps_completed: tuple[str, ...] = ()
    depth_overrides: Mapping[str, Depth] = field(default_factory=dict)
    elaborations: tuple[Elaboration, ...] = ()
    elaboration_config: Mapping[str, Any] = field(default_factory=dict)


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


# -- entries to values ---------------------------------------------------------------------------


def read(data: Mapping[str, Any], slug: str) -> ItemMeta:
    """What the mapping says; a field that is missing or null has its first value. Raises InvalidField."""
    return ItemMeta(
        slug=_text(data, "slug") or slug,
        title=_text(data, "title") or slug.replace("-", " "),
        description=_text(data, "description"),
        source=_text(data, "source"),
        source_id=_text(data, "source_id"),
        created_at=_text(data, "created_at"),
        analysis_status=_status(data),
        phases_completed=_texts(data.get("phases_completed")),
        codebase_hash=_text(data, "codebase_hash"),
        steps_completed=_texts(data.get("steps_completed")),
        depth_overrides=dict(_depths(data.get("depth_overrides"))),
        elaborations=tuple(_elaborations(data.get("elaborations"))),
        elaboration_config=_mapping(data.get("elaboration_config")),
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        # The number of an issue, without quotes.
        return str(getattr(value, "literal", value))
    if not isinstance(value, str):
        raise InvalidField(name, "it is not a text")
    return value


def _status(data: Mapping[str, Any]) -> Status:
    value = _text(data, "analysis_status") or STATUSES[0]
    for status in STATUSES:
        if value == status:
            return status
    raise InvalidField("analysis_status", f"{value[:80]!r} is none of {', '.join(STATUSES)}")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in _list(value) if isinstance(each, str)))


def _depths(value: object) -> Iterator[tuple[str, Depth]]:
    for phase, wanted in _mapping(value).items():
        for depth in DEPTHS:
            if wanted == depth:
                yield phase, depth


def _elaborations(value: object) -> Iterator[Elaboration]:
    for entry in map(_mapping, _list(value)):
        step, at = entry.get("step_id"), entry.get("timestamp")
        turns, summary = entry.get("turn_count"), entry.get("synthesis_summary")
        if isinstance(step, str) and isinstance(at, str):
            yield Elaboration(
                step_id=step,
                turn_count=turns if isinstance(turns, int) else 0,
                personas_active=_texts(entry.get("personas_active")),
                timestamp=at,
                synthesis_summary=summary if isinstance(summary, str) else "",
                opened_at=opened if isinstance(opened := entry.get("opened_at"), str) else "",
            )


# -- values to entries ---------------------------------------------------------------------------


def begin(data: Data, slug: str, at: str) -> None:
    """The fields of a new item, in the order in which people read them."""
    data.update(
        slug=slug,
        title="",
        description="",
        source="manual",
        source_id="",
        created_at=at,
        analysis_status=STATUSES[0],
        phases_completed=[],
        codebase_hash="",
        steps_completed=[],
        depth_overrides={},
        elaborations=[],
        elaboration_config={},
    )


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
