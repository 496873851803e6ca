"""Programs that review and write code: Codex, Claude Code, or a command of the person's own.

Knows how each is started, what it prints and how it ends. Refuses to know what a change is: it gets an order
and reports an outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from moot.agents.claude import Claude
from moot.agents.codex import Codex
from moot.agents.command import Command
from moot.agents.protocol import Coder, Job, Order, Outcome, Progress, Reviewer
from moot.errors import NotFound
from moot.processes import environment, find_program

__all__ = [
    "ENGINES",
    "Coder",
    "Job",
    "Order",
    "Outcome",
    "Progress",
    "Reviewer",
    "find",
    "find_coder",
]

_PROGRAMS: Mapping[str, type[Codex | Claude]] = {"codex": Codex, "claude": Claude}
ENGINES = tuple(_PROGRAMS)
"""In the order in which they are looked for."""


def find(name: str, env: Mapping[str, str], pass_env: Iterable[str] = ()) -> Reviewer | None:
    """The reviewer of that name, or None if its program is not on the path. It gets of `env` what it needs,
    and what `pass_env` names."""
    if name not in _PROGRAMS:
        raise NotFound("reviewer", name, ENGINES)
    return _find(name, env, pass_env, codes=False)


def find_coder(
    name: str, command: Sequence[str], env: Mapping[str, str], pass_env: Iterable[str] = ()
) -> Coder | None:
    """As `find`, for writing code. `command` is the user's own, for the name "command"."""
    if name == "command":
        return Command(command, environment.for_own_program(env, pass_env)) if command else None
    if name not in _PROGRAMS:
        raise NotFound("coding agent", name, (*ENGINES, "command"))
    return _find(name, env, pass_env, codes=True)


def _find(
    name: str, env: Mapping[str, str], pass_env: Iterable[str], *, codes: bool
) -> Codex | Claude | None:
    program = find_program(name, env)
    if program is None:
        return None
    return _PROGRAMS[name](program, environment.for_agent(name, env, pass_env, codes=codes))
