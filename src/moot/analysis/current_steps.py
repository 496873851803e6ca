"""The steps as the files of the workspace say now: they are read again when one of them has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from moot.analysis import steps
from moot.personas.library import stamps

if TYPE_CHECKING:
    from moot.analysis.steps import Steps
    from moot.app import Moot
    from moot.personas.library import Library

_cache: WeakKeyDictionary[Moot, tuple[Library, object, Steps]] = WeakKeyDictionary()


def current_steps(moot: Moot) -> Steps:
    folder, library = moot.workspace.steps, moot.library
    seen = stamps(folder)
    known = _cache.get(moot)
    if known is None or known[0] is not library or known[1] != seen:
        personas = [persona.id for persona in library.personas]
        known = _cache[moot] = (library, seen, steps.load_steps(folder, personas=personas))
    return known[2]
