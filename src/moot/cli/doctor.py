"""`moot doctor`: which model speaks and why, what is missing, and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.cli.running import DatabaseOption, JsonOption, ModelOption, WorkspaceOption, run

if TYPE_CHECKING:
    from moot.app import Moot


def doctor(
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Say which model is used and why, what is missing, and how to get it."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.doctor import examine

        findings = await examine(moot)
        if as_json:
            screen.show_json(
                {
                    "healthy": all(finding.good for finding in findings),
                    "findings": [
                        {"what": f.what, "good": f.good, "found": f.found, "advice": f.advice}
                        for f in findings
                    ],
                }
            )
        else:
            for finding in findings:
                mark = "ok " if finding.good else "!! "
                screen.show(f"{mark} {finding.what:<11} {finding.found}")
                if finding.advice:
                    screen.show(f"                {finding.advice}")
        return 0 if all(finding.good for finding in findings) else 1

    run(command, workspace=workspace, model=model, database=database, as_json=as_json)
