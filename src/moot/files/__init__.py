"""Files that other people and tools write too: where they are, which paths are safe, and writes that lose
nothing.

Refuses to know what any field means.
"""
