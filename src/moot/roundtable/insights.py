"""What a roundtable came to: values, their Markdown, and their place in an artifact (FR-008, NFR-004).

Knows the format of the insights, and that every field is a model's or a stranger's: each becomes part of one
line, and none can begin a heading, a list, a fence, HTML, a comment or a task of its own. Knows which
section of an artifact they belong to, and only ever adds. Refuses to know who spoke, what of it is true, and
where files are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from moot.files import markdown
from moot.files.markdown import Section
from moot.roundtable.quotes import Cited

UPDATED = "Updated "
"""What an announcement of an artifact that has got something begins with."""
ADDITIONAL = "Additional Insights from Elaboration"

_TITLE = "Elaboration Insights (Step "
_LEVEL = 3
_COMMENT = re.compile(r"<(?=\\*!--)")
# What would begin a block, a task or a link's definition (which is not shown at all) in a list item. Of a
# numbered list the dot has to be escaped, of the others the first sign.
_BLOCK_BEGINS = re.compile(
    r"\A(?:(\d+)(?=[.)](?:\s|$))"
    r"|(?=[#><]|[-+*](?:\s|$)|([-*_])(?:\s?\2){2,}\s?$|`{3}|~{3}|\[[ xX]\]|\[(?:[^\[\]\\]|\\.)*\]:))"
)
_NOT_IN_A_NAME = re.compile(r"[\[\]<>`|/\\]")
_UNWRITABLE = {"Cc", "Cs"}


# -- values, frozen because event logs keep them -------------------------------------------------


class Insight(msgspec.Struct, frozen=True):
    """`by`: the first names of those who said it, "User", or "All"."""

    by: tuple[str, ...]
    text: str


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """`quote` is what `stated_by` said, word for word; none is there in sessions of earlier versions."""

    decision: str
    rationale: str
    stated_by: str = ""
    quote: str = ""
    turn: int = 0


class OpenQuestion(msgspec.Struct, frozen=True):
    question: str
    context: str


class Position(msgspec.Struct, frozen=True):
    """What is still held by some against others, in their own words."""

    about: str
    held: tuple[Cited, ...]

    def __str__(self) -> str:
        return f"{self.about}: {' – '.join(f'{one.by}: “{one.quote}”' for one in self.held)}"


class ActionItem(msgspec.Struct, frozen=True):
    action: str
    owner: str


class Synthesis(msgspec.Struct, frozen=True, omit_defaults=True):
    """`one_line` is what the elaboration record says of it."""

    insights: tuple[Insight, ...]
    decisions: tuple[Decision, ...]
    open_questions: tuple[OpenQuestion, ...]
    action_items: tuple[ActionItem, ...]
    one_line: str
    positions: tuple[Position, ...] = ()
    risks: tuple[Insight, ...] = ()
    acceptance_criteria: tuple[Insight, ...] = ()


# -- values to text ------------------------------------------------------------------------------


def render(
    synthesis: Synthesis,
    *,
    step_id: str,
    step_title: str,
    participants: Sequence[tuple[str, str]],
    turns: int,
    exit_type: Literal["user-initiated", "turn-limit"],
) -> str:
    """`participants` are names with short roles. Lines end in "\\n", the last one has no end."""
    people = ", ".join(f"{_flatten(name)} ({_flatten(short_role)})" for name, short_role in participants)
    lines = [
        f"### {_TITLE}{_flatten(step_id)}: {_flatten(step_title)})",
        "",
        f"**Participants**: {people}",
        f"**Turns**: {turns} | **Exit**: {exit_type}",
    ]
    lines += _list("Key Insights", map(_insight, synthesis.insights))
    lines += _list("Decisions Made", map(_decision, synthesis.decisions))
    lines += _list(
        "Open Questions", (_pair(left.question, left.context) for left in synthesis.open_questions)
    )
    more = {
        "Remaining Positions": [_position(each) for each in synthesis.positions],
        "Risks": [_insight(each) for each in synthesis.risks],
        "Acceptance Criteria": [_insight(each) for each in synthesis.acceptance_criteria],
        "Action Items": [_pair(item.action, item.owner) for item in synthesis.action_items],
    }
    for heading, items in more.items():
        lines += _list(heading, items) if items else []
    return "\n".join(lines)


def attribution(by: Iterable[str]) -> str:
    """`Maya`, `Maya/Alex`, `User`, `All` (AC-008-05); nobody in particular is all."""
    names = (_flatten(_NOT_IN_A_NAME.sub(" ", name)) for name in by)
    return "/".join(dict.fromkeys(name for name in names if name)) or "All"


def _insight(insight: Insight) -> str:
    text = _flatten(insight.text)
    return f"[{attribution(insight.by)}] {text}" if text else ""


def _decision(made: Decision) -> str:
    """With the words by which it was made."""
    text = _pair(made.decision, made.rationale)
    return f"{text} ({_quotation(made.stated_by, made.quote)})" if text and made.quote else text


def _position(position: Position) -> str:
    held = " – ".join(_quotation(one.by, one.quote) for one in position.held)
    return _pair(position.about, held)


def _quotation(by: str, quote: str) -> str:
    return f"{attribution((by,))}: “{_flatten(quote)}”"


def _pair(said: str, why: str) -> str:
    said, why = _flatten(said), _flatten(why)
    return f"{said.rstrip('.:')}: {why}" if said and why else said or why


def _list(heading: str, items: Iterable[str]) -> list[str]:
    written = [f"- {_BLOCK_BEGINS.sub(_escape, item)}" for item in items if item]
    return ["", f"#### {heading}", *(written or ["- None."])]


def _escape(begun: re.Match[str]) -> str:
    return f"{begun[1] or ''}\\"


def _flatten(field: str) -> str:
    signs = (" " if unicodedata.category(sign) in _UNWRITABLE else sign for sign in field)
    return _COMMENT.sub(r"<\\", " ".join("".join(signs).split()))


# -- into an artifact ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inserted:
    """`heading` is that of the section the insights stand in; `already` if they stood there before."""

    text: str
    heading: str
    already: bool


def marker(step_id: str, timestamp: str) -> str:
    """The comment by which an elaboration is known again."""
    step, at = (re.sub(r"[<>]|-(?=-)", "", _flatten(field)) for field in (step_id, timestamp))
    return f"<!-- Elaboration: step {step}, {at} -->"


def insert(artifact_text: str, rendered: str, marker: str, topic: str) -> Inserted:
    """At the end of the section for the topic, or at the end of the text. The marker stands on top of the
    insights' heading, and wherever it stands already, nothing is inserted."""
    section = _find_section(artifact_text, topic)
    heading = section.heading.title if section else ADDITIONAL
    if marker in artifact_text:
        return Inserted(artifact_text, heading, already=True)
    addition = f"{marker}\n{rendered}"
    if section is None:
        section = _find_titled(artifact_text, ADDITIONAL)
    if section is None:
        text = markdown.append_under(artifact_text, f"{'#' * _LEVEL} {ADDITIONAL}", addition)
    else:
        text = markdown.insert_at_section_end(
            artifact_text, _extend_over_insights(artifact_text, section), addition
        )
    return Inserted(text, heading, already=False)


