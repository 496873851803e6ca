"""Failures in words: what happened, what to do next, and which exit code says so. The one place for that."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches

from moot.cli import screen
from moot.cli.command import called_as
from moot.errors import (
    AlreadyThere,
    ConfigInvalid,
    IllegalMove,
    InvalidInput,
    MootError,
    NoBackup,
    NotApproved,
    NotFound,
    NotInstalled,
    ProposalInvalid,
    UnsafePath,
)
from moot.text.shortening import shortened
from moot.text.small_model import CONNECTED_MODEL

DONE, FAILED, USAGE, INTERRUPTED, STOPPED = 0, 1, 2, 130, 143

_ANOTHER = "choose another model with --model (`moot doctor` lists what is available)"

NEXT_STEPS = {
    "KeyRefused": f"Check the API key in your environment, or {_ANOTHER}.",
    "RateLimited": f"Wait a moment and try again, or {_ANOTHER}.",
    "ProviderDown": f"Try again later, or {_ANOTHER}.",
    "Unreachable": f"Check the network and the server's address, or {_ANOTHER}.",
    "StreamBroken": "Try again: what was half said is not kept.",
    "StreamStalled": f"Try again, or {_ANOTHER}. What was half said is not kept.",
    "RequestRejected": f"Check the model's name, or {_ANOTHER}.",
    "NoLocalModel": "Run `moot models list` to see what can be pulled, or set an API key.",
    "ReplyEmpty": f"Ask again in other words, or {_ANOTHER}.",
    "ReplyRefused": f"Ask in other words, or {_ANOTHER}.",
    "ToolLoopTooLong": f"Try again, or {_ANOTHER}.",
    "DraftInvalid": f"Try again, or {_ANOTHER}. The raw reply is above.",
    "FileDamaged": "Fix the file by hand; it was left as it is.",
    "DefinitionInvalid": "Fix the file by hand; `moot personas new ID` writes a persona that works.",
    "LockTimeout": "Wait for the other process to finish, then try again.",
    "StoreFailed": "Fix that, or keep sessions elsewhere with --database or MOOT_DATABASE.",
    "ModelTooSmall": "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, install Codex or Claude Code, or name a "
    "larger model with --model; `moot doctor` lists what is available.",
    "UncommittedWork": "Commit or stash it first.",
    "Busy": "Wait for it to finish, or end that process.",
    "StillEnding": "Wait until that agent or test has ended, or end it yourself; then try again.",
    "GitRefused": "Fix that, commit what is there, then run the same command again.",
    "AgentMissing": "Install or configure it, or choose another with --agent; auto takes what is available.",
    "ReviewerMissing": "Install it, or choose another with --engine; `--engine model` needs none.",
    "ReviewerTimedOut": "Try again, give it longer with [workflow] timeout_secs, or choose another --engine.",
    "ReviewerCrashed": "Try again, or choose another reviewer with --engine.",
    "SessionMoved": "Resume it to see what was added: run the same command again, or use --resume.",
}
"""By the name of the error's class, because logs keep that name."""


def after_failure(kind: str, message: str) -> str:
    """What to do next, of which a message that names the key has said the first half."""
    return f"Or {_ANOTHER}." if "Put a valid key into" in message else NEXT_STEPS.get(kind, "")


def next_step(error: MootError) -> str:
    match error:
        case NotFound():
            lists = _LISTS.get(error.kind, "").format(moot=called_as())
            return f"{_meant(error)}Available: {', '.join(error.known)}." if error.known else lists
        case ProposalInvalid():
            return f'Run `{called_as()} proposal {error.change_id} "…"` first, or fix the files by hand.'
        case NotApproved():
            return f"Challenge it again: `{called_as()} challenge {error.change_id}`."
        case IllegalMove(allowed=allowed) if allowed:
            return f"Possible now: {', '.join(allowed)}."
        case NoBackup(postgresql=True, target=target):
            return f'Run `pg_dump --format=custom --file={shlex.quote(target)} "$MOOT_DATABASE"`.'
        case NotInstalled(extra="embedded"):
            return CONNECTED_MODEL
        case AlreadyThere(kind="file"):
            return "Choose another name, or overwrite it with --force."
        case AlreadyThere(kind="person"):
            return f"For a new token: `{called_as()} people revoke {error.name}`, then add them again."
        case AlreadyThere(kind="workflow"):
            moot = called_as()
            return f"Resume it: `{moot} workflow resume`. Or archive it first: `{moot} workflow drop`."
        case AlreadyThere(kind="change"):
            return f"Revise it with `{called_as()} reproposal {error.name}`, or choose another id."
    return after_failure(type(error).__name__, str(error))


def _meant(error: NotFound) -> str:
    begin = [one for one in error.known if error.name and one.startswith(error.name)]
    alike = begin or get_close_matches(error.name, error.known)
    return f"Did you mean {alike[0]}? " if alike else ""


_LISTS = {
    "workflow": 'Start one with `{moot} brainstorm "your idea"`.',
    "change": "`{moot} changes` lists them.",
    "database": "There is no database yet; the first session creates it.",
    "person": "`{moot} people list` lists them.",
    "session": "`{moot} sessions` lists them.",
    "board session": "`{moot} sessions` lists them.",
    "ask session": "`{moot} sessions` lists them.",
}


def report(error: MootError) -> None:
    """What happened, and what to do next."""
    if raw := getattr(error, "raw", ""):
        screen.say(shortened(raw))
    text = str(error)
    whole = isinstance(error, InvalidInput) and _WHOLE_FIELD.match(text)
    screen.say(refusal(text) if whole else sentence(text))
    if step := next_step(error):
        screen.say(step)


def document(error: MootError) -> dict[str, str]:
    """The same for a program."""
    return {"kind": type(error).__name__, "message": str(error)}


def exit_code(error: MootError) -> int:
    """Wrong usage is what could be seen from the command line alone; all else is a failure."""
    on_the_command_line = isinstance(error, ConfigInvalid) and error.where.startswith("--")
    return USAGE if on_the_command_line or isinstance(error, InvalidInput | UnsafePath) else FAILED


def sentence(text: str) -> str:
    """With one full stop at its end."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


_WHOLE_FIELD = re.compile(r"\w+: (?:has|is|contains|must|names)\b")


def refusal(problem: str) -> str:
    """Why an answer was not taken, for the person who gave it: the name of a field says nothing to them,
    unless the whole of it is the problem."""
    if found := re.match(r"(\w+): (?=((?:has|is|contains|must|names)\b)?)", problem):
        problem = f"your {found[1]} {problem[found.end() :]}" if found[2] else problem[found.end() :]
    return sentence(f"{problem[:1].upper()}{problem[1:]}")
