"""What a brainstorm has to know of the workspace: a report within a limit of words, and what was read for it.

Everything it says was found there: no model takes part, and the same workspace and the same idea always give
the same report. Files that may hold secrets are named, never read, because what is read goes to a model.
Refuses to know what any file means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moot.repo import listing, search
from moot.repo import scan as scanning
from moot.repo.filenames import is_prose, own_name
from moot.repo.listing import Survey
from moot.repo.scan import Scan

MOST_WORDS = 500
MOST_NAMED = 4

_MOST_NAMESAKES = 3
_MOST_WORDS = 2_000
_MOST_LOG = 6
_NAMED_SHARE = 130
_LONG_TREE = 60
_WORDS_OF_A_LINE = 24
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_PATH = re.compile(r"\S*/\S+")
_HEADING = re.compile(r"#{1,3} ")
_DECLARES = re.compile(
    r"(?:export |default |public |pub |static |abstract |async )*"
    r"(?:def|class|function|fn|func|interface|struct|enum|trait|impl|type|const|module|\[) ?[\w\[\"]"
)


@dataclass(frozen=True, slots=True)
class Scouted:
    """`read` are the files whose text is in the report, or was looked at for it, in order."""

    text: str
    read: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the report. `share` is how many of the words are set aside for it; what it does not need
    goes to the next. With `whole`, what does not fit is told as a number of lines left out."""

    title: str
    lines: Sequence[str]
    share: int
    whole: str = ""


def scout(root: Path, idea: str) -> Scouted:
    first, _, rest = idea.strip().partition("\n")
    seen = search.look(root)
    # Which files are named is told apart: the folders in a path are no words to look for.
    scan = scanning.quick_scan(root, _PATH.sub(" ", first), _PATH.sub(" ", rest))
    named = named_by(seen, idea)
    told = [name for name in named if search.may_be_read(name)][:MOST_NAMED]
    readme = search.readme(seen)
    parts = (
        _Part("Project", list(_project(seen, scan)), 60),
        _Part("Files the idea names", list(_named(root, named, told)), _NAMED_SHARE),
        _Part("Where its words occur", list(_mentioned(scan)), 110, "places"),
        _Part("Tree", _tree(seen), 90, "lines"),
        _Part(f"{readme} begins", _prose(seen.readme) if readme else [], 70),
        _Part("Latest commits", [f"- {subject}" for subject in seen.log[:_MOST_LOG]], 40, "commits"),
    )
    declaring = [name for name in seen.manifests if search.may_be_read(name)]
    cited = [mention.file for mention in scan.citations]
    read = dict.fromkeys((*declaring, *([readme] if readme else []), *told, *cited))
    return Scouted(_within(parts, MOST_WORDS), tuple(read))


def named_by(seen: Survey, idea: str) -> tuple[str, ...]:
    """The files that the idea names by path or by name, where few are called so. A name counts without its
    ending, and however its words are joined: `the review parser` is `review_parser.py`."""
    by_name: dict[str, list[str]] = {}
    for file in seen.files:
        if name := own_name(file):
            by_name.setdefault(_joined(name), []).append(file)
    found = dict.fromkeys(listing.named_files(seen, idea))
    words = _WORD.findall(idea)[:_MOST_WORDS]
    for start in range(len(words)):
        for length in (3, 2, 1):
            alike = by_name.get(_joined("".join(words[start : start + length])), [])
            if len(alike) <= _MOST_NAMESAKES:
                found.update(dict.fromkeys(alike))
    return tuple(found)


def _joined(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


# -- the parts -----------------------------------------------------------------------------------


def _project(seen: Survey, scan: Scan) -> Iterator[str]:
    if not seen.files:
        yield "The workspace is empty."
        return
    kinds = ", ".join(f"{count} {suffix}" for suffix, count in seen.suffixes[:6])
    more = ", and more that were not looked at" if seen.capped else ""
    yield f"- {len(seen.files)} files{more}" + (f": {kinds}" if kinds else "")
    if seen.manifests:
        yield f"- Manifests: {', '.join(seen.manifests[:6])}"
    if seen.entry_points:
        yield f"- Entry points: {', '.join(seen.entry_points[:4])}"
    if scan.likely:
        yield f"- Likely concerned ({scan.likely_count}): {', '.join(scan.likely[:4])}"


def _named(root: Path, named: Sequence[str], told: Sequence[str]) -> Iterator[str]:
    for name in named:
        if name in told:
            yield from _outlined(root, name, (_NAMED_SHARE - 10) // len(told))
        elif not search.may_be_read(name):
            yield f"- {name}: not read, because it may hold secrets or was made by a program"
    if left_out := len([name for name in named if search.may_be_read(name)]) - len(told):
        yield f"- … and {left_out} more"


def _outlined(root: Path, name: str, room: int) -> Iterator[str]:
    """What a file declares, or how it begins."""
    text = search.text(root, name)
    if text is None:
        yield f"- {name}: no text, or too large"
        return
    lines = text.splitlines()
    pattern = _HEADING if is_prose(name) else _DECLARES
    telling = [line for line in lines if pattern.match(line)] or [line for line in lines if line.strip()]
    yield f"- {name} ({len(lines)} line{'' if len(lines) == 1 else 's'}):"
    for line in telling:
        short = _cut(line, _WORDS_OF_A_LINE)
        room -= len(short.split())
        if room < 0:
            yield "  …"
            return
        yield f"  {short}"


def _mentioned(scan: Scan) -> Iterator[str]:
    missing = [hit.word for hit in scan.hits if not hit.files]
    rank = {file: place for place, file in enumerate(scan.likely)}
    for mention in sorted(scan.citations, key=lambda one: rank.get(one.file, len(rank))):
        yield f"- {mention.file}:{mention.line}: {_cut(mention.text, 12)}"
    if missing and scan.files:
        yield f"- Found nowhere: {', '.join(missing)}"


def _tree(seen: Survey) -> list[str]:
    lines = listing.tree(seen).split("\n") if seen.files else []
    return lines if len(lines) <= _LONG_TREE else listing.tree(seen, depth=1).split("\n")


def _prose(readme: str) -> list[str]:
    """The README's own words: badges, pictures, tables and empty lines say little in few words."""
    noise = ("[!", "![", "<", "|", "```", "---", "===")
    return [line for line in readme.split("\n") if line.strip() and not line.lstrip().startswith(noise)]


# -- keeping to the limit ------------------------------------------------------------------------


def _within(parts: Iterable[_Part], most: int) -> str:
    """The parts that have anything in them, together at most so many words."""
    written: list[str] = []
    spare = most - sum(part.share for part in parts)
    for part in parts:
        room = part.share + spare
        lines = _fitting(part, room) if part.lines else []
        spare = room - sum(len(line.split()) for line in lines)
        if lines:
            written.append("\n".join(lines))
    return "\n\n".join(written)


def _fitting(part: _Part, room: int) -> list[str]:
    lines = [f"{part.title}:"]
    # The last line may have to say how much is left out.
    room -= len(part.title.split()) + 5
    for number, line in enumerate(part.lines):
        words = len(line.split())
        if words <= room:
            lines.append(line)
            room -= words
            continue
        if part.whole:
            lines.append(f"… and {len(part.lines) - number} more {part.whole}")
        else:
            lines.append(_cut(line, room) if room > 0 else "…")
        break
    return lines


def _cut(line: str, words: int) -> str:
    """At most so many words and one sign for the rest, without what could act on a terminal."""
    kept = search.plain(line).split()
    indent = line[: len(line) - len(line.lstrip(" "))][:8]
    return indent + " ".join(kept[:words]) + (" …" if len(kept) > words else "")
