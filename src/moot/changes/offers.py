"""What the person may have done with a change, as its files are: the choices, and why something is none.

Pure. Refuses to know what follows from a choice: that is the flow's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from moot.changes.phases import Phase, commands
from moot.changes.standing import Files
from moot.core.flow import Choice, Takes

DRAFT = "draft"
CHALLENGE = "challenge"
REVISE = "revise"
IMPLEMENT = "implement"
COMMENT = "comment"
SKIP = "skip"
ROLL_BACK = "roll-back"
TESTS = "tests"
ARCHIVE = "archive"
APPROVE = "approve"
DISMISS = "dismiss"
ACCEPT = "accept"
REOPEN = "reopen"
ABANDON = "abandon"


def choices(files: Files, description: str) -> Iterator[Choice]:
    """`description` is what was last said to be drafted."""
    phase, refused = Phase(files.standing.phase), files.obstacles
    possible = commands(phase)
    if "proposal" in possible and refused.ready:
        suggested = (description,) if description else ()
        yield Choice(DRAFT, "Draft it: say what should change, and why", Takes.TEXT, suggested)
    if "challenge" in possible and not (refused.ready or refused.challenge):
        yield Choice(CHALLENGE, "Challenge it: have it reviewed")
    if "reproposal" in possible:
        words = Takes.OPTIONAL_TEXT if files.issues else Takes.TEXT
        yield Choice(REVISE, "Revise it: say what should be different", words)
    if "implement" in possible and not (refused.ready or refused.implement):
        yield Choice(IMPLEMENT, "Build it, task by task")
        yield from _about_failed(files)
        for place, found in enumerate(files.tests, start=1):
            # Exactly what is run: whoever wrote the repository has written it.
            label = f"Let this command be run after each task: {found.command} (found in {found.source})"
            yield Choice(f"{TESTS}-{place}", label)
    # One that says so already was not moved: whoever began that was stopped.
    if "archive" in possible or phase is Phase.ARCHIVED:
        yield Choice(ARCHIVE, "Archive it")
    if "dismiss" in possible:
        for one in files.issues:
            what = f"issue {one.number}, {one.issue.severity}: {one.issue.description}"
            disputed = "the disputed " if one.disputed else ""
            yield Choice(f"{DISMISS}-{one.number}", f"Dismiss {disputed}{what}", Takes.TEXT)
            if one.disputed:
                yield Choice(f"{ACCEPT}-{one.number}", f"Accept the risk of {what}", Takes.TEXT)
    if "approve" in possible and not (refused.ready or refused.approve):
        yield Choice(APPROVE, "Approve it yourself: say why", Takes.TEXT)
    if "reopen" in possible:
        yield Choice(REOPEN, "Reopen it: it is proposed again")
    if "abandon" in possible:
        yield Choice(ABANDON, "Give it up: say why", Takes.TEXT)


def _about_failed(files: Files) -> Iterator[Choice]:
    if files.failed is None:
        return
    task = f"task {files.failed.number}"
    yield Choice(COMMENT, f"Comment: say something to the agent, and have {task} tried again", Takes.TEXT)
    yield Choice(SKIP, f"Skip: leave {task} open, and go on with the next")
    if files.failed.can_roll_back:
        yield Choice(ROLL_BACK, f"Roll back: undo what was done for {task}")


def key(files: Files) -> str:
    """Another one as soon as a choice means something else: what was confirmed has to be what was shown."""
    if not (files.tests or files.failed):
        return files.mark
    shown = [*(one.command for one in files.tests), str(files.failed and files.failed.number)]
    return f"{files.mark}-{hashlib.sha256(chr(0).join(shown).encode()).hexdigest()[:12]}"


def hint(files: Files) -> str:
    """Why something is not offered that the phase allows."""
    possible, refused = commands(Phase(files.standing.phase)), files.obstacles
    why = {"challenge": refused.challenge, "implement": refused.implement, "approve": refused.approve}
    return "\n".join(dict.fromkeys([refused.ready, *(why[one] for one in why if one in possible)])).strip()
