"""Sessions of any format, for surfaces that need not know one from another: begin, look, answer, stop, go on.

Knows which formats there are, and who may do what with a session. Refuses to know any format's states and
words.
"""

from moot.sessions.service import Sessions, SharedSessions, open_sessions
from moot.sessions.turn import Turn, take_turn

__all__ = ["Sessions", "SharedSessions", "Turn", "open_sessions", "take_turn"]
