"""What a wish for a change meets in the workspace: a quick scan, and a closer look at what it would touch.

Knows words, counts and the usual names of files; everything it says was found, and cites file and line. The
same workspace and the same words always give the same result, within bounds on everything. Refuses to know
what code means: a file that mentions a word is where to look, not yet what to change.

Hidden files and those that usually hold secrets are counted but never read: what is cited goes to a model.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from moot.texts.depth import Depth
from moot.workspace import codebase
from moot.workspace.survey import Mention, Survey

Size = Literal["small", "medium", "large"]
Risk = Literal["low", "medium", "high"]

MOST_KEYWORDS = 12
MOST_CITATIONS = 24
MOST_FILES_NAMED = 40

_MOST_PER_WORD = 5
_MOST_WORDS = 2_000
_LINE_CHARACTERS = 160
_SMALL, _MEDIUM = 5, 20
# A word that is everywhere says nothing about where the change belongs.
_COMMON_SHARE, _COMMON_AT_LEAST = 0.25, 10
_LONG_FILE = 800
_OFTEN_USED = 10

_DEPTHS: Mapping[str, Depth] = {
    "small": "brief", "low": "brief", "medium": "standard", "large": "deep", "high": "deep",
}  # fmt: skip
_ORDER: tuple[Depth, ...] = ("brief", "standard", "deep")

_SECRET_SUFFIXES = frozenset([".key", ".kdbx", ".p12", ".pem", ".pfx"])
_MADE_SUFFIXES = frozenset([".lock", ".map", ".svg"])
_MADE = re.compile(r"\.min\.\w+$|^package-lock\.json$|^pnpm-lock\.yaml$|^go\.sum$|^id_(?:rsa|dsa|ecdsa|ed25519)$")
_TEST = re.compile(r"^test_|_tests?\.|[._]spec\.|\.test\.|Tests?\.\w+$|^conftest\.py$")
_TEST_FOLDERS = frozenset(["__tests__", "e2e", "spec", "specs", "test", "tests"])
_TEST_MARKS = re.compile(r"^test_|_tests?$|[._]spec$|\.test$|Tests?$")
_PROSE_SUFFIXES = frozenset([".adoc", ".md", ".rst", ".txt"])
_DELICATE = (
    ("it changes stored data", re.compile(r"(?:^|/)(?:migrations?|alembic|schema)(?:/|\.)|\.sql$")),
    ("it decides how everything is built or released", re.compile(
        r"(?:^|/)(?:\.github|\.gitlab-ci\.yml|Dockerfile|Makefile|Jenkinsfile|deploy\w*)(?:/|$)")),
    ("it decides who may do what", re.compile(r"(?i)(?:^|[/_-])(?:auth\w*|permissions?|security|crypto\w*|secrets?)(?:[/._-]|$)")),
    ("others depend on its shape", re.compile(r"\.proto$|(?i:openapi|swagger)|\.graphql$")),
)  # fmt: skip

_RISKY = frozenset(
    """authentication authorization billing breaking compliance concurrency credentials crypto cryptography
    deletion downtime encryption gdpr invoice irreversible legal login migrate migration money oauth outage
    password passwords payment payments permission permissions personal privacy production regulatory rollback
    safety secret secrets security token tokens transaction transactions""".split()
)
_UNTELLING = frozenset(
    """about above after again all allow already also always and another any anybody are based because been
    before being below best better between both but can cannot case change changes could currently does doing
    done down during each easily easy either else enable ensure etc even ever every everything existing feature
    few first for from full get gets give given good had has have having help here how however implement
    improve into issue its itself just keep kind know last later less let like likely little look made make
    makes making many may maybe might more most much must need needed needs never new next not nothing now
    off often old once one only onto other others our out over own people per please possible problem proper
    properly provide quickly rather really same see should show simple since some someone something soon still
    such support sure take than that the their them then there these they thing things this those through time
    too try two under until upon use used useful user users uses using very via want wants was way ways well
    were what when where whether which while who whole why will wish with within without work working works
    would year yes yet you your""".split()
)
# Names that say where a file stands and not what it is about.
_UNTELLING_STEMS = frozenset(
    "__init__ __main__ app base cli common config conftest constants core helpers index init lib main mod "
    "models readme routes server setup test tests types util utils views".split()
)

_QUOTED = re.compile(r"`([^`\n]{2,60})`")
_WORD = re.compile(r"[^\W\d_][\w]*(?:[-.][^\W\d_]\w*)*")
_LETTER = r"[^\W\d_]"
_PARTS = re.compile(rf"[A-Z]{{2,}}(?![a-z])|[A-Z]?[a-z]+|{_LETTER}+")
_ENDINGS = r"(?:e?s|e?d|e?rs?|ings?)?"


# -- what is found -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """Where one keyword is: in so many files, on so many lines, most in the files named. A `common` one is
    in so many that it says little."""

    word: str
    files: int
    lines: int
    common: bool
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """`likely` are the files that the wish most probably concerns, the likeliest first, and `likely_count`
    how many there are in all. `capped`: there are more files than were looked at."""

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
    """A file that would be touched. `used_by`: how many other files name it; None for a name that does not
    say what it is about. `tests` are those near it."""

    file: str
    words: tuple[str, ...]
    lines: int
    first: Mention
    used_by: int | None
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """`count` is how many files mention what is looked for, of which `touched` are the likeliest."""

    words: tuple[str, ...]
    touched: tuple[Touched, ...]
    count: int
    entry_points: tuple[str, ...]
    tests: tuple[str, ...]
    risk_notes: tuple[str, ...]
    capped: bool


# -- looking -------------------------------------------------------------------------------------


def quick_scan(root: Path, title: str, description: str) -> Scan:
    seen = codebase.look(root)
    keywords = keywords_of(title, description)
    search = _search(root, seen, keywords)
    likely = search.likely()
    estimate: Size = "small" if len(likely) <= _SMALL else "medium" if len(likely) <= _MEDIUM else "large"
    risky = tuple(dict.fromkeys(word for word in _words(f"{title} {description}") if word in _RISKY))
    risk: Risk = "low" if not risky else "medium" if len(risky) == 1 else "high"
    return Scan(
        files=len(seen.files),
        capped=seen.capped,
        by_suffix=seen.suffixes[:MOST_KEYWORDS],
        keywords=keywords,
        hits=tuple(map(search.hit, keywords)),
        entry_points=seen.entry_points,
        likely=likely[:MOST_FILES_NAMED],
        likely_count=len(likely),
        estimate=estimate,
        risk=risk,
        risky_words=risky,
        proposed_depth=max(_DEPTHS[estimate], _DEPTHS[risk], key=_ORDER.index),
        citations=tuple(search.citations(likely)),
    )


def impact(root: Path, scan: Scan, words: Iterable[str]) -> Impact:
    """What the scan's keywords, and further `words` that have come up since, would touch."""
    seen = codebase.look(root)
    further = keywords_of(" ".join(words), "")
    wanted = tuple(dict.fromkeys((*further, *scan.keywords)))[: 2 * MOST_KEYWORDS]
    search = _search(root, seen, wanted)
    likely = search.likely()
    named = likely[:MOST_FILES_NAMED]
    used = _used_by(root, seen, named)
    tests = [file for file in seen.files if is_test(file)]
    touched = tuple(
        Touched(
            file=file,
            words=tuple(word for word in wanted if word in search.found[file].lines),
            lines=sum(search.found[file].lines.values()),
            first=search.found[file].first,
            used_by=used.get(file),
            tests=_tests_near(file, tests),
        )
        for file in named
        if file in search.found
    )
    files = {each.file for each in touched}
    near = (test for each in touched for test in each.tests)
    return Impact(
        words=wanted,
        touched=touched,
        count=len(likely),
        entry_points=tuple(entry for entry in seen.entry_points if _leads_to(entry, files)),
        tests=tuple(sorted({*near, *filter(is_test, files)}))[:MOST_FILES_NAMED],
        risk_notes=tuple(_risk_notes(touched, len(likely), search)),
        capped=seen.capped,
    )


