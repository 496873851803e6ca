"""Changes over MCP: which there are, where each stands, what is wrong with it, and a new one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver.context import Context
from pydantic import BaseModel, Field

from moot.changes.binding import Binding
from moot.changes.challenge import Challenged, Challenging
from moot.changes.decisions import LONGEST_REASON, Deciding
from moot.changes.proposal import Finding
from moot.changes.review_block import Issue
from moot.changes.service import Changes
from moot.changes.source import DESCRIPTION_LIMIT, LONGEST_ASKED
from moot.changes.standing import Standing
from moot.mcp.giving import Given
from moot.mcp.hints import ACTS, FETCHES_AND_ACTS, READS
from moot.mcp.reviewing import ChangeId
from moot.mcp.working import Progress, to_its_end
from moot.repo.reading import without_paths
from moot.sessions.giving import GivenOut, given_out, offers_of
from moot.sessions.sources import Sources

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from moot.app import Moot
    from moot.mcp.calling import Calls


class ChangeOut(BaseModel):
    """Where a change stands. The counts are those of its latest review."""

    change_id: str
    phase: str = Field(description="proposed, challenged, implementing, complete, archived or rejected")
    iteration: int
    verdict: str | None = Field(description="APPROVED, NEEDS_REVISION or REJECTED; null before any review")
    high: int
    medium: int
    low: int
    tasks_done: int
    tasks: int
    updated_at: str
    cost_usd: float | None
    waiting: bool = Field(description="Whether the phase does not follow from the latest review yet.")
    problem: str | None = Field(description="Why the change cannot be read, where that is so.")
    approved_by: str | None = Field(
        description="Whose approval holds for the text as it is: 'reviewer', 'person', or null."
    )
    note: str | None = Field(description="The person's reason, or why an approval no longer holds.")
    strangers: int = Field(description="Reviews in proposal.md not made by moot; they do not count.")
    dismissed: int = Field(description="Issues of the latest review that the person has dismissed.")
    source: str | None = Field(description="What it was made from, such as 'analysis offline-mode'.")


class CreatedOut(ChangeOut):
    given: GivenOut | None = Field(
        description="What came of the evidence, where there was any: tell what was left out."
    )


class ChallengedOut(BaseModel):
    """What a reviewer, started by moot, has found."""

    change_id: str
    verdict: str
    phase: str
    summary: str
    issues: tuple[Issue, ...]
    disputed: tuple[str, ...] = Field(
        description="Ids of issues that keep coming back. The user decides them, in the terminal or on the "
        "page; no further review or revision does."
    )
    engine: str
    model: str


class AbandonedOut(BaseModel):
    change_id: str
    archived: str = Field(description="Where it is kept now, below the workspace.")


class ChangesOut(BaseModel):
    changes: list[ChangeOut]


class ValidationOut(BaseModel):
    change_id: str
    valid: bool = Field(description="Whether there is no error; warnings do not count.")
    findings: tuple[Finding, ...]


Because = Annotated[str, Field(max_length=LONGEST_REASON, description="Why, in a sentence.")]
NewChangeId = Annotated[
    str, Field(description="Lower-case letters, digits and hyphens, such as 'add-login'; at most 64.")
]
Description = Annotated[
    str,
    Field(
        max_length=DESCRIPTION_LIMIT,
        description="What should change and why, in the words of whoever wants it. With a source, it may be "
        "empty, or say which part of it is wanted.",
    ),
]
SourceName = Annotated[
    str,
    Field(
        max_length=200,
        description="What the change is made from: an analysed item, a board's session, or 'workflow'. What "
        "was decided there binds the change, and its requirements say by number what they carry out.",
    ),
]


def add(server: MCPServer[Any], moot: Moot, calls: Calls) -> None:
    changes = Changes(moot)
    root = moot.workspace.root

    def list_changes() -> ChangesOut:
        return ChangesOut(changes=[_out(standing, root) for standing in changes.standings()])

    def get_change(change_id: ChangeId) -> ChangeOut:
        return _out(changes.standing(changes.folders.open(change_id)), root)

    def validate_change(change_id: ChangeId) -> ValidationOut:
        found = changes.findings(changes.folders.open(change_id))
        return ValidationOut(
            change_id=change_id,
            valid=all(finding.level != "error" for finding in found),
            findings=found,
        )

    async def create_change(
        change_id: NewChangeId,
        context: Context[Any, Any],
        description: Description = "",
        source: SourceName = "",
        evidence: Given = (),
    ) -> CreatedOut:
        given = await calls.use(lambda sessions: sessions.gather(offers_of(evidence)))
        items, limit = given.gathered.items if given is not None else (), DESCRIPTION_LIMIT
        binding = Binding(evidence=items)
        if source:
            found = await Sources(moot).find(source, description)
            description, binding, limit = found.asked, found.with_more(items), LONGEST_ASKED
        async with Progress(context) as progress:
            drafting = changes.propose(change_id, description, progress.tell, binding, limit=limit)
            folder = await to_its_end(drafting)
        told = None if given is None else given_out(given)
        return CreatedOut(**_out(changes.standing(folder), root).model_dump(), given=told)

    async def challenge_change(change_id: ChangeId, context: Context[Any, Any]) -> ChallengedOut:
        async with Progress(context) as progress:
            challenging = Challenging(changes).challenge(change_id, "auto", progress.tell)
            return _challenged_out(await to_its_end(challenging))

    def reopen_change(change_id: ChangeId) -> ChangeOut:
        Deciding(changes).reopen(change_id, lambda _: None)
        return _out(changes.standing(changes.folders.open(change_id)), root)

    def abandon_change(change_id: ChangeId, because: Because) -> AbandonedOut:
        place = Deciding(changes).abandon(change_id, because)
        return AbandonedOut(change_id=change_id, archived=place.relative_to(root).as_posix())

    server.add_tool(
        list_changes,
        title="List the changes",
        description="List the workspace's changes and where each stands: phase, verdict, open issues, tasks.",
        annotations=READS,
    )
    server.add_tool(
        get_change,
        title="Where a change stands",
        description="Where one change stands: its phase, the verdict and issue counts of its latest review, "
        "and how many of its tasks are done.",
        annotations=READS,
    )
    server.add_tool(
        validate_change,
        title="Check a change's files",
        description="Check a change's proposal, specifications and tasks for what is missing or malformed, "
        "each finding with file and line. No model is asked.",
        annotations=READS,
    )
    server.add_tool(
        create_change,
        title="Draft a new change",
        description="Draft a new change from a description, or from an item, a board or the workflow: a "
        "proposal, specifications and tasks, written by a model that has looked at the workspace and read "
        "the evidence, which is kept in the change's design.md, for its reviewers and coders. Takes a "
        "minute or two. Have it reviewed afterwards with challenge_change.",
        annotations=FETCHES_AND_ACTS,
    )
    server.add_tool(
        challenge_change,
        title="Have a change reviewed",
        description="Have a change reviewed by the reviewer that the user has set up; its verdict moves the "
        "change on. Takes minutes.",
        annotations=ACTS,
    )
    server.add_tool(
        reopen_change,
        title="Take a change up once more",
        description="Bring a change that was approved, rejected, begun or completed back to 'proposed'. Its "
        "approval ends with that.",
        annotations=ACTS,
    )
    server.add_tool(
        abandon_change,
        title="Give a change up",
        description="Move a change to the archive, with the reason why it is given up.",
        annotations=ACTS,
    )


def _challenged_out(last: Challenged) -> ChallengedOut:
    return ChallengedOut(
        change_id=last.change_id,
        verdict=str(last.verdict),
        phase=str(last.phase),
        summary=last.review.summary,
        issues=last.review.issues,
        disputed=tuple(last.disputed.values()),
        engine=last.engine,
        model=last.model,
    )


def _out(standing: Standing, root: Path) -> ChangeOut:
    fields = asdict(standing) | {
        "change_id": standing.id,
        "verdict": standing.verdict or None,
        "problem": without_paths(standing.problem, root) or None,
        "approved_by": standing.approved_by or None,
        "note": without_paths(standing.note, root) or None,
        "source": standing.source or None,
    }
    return ChangeOut.model_validate(fields)
