"""Reading what a person types at a menu: the key of an option, or the first word of its label."""

from __future__ import annotations

from collections.abc import Sequence

from moot.core.flow import Option
from moot.errors import InvalidInput


def chosen(options: Sequence[Option], text: str, besides: Sequence[Option] = ()) -> tuple[str, str]:
    """The key of the option that was chosen, and what was written after it. `besides` are offered, too, and
    are for somebody else to read."""
    word, _, rest = text.strip().partition(" ")
    named = word.casefold()
    found = [option for option in options if option.key.casefold() == named]
    found = found or [option for option in options if named and _first_word(option) == named]
    if len(found) != 1:
        offered = ", ".join(option.key or "Enter" for option in (*options, *besides))
        hint = "; to say something, begin with D" if rest and any(one.key == "D" for one in options) else ""
        raise InvalidInput("choice", f"{text.strip()[:80]!r} is none of those offered: {offered}{hint}")
    return found[0].key, rest.strip()


def _first_word(option: Option) -> str:
    """Of a numbered option there is none: its label is somebody's text."""
    return "" if option.key.isdigit() else option.label.split(maxsplit=1)[0].strip(",:;.").casefold()
