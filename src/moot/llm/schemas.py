"""JSON schemas in the subset that providers enforce while decoding.

Both big providers want closed objects with every property required and refuse most bounds. What is
taken out of a schema here is said in its description instead, and checked by pydantic afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STRUCTURE = {"type", "enum", "const", "description", "$ref", "format"}
_TOLD = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching the pattern {}",
    "uniqueItems": "without repetition",
}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with closed objects, all properties required, and bounds moved into descriptions."""
    if "$ref" in schema:
        # Providers take no neighbours of a $ref; a description beside it is dropped.
        return {"$ref": schema["$ref"]} | _definitions(schema)
    result: dict[str, Any] = {key: schema[key] for key in schema if key in _STRUCTURE}
    if result.get("format") not in _FORMATS:
        result.pop("format", None)
    told = [words.format(schema[key]) for key, words in _TOLD.items() if schema.get(key) not in (None, False)]
    if told:
        described = [result["description"]] if "description" in result else []
        result["description"] = " ".join([*described, f"({', '.join(told)})"])
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties", {})
        result["type"] = "object"
        result["properties"] = {name: strict(value) for name, value in properties.items()}
        result["required"] = list(properties)
        result["additionalProperties"] = False
    if "items" in schema:
        result["items"] = strict(schema["items"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            result["anyOf"] = [strict(variant) for variant in schema[union]]
    if "allOf" in schema:
        result["allOf"] = [strict(variant) for variant in schema["allOf"]]
    return result | _definitions(schema)


def _definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$defs" not in schema:
        return {}
    return {"$defs": {name: strict(value) for name, value in schema["$defs"].items()}}
