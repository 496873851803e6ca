"""Runs a command's coroutine: opens moot, turns errors into a message and an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from moot.app import Moot
    from moot.errors import MootError

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="provider:model, BASE_URL#model, or local."),
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="DIR", help="The workspace (default: the git root, or this folder)."),
]
DatabaseOption = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Where sessions are kept (default: a file).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, all else on stderr.")]
AnswersOption = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="Replies from a YAML list; the terminal is never asked."),
]


SIGTERM = "SIGTERM"
"""Why a command was cancelled, where it was not by Ctrl-C."""


class LogFormat(StrEnum):
    text = "text"
    json = "json"


LogFormatOption = Annotated[
    LogFormat | None, typer.Option(help="How to log: a line when something is wrong, or JSON for everything.")
]


_called_as = "moot"


def called_as() -> str:
    """The program's name as the user typed it."""
    return _called_as


def call_as(name: str) -> None:
    global _called_as  # noqa: PLW0603
    _called_as = name


def run(
    command: Callable[[Moot], Awaitable[int]],
    *,
    workspace: Path | None = None,
    model: str | None = None,
    database: str | None = None,
    as_json: bool = False,
    loop: Callable[[], AbstractEventLoop] | None = None,
    serves: bool = False,
) -> NoReturn:
    """`serves` says that the command runs until it is told to stop, so that SIGTERM is how it ends well."""
    import asyncio

    from moot.app import Options, opened
    from moot.cli import failures, screen
    from moot.errors import MootError

    stopped = False

    async def whole() -> int:
        _stop_on_sigterm(stop)
        options = Options(workspace, model, database, agentd=called_as() == "agentd")
        async with opened(options) as moot:
            return await command(moot)

    def stop() -> None:
        nonlocal stopped
        stopped = True

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A letter that the terminal's encoding does not have must not cost the answer.
            stream.reconfigure(errors="replace")
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            code = runner.run(whole())
        if stopped:
            code = failures.DONE if serves else failures.STOPPED
        sys.stdout.flush()
    except MootError as error:
        report(error)
        if as_json:
            screen.show_json({"error": error_document(error)})
        code = failures.exit_code(error)
    except asyncio.CancelledError:
        if not stopped:
            raise
        if not serves:
            screen.say("Stopped. Everything that was complete is saved.")
        code = failures.DONE if serves else failures.STOPPED
    except KeyboardInterrupt:
        screen.say("Interrupted. Everything that was complete is saved.")
        code = failures.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = failures.FAILED
    except OSError as error:
        screen.say(f"{error.filename or 'The system'}: {error.strerror or error}.")
        screen.say("Nothing that was there before was changed. Fix that, then try again.")
        code = failures.FAILED
    raise typer.Exit(code)


def _stop_on_sigterm(stopping: Callable[[], None]) -> None:
    """As Ctrl-C does it: the running task is cancelled once, and what it has opened closes on the way out. A
    second signal changes nothing; who cannot wait sends SIGKILL."""
    import asyncio
    import signal

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        stopping()
        task.cancel(SIGTERM)

    def told(*_: object) -> None:
        # Not SIG_IGN, which a program that is started meanwhile would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)
        # Wakes the loop, too; where it is closed already, everything is.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(cancel)

    signal.signal(signal.SIGTERM, told)


def error_document(error: MootError) -> dict[str, str]:
    return {"kind": type(error).__name__, "message": str(error)}


def report(error: MootError) -> None:
    """What happened, and what to do next."""
    from moot.cli import failures, screen
    from moot.text.shortening import shortened

    raw = getattr(error, "raw", "")
    if raw:
        screen.say(shortened(raw))
    screen.say(failures.sentence(str(error)))
    step = failures.next_step(error)
    if step:
        screen.say(step)
