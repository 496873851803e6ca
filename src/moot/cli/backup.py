"""`moot backup`: a copy of everything that moot keeps, made while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import DatabaseOption, run

if TYPE_CHECKING:
    from moot.app import Moot


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to put the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Copy the database to a file, while moot runs.

    To restore: stop moot, put the copy in the place of the database, start moot.
    """

    async def command(moot: Moot) -> int:
        import asyncio

        from moot.cli import screen

        await asyncio.to_thread(moot.back_up, file, force=force)
        screen.say(f"Everything that moot keeps is in {file}.")
        return 0

    run(command, database=database)
