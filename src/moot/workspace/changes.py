"""The folders of changes: proposal.md, specs/*.md, tasks.md, AGENTS.md and STATE.yaml, read and written.

Knows which files a change has, that the files are the truth, and that a review once written stays. Refuses to
know what a proposal must contain, which moves a phase allows, and who reviews.

One process at a time works on a change (see claim). Single writes are safe without that; only a folder that
is archived meanwhile is gone.
"""

from __future__ import annotations

import errno
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.errors import AlreadyThere, FileDamaged, InvalidInput, NotFound, UnsafePath
from moot.texts import review_block
from moot.texts.proposal import with_reviews
from moot.texts.review_block import Review
from moot.workspace import change_state, writing
from moot.workspace.change_state import Call, ChangeState, Checksum, Data, Unfit, Validation
from moot.workspace.documents import YamlDocument
from moot.workspace.layout import Workspace
from moot.workspace.paths import Root, valid_id
from moot.workspace.text_folder import TextFolder

PROPOSAL = "proposal.md"
SPECS = "specs"
TASKS = "tasks.md"
AGENTS = "AGENTS.md"
STATE = "STATE.yaml"
EARLIER = "earlier"
"""What a proposal, its specifications and tasks said before they were drafted anew."""

# A folder that has none of these is not a change; it may be what another tool keeps beside them.
_SIGNS = (STATE, PROPOSAL, TASKS, SPECS)


@dataclass(frozen=True, slots=True)
class ChangeFolder:
    """One change on the disk. `path` is real: free of links."""

    id: str
    path: Path

    # -- the documents ---------------------------------------------------------------------------

    def proposal(self) -> str | None:
        return self._files.read(PROPOSAL)

    def tasks(self) -> str | None:
        return self._files.read(TASKS)

    def agents(self) -> str | None:
        return self._files.read(AGENTS)

    def specs(self) -> dict[str, str]:
        """By name, as `specs/api.md`, in order."""
        texts = {}
        for name in self._spec_names():
            text = self._files.read(name)
            if text is None:
                raise self._files.damaged(name, "it leads nowhere, or its name is no text")
            texts[name] = text
        return texts

    def write_proposal(self, text: str) -> None:
        self.update_proposal(lambda _: text)

    def update_proposal(self, change: Callable[[str | None], str]) -> str:
        """Rewrites the proposal as `change` of its text and returns the new one.

        The reviews in it have to stay as they are, byte for byte: `append_review` alone adds one.
        """

        def changed(old: str | None) -> str:
            new = change(old)
            if _reviews(new) != _reviews(old or ""):
                raise InvalidInput(PROPOSAL, "the reviews in it would not stay as they are")
            return new

        return self._files.update(PROPOSAL, changed)

    def write_specs(self, specs: Mapping[str, str], *, remove_others: bool = False) -> None:
        """`api.md` and `specs/api.md` are the same name."""
        named = {f"{SPECS}/{_spec_name(name)}": text for name, text in specs.items()}
        for name, text in named.items():
            self._files.write(name, text)
        if remove_others:
            for name in self._spec_names():
                if name not in named:
                    # Not the resolved path: of a link, the link itself goes.
                    (self.path / name).unlink(missing_ok=True)

    def write_tasks(self, text: str) -> None:
        self._files.write(TASKS, text)

    def write_agents(self, text: str) -> None:
        self._files.write(AGENTS, text)

    def keep_earlier(self, names: Iterable[str]) -> str:
        """Copies the files as they are now into a folder of their own, whose name this returns."""
        taken = set(self._files.names(EARLIER))
        number = next(number for number in itertools.count(1) if str(number) not in taken)
        for name in names:
            text = self._files.read(name)
            if text is not None:
                self._files.write(f"{EARLIER}/{number}/{name}", text)
        return f"{EARLIER}/{number}"

    # -- reviews ---------------------------------------------------------------------------------

    def append_review(self, review: Review) -> str:
        """Adds the review to the proposal and returns its block, as it now stands there."""

        def appended(old: str | None) -> str:
            if old is None:
                raise NotFound("file", PROPOSAL)
            return review_block.append(old, review)

        return _reviews(self._files.update(PROPOSAL, appended))[-1]

    def bring_back_reviews(self, earlier: str) -> str:
        """Undoes what somebody without respect for them has done to the reviews of an earlier text. Says
        where what they left is kept; nothing if the reviews are as they were. New ones may follow."""
        wanted = _reviews(earlier)
        try:
            left = self.proposal()
        except FileDamaged:
            kept = self.keep_earlier(())
            (self.path / kept).mkdir(parents=True)
            writing.disk.rename(self.path / PROPOSAL, self.path / kept / PROPOSAL)
            left = None
        else:
            if _reviews(left or "")[: len(wanted)] == wanted:
                return ""
            kept = self.keep_earlier((PROPOSAL,))
        self._files.write(PROPOSAL, earlier if left is None else with_reviews(left, earlier))
        return kept

    def unrecorded_review(self) -> Review | None:
        """The proposal's last review, if STATE.yaml does not know it: somebody was stopped in between."""
        text = self.proposal()
        blocks = _blocks(text or "")
        if not blocks:
            return None
        state = self.state()
        hashes = [change_state.review_hash(block.raw) for block in blocks]
        known = [review.hash for review in state.reviews or ()]
        if hashes.count(hashes[-1]) <= known.count(hashes[-1]):
            return None
        try:
            review = review_block.read(blocks[-1])
        except InvalidInput as error:
            raise self._files.damaged(PROPOSAL, str(error), blocks[-1].line) from None
        recorded_by_another_tool = state.reviews is None and state.verdict is review.verdict
        return None if recorded_by_another_tool else review

    # -- STATE.yaml ------------------------------------------------------------------------------

    def state(self) -> ChangeState:
        """What STATE.yaml says; without one, the state of a new change."""
        text = self._files.read(STATE)
        if text is None:
            at = change_state.now()
            return ChangeState(self.id, created_at=at, updated_at=at, reviews=())
        data = YamlDocument(text, self.path / STATE).data
        return self._understood(data, text)

    def update_state(self, change: Callable[[Data], None]) -> ChangeState:
        """Changes STATE.yaml under its lock. What cannot be understood, before or after, is not written."""
        path = self._files.place(STATE)

        def changed(data: Data) -> None:
            at = change_state.now()
            if text is None:
                change_state.begin(data, self.id, at)
            else:
                self._understood(data, text)
            try:
                change(data)
                data["updated_at"] = at
                change_state.read(data, self.id)
            except Unfit as error:
                raise InvalidInput(error.field, error.problem) from None

        with writing.locked(path):
            text = self._files.read(STATE)
            document = YamlDocument.update(path, changed)
        return change_state.read(document.data, self.id)

    def record_call(self, call: Call) -> ChangeState:
        return self.update_state(lambda data: change_state.note_call(data, call))

    def record_validation(self, validation: Validation) -> ChangeState:
        return self.update_state(lambda data: change_state.note_validation(data, validation))

    def record_checksums(self, files: Iterable[str]) -> ChangeState:
        """Of the named files as they are now; one that is not there loses its entry."""
        texts = {name: self._files.read(name) for name in files}

        def noted(data: Data) -> None:
            at = change_state.now()
            for name, text in texts.items():
                if text is not None:
                    change_state.note_checksum(data, name, Checksum(change_state.text_hash(text), at))
                elif data.get("checksums"):
                    data["checksums"].pop(name, None)

        return self.update_state(noted)

    def _understood(self, data: Mapping[str, Any], text: str) -> ChangeState:
        try:
            return change_state.read(data, self.id)
        except Unfit as error:
            found = re.search(rf"^[\"']?{re.escape(error.field)}[\"']?\s*:", text, re.MULTILINE)
            line = text.count("\n", 0, found.start()) + 1 if found else None
            raise self._files.damaged(STATE, f"{error.field}: {error.problem}", line) from None

    @property
    def _files(self) -> TextFolder:
        return TextFolder(self.path, "change", self.id)

    def _spec_names(self) -> list[str]:
        return [
            f"{SPECS}/{name}"
            for name in self._files.names(SPECS)
            if name.lower().endswith(".md") and not name.startswith(".")
        ]


