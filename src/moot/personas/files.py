"""The file of a persona, panel or step, taken apart strictly: fields, sections, and the line of each fault.

Knows that every field and section has to be a known one, since a misspelt one that was ignored would be a
persona that is silently another. Refuses to know what any of them means. All faults are DefinitionInvalid.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from moot.errors import DefinitionInvalid, FileDamaged, InvalidId
from moot.files import frontmatter, markdown
from moot.text.faults import fault_of

ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"

_PRINTED = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$"
_ONE_LINE = "has to be one line without control characters"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_PRINTED)]
"""One line without control characters: it is shown on terminals."""
MOST_BYTES = 256 * 1024
Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]


class Fields(BaseModel):
    """Strict, so that `score: true` and `name: 7` are mistakes and not conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Shape = TypeVar("Shape", bound=Fields)


def read_text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DefinitionInvalid(str(file), "file", f"is larger than {MOST_BYTES:,} bytes", 1)
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DefinitionInvalid(str(file), "file", "is not UTF-8 text", line) from None
    except OSError as error:
        raise DefinitionInvalid(str(file), "file", f"cannot be read: {error.strerror}") from error
    return frontmatter.LINE_BREAK.sub("\n", text)


class PersonaFile:
    def __init__(self, text: str, source: Path) -> None:
        self.text = text
        self.source = source
        try:
            self.front = frontmatter.read(text, str(source))
        except FileDamaged as damage:
            raise self.fault("front matter", damage.problem, damage.line or 1) from None

    def fault(self, field: str, problem: str, line: int) -> DefinitionInvalid:
        return DefinitionInvalid(str(self.source), field, problem, line)

    def field_fault(self, path: tuple[str | int, ...], problem: str) -> DefinitionInvalid:
        # A line like ": x" is a field without a name.
        field = ".".join(map(str, path)) or "front matter"
        return self.fault(field, problem, self.front.line_of(*path))

    def fields(self, shape: type[Shape]) -> Shape:
        try:
            return shape.model_validate(self.front.fields)
        except ValidationError as refusal:
            # A misspelt field is also a missing one; the spelling is what has to be fixed.
            error = min(refusal.errors(), key=lambda error: error["type"] != "extra_forbidden")
        path = error["loc"]
        match error["type"]:
            case "extra_forbidden":
                problem = "unknown field" + _nearest(str(path[-1]), _names_at(shape, path[:-1]))
            case "missing":
                problem = "is missing"
            case "string_too_short":
                problem = "is empty"
            case "string_pattern_mismatch":
                is_id = error["ctx"]["pattern"] == ID_PATTERN
                problem = InvalidId("id", error["input"]).problem if is_id else _ONE_LINE
            case _:
                problem = fault_of(error)
        raise self.field_fault(path, problem)

    def identified(self, id: str, field: str = "id") -> str:  # noqa: A002
        """The file's name is the id, so that no two files of a folder can claim the same one."""
        if id != self.source.stem:
            raise self.field_fault((field,), f"is '{id}', but the file's name says '{self.source.stem}'")
        return id

    def prose(self) -> str:
        """The whole body, for a file without sections."""
        text = _prose(self.front.body)
        if not text:
            raise self.fault("body", "is empty", 1)
        return text

    def sections(
        self, required: tuple[str, ...], optional: tuple[str, ...] = (), *, whole: bool = False
    ) -> dict[str, Section]:
        """By name, a section within another one by both: "Voice.Patterns". If `whole`, a section's text has
        those within it, whatever they are called."""
        known = {name.casefold(): name for name in (*required, *optional)}
        headed = [part for part in markdown.sections(self.text) if part.heading.level <= 2 or not whole]
        ends = [section.start for section in headed] + [len(self.text)]
        for block in _blocks(markdown.parse(self.text)):
            if headed and block.first + 1 >= headed[0].heading.line:
                break
            raise self.fault("body", "there is text above the first section", block.first + 1)
        found: dict[str, Section] = {}
        above = ""
        for section, end in zip(headed, ends[1:], strict=True):
            title, line = section.heading.title or "(untitled)", section.heading.line
            is_outer = section.heading.level <= 2
            above = title if is_outer else above
            written = title if is_outer else f"{above}.{title}"
            name = known.get(written.casefold())
            if name is None:
                raise self.fault(written, "unknown section" + _nearest(written, known.values()), line)
            if name in found:
                raise self.fault(name, f"is there twice, first in line {found[name].line}", line)
            found[name] = Section(self, name, line, self.text[section.body : end])
        for name in required:
            if name not in found:
                raise self.fault(name, "section is missing", 1)
        return found


@dataclass(frozen=True, slots=True)
class Section:
    """Without the sections that lie within it. HTML comments in it are notes to the author."""

    file: PersonaFile
    name: str
    line: int
    text: str

    def prose(self) -> str:
        text = _prose(self.text)
        if not text:
            raise self.fault("is empty")
        return text

    def items(self) -> tuple[str, ...]:
        document = _parsed(self.text)
        if not {block.kind for block in _blocks(document)} <= {"bullet_list_open", "ordered_list_open"}:
            raise self.fault("has to be a list, each item behind a '-'")
        items: list[list[str]] = []
        for token in document.tokens:
            if token.type == "list_item_open" and token.level == 1:
                items.append([])
            elif token.type in {"inline", "fence", "code_block"}:
                items[-1] += token.content.split()
        if not items:
            raise self.fault("is empty")
        if not all(items):
            raise self.fault("has an empty item")
        return tuple(" ".join(words) for words in items)

    def fault(self, problem: str) -> DefinitionInvalid:
        return self.file.fault(self.name, problem, self.line)


def _parsed(text: str) -> markdown.Document:
    # Behind an empty line nothing is taken for front matter.
    return markdown.parse("\n" + text)


def _blocks(document: markdown.Document) -> Iterator[markdown.Block]:
    """Without comments."""
    for block in document.blocks():
        if block.kind != "html_block" or not block.content.lstrip().startswith("<!--"):
            yield block


def _prose(text: str) -> str:
    document = _parsed(text)
    return "\n\n".join(
        document.text[document.starts[block.first] : document.starts[block.behind]].strip()
        for block in _blocks(document)
    )


def _names_at(shape: Any, path: tuple[str | int, ...]) -> Iterable[str]:
    for part in path:
        shape = shape.model_fields[part].annotation
    return list(shape.model_fields)


def _nearest(written: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(written, known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
