"""Live sessions: who drives which, who listens, and how several processes share one database.

Refuses to know any format and any wire.
"""

from moot.server.active_session import Live
from moot.server.challenge_reply import Heard, NotReplied, Replied, Word
from moot.server.hub import Engine, Work

__all__ = ["Engine", "Heard", "Live", "NotReplied", "Replied", "Word", "Work"]
