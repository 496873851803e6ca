"""What is kept and shown of a reply that is of no use. Refuses to know why it is of none."""

from __future__ import annotations

LONGEST_KEPT = 4000
"""Characters of what a model or a program said instead of something useful."""


def shortened(text: str, most: int = LONGEST_KEPT) -> str:
    """Its beginning and its end: what went wrong stands at either."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half:,} characters left out) …\n{text[-half:]}"