def is_test(file: str) -> bool:
    path = PurePosixPath(file)
    return _TEST.search(path.name) is not None or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])


# -- words ---------------------------------------------------------------------------------------


def keywords_of(title: str, description: str) -> tuple[str, ...]:
    """The words worth looking for: what stands in backticks, then the title's, then the description's most
    frequent. Of words that differ only in their ending, the first."""
    quoted = [name.strip().casefold() for name in _QUOTED.findall(f"{title} {description}")]
    from_title = _words(title)
    counted = Counter(_words(description)[:_MOST_WORDS])
    # Stable: equally frequent words stay in the order of the text.
    from_description = sorted(counted, key=lambda word: -counted[word])
    kept: dict[str, str] = {}
    for word in (*quoted, *from_title, *from_description):
        is_telling = word in quoted or (len(word) > 2 and word not in _UNTELLING)
        if word and is_telling:
            kept.setdefault(_stem(word), word)
    return tuple(kept)[:MOST_KEYWORDS]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    """Without a plural's or a verb's ending, where enough is left: `uploads` and `upload` are one."""
    for ending in ("ings", "ing", "ies", "es", "s", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def _pattern(word: str) -> re.Pattern[str]:
    """The word where a word begins, also one of an identifier: `port` is in `open_port` and `openPorts`, and
    not in `import` or `portable`."""
    begins = rf"(?:(?<!{_LETTER})|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
    return re.compile(rf"{begins}(?i:{re.escape(word)}{_ENDINGS})(?![a-z])")
