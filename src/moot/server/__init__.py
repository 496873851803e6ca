"""Who drives which session: this process, or whichever of several on one PostgreSQL."""

from moot.engine.engine import Engine, Work
from moot.engine.floor import Heard, NotReplied, Replied, Word
from moot.engine.live import Live

__all__ = ["Engine", "Heard", "Live", "NotReplied", "Replied", "Word", "Work"]
