"""The command that shows that a task is done: found in the workspace, confirmed by the person, and kept.

What is found comes with a repository and is not run before the person has confirmed exactly that command,
once for this workspace. What they have confirmed is kept with their own data, where no repository reaches it;
what their own settings name needs no confirmation. Refuses to know who asks them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput, MootError
from moot.files import atomic
from moot.files.paths import Root
from moot.repo.testing import NAMES, Found, find_test_commands

if TYPE_CHECKING:
    from moot.app import Moot

_LARGEST = 200_000
_MOST_WORKFLOWS = 10
_WORKFLOWS = ".github/workflows"
LONGEST = 1_000


class ConfirmedTests:
    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._root = moot.workspace.root

    @property
    def command(self) -> str:
        """What may be run; empty where the person has confirmed nothing."""
        return self._moot.config.user.implement.test or self._kept().get(str(self._root), "")

    def found(self) -> tuple[Found, ...]:
        """What the workspace's files say, the likeliest first."""
        names = (*NAMES, *self._workflows())
        texts = {name: text for name in names if (text := self._read(name)) is not None}
        return find_test_commands(texts)

    def keep(self, command: str) -> None:
        """The person has confirmed it."""
        if not command.strip() or len(command) > LONGEST or not command.isprintable():
            raise InvalidInput("test command", f"has to be one line of at most {LONGEST:,} characters")

        def kept(text: str | None) -> str:
            return json.dumps({**_understood(text), str(self._root): command.strip()}, indent=2) + "\n"

        atomic.update(self._moot.user_tests_file, kept)

    def hint(self) -> str:
        """Where nothing is confirmed: what could be."""
        found = self.found()
        if self.command or not found:
            return ""
        first = found[0]
        return (
            f"`{first.command}` was found in {first.source}, and is not run before you confirm it: "
            "`moot implement` asks at the terminal, and the change's page offers it"
        )

    def _kept(self) -> dict[str, str]:
        try:
            return _understood(self._moot.user_tests_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return {}

    def _workflows(self) -> list[str]:
        try:
            folder = Root(self._root).resolve(_WORKFLOWS)
            names = sorted(path.name for path in folder.iterdir() if path.suffix in {".yml", ".yaml"})
        except (MootError, OSError):
            return []
        return [f"{_WORKFLOWS}/{name}" for name in names[:_MOST_WORKFLOWS]]

    def _read(self, name: str) -> str | None:
        """None where there is no such file, or none that is one: a link that leads out of the workspace."""
        try:
            path: Path = Root(self._root).resolve(name)
            if not path.is_file() or path.stat().st_size > _LARGEST:
                return None
            return path.read_text(encoding="utf-8", errors="replace")
        except (MootError, OSError):
            return None


def _understood(text: str | None) -> dict[str, str]:
    """By workspace. What makes no sense confirms nothing."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {place: command for place, command in pairs if isinstance(command, str)}
