"""`moot models`: weights for the embedded model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import JsonOption, command

if TYPE_CHECKING:
    from moot.app import Moot

models = typer.Typer(name="models", help="List local models, or pull one.", no_args_is_help=True)


@models.command("list")
@command("")
async def list_models(moot: Moot, as_json: JsonOption = False) -> None:
    """List local models that can be pulled, and those that are here."""
    here = {weights.path.name: weights.path for weights in moot.pulled()}
    if as_json:
        listed = [
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
        screen.show_json({"models": listed})
        return
    for entry in moot.catalogue:
        state = "here" if entry.file in here else f"{entry.size / 1e9:.1f} GB"
        # Calculated from the file and its context, not measured on this machine: hence "about".
        memory = f"about {entry.memory_mb / 1000:.1f} GB of memory"
        screen.show(f"{entry.name:<13} {state:<7} {memory:<23} {entry.licence}  {entry.description}")
    screen.say("Pull one with: moot models pull NAME. The latest pulled is used by --model local.")


@models.command("pull")
@command("")
async def pull_model(
    moot: Moot,
    name: Annotated[str, typer.Argument(help="A name from `moot models list`.")],
    sha256: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The checksum that the file must have, from a source you trust."),
    ] = None,
) -> None:
    """Download a local model; an interrupted download continues where it stopped."""
    from moot.cli.progress import Progress

    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise typer.BadParameter("must be 64 hexadecimal digits", param_hint="--sha256")

    def tell(done: int, total: int) -> None:
        progress.change(name, f"{name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {done / total:.0%}")

    with Progress() as progress:
        progress.begin(name, f"Pulling {name}")
        pulled = await moot.pull(name, tell, sha256)
    screen.show(str(pulled.path))
    if not pulled.is_known:
        screen.say(
            f"moot has no checksum of its own for {name}: the file is what the hub announced, "
            f"sha256 {pulled.sha256}. Compare it with a source you trust; `--sha256` has it checked."
        )
    screen.say(f"Ready: moot ask --model local:{name} the-strategist '…'")
