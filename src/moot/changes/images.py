"""The images among a change's evidence: kept beside design.md, which is a text, and found by their hash.

What lies there under another hash was put there by somebody else, and nobody is shown it. Refuses to know who
is shown the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from moot.changes import binding
from moot.changes.folder import ChangeFolder
from moot.errors import UnsafePath
from moot.evidence import items
from moot.evidence.items import Evidence
from moot.files import atomic
from moot.files.paths import Root
from moot.llm.messages import Source

PLACE = "evidence"
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def keep(folder: ChangeFolder, evidence: Iterable[Evidence]) -> None:
    for item in evidence:
        if item.image and item.media_type in _SUFFIXES:
            atomic.write_atomic(_place(folder, item), item.image)


def with_images(folder: ChangeFolder, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The same, as it was given."""
    return tuple(msgspec.structs.replace(item, image=_read(folder, item)) for item in evidence)


def sources(folder: ChangeFolder) -> tuple[Source, ...]:
    """The images alone, for somebody who has design.md."""
    evidence = binding.read(folder.design() or "").evidence
    return tuple(one for one in items.sources(with_images(folder, evidence)) if one.image is not None)


def _read(folder: ChangeFolder, item: Evidence) -> bytes:
    if item.media_type not in _SUFFIXES or item.text:
        return b""
    try:
        data = atomic.read_bytes(_place(folder, item)) or b""
    except (UnsafePath, OSError):
        return b""
    return data if hashlib.sha256(data).hexdigest() == item.sha256 else b""


def _place(folder: ChangeFolder, item: Evidence) -> Path:
    name = "".join(one for one in item.sha256[:16] if one in "0123456789abcdef")
    return Root(folder.path).resolve(f"{PLACE}/{name}.{_SUFFIXES[item.media_type]}")
