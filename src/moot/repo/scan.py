"""What a wish for a change meets in the workspace: a quick scan, and a closer look at what it would touch.

Knows words, counts and the usual names of files; everything it says was found there, and cites file and line.
The same workspace and the same words always give the same result, within bounds on everything. Refuses to
know what code means: a file that mentions a word is where to look, not yet what to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from moot.repo import keywords as wording
from moot.repo import search
from moot.repo.filenames import is_prose, is_test, name_under_test, own_name, why_delicate
from moot.repo.listing import Mention
from moot.repo.search import Found
from moot.text.depth import DEPTHS, Depth

Size = Literal["small", "medium", "large"]
Risk = Literal["low", "medium", "high"]

MOST_FILES = 25
MOST_NOTES = 20

_MOST_SUFFIXES = 12
_MOST_WORDS = 2 * wording.MOST_KEYWORDS
_SMALL, _MEDIUM = 5, 20
# A word that is everywhere says nothing about where the change belongs.
_COMMON_SHARE, _COMMON_AT_LEAST = 0.1, 10
_TELLING, _COMMON, _ENOUGH = 2, 1, 4
_IN_NAME, _DECLARED = 3, 2
"""How much more a word weighs in the name of a file, and of something that is declared in it."""
_LONG_FILE = 800
_OFTEN_IMPORTED = 10

_DEPTH_OF: Mapping[str, Depth] = {
    "small": "brief",
    "low": "brief",
    "medium": "standard",
    "large": "deep",
    "high": "deep",
}


# -- what is found -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """One keyword: in how many files, on how many lines, and in which files most. A `common` one is in so
    many that it says little."""

    word: str
    files: int
    lines: int
    common: bool
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """`likely` are the files that the wish probably concerns, the likeliest first; there are `likely_count`
    of them in all. `capped`: there are more files than were looked at."""

    files: int
    capped: bool
    by_suffix: tuple[tuple[str, int], ...]
    keywords: tuple[str, ...]
    hits: tuple[Hit, ...]
    entry_points: tuple[str, ...]
    likely: tuple[str, ...]
    likely_count: int
    estimate: Size
    risk: Risk
    risky_words: tuple[str, ...]
    proposed_depth: Depth
    citations: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that mentions what the change is about. `imported_by`: how many other files bring it in; None
    for a test, and for a name that many files have. `tests` are named after it."""

    file: str
    lines: int
    length: int
    first: tuple[Mention, ...]
    imported_by: int | None
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """`touched` are the likeliest of `count` files."""

    words: tuple[str, ...]
    touched: tuple[Touched, ...]
    count: int
    entry_points: tuple[str, ...]
    tests: tuple[str, ...]
    risk_notes: tuple[str, ...]
    capped: bool


def quick_scan(root: Path, title: str, description: str) -> Scan:
    seen = search.look(root)
    commanded = wording.commanded_in(f"{title} {description}", seen.entry_points)
    words = wording.keywords_of(title, description, commanded)
    found = search.search(root, seen.files, wording.as_keywords(words))
    hits = tuple(_hit(word, found, len(seen.files)) for word in words)
    if others := _meaning_the_same(hits):
        words = (*words, *others)
        found = search.search(root, seen.files, wording.as_keywords(words))
        more = (_hit(word, found, len(seen.files)) for word in others)
        hits = (*hits, *(hit for hit in more if hit.files))
        words = tuple(hit.word for hit in hits)
    likely = _likely(found, hits)
    risky = wording.risky_words(f"{title} {description}")
    estimate: Size = "small" if len(likely) <= _SMALL else "medium" if len(likely) <= _MEDIUM else "large"
    risk: Risk = "low" if not risky else "medium" if len(risky) == 1 else "high"
    return Scan(
        files=len(seen.files),
        capped=seen.capped,
        by_suffix=seen.suffixes[:_MOST_SUFFIXES],
        keywords=words,
        hits=hits,
        entry_points=seen.entry_points,
        likely=likely[:MOST_FILES],
        likely_count=len(likely),
        estimate=estimate,
        risk=risk,
        risky_words=risky,
        proposed_depth=max(_DEPTH_OF[estimate], _DEPTH_OF[risk], key=DEPTHS.index),
        citations=search.cite(found, words, likely),
    )


