"""What a model may look up in the workspace while it works on an answer: five tools that only read.

Knows how often it may look and how much it may read in all, and says so when that is used up. Whatever is
named is confined to the workspace, and what is private is neither read nor found (reading.py). Whole lines or
none: where an answer ends before the end, it says where to go on. The same workspace and the same calls
always give the same answers. Refuses to know who looks, and what for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from moot.errors import MootError
from moot.files.paths import Root
from moot.llm.context import BYTES_PER_TOKEN, size_of
from moot.llm.messages import Tool, ToolFault
from moot.repo import git, listing, reading, search
from moot.repo.secrets import is_private
from moot.text.characters import strip_controls
from moot.text.shortening import shortened

LOOKS, TOKENS = 12, 40_000
"""What an answer that rests on the code needs as a rule. Each format may choose its own."""
LEAST_TOKENS = 1_000
"""With less there is nothing worth reading."""
SPEC_TOKENS = 1_000
"""What it takes to describe the tools to a model; see the test."""
MOST_AT_ONCE = 400
"""Lines of a file or a diff, where the model does not say how many."""
MOST_FOUND = 60
MOST_COMMITS = 20
LONGEST_LINE = 4_000

Path_ = Annotated[str, Field(description="A path in the workspace, such as 'src/app.py'; '.' is its top.")]
Where = Annotated[str, Field(description="Only in this folder or file; '.' is the whole workspace.")]
Offset = Annotated[int, Field(ge=1, description="Where to begin, counted from 1.")]
Limit = Annotated[int, Field(ge=1, le=reading.MAX_LINES, description="How many lines at most.")]


class ListDirectory(BaseModel):
    path: Path_ = "."
    offset: Offset = 1


class Search(BaseModel):
    text: Annotated[str, Field(min_length=2, max_length=200, description="A word, a name or a phrase.")]
    path: Where = "."
    offset: Offset = 1


class ReadFile(BaseModel):
    path: Path_
    offset: Offset = 1
    limit: Limit = MOST_AT_ONCE


class GitLog(BaseModel):
    path: Where = "."
    offset: Offset = 1


class GitDiff(BaseModel):
    commit: Annotated[
        str,
        Field(
            pattern=r"^(|[0-9a-f]{4,64})$",
            description="A commit's id, as git_log shows it; empty for what is not committed yet.",
        ),
    ] = ""
    path: Where = "."
    offset: Offset = 1


DESCRIPTIONS = {
    "list_directory": "List a folder of the workspace.",
    "search": (
        "Find the lines of the workspace's files in which a text occurs, whatever its case; where none has "
        "it word for word, those with another spelling of it (dry run, dry_run, dryRun, dry-run). No regular "
        "expressions. Hidden, generated and private files are not searched."
    ),
    "read_file": "Read a text file of the workspace, with the numbers of its lines.",
    "git_log": "List the latest commits with their messages, the newest first.",
    "git_diff": "Show what one commit has changed, or, without a commit, what is not committed yet.",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What a look has found: pieces that are given whole. `name` and, with `spans`, the numbers of the pieces
    given are what the person is told. `cut` says what is missing whatever is given."""

    name: str
    pieces: Sequence[str]
    offset: int
    limit: int
    unit: str = "lines"
    spans: bool = True
    cut: str = ""


