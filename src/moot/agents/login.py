"""Whether Codex or Claude Code is logged in, as it says itself: without network, and in bounded time.

Knows the commands by which they are asked, and what keeps one from needing a login. Whoever gives no clear
answer, such as an older version, counts neither as logged in nor as not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from moot.agents.process import run
from moot.agents.protocol import Order
from moot.errors import MootError
from moot.processes import environment, find_program

_QUESTIONS = {"codex": ("login", "status"), "claude": ("auth", "status")}
LOG_IN = {"codex": "codex login", "claude": "claude auth login"}
"""What a person types to log in."""
_SECONDS = 20.0
_NO = re.compile(r"\bnot logged in\b|\"loggedIn\":\s*false", re.IGNORECASE)
_YES = re.compile(r"\blogged in\b|\"loggedIn\":\s*true", re.IGNORECASE)


async def is_logged_in(name: str, env: Mapping[str, str], pass_env: Iterable[str] = ()) -> bool | None:
    """None: nobody can say, or the program is not there."""
    program = find_program(name, env)
    if program is None or (name == "codex" and _needs_no_login(env)):
        return None
    # In no repository, whose settings could have a say.
    order = Order("", Path("/"), _SECONDS)
    try:
        ended = await run(
            name, (program, *_QUESTIONS[name]), order, environment.for_agent(name, env, pass_env)
        )
    except MootError:
        return None
    if _NO.search(ended.last_words):
        return False
    return True if _YES.search(ended.last_words) else None


def _needs_no_login(env: Mapping[str, str]) -> bool:
    """Codex asks for none where it has a key for one run, or another provider."""
    provider = environment.codex_settings(env).get("model_provider", "openai")
    return bool(env.get("CODEX_API_KEY")) or provider != "openai"
