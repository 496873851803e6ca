"""Whom a request is for: the persona that it says the model is."""

from __future__ import annotations

import re

from tests.stub.script import Recorded


def speaker(request: Recorded) -> str:
    """The name; empty where it speaks as nobody."""
    found = re.search(r"^You are ([A-Z][^,\n]+),", request.system, re.MULTILINE)
    return found[1] if found else ""
