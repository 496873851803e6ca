"""`moot sessions`: what there is, and where each stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.surfaces.cli.running import DatabaseOption, JsonOption, WorkspaceOption, run

if TYPE_CHECKING:
    from moot.application import Moot


def sessions(
    everywhere: Annotated[bool, typer.Option("--all", help="Sessions of all workspaces.")] = False,
    limit: Annotated[int, typer.Option(help="How many, at most.", min=1)] = 100,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """List the sessions of this workspace, newest first.

    Sessions of earlier versions, which did not keep where they were begun, are in every workspace's list.
    """

    async def command(moot: Moot) -> int:
        from moot.surfaces.cli import screen

        # One more than wanted tells whether there are more.
        found = await moot.sessions(limit + 1, everywhere=everywhere)
        standing, more = found[:limit], len(found) > limit
        if as_json:
            screen.show_json(
                {
                    "sessions": [
                        {
                            "id": s.session.id,
                            "format": s.session.format,
                            "title": s.session.title,
                            "step": s.step,
                            "turns": s.turns,
                            "workspace": s.session.workspace,
                            "owner": s.session.owner,
                            "createdAt": s.session.created_at.isoformat(),
                            "updatedAt": s.session.updated_at.isoformat(),
                        }
                        for s in standing
                    ],
                    "more": more,
                }
            )
            return 0
        for s in standing:
            when = s.session.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
            title = " ".join(s.session.title.split())
            screen.show(f"{s.session.id}  {when}  {s.step:<10}  {title[:60]}")
        if more:
            screen.say(f"Only the latest {limit:,} are shown; --limit {limit * 10} shows more.")
        if not standing:
            where = "" if everywhere else " in this workspace; --all lists those of every workspace"
            screen.say(f'No sessions yet{where}. Begin one: moot ask the-strategist "…"')
        return 0

    run(command, workspace=workspace, database=database, as_json=as_json)
