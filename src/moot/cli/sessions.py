"""`moot sessions`: what there is and where each stands; their titles, pins and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import DatabaseOption, JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from moot.app import Moot

sessions = typer.Typer(
    help="List sessions; rename, pin or delete one.", invoke_without_command=True, no_args_is_help=False
)

SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The session's id, or an unmistakable beginning of it.")
]


@sessions.callback(invoke_without_command=True)
def list_sessions(
    context: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", help="Sessions of all workspaces.")] = False,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="Those whose title or decision has all of these words.")
    ] = "",
    limit: Annotated[int, typer.Option(help="How many, at most.", min=1)] = 100,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """List the sessions of this workspace, pinned ones first, then the newest.

    Sessions of earlier versions, which did not keep where they were begun, are in every workspace's list.
    """
    if context.invoked_subcommand is not None:
        if everywhere or search or as_json or workspace is not None or database is not None:
            raise typer.BadParameter(f"put options after `{context.invoked_subcommand}`")
        return

    async def command(moot: Moot) -> int:
        from moot.ask.flow import ASK
        from moot.board.flow import BOARD
        from moot.cli import screen

        # One more than wanted tells whether there are more.
        found = await moot.sessions((ASK, BOARD), limit + 1, everywhere=everywhere, search=search)
        standing, more = found[:limit], len(found) > limit
        if as_json:
            screen.show_json(
                {
                    "sessions": [
                        {
                            "id": s.session.id,
                            "format": s.session.format,
                            "title": s.session.shown_title,
                            "pinned": s.session.pinned,
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
            title = " ".join(s.session.shown_title.split())
            pin = "pinned  " if s.session.pinned else ""
            screen.show(f"{s.session.id}  {when}  {s.step:<10}  {pin}{title[:60]}")
        if more:
            screen.say(f"Only the latest {limit:,} are shown; --limit {limit * 10} shows more.")
        if not standing and search:
            screen.say("No session has all of these words in its title or decision.")
        elif not standing:
            where = "" if everywhere else " in this workspace; --all lists those of every workspace"
            screen.say(f'No sessions yet{where}. Begin one: moot ask the-strategist "…"')
        return 0

    run(command, workspace=workspace, database=database, as_json=as_json)


@sessions.command("rename")
def rename(
    session_id: SessionArgument,
    title: Annotated[str, typer.Argument(help='What to call it; "" takes the title back.')],
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Give a session a title."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        session = await moot.session(session_id)
        await moot.change_session(session, title=title)
        named = (await moot.session(session.id)).shown_title
        screen.say(f"{session.id} is called: {' '.join(named.split())[:200]}")
        return 0

    run(command, workspace=workspace, database=database)


@sessions.command("pin")
def pin(
    session_id: SessionArgument, workspace: WorkspaceOption = None, database: DatabaseOption = None
) -> None:
    """Keep a session at the top of the list."""
    _pin(session_id, True, workspace, database)


@sessions.command("unpin")
def unpin(
    session_id: SessionArgument, workspace: WorkspaceOption = None, database: DatabaseOption = None
) -> None:
    """Let a session take its place in time again."""
    _pin(session_id, False, workspace, database)


def _pin(session_id: str, pinned: bool, workspace: WorkspaceOption, database: DatabaseOption) -> None:
    async def command(moot: Moot) -> int:
        from moot.cli import screen

        session = await moot.session(session_id)
        await moot.change_session(session, pinned=pinned)
        screen.say(f"{session.id} is {'pinned' if pinned else 'no longer pinned'}.")
        return 0

    run(command, workspace=workspace, database=database)


@sessions.command("delete")
def delete(
    session_id: SessionArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Delete a session for good."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        session = await moot.session(session_id)
        about = " ".join(session.shown_title.split())[:60]
        if not yes and not screen.interactive():
            again = f"{called_as()} sessions delete {session.id} --yes"
            screen.say(f"{session.id} ({about}) was kept: nobody could be asked. To delete it: {again}")
            return 2
        if not yes and not typer.confirm(f"Delete {session.id} ({about}) for good?", err=True):
            screen.say("It was kept.")
            return 0
        await moot.delete_session(session)
        screen.say(f"{session.id} is deleted.")
        return 0

    run(command, workspace=workspace, database=database)
