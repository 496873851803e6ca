"""What is wrong with a text that does not parse, and in which line."""

from __future__ import annotations


class ParseError(Exception):
    """The file's name is for the caller to add."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
