"""What the JSON and the YAML of other writers have in common: numbers that keep their spelling, and damage.

A float is a plain one wherever Python would write it back as it was read. Otherwise it also carries its
literal, such as `1.10`.
"""

from __future__ import annotations


class ParseError(Exception):
    """Says what is wrong with a text and where; the file's name is for the caller to add."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


class KeptFloat(float):
    literal: str


def kept_float(value: float, literal: str) -> float:
    if repr(value) == literal:
        return value
    kept = KeptFloat(value)
    kept.literal = literal
    return kept
