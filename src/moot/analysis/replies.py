"""What models draft in an analysis, once it has been validated: one struct for each prompt."""

from __future__ import annotations

from typing import Any

import msgspec


class Reading(msgspec.Struct, frozen=True):
    """`reply` is for a person who asked something; what they said may be an answer as well."""

    reply: str
    answers: bool


class Notes(msgspec.Struct, frozen=True):
    """`contents` is what each file gets: a text, user stories or rows of a table."""

    summary: str
    contents: dict[str, Any]
    missing: tuple[str, ...] = ()
    follow_up: str = ""
    decided: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    """Numbers of what was open until now, such as D4."""
    taken_back: tuple[str, ...] = ()
    """Numbers of what the person had decided or rejected, and no longer wants."""
    left_open: tuple[str, ...] = ()
    """Questions that the person leaves open."""


class FeedbackReply(msgspec.Struct, frozen=True):
    """Without `changes`, the person only asked: there is nothing to write down."""

    reply: str
    contents: dict[str, Any]
    changes: bool = True
    settled: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
