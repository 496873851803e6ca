"""`moot models`: weights for the embedded model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import JsonOption, run

if TYPE_CHECKING:
    from moot.app import Moot

models = typer.Typer(help="Local models: what there is, and pulling another.", no_args_is_help=True)


@models.command("list")
def list_models(as_json: JsonOption = False) -> None:
    """List local models that can be pulled, and those that are here."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        here = {weights.path.name: weights.path for weights in moot.pulled()}
        if as_json:
            screen.show_json(
                {
                    "models": [
                        {
                            "name": entry.name,
                            "repository": entry.repo,
                            "file": entry.file,
                            "bytes": entry.size,
                            "estimatedMemoryMb": entry.memory_mb,
                            "licence": entry.licence,
                            "sha256": entry.sha256,
                            "description": entry.description,
                            "path": str(here[entry.file]) if entry.file in here else None,
                        }
                        for entry in moot.catalogue
                    ]
                }
            )
            return 0
        for entry in moot.catalogue:
            state = "here" if entry.file in here else f"{entry.size / 1e9:.1f} GB"
            # Calculated from the file and its context, not measured on this machine: hence "about".
            memory = f"about {entry.memory_mb / 1000:.1f} GB of memory"
            screen.show(f"{entry.name:<13} {state:<7} {memory:<23} {entry.licence}  {entry.description}")
        screen.say("Pull one with: moot models pull NAME. The latest pulled is used by --model local.")
        return 0

    run(command, as_json=as_json)


@models.command("pull")
def pull_model(
    name: Annotated[str, typer.Argument(help="A name from `moot models list`.")],
    sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The checksum that the file must have, from a source you trust."),
    ] = None,
) -> None:
    """Download a local model; an interrupted download goes on where it stopped."""

    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise typer.BadParameter("must be 64 hexadecimal digits", param_hint="--sha256")

    async def command(moot: Moot) -> int:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        from moot.cli import screen

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(name)
            pulled = await moot.pull(
                name, lambda done, total: bar.update(task, completed=done, total=total), sha256
            )
        screen.show(str(pulled.path))
        if not pulled.is_known:
            screen.say(
                f"moot has no checksum of its own for {name}: the file is what the hub announced, "
                f"sha256 {pulled.sha256}. Compare it with a source you trust; `--sha256` has it checked."
            )
        screen.say(f"Ready: moot ask --model local:{name} the-strategist '…'")
        return 0

    run(command)
