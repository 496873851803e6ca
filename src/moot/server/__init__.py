"""Live sessions: who drives which, who listens, and how several processes share one database.

Refuses to know any format and any wire.
"""

from moot.server.active_session import ActiveSession
from moot.server.format import Format, Outbox, Payload
from moot.server.hub import Hub, Work

__all__ = ["ActiveSession", "Format", "Hub", "Outbox", "Payload", "Work"]