def _find_section(text: str, topic: str) -> Section | None:
    """Never one within earlier insights, whose headings repeat topics. From a section deeper than the
    insights' own heading, the one around it: what follows the deeper one would become part of them."""
    found = markdown.find_section(_blank_insights(text), topic)
    if found is None:
        return None
    around = [
        section
        for section in markdown.sections(text)
        if section.heading.level <= _LEVEL and section.start <= found.start < section.end
    ]
    return max(around, key=lambda section: section.start, default=None)


def _find_titled(text: str, title: str) -> Section | None:
    sections = (section for section in markdown.sections(text) if section.heading.level == _LEVEL)
    return next((section for section in sections if section.heading.title == title), None)


def _extend_over_insights(text: str, section: Section) -> Section:
    """The last of the insights that follow a section of their own level, so that they stay in order."""
    last = section
    for later in markdown.sections(text):
        if later.start <= section.start or later.heading.level > section.heading.level:
            continue
        if section.heading.level != _LEVEL or not _are_insights(later):
            break
        last = later
    return last


def _blank_insights(text: str) -> str:
    """Blanks in their place, so that offsets stay what they are."""
    for section in markdown.sections(text):
        if _are_insights(section):
            blank = re.sub(r"[^\r\n]", " ", text[section.start : section.end])
            text = text[: section.start] + blank + text[section.end :]
    return text


def _are_insights(section: Section) -> bool:
    return section.heading.level == _LEVEL and section.heading.title.startswith(_TITLE)


# -- files, and what is said about them ----------------------------------------------------------


def insights_file(output: str) -> str:
    """Where the insights on an output go: into itself if it is Markdown, else into its companion."""
    return output if output.lower().endswith((".md", ".markdown")) else companion(output)


def companion(name: str) -> str:
    return f"{name}.insights.md"


def description(synthesis: Synthesis) -> str:
    """What was added, in a few words."""
    counted = (
        (len(synthesis.insights), "insight"),
        (len(synthesis.decisions), "decision"),
        (len(synthesis.open_questions), "open question"),
        (len(synthesis.positions), "remaining position"),
        (len(synthesis.risks), "risk"),
        (len(synthesis.acceptance_criteria), "acceptance criterion"),
        (len(synthesis.action_items), "action item"),
    )
    *most, last = [f"{count} {_many(what) if count > 1 else what}" for count, what in counted if count] or [
        "a summary"
    ]
    return f"{', '.join(most)} and {last}" if most else last


def _many(what: str) -> str:
    return "acceptance criteria" if what == "acceptance criterion" else f"{what}s"


def announcement(filename: str, heading: str, description: str) -> str:
    return f'{UPDATED}{filename}, section "{heading}": added {description}.'


def missing_artifact(filename: str) -> str:
    return (
        f"Could not update {filename} (file not found). "
        "Elaboration insights are in the synthesis summary above."
    )
