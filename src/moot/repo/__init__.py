"""The person's repository, read only: its files, where words occur, what git knows, and what may never be
sent.

Refuses to know what somebody wants to do there.
"""
