"""The page's wire types, from the server's OpenAPI document. Pure.

Knows as much of JSON Schema as the document uses, and stops at anything else rather than guess.
"""

from __future__ import annotations

import json
from typing import Any

from moot.text.small_model import SMALL_MODEL

Schema = dict[str, Any]

NOTE = "/** Written by docs/generate.py from the server's OpenAPI document: change it, run `make docs`. */\n"

LIMITS = {
    "decision": ("SessionRequest", "decision", "maxLength"),
    "answers": ("SessionRequest", "answers", "maxItems"),
    "answer": ("Answered", "answer", "maxLength"),
    "challenge": ("ChallengeRequest", "challengeText", "maxLength"),
    "challenges": ("ChallengeRequest", "priorChallenges", "maxItems"),
    "title": ("SessionChange", "title", "maxLength"),
    "evidence": ("WeighRequest", "items", "maxItems"),
    "decided": ("CorrectionRequest", "text", "maxLength"),
}
"""Those that the page's fields observe while somebody types."""


_OPEN = {"type", "title", "description", "additionalProperties"}
"""All that is said of an object of whose fields nothing is said."""


def wire_types(document: Schema) -> str:
    schemas = document["components"]["schemas"]
    limits = ", ".join(
        f"{name}: {_limit(schemas[model]['properties'][field], keyword)}"
        for name, (model, field, keyword) in LIMITS.items()
    )
    parts = [NOTE, *(_declaration(name, schemas[name]) for name in sorted(schemas))]
    return "\n".join(
        [
            *parts,
            f"export const LIMITS = {{ {limits} }} as const;\n",
            f"export const SMALL_MODEL = {json.dumps(SMALL_MODEL)};\n",
        ]
    )


def _limit(schema: Schema, keyword: str) -> int:
    """Also of a field that may be left out."""
    return next(int(one[keyword]) for one in (schema, *schema.get("anyOf", ())) if keyword in one)


def _declaration(name: str, schema: Schema) -> str:
    said = schema.get("description", "")
    comment = f"/** {' '.join(said.split())} */\n" if said else ""
    if "properties" not in schema:
        return f"{comment}export type {name} = {_type(schema)};\n"
    required = schema.get("required", ())
    fields = "".join(
        f"  readonly {field}{'' if field in required else '?'}: {_type(value)};\n"
        for field, value in schema["properties"].items()
    )
    return f"{comment}export interface {name} {{\n{fields}}}\n"


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": str(target)}:
            return target.rsplit("/", 1)[-1]
        case {"anyOf": some} | {"oneOf": some}:
            return " | ".join(_type(one) for one in some)
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"type": "array", "items": items}:
            inner = _type(items)
            return f"readonly ({inner})[]" if "|" in inner else f"readonly {inner}[]"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"Readonly<Record<string, {_type(values)}>>"
        case {"type": "object"} if schema.keys() <= _OPEN:
            return "Readonly<Record<string, unknown>>"
        case {"type": "integer"}:
            return "number"
        case {"type": "string" | "number" | "boolean" | "null" as plain}:
            return str(plain)
    raise ValueError(f"no TypeScript is known for {schema}")
