"""What the JSON and the YAML of other writers have in common: numbers that keep their spelling, and damage.

A number is a plain `int` or `float` wherever Python would write it back as it was read. Otherwise it is
one that also carries its literal: `1.10`, `1e400`, an integer of five thousand digits.
"""

from __future__ import annotations

from decimal import Decimal


class ParseError(Exception):
    """Says what is wrong with a text and where; the file's name is for the caller to add."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


class KeptInt(int):
    literal: str


class KeptFloat(float):
    literal: str


def kept_float(value: float, literal: str) -> float:
    if repr(value) == literal:
        return value
    kept = KeptFloat(value)
    kept.literal = literal
    return kept


def kept_int(literal: str) -> int:
    # By way of Decimal because int() refuses more than 4,300 digits; so does str(), hence the second limit.
    value = int(Decimal(literal))
    if len(literal) < 1000 and str(value) == literal:
        return value
    kept = KeptInt(value)
    kept.literal = literal
    return kept
