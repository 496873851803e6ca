"""The review block of a proposal (R2): values to text, text to values, and what contradicts itself (R4).

Knows the block's format and that everything in its fields is untrusted: whatever a field says, it can
neither end the block nor be read as a verdict, an issue or a summary. Refuses to know who reviews, when,
and what follows from a verdict.

How fields are written. An issue's field is a list item with its further lines indented, so that all of it
lies inside the item, and only the outermost level of a block is read. The summary stands at that level:
its lines that would begin a heading, a fence, HTML or an underline get a backslash. In every field
`<!--` becomes `<\\!--`, and a line that begins with "Verdict:" or "Reviewed:" gets a backslash before
the colon. Reading undoes all three. What is lost: surrounding white space, trailing white space of lines,
and the kind of line break; in the timestamp, line breaks are spaces.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from moot.errors import InvalidInput
from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK
from moot.files.markdown import Document

START = "<!-- review:start -->"
END = "<!-- review:end -->"

_START = re.compile(r"<!--\s*review:start\s*-->", re.IGNORECASE)
_END = re.compile(r"<!--\s*review:end\s*-->", re.IGNORECASE)
# ASCII, because without it "ı" is taken for an "i" where case does not matter.
_VERDICT = re.compile(r"[*_ \t]*verdict[*_ \t]*:(?P<value>.*)", re.IGNORECASE | re.ASCII)
_REVIEWED = re.compile(r"[*_ \t]*reviewed[*_ \t]*:(?:\*\*|__)?(?P<value>.*)", re.IGNORECASE)
_ISSUE = re.compile(r"issue\s*#?\d+\b", re.IGNORECASE)
_FIELD = re.compile(
    r"[ \t]*[-+*][ \t]+[*_]*(?P<name>id|severity|description|location|quote|grounded|recommendation)"
    r"[*_ \t]*:(?:\*\*|__)?(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_UNGROUNDED = "no"
_FORMATTING = re.compile(r"[\s*_`-]+")

_COMMENT = re.compile(r"<(?=\\*!--)")
_LABEL = re.compile(r"^([*_ \t]*(?:verdict|reviewed)[*_ \t]*)(?=\\*:)", re.IGNORECASE | re.MULTILINE)
_BLOCK_BEGINS = re.compile(r"^([ \t]*)(?=#|<|`{3}|~{3}|\\|=+$|-+$)", re.MULTILINE)
_ESCAPED_COMMENT = re.compile(r"<\\(?=\\*!--)")
_ESCAPED_LABEL = re.compile(_LABEL.pattern.replace(r"(?=\\*:)", r"\\(?=\\*:)"), _LABEL.flags)
_ESCAPED_BLOCK = re.compile(r"^([ \t]*)\\", re.MULTILINE)


class Verdict(StrEnum):
    APPROVED = "APPROVED"
    NEEDS_REVISION = "NEEDS_REVISION"
    REJECTED = "REJECTED"


class Severity(StrEnum):
    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"


@dataclass(frozen=True, slots=True)
class Issue:
    severity: Severity
    description: str
    location: str = ""
    recommendation: str = ""
    id: str = ""
    """Given by the program, and kept from review to review; earlier versions gave none."""
    quote: str = ""
    grounded: bool = True
    """Not where its quote is in none of the texts: then it blocks nothing."""


@dataclass(frozen=True, slots=True)
class Review:
    verdict: Verdict
    issues: tuple[Issue, ...]
    summary: str
    reviewed: str


@dataclass(frozen=True, slots=True)
class Block:
    """A complete block: `raw` is `text[start:end]`, markers included; `line` counts from 1."""

    start: int
    end: int
    line: int
    raw: str


# -- values to text ------------------------------------------------------------------------------


def render(review: Review) -> str:
    """From the start marker to the end marker, lines ending in "\\n", none at the end."""
    lines = [START, "## Review", "", f"**Verdict**: {review.verdict}", "", "### Issues", ""]
    for number, issue in enumerate(review.issues, start=1):
        lines += [
            f"#### Issue {number}",
            *([_item("Id", issue.id)] if issue.id else []),
            f"- **Severity**: {issue.severity}",
            _item("Description", issue.description),
            _item("Location", issue.location),
            *([_item("Quote", issue.quote)] if issue.quote else []),
            *([] if issue.grounded else [f"- **Grounded**: {_UNGROUNDED}"]),
            _item("Recommendation", issue.recommendation),
            "",
        ]
    if not review.issues:
        lines += ["No issues found.", ""]
    summary = _BLOCK_BEGINS.sub(r"\1\\", _escape(review.summary))
    reviewed = _escape(" ".join(review.reviewed.split()))
    lines += ["### Summary", summary, "", f"**Reviewed**: {reviewed}".rstrip(), END]
    return "\n".join(lines)


def append(text: str, review: Review) -> str:
    """The text as it is, and the review below it."""
    return markdown.append_block(text, render(review))


def _item(name: str, value: str) -> str:
    first, *others = _escape(value).split("\n")
    if first.startswith(("```", "~~~")):
        first, others = "", [first, *others]
    indented = [f"  {line}" if line else "" for line in others]
    return "\n".join([f"- **{name}**: {first}".rstrip(), *indented])


def _escape(value: str) -> str:
    tidy = "\n".join(line.rstrip() for line in LINE_BREAK.split(value)).strip()
    return _LABEL.sub(r"\1\\", _COMMENT.sub(r"<\\", tidy))


def _unescape(value: str) -> str:
    return _ESCAPED_COMMENT.sub("<", _ESCAPED_LABEL.sub(r"\1", value.strip()))


# -- text to values ------------------------------------------------------------------------------


def blocks(text: str) -> tuple[Block, ...]:
    """A start marker that another one follows before any end marker begins nothing."""
    document = markdown.parse(text)
    found = []
    opened: int | None = None
    for block in document.blocks():
        if block.kind != "html_block":
            continue
        marker = block.content.strip()
        if _START.fullmatch(marker):
            opened = block.first
        elif _END.fullmatch(marker) and opened is not None:
            start = document.starts[opened]
            raw = text[start : document.starts[block.behind]].rstrip("\r\n")
            found.append(Block(start, start + len(raw), opened + 1, raw))
            opened = None
    return tuple(found)


def outside(text: str) -> str:
    """The text with the lines of all complete blocks emptied; every other line keeps its number."""
    for block in reversed(blocks(text)):
        breaks = "".join(LINE_BREAK.findall(block.raw))
        text = text[: block.start] + breaks + text[block.end :]
    return text


def verdict(text: str) -> Verdict | None:
    """That of the last complete block; None without one. Raises InvalidInput if it cannot be read."""
    found = blocks(text)
    return _verdict(markdown.parse(found[-1].raw)) if found else None


def read(block: Block) -> Review:
    """Raises InvalidInput if the verdict or a severity cannot be read, or belongs to no issue."""
    document = markdown.parse(block.raw)
    stated = _verdict(document)
    fields = tuple(_fields(document))
    starts = [field.start for field in fields]
    unplaced = {field.start for field in fields if field.name == "severity"}
    issues: list[Issue] = []
    summary = reviewed = ""
    for section in markdown.sections(block.raw):
        title = section.heading.title
        here = fields[bisect_left(starts, section.body) : bisect_left(starts, section.end)]
        if _ISSUE.match(title):
            issues.append(_issue(title, here))
        elif title.casefold() == "summary":
            body = LINE_BREAK.sub("\n", block.raw[section.body : section.end])
            summary, reviewed = _summary(body)
        else:
            continue
        unplaced.difference_update(field.start for field in here)
    if unplaced:
        raise InvalidInput("issues", "a severity stands under no '#### Issue 1' heading")
    return Review(stated, tuple(issues), summary, reviewed)


def as_verdict(written: str) -> Verdict:
    """Case, bold marks and `_`, `-` or space between the words do not matter."""
    name = _name(written)
    if name not in Verdict.__members__:
        raise InvalidInput("verdict", f"{written.strip()[:80]!r} is none of {', '.join(Verdict)}")
    return Verdict[name]


def as_severity(written: str, field: str = "severity") -> Severity:
    name = _name(written)
    if name not in Severity.__members__:
        raise InvalidInput(field, f"{written.strip()[:80]!r} is none of {', '.join(Severity)}")
    return Severity[name]


def _name(written: str) -> str:
    name = _FORMATTING.sub("_", written).strip("_")
    # Beyond ASCII, lookalikes have these letters for capitals: "ı", "ſ".
    return name.upper() if name.isascii() else name


def _verdict(document: Document) -> Verdict:
    """Only the first line of an outermost paragraph states it: no code span or comment can reach it. The
    lines below such a first line may repeat the verdict, but not deny it."""
    paragraphs = [block.content.split("\n") for block in document.blocks() if block.kind == "paragraph_open"]
    if not any(_VERDICT.match(lines[0]) for lines in paragraphs):
        raise InvalidInput("verdict", "the review has no '**Verdict**:' line")
    found = (_VERDICT.match(line) for lines in paragraphs for line in lines)
    stated = {as_verdict(line["value"]) for line in found if line}
    if len(stated) > 1:
        raise InvalidInput("verdict", f"the review states several: {', '.join(sorted(stated))}")
    return stated.pop()


@dataclass(frozen=True, slots=True)
class _Field:
    start: int
    name: str
    value: str


def _fields(document: Document) -> Iterator[_Field]:
    for token in document.tokens:
        if token.type != "list_item_open" or token.level != 1 or token.map is None:
            continue
        start, end = (document.starts[line] for line in token.map)
        if found := _FIELD.match(document.text[start:end]):
            value = re.sub(r"\n {1,2}", "\n", LINE_BREAK.sub("\n", found["value"]))
            yield _Field(start, found["name"].lower(), _unescape(value))


def _issue(title: str, fields: tuple[_Field, ...]) -> Issue:
    where = f"{title.lower()}: severity"
    severities = {as_severity(field.value, where) for field in fields if field.name == "severity"}
    if len(severities) > 1:
        raise InvalidInput(where, f"the issue states several: {', '.join(sorted(severities))}")
    first = {field.name: field.value for field in reversed(fields)}
    return Issue(
        severities.pop() if severities else as_severity("", where),
        first.get("description", ""),
        first.get("location", ""),
        first.get("recommendation", ""),
        first.get("id", ""),
        first.get("quote", ""),
        _name(first.get("grounded", "")) != _name(_UNGROUNDED),
    )


def _summary(body: str) -> tuple[str, str]:
    """The summary, and the timestamp of the last "Reviewed:" line below it."""
    lines = body.split("\n")
    reviewed = ""
    for index in range(len(lines) - 1, -1, -1):
        if found := _REVIEWED.match(lines[index]):
            reviewed = _unescape(found["value"])
            del lines[index:]
            break
    else:
        lines = [line for line in lines if not _END.fullmatch(line.strip())]
    return _unescape(_ESCAPED_BLOCK.sub(r"\1", "\n".join(lines))), reviewed


# -- judging -------------------------------------------------------------------------------------


def count(review: Review) -> dict[Severity, int]:
    counted = Counter(issue.severity for issue in review.issues)
    return {severity: counted[severity] for severity in Severity}


def blocking(issues: Iterable[Issue]) -> tuple[Issue, ...]:
    """Those that R4 lets a change be sent back for: a High one, or two Medium ones."""
    grounded = [issue for issue in issues if issue.grounded]
    high = tuple(issue for issue in grounded if issue.severity is Severity.HIGH)
    medium = tuple(issue for issue in grounded if issue.severity is Severity.MEDIUM)
    return high + medium if high or len(medium) > 1 else ()


def contradictions(review: Review) -> tuple[str, ...]:
    """What R4 does not allow, each as a sentence that the reviewer can act on."""
    found = []
    if review.verdict is Verdict.APPROVED:
        if count(review)[Severity.HIGH]:
            found.append("APPROVED is not possible with a High issue: lower its severity or the verdict")
    elif not blocking(review.issues):
        needs = f"{review.verdict} needs a High issue or at least two Medium issues"
        there = all(issue.grounded for issue in review.issues)
        found.append(needs if there else f"{needs} whose quotes are in the texts of the change")
    if not review.summary.strip():
        found.append("the summary is missing")
    return tuple(found)
