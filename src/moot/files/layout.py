"""Where moot's files are in a workspace.

Knows names, and which of them other tools have given. Refuses to know what is in the files; looking
creates nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from moot.errors import ConfigInvalid, FileDamaged, InvalidInput, NotFound, UnsafePath
from moot.files.paths import Root, valid_id


@dataclass(frozen=True, slots=True)
class Workspace:
    """The places of one workspace, free of links: one that leads out of it is refused whenever a place is
    asked for. None of them needs to exist.

    A place that another tool has made is used as it is, unless moot's own is there too. That is decided
    for each place and not once for all, because moot's folder comes to be by anything that is put in it: a
    design must not hide the workflow that it was made in.
    """

    root: Path
    _changes: Path
    _items: Path
    _workflow_file: Path
    _queue_file: Path

    @classmethod
    def at(cls, root: Path, *, agentd: bool = False) -> Workspace:
        """`agentd` says that changes are where that tool has them, whatever else is there."""
        own = root / "moot"
        changes, agentd_changes = own / "changes", root / "agentd" / "changes"
        if agentd or _only(agentd_changes, than=(changes,)):
            changes = agentd_changes
        items, requirements = own / "items", root / "docs" / "requirements"
        if not _is_there(items) and _holds_items(requirements):
            items = requirements
        # The queue belongs to the workflow: one tool's workflow never continues with the other tool's queue.
        workflow, queue = own / "workflow.json", own / "queue.json"
        their_workflow = root / ".superteam-workflow.json"
        their_queue = root / ".superteam-workflow-queue.json"
        if _only(their_workflow, their_queue, than=(workflow, queue)):
            workflow, queue = their_workflow, their_queue
        return cls(root, changes, items, workflow, queue)

    @property
    def config_file(self) -> Path:
        return self.root / "moot.toml"

    @property
    def changes(self) -> Path:
        return self._place(self._changes)

    @property
    def items(self) -> Path:
        return self._place(self._items)

    @property
    def workflow_file(self) -> Path:
        return self._place(self._workflow_file)

    @property
    def queue_file(self) -> Path:
        return self._place(self._queue_file)

    @property
    def designs(self) -> Path:
        return self._place(self.root / "moot" / "designs")

    @property
    def library(self) -> Path:
        """Where `personas` and `panels` are."""
        _ = self.personas, self.panels
        return self._place(self.root / "moot")

    @property
    def personas(self) -> Path:
        return self._definitions("personas")

    @property
    def panels(self) -> Path:
        return self._definitions("panels")

    @property
    def steps(self) -> Path:
        return self._definitions("steps")

    @property
    def archive(self) -> Path:
        return self._place(self.root / "moot" / "archive")

    @property
    def specs(self) -> Path:
        """What holds, by the changes that were archived."""
        return self._place(self.root / "moot" / "specs")

    @property
    def changelog(self) -> Path:
        return self._place(self.root / "moot" / "CHANGELOG.md")

    @property
    def own(self) -> tuple[str, ...]:
        """The beginnings of the names, below the root, of what moot keeps here."""
        moot = self.root / "moot"
        folders = (moot, self._place(moot), self.changes, self.items)
        files = (self.config_file, self.workflow_file, self.queue_file)
        return (
            *(f"{folder.relative_to(self.root).as_posix()}/" for folder in folders),
            *(file.relative_to(self.root).as_posix() for file in files),
        )

    def change_dir(self, change_id: str) -> Path:
        return self._place(self.changes / valid_id(change_id, "change id"))

    def item_dir(self, slug: str) -> Path:
        return self._place(self.items / valid_id(slug, "item"))

    def _definitions(self, name: str) -> Path:
        """A folder of files that say who speaks and what is asked: each of them could be a link."""
        folder = self._place(self.root / "moot" / name)
        for file in sorted(folder.glob("*.md")):
            if file.is_symlink():
                self._place(file)
        return folder

    def _place(self, path: Path) -> Path:
        return Root(self.root).resolve(path.relative_to(self.root).as_posix())


def find_workspace(start: Path, explicit: Path | None = None, *, agentd: bool = False) -> Workspace:
    """The workspace that `start` is in: `explicit`, else the git root, else `start` itself."""
    if explicit is not None:
        if not explicit.is_dir():
            raise NotFound("workspace", str(explicit))
        return Workspace.at(_real(explicit), agentd=agentd)
    here = _real(start)
    # In a worktree or submodule, .git is a file.
    root = next((folder for folder in (here, *here.parents) if _is_there(folder / ".git")), here)
    return Workspace.at(root, agentd=agentd)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _only(*theirs: Path, than: tuple[Path, ...]) -> bool:
    return any(map(_is_there, theirs)) and not any(map(_is_there, than))


def _holds_items(folder: Path) -> bool:
    try:
        return any(_is_there(item / "meta.json") for item in folder.iterdir())
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    # Not Path.exists, which raises when a folder on the way may not be looked into.
    try:
        path.stat()
    except OSError:
        return False
    return True


def settings_text(file: Path) -> str:
    """A settings file's text, which may come with a repository: never a device, a pipe or a huge file."""
    try:
        return Root(file.parent).read_text(file.name, limit_bytes=1 << 20)
    except NotFound:
        return ""
    except (InvalidInput, UnsafePath, FileDamaged, OSError) as error:
        raise ConfigInvalid(str(file), f"cannot be read: {error}") from error
