"""What a person may write: text, not empty, within its limit. Knows no field by name."""

from __future__ import annotations

from moot.errors import InvalidInput


def check_text(field: str, text: str, most: int) -> None:
    """A text of exactly the limit passes."""
    if not text.strip():
        raise InvalidInput(field, "is empty")
    check_fits(field, text, most)


def check_fits(field: str, text: str, most: int) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInput(field, "contains bytes that are no UTF-8 text")
    if len(text) > most:
        raise InvalidInput(field, f"has {len(text):,} characters; at most {most:,} are taken")
