"""Programs that review and write code: Codex, Claude Code, or a command of the person's own.

Knows how each is started, what it prints and how it ends. Refuses to know what a change is: it gets an order
and reports an outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moot.agents.claude import Claude
from moot.agents.codex import Codex
from moot.agents.protocol import Job, Outcome, Progress, Reviewer, Tokens
from moot.errors import NotFound
from moot.processes import environment, find_program

__all__ = ["ENGINES", "Job", "Outcome", "Progress", "Reviewer", "Tokens", "find"]

_MAKERS: Mapping[str, type[Codex | Claude]] = {"codex": Codex, "claude": Claude}
ENGINES = tuple(_MAKERS)
"""In the order in which they are looked for."""


_ENVIRONMENTS = {"codex": environment.for_codex, "claude": environment.for_claude}


def find(name: str, env: Mapping[str, str], pass_env: Iterable[str] = ()) -> Reviewer | None:
    """The reviewer of that name, or None if its program is not on the path. It gets of `env` what it needs,
    and what `pass_env` names."""
    if name not in _MAKERS:
        raise NotFound("reviewer", name, ENGINES)
    program = find_program(name, env)
    return None if program is None else _MAKERS[name](program, _ENVIRONMENTS[name](env, pass_env))
