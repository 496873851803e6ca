"""`moot doctor`: which model speaks and why, what is missing, and how to get it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from moot.cli import screen
from moot.cli.command import JsonOption, command

if TYPE_CHECKING:
    from moot.app import Moot


@command("model workspace database")
async def doctor(moot: Moot, as_json: JsonOption = False) -> int:
    """Check which model is used and why, what is missing, and how to get it."""
    from moot.doctor import examine

    findings = await examine(moot)
    healthy = all(finding.good for finding in findings)
    if as_json:
        listed = [dataclasses.asdict(finding) for finding in findings]
        screen.show_json({"healthy": healthy, "findings": listed})
    else:
        for finding in findings:
            mark = "!!" if not finding.good else "ok" if finding.there else "--"
            screen.show(f"{mark}  {finding.what:<11} {finding.found}")
            if finding.advice:
                screen.show(f"{'':<16}{finding.advice}")
    return 0 if healthy else 1
