"""The MCP server: which tools there are, and what a client is told when one fails.

A server for one change has the three review tools and nothing else: a reviewer can touch no other change.
Any other server has all tools, and the review tools take the change's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import ValidationError

from moot import __version__
from moot.changes.folder import ChangeFolders
from moot.changes.review_tools import ReviewTools
from moot.errors import MootError
from moot.files.timestamps import now
from moot.llm.messages import ToolFault
from moot.mcp import reviewing
from moot.repo.reading import in_words, without_paths
from moot.text.characters import strip_controls_in
from moot.text.faults import explain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp.server.mcpserver.context import Context
    from mcp_types import CallToolResult, InputRequiredResult

    from moot.app import Moot

_REVIEWING = (
    "A change is a folder with proposal.md, specs/*.md and tasks.md. To review it, list it, read all of "
    "these files, compare them with each other and with the code (paths that begin with '@/' are the "
    "workspace's), then call append_review once. Its input is the review; what you say besides is not kept."
)
_ONE = f"moot: the review of the change '{{change}}'. {_REVIEWING}"
_DIFF = (
    "moot: the review of a diff. Read diff.patch with read_file to its end (and plan.md, if list_directory "
    "shows one), look at the code around it where that matters (paths that begin with '@/' are the "
    "workspace's), then call append_review once. Its input is the review; what you say besides is not kept."
)
_ALL = (
    "moot: argue it before you build it. convene_board puts a decision before a board of advisors and "
    "gives back their brief, which get_board reads again; stop_board, go_on_with_board and ask_again stop "
    "it, go on with it, and ask whoever did not answer; ask_persona asks one persona. begin_session begins "
    "a session of any format in which the person takes part; answer_session hands on what they answer. "
    "All of these take evidence: files, pages, text, PDFs and images that everybody in the session reads; "
    "give_evidence adds more, and correct_decided corrects what was decided so far. "
    "create_change drafts a change (a proposal with specifications and tasks) from a description; "
    f"list_changes, get_change and validate_change tell where changes stand. {_REVIEWING}"
)


class Server(MCPServer[Any]):
    """Tells a client what went wrong in one sentence: what it can correct, it can read."""

    def __init__(self, root: Path, instructions: str) -> None:
        # Warnings and worse go to stderr. What the tools do is told there by moot itself.
        super().__init__(
            "moot", title="moot", instructions=instructions, version=__version__, log_level="WARNING"
        )
        self._root = root

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        # A path or a review with such characters is refused: what is read or written must be what was named.
        if name not in reviewing.TOOLS:
            arguments = strip_controls_in(arguments)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as invalid if not isinstance(error, UnexpectedToolError):
                    told = explain(invalid.errors(), "input")
                    raise ToolError(f"Input not accepted: {told}.") from invalid
                case ToolFault() as fault:
                    raise ToolError(str(fault)) from fault
                case ToolError() as told:
                    raise ToolError(without_paths(str(told), self._root)) from told
                case MootError() as failed:
                    raise ToolError(in_words(failed, self._root)) from failed
            # A mistake of ours: the client is told that much, and stderr the rest.
            raise


def create_desk_server(moot: Moot, desk: Path, log: Callable[[str], None]) -> Server:
    """For the review of one diff, which is in that folder."""
    from moot.diffs.desk import DeskFolder, DeskTools

    root = moot.workspace.root
    server = Server(root, _DIFF)
    reviewing.add_desk(server, DeskTools(DeskFolder(desk), root, log))
    return server


def create_server(moot: Moot, change: str | None, log: Callable[[str], None], run: str = "") -> Server:
    """`change` confines the server to that change, which must be there. `run` is the challenge that it is
    for: without one, no review is taken."""
    folders = ChangeFolders(moot.workspace)
    root = moot.workspace.root
    runs: dict[str, ReviewTools] = {}

    def tools_of(change_id: str) -> ReviewTools:
        # Opened on every call, because changes come and go; kept, because it remembers what was read.
        folder = folders.open(change_id)
        return runs.setdefault(change_id, ReviewTools(folder, root, now, log, run))

    if change is not None:
        server = Server(root, _ONE.format(change=change))
        reviewing.add_confined(server, tools_of(change))
    else:
        # Not for a reviewer, who waits for the server to start and needs none of it.
        from moot.mcp import changing, costs, deliberating, giving, sessions
        from moot.mcp.calling import Calls
        from moot.sessions import SharedSessions

        server = Server(root, _ALL)
        reviewing.add(server, tools_of)
        calls = Calls(SharedSessions(moot), root)
        changing.add(server, moot, calls)
        deliberating.add(server, moot, calls)
        sessions.add(server, moot, calls)
        giving.add(server, calls)
        costs.add(server, calls)
    return server
