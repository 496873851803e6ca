"""The files of a change: what they have to contain (checks), and how a draft becomes them.

Knows the sections that proposal.md, a spec and tasks.md need, and that every field of a draft is untrusted:
whatever a model writes in it, it begins no heading, no HTML and no review block, and leaves no fence open, so
that what `render_*` makes of fields with words in them always passes `check_*`. Refuses to know where files
are and who reads the findings.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from moot.changes import review_block, tasks
from moot.changes.review_block import Block, Review
from moot.errors import InvalidInput
from moot.files import frontmatter, markdown
from moot.files.frontmatter import LINE_BREAK

PROPOSAL_SECTIONS = ("Summary", "Why", "What Changes", "Impact")
SPEC_SECTIONS = ("Overview", "Acceptance Criteria")

Level = Literal["error", "warning"]

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKER = re.compile(r"<!--\s*review:(?P<which>start|end)\s*-->", re.IGNORECASE)
_SCENARIO = re.compile(r"scenario\s*:", re.IGNORECASE)
# Possessive, so that the marks of a bare "**WHEN**" are not taken for the text behind it.
_STEP = re.compile(
    r"^[ \t]*+[*_]*+(?P<word>when|then)(?![^\W_])[*_]*+:?+[*_]*+[ \t]*+\S", re.IGNORECASE | re.MULTILINE
)

_CONFLICT = re.compile(r"<{7}(?: |$)|>{7}(?: |$)|\|{7}(?: |$)")
_TO_DO = re.compile(r"(?:todo|tbd|tba|fixme|xxx|\?+|\.\.\.|…)[\s:.!?…]*", re.IGNORECASE)
_MARKS = re.compile(r"[\s>*+-]+")
_LABEL = re.compile(r"(?:(?P<name>R\d+)\s*(?:[:.–—-]\s*|\s|$)|scenario\s*:\s*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """`line` counts from 1; what is missing altogether is missing in line 1."""

    file: str
    line: int
    level: Level
    message: str


# -- checking ------------------------------------------------------------------------------------


def check_proposal(text: str, file: str = "proposal.md") -> tuple[Finding, ...]:
    text = review_block.outside(text)
    return (*_check_sections(text, file, PROPOSAL_SECTIONS), *_check_unfinished(text, file))


def check_spec(text: str, file: str) -> tuple[Finding, ...]:
    return (
        *_check_sections(text, file, SPEC_SECTIONS),
        *_check_requirements(text, file),
        *_check_scenarios(text, file),
        *_check_unfinished(text, file),
    )


def check_tasks(text: str, file: str = "tasks.md") -> tuple[Finding, ...]:
    boxes = tasks.tasks(text)
    none = (Finding(file, 1, "error", "there is no task: a line that begins with '- [ ] '"),)
    unnamed = (
        Finding(file, task.line, "warning", f"the task '{task.text}' says nothing yet")
        for task in boxes
        if _TO_DO.fullmatch(task.text)
    )
    return (*(none if not boxes else ()), *unnamed, *_check_unfinished(text, file))


def _check_sections(text: str, file: str, titles: Sequence[str]) -> Iterator[Finding]:
    content = _without_headings_and_comments(text)
    sections = markdown.sections(text)
    for title in titles:
        named = [section for section in sections if section.heading.title.casefold() == title.casefold()]
        fitting = [section for section in named if section.heading.level == 2]
        if not named:
            yield Finding(file, 1, "error", f"the section '## {title}' is missing")
        elif not fitting:
            yield Finding(file, named[0].heading.line, "error", f"write this heading as '## {title}'")
        elif not (words := "".join(content[section.body : section.end] for section in fitting).strip()):
            yield Finding(file, fitting[0].heading.line, "error", f"the section '## {title}' is empty")
        elif _TO_DO.fullmatch(_MARKS.sub("", words)):
            problem = f"the section '## {title}' says nothing yet"
            yield Finding(file, fitting[0].heading.line, "warning", problem)
        for again in fitting[1:]:
            yield Finding(file, again.heading.line, "warning", f"the section '## {title}' is there twice")


def _check_unfinished(text: str, file: str) -> Iterator[Finding]:
    """What a merge has left behind, and headings that somebody wanted to write later."""
    code = markdown.code_lines(text)
    for number, line in enumerate(LINE_BREAK.split(text), start=1):
        if number not in code and _CONFLICT.match(line):
            yield Finding(file, number, "error", f"a conflict of a merge is left here: '{line[:7]}'")
    for heading in markdown.headings(text):
        if _TO_DO.fullmatch(_LABEL.sub("", heading.title)):
            yield Finding(file, heading.line, "warning", f"the heading '{heading.title}' says nothing yet")


def _check_requirements(text: str, file: str) -> Iterator[Finding]:
    """Each has a title or a text, and a name of its own, by which a task or a review can speak of it."""
    sections = markdown.sections(text)
    whole = [s for s in sections if s.heading.level == 2 and s.heading.title.casefold() == "requirements"]
    seen: dict[str, int] = {}
    for section in (s for w in whole for s in sections if s.heading.level == 3 and w.body <= s.start < w.end):
        heading = section.heading
        label = _LABEL.match(heading.title)
        title = heading.title[label.end() :] if label else heading.title
        if not heading.title or (not title and not text[section.body : section.end].strip()):
            yield Finding(file, heading.line, "error", "the requirement has no title")
            continue
        names = {title.casefold(), (label["name"] if label else "").casefold()} - {""}
        twice = sorted(seen[name] for name in names if name in seen)
        if twice:
            problem = f"the requirement '{heading.title}' is there twice, in line {twice[0]}, too"
            yield Finding(file, heading.line, "error", problem)
        for name in names:
            seen.setdefault(name, heading.line)


def _check_scenarios(text: str, file: str) -> Iterator[Finding]:
    document = markdown.parse(text)
    steps: dict[str, list[int]] = {"WHEN": [], "THEN": []}
    for token in document.tokens:
        if token.type == "inline" and token.map is not None:
            for found in _STEP.finditer(token.content):
                steps[found["word"].upper()].append(document.starts[token.map[0]])
    sections = markdown.sections(text)
    for criteria in sections:
        if criteria.heading.level != 2 or criteria.heading.title.casefold() != "acceptance criteria":
            continue
        scenarios = [section for section in sections if criteria.body <= section.start < criteria.end]
        scenarios = [section for section in scenarios if _SCENARIO.match(section.heading.title)]
        if not scenarios:
            yield Finding(file, criteria.heading.line, "error", "no '### Scenario:' is below this heading")
        seen: dict[str, int] = {}
        for scenario in scenarios:
            title, line = scenario.heading.title, scenario.heading.line
            name = _LABEL.sub("", title).casefold()
            if not name:
                yield Finding(file, line, "warning", "the scenario has no title")
            elif seen.setdefault(name, line) != line:
                yield Finding(file, line, "warning", f"'{title}' is there twice, in line {seen[name]}, too")
            for word, starts in steps.items():
                if bisect_left(starts, scenario.body) == bisect_left(starts, scenario.end):
                    yield Finding(file, scenario.heading.line, "error", f"the scenario has no {word}")


def _without_headings_and_comments(text: str) -> str:
    """Blanks in their place: every offset stays."""
    document = markdown.parse(text)
    pieces, at = [], 0
    for block in document.blocks():
        is_comment = block.kind == "html_block" and not _COMMENT.sub("", block.content).strip()
        if is_comment or block.kind == "heading_open":
            start, end = document.starts[block.first], document.starts[block.behind]
            pieces += [text[at:start], " " * (end - start)]
            at = end
    return "".join([*pieces, text[at:]])


# -- checking reviews ----------------------------------------------------------------------------


def check_reviews(text: str, file: str = "proposal.md") -> tuple[Finding, ...]:
    """What is wrong with an earlier review is a warning: the last complete one decides."""
    blocks = review_block.blocks(text)
    last = blocks[-1].line if blocks else 1
    found = [*_check_markers(text)]
    for block in blocks:
        found += _check_review(block)
    if not blocks:
        found.append((1, "error", "there is no complete review"))
    return tuple(
        Finding(file, line, level if line >= last else "warning", message)
        for line, level, message in sorted(found, key=lambda each: each[0])
    )


_Found = tuple[int, Level, str]


def _check_markers(text: str) -> Iterator[_Found]:
    for block in markdown.parse(review_block.outside(text)).blocks():
        marker = _MARKER.search(block.content) if block.kind == "html_block" else None
        if marker is None:
            continue
        if marker[0] != block.content.strip():
            yield block.first + 1, "warning", "a review marker within other HTML does not count"
        elif marker["which"].lower() == "start":
            yield block.first + 1, "error", "the review that begins here is cut off: it has no end marker"
        else:
            yield block.first + 1, "error", "no review begins above this end marker"


def _check_review(block: Block) -> Iterator[_Found]:
    headings = markdown.headings(block.raw)
    try:
        review = review_block.read(block)
    except InvalidInput as error:
        named = [heading.line for heading in headings if error.field.startswith(f"{heading.title.lower()}: ")]
        yield block.line + (named[0] if named else 1) - 1, "error", str(error)
        return
    for problem in review_block.contradictions(review):
        yield block.line, "error", problem
    for written, level, title in (("## Review", 2, "review"), ("### Issues", 3, "issues")):
        if not any(each.level == level and each.title.casefold() == title for each in headings):
            yield block.line, "warning", f"the review has no heading '{written}'"
    if not review.reviewed:
        yield block.line, "warning", "the review has no '**Reviewed**:' line with its time"
    yield from ((block.line, level, problem) for level, problem in _unsaid(review))


def _unsaid(review: Review) -> Iterator[tuple[Level, str]]:
    for number, issue in enumerate(review.issues, start=1):
        if not issue.description:
            yield "error", f"issue {number} has no description"
        if not issue.location:
            yield "warning", f"issue {number} has no location"
        if not issue.recommendation:
            yield "warning", f"issue {number} has no recommendation"


# -- drafts --------------------------------------------------------------------------------------

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Texts = Annotated[list[_Text], Field(min_length=1)]


class ScenarioDraft(BaseModel):
    title: Annotated[_Text, Field(description="What happens, in a few words.")]
    when: Annotated[_Texts, Field(description="Each a step that can be set up; without the word WHEN.")]
    then: Annotated[_Texts, Field(description="Each a result that can be observed; without the word THEN.")]


_Titled = Annotated[
    _Text, Field(description="Its heading in the living specification, word for word, without the ###.")
]


class ModifiedDraft(BaseModel):
    title: _Titled
    text: Annotated[_Text, Field(description="The whole of what holds instead.")]


class RemovedDraft(BaseModel):
    title: _Titled
    because: Annotated[_Text, Field(description="Why it no longer holds, in a sentence.")]


class SpecDraft(BaseModel):
    name: Annotated[_Text, Field(description="The capability, in one or two words; its file is named so.")]
    overview: Annotated[_Text, Field(description="What the capability is for.")]
    requirements: Annotated[
        list[_Text],
        Field(description="One sentence with MUST each; they are numbered R1, R2, … in this order."),
    ]
    modified: Annotated[
        list[ModifiedDraft],
        Field(description="Requirements of the living specification that are to say something else."),
    ] = []
    removed: Annotated[
        list[RemovedDraft], Field(description="What the living specification is to say no longer.")
    ] = []
    scenarios: Annotated[list[ScenarioDraft], Field(min_length=1)]


class LeftOpenDraft(BaseModel):
    entry: Annotated[_Text, Field(description="Its number, such as D5.")]
    meanwhile: Annotated[
        _Text, Field(description="How the plan leaves it open, and what another answer would change.")
    ]


class ProposalDraft(BaseModel):
    title: Annotated[_Text, Field(description="What changes, in a few words.")]
    summary: _Text
    why: _Text
    what_changes: Annotated[_Texts, Field(description="One item for each change, with the files it touches.")]
    impact: _Text
    specs: list[SpecDraft]
    tasks: Annotated[_Texts, Field(description="In the order in which they are done; without boxes.")]
    left_open: Annotated[
        list[LeftOpenDraft],
        Field(description="Only what you were told that was left open where the change comes from."),
    ] = []


def render_proposal(draft: ProposalDraft) -> str:
    changes = "\n".join(re.sub(r"\n(?=.)", "\n  ", f"- {_prose(change)}") for change in draft.what_changes)
    bodies = (_prose(draft.summary), _prose(draft.why), changes, _prose(draft.impact))
    sections = (f"## {title}\n\n{body}" for title, body in zip(PROPOSAL_SECTIONS, bodies, strict=True))
    return _join(f"# {_line(draft.title)}", *sections)


def render_spec(spec: SpecDraft) -> str:
    parts = [f"# Specification: {_line(spec.name)}", f"## Overview\n\n{_prose(spec.overview)}"]
    if spec.requirements:
        parts.append("## Requirements")
        numbered = enumerate(spec.requirements, start=1)
        parts += (f"### R{number}\n\n{_prose(requirement)}" for number, requirement in numbered)
    if spec.modified:
        parts.append("## Modified Requirements")
        parts += (f"### {_line(one.title)}\n\n{_prose(one.text)}" for one in spec.modified)
    if spec.removed:
        parts.append("## Removed Requirements")
        parts += (f"### {_line(one.title)}\n\n{_prose(one.because)}" for one in spec.removed)
    parts.append("## Acceptance Criteria")
    for scenario in spec.scenarios:
        steps = [f"- **WHEN** {_line(step)}" for step in scenario.when]
        steps += [f"- **THEN** {_line(step)}" for step in scenario.then]
        parts.append(f"### Scenario: {_line(scenario.title)}\n\n" + "\n".join(steps))
    return _join(*parts)


def render_specs(draft: ProposalDraft) -> dict[str, str]:
    """By the name of the file."""
    specs: dict[str, str] = {}
    for spec in draft.specs:
        specs[spec_file_name(spec, specs)] = render_spec(spec)
    return specs


def render_tasks(draft: ProposalDraft) -> str:
    return _join("# Tasks", "\n".join(f"- [ ] {_line(task)}" for task in draft.tasks))


def spec_file_name(spec: SpecDraft, taken: Collection[str]) -> str:
    """A name in the folder of specs, and none of those taken, whatever their case."""
    plain = unicodedata.normalize("NFKD", spec.name).encode("ascii", "ignore").decode().lower().strip()
    plain = plain.removesuffix(".md").removeprefix("specs/")
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or "spec"
    used = {name.casefold() for name in taken}
    name, number = f"{slug}.md", 2
    while name in used:
        name, number = f"{slug}-{number}.md", number + 1
    return name


_HEADING = re.compile(r"(?P<indent>[ \t]*)#{1,6}[ \t]+(?P<title>[^\s*#](?:[^*]*[^\s*#])?)[ \t]*#*")
"""One that can be said in bold as it is."""
_FENCE = re.compile(r"(?P<backticks>`{3,})[^`]*|(?P<tildes>~{3,}).*")
_STRUCTURE = re.compile(
    r"^([ \t]*)(?=#{1,6}(?:[ \t]|$)|<[a-z/!?]|<{7}|>{7}|\|{7}|`{3}|~{3}|=+$|-+$)", re.IGNORECASE
)


def _join(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def _line(value: str) -> str:
    return _disarm(" ".join(value.split()))


def _prose(value: str) -> str:
    """Paragraphs, lists, tables, and code in fences at the margin; a heading is said in bold, and all
    else that would be structure gets a backslash. A fence that is left open is closed."""
    lines = []
    fence = ""
    for line in (line.rstrip() for line in LINE_BREAK.split(value.strip())):
        if fence:
            lines.append(line)
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}", line):
                fence = ""
        elif opening := _FENCE.fullmatch(line):
            lines.append(line)
            fence = opening["backticks"] or opening["tildes"]
        elif heading := _HEADING.fullmatch(line):
            lines.append("{indent}**{title}**".format_map(heading.groupdict()))
        else:
            lines.append(_STRUCTURE.sub(r"\1\\", line))
    return _disarm("\n".join([*lines, fence] if fence else lines))


def _disarm(value: str) -> str:
    """In code too: other readers of the block may not know what a fence is."""
    return re.sub(r"<!(?=--\s*review\s*:)", r"<\\!", value, flags=re.IGNORECASE)


def without_markers(text: str) -> str:
    """A text outside of reviews, in which nothing is taken for the beginning or the end of one."""
    return _disarm(text) if review_block.blocks(text) or any(_check_markers(text)) else text


# -- a new text with the old reviews ---------------------------------------------------------------


def with_reviews(new_text: str, old_text: str) -> str:
    """The new text, below it every complete review of the old one, byte for byte and in order. Reviews in
    the new text are left out: they are copies of the old ones, or no reviewer wrote them."""
    text = new_text
    # Without what is inside it, a start marker and an end marker can become a block of their own.
    while found := review_block.blocks(text):
        for block in reversed(found):
            text = text[: block.start] + text[block.end :]
    kept = [block.raw for block in review_block.blocks(old_text)]
    if not kept:
        return text
    eol = markdown.line_ending(text)
    if frontmatter.is_left_open(text):
        # A "---" in a review would end it, and make front matter of everything above.
        text = text.replace("---", f"{eol}---", 1)
    room = markdown.append_block(text, "x").removesuffix(f"x{eol}")
    if kept[0].startswith(" "):
        # Below a list, an indented marker would be part of the list.
        room += f"<!-- -->{eol}{eol}"
    return room + f"{eol}{eol}".join(kept) + eol
