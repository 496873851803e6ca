"""Where a program sits that reviews a diff: the tools of a reviewer, and a folder for what they need.

The folder is the session's own for as long as the review takes: the diff, the plan, and in the end the
review. The tools take a review only from somebody who has read all of that, return it once where its quotes
are not in the diff, and write nothing else. Everything that a reviewer names or says is untrusted; whatever
is refused is a `ToolFault`, in words that it can act on. Refuses to know who the reviewer is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from moot.changes.lookups import Lookups
from moot.changes.review_shapes import Limit, Offset
from moot.diffs import patch as patches
from moot.diffs.findings import Review, locate
from moot.diffs.shapes import (
    DIFF,
    PLAN,
    DeskFile,
    DeskPlace,
    FindingsGiven,
    RejectsGiven,
    ReviewGiven,
    SummaryGiven,
    not_found,
)
from moot.files.atomic import write_atomic
from moot.llm.messages import ToolFault
from moot.repo import reading
from moot.repo.reading import MAX_LINES, FileContent, Listed, Listing, excerpt, lines_of
from moot.repo.secrets import is_private

_REVIEW = "review.json"


class DiffAppended(BaseModel):
    """How many findings were taken, and how many of them were not found in the diff."""

    model_config = ConfigDict(frozen=True)

    findings: int
    not_found: int


class Delivered(BaseModel):
    """A review, and what its reviewer looked up in the workspace."""

    model_config = ConfigDict(frozen=True)

    given: ReviewGiven
    looked_at: tuple[str, ...] = ()


# -- the folder ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeskFolder:
    path: Path

    def lay_out(self, diff: str, plan: str) -> None:
        (self.path / DIFF).write_text(diff, encoding="utf-8", newline="")
        if plan:
            (self.path / PLAN).write_text(plan, encoding="utf-8", newline="")

    def texts(self) -> dict[str, str]:
        return {
            name: (self.path / name).read_bytes().decode("utf-8")
            for name in (DIFF, PLAN)
            if (self.path / name).exists()
        }

    def take(self, delivered: Delivered) -> None:
        write_atomic(self.path / _REVIEW, delivered.model_dump_json())

    def delivered(self) -> Delivered | None:
        try:
            return Delivered.model_validate_json((self.path / _REVIEW).read_bytes())
        except FileNotFoundError:
            return None


# -- the tools -----------------------------------------------------------------------------------


class DeskTools(Lookups):
    """One object is one reviewer at work: it remembers what was read."""

    def __init__(self, folder: DeskFolder, workspace_root: Path, log: Callable[[str], None]) -> None:
        super().__init__(workspace_root, log)
        self._folder = folder
        self._texts = folder.texts()
        self._patch = patches.parse(self._texts[DIFF])
        self._unread = {name: set(range(1, len(lines_of(text)) + 1)) for name, text in self._texts.items()}
        self._appending = threading.Lock()
        self._returned = False

    def read_file(self, path: DeskFile, offset: Offset = 1, limit: Limit = MAX_LINES) -> FileContent:
        with self._explaining():
            # A diff says by itself which lines they are; numbers of its own lines would be others.
            content = excerpt(path, self._text(path), offset, limit, numbered=path != DIFF)
        if path in self._texts:
            self._unread[path] -= set(range(content.offset, content.last + 1))
        else:
            self._looked_at[f"{path} {content.offset}–{content.last}"] = None
        self._log(f"read {path}, lines {content.offset}–{content.last} of {content.lines}")
        return content

    def list_directory(self, path: DeskPlace = ".") -> Listing:
        with self._explaining():
            listing = self._listing(path)
        self._log(f"listed {path}")
        return listing

    def append_review(
        self, findings: FindingsGiven, summary: SummaryGiven, rejects: RejectsGiven = False
    ) -> DiffAppended:
        with self._explaining(), self._appending:
            given = ReviewGiven(findings=findings, summary=summary, rejects=rejects)
            review = given.as_review("")
            if problem := self._why_not(review):
                raise ToolFault(f"The review was not taken: {problem}")
            self._folder.take(Delivered(given=given, looked_at=tuple(self._looked_at)))
        lost = sum(locate(self._patch, said) is None for said in review.said)
        self._log(f"gave its review: {len(findings)} findings")
        return DiffAppended(findings=len(findings), not_found=lost)

    def _why_not(self, review: Review) -> str:
        if self._folder.delivered() is not None:
            return "there is one already, and one is taken."
        left = [f"{name} from line {min(lines)}" for name, lines in self._unread.items() if lines]
        if left:
            unread = ", ".join(left)
            return f"you have not read all of it. Read with read_file: {unread}. Then append your review."
        if not self._returned and (problem := not_found(self._patch, review)):
            self._returned = True
            return problem
        return ""

    def _text(self, path: str) -> str:
        if path in self._texts:
            return self._texts[path]
        return reading.read_text(self._workspace, self._below(path), path, self._hint)

    def _listing(self, path: str) -> Listing:
        if path.rstrip("/") in ("", "."):
            entries = tuple(Listed(name=name, kind="file") for name in self._texts)
            return Listing(path=".", entries=entries, truncated=False)
        return reading.list_folder(self._workspace, self._below(path), path, is_private, self._hint)

    def _below(self, path: str) -> str:
        below = self._in_workspace(path)
        if below is None:
            raise ToolFault(f"There is no {path[:200]!r}. {self._hint()}")
        return below

    def _hint(self) -> str:
        return f"There is: {', '.join(self._texts)}. '@/…' reads the workspace's files."