def impact(root: Path, scan: Scan, words: Iterable[str]) -> Impact:
    """What the scan's keywords, and further words that have come up since, would touch."""
    seen = search.look(root)
    further = wording.keywords_of(" ".join(words))
    wanted = wording.distinct((*further, *scan.keywords))[:_MOST_WORDS]
    found = search.search(root, seen.files, wording.as_keywords(wanted))
    likely = _likely(found, [_hit(word, found, len(seen.files)) for word in wanted])
    imports = _imports(root, seen.files, likely[:MOST_FILES])
    tests = _packages(seen.files)
    touched = tuple(
        Touched(
            file=file,
            lines=found[file].mentioning,
            length=found[file].length,
            first=tuple(sorted(found[file].first.values(), key=lambda mention: mention.line)),
            imported_by=imports.get(file),
            tests=tuple(
                test
                for test, packages in tests.items()
                if name_under_test(test) == PurePosixPath(file).stem.casefold() and packages <= _folders(file)
            ),
        )
        for file in likely[:MOST_FILES]
    )
    code = [_folders(each.file) for each in touched if not is_test(each.file)]
    mentioning = {
        each.file
        for each in touched
        if is_test(each.file) and (not code or any(tests[each.file] <= folders for folders in code))
    }
    return Impact(
        words=wanted,
        touched=touched,
        count=len(likely),
        entry_points=tuple(entry for entry in seen.entry_points if _leads_into(entry, touched)),
        tests=tuple(sorted(mentioning.union(*(each.tests for each in touched))))[:MOST_FILES],
        risk_notes=tuple(islice(_risk_notes(touched, len(likely)), MOST_NOTES)),
        capped=seen.capped,
    )


# -- judging -------------------------------------------------------------------------------------


def _hit(word: str, found: Mapping[str, Found], files: int) -> Hit:
    counts = {file: each.lines[word] for file, each in found.items() if each.lines[word]}
    most_first = sorted(counts, key=lambda file: (-counts[file], file))
    common = len(counts) > max(_COMMON_AT_LEAST, files * _COMMON_SHARE)
    return Hit(word, len(counts), sum(counts.values()), common, tuple(most_first[: search.CITED_PER_WORD]))


