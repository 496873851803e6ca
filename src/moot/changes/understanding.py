"""STATE.yaml as a text ⇄ what it says, kept: it is asked for often, and slow to read.

Knows in which line a field stands that says what it cannot say. Refuses to know who asks.
"""

from __future__ import annotations

import re
from pathlib import Path

from moot.changes import state_file
from moot.changes.state_file import ChangeState, InvalidField
from moot.errors import FileDamaged
from moot.files.documents import YamlDocument

_MOST_UNDERSTOOD = 64
_understood: dict[tuple[str, str], ChangeState] = {}


def keep(text: str, change_id: str, state: ChangeState) -> ChangeState:
    if len(_understood) >= _MOST_UNDERSTOOD:
        _understood.clear()
    _understood[text, change_id] = state
    return state


def understand(text: str, path: Path, change_id: str) -> ChangeState:
    known = _understood.get((text, change_id))
    if known is not None:
        return known
    data = YamlDocument.read(text, path)
    try:
        return keep(text, change_id, state_file.read(data, change_id))
    except InvalidField as error:
        found = re.search(rf"^[\"']?{re.escape(error.field)}[\"']?\s*:", text, re.MULTILINE)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        raise FileDamaged(str(path), f"{error.field}: {error.problem}", line) from None
