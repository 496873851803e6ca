"""Live sessions: who drives which, who listens, and how several processes share one database.

Refuses to know any format and any wire.
"""

from moot.server.active_session import ActiveSession
from moot.server.format import Format, Outbox, Payload, StreamError
from moot.server.hub import Drives, Hub
from moot.server.seen import SeenSessions
from moot.server.service import Client, Service

__all__ = [
    "ActiveSession",
    "Client",
    "Drives",
    "Format",
    "Hub",
    "Outbox",
    "Payload",
    "SeenSessions",
    "Service",
    "StreamError",
]
