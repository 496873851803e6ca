"""What goes into a reviewer's tools and what comes out: shapes, limits, and the words that explain them.

The explanations are for models. Shapes only: what is done with them is for the tools to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from moot.changes.dispositions import as_fate
from moot.changes.points import as_state
from moot.changes.review_block import as_severity, as_verdict
from moot.errors import InvalidInput
from moot.repo.reading import MAX_CHARACTERS, MAX_LINES

MAX_ISSUES = 100
MAX_POINTS = 1_000


# -- what goes in --------------------------------------------------------------------------------


def tolerant(read: Callable[[str], str]) -> BeforeValidator:
    """Case and marks around a word do not matter; that it is one of the words does."""

    def validated(written: Any) -> Any:
        if not isinstance(written, str):
            return written
        try:
            return str(read(written))
        except InvalidInput as refused:
            raise ValueError(refused.problem) from None

    return BeforeValidator(validated)


FileName = Annotated[
    str,
    Field(
        description="A file of the change, such as 'proposal.md', 'tasks.md' or 'specs/login.md'. "
        "With '@/' in front, a file of the workspace, such as '@/src/app.py'."
    ),
]
FolderName = Annotated[
    str, Field(description="A folder of the change; '@' is the workspace, '@/src' a folder in it.")
]
Offset = Annotated[int, Field(ge=1, description="The line to begin with, counted from 1.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LINES, description="How many lines at most.")]
SearchedFor = Annotated[str, Field(min_length=2, max_length=200, description="A word, a name or a phrase.")]
Within = Annotated[
    str, Field(description="A folder or file of the workspace, such as '@/src'; '@' is all of it.")
]
CommitName = Annotated[
    str,
    Field(
        pattern=r"^(|[0-9a-f]{4,64})$",
        description="A commit's id, as git_log shows it; empty for what is not committed yet.",
    ),
]
VerdictGiven = Annotated[
    Literal["APPROVED", "NEEDS_REVISION", "REJECTED"],
    tolerant(as_verdict),
    Field(
        description="APPROVED: no High issue. NEEDS_REVISION: a High issue, or several Medium ones, that can "
        "be fixed. REJECTED: the design itself is flawed and needs major rework."
    ),
]
SummaryGiven = Annotated[
    str, Field(max_length=10_000, description="The findings in a few sentences; never empty.")
]


class IssueGiven(BaseModel):
    model_config = ConfigDict(frozen=True)

    severity: Annotated[
        Literal["High", "Medium", "Low"],
        tolerant(as_severity),
        Field(
            description="High: must be fixed before implementation. Medium: should be addressed. "
            "Low: a minor improvement."
        ),
    ]
    description: Annotated[str, Field(max_length=4_000, description="What is wrong, and why it matters.")]
    location: Annotated[str, Field(max_length=1_000, description="The file and section affected.")]
    recommendation: Annotated[str, Field(max_length=4_000, description="What to do about it.")]
    quote: Annotated[
        str,
        Field(
            max_length=2_000,
            description="The words of the change's files that the issue is about, copied exactly from one "
            "place; for what is missing, the words of the files or of the person that demand it, or the "
            "heading under which it belongs. An issue whose quote is nowhere blocks nothing.",
        ),
    ] = ""
    id: Annotated[
        str,
        Field(
            max_length=20,
            description="The id of an issue that an earlier review has raised and that is still there, or "
            "there again, such as 'I3'; empty for a new one.",
        ),
    ] = ""


IssuesGiven = Annotated[
    list[IssueGiven], Field(max_length=MAX_ISSUES, description="Every issue found; empty if there is none.")
]


class PointGiven(BaseModel):
    model_config = ConfigDict(frozen=True)

    point: Annotated[str, Field(max_length=20, description="The point's id, such as 'P3' or 'D1'.")]
    state: Annotated[
        Literal["covered", "missing", "contradicted", "elsewhere"],
        tolerant(as_state),
        Field(
            description="covered: the plan does it. missing: nothing in the plan does it. contradicted: the "
            "plan does something else. elsewhere: it is not this change's part, because it is there already "
            "or another change does it."
        ),
    ]
    where: Annotated[
        str,
        Field(max_length=1_000, description="The file and section that show it; empty only for missing."),
    ]


CoverageGiven = Annotated[
    list[PointGiven],
    Field(
        max_length=MAX_POINTS,
        description="What became of each point of the design, by its id, every one once; empty if you were "
        "given no points.",
    ),
]


class DispositionGiven(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(max_length=20, description="The open issue's id, such as 'I3'.")]
    state: Annotated[
        Literal["fixed", "withdrawn"],
        tolerant(as_fate),
        Field(
            description="fixed: the change no longer has it. withdrawn: it was none, or what the person said "
            "settles it."
        ),
    ]
    evidence: Annotated[
        str,
        Field(max_length=2_000, description="What shows that: the words of the files, and where they are."),
    ]


DispositionsGiven = Annotated[
    list[DispositionGiven],
    Field(
        max_length=MAX_ISSUES,
        description="What became of each open issue of the last review that you do not raise again, by its "
        "id; empty if there was none.",
    ),
]


# -- what comes out ------------------------------------------------------------------------------


class Appended(BaseModel):
    """What was written to proposal.md: the verdict, and how many issues of each severity."""

    model_config = ConfigDict(frozen=True)

    verdict: Literal["APPROVED", "NEEDS_REVISION", "REJECTED"]
    high: int
    medium: int
    low: int


# -- what the tools are for ----------------------------------------------------------------------

DESCRIPTIONS = {
    "read_file": (
        "Read a text file of the change under review, or, with '@/' in front of its path, of the workspace "
        f"that it is about, with the numbers of its lines. Gives at most {MAX_LINES:,} lines or "
        f"{MAX_CHARACTERS:,} characters at a time; where the result is truncated, go on at its next_offset."
    ),
    "list_directory": (
        "List a folder of the change under review ('.' is the change itself, 'specs' has its "
        "specifications), or, with '@' or '@/…', of the workspace that it is about."
    ),
    "search": (
        "Find the lines of the workspace's files in which a text occurs, whatever its case. No regular "
        "expressions; hidden, generated and private files are not searched. `read_file` reads what is found "
        "with '@/' in front of its path."
    ),
    "git_log": "List the workspace's latest commits with their messages, the newest first.",
    "git_diff": "Show what one commit has changed, or, without a commit, what is not committed yet.",
    "append_review": (
        "Append your review to the change's proposal.md. Call it exactly once, when you have read "
        "proposal.md, every file in specs and tasks.md to their end: "
        "this, and not what you say, is the review. Only a reviewer that `moot challenge` has started can "
        "append one. A verdict that contradicts the issues is refused with "
        "the reason; correct it and call again. Where you were given points of a design, say in coverage "
        "what became of each of them. Every open issue of the last review is raised again with its id, or "
        "has its place in dispositions."
    ),
}
