"""What a client may expect of a tool, in the words of the protocol. Only a session, and
what takes evidence, can reach beyond moot."""

from mcp_types import ToolAnnotations


def _hints(*, reads: bool, idempotent: bool, fetches: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=False, idempotent_hint=idempotent, open_world_hint=fetches
    )


READS = _hints(reads=True, idempotent=True)
SETS = _hints(reads=False, idempotent=True)
"""Done twice, it is as if it had been done once."""
ACTS = _hints(reads=False, idempotent=False)
FETCHES = _hints(reads=True, idempotent=True, fetches=True)
FETCHES_AND_SETS = _hints(reads=False, idempotent=True, fetches=True)
FETCHES_AND_ACTS = _hints(reads=False, idempotent=False, fetches=True)
"""They take evidence, which may be the address of a page."""
WORKS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""A workflow has code changed and tests run: clients ask before they call it."""
