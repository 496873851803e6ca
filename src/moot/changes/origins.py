"""Which changes were made from which session: read back from the changes, so that nothing has to agree with
them. Refuses to know what a session is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from moot.changes import binding
from moot.changes.folder import DESIGN, ChangeFolders
from moot.core.handover import Origin
from moot.errors import MootError
from moot.files.folder import TextFolder
from moot.files.layout import Workspace


@dataclass(frozen=True, slots=True)
class Made:
    """A change, and the phase in which it is. One that is archived is called as its folder there."""

    id: str
    phase: str

    def __str__(self) -> str:
        return f"{self.id} ({self.phase})"


def made_from(workspace: Workspace, format_: str, id_: str) -> tuple[Made, ...]:
    """Those that are archived or were given up first. One that cannot be read hides no other."""
    return tuple(
        made for origin, made in _all(workspace) if origin and (origin.format, origin.id) == (format_, id_)
    )


def _all(workspace: Workspace) -> Iterator[tuple[Origin | None, Made]]:
    archive = workspace.archive
    for place in sorted(archive.iterdir()) if archive.is_dir() else ():
        with suppress(MootError, OSError):
            design = TextFolder(place, "change", place.name).read(DESIGN)
            yield binding.origin_of(design or ""), Made(place.name, "archived")
    for folder in ChangeFolders(workspace).all():
        with suppress(MootError, OSError):
            yield binding.origin_of(folder.design() or ""), Made(folder.id, str(folder.state().phase))
