"""Ids of sessions whose files are in a workspace. An id names its workspace, so that no process drives a
session whose files it does not have.

Servers that share a database and serve a workspace at the same path have to share its files, too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_IN = "-in-"


def session_in(workspace: Path, format_: str, what: str) -> str:
    """The same for the same thing of the same workspace."""
    return f"{format_}{_IN}{place_of(str(workspace.resolve()))}-{_digest(what, 6)}"


def place_of(workspace: str) -> str:
    return _digest(workspace, 4)


def place_in(session_id: str) -> str:
    """The place of the session's files; empty where it has none."""
    return session_id.partition(_IN)[2].partition("-")[0]


def _digest(text: str, size: int) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogateescape"), digest_size=size).hexdigest()
