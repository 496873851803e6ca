"""A JSON schema as a grammar of llama.cpp, so that a typed draft always ends and always parses.

It knows the schemas that pydantic writes for the drafts of moot: objects, lists, texts, whole numbers between
bounds, and values that are listed. What no draft has, and it could not promise to keep, it refuses:
recursion, any other number, a pattern of letters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from moot.errors import RequestRejected

Json = Mapping[str, Any]

_DANGLING = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be because but by for from how i if in including into is it its my no not of on "
        "or our so than that the their they this to was we were when where which while who will with "
        "you your",
    )
)

# Left to begin by itself, a tiny model begins with a heading, a date or in another language. None of these
# is shorter than two letters and a space, or longer than seven letters.
_TELLING = ("We ", "The ", "This ", "It is ", "If we ", "Our ", "There ", "People ")
_ASKING = ("What ", "How ", "Who ", "Why ", "When ", "Which ", "Is it ", "Do we ")

_SENTENCE = 60
"""Strings that may be this long are sentences; shorter ones are names."""


class Grammar:
    """A JSON schema as a llama.cpp grammar that cannot run on: every string and list is bounded, every
    property is written, and there is no white space to get lost in. The engine has a converter of its
    own, but it bounds nothing, allows white space anywhere and prints warnings to stderr.

    `plain` restricts strings to what looks like an English sentence; without it, a tiny model fills
    them with braces, dates and web addresses. `longest` is the length of the longest JSON, which no
    number of tokens exceeds.
    """

    def __init__(self, schema: Json, *, plain: bool, model: str) -> None:
        self._definitions = schema.get("$defs", {})
        self._plain = plain
        self._model = model
        self._limits: set[int] = set()
        self._names: dict[str, str] = {}
        self._lists = 0
        rule, self.longest = self._rule(schema, ())
        named = "".join(f"{name} ::= {each}\n" for each, name in self._names.items())
        self.text = rf"""root ::= {rule}
{named}char ::= [^"\\\x7F\x00-\x1F] | "\\" ["\\/bfnrt]
"""

    def finished(self, value: Any) -> Any:
        """`value`, with each sentence that the grammar had to break off ended at a whole word."""
        if isinstance(value, dict):
            return {key: self.finished(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.finished(item) for item in value]
        if not isinstance(value, str) or len(value) not in self._limits:
            return value
        end = value[-1] if value[-1] in ".?" else ""
        words = value.split()[:-1]
        while len(words) > 1 and words[-1].strip(",").lower() in _DANGLING:
            words.pop()
        shortened = " ".join(words).rstrip(",") + end
        return shortened if len(shortened) > len(value) // 2 else value

    def _rule(self, node: Json, within: tuple[str, ...], name: str = "") -> tuple[str, int]:
        if "$ref" in node:
            shape = str(node["$ref"]).rsplit("/", 1)[-1]
            if shape in within:
                raise RequestRejected(self._model, f"the draft's shape {shape} contains itself")
            return self._rule(self._definitions[shape], (*within, shape), name)
        if "const" in node or "enum" in node:
            return _one_of(node.get("enum", [node.get("const")]))
        options = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if options:
            rules = [self._rule(option, within, name) for option in options]
            return f"({' | '.join(rule for rule, _ in rules)})", max(longest for _, longest in rules)
        match node.get("type", "string"):
            case "object":
                return self._object(node.get("properties", {}), within)
            case "array":
                return self._array(node, within, name)
            case "string":
                return self._string(node, name)
            case "boolean":
                return _one_of([True, False])
            case "null":
                return _one_of([None])
            case "integer" if "minimum" in node and "maximum" in node:
                return _one_of(range(int(node["minimum"]), int(node["maximum"]) + 1))
        raise RequestRejected(self._model, f"the draft's shape has a part of unknown kind: {node}")

    def _object(self, properties: Mapping[str, Json], within: tuple[str, ...]) -> tuple[str, int]:
        rules, longest = [], 2
        for name, node in properties.items():
            rule, length = self._rule(node, within, name)
            rules.append(f"{_literal(json.dumps(name) + ':')} {rule}")
            longest += length + len(name) + 8
        return _sequence("{", rules, "}"), longest

    def _array(self, node: Json, within: tuple[str, ...], name: str) -> tuple[str, int]:
        if "prefixItems" in node:
            rules = [self._rule(item, within, name) for item in node["prefixItems"]]
            return _sequence("[", [rule for rule, _ in rules], "]"), sum(n + 1 for _, n in rules) + 2
        # A list within a list multiplies what a tiny model has to write, and it says the same again.
        most = (2 if self._lists else 4) if self._plain else 12
        fewest = int(node.get("minItems", 0))
        most = max(fewest, min(int(node.get("maxItems", most)), most))
        if most == 0:
            return _literal("[]"), 2
        self._lists += 1
        rule, length = self._rule(node.get("items", {}), within, name)
        self._lists -= 1
        # By its name: the engine multiplies repetitions that stand within each other, and soon has enough.
        item = self._names.setdefault(rule, f"item-{len(self._names) + 1}")
        items = item if most == 1 else f'{item} ("," {item}){{{max(fewest - 1, 0)},{most - 1}}}'
        return f'"[" {items if fewest else f"({items})?"} "]"', most * (length + 1) + 2

    def _string(self, node: Json, name: str) -> tuple[str, int]:
        most, fewest = int(node.get("maxLength", 10_000)), int(node.get("minLength", 0))
        most = max(fewest, min(most, 120 if self._plain else 400))
        if "pattern" in node or "format" in node:
            raise RequestRejected(self._model, f"a draft's text cannot have a pattern or a format: {node}")
        if not self._plain:
            return rf'"\"" char{{{fewest},{most}}} "\""', 2 * most + 2
        if fewest <= most // 2:
            # A sentence's first words differ by four letters; so do the lengths at which it is broken off.
            self._limits.update(range(most - 4, most + 1) if most >= _SENTENCE else (most,))
        if most < 2:
            return rf'"\"" [A-Z]{{{fewest},1}} "\""', 3
        if most < _SENTENCE:
            return rf'"\"" [A-Z] [a-z ]{{{max(fewest - 2, 0)},{most - 2}}} [a-z] "\""', most + 2
        begin, end = (_ASKING, "?") if "question" in name else (_TELLING, ".")
        middle = f"[A-Za-z ,']{{{max(fewest, 20) - 4},{most - 8}}}"
        return rf'"\"" ({" | ".join(map(_literal, begin))}) {middle} "{end}" "\""', most + 2


def _sequence(start: str, rules: Sequence[str], end: str) -> str:
    return f'"{start}" ' + ' "," '.join(rules) + f' "{end}"'


def _literal(text: str) -> str:
    return json.dumps(text)


def _one_of(values: Sequence[Any]) -> tuple[str, int]:
    written = [json.dumps(value) for value in values]
    return f"({' | '.join(map(_literal, written))})", max(map(len, written))
