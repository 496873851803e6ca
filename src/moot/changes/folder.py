"""The folders of changes: proposal.md, specs/*.md, tasks.md, AGENTS.md and STATE.yaml, read and written.

Knows which files a change has, that the files are the truth, and that a review once written stays. Refuses to
know what a proposal must contain, which moves a phase allows, and who reviews.

One process at a time works on a change (see claim). Single writes are safe without that; only a folder that
is archived meanwhile is gone.
"""

from __future__ import annotations

import errno
import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from moot.changes import binding, review_block, reviewed, state_file
from moot.changes.binding import Binding
from moot.changes.dispositions import Disposition, Placed
from moot.changes.points import Covered
from moot.changes.review_block import Block, Review
from moot.changes.state_file import (
    Call,
    ChangeState,
    Checksum,
    Data,
    InvalidField,
    RecordedReview,
    Run,
    Validation,
)
from moot.changes.understanding import keep, understand
from moot.errors import AlreadyThere, InvalidInput, NotFound, ReviewNotTaken, UnsafePath
from moot.files import atomic, frozen, timestamps
from moot.files.documents import YamlDocument
from moot.files.folder import TextFolder
from moot.files.frontmatter import LINE_BREAK
from moot.files.layout import Workspace
from moot.files.paths import Root, valid_id

PROPOSAL = reviewed.PROPOSAL
SPECS = "specs"
SKELETON = "_skeleton.md"
"""A form to copy, which other tools keep among the specifications."""
TASKS = reviewed.TASKS
AGENTS = "AGENTS.md"
DESIGN = "design.md"
STATE = "STATE.yaml"
EARLIER = "earlier"
"""What a proposal, its specifications and tasks said before they were drafted again."""
DRAFTED = f"{EARLIER}/drafted"
"""What they said when they were last drafted: whatever differs from it, the person has written."""
EDITS = "edits.diff"

