"""How many lines a file has that a model has cited by its name: one of the item, or of the workspace.

Refuses to know what is cited of it.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path, PurePosixPath

from moot.analysis.edits import Files
from moot.repo import listing, reading, search

MOST_ASKED = 20
"""Each time, all files of the workspace are read."""


class Lines:
    """Asked for many names at one time; looks into the workspace only where one is asked for."""

    def __init__(self, root: Path, files: Files) -> None:
        self._root = root
        self._files = files
        self._asked = 0

    def __call__(self, name: str) -> int | None:
        """None where there is no such file. 0 where it is not known, because nobody may read it, or because
        what looks like a file's name may be something else, such as a host with its port."""
        if name in self._files:
            return len(reading.lines_of(self._files[name]))
        alike = [file for file in self._seen.files if file == name or file.endswith(f"/{name}")]
        if alike:
            texts = (search.text(self._root, file) for file in alike)
            return max((len(reading.lines_of(text)) for text in texts if text), default=0)
        suffixes = {suffix for suffix, _ in self._seen.suffixes}
        is_file = PurePosixPath(name).suffix.lower() in suffixes and search.may_be_read(name)
        return None if is_file and not self._seen.capped else 0

    def have(self, words: str) -> bool:
        """Whether a file of the workspace says that, none of moot's own; where not all of them are known, or
        so much was asked already, one may."""
        self._asked += 1
        seen = self._own_excluded
        if seen.capped or self._asked > MOST_ASKED:
            return True
        readable = filter(search.may_be_read, seen.files)
        return any(words in (search.text(self._root, file) or "") for file in readable)

    @cached_property
    def _own_excluded(self) -> listing.Survey:
        return search.look(self._root)

    @cached_property
    def _seen(self) -> listing.Survey:
        return listing.look(self._root)
