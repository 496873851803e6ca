"""A minimal valid instance of a JSON schema, always the same one for the same schema.

Knows the part of JSON Schema that model APIs accept and pydantic writes. Refuses patterns, `not` and
conditionals by ignoring them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_FORMATS = {
    "date": "2026-01-{:02d}",
    "date-time": "2026-01-{:02d}T00:00:00Z",
    "time": "00:00:{:02d}Z",
    "duration": "PT{}S",
    "email": "stub{}@example.org",
    "uri": "https://example.org/{}",
    "uuid": "00000000-0000-4000-8000-{:012d}",
    "ipv4": "127.0.0.{}",
}


class Bottomless(ValueError):
    """The schema demands an instance of itself inside every instance of itself."""


def instance_of(schema: Schema | bool) -> Any:
    return _make(schema, schema if isinstance(schema, Mapping) else {}, 1, ())


def _make(schema: Schema | bool, root: Schema, nth: int, trail: tuple[str, ...]) -> Any:
    """`nth` makes the items of a list differ; `trail` holds the references being followed."""
    if isinstance(schema, bool):
        return "stub"
    schema, trail = _settled(schema, root, trail)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][(nth - 1) % len(schema["enum"])]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return _first_possible(schema[choice], _without(schema, choice), root, nth, trail)
    kind = _type_of(schema)
    if kind in ("object", "array"):
        return (_object if kind == "object" else _array)(schema, root, nth, trail)
    return _scalar(kind, schema, nth)


def _settled(schema: Schema, root: Schema, trail: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
    """The schema with its references and `allOf`s put in place."""
    while "$ref" in schema:
        reference = schema["$ref"]
        if reference in trail:
            raise Bottomless(reference)
        trail = (*trail, reference)
        schema = _merged(_resolve(reference, root), _without(schema, "$ref"))
    if "allOf" in schema:
        parts = [_settled(part, root, trail)[0] for part in schema["allOf"]]
        schema = _merged(_without(schema, "allOf"), *parts)
    return schema, trail


def _scalar(kind: str, schema: Schema, nth: int) -> Any:
    match kind:
        case "integer" | "number":
            return _number(schema, nth, whole=kind == "integer")
        case "boolean":
            return nth % 2 == 1
        case "null":
            return None
        case _:
            return _string(schema, nth)


def _first_possible(options: list[Any], rest: Schema, root: Schema, nth: int, trail: tuple[str, ...]) -> Any:
    for option in options:
        try:
            return _make(_merged(rest, option) if isinstance(option, Mapping) else option, root, nth, trail)
        except Bottomless:
            continue
    raise Bottomless(str(options))


def _object(schema: Schema, root: Schema, nth: int, trail: tuple[str, ...]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    made = {
        name: _make(properties.get(name, True), root, nth, trail)
        for name in [*properties, *required]
        if name in required
    }
    extra = schema.get("additionalProperties", True)
    for index in range(schema.get("minProperties", 0) - len(made)):
        made[f"key{index + 1}"] = _make(extra, root, index + 1, trail)
    return made


def _array(schema: Schema, root: Schema, nth: int, trail: tuple[str, ...]) -> list[Any]:
    made = [_make(item, root, nth, trail) for item in schema.get("prefixItems", ())]
    items = schema.get("items", True)
    missing = schema.get("minItems", 0) - len(made)
    return made + [_make(items, root, index + 1, trail) for index in range(missing)]


def _string(schema: Schema, nth: int) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]].format(nth)
    word = "stub" if nth == 1 else f"{nth}stub"
    length: int = max(len(word), schema.get("minLength", 0))
    length = min(length, schema.get("maxLength", length))
    return (word * (length // len(word) + 1))[:length]


def _number(schema: Schema, nth: int, *, whole: bool) -> float:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    step = schema.get("multipleOf") or (1 if whole else None)
    if step is not None:
        first = max(math.ceil(low / step) if low > -math.inf else -math.inf, _next(above, step))
        last = min(math.floor(high / step) if high < math.inf else math.inf, -_next(-below, step))
        count = _clamp(nth - 1 + max(0, first), first, last)
        return int(count) * step
    low, high = max(low, above), min(high, below)
    value = _clamp(nth - 1 + max(0.0, low), low, high)
    if above < value < below:
        return value
    if math.isinf(high):
        return value + 1
    return (low + high) / 2 if math.isfinite(low) else value - 1


def _next(bound: float, step: float) -> float:
    """The smallest multiple of `step` beyond `bound`, in steps."""
    return math.floor(bound / step) + 1 if math.isfinite(bound) else -math.inf


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _type_of(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(kind)


def _resolve(reference: str, root: Schema) -> Schema:
    found: Any = root
    for name in reference.removeprefix("#").split("/")[1:]:
        found = found[name.replace("~1", "/").replace("~0", "~")]
    resolved: Schema = found
    return resolved


def _merged(*parts: Schema) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        properties = {**merged.get("properties", {}), **part.get("properties", {})}
        required = [*merged.get("required", ()), *part.get("required", ())]
        merged |= part
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = required
    return merged


def _without(schema: Schema, key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}
