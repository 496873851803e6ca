"""The OpenAPI document as a page without scripts. Pure."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def page(document: dict[str, Any]) -> str:
    operations = "".join(
        _operation(method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    shapes = "".join(
        f'<h3 id="{escape(name)}">{escape(name)}</h3><pre>{_pretty(schema)}</pre>'
        for name, schema in sorted(document["components"]["schemas"].items())
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>moot: HTTP</title><h1>moot {escape(document['info']['version'])}: HTTP</h1>"
        '<p>The same as <a href="/openapi.json">openapi.json</a>, to read.</p>'
        f"<h2>Routes</h2>{operations}<h2>Shapes</h2>{shapes}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    answers = "".join(
        f"<li><b>{escape(status)}</b> {escape(answer.get('description', ''))}</li>"
        for status, answer in operation["responses"].items()
    )
    takes = operation.get("requestBody") or operation.get("parameters")
    shown = f"<pre>{_pretty(takes)}</pre>" if takes else ""
    return f"<h3>{method} {escape(path)}</h3>{shown}<ul>{answers}</ul>"


def _pretty(value: Any) -> str:
    return escape(json.dumps(value, indent=2, ensure_ascii=False))
