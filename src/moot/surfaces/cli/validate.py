"""`moot validate-proposal` and `moot validate-challenge`: local checks, no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.surfaces.cli.proposal import ChangeArgument
from moot.surfaces.cli.running import JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.application import Moot
    from moot.texts.proposal import Finding

StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")]


def validate_proposal(
    change_id: ChangeArgument,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Check a change's own files: sections, scenarios, task boxes. Every finding has its file and line."""

    async def command(moot: Moot) -> int:
        from moot.changes import Changes

        changes = Changes(moot)
        found = changes.findings(changes.folders.open(change_id))
        return _report(change_id, found, strict=strict, as_json=as_json, fix=f'proposal {change_id} "…"')

    run(command, workspace=workspace, as_json=as_json)


def validate_challenge(
    change_id: ChangeArgument,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Check the reviews in a change's proposal: their format, their verdicts, what contradicts them, and
    whether moot made them."""

    async def command(moot: Moot) -> int:
        from moot.changes import Changes
        from moot.texts.proposal import Finding, check_reviews

        changes = Changes(moot)
        folder = changes.folders.open(change_id)
        written = folder.proposal()
        missing = (Finding("proposal.md", 1, "error", "the file is missing"),)
        found = missing if written is None else (*check_reviews(written), *changes.check_made(folder))
        return _report(change_id, found, strict=strict, as_json=as_json, fix=f"challenge {change_id}")

    run(command, workspace=workspace, as_json=as_json)


def _report(change_id: str, found: Sequence[Finding], *, strict: bool, as_json: bool, fix: str) -> int:
    from moot.surfaces.cli import screen

    bad = [finding for finding in found if strict or finding.level == "error"]
    if as_json:
        screen.show_json(
            {
                "change": change_id,
                "valid": not bad,
                "findings": [
                    {"file": f.file, "line": f.line, "level": f.level, "message": f.message} for f in found
                ],
            }
        )
    else:
        for finding in found:
            screen.show(f"{finding.file}:{finding.line}: {finding.level}: {finding.message}")
        screen.show(f"{len(bad)} to mend." if bad else f"Change '{change_id}' is valid.")
    if bad:
        screen.say(f"Mend the files by hand, or run: {called_as()} {fix}", "dim")
    return 1 if bad else 0
