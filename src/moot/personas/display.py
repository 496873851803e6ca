"""How personas are named before people."""

from __future__ import annotations


def shown_as(name: str, origin: str) -> str:
    """How whoever speaks is called before people. `origin` is the file of the workspace that has taken the
    place of a shipped persona, if one has: the name is then not the one that people know."""
    return f"{name} ({origin})" if origin else name
