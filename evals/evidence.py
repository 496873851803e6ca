"""Evidence of a case, as an intake would have read it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from moot.evidence.items import Evidence


def given(texts: Mapping[str, str]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(name, name, hashlib.sha256(text.encode()).hexdigest(), "text/plain", text)
        for name, text in texts.items()
    )
