"""What a review is of: the texts of a change in the one form in which they are compared.

An approval holds for exactly these texts. Left out is what moot itself writes into them afterwards, and what
a checkout may change, and nothing else:

- the complete review blocks of proposal.md, with the blank lines around them;
- the ticks of the task boxes in tasks.md, which moot makes while it has the change built;
- the kind of line ends, a byte order mark, and white space at the end of a file.

The id of the change is part of it: an approval cannot be carried to another change. Refuses to know where
files are, and what follows from two texts that differ.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from moot.changes import review_block, tasks
from moot.files.frontmatter import BOM, LINE_BREAK

PROPOSAL = "proposal.md"
TASKS = "tasks.md"

_BLANK_LINES = re.compile(r"\A(?:[ \t]*(?:\r\n|\r|\n))+")


def hashes(texts: Mapping[str, str]) -> dict[str, str]:
    """Of each file, by its name."""
    return {name: _hash(_canonical(name, text)) for name, text in sorted(texts.items())}


def hash_of_all(change_id: str, of_files: Mapping[str, str]) -> str:
    """Of what `hashes` gives."""
    lines = (f"{name} {one}" for name, one in sorted(of_files.items()))
    return _hash("\n".join((change_id, *lines)))


def _canonical(name: str, text: str) -> str:
    if name == PROPOSAL:
        text = _without_reviews(text)
    elif name == TASKS:
        text = tasks.untick_all(text)
    return LINE_BREAK.sub("\n", text.removeprefix(BOM)).rstrip()


def _without_reviews(text: str) -> str:
    pieces, at = [], 0
    for block in review_block.blocks(text):
        pieces.append(text[at : block.start])
        at = block.end
    first, *others = [*pieces, text[at:]]
    behind = (_BLANK_LINES.sub("", piece) for piece in others)
    return "\n\n".join(piece for piece in (first.rstrip(), *(one.rstrip() for one in behind)) if piece)


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
