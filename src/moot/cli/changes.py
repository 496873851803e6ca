"""Changes: which there are, drafting and checking one, and what the person decides about it.

An approval and a dismissal are the person's own: they are asked once more, at the terminal or in `--answers`.
A program that only runs the command is nobody's person.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli import screen
from moot.cli.command import AnswersOption, JsonOption, WithOption, called_as, command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from moot.app import Moot
    from moot.changes.binding import Binding
    from moot.changes.folder import ChangeFolder
    from moot.changes.proposal import Finding
    from moot.changes.service import Changes
    from moot.changes.standing import Standing
    from moot.evidence.items import Evidence

ChangeArgument = Annotated[
    str, typer.Argument(metavar="CHANGE", help="The change's id: lower-case letters, digits and hyphens.")
]
BecauseOption = Annotated[str, typer.Option("--because", metavar="TEXT", help="The reason; it is recorded.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")]


# -- which there are -----------------------------------------------------------------------------


@command()
async def changes(moot: Moot, as_json: JsonOption = False) -> None:
    """List the changes of the workspace and where each stands."""
    from moot.changes.service import Changes

    standings = Changes(moot).standings()
    if as_json:
        screen.show_json([dataclasses.asdict(standing) for standing in standings])
        return
    if not standings:
        screen.say(f'No changes yet. Start with: {called_as()} proposal ID "what should change"')
    for one in standings:
        _show_standing(one)


def _show_standing(one: Standing) -> None:
    if one.problem:
        screen.show(f"{one.id:<24} !! {one.problem}")
        return
    issues = f"{one.high} high, {one.medium} medium, {one.low} low" if one.verdict else "not reviewed"
    screen.show(
        f"{one.id:<24} {one.phase:<12} round {one.iteration}  {one.verdict or '-':<14} {issues:<28}"
        f" {one.tasks_done}/{one.tasks} tasks"
    )
    notes = []
    if one.source:
        notes.append(f"made from {one.source}")
    if one.approved_by == "person":
        notes.append(f"approved by the person, and by no reviewer: {one.note}")
    elif one.note:
        notes.append(f"not approved as it is: {one.note}")
    if one.dismissed:
        notes.append(f"dismissed by the person: {one.dismissed} of its issues")
    if one.strangers:
        reviews = "1 review" if one.strangers == 1 else f"{one.strangers} reviews"
        notes.append(f"{reviews} in its proposal not made by moot: they do not count")
    if one.waiting:
        notes.append(f"its last review does not count yet: {called_as()} challenge {one.id}")
    for note in notes:
        screen.show(f"{'':<24} {note}")


@command()
async def archive(moot: Moot, change_id: ChangeArgument, as_json: JsonOption = False) -> None:
    """Merge the specifications of a change and archive it.

    They go into moot/specs.

    What contradicts moot/specs is named; then nothing is merged, and the change stays where it is.
    """
    from moot.changes.service import Changes

    merged: list[str] = []
    place = Changes(moot).archive(change_id, merged.append).relative_to(moot.workspace.root).as_posix()
    lines = [f"Change '{change_id}' is now in {place}.", *(f"It was {line}." for line in merged)]
    _report({"change": change_id, "archived": place, "merged": merged}, "\n".join(lines), as_json=as_json)


# -- drafting ------------------------------------------------------------------------------------


async def _bound(
    changes: Changes,
    change_id: str,
    evidence: list[str] | None,
    words: str,
    there: tuple[Evidence, ...] = (),
) -> Binding:
    """What is given with a command, and named in its words, binds the change, numbered behind what is
    `there`."""
    from moot.changes import binding
    from moot.changes.binding import Binding
    from moot.changes.flow import CHANGE
    from moot.cli.desk import gather
    from moot.errors import NotFound

    with suppress(NotFound):
        there = (*there, *binding.read(changes.folders.open(change_id).design() or "").evidence)
    gathered = await gather(changes.moot, CHANGE, evidence or (), words, there)
    return Binding(evidence=gathered.items)


@command("model workspace database")
async def proposal(
    moot: Moot,
    change_id: ChangeArgument,
    description: Annotated[
        str, typer.Argument(metavar="DESCRIPTION", help="What should change, and why. Optional with --from.")
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="ITEM|BOARD|WORKFLOW",
            help="Make it from what was decided there: an item, a board's session, or 'workflow'.",
        ),
    ] = "",
    evidence: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft a change from a description. Its proposal, specifications and tasks fit the workspace.

    Evidence is kept in its design.md, for whoever reviews and builds it.

    moot proposal feat-auth "Let people sign in with a passkey; passwords get phished."

    moot proposal offline-orders --from offline-mode
    """
    from moot.changes.service import Changes
    from moot.changes.source import DESCRIPTION_LIMIT, LONGEST_ASKED
    from moot.cli.progress import Steps

    changes, limit, found = Changes(moot), DESCRIPTION_LIMIT, None
    if source:
        from moot.sessions.sources import Sources

        found = await Sources(moot).find(source, description)
        screen.say(f"Made from {found.binding.origin}: {found.evidence}")
    there = found.binding.evidence if found else ()
    binding = await _bound(changes, change_id, evidence, description, there)
    if found:
        description, limit = found.asked, LONGEST_ASKED
        binding = found.with_more(binding.evidence)
    with Steps(f"Proposal '{change_id}'") as tell:
        folder = await changes.propose(change_id, description, tell, binding, limit=limit)
    _show_files(changes, folder, as_json=as_json)


