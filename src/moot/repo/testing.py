"""Which command runs a project's tests, as its own files say: moot.toml, manifests, Makefile, CI, README.

Pure, over names and texts. Nothing here is run, and nothing of it may be without a person who has seen
exactly these characters: the files come from whoever wrote the repository. What a person could not read as it
is, is no command. Refuses to know where the files are, and who decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moot.text import toml

MOST_FOUND = 6
LONGEST = 200
_RUNNERS = (
    r"make|gmake|just|task|npm|npx|pnpm|yarn|bun|deno|node --test|pytest|py\.test|tox|nox|hatch|uv run"
    r"|poetry run|pdm run|pipenv run|python3? -m (?:pytest|unittest)|cargo|go|mvn|\./mvnw|gradle|\./gradlew"
    r"|sbt|lein|mix|rake|bundle exec|rspec|bin/rails|composer|vendor/bin/phpunit|phpunit|dotnet|swift|dart"
    r"|flutter|ctest|meson|bazel|zig build|stack|cabal|dune|\.?/?(?:[\w.-]+/)*(?:run[-_]?)?tests?(?:\.sh)?"
)
_IN_PROSE = re.compile(rf"(?:{_RUNNERS})(?= |$)[\w ./:=@,+-]*")
"""What is picked out of CI files and prose: a known runner, with nothing that a shell would act on."""
_ABOUT_TESTS = re.compile(r"\b(?:tests?|pytest|py\.test|tox|nox|rspec|phpunit|unittest|ctest|verify)\b")
_SETS_UP = re.compile(r"\b(?:install|add|publish|build-image|login|deploy|upload|init|create)\b")
_TARGET = re.compile(r"^(test|tests|check)\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^(test|tests|check)(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  (test|tests|check):", re.MULTILINE)
_LINE = re.compile(r"^\s*(?:- )?(?:run:\s*|script:\s*)?(?:- )?(?:\$ )?(?P<command>.+?)\s*$")
_NO_TESTS = "no test specified"
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PROSE = ("CONTRIBUTING.md", "README.md", "README.rst", "README.txt", "README")
NAMES = (
    "moot.toml", *_MAKEFILES, "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", "package.json",
    "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "deno.json", "tox.ini", "noxfile.py",
    "pyproject.toml", "pytest.ini", "setup.cfg", "uv.lock", "poetry.lock", "Cargo.toml", "go.mod", "pom.xml",
    "mvnw", "build.gradle", "build.gradle.kts", "gradlew", "build.sbt", "Gemfile", "Rakefile", ".rspec",
    "composer.json", "phpunit.xml", "phpunit.xml.dist", "mix.exs", "pubspec.yaml", "Package.swift",
    ".gitlab-ci.yml", *_PROSE,
)  # fmt: skip
"""What is worth reading at the root, besides `.github/workflows/`."""


@dataclass(frozen=True, slots=True)
class Found:
    """`source` is the file that says so."""

    command: str
    source: str


def find_test_commands(files: Mapping[str, str]) -> tuple[Found, ...]:
    """The likeliest first: what is declared before what is usual, and that before what is only mentioned.
    Each command once."""
    commands: dict[str, str] = {}
    for command, source in _all(files):
        if _is_readable(command):
            commands.setdefault(command, source)
    return tuple(Found(command, source) for command, source in list(commands.items())[:MOST_FOUND])


def _all(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for find in (_declared, _usual, _mentioned):
        yield from find(files)


def _is_readable(command: str) -> bool:
    """Whether a person sees what would be run: in one line, of letters that look like no others."""
    return 0 < len(command) <= LONGEST and command.isascii() and command.isprintable()


# -- declared ------------------------------------------------------------------------------------


def _declared(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    own = _table(files.get("moot.toml", ""), toml.parse, "implement").get("test")
    if isinstance(own, str):
        yield own.strip(), "moot.toml"
    for name in _MAKEFILES:
        yield from ((f"make {target}", name) for target in _targets(_TARGET, files.get(name, ""))[:1])
    for name in ("justfile", "Justfile"):
        yield from ((f"just {target}", name) for target in _targets(_RECIPE, files.get(name, ""))[:1])
    for name in ("Taskfile.yml", "Taskfile.yaml"):
        yield from ((f"task {target}", name) for target in _targets(_TASK, files.get(name, ""))[:1])
    script = _table(files.get("package.json", ""), json.loads, "scripts").get("test")
    if isinstance(script, str) and script.strip() and _NO_TESTS not in script:
        yield f"{_package_manager(files)} test", "package.json"
    if "test" in _table(files.get("deno.json", ""), json.loads, "tasks"):
        yield "deno task test", "deno.json"
    if "test" in _table(files.get("composer.json", ""), json.loads, "scripts"):
        yield "composer test", "composer.json"


def _targets(form: re.Pattern[str], text: str) -> list[str]:
    """The one called test first."""
    return sorted(set(form.findall(text)), key=("test", "tests", "check").index)


def _table(text: str, parse: Callable[[str], Any], name: str) -> Mapping[str, Any]:
    """A file that makes no sense declares nothing."""
    try:
        found = parse(text).get(name, {}) if text else {}
    except (ValueError, AttributeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _package_manager(files: Mapping[str, str]) -> str:
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
    return next((manager for lock, manager in locks.items() if lock in files), "npm")


# -- usual ---------------------------------------------------------------------------------------


def _usual(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    usual = (
        ("tox.ini", "tox"),
        ("noxfile.py", "nox"),
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("mvnw", "./mvnw test"),
        ("pom.xml", "mvn test"),
        ("gradlew", "./gradlew test"),
        ("build.gradle", "gradle test"),
        ("build.gradle.kts", "gradle test"),
        ("build.sbt", "sbt test"),
        (".rspec", "bundle exec rspec"),
        ("mix.exs", "mix test"),
        ("Package.swift", "swift test"),
        ("phpunit.xml", "vendor/bin/phpunit"),
        ("phpunit.xml.dist", "vendor/bin/phpunit"),
    )
    yield from ((command, name) for name, command in usual if name in files)
    for name in ("pytest.ini", "pyproject.toml", "setup.cfg"):
        if name in files and (name == "pytest.ini" or "pytest" in files[name]):
            yield f"{_python_runner(files)}pytest", name
    if re.search(
        r"Rake::TestTask|RSpec::Core::RakeTask|task :?\"?(?:test|spec)\b", files.get("Rakefile", "")
    ):
        yield "bundle exec rake" if "Gemfile" in files else "rake", "Rakefile"
    if "pubspec.yaml" in files:
        yield ("flutter" if "flutter:" in files["pubspec.yaml"] else "dart") + " test", "pubspec.yaml"


def _python_runner(files: Mapping[str, str]) -> str:
    if "uv.lock" in files:
        return "uv run "
    return "poetry run " if "poetry.lock" in files else "python -m "


# -- mentioned -----------------------------------------------------------------------------------


def _mentioned(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(files):
        if name == ".gitlab-ci.yml" or name.startswith(".github/workflows/"):
            yield from ((command, name) for command in _commands_in(files[name].split("\n")))
    for name in _PROSE:
        yield from ((command, name) for command in _commands_in(_code_in(files.get(name, ""))))


def _commands_in(lines: list[str]) -> Iterator[str]:
    for line in lines:
        found = _LINE.match(line)
        command = found["command"].strip("'\"") if found else ""
        if _IN_PROSE.fullmatch(command) and _ABOUT_TESTS.search(command) and not _SETS_UP.search(command):
            yield " ".join(command.split())


def _code_in(text: str) -> list[str]:
    """Lines of fenced and of indented code."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line)
    return lines
