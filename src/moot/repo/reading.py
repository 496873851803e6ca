"""How a model reads somebody's files: by name, in parts, and never a private one.

The one mechanism behind every tool that shows a model a file or a folder: a reviewer's, and those of whoever
looks into the workspace while they speak. Whatever a model names is untrusted; what is refused is a
`ToolFault`, in words that a model can act on and that name no path of the machine. Refuses to know who reads,
and why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from moot.errors import FileDamaged, InvalidInput, MootError, NotFound, StoreFailed, UnsafePath
from moot.files.folder import LARGEST_FILE
from moot.files.frontmatter import LINE_BREAK
from moot.files.paths import Entry, Root
from moot.llm.messages import ToolFault
from moot.repo.secrets import is_private

MAX_LINES = 2_000
MAX_CHARACTERS = 40_000
"""Of one reading: about ten thousand tokens, which is what clients pass on to their model unshortened."""
MAX_ENTRIES = 1_000

_APART = "| "
_NUMBER = re.compile(r"^ *\d+\| ?", re.MULTILINE)
_ABSOLUTE = re.compile(r"(?<![\w.:/~@-])/(?:[^\s/'\"]+/)+([^\s/'\"]*)")


class _Out(BaseModel):
    model_config = ConfigDict(frozen=True)


class FileContent(_Out):
    """Whole lines of a file."""

    path: str
    text: str = Field(description="With its number in front of each line, as '12| ', except of a diff.")
    offset: int = Field(description="The number of the first line given.")
    lines: int = Field(description="How many lines the whole file has.")
    next_offset: int | None = Field(description="Where to go on reading; null at the end.")
    truncated: bool = Field(description="Whether there is more, or a line was cut.")

    @property
    def last(self) -> int:
        """The number of the last line given."""
        return self.offset + self.text.count("\n")


class Listed(_Out):
    name: str
    kind: Literal["file", "folder", "other"]


class Listing(_Out):
    path: str
    entries: tuple[Listed, ...]
    truncated: bool = Field(description=f"Whether there are more than these {MAX_ENTRIES:,}.")


def check_not_private(root: Root, below: str, named: str) -> None:
    """Where a path really leads: a link with an innocent name must not stand for a private file."""
    if is_private(root.resolve(below).relative_to(root.real).as_posix()):
        raise ToolFault(f"{named[:200]!r} is private and cannot be read. Go on without it.")


def read_text(root: Root, below: str, named: str, hint: Callable[[], str]) -> str:
    """A whole text. `hint` says what there is instead where there is no such file."""
    try:
        text = root.read_text(below, LARGEST_FILE)
    except NotFound:
        raise ToolFault(f"There is no file {named[:200]!r}. {hint()}".rstrip()) from None
    except FileDamaged:
        raise ToolFault(f"{named[:200]!r} is no UTF-8 text and cannot be read.") from None
    except InvalidInput:
        limit_mb = LARGEST_FILE // 1_000_000
        raise ToolFault(f"{named[:200]!r} is larger than {limit_mb} MB and cannot be read.") from None
    if "\0" in text:
        raise ToolFault(f"{named[:200]!r} is no text and cannot be read.")
    return text


def list_folder(
    root: Root, below: str, named: str, is_hidden: Callable[[str], bool], hint: Callable[[], str]
) -> Listing:
    try:
        found = root.list(below)
    except NotFound:
        raise ToolFault(f"There is no folder {named[:200]!r}. {hint()}".rstrip()) from None
    shown: list[Entry] = [entry for entry in found if not is_hidden(entry.name)]
    entries = tuple(Listed(name=entry.name, kind=entry.kind) for entry in shown[:MAX_ENTRIES])
    return Listing(path=named, entries=entries, truncated=len(shown) > MAX_ENTRIES)


def lines_of(text: str) -> list[str]:
    lines = LINE_BREAK.split(text)
    if not lines[-1]:
        lines.pop()
    return lines


def excerpt(path: str, text: str, offset: int, limit: int, *, numbered: bool = True) -> FileContent:
    """So many lines from one on, as far as one reading goes; `numbered`, each with its number in front."""
    lines = lines_of(text)
    if offset > max(len(lines), 1):
        raise ToolFault(f"{path[:200]!r} has {len(lines)} lines: offset={offset} is behind its end.")
    taken: list[str] = []
    room, width = MAX_CHARACTERS, len(str(len(lines)))
    apart = 1 + (width + len(_APART)) * numbered
    for line in lines[offset - 1 : offset - 1 + limit]:
        if len(line) + (apart if taken else 1) > room:
            if not taken:
                taken.append(line[:room])
            break
        taken.append(line)
        room -= len(line) + apart
    behind = offset + len(taken)
    cut = bool(taken) and len(taken[-1]) < len(lines[behind - 2])
    rest = behind <= len(lines)
    if numbered:
        taken = [f"{number:>{width}}{_APART}{line}" for number, line in enumerate(taken, start=offset)]
    return FileContent(
        path=path,
        text="\n".join(taken),
        offset=offset,
        lines=len(lines),
        next_offset=behind if rest else None,
        truncated=rest or cut,
    )


def without_numbers(text: str) -> str:
    """What somebody has copied out of it together with the numbers."""
    return _NUMBER.sub("", text)


def in_words(error: MootError | OSError, workspace_root: Path) -> str:
    """An error as a sentence for a model or a client: without any path of the machine."""
    match error:
        case OSError():
            return f"The file cannot be used: {(error.strerror or 'the system refused').lower()}."
        case StoreFailed():
            text = f"the sessions cannot be used: {error.problem}"
        case NotFound(known=known) if known:
            text = f"{error}. There is: {', '.join(known)}"
        case FileDamaged():
            text = f"{error}; a person has to repair it"
        case _:
            text = str(error)
    if isinstance(error, InvalidInput | UnsafePath):
        # These two give back what was named, which is the client's own text.
        text = _below(text, workspace_root)
    else:
        text = without_paths(text, workspace_root)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def without_paths(text: str, workspace_root: Path) -> str:
    """Paths in the workspace become relative to it; of all others, the name is left."""
    return _ABSOLUTE.sub(r"\1", _below(text, workspace_root))


def _below(text: str, workspace_root: Path) -> str:
    for root in {str(workspace_root), os.path.realpath(workspace_root)}:
        text = text.replace(f"{root}/", "")
    return text
