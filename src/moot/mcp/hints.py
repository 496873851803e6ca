"""What a client may expect of a tool, in the words of the protocol. Only a session can reach beyond moot."""

from mcp_types import ToolAnnotations


def _hints(*, reads: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=False, idempotent_hint=idempotent, open_world_hint=False
    )


READS = _hints(reads=True, idempotent=True)
SETS = _hints(reads=False, idempotent=True)
"""Done twice, it is as if it had been done once."""
ACTS = _hints(reads=False, idempotent=False)
WORKS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""A workflow has code changed and tests run: clients ask before they call it."""
