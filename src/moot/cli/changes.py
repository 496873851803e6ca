"""`moot changes` and `moot archive`: which changes there are, and putting one away."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from moot.cli.proposal import ChangeArgument
from moot.cli.running import JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from moot.app import Moot


def changes(as_json: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """List the changes of the workspace and where each stands."""

    async def command(moot: Moot) -> int:
        from moot.changes.service import Changes
        from moot.cli import screen

        standings = Changes(moot).standings()
        if as_json:
            screen.show_json([dataclasses.asdict(standing) for standing in standings])
            return 0
        if not standings:
            screen.say(
                f'There are no changes under way. Begin with: {called_as()} proposal ID "what should change"'
            )
        for one in standings:
            if one.problem:
                screen.show(f"{one.id:<24} !! {one.problem}")
                continue
            issues = f"{one.high} high, {one.medium} medium, {one.low} low" if one.verdict else "not reviewed"
            screen.show(
                f"{one.id:<24} {one.phase:<12} round {one.iteration}  {one.verdict or '-':<14} {issues:<28}"
                f" {one.tasks_done}/{one.tasks} tasks"
            )
            if one.approved_by == "person":
                screen.show(f"{'':<24} approved by the person, and by no reviewer: {one.note}")
            elif one.note:
                screen.show(f"{'':<24} not approved as it is: {one.note}")
            if one.dismissed:
                screen.show(f"{'':<24} dismissed by the person: {one.dismissed} of its issues")
            if one.strangers:
                what = "1 review" if one.strangers == 1 else f"{one.strangers} reviews"
                screen.show(f"{'':<24} {what} in its proposal not made by moot: they do not count")
            if one.waiting:
                screen.show(f"{'':<24} its last review does not count yet: {called_as()} challenge {one.id}")
        return 0

    run(command, workspace=workspace, as_json=as_json)


def archive(
    change_id: ChangeArgument, as_json: JsonOption = False, workspace: WorkspaceOption = None
) -> None:
    """Move a change to the archive. Nothing of it is merged anywhere."""

    async def command(moot: Moot) -> int:
        from moot.changes.service import Changes
        from moot.cli import screen

        place = Changes(moot).archive(change_id).relative_to(moot.workspace.root).as_posix()
        if as_json:
            screen.show_json({"change": change_id, "archived": place})
        else:
            screen.show(f"Change '{change_id}' is now in {place}.")
        return 0

    run(command, workspace=workspace, as_json=as_json)
