"""How moot starts other programs. One rule for all of them; every other module asks here.

Refuses to know what a program is for.

- **What runs.** moot itself as a child is `moot_command`: an interpreter that imports nothing from the folder
  that it is started in. Other programs are looked for in absolute folders of PATH alone.
- **What it can see.** Its environment is made by `environment`, from a list of what this kind of child needs.
- **Whose settings count.** The person's, never the repository's: for git, `git_settings` sees to that; for
  Codex and Claude Code, their own options do.
- **When it ends.** With moot: `lifeline`, also where moot is killed. What moot has locked for it stays locked
  until then: `inheriting`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_LIFELINE = Path(__file__).with_name("lifeline.py")
_inherited: ContextVar[tuple[int, ...]] = ContextVar("inherited", default=())


def moot_command(*arguments: str) -> tuple[str, ...]:
    """moot itself. With -P nothing is imported from the current folder, which may be a repository that has a
    package of that name. Not -I, which would not find a moot that is installed for one user; PYTHONPATH and
    the like are kept away by the environment."""
    return (sys.executable, "-P", "-m", "moot", *arguments)


def module_command(module: str, *arguments: str) -> tuple[str, ...]:
    """A module of moot's as a process of its own, under the same rule."""
    return (sys.executable, "-P", "-m", module, *arguments)


def only_with(variables: Mapping[str, str], command: tuple[str, ...]) -> tuple[str, ...]:
    """The command, with these variables and no others, whoever starts it. They stand in the list of processes
    for everybody to see, so that no secret belongs among them."""
    env = shutil.which("env", path=os.defpath) or "/usr/bin/env"
    return (env, "-i", *(f"{name}={value}" for name, value in variables.items()), *command)


def tied_command(handles: Sequence[int], polite: float, command: Sequence[str]) -> tuple[str, ...]:
    """The command, such that it and all that it starts end when nobody holds the other end of a socket, the
    first of `handles`, any more; so many seconds are left to whoever does not end when asked. It has to lead
    a process group of its own, and to inherit the handles, none of which the command itself gets."""
    numbers = ",".join(map(str, handles))
    return (sys.executable, "-I", "-S", str(_LIFELINE), numbers, str(polite), *command)


@contextmanager
def inheriting(handle: int) -> Iterator[None]:
    """What is started meanwhile keeps this file open until all of it has ended, so that a lock on the file
    outlives a moot that is killed for just as long."""
    _inherited.set((*_inherited.get(), handle))
    try:
        yield
    finally:
        _inherited.set(tuple(one for one in _inherited.get() if one != handle))


def inherited() -> tuple[int, ...]:
    """What a child has to be given."""
    return _inherited.get()


def find_program(name: str, env: Mapping[str, str]) -> str | None:
    """Where a program is. A folder that PATH names relative to the current one could be the repository's."""
    return shutil.which(name, path=absolute_folders(env.get("PATH", os.defpath)))


def absolute_folders(path: str) -> str:
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if Path(folder).is_absolute())
