"""The command line's frame. Imports little: what a command needs is loaded when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from moot import __version__
from moot.cli.analyze import analyze
from moot.cli.ask import ask
from moot.cli.backup import backup
from moot.cli.board import board
from moot.cli.brainstorm import brainstorm
from moot.cli.challenge import challenge
from moot.cli.changes import archive, changes
from moot.cli.deciding import abandon, approve, dismiss, reopen
from moot.cli.doctor import doctor
from moot.cli.implement import implement
from moot.cli.items import items
from moot.cli.mcp import mcp
from moot.cli.models import models
from moot.cli.people import people
from moot.cli.personas import personas
from moot.cli.proposal import proposal, reproposal
from moot.cli.running import call_as
from moot.cli.serve import serve
from moot.cli.sessions import sessions
from moot.cli.spending import spending
from moot.cli.validate import validate_challenge, validate_proposal
from moot.cli.worker import worker
from moot.cli.workflow import workflow
from moot.text.characters import strip_controls

# Rich help would triple the time that --help takes.
app = typer.Typer(
    name="moot",
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


app.command()(serve)
app.command()(worker)
app.command()(board)
app.command()(ask)
app.command()(doctor)
app.command()(spending)
app.command()(backup)
app.command()(brainstorm)
app.command()(analyze)
app.command()(items)
app.command()(proposal)
app.command()(challenge)
app.command()(reproposal)
app.command()(implement)
app.command()(archive)
app.command()(approve)
app.command()(dismiss)
app.command()(reopen)
app.command()(abandon)
app.command("validate-proposal")(validate_proposal)
app.command("validate-challenge")(validate_challenge)
app.command()(changes)
app.command()(mcp)
app.add_typer(workflow, name="workflow")
app.add_typer(sessions, name="sessions")
app.add_typer(people, name="people")
app.add_typer(personas, name="personas")
app.add_typer(models, name="models")


def main() -> None:
    app(args=_arguments())


def agentd() -> None:
    """The same program under another name: changes are in agentd/changes."""
    call_as("agentd")
    app(args=_arguments(), prog_name="agentd")


def _arguments() -> list[str]:
    """What was typed or pasted, without characters that act."""
    return [strip_controls(argument) for argument in sys.argv[1:]]
