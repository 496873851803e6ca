"""The folders of items: meta.json, the artifacts of an analysis, and the log of its session.

Knows which files an item has, and that the files are the truth. Refuses to know what an artifact says, which
steps there are, and what an event of the session means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from moot.analysis import item_meta
from moot.analysis.item_meta import Data, Elaboration, ItemMeta, Status
from moot.changes.state_file import InvalidField
from moot.core.flow import Event, Flow
from moot.core.logs import FileLog
from moot.errors import AlreadyThere, FileDamaged, InvalidInput, NotFound, UnsafePath
from moot.files import atomic, timestamps
from moot.files.documents import JsonDocument
from moot.files.folder import TextFolder
from moot.files.layout import Workspace
from moot.files.paths import valid_id
from moot.repo import search

META = "meta.json"
LOG = "session.jsonl"

# Neither a path nor hidden, and the same on every system.
_ARTIFACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TEXTS = (".md", ".json", ".csv", ".txt")

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class ItemFolder:
    """One item on the disk. `path` is real: free of links."""

    slug: str
    path: Path

    # -- artifacts -------------------------------------------------------------------------------

    def read_artifact(self, name: str) -> str | None:
        return self._files.read(_check_artifact(name))

    def write_artifact(self, name: str, change: Callable[[str | None], str]) -> str:
        """Rewrites the artifact as `change` of its text (None: there is none yet) and returns the new one."""
        return self._files.update(_check_artifact(name), change)

    def artifacts(self) -> dict[str, str]:
        """What is written of it, by name, as it is now: by its steps, by the Board, by the person. What
        cannot be read says why."""
        found = {}
        for name in self._files.names("."):
            if name.endswith(_TEXTS) and _ARTIFACT.fullmatch(name) and name.lower() != META:
                try:
                    text = self._files.read(name)
                except FileDamaged as error:
                    text = f"(This file cannot be read: {error.problem})"
                if text is not None:
                    found[name] = text
        return found

    # -- the session -----------------------------------------------------------------------------

    def log(self, flow: Flow[Any, E]) -> FileLog[E]:
        return FileLog(self._files.place(LOG), flow.encode, flow.decode)

    # -- meta.json -------------------------------------------------------------------------------

    def meta(self) -> ItemMeta:
        """What meta.json says; without one, that nothing is known yet."""
        text = self._files.read(META)
        if text is None:
            return item_meta.read({}, self.slug)
        return self._read_meta(JsonDocument.read(text, self.path / META), text)

    def update_meta(self, change: Callable[[Data], None]) -> ItemMeta:
        """Changes meta.json under its lock. What cannot be understood, before or after, is not written."""
        path = self._files.place(META)

        def changed(data: Data) -> None:
            if text is None:
                item_meta.begin(data, self.slug, timestamps.now())
            else:
                self._read_meta(data, text)
            try:
                change(data)
                item_meta.read(data, self.slug)
            except InvalidField as error:
                raise InvalidInput(error.field, error.problem) from None

        with atomic.locked(path):
            text = self._files.read(META)
            document = JsonDocument.update(path, changed)
        return item_meta.read(document.data, self.slug)

    def complete_step(
        self, step_id: str, phases_completed: Iterable[str], analysis_status: Status
    ) -> ItemMeta:
        """Twice is the same as once."""
        phases = tuple(phases_completed)
        return self.update_meta(lambda data: item_meta.note_step(data, step_id, phases, analysis_status))

    def add_elaboration(self, record: Elaboration) -> ItemMeta:
        """Of the same step and time there is one record, the first."""
        return self.update_meta(lambda data: item_meta.note_elaboration(data, record))

    def _read_meta(self, data: Mapping[str, Any], text: str) -> ItemMeta:
        try:
            return item_meta.read(data, self.slug)
        except InvalidField as error:
            found = re.search(rf'"{re.escape(error.field)}"\s*:', text)
            line = text.count("\n", 0, found.start()) + 1 if found else None
            raise self._files.damaged(META, f"{error.field}: {error.problem}", line) from None

    @property
    def _files(self) -> TextFolder:
        return TextFolder(self.path, "item", self.slug)


class ItemFolders:
    """All items of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self) -> list[ItemFolder]:
        """By slug. A folder with another kind of name, or with nothing of an item in it, is none."""
        try:
            names = sorted(path.name for path in self._workspace.items.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for name in names:
            with suppress(InvalidInput, UnsafePath):
                folder = ItemFolder(name, self._workspace.item_dir(valid_id(name, "item")))
                if _has_signs(folder.path):
                    found.append(folder)
        return found

    def open(self, slug: str) -> ItemFolder:
        path = self._workspace.item_dir(slug)
        if not path.is_dir():
            raise NotFound("item", slug, tuple(folder.slug for folder in self.all()))
        return ItemFolder(slug, path)

    def create(
        self, slug: str, source: str, title: str, *, source_id: str = "", description: str = ""
    ) -> ItemFolder:
        """A new item with its meta.json. A folder in which there is nothing of an item yet is used."""
        path = self._workspace.item_dir(slug)
        if path.exists() and not path.is_dir():
            raise AlreadyThere("item", slug, path)
        codebase_hash = search.fingerprint(self._workspace.root)
        with atomic.locked(path / META):
            if _has_signs(path):
                raise AlreadyThere("item", slug, path)
            folder = ItemFolder(slug, path)
            folder.update_meta(
                lambda data: data.update(
                    title=title,
                    description=description,
                    source=source,
                    source_id=source_id,
                    codebase_hash=codebase_hash,
                )
            )
        return folder


def _has_signs(path: Path) -> bool:
    return any((path / name).is_symlink() or (path / name).exists() for name in (META, LOG))


def _check_artifact(name: str) -> str:
    if not _ARTIFACT.fullmatch(name) or name.lower() in {META, LOG}:
        raise InvalidInput("artifact", f"{name[:80]!r} is no name of an artifact")
    return name