@command("model workspace")
async def reproposal(
    moot: Moot,
    change_id: ChangeArgument,
    wishes: Annotated[
        str, typer.Argument(metavar="WISHES", help="What should be different, besides the open issues.")
    ] = "",
    evidence: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revise a change from the open issues of its last review. Every review stays as it is."""
    from moot.changes.service import Changes
    from moot.cli.progress import Steps

    changes = Changes(moot)
    binding = await _bound(changes, change_id, evidence, wishes)
    with Steps(f"Reproposal '{change_id}'") as tell:
        folder = await changes.repropose(change_id, wishes, tell, binding)
    _show_files(changes, folder, as_json=as_json)


def _show_files(changes: Changes, folder: ChangeFolder, *, as_json: bool) -> None:
    root = changes.moot.workspace.root
    files = ["proposal.md", *folder.specs(), "tasks.md"]
    paths = [(folder.path / name).relative_to(root).as_posix() for name in files]
    _report(
        {"change": folder.id, "phase": folder.state().phase, "files": paths, **_traced(folder)},
        "\n".join(paths),
        f"Read it, then: {called_as()} challenge {folder.id}",
        as_json=as_json,
    )


def tell_made(moot: Moot, format_: str, session: str) -> None:
    """Which changes were made from a session."""
    from moot.changes.origins import made_from

    if made := made_from(moot.workspace, format_, session):
        screen.say(f"Made from it: {', '.join(map(str, made))}", "dim")


def _traced(folder: ChangeFolder) -> dict[str, Any]:
    """Where the change was made from a session: which, and where its plan takes up each entry of it."""
    from moot.changes import history

    origin = history.origin(folder)
    if origin is None:
        return {}
    return {"from": {"format": origin.format, "id": origin.id}, "takenUp": history.taken_up(folder)}


# -- checking ------------------------------------------------------------------------------------


@command()
async def validate_proposal(
    moot: Moot, change_id: ChangeArgument, strict: StrictOption = False, as_json: JsonOption = False
) -> int:
    """Check a change's own files: sections, scenarios, task boxes. Every finding has its file and line."""
    from moot.changes.service import Changes

    changes = Changes(moot)
    folder = changes.folders.open(change_id)
    found = changes.findings(folder)
    fix = f'proposal {change_id} "…"'
    return _report_findings(
        {"change": change_id, **_traced(folder)}, found, strict=strict, as_json=as_json, fix=fix
    )


@command()
async def validate_challenge(
    moot: Moot, change_id: ChangeArgument, strict: StrictOption = False, as_json: JsonOption = False
) -> int:
    """Check the reviews in a change's proposal. A review has a format, a verdict that its issues do not
    contradict, and was made by moot."""
    from moot.changes.proposal import Finding, check_reviews
    from moot.changes.service import Changes

    changes = Changes(moot)
    folder = changes.folders.open(change_id)
    written = folder.proposal()
    missing = (Finding("proposal.md", 1, "error", "the file is missing"),)
    found = missing if written is None else (*check_reviews(written), *changes.check_made(folder))
    document = {"change": change_id, **_last_review(written or "")}
    return _report_findings(document, found, strict=strict, as_json=as_json, fix=f"challenge {change_id}")


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


def _report_findings(
    document: dict[str, Any], found: Sequence[Finding], *, strict: bool, as_json: bool, fix: str
) -> int:
    bad = [finding for finding in found if strict or finding.level == "error"]
    if as_json:
        findings = [dataclasses.asdict(finding) for finding in found]
        screen.show_json({**document, "valid": not bad, "findings": findings})
    else:
        for finding in found:
            screen.show(f"{finding.file}:{finding.line}: {finding.level}: {finding.message}")
        problems = f"{len(bad)} problem{'' if len(bad) == 1 else 's'} to fix."
        screen.show(problems if bad else f"Change '{document['change']}' is valid.")
    if bad:
        screen.say(f"Fix the files by hand, or run: {called_as()} {fix}", "dim")
    return 1 if bad else 0


# -- deciding ------------------------------------------------------------------------------------


@command()
async def approve(
    moot: Moot,
    change_id: ChangeArgument,
    because: BecauseOption,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Approve a change yourself, as it is now. It is recorded as yours, never as a reviewer's verdict."""
    from moot.changes.decisions import Deciding
    from moot.changes.service import Changes

    deciding = Deciding(Changes(moot))
    deciding.check_approval(change_id, because, screen.say)
    asked = f"approve '{change_id}' yourself, as it is now? (y or n)"
    if not await said_yes(answers, "approve", asked):
        return _leave_alone(change_id, as_json=as_json)
    phase = deciding.approve(change_id, because, lambda _: None)
    _report(
        {"change": change_id, "phase": phase, "approvedBy": "person", "because": because},
        f"Approved by you, and by no reviewer: {because}",
        f"Build it: {called_as()} implement {change_id}",
        as_json=as_json,
    )
    return 0


@command()
async def dismiss(
    moot: Moot,
    change_id: ChangeArgument,
    issue: Annotated[
        str, typer.Argument(metavar="ISSUE", help="The issue's number in the last review, or its id.")
    ],
    because: BecauseOption,
    accept: Annotated[
        bool, typer.Option("--accept", help="The issue holds, and you accept its risk; it is kept on record.")
    ] = False,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Dismiss one issue of a change's last review. The next reviewer is told, with your reason."""
    from moot.changes.decisions import Deciding
    from moot.changes.service import Changes

    deciding = Deciding(Changes(moot))
    number = deciding.number_of(change_id, issue)
    found = deciding.dismissible(change_id, number, because, screen.say)
    described = f"{found.severity}: {' '.join(found.description.split())}"
    do = "Accept its risk?" if accept else "Dismiss it?"
    asked = f"issue {number} of '{change_id}', {described} {do} (y or n)"
    if not await said_yes(answers, "dismiss", asked):
        return _leave_alone(change_id, as_json=as_json)
    found = deciding.dismiss(change_id, number, because, lambda _: None, accepted=accept)
    told = {
        "severity": found.severity,
        "description": found.description,
        "because": because,
        "accepted": accept,
    }
    _report(
        {"change": change_id, "issue": number, **told},
        f"{'Risk accepted' if accept else 'Dismissed'} by you: {described}",
        "If nothing else is in the way, you can approve it yourself: "
        f"{called_as()} approve {change_id} --because …",
        as_json=as_json,
    )
    return 0


@command()
async def reopen(moot: Moot, change_id: ChangeArgument, as_json: JsonOption = False) -> None:
    """Reopen a change. It is proposed again, and has to be approved again."""
    from moot.changes.decisions import Deciding
    from moot.changes.service import Changes

    phase = Deciding(Changes(moot)).reopen(change_id, screen.say)
    _report(
        {"change": change_id, "phase": phase},
        f"Change '{change_id}' is {phase} again.",
        f"Edit its files, then: {called_as()} challenge {change_id}",
        as_json=as_json,
    )


@command()
async def abandon(
    moot: Moot, change_id: ChangeArgument, because: BecauseOption, as_json: JsonOption = False
) -> None:
    """Abandon a change. It is kept in the archive, with the reason."""
    from moot.changes.decisions import Deciding
    from moot.changes.service import Changes

    place = Deciding(Changes(moot)).abandon(change_id, because)
    where = place.relative_to(moot.workspace.root).as_posix()
    _report(
        {"change": change_id, "archived": where, "because": because},
        f"Change '{change_id}' is abandoned, and is now in {where}.",
        as_json=as_json,
    )


async def said_yes(answers: Path | None, step: str, asked: str) -> bool:
    """Asked of the person at the terminal, or of their answers; nobody else can say so."""
    from moot.cli.conversation import answering
    from moot.core.flow import AskPerson, Choice, PersonAnswered
    from moot.core.runner import UserQuit

    ask = AskPerson(step, asked, step, (Choice("yes", "yes"), Choice("no", "no")))
    with answering(answers) as person:
        try:
            answered = await person.answer(ask, None)
            return isinstance(answered, PersonAnswered) and answered.choice == "yes"
        except UserQuit:
            return False


def _leave_alone(change_id: str, *, as_json: bool) -> int:
    if as_json:
        screen.show_json({"change": change_id, "decided": False})
    else:
        screen.say(f"Change '{change_id}' stays as it is.")
    return 1


def _report(document: dict[str, Any], line: str, next_step: str = "", *, as_json: bool) -> None:
    if as_json:
        screen.show_json(document)
        return
    screen.show(line)
    if next_step:
        screen.say(next_step, "dim")
