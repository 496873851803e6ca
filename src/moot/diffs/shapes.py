"""What a reviewer of a diff gives: its shape, its limits, and the words that explain it.

The explanations are for models. Knows how what was given becomes what was said, and what of it cannot be
found in the diff. Refuses to know how it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from moot.changes.review_block import as_severity
from moot.changes.review_shapes import tolerant
from moot.diffs.findings import Kind, Review, Said, locate
from moot.diffs.patch import Patch, is_made_by_program, source_name
from moot.llm.messages import Source, Weight
from moot.repo.reading import MAX_CHARACTERS, MAX_LINES
from moot.text.characters import strip_controls

MOST_FINDINGS = 100
DIFF, PLAN = "diff.patch", "plan.md"
"""What a reviewer with tools calls them."""


def _known_kind(given: object) -> object:
    """A kind of a reviewer's own is a bug."""
    plain = given.strip().lower() if isinstance(given, str) else given
    return plain if plain in set(Kind) else Kind.BUG


class FindingGiven(BaseModel):
    model_config = ConfigDict(frozen=True)

    severity: Annotated[
        Literal["High", "Medium", "Low"],
        tolerant(as_severity),
        Field(description="High: must not be merged like that. Medium: should be fixed. Low: worth knowing."),
    ]
    kind: Annotated[
        Literal["bug", "security", "data", "performance", "compatibility", "tests", "plan", "design"],
        BeforeValidator(_known_kind),
        Field(description="What it is about; plan: not what the plan asks for."),
    ]
    file: Annotated[str, Field(max_length=1_000, description="The file, as the diff names it.")]
    quote: Annotated[
        str, Field(max_length=4_000, description="One to a few lines of the diff, copied word for word.")
    ]
    line: Annotated[
        int | None, Field(description="The number of the quote's first line in the file, if you can tell.")
    ] = None
    problem: Annotated[
        str, Field(min_length=1, max_length=4_000, description="What is wrong, so that it can be checked.")
    ]
    consequence: Annotated[
        str,
        Field(
            min_length=1, max_length=4_000, description="Who notices it, and how: the input, what happens."
        ),
    ]
    fix: Annotated[
        str, Field(max_length=4_000, description="What to do about it; empty if the problem says it.")
    ] = ""


DeskFile = Annotated[
    str,
    Field(
        description=f"'{DIFF}', or '{PLAN}' where there is one; with '@/' in front, a file of the workspace, "
        "such as '@/src/app.py'."
    ),
]
DeskPlace = Annotated[
    str,
    Field(description="'.' is what is under review; '@' is the workspace, '@/src' a folder in it."),
]
FindingsGiven = Annotated[
    list[FindingGiven],
    Field(max_length=MOST_FINDINGS, description="Every finding; empty if there is none."),
]
SummaryGiven = Annotated[
    str,
    Field(
        min_length=1,
        max_length=10_000,
        description="What the diff does and how good that is, in a few sentences.",
    ),
]
RejectsGiven = Annotated[
    bool,
    Field(description="Only if the approach itself is wrong, so that no correction of details would help."),
]


class ReviewGiven(BaseModel):
    model_config = ConfigDict(frozen=True)

    findings: FindingsGiven
    summary: SummaryGiven
    rejects: RejectsGiven = False

    def as_review(self, by: str) -> Review:
        return Review(by, _clean(self.summary), tuple(map(_said, self.findings)), self.rejects)


def _said(given: FindingGiven) -> Said:
    severity, kind = as_severity(given.severity), Kind(given.kind)
    file, quote, problem, consequence, fix = map(
        _clean, (given.file, given.quote, given.problem, given.consequence, given.fix)
    )
    return Said(severity, kind, file, quote, problem, consequence, fix, given.line)


def _clean(text: str) -> str:
    return strip_controls(text).strip("\n").rstrip()


def not_found(patch: Patch, review: Review) -> str:
    """What a reviewer is told of the quotes that are not in the diff; empty where all are."""
    lost = [said for said in review.said if locate(patch, said) is None]
    if not lost:
        return ""
    listed = "\n".join(f"- {said.file}: {said.quote.strip()[:200]}" for said in lost)
    return (
        f"These quotes are not in the diff:\n{listed}\nCopy the lines from the diff word for word, or leave "
        "the finding out if the diff does not show it. Give the whole review again; what is then still not "
        "found is shown as that, and cannot block."
    )


def sources(patch: Patch) -> tuple[Source, ...]:
    """Each file by itself, so that of a diff that is too large, whole files are left out, and those first
    that programs have made."""
    made = [file for file in patch.files if is_made_by_program(file)]
    ordered = [*made, *(file for file in patch.files if file not in made)]
    return tuple(
        Source(
            source_name(file.path),
            f"<diff>\n{patch.text_of(file)}\n</diff>",
            Weight.HELPFUL if file in made else Weight.DEPENDED_ON,
        )
        for file in ordered
    )


def plan_source(plan: str) -> Source:
    return Source("the plan", f"<plan>\n{plan}\n</plan>", Weight.NEEDED)


def intent_text(intent: str) -> str:
    return (
        "<commits>\nWhat the commits say that they are for. Hold the code against it: it is what somebody "
        f"claims, and no proof.\n\n{intent}\n</commits>"
    )


def in_words(left_out: Sequence[str]) -> str:
    """What the reviewer is not shown; empty where that is nothing."""
    if not left_out:
        return ""
    listed = "\n".join(f"- {one}" for one in left_out)
    return f"\n\nNot shown to you, so say nothing about it:\n{listed}"


DESCRIPTIONS = {
    "read_file": (
        f"Read the diff under review ({DIFF}) or, with '@/' in front of its path, a text file of the "
        f"workspace that it is of. Gives at most {MAX_LINES:,} lines or {MAX_CHARACTERS:,} characters at a "
        "time; where the result is truncated, go on at its next_offset."
    ),
    "list_directory": (
        "List what is under review ('.'), or, with '@' or '@/…', a folder of the workspace that the diff is "
        "of."
    ),
    "append_review": (
        "Deliver your review. Call it exactly once, when you have read the diff to its end: this, and not "
        "what you say, is the review. It is returned once if quotes of it are not in the diff; correct them "
        "and call again."
    ),
}
