"""`moot sessions`: what there is and where each stands; their titles, pins and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import JsonOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.core.stored import Standing

sessions = typer.Typer(
    name="sessions",
    help="List sessions; rename, pin or delete one.",
    invoke_without_command=True,
    no_args_is_help=False,
)

TITLE = 60
"""Characters of a title in the list."""

SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The session's id, or as much of its beginning as is unique.")
]


@sessions.callback(invoke_without_command=True)
@command("workspace database")
async def list_sessions(
    moot: Moot,
    context: typer.Context,  # noqa: ARG001
    everywhere: Annotated[bool, typer.Option("--all", help="List the sessions of all workspaces.")] = False,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="Only those whose title or decision has all of these words.")
    ] = "",
    limit: Annotated[int, typer.Option(help="List at most this many.", min=1)] = 100,
    as_json: JsonOption = False,
) -> None:
    """List the sessions of this workspace, pinned ones first, then the newest.

    Sessions of earlier versions, which did not keep where they were begun, are in every workspace's list.
    """
    from moot.ask.flow import ASK
    from moot.board.flow import BOARD
    from moot.diffs.flow import DIFF

    # One more than wanted tells whether there are more.
    found = await moot.sessions((ASK, BOARD, DIFF), limit + 1, everywhere=everywhere, search=search)
    standing, more = found[:limit], len(found) > limit
    if as_json:
        screen.show_json({"sessions": [_as_json(one) for one in standing], "more": more})
        return
    widest = max((len(one.session.id) for one in standing), default=0)
    for s in standing:
        when = s.session.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
        title = " ".join(s.session.shown_title.split())
        pin = "pinned  " if s.session.pinned else ""
        shown = title if len(title) <= TITLE else f"{title[: TITLE - 1]}…"
        screen.show(f"{s.session.id:<{widest}}  {when}  {s.step:<10}  {pin}{shown}")
    if more:
        screen.say(f"Only the latest {limit:,} are shown; --limit {limit * 10} shows more.")
    if not standing and search:
        screen.say("No session has all of these words in its title or decision.")
    elif not standing:
        where = "" if everywhere else " in this workspace; --all lists those of every workspace"
        screen.say(f'No sessions yet{where}. Begin one: moot ask the-strategist "…"')


def _as_json(standing: Standing) -> dict[str, object]:
    session = standing.session
    return {
        "id": session.id,
        "format": session.format,
        "title": session.shown_title,
        "pinned": session.pinned,
        "step": standing.step,
        "turns": standing.turns,
        "workspace": session.workspace,
        "owner": session.owner,
        "createdAt": session.created_at.isoformat(),
        "updatedAt": session.updated_at.isoformat(),
    }


@sessions.command()
@command("workspace database")
async def rename(
    moot: Moot,
    session_id: SessionArgument,
    title: Annotated[str, typer.Argument(help='The new title; "" removes it.')],
) -> None:
    """Give a session a title."""
    session = await moot.session(session_id)
    await moot.change_session(session, title=title)
    named = (await moot.session(session.id)).shown_title
    screen.say(f"{session.id} is called: {' '.join(named.split())[:200]}")


@sessions.command()
@command("workspace database")
async def pin(moot: Moot, session_id: SessionArgument) -> None:
    """Keep a session at the top of the list."""
    await _pin(moot, session_id, True)


@sessions.command()
@command("workspace database")
async def unpin(moot: Moot, session_id: SessionArgument) -> None:
    """Put a session back in its place by time."""
    await _pin(moot, session_id, False)


async def _pin(moot: Moot, session_id: str, pinned: bool) -> None:
    session = await moot.session(session_id)
    await moot.change_session(session, pinned=pinned)
    screen.say(f"{session.id} is {'pinned' if pinned else 'no longer pinned'}.")


@sessions.command()
@command("workspace database")
async def delete(
    moot: Moot,
    session_id: SessionArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Delete a session for good."""
    from moot.cli import failures

    session = await moot.session(session_id)
    about = " ".join(session.shown_title.split())[:60]
    if not yes and not screen.interactive():
        again = f"{called_as()} sessions delete {session.id} --yes"
        screen.say(f"{session.id} ({about}) was kept: nobody could be asked. To delete it: {again}")
        return failures.USAGE
    if not yes and not typer.confirm(f"Delete {session.id} ({about}) for good?", err=True):
        screen.say("It was kept.")
        return failures.DONE
    await moot.delete_session(session)
    screen.say(f"{session.id} is deleted.")
    return failures.DONE
