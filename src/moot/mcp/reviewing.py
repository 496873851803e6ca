"""The review tools over MCP: of one change, of whichever change is named, or of a diff."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from moot.changes.review_shapes import (
    DESCRIPTIONS,
    Appended,
    CoverageGiven,
    DispositionsGiven,
    FileName,
    FolderName,
    IssuesGiven,
    Limit,
    Offset,
    SummaryGiven,
    VerdictGiven,
)
from moot.changes.review_tools import ReviewTools
from moot.diffs import shapes
from moot.diffs.desk import DeskTools
from moot.mcp.hints import READS, SETS
from moot.repo.reading import MAX_LINES, FileContent, Listing

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

TOOLS = {
    "read_file": ("Read a file of a change", READS),
    "list_directory": ("List a folder of a change", READS),
    "search": ("Search the workspace", READS),
    "git_log": ("List the workspace's commits", READS),
    "git_diff": ("Show what was changed in the workspace", READS),
    # The same review again is refused, and nothing that is there is ever changed.
    "append_review": ("Append a review to a change", SETS),
}

ChangeId = Annotated[str, Field(description="The change's id, as list_changes gives it.")]


def add_confined(server: MCPServer[Any], tools: ReviewTools) -> None:
    """For a reviewer, who has no other tools: what they may look up in the workspace, too."""
    looks = (tools.search, tools.git_log, tools.git_diff)
    _add(server, tools.read_file, tools.list_directory, *looks, tools.append_review)


def add_desk(server: MCPServer[Any], tools: DeskTools) -> None:
    looks = (tools.search, tools.git_log, tools.git_diff)
    descriptions = {**DESCRIPTIONS, **shapes.DESCRIPTIONS}
    for function in (tools.read_file, tools.list_directory, *looks, tools.append_review):
        name = function.__name__
        _, annotations = TOOLS[name]
        server.add_tool(function, description=descriptions[name], annotations=annotations)


def add(server: MCPServer[Any], tools_of: Callable[[str], ReviewTools]) -> None:
    def read_file(
        change_id: ChangeId, path: FileName, offset: Offset = 1, limit: Limit = MAX_LINES
    ) -> FileContent:
        return tools_of(change_id).read_file(path, offset, limit)

    def list_directory(change_id: ChangeId, path: FolderName = ".") -> Listing:
        return tools_of(change_id).list_directory(path)

    def append_review(
        change_id: ChangeId,
        verdict: VerdictGiven,
        issues: IssuesGiven,
        summary: SummaryGiven,
        coverage: CoverageGiven | None = None,
        dispositions: DispositionsGiven | None = None,
    ) -> Appended:
        tools = tools_of(change_id)
        return tools.append_review(verdict, issues, summary, coverage, dispositions)

    _add(server, read_file, list_directory, append_review)


def _add(server: MCPServer[Any], *functions: Callable[..., Any]) -> None:
    # Plain functions: the package runs them in threads, so that none that waits for a lock stops the others.
    for function in functions:
        name = function.__name__
        title, annotations = TOOLS[name]
        server.add_tool(function, title=title, description=DESCRIPTIONS[name], annotations=annotations)
