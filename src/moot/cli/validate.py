"""`moot validate-proposal` and `moot validate-challenge`: local checks, no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.proposal import ChangeArgument
from moot.cli.running import JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.app import Moot
    from moot.changes.proposal import Finding

StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")]


def validate_proposal(
    change_id: ChangeArgument,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Check a change's own files: sections, scenarios, task boxes. Every finding has its file and line."""

    async def command(moot: Moot) -> int:
        from moot.changes.service import Changes

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
    """Check the reviews in a change's proposal. A review has a format, a verdict that its issues do not
    contradict, and was made by moot."""

    async def command(moot: Moot) -> int:
        from moot.changes.proposal import Finding, check_reviews
        from moot.changes.service import Changes

        changes = Changes(moot)
        folder = changes.folders.open(change_id)
        written = folder.proposal()
        missing = (Finding("proposal.md", 1, "error", "the file is missing"),)
        found = missing if written is None else (*check_reviews(written), *changes.check_made(folder))
        said = _last_review(written or "")
        return _report(
            change_id, found, strict=strict, as_json=as_json, fix=f"challenge {change_id}", more=said
        )

    run(command, workspace=workspace, as_json=as_json)


def _last_review(text: str) -> dict[str, Any]:
    """What the last complete review says; nothing where there is none, or it cannot be read."""
    from moot.changes import review_block
    from moot.changes.review_block import Severity
    from moot.errors import InvalidInput

    blocks = review_block.blocks(text)
    try:
        review = review_block.read(blocks[-1]) if blocks else None
    except InvalidInput:
        review = None
    if review is None:
        return {"verdict": None, "counts": None}
    counts = review_block.count(review)
    return {
        "verdict": review.verdict,
        "counts": {severity.lower(): counts[severity] for severity in Severity},
    }


def _report(
    change_id: str,
    found: Sequence[Finding],
    *,
    strict: bool,
    as_json: bool,
    fix: str,
    more: Mapping[str, Any] | None = None,
) -> int:
    from moot.cli import screen

    bad = [finding for finding in found if strict or finding.level == "error"]
    if as_json:
        screen.show_json(
            {
                "change": change_id,
                "valid": not bad,
                **(more or {}),
                "findings": [
                    {"file": f.file, "line": f.line, "level": f.level, "message": f.message} for f in found
                ],
            }
        )
    else:
        for finding in found:
            screen.show(f"{finding.file}:{finding.line}: {finding.level}: {finding.message}")
        problems = f"{len(bad)} problem{'' if len(bad) == 1 else 's'} to fix."
        screen.show(problems if bad else f"Change '{change_id}' is valid.")
    if bad:
        screen.say(f"Fix the files by hand, or run: {called_as()} {fix}", "dim")
    return 1 if bad else 0
