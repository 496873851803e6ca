"""A folder of texts in which everything may have been put by somebody else.

Knows that a file which leads outside the folder, is no file, no text or too large is damage: it is named, and
left as it is. Refuses to know what the texts are, and never makes the folder itself: whoever holds on to one
that was moved away would otherwise leave a ghost in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from moot.errors import FileDamaged, InvalidInput, NotFound, UnsafePath
from moot.files import atomic
from moot.files.paths import Root, unlinked_root

LARGEST_FILE = 5_000_000
"""Of a file that is only passed on."""
LARGEST_DOCUMENT = 1_000_000
MOST_LINES = 20_000
"""Of a file that is also taken apart, which costs about a second for so many lines."""
_TOO_LARGE = f"larger than {LARGEST_DOCUMENT // 1_000_000} MB"
_TOO_LONG = f"more than {MOST_LINES:,} lines"


@dataclass(frozen=True, slots=True)
class TextFolder:
    """`kind` and `name` are what the person knows the folder by. Files are named relative to it."""

    path: Path
    kind: str
    name: str

    def read(self, file: str) -> str | None:
        """The text with its line ends and byte order mark as they are; None if there is no file."""
        root = self._root(file)
        try:
            text = root.read_text(file, LARGEST_DOCUMENT)
        except NotFound:
            return None
        except FileDamaged as error:
            raise self.damaged(file, error.problem, error.line) from None
        except UnsafePath as error:
            raise self.damaged(file, error.problem) from None
        except InvalidInput:
            raise self.damaged(file, f"it is {_TOO_LARGE}") from None
        if text.count("\n") > MOST_LINES:
            raise self.damaged(file, f"it has {_TOO_LONG}")
        return text

    def update(self, file: str, change: Callable[[str | None], str]) -> str:
        """Rewrites the file, under its lock, as `change` of its text, and returns the new text."""
        path = self.place(file)
        with atomic.locked(path):
            old = self.read(file)
            new = change(old)
            if new != old:
                self._replace(file, path, new)
        return new

    def write(self, file: str, text: str) -> None:
        """Replaces the file whatever it says."""
        self._replace(file, self.place(file), text)

    def names(self, folder: str) -> list[str]:
        """What is in a folder, in order. A folder that is not there is empty."""
        root = self._root(folder)
        try:
            return [entry.name for entry in root.list(folder)]
        except NotFound:
            return []
        except UnsafePath as error:
            raise self.damaged(folder, error.problem) from None

    def place(self, file: str) -> Path:
        """Where the file really is, or would be."""
        root = self._root(file)
        try:
            return root.resolve(file)
        except UnsafePath as error:
            raise self.damaged(file, error.problem) from None

    def _root(self, file: str) -> Root:
        """The folder as it is now, to look for `file` in."""
        if not self.path.is_dir():
            raise NotFound(self.kind, self.name)
        try:
            return unlinked_root(self.path)
        except UnsafePath as error:
            raise self.damaged(file, error.problem) from None

    def damaged(self, file: str, problem: str, line: int | None = None) -> FileDamaged:
        return FileDamaged(str(self.path / file), problem, line)

    def _replace(self, file: str, path: Path, text: str) -> None:
        self.check(file, text)
        atomic.write_atomic(path, text)

    def check(self, file: str, text: str) -> None:
        """Refuses a text that could not be read again."""
        # A lone surrogate is refused by the write itself, in better words.
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_DOCUMENT:
            raise InvalidInput(file, f"it would be {_TOO_LARGE}")
        if text.count("\n") > MOST_LINES:
            raise InvalidInput(file, f"it would have {_TOO_LONG}")
