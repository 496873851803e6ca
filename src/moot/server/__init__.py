"""Live sessions: who drives which, who listens, and how several processes share one database.

Refuses to know any format and any wire.
"""

from moot.server.active_session import ActiveSession
from moot.server.challenge_reply import Heard, NotReplied, Replied, Word
from moot.server.hub import Hub, Work

__all__ = ["ActiveSession", "Heard", "Hub", "NotReplied", "Replied", "Word", "Work"]
