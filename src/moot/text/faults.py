"""What is wrong with a value, in plain words: which field, what it is and what is expected there.

Knows the kinds of faults that pydantic and msgspec find, and says each in moot's own words: no text of theirs
reaches a person or a model. Refuses to know where the value came from and what happens next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moot.text.masking import mask

MOST_EXPLAINED = 5
_MOST_SHOWN = 40
_NO_FORMS: Mapping[str, str] = {}

_TEXT, _NUMBER, _WHOLE = "text", "a number", "a whole number"
_LIST, _MAPPING, _SWITCH = "a list", "a mapping of names to values", "true or false"
_KINDS = {
    "string": _TEXT,
    "int": _WHOLE,
    "float": _NUMBER,
    "bool": _SWITCH,
    "list": _LIST,
    "tuple": _LIST,
    "dict": _MAPPING,
    "model": _MAPPING,
}
"""What is expected, by how the name of a fault begins: the kinds of values that moot's own shapes have."""
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}
_ALWAYS_SAID = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "json_invalid": "is no valid JSON",
    "json_type": "is no valid JSON",
    "string_unicode": "has half a character in it",
}
_BRANCH = re.compile(r"str|int|float|bool|none|\[key\]|[\w-]+[\[(].*[\])]")
"""A part of a place that names an alternative of a type and no field."""


def explain(faults: Iterable[Mapping[str, Any]], whole: str = "value") -> str:
    """At most five faults, each as `field: what is wrong`. `whole` names the value itself."""
    explained = list(
        dict.fromkeys(f"{field_of(fault['loc']) or whole}: {fault_of(fault)}" for fault in faults)
    )
    more = f"; and {len(explained) - MOST_EXPLAINED} more" if len(explained) > MOST_EXPLAINED else ""
    return "; ".join(explained[:MOST_EXPLAINED]) + more


def field_of(place: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in place if isinstance(part, int) or not _BRANCH.fullmatch(part))


def fault_of(fault: Mapping[str, Any], forms: Mapping[str, str] = _NO_FORMS) -> str:
    """What is wrong, without the field's name. `forms` says what the patterns of texts mean."""
    kind, given, more = str(fault["type"]), fault.get("input"), fault.get("ctx") or {}
    if kind in _ALWAYS_SAID:
        return _ALWAYS_SAID[kind]
    if kind in {"value_error", "assertion_error"}:
        # Raised by a check of ours, in words of ours.
        return str(more.get("error", "")) or "cannot be taken"
    if kind == "string_pattern_mismatch":
        return forms.get(more["pattern"], f"has to match the pattern {more['pattern']}")
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"has to be {words} {more[name]}{_but(given)}"
    if kind in {"literal_error", "enum"}:
        return f"has to be {more['expected']}{_but(given)}"
    if kind == "int_from_float":
        return f"has to be {_WHOLE}{_but(given)}"
    if kind.endswith(("too_short", "too_long")):
        return _length(kind, more)
    expected = next((words for name, words in _KINDS.items() if kind.startswith(f"{name}_")), "")
    if not expected:
        return f"cannot be {_kind(given)} here"
    if kind.endswith(("_parsing", "_invalid", "_unicode")):
        return f"has to be {expected}{_but(given)}"
    return f"has to be {expected}, and is {_kind(given)}"


def msgspec_fault(text: str) -> str:
    """What msgspec found, which gives its findings as sentences only: without the place that it names."""
    if "missing required field" in text:
        return "is missing"
    if found := re.match(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`", text):
        wanted = [_MSGSPEC.get(kind.strip(), "") for kind in found["wanted"].split("|")]
        names = " or ".join(dict.fromkeys(name for name in wanted if name))
        return f"has to be {names or 'another kind of value'}, and is {_MSGSPEC.get(found['given'], 'not')}"
    if found := re.match(r"Expected `(?P<wanted>[^`]*)`( of length)? (?P<how>[<>]=) (?P<bound>[\d.]+)", text):
        return f"has to be {'at least' if found['how'] == '>=' else 'at most'} {found['bound']}"
    if found := re.match(r"Invalid enum value (?P<value>.*)", text):
        return f"cannot be {found['value'][:_MOST_SHOWN]}"
    return "cannot be taken"


_MSGSPEC = {
    "str": _TEXT,
    "int": _WHOLE,
    "float": _NUMBER,
    "bool": _SWITCH,
    "array": _LIST,
    "object": _MAPPING,
    "null": "nothing",
}


def _length(kind: str, more: Mapping[str, Any]) -> str:
    is_least = kind.endswith("short")
    bound = more["min_length" if is_least else "max_length"]
    if is_least and bound == 1:
        return "must not be empty"
    one = "character" if kind.startswith("string") else "entry"
    many = {"character": "characters", "entry": "entries"}[one]
    return f"has to have at {'least' if is_least else 'most'} {bound} {one if bound == 1 else many}"


def _but(given: Any) -> str:
    """A short value is shown, masked; of a long one only what it is."""
    if isinstance(given, str | bool | int | float):
        shown = mask(repr(given))
        return f", and is {shown if len(shown) <= _MOST_SHOWN else _kind(given)}"
    return f", and is {_kind(given)}"


def _kind(given: Any) -> str:
    match given:
        case None:
            return "nothing"
        case bool():
            return str(given).lower()
        case int() | float():
            return _NUMBER
        case str() | bytes():
            return _TEXT
        case Mapping():
            return "a mapping"
        case list() | tuple() | set() | frozenset():
            return _LIST
    return "something else"
