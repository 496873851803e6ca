"""What a diff shows by itself, whoever judges it: tests that are gone or no longer run, and files that the
task does not concern.

Pure. Goes by names and by lines that were added and removed, never by what somebody says about them. What it
finds is a reason to look, not a verdict: a task may well be to delete a test. Refuses to know who wrote the
diff, and what follows.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from moot.diffs.patch import FileDiff, Line, Patch, Status, is_made_by_program

MOST_NAMED = 10
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "e2e", "testing"})
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_test|.*_spec|.*[.-](?:test|spec)|.*Tests?|.*Spec|conftest)\.[A-Za-z0-9]+"
)
_CODE = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|mts|go|rs|java|kt|kts|scala|cs|fs|swift|rb|php|ex|exs|dart|c|cc|cpp|h|hpp"
    r"|sh|bats|lua|pl|clj|hs|ml|jl|zig|vue|svelte)$"
)
_NAMED_TESTS = (
    re.compile(r"\s*(?:async\s+)?def (?P<name>test\w*)\s*\("),
    re.compile(
        r"""\s*(?:it|test|specify|scenario)(?:\.\w+)*\s*[( ]\s*(?P<quote>["'`])(?P<name>.+?)(?P=quote)"""
    ),
    re.compile(r"\s*func (?P<name>(?:Test|Fuzz|Benchmark|Example|test)\w*)\s*\("),
    re.compile(r"\s*(?:public\s+|final\s+)*function (?P<name>test\w+)\s*\("),
    re.compile(r"(?P<name>\s*#\[(?:\w+::)*test\b.*)"),
    re.compile(r"(?P<name>\s*(?:@(?:Parameterized)?Test\b|\[(?:Fact|Theory|Test|TestMethod)\b).*)"),
)
"""Where a test has no name in the line that makes it one, the line stands for it: then they are counted."""
_SKIPS = re.compile(
    r"@(?:pytest\.mark|mark)\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail)\s*\(|@(?:unittest\.)?skip\w*\b"
    r"|\.skipTest\s*\(|\bSkipTest\b|__test__\s*=\s*False"
    r"|\b(?:it|test|describe|context|suite)\.(?:skip|todo|failing|fixme)\b"
    r"|\bx(?:it|test|describe|context)\s*[( ]"
    r"|\bt\.Skip(?:f|Now)?\s*\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b|\bSkip\s*=\s*\""
    r"|\bmarkTest(?:Skipped|Incomplete)\s*\(|@tag\s+:skip"
)
_ONLY = re.compile(r"\b(?:it|test|describe|context|suite)\.only\b|\bf(?:it|describe|context)\s*\(")
_DESELECTS = re.compile(
    r"--ignore(?:-glob)?=|--deselect\b|\bcollect_ignore|\bnorecursedirs\b|testPathIgnorePatterns"
)
_SETTINGS = re.compile(
    r"(?:^|/)(?:\.github/|\.gitlab|\.circleci/|\.husky/|\.githooks/|\.vscode/|\.claude/|\.codex/"
    r"|(?:Jenkinsfile|AGENTS\.md|CLAUDE\.md|moot\.toml|\.pre-commit-config\.yaml|\.gitattributes|\.gitmodules"
    r"|\.gitignore)$)"
)
"""They decide what is run, tested, looked at or trusted."""
_PATH = re.compile(r"(?:[\w.@~*-]+/)+[\w.@~*-]*|[\w-]+(?:\.[\w-]+)*\.\w{1,8}\b|\.[A-Za-z][\w-]+")


@dataclass(frozen=True, slots=True)
class Sign:
    """`line` is that of the file as it is now, or, for what is gone, as it was; 0 is the file itself."""

    what: str
    file: str
    line: int = 0
    text: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.what} {where}" + (f": {self.text}" if self.text else "")


def is_test_file(name: str) -> bool:
    *folders, last = name.split("/")
    return bool(_TEST_NAME.fullmatch(last) or _TEST_FOLDERS.intersection(folders))


# -- tests that no longer say anything -----------------------------------------------------------


def find_weakened_tests(patch: Patch) -> tuple[Sign, ...]:
    """Tests that the diff deletes, or has skipped. One that was moved or renamed is still there."""
    return (*_deleted(patch), *_skipped(patch))


