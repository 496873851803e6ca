"""`moot items`: which items there are, and how far their analyses are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from moot.cli.running import JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from moot.app import Moot


def items(as_json: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """List the items of the workspace and how far their analyses are."""

    async def command(moot: Moot) -> int:
        from moot.analysis.service import Analyses
        from moot.cli import screen

        standings = Analyses(moot).standings()
        if as_json:
            screen.show_json([dataclasses.asdict(one) for one in standings])
            return 0
        if not standings:
            screen.say(f'There are no items yet. Begin with: {called_as()} analyze "what you have in mind"')
        for one in standings:
            if one.problem:
                screen.show(f"{one.slug:<28} !! {one.problem}")
            else:
                held = f", {one.elaborations} roundtables" if one.elaborations else ""
                screen.show(f"{one.slug:<28} {one.status:<9} {one.steps} steps{held}  {one.title}")
        return 0

    run(command, workspace=workspace, as_json=as_json)
