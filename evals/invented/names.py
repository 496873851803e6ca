"""Paths, lines, names and ids in a text, and whether each exists. Pure."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from evals.evaluation import Check
from evals.prose import has_word, sentences

PATHS = "paths that exist"
LINES = "lines that exist"
CODE = "names in code that exist"
STEPS = "steps that exist"
IDS = "ids that exist"

_ENDINGS = "py|md|toml|json|jsonl|tsv|csv|txt|yaml|yml|js|ts|html|css|sql|cfg|ini|sh|lock|db|sqlite3?"
_PATH = re.compile(rf"(?<![\w@./-])(?:[\w.-]+/)*[\w.-]*\w\.(?:{_ENDINGS})\b(?!\()", re.IGNORECASE)
_LINE = re.compile(
    rf"(?P<path>(?:[\w.-]+/)*[\w.-]+\.(?:{_ENDINGS}))"
    r"(?:`?:(?P<a>\d+)|`?,? lines? (?P<b>\d+))(?:\s?[-–]\s?(?P<c>\d+))?"
)
_CODE = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")
_STEP = re.compile(r"(?<![\d.-])0\d-0\d(?![\d-])")
_NEW = re.compile(
    r"\b(?:new|newly|add|adds|added|create|creates|created|introduce|introduces|will|would|could|should|may|"
    r"might|writes?|written|rename|renamed|becomes?|call it|called|proposed|assumed|extract|extracted|split|"
    r"move[sd]? to|instead)\b|\+",
    re.IGNORECASE,
)
_COMMON = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names}


@dataclass(frozen=True)
class World:
    """What there is: files with their text, what people said, and ids of steps."""

    files: Mapping[str, str]
    said: str = ""
    steps: Collection[str] = ()

    def find(self, path: str) -> str | None:
        """The file that is meant: by its path, or by the end of one."""
        path = path.removeprefix("./")
        ends = (name for name in self.files if name == path or name.endswith(f"/{path}"))
        return next(ends, None)

    def has_path(self, path: str) -> bool:
        folders = {str(parent) for name in self.files for parent in PurePosixPath(name).parents}
        spoken_of = (self.said, *self.files.values())
        return (
            self.find(path) is not None
            or path.rstrip("/") in folders
            or any(has_word(text, path) for text in spoken_of)
        )

    def has_name(self, name: str) -> bool:
        last = name.rpartition(".")[2]
        if last in _COMMON or name.partition(".")[0] in sys.stdlib_module_names:
            return True
        known = [*self.files, *self.files.values(), self.said]
        return any(re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) for text in known)


def check(text: str, world: World, where: str = "") -> Iterator[Check]:
    """Each kind of name once for each sentence that has it."""
    for sentence in sentences(text):
        about_new = _NEW.search(sentence) is not None
        for match in _LINE.finditer(sentence):
            yield _line(match, world, where)
        for path in dict.fromkeys(_PATH.findall(sentence)):
            there = world.has_path(path)
            if there or not about_new:
                yield Check(PATHS, there, f"{where}: there is no {path}")
        for name in dict.fromkeys(_CODE.findall(sentence)):
            there = world.has_name(name)
            if not _PATH.fullmatch(name) and (there or not about_new):
                yield Check(CODE, there, f"{where}: there is no {name}")
        if world.steps:
            for step in dict.fromkeys(_STEP.findall(sentence)):
                yield Check(STEPS, step in world.steps, f"{where}: there is no step {step}")


def _line(match: re.Match[str], world: World, where: str) -> Check:
    last = max(int(number) for number in match.group("a", "b", "c") if number)
    file = world.find(match["path"])
    there = file is not None and 1 <= last <= len(world.files[file].splitlines())
    return Check(LINES, there, f"{where}: there is no line {last} in {match['path']}")