def _meaning_the_same(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Other words for those that are nowhere."""
    words = [hit.word for hit in hits]
    others = (other for hit in hits if not hit.files for other in wording.synonyms(hit.word))
    return tuple(other for other in dict.fromkeys(others) if other not in words)[: wording.MOST_KEYWORDS]


def _likely(found: Mapping[str, Found], hits: Sequence[Hit]) -> tuple[str, ...]:
    """Files with enough in them: two telling words, of which one may be in the file's name, or one and two
    common ones. What the file itself is called tells as much as a telling word. Where there is no such file,
    common words have to do; where few words are found at all, all of them are enough. Prose counts only where
    there is nothing else. Those come first that are called, or declare something that is called, by the
    words; tests come last."""
    weights = {hit.word: _COMMON if hit.common else _TELLING for hit in hits if hit.files}
    enough = min(_ENOUGH, sum(weights.values()))
    patterns = {each.word: each.pattern for each in wording.as_keywords(weights)}
    scores: dict[str, int] = {}
    ranks: dict[str, int] = {}
    telling: set[str] = set()
    for file, each in found.items():
        words = [word for word in weights if each.lines[word]]
        named = [word for word, pattern in patterns.items() if pattern.search(file)]
        own = [word for word in named if patterns[word].search(PurePosixPath(file).stem)]
        found_weights = [weights[word] for word in (*words, *named)]
        scores[file] = sum(found_weights)
        ranks[file] = scores[file] + sum(
            weight * (_IN_NAME * (word in own) + _DECLARED * (word in each.declared))
            for word, weight in weights.items()
        )
        if own or _TELLING in found_weights:
            telling.add(file)
    chosen = {file for file, score in scores.items() if score >= enough}
    chosen = chosen & telling or chosen
    chosen = {file for file in chosen if not is_prose(file)} or chosen

    def order(file: str) -> tuple[bool, int, int, str]:
        return is_test(file), -ranks[file], -found[file].lines.total(), file

    return tuple(sorted(chosen, key=order))


def _packages(files: Sequence[str]) -> dict[str, frozenset[str]]:
    """For each test the folders that it has in common with code: `tests/board/test_prompts.py` is of
    `src/board/prompts.py`, where there is such a folder, and not of `src/ask/prompts.py`."""
    of_code = {folder for file in files if not (is_test(file) or is_prose(file)) for folder in _folders(file)}
    return {file: _folders(file) & of_code for file in files if is_test(file)}


def _folders(file: str) -> frozenset[str]:
    return frozenset(PurePosixPath(file).parts[:-1])


def _imports(root: Path, files: Sequence[str], touched: Iterable[str]) -> dict[str, int]:
    names = {file: name for file in touched if not is_test(file) and (name := own_name(file))}
    importing = [wording.importing(name) for name in sorted(set(names.values()))]
    found = search.search(root, [file for file in files if not is_prose(file)], importing)
    return {
        file: sum(1 for other, each in found.items() if other != file and each.lines[name])
        for file, name in names.items()
    }


def _leads_into(entry: str, touched: Iterable[Touched]) -> bool:
    """An entry point is a file, or `command = target (manifest)` with a file or a module as its target."""
    declared = re.fullmatch(r".+? = (.+) \(.+\)", entry)
    target = declared[1].partition(":")[0].removeprefix("./") if declared else entry
    return any(
        f"/{path}".endswith((f"/{target}", f"/{target.replace('.', '/')}"))
        for each in touched
        for path in (each.file, each.file.rpartition(".")[0])
    )


def _risk_notes(touched: Sequence[Touched], count: int) -> Iterator[str]:
    if count > len(touched):
        yield f"{count} files may be concerned; only the {len(touched)} likeliest were looked at closely."
    code = [each for each in touched if not is_test(each.file) and not is_prose(each.file)]
    for each in code:
        for reason in why_delicate(each.file):
            yield f"{_code(each.file)}: {reason}."
        if (each.imported_by or 0) >= _OFTEN_IMPORTED:
            yield f"{_code(each.file)}: {each.imported_by} other files import it."
        if each.length >= _LONG_FILE:
            yield f"{_code(each.file)}: {each.length} lines long."
    untested = [each.file for each in code if not each.tests]
    if untested:
        shown = ", ".join(map(_code, untested[:10]))
        more = f" and {len(untested) - 10} more" if len(untested) > 10 else ""
        yield f"No test is named after {shown}{more}."


# -- telling -------------------------------------------------------------------------------------


def as_markdown(found: Scan | Impact) -> str:
    """Without headings, so that it fits under any."""
    parts = _told_scan(found) if isinstance(found, Scan) else _told_impact(found)
    return "\n\n".join("\n".join((title, "", *lines)) for title, lines in parts if lines) + "\n"


def _told_scan(scan: Scan) -> Iterator[tuple[str, list[str]]]:
    kinds = ", ".join(f"{count} {_code(suffix)}" for suffix, count in scan.by_suffix)
    risky = f" ({', '.join(scan.risky_words)})" if scan.risky_words else ""
    yield (
        "**Estimate**",
        [
            f"- Size: {scan.estimate} ({_files(scan.likely_count)} likely concerned)",
            f"- Risk by the words of the description: {scan.risk}{risky}",
            f"- Proposed depth: {scan.proposed_depth}",
            f"- Looked at: {_files(scan.files)}{' (there are more)' if scan.capped else ''}"
            + (f": {kinds}" if kinds else ""),
        ],
    )
    yield "**Keywords**", [f"- {_code(hit.word)}: {_told_hit(hit)}" for hit in scan.hits]
    yield "**Files likely concerned**", _listed(scan.likely, scan.likely_count)
    yield "**Entry points**", _listed(scan.entry_points, len(scan.entry_points))
    yield "**Citations**", [f"- {_cited(mention)}" for mention in scan.citations]


def _told_hit(hit: Hit) -> str:
    if not hit.files:
        return "not found"
    common = "; too common to tell much" if hit.common else ""
    return f"{_files(hit.files)}, {_lines(hit.lines)}{common}; most in {', '.join(map(_code, hit.top))}"


def _told_impact(found: Impact) -> Iterator[tuple[str, list[str]]]:
    more = " (there are more files than were looked at)" if found.capped else ""
    words = ", ".join(map(_code, found.words)) or "nothing"
    yield "**Looked for**", [f"- {words}: {_files(found.count)} likely concerned{more}"]
    yield "**Files touched by mention**", [_told_touched(each) for each in found.touched]
    yield "**Entry points that lead there**", _listed(found.entry_points, len(found.entry_points))
    yield "**Tests near**", _listed(found.tests, len(found.tests))
    yield "**Risks**", [f"- {note}" for note in found.risk_notes]


def _told_touched(each: Touched) -> str:
    imports = "" if each.imported_by is None else f", imported by {_files(each.imported_by)}"
    return f"- {_code(each.file)}: {_lines(each.lines)} of {each.length}{imports}; {_cited(each.first[0])}"


def _listed(names: Sequence[str], count: int) -> list[str]:
    more = [f"- … and {count - len(names)} more"] if count > len(names) else []
    return [f"- {_code(name)}" for name in names] + more


def _cited(mention: Mention) -> str:
    return f"{_code(f'{mention.file}:{mention.line}')} {_code(mention.text)}"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _code(text: str) -> str:
    """A code span, which nothing in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest or not text.strip() else ""
    return f"{fence}{padding}{text}{padding}{fence}"
