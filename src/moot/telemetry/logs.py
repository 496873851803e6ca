"""Logs: for a person a line when something is wrong, for a machine a JSON document for everything.

As JSON, each model call, request and driven session is a line too. What was said is in none of them.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from moot.text.masking import mask

LogFormat = Literal["text", "json"]

_log = logging.getLogger("moot")


def set_up(log_format: LogFormat) -> None:
    """For the whole process. Once: whoever calls it again changes the format."""
    handler = logging.StreamHandler(sys.stderr)
    as_json = log_format == "json"
    handler.setFormatter(JsonLines() if as_json else _Lines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _log.setLevel(logging.INFO if as_json else logging.WARNING)


def note(message: str) -> None:
    _log.info(message)


def wanted() -> bool:
    """Whether a line for everything that happens would be written."""
    return _log.isEnabledFor(logging.INFO)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


class JsonLines(logging.Formatter):
    """A line for each record: its message, and what was given as `extra={"fields": {…}}`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": mask(record.getMessage()),
            **_trace(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = mask(self.formatException(record.exc_info))
        return msgspec.json.encode(line, enc_hook=str).decode()


def _trace() -> dict[str, str]:
    """The trace that this belongs to, where there are traces."""
    api: Any = sys.modules.get("opentelemetry.trace")
    context = api.get_current_span().get_span_context() if api else None
    if context is None or not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def report(logger: str, message: str, failure: str | None, **fields: Any) -> None:
    """A failure is worth a warning; that somebody left is none."""
    level = logging.INFO if failure in (None, "CancelledError") else logging.WARNING
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    if failure is not None:
        known["failure"] = failure
    logging.getLogger(logger).log(level, message, extra={"fields": known})
