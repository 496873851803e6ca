"""`moot proposal` and `moot reproposal`: a change drafted, and revised after a review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.running import JsonOption, ModelOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.changes.folder import ChangeFolder
    from moot.changes.service import Changes

ChangeArgument = Annotated[
    str, typer.Argument(metavar="CHANGE", help="The change's id: lower-case letters, digits and hyphens.")
]


def proposal(
    change_id: ChangeArgument,
    description: Annotated[str, typer.Argument(metavar="DESCRIPTION", help="What should change, and why.")],
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Draft a change from a description. Its proposal, specifications and tasks fit the workspace.

    moot proposal feat-auth "Let people sign in with a passkey; passwords get phished."
    """

    async def command(moot: Moot) -> int:
        from moot.changes.service import Changes
        from moot.cli.progress import Progress

        changes = Changes(moot)
        with Progress(f"Proposal '{change_id}'") as tell:
            folder = await changes.propose(change_id, description, tell)
        _show(changes, folder, as_json=as_json)
        return 0

    run(command, workspace=workspace, model=model, as_json=as_json)


def reproposal(
    change_id: ChangeArgument,
    wishes: Annotated[
        str, typer.Argument(metavar="WISHES", help="What should be different, besides the open issues.")
    ] = "",
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Revise a change from the open issues of its last review. Every review stays as it is."""

    async def command(moot: Moot) -> int:
        from moot.changes.service import Changes
        from moot.cli.progress import Progress

        changes = Changes(moot)
        with Progress(f"Reproposal '{change_id}'") as tell:
            folder = await changes.repropose(change_id, wishes, tell)
        _show(changes, folder, as_json=as_json)
        return 0

    run(command, workspace=workspace, model=model, as_json=as_json)


def _show(changes: Changes, folder: ChangeFolder, *, as_json: bool) -> None:
    from moot.cli import screen

    root = changes.moot.workspace.root
    files = ["proposal.md", *folder.specs(), "tasks.md"]
    paths = [(folder.path / name).relative_to(root).as_posix() for name in files]
    if as_json:
        state = folder.state()
        screen.show_json({"change": folder.id, "phase": state.phase, "files": paths})
        return
    for path in paths:
        screen.show(path)
    screen.say(f"Read it, then: {called_as()} challenge {folder.id}", "dim")
