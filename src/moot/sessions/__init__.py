"""Sessions of any format, for surfaces that need not know one from another: begin, look, answer, stop, go on.

Knows which formats there are, and who may do what with a session. Refuses to know any format's states and
words.
"""

from moot.sessions.service import Sessions, open_sessions

__all__ = ["Sessions", "open_sessions"]
