"""The changelog of the living specifications: an entry for each archived change, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from moot.changes.living import Does, Operation
from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK

_TITLE = """\
# Changelog

What each archived change has done to the specifications in `specs/`, newest first.
"""
_WITH = {Does.ADD: "to", Does.MODIFY: "in", Does.REMOVE: "from"}


def add_entry(
    old: str | None, change_id: str, title: str, at: str, done: Mapping[str, Sequence[Operation]]
) -> str:
    """`done` is by name of the living specification. An entry that is there already is left as it is; so is
    every other word."""
    old = old if old and old.strip() else _TITLE
    heading = " ".join(f"## {at[:10]} {change_id}: {title}".split())
    if heading in LINE_BREAK.split(old):
        return old
    entry = f"{heading}\n\n" + "\n".join(_lines(done))
    pieces = markdown.pieces(old)
    first = next((at for at, one in enumerate(pieces) if one.heading and one.heading.level == 2), len(pieces))
    above, below = ("".join(piece.text for piece in part) for part in (pieces[:first], pieces[first:]))
    eol = markdown.line_ending(old)
    page = markdown.append_block(above, LINE_BREAK.sub(eol, entry))
    if not below:
        return page
    return page + eol + markdown.separator(below, eol) + below


def _lines(done: Mapping[str, Sequence[Operation]]) -> Iterator[str]:
    for name, operations in sorted(done.items()):
        for one in operations:
            said = f"- {one.does.capitalize()} {_WITH[one.does]} `{name}`: {one.item.title}"
            # Why it does not hold any more is said nowhere else.
            because = f" ({one.item.words})" if one.does is Does.REMOVE and one.item.words else ""
            yield " ".join(f"{said}{because}".split())
