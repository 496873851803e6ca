"""The command line: a file per command, and the terminal's screens of each format.

Knows how to parse, ask, print and exit. Refuses to know models and databases, and decides nothing.
"""
