"""What a brainstorm has the program do, besides roundtables. Each task names the event that it leads to."""

from __future__ import annotations

from moot.brainstorm.events import CodeFound, Consulted, ScoutReported
from moot.core.flow import Task


class ScoutWorkspace(Task[ScoutReported]):
    """Look for what the workspace says about the idea."""


class LookAtCode(Task[CodeFound]):
    """Find the code that the next request is about: `code_wanted` of the state."""


class ConveneBoard(Task[Consulted]):
    """Have the Board answer the person's request."""
