"""The project itself: what a survey finds, without what moot has written about it.

An analysis that finds its own words in the workspace would take them for evidence, and a fingerprint that
covers its own files would change by being written down. Refuses to know what any file means.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from moot.workspace import git, survey
from moot.workspace.layout import Workspace
from moot.workspace.survey import Survey


def look(root: Path) -> Survey:
    seen = survey.look(root)
    files = tuple(own_files(root, seen.files))
    suffixes = Counter(suffix for name in files if (suffix := PurePosixPath(name).suffix.lower()))
    return replace(
        seen,
        files=files,
        suffixes=tuple(sorted(suffixes.items(), key=lambda item: (-item[1], item[0]))),
        manifests=tuple(own_files(root, seen.manifests)),
        entry_points=tuple(own_files(root, seen.entry_points)),
    )


def own_files(root: Path, files: Iterable[str]) -> Iterator[str]:
    workspace = Workspace.at(root)
    written = (workspace.items, workspace.designs, workspace.workflow_file, workspace.queue_file)
    places = [place.relative_to(root).as_posix() for place in written]
    return (
        file for file in files if not any(file == place or file.startswith(f"{place}/") for place in places)
    )


def texts(root: Path, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is a text of reasonable size, up to a sum of all."""
    return survey._texts(root, files)


def fingerprint(root: Path) -> str:
    """Tells two states of the project apart: git's commit, else a hash of the names and sizes of its files.

    What is not committed yet makes no difference to the first.
    """
    seen = look(root)
    commit = git._output(root, "rev-parse", "--verify", "HEAD") if seen.in_git else None
    if commit is not None:
        return commit.decode("ascii", "replace").strip()
    digest = hashlib.sha256()
    for name in seen.files:
        digest.update(f"{name}\0{_size(root / name)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
