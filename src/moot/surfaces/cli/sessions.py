"""`moot sessions`: what there is, and where each stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.surfaces.cli.running import DatabaseOption, JsonOption, run

if TYPE_CHECKING:
    from moot.application import Moot


def sessions(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """List sessions, newest first."""

    async def command(moot: Moot) -> int:
        from moot.surfaces.cli import screen

        standing = await moot.sessions()
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
                            "createdAt": s.session.created_at.isoformat(),
                            "updatedAt": s.session.updated_at.isoformat(),
                        }
                        for s in standing
                    ]
                }
            )
            return 0
        for s in standing:
            when = s.session.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
            title = " ".join(s.session.title.split())
            screen.show(f"{s.session.id}  {when}  {s.step:<10}  {title[:60]}")
        if len(standing) == 1000:
            screen.say("Only the latest 1,000 are shown.")
        if not standing:
            screen.say('No sessions yet. Begin one: moot ask the-strategist "…"')
        return 0

    run(command, database=database, as_json=as_json)
