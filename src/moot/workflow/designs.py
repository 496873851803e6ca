"""The documents that brainstorms end in: `moot/designs/<date>-<slug>.md`.

Knows how they are called, and that one which is there belongs to whoever wrote it: it is never written over.
The same text under the same name is the same document, so that whoever was killed while writing one finds it
again. Refuses to know what is in them.
"""

from __future__ import annotations

from itertools import count

from moot.analysis.item_meta import slug_of
from moot.errors import FileDamaged, NotFound, UnsafePath
from moot.files import atomic
from moot.files.layout import Workspace
from moot.files.paths import Root

LARGEST = 1_000_000
_LONGEST_TITLE = 80


class Designs:
    def __init__(self, workspace: Workspace) -> None:
        self._root = Root(workspace.root)
        self._folder = workspace.designs.relative_to(workspace.root).as_posix()

    def save(self, date: str, title: str, text: str) -> str:
        """Writes it, unless it is there already. Returns its path, relative to the workspace."""
        stem = f"{date}-{slug_of(title[:_LONGEST_TITLE])}"
        # One lock for all of them, so that two processes cannot both find a name free.
        with atomic.locked(self._root.resolve(f"{self._folder}/.names")):
            for number in count(1):
                name = f"{self._folder}/{stem}{'' if number == 1 else f'-{number}'}.md"
                path = self._root.resolve(name)
                if not path.exists():
                    atomic.write_atomic(path, text)
                    return name
                if path.is_file() and path.read_bytes() == text.encode():
                    return name
        raise AssertionError("counting ends only by returning")

    def read(self, name: str) -> str:
        """What the document says now: a person may have changed it. One that is gone is empty."""
        try:
            return self._root.read_text(name, LARGEST)
        except NotFound:
            return ""
        except UnsafePath as error:
            raise FileDamaged(name, error.problem) from None
