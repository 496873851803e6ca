"""TOML that is read within seconds, or refused.

The parser goes over a dotted name once for each of its parts, so that a few kilobytes can keep it busy for
minutes, and arrays that are nested too deeply end it with an error of another kind. moot reads such files
from repositories that it does not know.
"""

from __future__ import annotations

import tomllib
from typing import Any

LARGEST = 256 * 1024
"""Characters."""
MOST_DOTS = 200
"""In one line: a name does not go on in the next."""


def parse(text: str) -> dict[str, Any]:
    """Raises ValueError, which says what is wrong with the text."""
    if len(text) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 1024} KB")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MOST_DOTS:
            raise ValueError(f"more than {MOST_DOTS} dots in one line (at line {number})")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("a number in it has too many digits") from None
