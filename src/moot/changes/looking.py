"""Looks at the files of a change, for a session of it: where it stands, and what would be refused.

Writes nothing. Each refusal is asked for where it is raised when somebody tries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from moot.changes import approval, history, rounds
from moot.changes.challenge import check_challengeable
from moot.changes.decisions import check_issues
from moot.changes.folder import ChangeFolder
from moot.changes.retrying import failed_task
from moot.changes.service import Changes
from moot.changes.standing import Files, Obstacles, OpenIssue
from moot.changes.testing import ConfirmedTests
from moot.errors import IllegalMove, MootError, NotFound


def mark_of(changes: Changes, change_id: str) -> str:
    """As in `Files`. Raises NotFound where there is no such change."""
    folder = changes.folders.open(change_id)
    try:
        return folder.mark()
    except (MootError, OSError) as unreadable:
        return str(unreadable)


class Looking:
    """Looks again and again, with care only where the files say something else than the last time."""

    def __init__(self, changes: Changes, change_id: str) -> None:
        self._changes = changes
        self._id = change_id
        self._fingerprint = ""
        self._files: Files | None = None

    def __call__(self) -> Files | None:
        fingerprint = ""
        with suppress(MootError, OSError):
            folder = self._changes.folders.open(self._id)
            fingerprint = folder.fingerprint() + self._changes.living.fingerprint()
        if not fingerprint or fingerprint != self._fingerprint:
            self._files, self._fingerprint = look(self._changes, self._id), fingerprint
        return self._files


def look(changes: Changes, change_id: str) -> Files | None:
    """None where there is no such change any more."""
    try:
        folder, mark = changes.folders.open(change_id), mark_of(changes, change_id)
    except NotFound:
        return None
    standing = changes.standing(folder)
    if standing.problem:
        return Files(mark, standing)
    last = approval.last_made(folder)
    commands = ConfirmedTests(changes.moot)
    disputed = rounds.disputed(folder)
    return Files(
        mark,
        standing,
        as_reviewed=last is not None and approval.changed_since(folder, last.record) is None,
        issues=tuple(
            OpenIssue(number, issue, number in disputed)
            for number, issue in approval.numbered_open_issues(folder)
        ),
        decided=history.decided(folder),
        failed=failed_task(folder),
        tests=() if commands.command else commands.found(),
        obstacles=Obstacles(
            ready=_refusal(changes.check, folder),
            challenge=_refusal(check_challengeable, folder),
            implement=_refusal(approval.check, folder),
            approve=_refusal(check_issues, folder),
        ),
    )


def _refusal(check: Callable[[ChangeFolder], object], folder: ChangeFolder) -> str:
    try:
        check(folder)
    except IllegalMove:
        # What the phase forbids, the flow does not offer.
        return ""
    except MootError as refused:
        return str(refused)
    return ""
