"""What a brainstorm has the program do, besides roundtables. Each task names the event that it leads to."""

from __future__ import annotations

from moot.brainstorm.events import Consulted, ScoutReported
from moot.core.flow import Task


class ScoutWorkspace(Task[ScoutReported]):
    """Look for what the workspace says about the idea."""


class ConveneBoard(Task[Consulted]):
    """Have the Board answer the person's request."""
