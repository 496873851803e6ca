"""`moot people`: who may use a server that others reach, and what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import DatabaseOption, JsonOption, run

if TYPE_CHECKING:
    from moot.app import Moot

people = typer.Typer(help="Who may use a server that others reach.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and . _ @ + -")]

_AT_THE_TERMINAL = "terminal"


@people.command()
def add(name: NameArgument, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Give somebody a token of their own. It is shown once."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        known = await moot.people()
        token = await known.add(name)
        await known.note(_AT_THE_TERMINAL, f"added {name}")
        if as_json:
            screen.show_json({"name": name, "token": token})
            return 0
        screen.show(token)
        screen.say(f"This is the token of {name}. It cannot be shown again; nobody else should see it.")
        return 0

    run(command, database=database, as_json=as_json)


@people.command("list")
def list_(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """List those who have a token."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        found = await (await moot.people()).listed()
        if as_json:
            listed = [{"name": one.name, "addedAt": one.added_at.isoformat()} for one in found]
            screen.show_json({"people": listed})
            return 0
        for one in found:
            screen.show(f"{one.added_at.astimezone():%Y-%m-%d}  {one.name}")
        if not found:
            screen.say("Nobody has a token of their own yet: moot people add NAME")
        return 0

    run(command, database=database, as_json=as_json)


@people.command()
def revoke(name: NameArgument, database: DatabaseOption = None) -> None:
    """Take somebody's token back, at once. Their sessions stay."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        known = await moot.people()
        await known.revoke(name)
        await known.note(_AT_THE_TERMINAL, f"revoked {name}")
        screen.say(f"{name} is signed out everywhere, and their token opens nothing any more.")
        return 0

    run(command, database=database)


@people.command()
def log(
    limit: Annotated[int, typer.Option(help="How many, at most.", min=1)] = 100,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Show who did what, newest first."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        found = await (await moot.people()).log(limit)
        if as_json:
            screen.show_json(
                {
                    "actions": [
                        {"at": a.at.isoformat(), "person": a.person, "action": a.action, "session": a.session}
                        for a in found
                    ]
                }
            )
            return 0
        for a in found:
            line = f"{a.at.astimezone():%Y-%m-%d %H:%M:%S}  {a.person:<16}  {a.action:<24}  {a.session}"
            screen.show(line.rstrip())
        if not found:
            screen.say("Nothing has been done yet that is kept here.")
        return 0

    run(command, database=database, as_json=as_json)
