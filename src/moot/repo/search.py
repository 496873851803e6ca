"""The project itself: what a survey finds, without what moot has written about it, and where words are in it.

An analysis that finds its own words in the workspace would take them for evidence, and a fingerprint that
covers its own files would change by being written down. Hidden files, those that usually hold secrets and
those that a program has made are never searched: what is found goes to a model. Refuses to know what any
file means.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath

from moot.files.layout import Workspace
from moot.repo import git, listing
from moot.repo import keywords as wording
from moot.repo.filenames import is_prose, is_test
from moot.repo.keywords import Keyword
from moot.repo.listing import Mention, Survey
from moot.repo.secrets import is_private

MOST_CITATIONS = 24
CITED_PER_WORD = 5
MOST_LINES_FOUND = 1_000

_LINE_CHARACTERS = 160
_UNSEARCHED = re.compile(
    r"(?:^|/)(?:\.[^/]*(?:/|$)|package-lock\.json$|pnpm-lock\.yaml$|go\.sum$)|\.(?:lock|map|svg|min\.\w+)$",
    re.IGNORECASE,
)
"""Hidden, or made by a program: nothing in it tells what the project is about."""


@dataclass(frozen=True, slots=True)
class Found:
    """One file with words in it: on how many lines each is, the first of these, on how many lines any is, and
    how many lines it has."""

    lines: Counter[str]
    first: dict[str, Mention]
    mentioning: int
    length: int


def look(root: Path) -> Survey:
    seen = listing.look(root)
    files = _own_files(root, seen.files)
    suffixes = Counter(suffix for name in files if (suffix := PurePosixPath(name).suffix.lower()))
    return replace(
        seen,
        files=files,
        suffixes=tuple(sorted(suffixes.items(), key=lambda item: (-item[1], item[0]))),
        manifests=_own_files(root, seen.manifests),
        entry_points=_own_files(root, seen.entry_points),
    )


def may_be_read(file: str) -> bool:
    """Whether what is in the file may go to a model."""
    return not (is_private(file) or _UNSEARCHED.search(file))


def text(root: Path, file: str) -> str | None:
    """None for what is no text, too large, or not to be read."""
    return listing._text(root, file) if may_be_read(file) else None


def readme(seen: Survey) -> str:
    """The name of the file that `Survey.readme` is from; empty if there is none."""
    found = {name.lower(): name for name in sorted(seen.files, reverse=True) if "/" not in name}
    return next((found[name] for name in listing._READMES if name in found), "") if seen.readme else ""


def search(root: Path, files: Iterable[str], keywords: Sequence[Keyword]) -> dict[str, Found]:
    """By file, in the order given. Files that are no text, or too large, have nothing in them."""
    found = {}
    searched = filter(may_be_read, files)
    for file, text in listing._texts(root, searched):
        small = text.lower()
        present = [keyword for keyword in keywords if keyword.core in small]
        mentions = list(_mentions(file, text, present)) if present else []
        if mentions:
            found[file] = Found(
                lines=Counter(mention.word for mention in mentions),
                # Reversed, so that the first one stays.
                first={mention.word: mention for mention in reversed(mentions)},
                mentioning=len({mention.line for mention in mentions}),
                length=text.count("\n") + (not text.endswith("\n")),
            )
    return found


def lines_with(root: Path, wanted: str, below: str = "") -> tuple[list[str], str]:
    """`file:line: text` of each line that has the text, whatever its case, and what has to be known about
    that. Where no line has it, those that spell it in another way. Code stands before tests, tests before
    prose. What moot has written is searched only where it is asked for by its folder."""
    every = listing.look(root).files
    files = [file for file in every if file == below or file.startswith(f"{below}/")] if below else every
    if not below:
        files = list(_own_files(root, files))
    files = sorted(filter(may_be_read, files), key=lambda file: (is_prose(file), is_test(file), file))
    parts = wanted.split()
    exact = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    found = _lines(root, files, exact, parts[0].lower()) if parts else []
    how = ""
    words = wording.words_of(wanted)
    if not found and words:
        spelled = wording.keyword("-".join(words))
        found = _lines(root, files, spelled.pattern, spelled.core)
        how = "no line has it word for word; these spell it in another way" if found else ""
    if len(found) > MOST_LINES_FOUND:
        del found[MOST_LINES_FOUND:]
        how = f"only the first {MOST_LINES_FOUND:,} lines with it are known: search for something rarer"
    return found, how


def _lines(root: Path, files: Iterable[str], pattern: re.Pattern[str], core: str) -> list[str]:
    """Up to one more than wanted."""
    found: list[str] = []
    for file, text in listing._texts(root, files):
        if core not in text.lower():
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if match := pattern.search(line):
                found.append(f"{file}:{number}: {_around(line, match.start())}")
        if len(found) > MOST_LINES_FOUND:
            break
    return found


def _around(line: str, place: int) -> str:
    """Of a long line, what is around a place, and that there is more."""
    start = max(0, place - _LINE_CHARACTERS // 2) if len(line) > _LINE_CHARACTERS else 0
    shown = plain(line[start : start + _LINE_CHARACTERS])
    return f"{'… ' * (start > 0)}{shown}{' …' * (start + _LINE_CHARACTERS < len(line))}"


def cite(found: Mapping[str, Found], words: Iterable[str], likely: Sequence[str] = ()) -> tuple[Mention, ...]:
    """Of each word some, from likely files before others; one of every word before a second of any."""
    files = tuple(dict.fromkeys((*likely, *sorted(found, key=lambda file: (is_prose(file), file)))))

    def of(word: str) -> list[Mention]:
        mentions = (found[file].first[word] for file in files if word in found[file].first)
        return list(islice(mentions, CITED_PER_WORD))

    mixed = (mention for rank in zip_longest(*map(of, words)) for mention in rank if mention)
    once = {(mention.file, mention.line): mention for mention in islice(mixed, MOST_CITATIONS)}
    return tuple(once[place] for place in sorted(once))


def fingerprint(root: Path) -> str:
    """Tells two states of the project apart: git's commit, else a hash of the names and sizes of its files.

    What is not committed yet makes no difference to the first.
    """
    seen = look(root)
    commit = git.output(root, "rev-parse", "--verify", "HEAD") if seen.in_git else None
    if commit is not None:
        return commit.decode("ascii", "replace").strip()
    digest = hashlib.sha256()
    for name in seen.files:
        digest.update(f"{name}\0{_size(root / name)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _own_files(root: Path, files: Iterable[str]) -> tuple[str, ...]:
    workspace = Workspace.at(root)
    written = (workspace.items, workspace.designs, workspace.workflow_file, workspace.queue_file)
    places = tuple(f"{place.relative_to(root).as_posix()}/" for place in written)
    return tuple(file for file in files if not f"{file}/".startswith(places))


def _mentions(file: str, text: str, keywords: Sequence[Keyword]) -> Iterator[Mention]:
    """For each word, one for each line that has it."""
    for number, line in enumerate(text.split("\n"), start=1):
        small = line.lower()
        for keyword in keywords:
            match = keyword.pattern.search(line) if keyword.core in small else None
            if match:
                # Of a long line, what is around the word.
                start = max(0, match.start() - _LINE_CHARACTERS // 2)
                yield Mention(file, number, plain(line[start : start + _LINE_CHARACTERS]), keyword.word)


def plain(line: str) -> str:
    """Of one line, what can be shown anywhere, and not more than is comfortable."""
    return listing._short(line).replace("\t", " ").strip()


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
