"""Links in a change's files that lead to no file. Nobody is asked about addresses."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from moot.changes.proposal import Finding
from moot.files import markdown

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BEHIND_A_PATH = re.compile(r"[?#]")


def check_links(root: Path, folder: Path, name: str, text: str) -> Iterator[Finding]:
    """One that leads out of the workspace is not followed."""
    place = (folder / name).parent.relative_to(root).as_posix()
    for line, target in markdown.links(text):
        path = unquote(_BEHIND_A_PATH.split(target)[0])
        if not path or "\0" in path or _ADDRESS.match(path):
            continue
        led = posixpath.normpath(posixpath.join("" if path.startswith("/") else place, path.lstrip("/")))
        if led.split("/")[0] == "..":
            yield Finding(name, line, "warning", f"the link '{path[:80]}' leads out of the workspace")
        elif not os.path.lexists(root / led):
            yield Finding(name, line, "warning", f"the link '{path[:80]}' leads nowhere")
