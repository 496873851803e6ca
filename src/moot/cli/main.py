"""The command line's frame. Imports little: what a command needs is loaded when it runs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from moot import __version__
from moot.cli.analyze import analyze, items
from moot.cli.ask import ask
from moot.cli.backup import backup
from moot.cli.board import board
from moot.cli.brainstorm import brainstorm
from moot.cli.challenge import challenge
from moot.cli.changes import (
    abandon,
    approve,
    archive,
    changes,
    dismiss,
    proposal,
    reopen,
    reproposal,
    validate_challenge,
    validate_proposal,
)
from moot.cli.command import call_as
from moot.cli.doctor import doctor
from moot.cli.implement import implement
from moot.cli.mcp import mcp
from moot.cli.models import models
from moot.cli.people import people
from moot.cli.personas import personas
from moot.cli.serve import serve, worker
from moot.cli.sessions import sessions
from moot.cli.spending import spending
from moot.cli.workflow import workflow
from moot.text.characters import strip_controls


class Frame(TyperGroup):
    """All commands, whose options are refused in moot's own words."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as refused:
            found = getattr(refused.__cause__, "errors", None)
            if callable(found):
                from moot.text.faults import fault_of

                refused.message = fault_of(found()[0]).removesuffix(".")
            raise


# Rich help would triple the time that --help takes.
app = typer.Typer(
    name="moot",
    cls=Frame,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moot {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Argue it before you build it.

    Without a command: the web page, as `moot serve`.
    """
    if context.invoked_subcommand is None:
        context.invoke(serve)


class InQuotes(TyperCommand):
    """A command that takes a sentence, which a shell hands over in pieces unless it stands in quotes."""

    allow_extra_args = True

    def invoke(self, ctx: Any) -> Any:
        if ctx.args:
            rest = " ".join(ctx.args)
            raise typer.BadParameter(f"{rest!r} is left over: put a sentence in quotes", ctx=ctx)
        return super().invoke(ctx)


TAKE_A_SENTENCE = (board, ask, brainstorm, analyze, proposal)

for one in (serve, worker, board, ask, doctor, spending, backup, brainstorm, analyze, items):
    app.command(cls=InQuotes if one in TAKE_A_SENTENCE else None)(one)
for one in (proposal, challenge, reproposal, implement, archive, approve, dismiss, reopen, abandon):
    app.command(cls=InQuotes if one in TAKE_A_SENTENCE else None)(one)
for one in (validate_proposal, validate_challenge, changes, mcp):
    app.command()(one)
for group in (workflow, sessions, people, personas, models):
    app.add_typer(group)


def main() -> None:
    app(args=_arguments())


def agentd() -> None:
    """The same program under another name: changes are in agentd/changes."""
    call_as("agentd")
    app(args=_arguments(), prog_name="agentd")


def _arguments() -> list[str]:
    """What was typed or pasted, without characters that act."""
    return [strip_controls(argument) for argument in sys.argv[1:]]
