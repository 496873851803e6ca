"""What somebody has changed by hand in the artifacts: lines that no step wrote, and lines that are gone.

Pure: what the steps have written follows from what has happened, and is compared with the files as they are.
Line by line and whatever their order, so that what was only moved or put into shape is no change. Refuses to
know what a line means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from moot.analysis import artifacts
from moot.analysis.events import Edit
from moot.analysis.state import AnalysisState, StepRecord
from moot.errors import InvalidInput
from moot.roundtable import insights

Files = Mapping[str, str]
"""The artifacts by name, as they are on disk."""

_OURS = re.compile(r"<!-- (?:Step|Board:|Elaboration:) ")
_SHAPE = re.compile(r"^[\s>]*(?:[-*+]\s+)?|[*_`\\|]|\s+")
_NUMBER = "id"
"""Of a user story: the program gives it by the place in the file."""


def written(state: AnalysisState) -> dict[str, str]:
    """What the steps, the roundtables and the Board have put into each artifact."""
    texts: dict[str, str] = {}
    for record in state.done:
        for contents in (record.contents, *(contents for _, _, contents in record.feedback)):
            for name in record.ref.outputs:
                if contents.get(name):
                    texts[name] = _add(record, texts.get(name), name, contents[name])
        for name, text in _from_others(state, record):
            texts[name] = f"{texts.get(name, '')}\n{text}"
    return texts


def edits(state: AnalysisState, files: Files) -> tuple[Edit, ...]:
    ours = written(state)
    briefs = {brief.file for record in state.done for brief in record.briefs}
    headings = _headings(state)
    found = (
        _compare(name, ours.get(name, ""), files.get(name), headings)
        for name in sorted({*ours, *files} - briefs)
    )
    return tuple(filter(None, found))


def _headings(state: AnalysisState) -> frozenset[str]:
    """Those under which steps and roundtables write, where they are not there yet."""
    titles = [record.ref.title for record in state.done]
    lines = (f"# {state.title}", *(f"## {title}" for title in titles), f"### {insights.ADDITIONAL}")
    return frozenset(map(_what_it_says, lines))


def _compare(name: str, ours: str, there: str | None, headings: Collection[str]) -> Edit | None:
    mine = _lines(name, ours, headings)
    theirs = _lines(name, artifacts.without_sources(there or ""), headings)
    added = tuple(line for key, line in theirs.items() if key not in mine)
    removed = tuple(line for key, line in mine.items() if key not in theirs)
    if not added and not removed:
        return None
    return Edit(name, added, removed, whole=there is None or not mine)


# -- what was written ----------------------------------------------------------------------------


def _add(record: StepRecord, old: str | None, name: str, content: Any) -> str:
    if name.endswith(".json"):
        return artifacts.with_stories(old, content, record.ref.id)
    if name.endswith(".csv"):
        return artifacts.with_rows(old, content)
    return f"{old or ''}\n{artifacts.nest(str(content))}"


def _from_others(state: AnalysisState, record: StepRecord) -> Iterator[tuple[str, str]]:
    for held in state.elaborations:
        table = held.table
        if held.step != record.ref.id or table is None or table.exit_type is None:
            continue
        for name in dict.fromkeys(map(insights.insights_file, record.ref.outputs)):
            if any(line.startswith(f"Updated {name},") for line in table.announcements or ()):
                yield name, table.minutes()
    for brief in record.briefs:
        target = next((name for name in record.ref.outputs if name.endswith(".md")), None)
        if target is not None:
            yield target, artifacts.board_line(brief.question, brief.file)


# -- lines ---------------------------------------------------------------------------------------


def _lines(name: str, text: str, headings: Collection[str]) -> dict[str, str]:
    """Each line as it stands, by what it says, whatever its shape."""
    lines: Iterable[str] = text.splitlines()
    if name.endswith(".json"):
        with suppress(ValueError, RecursionError):
            lines = list(_leaves(json.loads(text or "[]")))
    elif name.endswith(".csv"):
        with suppress(InvalidInput):
            lines = artifacts.with_rows(text, ()).splitlines()
    found = {_what_it_says(line): line.strip() for line in lines if not _OURS.match(line.strip())}
    return {key: line for key, line in found.items() if any(map(str.isalnum, key)) and key not in headings}


def _what_it_says(line: str) -> str:
    return _SHAPE.sub("", line)


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    match value:
        case dict():
            for key, each in value.items():
                if key != _NUMBER:
                    yield from _leaves(each, str(key))
        case list():
            for each in value:
                yield from _leaves(each, name)
        case _:
            yield f"{name}: {value}" if name else str(value)