def _deleted(patch: Patch) -> Iterator[Sign]:
    added = Counter(
        name for file in patch.files for line in file.lines if line.sign == "+" and (name := _test(line))
    )
    for file in patch.files:
        name = file.old or file.path
        if not (is_test_file(name) or name.endswith(".rs")):
            continue
        renamed = _renamed(file)
        gone = []
        for line in file.lines:
            test = _test(line) if line.sign == "-" else ""
            if not test or line.at in renamed:
                continue
            if added[test]:
                added[test] -= 1
            else:
                gone.append(Sign("deletes the test in", name, line.old or 0, line.text.strip()))
        if not gone and file.status is Status.DELETED and is_test_file(name) and _CODE.search(name):
            yield Sign("deletes the file of tests", name)
        yield from gone


def _test(line: Line) -> str:
    for form in _NAMED_TESTS:
        if found := form.match(line.text):
            return found["name"].strip()
    return ""


def _renamed(file: FileDiff) -> set[int]:
    """Rows of the patch that remove the head of a test, where the same change puts another head there and
    nothing else is removed: what the test does is as it was."""
    rows = set()
    for hunk in file.hunks:
        for is_context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
            block = [] if is_context else list(run)
            removed = [line for line in block if line.sign == "-" and line.text.strip()]
            heads = sum(bool(_test(line)) for line in block if line.sign == "+")
            if removed and all(_test(line) for line in removed) and len(removed) <= heads:
                rows |= {line.at for line in removed}
    return rows


def _skipped(patch: Patch) -> Iterator[Sign]:
    gone = Counter(line.text.strip() for file in patch.files for line in file.lines if line.sign == "-")
    for file in patch.files:
        for line in file.lines:
            text = line.text.strip()
            what = _why_not_run(file.path, text) if line.sign == "+" else ""
            if what and gone[text]:
                gone[text] -= 1
            elif what:
                yield Sign(what, file.path, line.new or 0, text)


def _why_not_run(name: str, text: str) -> str:
    if (is_test_file(name) or name.endswith(".rs")) and _SKIPS.search(text):
        return "skips a test in"
    if is_test_file(name) and _ONLY.search(text):
        return "has only one test run in"
    return "has tests left out in" if _DESELECTS.search(text) and not _is_prose(name) else ""


# -- files that the task does not concern --------------------------------------------------------


def named_files(text: str, there: Collection[str]) -> tuple[str, ...]:
    """Which of the files that there are a text names, by path, by the end of it, or by their folder."""
    tokens = {found.rstrip(".~").removeprefix("./") for found in _PATH.findall(text)} - {""}
    return tuple(sorted(name for name in there if any(_is_meant(name, token) for token in tokens)))


def _is_meant(name: str, token: str) -> bool:
    below = f"{token.rstrip('*/')}/" if "/" in token else None
    return f"/{name}".endswith(f"/{token}") or (below is not None and name.startswith(below))


def outside(patch: Patch, task: str, plan: str, there: Collection[str]) -> tuple[Sign, ...]:
    """Files of the diff that the task does not concern. Where the task names files, these are all but those,
    what stands in their folders, tests, prose, what programs make, and what the plan names. Settings that
    decide what is run or trusted concern it only where task or plan name them."""
    touched = [file.path for file in patch.files]
    every = {*there, *touched}
    by_task, by_plan = set(named_files(task, every)), set(named_files(plan, every))
    folders = {posixpath.dirname(name) for name in by_task}
    found = []
    for file in patch.files:
        name = file.path
        if name in by_task or name in by_plan:
            continue
        if _SETTINGS.search(name):
            found.append(Sign("changes settings that the task does not name:", name))
        elif by_task and not (
            is_test_file(name)
            or _is_prose(name)
            or is_made_by_program(file)
            or posixpath.dirname(name) in folders
        ):
            found.append(Sign("changes a file that the task does not concern:", name))
    return tuple(found)


def _is_prose(name: str) -> bool:
    return posixpath.splitext(name)[1].lower() in {".md", ".rst", ".txt", ".adoc"}


# -- in words ------------------------------------------------------------------------------------


def size_of(patch: Patch) -> str:
    """Such as "2 files, +10 -3"."""
    added, removed = (sum(file.count(sign) for file in patch.files) for sign in "+-")
    return f"{len(patch.files)} file{'s' * (len(patch.files) != 1)}, +{added} -{removed}"


def in_words(signs: Sequence[Sign]) -> str:
    """A line each; of very many, how many more there are."""
    lines = [f"- {sign}" for sign in signs[:MOST_NAMED]]
    if len(signs) > MOST_NAMED:
        lines.append(f"- and {len(signs) - MOST_NAMED} more")
    return "\n".join(lines)
