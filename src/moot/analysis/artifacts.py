"""What a step adds to its artifacts: Markdown sections, user stories as JSON, rows as CSV. It only adds.

A marker in a comment says which step wrote what, so that writing twice is writing once. What models write is
untrusted: it can begin no section above its own, and leave nothing open behind it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from moot.errors import InvalidInput
from moot.evidence import citations
from moot.evidence.items import Evidence, numbered
from moot.files import markdown

_HIGH_HEADING = re.compile(r"^( {0,3})(#{1,2})(?=[ \t]|$)")
_COMMENT = re.compile(r"<!--")
_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:[/\\]")
_STORY_ID = re.compile(r"US-(\d{1,9})")

COLUMNS = ("requirement", "priority", "reason", "source")


def step_marker(step_id: str, feedback: int = 0) -> str:
    return f"<!-- Step {step_id}{f', feedback {feedback}' if feedback else ''} -->"


def with_section(text: str | None, *, title: str, heading: str, marker: str, body: str) -> str:
    """The text, and the body at the end of the section with that heading, which is made if it is missing."""
    old = f"# {title}\n" if text is None else text
    if marker in old:
        return old
    return markdown.append_under(old, f"## {heading}", f"{marker}\n\n{nest(body)}")


def board_line(question: str, file: str) -> str:
    return f"The Board was asked: {question} Its brief: [{file}]({file})."


def nest(body: str) -> str:
    """Headings of the first two levels go down to the third, and no comment can look like a marker."""
    code = markdown.code_lines(body)
    lines = []
    for number, line in enumerate(body.strip().splitlines(), start=1):
        safe = line if number in code else _COMMENT.sub(r"<\\!--", _HIGH_HEADING.sub(r"\1###", line))
        lines.append(safe)
    return "\n".join(lines)


def with_sources(text: str, evidence: Sequence[Evidence]) -> str:
    """The text, and at its end what it cites as E1, E2, … Of an item from outside the workspace, where it was
    is nobody else's business."""
    bare = without_sources(text)
    cited = {one.item for one in citations.check(bare, evidence)}
    lines = [f"- **{number}**: {_named(item)}" for number, item in numbered(evidence) if number in cited]
    if not lines:
        return bare
    return "\n".join((f"{bare.rstrip()}\n", _SOURCES, "## Sources", "", _WHERE, "", *lines, ""))


def without_sources(text: str) -> str:
    return _SOURCES_BLOCK.sub("", text)


_SOURCES = "<!-- Sources: kept by moot -->"
_WHERE = "Evidence that the analysis was given; `session.jsonl`, beside this file, has all of it."
_SOURCES_BLOCK = re.compile(
    rf"^{re.escape(_SOURCES)}\s*## Sources\s*{re.escape(_WHERE)}\s*(?:- \*\*E\d+\*\*: .*(?:\n|\Z))*",
    re.MULTILINE,
)


def _named(item: Evidence) -> str:
    """Its name and origin cannot be read as anything but words."""
    names = (item.name,) if _ABSOLUTE.match(item.origin) else dict.fromkeys((item.name, item.origin))
    shown = ", ".join(f"`{' '.join(name.replace('`', '').split())}`" for name in names)
    return f"{shown}, sha256 {item.sha256[:12]}"


def with_stories(text: str | None, stories: Sequence[Mapping[str, Any]], step_id: str) -> str:
    """A JSON list of user stories, with those added that are not in it. They are numbered here, and no number
    is given twice, even where somebody has taken a story out."""
    try:
        known = [] if text is None else json.loads(text)
    except RecursionError:
        raise InvalidInput("user stories", "the file is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput("user stories", f"the file is no JSON: {error}") from error
    if not isinstance(known, list):
        raise InvalidInput("user stories", "the file is no list")
    there = [story for story in known if isinstance(story, dict)]
    before = [_identity(story) for story in there]
    added = [story for story in stories if _identity(story) not in before]
    taken = [int(found[1]) for story in there if (found := _STORY_ID.fullmatch(str(story.get("id"))))]
    numbered = [
        {"id": f"US-{number:03d}", **story, "step": step_id}
        for number, story in enumerate(added, start=max([len(known), *taken]) + 1)
    ]
    if not numbered and text is not None:
        return text
    return json.dumps([*known, *numbered], ensure_ascii=False, indent=2) + "\n"


def _identity(story: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(story.get(part, "")) for part in ("as_a", "i_want", "so_that"))


def with_rows(text: str | None, rows: Sequence[Mapping[str, Any]]) -> str:
    """A CSV table, with the rows added that are not in it."""
    old = "" if text is None else text
    try:
        known = list(csv.DictReader(io.StringIO(old)))
    except csv.Error as error:
        raise InvalidInput("table", f"the file is no table that can be read: {error}") from error
    columns = list(known[0]) if known else list(COLUMNS)
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", restval="", lineterminator="\n")
    if not old.strip():
        writer.writeheader()
    seen = [tuple(str(row.get(column) or "") for column in columns) for row in known]
    for row in rows:
        safe = {column: _defuse(str(row.get(column, ""))) for column in columns}
        if tuple(safe.values()) not in seen:
            writer.writerow(safe)
    gap = "\n" if old and not old.endswith("\n") else ""
    return old + gap + out.getvalue()


def _defuse(value: str) -> str:
    """A spreadsheet would run what begins like a formula."""
    tidy = " ".join(value.split())
    return f"'{tidy}" if tidy[:1] in {"=", "+", "-", "@"} else tidy
