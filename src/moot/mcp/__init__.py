"""moot as a server of the Model Context Protocol: review tools, changes, the board and its advisors.

Knows the protocol and the tools' shapes. Refuses to write anything itself: it calls what commands call.
"""