class Eyes:
    """The tools for one answer. One object is one budget: `looks` calls, and `tokens` of what they answer."""

    def __init__(
        self,
        folder: Path,
        looks: int,
        tokens: int,
        tell: Callable[[str], None] = lambda _: None,
        read: dict[str, str] | None = None,
    ) -> None:
        """`tell` hears what was read, as it is; what it said is added to `read`."""
        self._root = Root(folder)
        self._looks = looks
        self._looks_left = looks
        self._tokens_left = tokens
        self._tell = tell
        self._read = {} if read is None else read
        self._looked_at: dict[str, None] = {}

    @property
    def looked_at(self) -> tuple[str, ...]:
        """What was read, in order, each once."""
        return tuple(self._looked_at)

    @property
    def is_open(self) -> bool:
        """Whether there is anything left to look with."""
        return self._looks_left > 0 and self._tokens_left > 0

    def tools(self) -> tuple[Tool, ...]:
        finds: dict[str, tuple[type[BaseModel], Callable[[Any], _Found]]] = {
            "list_directory": (ListDirectory, self._list_directory),
            "search": (Search, self._search),
            "read_file": (ReadFile, self._read_file),
            "git_log": (GitLog, self._git_log),
            "git_diff": (GitDiff, self._git_diff),
        }
        return tuple(
            Tool(name, DESCRIPTIONS[name], takes, self._looking(find))
            for name, (takes, find) in finds.items()
        )

    def _looking(self, find: Callable[[Any], _Found]) -> Callable[[Any], Any]:
        async def look(given: Any) -> str:
            if not self.is_open:
                return self._no_more()
            self._looks_left -= 1
            try:
                found = await asyncio.to_thread(find, given)
            except ToolFault as fault:
                self._tokens_left -= _tokens(str(fault))
                raise
            except (MootError, OSError) as error:
                told = reading.in_words(error, self._root.path)
                self._tokens_left -= _tokens(told)
                raise ToolFault(told) from error
            return self._give(found)

        return look

    # -- the budget --------------------------------------------------------------------------

    def _no_more(self) -> str:
        used = f"all {self._looks} looks are used" if not self._looks_left else "the room for it is used up"
        what_then = "Answer now with what you have, and say what you could not check."
        return f"Nothing more can be read: {used}. {what_then}"

    def _give(self, found: _Found) -> str:
        """As many pieces as there is room for, and where to go on."""
        first = found.offset - 1
        wanted = found.pieces[first : first + found.limit]
        if found.pieces and not wanted:
            all_of_it = f"{len(found.pieces):,} {found.unit}"
            raise ToolFault(f"{found.name} has {all_of_it}: offset={found.offset} is behind its end.")
        count = _most(len(wanted), lambda some: self._fits(self._written(found, wanted[:some])))
        answer = self._written(found, wanted[:count])
        if not self._fits(answer) or (wanted and not count):
            self._tokens_left = 0
            return self._no_more()
        self._tokens_left -= _tokens(answer)
        last = first + count
        span = f" {first + 1}–{last}" if found.spans and wanted else ""
        named = f"{found.name}{span}"
        self._looked_at[named] = None
        self._read[named] = "\n".join(wanted[:count]) or "(nothing)"
        self._tell(named)
        return answer

    def _fits(self, answer: str) -> bool:
        return len(answer) <= reading.MAX_CHARACTERS and _tokens(answer) <= self._tokens_left

    def _written(self, found: _Found, pieces: Sequence[str]) -> str:
        total, first = len(found.pieces), found.offset
        last = first + len(pieces) - 1
        if not total:
            head = f"{found.name}: nothing"
        elif last < total:
            head = f"{found.name}: {found.unit} {first}–{last} of {total}; go on with offset={last + 1}"
        else:
            head = f"{found.name}: {found.unit} {first}–{last} of {total}, to the end"
        notes = [f"[{note}]" for note in (found.cut, self._left_in_words()) if note]
        return "\n".join([f"[{head}]", *pieces, *notes])

    def _left_in_words(self) -> str:
        return f"looks left: {self._looks_left}" if self._looks_left else "this was the last look"

    # -- the tools ---------------------------------------------------------------------------

    def _list_directory(self, given: ListDirectory) -> _Found:
        below = self._below(given.path)
        listed = reading.list_folder(self._root, below, given.path, is_private, lambda: "")
        names = [f"{search.plain(one.name)}{'/' * (one.kind == 'folder')}" for one in listed.entries]
        more = f"only the first {reading.MAX_ENTRIES:,} names are known" if listed.truncated else ""
        name = "the top folder" if below == "." else f"{below.rstrip('/')}/"
        return _Found(name, names, given.offset, reading.MAX_ENTRIES, "names", spans=False, cut=more)

    def _read_file(self, given: ReadFile) -> _Found:
        below = self._below(given.path)
        text = reading.read_text(self._root, below, given.path, lambda: self._hint(below))
        return _Found(below, _numbered(reading.lines_of(text)), given.offset, given.limit)

    def _search(self, given: Search) -> _Found:
        below = self._below(given.path)
        lines, how = search.lines_with(self._root.real, given.text, "" if below == "." else below)
        name = f"lines with “{shortened(' '.join(strip_controls(given.text).split()), 60)}”"
        if below != ".":
            name += f" in {below}"
        return _Found(name, lines, given.offset, MOST_FOUND, spans=False, cut=how)

    def _git_log(self, given: GitLog) -> _Found:
        below = self._below(given.path)
        found = git.history(self._root.real, below, given.offset + MOST_COMMITS)
        if found is None:
            raise ToolFault("Git has no history of this.")
        name = "git log" if below == "." else f"git log of {below}"
        return _Found(name, [*map(_one_commit, found)], given.offset, MOST_COMMITS, "commits", spans=False)

    def _git_diff(self, given: GitDiff) -> _Found:
        below = self._below(given.path)
        names = git.changed_names(self._root.real, given.commit, below)
        if names is None:
            raise ToolFault("There is no such commit here.")
        shown = [name for name in names if not is_private(name)][: git.MOST_PATHS]
        text = git.patch(self._root.real, given.commit, shown) if shown else ""
        if text is None:
            raise ToolFault("Git cannot show this.")
        notes = []
        if hidden := len(names) - len(shown):
            notes.append(f"{hidden} more changed file{'s' * (hidden > 1)}, private or too many, not shown")
        if not given.commit and (new := self._new(below)):
            notes.append(f"new files that git does not know yet, to be read with read_file: {', '.join(new)}")
        name = f"git diff {given.commit[:10]}" if given.commit else "git diff of what is not committed"
        if below != ".":
            name += f" in {below}"
        pieces = _numbered(text.splitlines())
        return _Found(name, pieces, given.offset, MOST_AT_ONCE, spans=False, cut="; ".join(notes))

    def _new(self, below: str) -> list[str]:
        found = git.untracked(self._root.real, below)
        return [search.plain(name) for name in found if not is_private(name)][:20]

    def _below(self, path: str) -> str:
        """The path as it is below the root, once it is known that it may be read."""
        reading.check_not_private(self._root, path, path)
        parts = [part for part in path.split("/") if part not in ("", ".")]
        return "/".join(parts) or "."

    def _hint(self, below: str) -> str:
        """Files of the same name elsewhere."""
        name = below.rpartition("/")[2]
        alike = [file for file in listing.look(self._root.real).files if file.rpartition("/")[2] == name]
        return f"There is: {', '.join(alike[:5])}." if alike else "Search for it, or list a folder."


def _tokens(text: str) -> int:
    """As context.py counts, which reserves the room."""
    return -(-size_of(text) // BYTES_PER_TOKEN)


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `count` that fits."""
    if fits(count):
        return count
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _numbered(lines: Sequence[str]) -> list[str]:
    """With its number in front, no line can pass for something that is said about the text."""
    width = len(str(len(lines)))
    return [f"{number:>{width}}| {_shown(line)}" for number, line in enumerate(lines, start=1)]


def _shown(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    more = f"{len(line) - LONGEST_LINE:,} more characters of this line are not shown"
    return f"{line[:LONGEST_LINE]} … ({more})"


def _one_commit(commit: git.Commit) -> str:
    body = "".join(f"\n    {_shown(line)}" for line in commit.body.strip().splitlines())
    return f"{commit.id} {commit.date} {_shown(commit.subject)}{body}"
