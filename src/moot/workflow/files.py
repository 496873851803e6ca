"""The running workflow and those that wait: workflow.json and queue.json, read and written.

Knows that the state of a workflow is its file, that others write into it too, and that a file which is not as
this process left it belongs to whoever changed it. Refuses to know what a workflow is: how a state is folded,
written and read is given. What cannot be read is named by file and line, and left as it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from moot.analysis.item_meta import slug_of
from moot.core.runner import LogReplaced
from moot.errors import FileDamaged, InvalidInput, NotFound, SessionMoved
from moot.files import atomic, timestamps
from moot.files.documents import JsonDocument
from moot.files.layout import Workspace
from moot.files.parsing import line_at
from moot.files.paths import Root, unlinked

S = TypeVar("S")
E = TypeVar("E")

Snapshot = Mapping[str, Any]
Entries = list[Any]

_ENTRIES = "workflows"
_BOM = "\ufeff"
_PATH_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_BETWEEN = re.compile(r"[\s,:]*")


class SnapshotLog(Generic[S, E]):
    """A log that is only its last state. `restored` gives the one event that a file amounts to, and raises
    InvalidInput, with the dotted name of the field, at what it does not understand.

    `read` comes first. An `append` that finds anything else than was read or appended here raises
    SessionMoved. What is in the file and not in a snapshot was put there by somebody else and stays, except
    where an event `brings` the text of another workflow: then it is that one's that counts.
    """

    def __init__(
        self,
        path: Path,
        *,
        initial: S,
        advance: Callable[[S, E], S],
        snapshot: Callable[[S], Snapshot],
        restored: Callable[[Snapshot], E],
        brings: Callable[[E], Snapshot | None] = lambda _: None,
    ) -> None:
        self._real = path
        self._initial = self._state = initial
        self._advance = advance
        self._snapshot = snapshot
        self._restored = restored
        self._brings = brings
        self._known: str | None = None

    @property
    def _path(self) -> Path:
        return unlinked(self._real)

    async def read(self) -> list[E]:
        return await asyncio.to_thread(self._read)

    async def news(self) -> list[E]:
        """Raises LogReplaced where the file says something else by now: it is only its last state."""
        known = self._known
        events = await asyncio.to_thread(self._read)
        if self._known != known:
            raise LogReplaced(events)
        return []

    async def append(self, event: E) -> None:
        await asyncio.to_thread(self._append, event)

    def _read(self) -> list[E]:
        text = atomic.read(self._path)
        self._known = text
        if text is None:
            return []
        data = JsonDocument.read(text, self._path)
        try:
            event = self._restored(data)
            self._state = self._advance(self._initial, event)
        except InvalidInput as error:
            raise FileDamaged(str(self._path), str(error), line_of(text, error.field)) from None
        return [event]

    def _append(self, event: E) -> None:
        # Before the lock, which would make a folder that was moved away anew.
        if self._known is not None and not self._path.exists():
            raise SessionMoved(str(self._path))
        state = self._advance(self._state, event)
        after = self._snapshot(state)
        brought = self._brings(event)
        before = self._as_written() if brought is None else self._as_brought(brought)

        def change(data: MutableMapping[str, Any]) -> None:
            changed = carried_over(data if brought is None else brought, before, after)
            data.clear()
            data.update(changed)

        with atomic.locked(self._path):
            if atomic.read(self._path) != self._known:
                raise SessionMoved(str(self._path))
            JsonDocument.update(self._path, change)
            self._known = atomic.read(self._path)
        self._state = state

    def _as_written(self) -> Snapshot:
        return {} if self._known is None else self._snapshot(self._state)

    def _as_brought(self, brought: Snapshot) -> Snapshot:
        return self._snapshot(self._advance(self._initial, self._restored(brought))) if brought else {}


class Queue:
    """The workflows that wait, in order, each with its whole state."""

    def __init__(self, path: Path) -> None:
        self._real = path

    @property
    def _path(self) -> Path:
        return unlinked(self._real)

    def list(self) -> tuple[dict[str, Any], ...]:
        text = atomic.read(self._path)
        if text is None:
            return ()
        return tuple(self._entries(self._data(text), text))

    def peek(self) -> dict[str, Any] | None:
        return next(iter(self.list()), None)

    def add(self, entries: Iterable[Snapshot]) -> None:
        """At the end, in their order. One that waits already is not added again."""
        new = [dict(entry) for entry in entries]

        def change(waiting: Entries) -> None:
            for entry in new:
                if entry_id(entry) not in map(entry_id, waiting):
                    waiting.append(entry)

        self._change(change)

    def take(self) -> dict[str, Any] | None:
        """The first, which then waits no longer."""
        taken: Entries = []
        self._change(lambda waiting: taken.extend(waiting[:1] and [waiting.pop(0)]))
        return taken[0] if taken else None

    def drop(self, wanted: str) -> None:
        """Raises NotFound when it does not wait."""

        def change(waiting: Entries) -> None:
            ids = [entry_id(entry) for entry in waiting]
            if wanted not in ids:
                raise NotFound("queued workflow", wanted, tuple(ids))
            del waiting[ids.index(wanted)]

        self._change(change)

    def _change(self, change: Callable[[Entries], None]) -> None:
        with atomic.locked(self._path):
            text = atomic.read(self._path)
            if text is not None and _is_list(text):
                waiting = self._entries(self._data(text), text)
                change(waiting)
                listed = json.dumps(waiting, ensure_ascii=False, indent=2)
                atomic.write_atomic(self._path, f"{listed}\n")
                return

            def changed(data: MutableMapping[str, Any]) -> None:
                waiting = self._entries(data, text or "")
                change(waiting)
                data[_ENTRIES] = waiting

            JsonDocument.update(self._path, changed)

    def _data(self, text: str) -> Mapping[str, Any]:
        """Another tool has the list alone in the file; it stays so."""
        if _is_list(text):
            text = f'{{"{_ENTRIES}": {text.lstrip(_BOM)}}}'
        return JsonDocument.read(text, self._path)

    def _entries(self, data: Mapping[str, Any], text: str) -> Entries:
        entries = data.get(_ENTRIES)
        if entries is None:
            return []
        if not isinstance(entries, list):
            raise FileDamaged(str(self._path), f"{_ENTRIES}: it is not a list", line_of(text, _ENTRIES))
        for number, entry in enumerate(entries):
            field = f"{_ENTRIES}[{number}]"
            if not isinstance(entry, dict):
                raise FileDamaged(str(self._path), f"{field}: it is not an object", line_of(text, field))
        return entries


def put_away(workspace: Workspace, *, copy: bool = False) -> Path | None:
    """Moves the running workflow's file to moot/archive/workflows, or copies it there, under a name that is
    free. A copy that is there already, to the letter, is not made again."""
    file = unlinked(workspace.workflow_file)
    folder = (workspace.archive / "workflows").relative_to(workspace.root).as_posix()
    with atomic.locked(file):
        text = atomic.read(file)
        if text is None:
            return None
        stem = f"{timestamps.now()[:10]}-{slug_of(_told(text))}"
        names = (f"{folder}/{stem}{'' if n == 1 else f'-{n}'}.json" for n in itertools.count(1))
        for place in map(Root(workspace.root).resolve, names):
            if copy and place.is_file() and atomic.read(place) == text:
                return place
            if not place.exists():
                break
        place.parent.mkdir(parents=True, exist_ok=True)
        if copy:
            atomic.write_atomic(place, text)
        else:
            atomic.disk.rename(file, place)
            atomic.disk.fsync_dir(place.parent)
    return place


def _told(text: str) -> str:
    """What a file calls itself, if it says so: it may be damaged."""
    try:
        data = JsonDocument.read(text, Path("workflow.json"))
    except FileDamaged:
        return "damaged"
    return str(data.get("userDescription") or "workflow")[:60]


def _is_list(text: str) -> bool:
    return text.lstrip(_BOM).lstrip().startswith("[")


def entry_id(entry: Snapshot) -> str:
    """What a queued workflow is called by. One that another tool has put there may have no id of its own."""
    given = entry.get("id")
    if isinstance(given, str) and given:
        return given
    spelled = json.dumps(entry, sort_keys=True, default=str)
    return hashlib.sha256(spelled.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def carried_over(there: Any, before: Any, after: Any) -> Any:
    """What is `there`, with the change from `before` to `after` made in it, and nothing else changed."""
    if isinstance(there, Mapping) and isinstance(after, Mapping):
        known = before if isinstance(before, Mapping) else {}
        kept = {key: value for key, value in there.items() if key in after or key not in known}
        changed = {key: value for key, value in after.items() if key not in known or known[key] != value}
        return kept | {
            key: carried_over(there[key], known.get(key), value) if key in there else value
            for key, value in changed.items()
        }
    if isinstance(there, list) and isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return [_item_carried_over(there, before, after, number) for number in range(len(after))]
    return after


def _item_carried_over(there: list[Any], before: Sequence[Any], after: Sequence[Any], number: int) -> Any:
    """Items are the same by id or title; those that have neither, only if nothing about them changed."""
    item = after[number]
    if len(there) != len(before):
        return item
    if number < len(before) and before[number] == item:
        return there[number]
    named = _name(item)
    for place, old in enumerate(before):
        if named is not None and _name(old) == named:
            return carried_over(there[place], old, item)
    return item


def _name(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    name = item.get("id") or item.get("title")
    return name if isinstance(name, str) else None


def line_of(text: str, field: str) -> int | None:
    """The line on which the value of a field such as `batches[1].title` begins; of a field that is not there,
    that of what it should be in. None if the text is no JSON."""
    text = text.removeprefix("\ufeff")
    at = _past_separator(text, 0)
    try:
        for index, key in _PATH_STEP.findall(field):
            found = _value_in(text, at, key or int(index))
            if found is None:
                break
            at = found
    except (ValueError, RecursionError, IndexError):
        return None
    return line_at(text, at)


def _value_in(text: str, at: int, wanted: str | int) -> int | None:
    """Where the wanted member of the object or item of the list at this position begins."""
    if text[at] != ("{" if isinstance(wanted, str) else "["):
        return None
    decoder = json.JSONDecoder()
    at = _past_separator(text, at + 1)
    number = 0
    while text[at] not in "}]":
        name: str | int = number
        if isinstance(wanted, str):
            name, at = decoder.raw_decode(text, at)
            at = _past_separator(text, at)
        if name == wanted:
            return at
        at = _past_separator(text, decoder.raw_decode(text, at)[1])
        number += 1
    return None


def _past_separator(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at
