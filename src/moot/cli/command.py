"""What every command is: a coroutine that is given an open moot, and ends in an exit code.

Knows the options that commands share, signals, and what happens to a failure that nobody caught. Imports
little: what a command needs is loaded when it runs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from moot.app import Options

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, all else on stderr.")]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        "--answers", metavar="FILE", help="Take replies from a YAML list; never ask at the terminal."
    ),
]

WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="PATH|DIR|URL|-",
        help="Evidence: a file, a folder, a page, or - for standard input. May be repeated.",
    ),
]

LookOption = Annotated[
    bool, typer.Option("--look", help="Whoever speaks may look into the workspace before they answer.")
]

_OPENS = {
    "model": Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="provider:model, BASE_URL#model, or local."),
    ],
    "workspace": Annotated[
        Path | None,
        typer.Option(
            "--workspace", metavar="DIR", help="The workspace (default: the git root, or this folder)."
        ),
    ],
    "database": Annotated[
        str | None,
        typer.Option("--database", metavar="URL", help="Where sessions are kept (default: a file)."),
    ],
}
"""The options that say with what moot is opened."""

SIGTERM = "SIGTERM"
"""Why a command was cancelled, where it was not by Ctrl-C."""


_called_as = "moot"


def called_as() -> str:
    """The program's name as the user typed it."""
    return _called_as


def call_as(name: str) -> None:
    global _called_as  # noqa: PLW0603
    _called_as = name


Command = Callable[..., Coroutine[Any, Any, int | None]]


def command(opens: str = "workspace", *, serves: bool = False) -> Callable[[Command], Callable[..., None]]:
    """Makes a command of a coroutine whose first argument is the open moot. `opens` names the options that
    say with what moot is opened; they are not the coroutine's business. `serves` says that the command runs
    until it is stopped, so that SIGTERM is how it ends well."""
    names = opens.split()

    def decorate(coroutine: Command) -> Callable[..., None]:
        @functools.wraps(coroutine)
        def called(**options: Any) -> None:
            if _is_misplaced(options.get("context")):
                return
            from moot.app import Options

            opened_with = {name: options.pop(name, None) for name in names}
            wanted = Options(**opened_with, agentd=called_as() == "agentd")
            as_json = options.get("as_json", False)
            _run(functools.partial(coroutine, **options), wanted, as_json=as_json, serves=serves)

        # What typer reads: the coroutine's own parameters, and those options.
        signature = inspect.signature(coroutine, locals={"Moot": object}, eval_str=True)
        _, *parameters = signature.parameters.values()
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_OPENS[name])
            for name in names
        ]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _is_misplaced(context: typer.Context | None) -> bool:
    """Whether a command of a group was called and not the group, whose options it does not have."""
    if context is None or context.invoked_subcommand is None:
        return False
    given = (context.get_parameter_source(name) for name in context.params)
    if any(source is not None and source.name == "COMMANDLINE" for source in given):
        raise typer.BadParameter(f"put options after `{context.invoked_subcommand}`")
    return True


def _run(coroutine: Command, options: Options, *, as_json: bool, serves: bool) -> NoReturn:
    import asyncio

    from moot.app import opened
    from moot.cli import failures, screen
    from moot.errors import MootError

    stopped = False

    async def whole() -> int:
        _stop_on_sigterm(stop)
        async with opened(options) as moot:
            return await coroutine(moot) or failures.DONE

    def stop() -> None:
        nonlocal stopped
        stopped = True

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A letter that the terminal's encoding does not have must not cost the answer.
            stream.reconfigure(errors="replace")
    try:
        with asyncio.Runner(loop_factory=_fast_loop() if serves else None) as runner:
            code = runner.run(whole())
        if stopped:
            code = failures.DONE if serves else failures.STOPPED
        sys.stdout.flush()
    except MootError as error:
        failures.report(error)
        if as_json:
            screen.show_json({"error": failures.document(error)})
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

    def received(*_: object) -> None:
        # Not SIG_IGN, which a program that is started meanwhile would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)
        # Wakes the loop, too; where it is closed already, everything is.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(cancel)

    signal.signal(signal.SIGTERM, received)


def _fast_loop() -> Callable[[], AbstractEventLoop] | None:
    """uvloop, where there is one: it takes a good part of the cost of every token."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