class ChangeFolders:
    """All changes of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self) -> list[ChangeFolder]:
        """By id. A folder with another kind of name, or with nothing of a change in it, is none."""
        try:
            names = sorted(path.name for path in self._workspace.changes.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for name in names:
            with suppress(InvalidInput, UnsafePath):
                folder = ChangeFolder(name, self._workspace.change_dir(valid_id(name, "change id")))
                if _has_signs(folder.path):
                    found.append(folder)
        return found

    def open(self, change_id: str) -> ChangeFolder:
        path = self._workspace.change_dir(change_id)
        if not path.is_dir():
            raise NotFound("change", change_id, tuple(folder.id for folder in self.all()))
        return ChangeFolder(change_id, path)

    def create(self, change_id: str) -> ChangeFolder:
        """A new change with its STATE.yaml. A folder in which there is nothing of a change yet is used."""
        path = self._workspace.change_dir(change_id)
        if path.exists() and not path.is_dir():
            raise AlreadyThere("change", change_id, path)
        with writing.locked(path / STATE):
            if _has_signs(path):
                raise AlreadyThere("change", change_id, path)
            folder = ChangeFolder(change_id, path)
            folder.update_state(lambda _: None)
        return folder

    def archive(self, folder: ChangeFolder) -> Path:
        """Moves the folder to `moot/archive/<date>-<id>`, with a number behind it where that is taken."""
        if not folder.path.is_dir():
            raise NotFound("change", folder.id)
        name = f"{change_state.now()[:10]}-{folder.id}"
        target = self._archive_place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(2):
            try:
                # Replaces nothing but an empty folder.
                writing.disk.rename(folder.path, target)
                break
            except OSError as error:
                if error.errno not in {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}:
                    raise
            target = self._archive_place(f"{name}-{number}")
        writing.disk.fsync_dir(target.parent)
        writing.disk.fsync_dir(folder.path.parent)
        return target

    def _archive_place(self, name: str) -> Path:
        place = (self._workspace.archive / name).relative_to(self._workspace.root)
        return Root(self._workspace.root).resolve(place.as_posix())


def _has_signs(path: Path) -> bool:
    return any((path / name).is_symlink() or (path / name).exists() for name in _SIGNS)


def _reviews(text: str) -> list[str]:
    return [block.raw for block in _blocks(text)]


def _blocks(text: str) -> tuple[review_block.Block, ...]:
    # A parser takes a minute for five megabytes of short lines; most texts need none to have no review.
    return review_block.blocks(text) if "review:end" in text.lower() else ()


def _spec_name(name: str) -> str:
    name = name.removeprefix(f"{SPECS}/")
    if "/" in name or name.startswith(".") or not name.lower().endswith(".md"):
        raise InvalidInput("spec", f"{name[:80]!r} is no name of a Markdown file")
    return name
