"""`moot backup`: a copy of everything that moot keeps, made while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import command

if TYPE_CHECKING:
    from moot.app import Moot


@command("database")
async def backup(
    moot: Moot,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to put the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Copy the database to a file, while moot runs.

    To restore: stop moot, put the copy in the place of the database, start moot.
    """
    import asyncio

    await asyncio.to_thread(moot.back_up, file, force=force)
    screen.say(f"Everything that moot keeps is in {file}.")
