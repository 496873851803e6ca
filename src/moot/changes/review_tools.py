"""The tools of a reviewer: read a file, list a folder, look something up in the workspace, append the review.

Knows which files a reviewer may see (the change's own, and around it the workspace's code, to read only) and
what a review must be to be taken: made in a run that moot began, of texts that were read, in agreement with
itself (R4). It writes nothing but a review, and nowhere but at the end of the
change's proposal. Refuses to know who the reviewer is and how it calls: the same tools serve a model in this
process and a client of the MCP server. Everything that a reviewer names or says is untrusted; whatever is
refused is a `ToolFault`, in words that the reviewer can act on and that name no path of the machine.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from moot.changes import history, points, quotes, review_block, rounds
from moot.changes.dispositions import Disposition, Placed, as_fate, faults, must_be_said, number
from moot.changes.folder import PROPOSAL, ChangeFolder
from moot.changes.lookups import WORKSPACE, Lookups
from moot.changes.points import Covered, as_state
from moot.changes.quotes import Spot
from moot.changes.review_block import Issue, Review, Severity, Verdict, as_severity, as_verdict
from moot.changes.review_shapes import (
    DESCRIPTIONS,
    Appended,
    CommitName,
    CoverageGiven,
    DispositionsGiven,
    FileName,
    FolderName,
    IssueGiven,
    IssuesGiven,
    Limit,
    Offset,
    SearchedFor,
    SummaryGiven,
    VerdictGiven,
    Within,
)
from moot.changes.rounds import History
from moot.errors import NotFound, UnsafePath
from moot.files.paths import Root
from moot.llm.messages import Tool, ToolFault
from moot.repo import reading
from moot.repo.reading import MAX_LINES, FileContent, Listing, excerpt, lines_of, without_numbers
from moot.repo.secrets import is_private

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class ReadFile(BaseModel):
    path: FileName
    offset: Offset = 1
    limit: Limit = MAX_LINES


class ListDirectory(BaseModel):
    path: FolderName = "."


class SearchInput(BaseModel):
    text: SearchedFor
    path: Within = WORKSPACE
    offset: Offset = 1


class GitLogInput(BaseModel):
    path: Within = WORKSPACE
    offset: Offset = 1


class GitDiffInput(BaseModel):
    commit: CommitName = ""
    path: Within = WORKSPACE
    offset: Offset = 1


class ReviewInput(BaseModel):
    verdict: VerdictGiven
    issues: IssuesGiven
    summary: SummaryGiven
    coverage: CoverageGiven = []
    dispositions: DispositionsGiven = []


# -- the tools -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """A file as it was when it was read, and the lines of it that were."""

    text: str
    lines: set[int] = field(default_factory=set)


class ReviewTools(Lookups):
    """The tools on one change. One object is one reviewer at work: it remembers what was read of the change,
    and takes no review of what was not."""

    def __init__(
        self,
        folder: ChangeFolder,
        workspace_root: Path,
        now: Callable[[], str],
        log: Callable[[str], None],
        run: str = "",
    ) -> None:
        """`now` stamps a review; `log` is told each thing that the reviewer does. `run` is the one that moot
        has begun, in which the review is made; without one, there is only reading."""
        super().__init__(workspace_root, log)
        self._folder = folder
        # Resolved once: a change's folder that is swapped for a link later leads nowhere.
        self._change = Root(folder.path)
        self._now = now
        self._run = run
        self._read: dict[Path, _Reading] = {}
        self._appending = threading.Lock()
        self._asked_for: set[str] = set()
        """What a review was returned for once, and is taken without the next time."""

    def read_file(self, path: FileName, offset: Offset = 1, limit: Limit = MAX_LINES) -> FileContent:
        with self._explaining():
            root, below = self._place(path)
            text = reading.read_text(root, below, path, self._hint)
            content = excerpt(path, text, offset, limit)
            self._note_read(root, below, text, content)
            self._looked_at[f"{path} {content.offset}–{content.last}"] = None
        self._log(f"read {path}, lines {content.offset}–{content.last} of {content.lines}")
        return content

    def list_directory(self, path: FolderName = ".") -> Listing:
        with self._explaining():
            root, below = self._place(path or ".")
            # In a change, names that begin with a dot are moot's own locks.
            hidden = (lambda name: name.startswith(".")) if root is self._change else is_private
            listing = reading.list_folder(root, below, path, hidden, self._hint)
        self._log(f"listed {path}")
        return listing

    def append_review(
        self,
        verdict: VerdictGiven,
        issues: IssuesGiven,
        summary: SummaryGiven,
        coverage: CoverageGiven | None = None,
        dispositions: DispositionsGiven | None = None,
    ) -> Appended:
        """Appends a review, one in a run. One that contradicts itself, or is of a text that was not read, is
        refused. One that does not say what became of the design's points, or of what an earlier review left
        open, is returned once, and never approves; one whose quotes are in no text is returned once, and what
        they were to show blocks nothing."""
        with self._explaining(), self._appending:
            if self._folder.proposal() is None:
                raise ToolFault("The review was not appended: the change has no proposal.md any more.")
            texts = self._quotable()
            found = [_placed(_issue(issue), texts) for issue in issues]
            review = Review(
                as_verdict(verdict), tuple(issue for issue, _ in found), summary.strip(), self._now()
            )
            covered = tuple(
                Covered(one.point.strip(), as_state(one.state), one.where.strip()) for one in coverage or ()
            )
            said = tuple(
                Disposition(one.id.strip(), as_fate(one.state), one.evidence.strip())
                for one in dispositions or ()
            )
            so_far = self._so_far()
            spoken_of = {one.id for one in said}
            silent = {name: issue for name, issue in so_far.left.items() if name not in spoken_of}
            numbered = number(review, so_far.known, silent)
            refused = [
                *self._faults_of_quotes(review),
                *_find_faults(review, covered, said),
                *faults(so_far.known, so_far.left, review.issues, said),
                *self._faults_of_coverage(review, covered),
                *self._faults_of_left(numbered, silent),
            ]
            if refused:
                raise ToolFault(f"The review was not appended: {'; '.join(dict.fromkeys(refused))}.")
            before, now = history.before_revision(self._folder), history.plain(self._folder)
            placed = [
                Placed(
                    issue.id, quotes.section(spot, texts), bool(before) and quotes.is_new(spot, before, now)
                )
                for issue, (_, spot) in zip(numbered.issues, found, strict=True)
                if spot is not None
            ]
            seen = tuple(self._looked_at)
            numbered = self._spell_out(numbered)
            self._folder.append_review(numbered, self._run, self._check_read, covered, seen, said, placed)
        counts = review_block.count(review)
        high, medium, low = (counts[severity] for severity in Severity)
        self._log(f"appended {review.verdict}: {high} High, {medium} Medium, {low} Low")
        return Appended(verdict=review.verdict.value, high=high, medium=medium, low=low)

    def _spell_out(self, review: Review) -> Review:
        due = history.points_of(self._folder)
        issues = (replace(one, description=points.spell_out(one.description, due)) for one in review.issues)
        return replace(review, issues=tuple(issues))

    def _faults_of_coverage(self, review: Review, covered: tuple[Covered, ...]) -> list[str]:
        due = history.points_of(self._folder)
        dismissed = [one.description for one in self._folder.state().dismissed]
        reasons = points.faults(due, covered, review.issues, dismissed)
        left = points.unjudged(due, covered)
        if left and (self._asks_first("points") or review.verdict is Verdict.APPROVED):
            listed = "; ".join(f"{point.id} ({point.text})" for point in left)
            reasons.append(f"say in the coverage what became of these points of the design: {listed}")
        return reasons

    def _so_far(self) -> History:
        """What a review has to take up. What cannot append one is told that, and nothing else."""
        begun = self._folder.state().run
        may = begun is not None and begun.id == self._run and not self.has_appended()
        return rounds.history(self._folder) if may else History((), frozenset())

    def _faults_of_left(self, review: Review, left: Mapping[str, Issue]) -> list[str]:
        raised = {issue.id for issue in review.issues}
        silent = {name: issue for name, issue in left.items() if name not in raised}
        if not silent or not (self._asks_first("left") or must_be_said(silent, review.verdict)):
            return []
        listed = "; ".join(
            f"{name} ({issue.severity}: {issue.description})" for name, issue in silent.items()
        )
        return [
            "raise these issues of the last review again by their ids, or say in the dispositions that they "
            f"are fixed or withdrawn: {listed}"
        ]

    def _faults_of_quotes(self, review: Review) -> list[str]:
        nowhere = [str(at) for at, issue in enumerate(review.issues, start=1) if not issue.grounded]
        if not nowhere or not self._asks_first("quotes"):
            return []
        return [
            f"the quote of issue {', '.join(nowhere)} is in none of the files: copy the words exactly "
            "and from one place; what nothing can be quoted for blocks nothing"
        ]

    def _asks_first(self, what: str) -> bool:
        """Whether this is the first time in the run."""
        first = what not in self._asked_for
        self._asked_for.add(what)
        return first

    def _quotable(self) -> dict[str, str]:
        """What an issue may quote: the texts without the reviews in them, and what the person has said."""
        texts = self._folder.reviewable()
        if PROPOSAL in texts:
            texts[PROPOSAL] = review_block.outside(texts[PROPOSAL])
        said = enumerate(self._folder.state().said, start=1)
        return texts | {f"what the person said ({at})": one.text for at, one in said}

    def has_appended(self) -> bool:
        """Whether the run has its review."""
        return self._folder.review_of(self._run) is not None

    def texts(self) -> dict[str, str]:
        """What has to be read for a review."""
        return self._folder.reviewable()

    def give(self, *names: str) -> dict[str, str]:
        """These texts of the change, or all of them, for a reviewer that gets them at once: it has read
        them."""
        texts = self._folder.reviewable()
        texts = {name: text for name, text in texts.items() if not names or name in names}
        for name, text in texts.items():
            reading = self._read[self._change.resolve(name)] = _Reading(text)
            last = len(lines_of(text))
            reading.lines.update(range(1, last + 1))
            self._looked_at[f"{name} 1–{last}"] = None
        return texts

    def _note_read(self, root: Root, below: str, text: str, content: FileContent) -> None:
        place = root.resolve(below)
        if not place.is_relative_to(self._change.real):
            return
        reading = self._read.get(place)
        if reading is None or reading.text != text:
            reading = self._read[place] = _Reading(text)
        reading.lines.update(range(content.offset, content.last + 1))

    def _check_read(self, texts: Mapping[str, str]) -> None:
        unread = []
        for name, text in texts.items():
            reading = self._read.get(self._change.resolve(name))
            if reading is None:
                unread.append(name)
            elif reading.text != text:
                unread.append(f"{name} (it has changed since you read it)")
            elif left := set(range(1, len(lines_of(text)) + 1)) - reading.lines:
                unread.append(f"{name} (from line {min(left)})")
        if unread:
            raise ToolFault(
                f"The review was not appended: you have not read all of the change. Read with read_file: "
                f"{', '.join(unread)}. Then append your review."
            )

    def tools(self) -> tuple[Tool, ...]:
        """The same for a model in this process."""

        async def read(given: ReadFile) -> str:
            content = await asyncio.to_thread(self.read_file, given.path, given.offset, given.limit)
            return _as_text(content)

        async def listed(given: ListDirectory) -> str:
            listing = await asyncio.to_thread(self.list_directory, given.path)
            more = "\n(and more)" if listing.truncated else ""
            return (
                "\n".join(f"{e.name}{'/' * (e.kind == 'folder')}" for e in listing.entries) + more
                or "(empty)"
            )

        async def append(given: ReviewInput) -> str:
            done = await asyncio.to_thread(
                self.append_review,
                given.verdict,
                given.issues,
                given.summary,
                given.coverage,
                given.dispositions,
            )
            return f"Appended: {done.verdict}, {done.high} High, {done.medium} Medium, {done.low} Low."

        async def searched(given: SearchInput) -> str:
            return await self.search(given.text, given.path, given.offset)

        async def logged(given: GitLogInput) -> str:
            return await self.git_log(given.path, given.offset)

        async def compared(given: GitDiffInput) -> str:
            return await self.git_diff(given.commit, given.path, given.offset)

        takes: dict[str, tuple[type[BaseModel], Any]] = {
            "read_file": (ReadFile, read),
            "list_directory": (ListDirectory, listed),
            "search": (SearchInput, searched),
            "git_log": (GitLogInput, logged),
            "git_diff": (GitDiffInput, compared),
            "append_review": (ReviewInput, append),
        }
        return tuple(Tool(name, DESCRIPTIONS[name], shape, run) for name, (shape, run) in takes.items())

    def _place(self, path: str) -> tuple[Root, str]:
        """Which root a path is below, and where."""
        below = self._in_workspace(path)
        return (self._change, path) if below is None else (self._workspace, below)

    def _hint(self) -> str:
        names: list[str] = []
        try:
            for entry in self._change.list():
                if entry.name == "specs" and entry.kind == "folder":
                    names += [f"specs/{spec.name}" for spec in self._change.list("specs")]
                elif not entry.name.startswith("."):
                    names.append(entry.name)
        except (UnsafePath, NotFound):
            return "The change's folder is not there any more."
        return f"The change has: {', '.join(names[:50]) or 'no files'}. '@/…' reads the workspace's files."


def _as_text(content: FileContent) -> str:
    if not content.truncated:
        return content.text or "(empty)"
    go_on = f"go on with offset={content.next_offset}" if content.next_offset else "a line was too long"
    return f"{content.text}\n\n[lines {content.offset}–{content.last} of {content.lines}; {go_on}]"


def _issue(given: IssueGiven) -> Issue:
    return Issue(
        as_severity(given.severity),
        given.description.strip(),
        given.location.strip(),
        given.recommendation.strip(),
        given.id.strip(),
        given.quote.strip(),
    )


def _placed(issue: Issue, texts: Mapping[str, str]) -> tuple[Issue, Spot | None]:
    spot = quotes.find(issue.quote, texts)
    # It is kept as the text has it, without the numbers that a reviewer has copied along.
    bare = without_numbers(issue.quote)
    quote = bare if spot is not None and quotes.find(bare, texts) == spot else issue.quote
    return replace(issue, grounded=spot is not None, quote=quote), spot


def _find_faults(review: Review, covered: tuple[Covered, ...], said: tuple[Disposition, ...]) -> list[str]:
    """Every reason at once, so that one correction is enough."""
    reasons = list(review_block.contradictions(review))
    fields = {
        "the summary": review.summary,
        "the coverage": "".join(one.where for one in covered),
        "the dispositions": "".join(one.evidence for one in said),
    }
    for at, issue in enumerate(review.issues, start=1):
        if not issue.description:
            reasons.append(f"issue {at} has no description")
        texts = (issue.description, issue.location, issue.recommendation, issue.quote)
        fields[f"issue {at}"] = "".join(texts)
    for name, text in fields.items():
        if found := _CONTROL.search(text):
            reasons.append(f"{name} contains the control character U+{ord(found[0]):04X}")
    return reasons
