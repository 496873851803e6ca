"""`moot people`: who may use a shared server, and what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import JsonOption, command

if TYPE_CHECKING:
    from moot.app import Moot

people = typer.Typer(name="people", help="Who may use a shared server.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and . _ @ + -")]

_AT_THE_TERMINAL = "terminal"


@people.command()
@command("database")
async def add(moot: Moot, name: NameArgument, as_json: JsonOption = False) -> None:
    """Give somebody a token of their own. It is shown once."""
    known = await moot.people()
    token = await known.add(name)
    await known.note(_AT_THE_TERMINAL, f"added {name}")
    if as_json:
        screen.show_json({"name": name, "token": token})
        return
    screen.show(token)
    screen.say(f"This is the token of {name}. It cannot be shown again; nobody else should see it.")


@people.command("list")
@command("database")
async def list_(moot: Moot, as_json: JsonOption = False) -> None:
    """List those who have a token."""
    found = await (await moot.people()).listed()
    if as_json:
        listed = [{"name": one.name, "addedAt": one.added_at.isoformat()} for one in found]
        screen.show_json({"people": listed})
        return
    for one in found:
        screen.show(f"{one.added_at.astimezone():%Y-%m-%d}  {one.name}")
    if not found:
        screen.say("Nobody has a token yet. Add somebody with: moot people add NAME")


@people.command()
@command("database")
async def revoke(moot: Moot, name: NameArgument) -> None:
    """Revoke somebody's token, at once. Their sessions stay."""
    known = await moot.people()
    await known.revoke(name)
    await known.note(_AT_THE_TERMINAL, f"revoked {name}")
    screen.say(f"{name} is signed out everywhere, and their token no longer works.")


@people.command()
@command("database")
async def log(
    moot: Moot,
    limit: Annotated[int, typer.Option(help="Show at most this many.", min=1)] = 100,
    as_json: JsonOption = False,
) -> None:
    """Show who did what, newest first."""
    found = await (await moot.people()).log(limit)
    if as_json:
        actions = [
            {"at": a.at.isoformat(), "person": a.person, "action": a.action, "session": a.session}
            for a in found
        ]
        screen.show_json({"actions": actions})
        return
    for a in found:
        line = f"{a.at.astimezone():%Y-%m-%d %H:%M:%S}  {a.person:<16}  {a.action:<24}  {a.session}"
        screen.show(line.rstrip())
    if not found:
        screen.say("No actions recorded yet.")
