"""What a reviewer may look up in the workspace besides the files that it reads by name, whatever it reviews.

Names of the workspace begin with `@` here. Whatever goes wrong is a `ToolFault`, in words that a reviewer can
act on and that name no path of the machine. Remembers what was looked at. Refuses to know what is reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from moot.changes.review_shapes import CommitName, Offset, SearchedFor, Within
from moot.errors import MootError
from moot.files.paths import Root
from moot.llm.messages import ToolFault
from moot.repo import reading
from moot.repo.eyes import Eyes, GitDiff, GitLog, Search
from moot.repo.reading import in_words

WORKSPACE = "@"
"""Paths below this name are the workspace's."""
LOOKS, LOOK_TOKENS = 60, 120_000
"""What a review may look up besides the files that it reads by name."""


class Lookups:
    """`log` is told each thing that the reviewer does."""

    def __init__(self, workspace_root: Path, log: Callable[[str], None]) -> None:
        self._workspace_root = workspace_root
        self._workspace = Root(workspace_root)
        self._log = log
        self._looked_at: dict[str, None] = {}
        self._eyes = {
            tool.name: tool for tool in Eyes(workspace_root, LOOKS, LOOK_TOKENS, self._tell).tools()
        }

    async def search(self, text: SearchedFor, path: Within = WORKSPACE, offset: Offset = 1) -> str:
        return await self._look_up("search", Search(text=text, path=_below(path), offset=offset))

    async def git_log(self, path: Within = WORKSPACE, offset: Offset = 1) -> str:
        return await self._look_up("git_log", GitLog(path=_below(path), offset=offset))

    async def git_diff(self, commit: CommitName = "", path: Within = WORKSPACE, offset: Offset = 1) -> str:
        return await self._look_up("git_diff", GitDiff(commit=commit, path=_below(path), offset=offset))

    async def _look_up(self, tool: str, given: BaseModel) -> str:
        with self._explaining():
            return await self._eyes[tool].run(given)

    def _tell(self, what: str) -> None:
        self._looked_at[what] = None
        self._log(f"read {what}")

    def _in_workspace(self, path: str) -> str | None:
        """Where a name of the workspace is below its root; None for any other name."""
        if path != WORKSPACE and not path.startswith(f"{WORKSPACE}/"):
            return None
        below = _below(path)
        reading.check_not_private(self._workspace, below, path)
        return below

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Whatever goes wrong, in words for the reviewer."""
        try:
            yield
        except ToolFault as fault:
            self._log(f"was refused: {fault}")
            raise
        except (MootError, OSError) as error:
            told = in_words(error, self._workspace_root)
            self._log(f"was refused: {told}")
            raise ToolFault(told) from error


def _below(path: str) -> str:
    """Of the workspace, as `@/src` is called here: in it, that is `src`."""
    return path.removeprefix(WORKSPACE).lstrip("/") or "."
