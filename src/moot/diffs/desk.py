"""Where a program sits that reviews a diff: the three tools of a reviewer, and a folder for what they need.

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
from typing import Literal

from pydantic import BaseModel, ConfigDict

from moot.changes.review_shapes import FolderName, Limit, Offset
from moot.diffs import patch as patches
from moot.diffs.findings import Review, locate
from moot.diffs.shapes import DIFF, PLAN, FindingsGiven, RejectsGiven, ReviewGiven, SummaryGiven, not_found
from moot.errors import MootError
from moot.files.atomic import write_atomic
from moot.files.paths import Root
from moot.llm.messages import ToolFault
from moot.repo import reading
from moot.repo.reading import MAX_LINES, FileContent, Listed, Listing, excerpt, in_words, lines_of
from moot.repo.secrets import is_private

_REVIEW = "review.json"
WORKSPACE = "@"
"""Paths below this name are the workspace's."""


class DiffAppended(BaseModel):
    """How many findings were taken, and how many of them were not found in the diff."""

    model_config = ConfigDict(frozen=True)

    findings: int
    not_found: int


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

    def take(self, given: ReviewGiven) -> None:
        write_atomic(self.path / _REVIEW, given.model_dump_json())

    def review(self, by: str) -> Review | None:
        try:
            given = ReviewGiven.model_validate_json((self.path / _REVIEW).read_bytes())
        except FileNotFoundError:
            return None
        return given.as_review(by)


# -- the tools -----------------------------------------------------------------------------------


class DeskTools:
    """One object is one reviewer at work: it remembers what was read."""

    def __init__(self, folder: DeskFolder, workspace_root: Path, log: Callable[[str], None]) -> None:
        self._folder = folder
        self._texts = folder.texts()
        self._patch = patches.parse(self._texts[DIFF])
        self._root = workspace_root
        self._workspace = Root(workspace_root)
        self._log = log
        self._unread = {name: set(range(1, len(lines_of(text)) + 1)) for name, text in self._texts.items()}
        self._appending = threading.Lock()
        self._returned = False

    def read_file(self, path: str, offset: Offset = 1, limit: Limit = MAX_LINES) -> FileContent:
        try:
            if path in self._texts:
                content = excerpt(path, self._texts[path], offset, limit)
                self._unread[path] -= set(range(content.offset, content.last + 1))
            else:
                below = self._below(path)
                content = excerpt(
                    path, reading.read_text(self._workspace, below, path, self._hint), offset, limit
                )
        except (ToolFault, MootError, OSError) as problem:
            raise self._refusal(problem) from problem
        self._log(f"read {path}, lines {content.offset}–{content.last} of {content.lines}")
        return content

    def list_directory(self, path: FolderName = ".") -> Listing:
        try:
            if path in ("", ".", "./"):
                kind: Literal["file"] = "file"
                entries = tuple(Listed(name=name, kind=kind) for name in self._texts)
                listing = Listing(path=".", entries=entries, truncated=False)
            else:
                below = self._below(path)
                listing = reading.list_folder(self._workspace, below, path, is_private, self._hint)
        except (ToolFault, MootError, OSError) as problem:
            raise self._refusal(problem) from problem
        self._log(f"listed {path}")
        return listing

    def append_review(
        self, findings: FindingsGiven, summary: SummaryGiven, rejects: RejectsGiven = False
    ) -> DiffAppended:
        with self._appending:
            given = ReviewGiven(findings=findings, summary=summary, rejects=rejects)
            review = given.as_review("")
            problem = self._why_not(review)
            if problem:
                self._log(f"was refused: {problem}")
                raise ToolFault(f"The review was not taken: {problem}")
            self._folder.take(given)
        lost = sum(locate(self._patch, said) is None for said in review.said)
        self._log(f"gave its review: {len(findings)} findings")
        return DiffAppended(findings=len(findings), not_found=lost)

    def _why_not(self, review: Review) -> str:
        if self._folder.review("") is not None:
            return "there is one already, and one is taken."
        left = [f"{name} from line {min(lines)}" for name, lines in self._unread.items() if lines]
        if left:
            unread = ", ".join(left)
            return f"you have not read all of it. Read with read_file: {unread}. Then append your review."
        if not self._returned and (problem := not_found(self._patch, review)):
            self._returned = True
            return problem
        return ""

    def _below(self, path: str) -> str:
        if path != WORKSPACE and not path.startswith(f"{WORKSPACE}/"):
            raise ToolFault(f"There is no {path[:200]!r}. {self._hint()}")
        below = path[len(WORKSPACE) :].lstrip("/") or "."
        reading.check_not_private(self._workspace, below, path)
        return below

    def _hint(self) -> str:
        return f"There is: {', '.join(self._texts)}. '@/…' reads the workspace's files."

    def _refusal(self, problem: Exception) -> ToolFault:
        told = str(problem) if isinstance(problem, ToolFault) else in_words(problem, self._root)  # type: ignore[arg-type]
        self._log(f"was refused: {told}")
        return ToolFault(told)
