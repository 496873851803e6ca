"""What whoever drafts a change is given of the workspace before they look for themselves: its shape, what it
says about itself, the files that the wish names, and the code that it is about.

Knows what a draft needs to begin with. Refuses to know how words are found in code, and who drafts: what is
not in here is behind the tools of repo/eyes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from moot.llm.messages import Source, Weight
from moot.repo import listing, scan, search
from moot.repo.first_look import first_look
from moot.repo.listing import Mention, Survey
from moot.repo.scan import Impact, Scan

MOST_NAMED = 5
LONGEST_WHOLE = 24_000
"""Characters of a named file that is given whole; of a longer one, there are the functions, and the tools."""
_ABOUT_ITSELF = ("readme", "contributing", "agents", "claude")
"""What files at the top are called that say what a project is, and how it is worked on."""
_MOST_MENTIONS = 12
_MOST_OF_A_WORD = 3
_MOST_LIKELY = 15
_MOST_FOLDERS = 4


def surroundings(root: Path, about: str, names: str = "") -> tuple[Source, ...]:
    """What matters most comes last, because what comes first is left out first. `names` is a text of which
    only the files that it names concern the wish."""
    root = root.resolve()
    seen = search.look(root)
    title, _, rest = about.strip().partition("\n")
    scanned = scan.quick_scan(root, title, rest)
    likely = _likely(seen, scanned, scan.impact(root, scanned, ()))
    named = list(_given(root, _named(seen, f"{about}\n{names}")))
    own = [name for name in _about_itself(seen) if name not in {name for name, _, _ in named}]
    whole = {f" in {file}:" for file, _, is_whole in named if is_whole}
    code = [one for one in first_look(root, about) if not any(place in one.name for place in whole)]
    found = [
        *(source for _, source, _ in _given(root, own)),
        Source("a look at the workspace", _tagged("workspace", _shape(seen)), Weight.DEPENDED_ON),
        *([Source("where the words of the wish occur", _tagged("likely", likely))] if likely else []),
        *reversed(code),
        *(source for _, source, _ in named),
    ]
    return tuple(found)


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def _shape(seen: Survey) -> str:
    parts = [f"Files:\n{listing.tree(seen)}"]
    if seen.manifests:
        parts.append(f"Manifests: {', '.join(seen.manifests)}")
    if seen.entry_points:
        parts.append(f"Entry points: {', '.join(seen.entry_points)}")
    if seen.log:
        commits = "\n".join(f"- {subject}" for subject in seen.log)
        parts.append(f"Latest commits:\n{commits}")
    return "\n\n".join(parts)


def _likely(seen: Survey, scanned: Scan, touched: Impact) -> str:
    """Names of files, and few lines of each word that tells anything."""
    parts = []
    if scanned.likely:
        more = scanned.likely_count - _MOST_LIKELY
        others = f", and {more} more" if more > 0 else ""
        parts.append(f"Likely concerned, by its words: {', '.join(scanned.likely[:_MOST_LIKELY])}{others}")
    parts += _neighbours(seen, scanned.likely)
    if touched.tests:
        parts.append(f"Tests near them: {', '.join(touched.tests[:_MOST_LIKELY])}")
    if mentions := list(_telling(scanned)):
        parts.append("Mentions:\n" + "\n".join(f"{one.file}:{one.line}: {one.text}" for one in mentions))
    if missing := [hit.word for hit in scanned.hits if not hit.files]:
        parts.append(f"Nowhere in the workspace: {', '.join(missing)}")
    return "\n\n".join(parts)


def _neighbours(seen: Survey, likely: Sequence[str]) -> Iterator[str]:
    """What else is in the folders of the likeliest files: the tree above shows the upper levels only."""
    folders = dict.fromkeys(str(PurePosixPath(file).parent) for file in likely)
    for folder in list(folders)[:_MOST_FOLDERS]:
        names = [name.rpartition("/")[2] for name in seen.files if str(PurePosixPath(name).parent) == folder]
        yield f"In {'the top folder' if folder == '.' else f'{folder}/'}: {', '.join(names)}"


def _telling(scanned: Scan) -> Sequence[Mention]:
    """A word that is everywhere tells nothing."""
    telling = {hit.word for hit in scanned.hits if hit.files and not hit.common}
    likely = {file: place for place, file in enumerate(scanned.likely)}
    taken: list[Mention] = []
    ranked = sorted(scanned.citations, key=lambda one: (likely.get(one.file, len(likely)), one.line))
    for one in ranked:
        of_the_word = sum(other.word == one.word for other in taken)
        if one.word in telling and of_the_word < _MOST_OF_A_WORD:
            taken.append(one)
    return taken[:_MOST_MENTIONS]


def _about_itself(seen: Survey) -> list[str]:
    """The README last."""
    found = {name.partition(".")[0].lower(): name for name in reversed(seen.files) if "/" not in name}
    return [found[name] for name in reversed(_ABOUT_ITSELF) if name in found]


def _named(seen: Survey, text: str) -> Iterable[str]:
    """Names may be told; what is in a file that may hold secrets goes to no model."""
    readable = replace(seen, files=tuple(filter(search.may_be_read, seen.files)))
    return reversed(listing.named_files(readable, text)[:MOST_NAMED])


def _given(root: Path, names: Iterable[str]) -> Iterator[tuple[str, Source, bool]]:
    """Each with its name, and whether it is given whole."""
    for name in names:
        text = search.text(root, name)
        if text is None or not text.strip():
            continue
        lines = text.rstrip("\n").split("\n")
        if len(text) <= LONGEST_WHOLE:
            width = len(str(len(lines)))
            numbered = "\n".join(f"{number:>{width}}| {line}" for number, line in enumerate(lines, start=1))
            given = f'<file name="{name}">\n{numbered}\n</file>'
            yield name, Source(f"the file {name}", given), True
        else:
            told = f"{name} has {len(lines):,} lines, and is too long to be given whole."
            yield name, Source(f"how long {name} is", told), False