# A folder that has none of these is not a change; it may be what another tool keeps beside them.
_SIGNS = (STATE, PROPOSAL, TASKS, SPECS)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A review that moot recorded. `block` is None where proposal.md no longer has it as it was."""

    record: RecordedReview
    block: Block | None


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

    def design(self) -> str | None:
        """What binds the change."""
        return self._files.read(DESIGN)

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

    def bind(self, new: Binding) -> str:
        """Adds to what binds the change; what happened to design.md, in a sentence, or nothing."""
        if not new:
            return ""

        def bound(old: str | None) -> str:
            if old is not None and not self._is_as_written(old):
                return binding.add(old, new)
            there = binding.read(old) if old else Binding()
            merged = binding.merge(there, new)
            return old if old is not None and merged == there else binding.render(merged)

        before = self.design()
        written = self._files.update(DESIGN, bound)
        if before is not None and not self._is_as_written(before):
            news = ["what is new stands at its end"] if written != before else []
            if new.design and new.design.strip() not in before:
                news.append("the design that was approved since is not in it")
            return f"{DESIGN} was edited by hand and is kept; {', and '.join(news)}" if news else ""
        if written == before:
            return ""
        self.record_checksums((DESIGN,))
        return f"{DESIGN} has what binds the change"

    def design_is_edited(self) -> bool:
        """Whether somebody has written in design.md since moot did."""
        design = self.design()
        return design is not None and not self._is_as_written(design)

    def _is_as_written(self, design: str) -> bool:
        """Whether moot has written it, and nobody since."""
        known = self.state().checksums.get(DESIGN)
        return known is not None and known.hash == state_file.text_hash(LINE_BREAK.sub("\n", design))

    def keep_earlier(self, names: Iterable[str]) -> str:
        """Copies the files as they are now into a folder of their own, whose name this returns."""
        taken = set(self._files.names(EARLIER))
        number = next(number for number in itertools.count(1) if str(number) not in taken)
        for name in names:
            text = self._files.read(name)
            if text is not None:
                self._files.write(f"{EARLIER}/{number}/{name}", text)
        return f"{EARLIER}/{number}"

    def keep_drafted(self, texts: Mapping[str, str]) -> None:
        """What was drafted now, so that later it can be said what the person has changed."""
        for name in self.drafted():
            if name not in texts:
                (self.path / DRAFTED / name).unlink(missing_ok=True)
        for name, text in texts.items():
            self._files.write(f"{DRAFTED}/{name}", text)

    def drafted(self) -> dict[str, str]:
        return self._kept(DRAFTED)

    def before_last_draft(self) -> dict[str, str]:
        return self._kept(f"{EARLIER}/{max(self._earlier_numbers(), default=0)}")

    def _kept(self, place: str) -> dict[str, str]:
        names = (PROPOSAL, TASKS, *(f"{SPECS}/{name}" for name in self._files.names(f"{place}/{SPECS}")))
        texts = {name: self._files.read(f"{place}/{name}") for name in names}
        return {name: text for name, text in texts.items() if text is not None}

    def keep_edits(self, kept: str, diff: str) -> None:
        """Beside the files that `keep_earlier` has kept there."""
        self._files.write(f"{kept}/{EDITS}", diff)

    def earlier_edits(self) -> list[tuple[int, str]]:
        """What the person had changed in each draft before the last, oldest first, with its number."""
        numbers = self._earlier_numbers()
        read = ((number, self._files.read(f"{EARLIER}/{number}/{EDITS}")) for number in numbers)
        return [(number, text) for number, text in read if text]

    def _earlier_numbers(self) -> list[int]:
        return sorted(int(name) for name in self._files.names(EARLIER) if name.isdecimal())

    # -- reviews ---------------------------------------------------------------------------------

    def reviewed_files(self) -> dict[str, str]:
        """The hash of each file that a review is of, as they are now."""
        return reviewed.hashes(self.reviewable())

    def reviews(self) -> tuple[Recorded, ...]:
        """Every review that moot recorded, oldest first, with its block where that is as it was."""
        return self._match_blocks()[0]

    def strangers(self) -> tuple[Block, ...]:
        """The complete blocks that moot did not make: pasted, changed, or there once more."""
        return self._match_blocks()[1]

    def begin_run(self, engine: str, model: str) -> str:
        """The id of a new run, in which one review can be appended. An earlier one is over."""
        run = Run(uuid.uuid4().hex, engine, model)
        self.update_state(lambda data: state_file.note_run(data, run))
        return run.id

    def end_run(self, run: str) -> None:
        """Nothing can be appended in it any more; what half of a review it has left is void. One that was
        appended stays to be counted, and the run with it."""
        made = self.review_of(run)
        if made is not None and made.block is not None:
            return

        def ended(data: Data) -> None:
            if (data.get("run") or {}).get("id") == run:
                state_file.drop_review(data, run)
                state_file.end_run(data)

        self.update_state(ended)

    def review_of(self, run: str) -> Recorded | None:
        return next((one for one in self.reviews() if one.record.run == run), None)

    def append_review(
        self,
        review: Review,
        run: str,
        check: Callable[[Mapping[str, str]], None] = lambda _: None,
        coverage: Sequence[Covered] = (),
        looked_at: Sequence[str] = (),
        dispositions: Sequence[Disposition] = (),
        placed: Sequence[Placed] = (),
    ) -> str:
        """Records the review in STATE.yaml, adds it to the proposal and returns its block, as it now stands
        there. `check` is told the texts that it is of, and may raise. `looked_at` is what was read for it.

        The record comes first: killed in between, it leaves a record without a block, and neither of the two
        counts without the other. What is over, or was used already, is no run to append in.
        """
        with atomic.locked(self._files.place(STATE)), atomic.locked(self._files.place(PROPOSAL)):
            began = self.state().run
            if not run or began is None or began.id != run:
                problem = f"moot has begun no review of it here. Start it with `moot challenge {self.id}`"
                raise ReviewNotTaken(problem)
            if self.review_of(run) is not None:
                raise ReviewNotTaken("a run makes one review, and this one has made its own: you are done")
            texts = self.reviewable()
            if PROPOSAL not in texts:
                raise NotFound("file", PROPOSAL)
            check(texts)
            new = review_block.append(texts[PROPOSAL], review)
            self._files.check(PROPOSAL, new)
            block = _reviews(new)[-1]
            files = reviewed.hashes({**texts, PROPOSAL: new})
            record = RecordedReview(
                hash=state_file.review_hash(block),
                verdict=review.verdict,
                engine=began.engine,
                id=uuid.uuid4().hex[:12],
                model=began.model,
                run=run,
                reviewed=reviewed.hash_of_all(self.id, files),
                files=files,
                coverage=tuple(coverage),
                looked_at=tuple(looked_at),
                dispositions=tuple(dispositions),
                placed=tuple(placed),
            )
            self.update_state(lambda data: state_file.note_review(data, record))
            try:
                self._files.write(PROPOSAL, new)
            except BaseException:
                self.update_state(lambda data: state_file.drop_review(data, run))
                raise
        return block

    def reviewable(self) -> dict[str, str]:
        """What a review is of. What binds the change is part of it: under another design, the same text is
        another plan."""
        texts = {DESIGN: self.design(), PROPOSAL: self.proposal(), **self.specs(), TASKS: self.tasks()}
        return {name: text for name, text in texts.items() if text is not None}

    def _match_blocks(self) -> tuple[tuple[Recorded, ...], tuple[Block, ...]]:
        left = list(_blocks(self.proposal() or ""))
        hashes = [state_file.review_hash(block.raw) for block in left]
        found = []
        for record in self.state().reviews or ():
            at = hashes.index(record.hash) if record.hash in hashes else None
            found.append(Recorded(record, None if at is None else left.pop(at)))
            if at is not None:
                del hashes[at]
        return tuple(found), tuple(left)

    def fingerprint(self) -> str:
        """Another one as soon as any of its files that count says something else."""
        return state_file.text_hash(json.dumps([self._files.read(STATE), self.reviewable()]))

    def mark(self) -> str:
        """Another one as soon as there is another text, phase, review or dismissal to decide about."""
        state = self.state()
        decided = msgspec.json.encode((state.phase, state.iteration, state.reviews, state.dismissed))
        return state_file.text_hash(json.dumps([decided.decode("utf-8"), self.reviewable()]))[-16:]

    # -- while somebody without respect for them is at work ----------------------------------------

    def freeze(self) -> Mapping[str, frozen.Entry]:
        """Everything in the folder, as it is now."""
        return frozen.read(self.path)

    def bring_back(self, before: Mapping[str, frozen.Entry]) -> tuple[tuple[str, ...], str]:
        """Undoes whatever was done to the folder since. Which files that were, and where what was left of
        them is kept, if anything was."""
        return frozen.bring_back(self.path, before, EARLIER)

    # -- STATE.yaml ------------------------------------------------------------------------------

    def state(self) -> ChangeState:
        """What STATE.yaml says; without one, the state of a new change."""
        text = self._files.read(STATE)
        if text is None:
            at = timestamps.now()
            return ChangeState(self.id, created_at=at, updated_at=at, reviews=())
        return understand(text, self.path / STATE, self.id)

    def update_state(self, change: Callable[[Data], None]) -> ChangeState:
        """Changes STATE.yaml under its lock. What cannot be understood, before or after, is not written."""
        path = self._files.place(STATE)

        def changed(data: Data) -> None:
            at = timestamps.now()
            if text is None:
                state_file.begin(data, self.id, at)
            else:
                understand(text, self.path / STATE, self.id)
            try:
                change(data)
                data["updated_at"] = at
                state_file.read(data, self.id)
            except InvalidField as error:
                raise InvalidInput(error.field, error.problem) from None

        with atomic.locked(path):
            text = self._files.read(STATE)
            document = YamlDocument.update(path, changed)
        return keep(document.text, self.id, state_file.read(document.data, self.id))

    def record_call(self, call: Call) -> ChangeState:
        return self.update_state(lambda data: state_file.note_call(data, call))

    def record_validation(self, validation: Validation) -> ChangeState:
        return self.update_state(lambda data: state_file.note_validation(data, validation))

    def record_checksums(self, files: Iterable[str]) -> ChangeState:
        """Of the named files as they are now; one that is not there loses its entry."""
        texts = {name: self._files.read(name) for name in files}

        def noted(data: Data) -> None:
            at = timestamps.now()
            for name, text in texts.items():
                if text is not None:
                    state_file.note_checksum(data, name, Checksum(state_file.text_hash(text), at))
                elif data.get("checksums"):
                    data["checksums"].pop(name, None)

        return self.update_state(noted)

    @property
    def _files(self) -> TextFolder:
        return TextFolder(self.path, "change", self.id)

    def _spec_names(self) -> list[str]:
        return [f"{SPECS}/{name}" for name in self._files.names(SPECS) if is_spec(name)]


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
        with atomic.locked(path / STATE):
            if _has_signs(path):
                raise AlreadyThere("change", change_id, path)
            folder = ChangeFolder(change_id, path)
            folder.update_state(lambda _: None)
        return folder

    def archive(self, folder: ChangeFolder) -> Path:
        """Moves the folder to `moot/archive/<date>-<id>`, with a number behind it where that is taken."""
        if not folder.path.is_dir():
            raise NotFound("change", folder.id)
        name = f"{timestamps.now()[:10]}-{folder.id}"
        target = self._archive_place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(2):
            try:
                # Replaces nothing but an empty folder.
                atomic.disk.rename(folder.path, target)
                break
            except OSError as error:
                if error.errno not in {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}:
                    raise
            target = self._archive_place(f"{name}-{number}")
        atomic.disk.fsync_dir(target.parent)
        atomic.disk.fsync_dir(folder.path.parent)
        return target

    def _archive_place(self, name: str) -> Path:
        place = (self._workspace.archive / name).relative_to(self._workspace.root)
        return Root(self._workspace.root).resolve(place.as_posix())


def _has_signs(path: Path) -> bool:
    return any((path / name).is_symlink() or (path / name).exists() for name in _SIGNS)


def _reviews(text: str) -> list[str]:
    return [block.raw for block in _blocks(text)]


def _blocks(text: str) -> tuple[Block, ...]:
    # A parser takes a minute for five megabytes of short lines; most texts need none to have no review.
    return review_block.blocks(text) if "review:end" in text.lower() else ()


def is_spec(name: str) -> bool:
    """Whether a file of that name, in a folder of specifications, is one."""
    return name.lower().endswith(".md") and not name.startswith(".") and name.lower() != SKELETON


def _spec_name(name: str) -> str:
    name = name.removeprefix(f"{SPECS}/")
    if "/" in name or not is_spec(name):
        raise InvalidInput("spec", f"{name[:80]!r} is no name of a Markdown file")
    return name
