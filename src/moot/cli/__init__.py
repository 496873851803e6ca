"""The command line: its commands, and how a session of each format looks in the terminal.

Knows how to parse, ask, print and exit. Refuses to know models and databases, and decides nothing.
"""
