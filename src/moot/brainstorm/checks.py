"""What a brainstorm takes and what it refuses: lengths, numbers by level, ids that are there.

Each check raises InvalidInput with a reason that a person, or the model that is told it, can act on.
"""

from __future__ import annotations

from collections.abc import Iterable

from moot.brainstorm.events import (
    APPROACH_LIMITS,
    MAX_PARTS,
    MAX_TEXT,
    SCOUT_WORDS,
    Approach,
    Limits,
    Part,
    Question,
    Section,
    Triage,
)
from moot.brainstorm.state import BrainstormState
from moot.errors import InvalidInput


def text(field: str, said: str, most: int = MAX_TEXT) -> None:
    """A text of exactly the limit passes."""
    if not said.strip():
        raise InvalidInput(field, "is empty; say something, or go back")
    if any("\ud800" <= letter <= "\udfff" for letter in said):
        raise InvalidInput(field, "contains bytes that are no UTF-8 text")
    if len(said) > most:
        raise InvalidInput(field, f"has {len(said):,} characters; at most {most:,} are taken")


def scout(output: str) -> None:
    count = len(output.split())
    if count > SCOUT_WORDS:
        raise InvalidInput("scout", f"has {count} words; at most {SCOUT_WORDS} are taken")


def consulted(said: str) -> None:
    if not said.strip():
        raise InvalidInput("text", "nothing came of it")


def triage(proposal: Triage) -> None:
    parts("batches", proposal.batches)
    parts("splits", proposal.splits)


def parts(field: str, proposed: tuple[Part, ...], fewest: int = 2) -> None:
    if proposed and not fewest <= len(proposed) <= MAX_PARTS:
        raise InvalidInput(field, f"has {len(proposed)}; {fewest} to {MAX_PARTS} can be proposed, or none")
    _check_unique(f"{field}.title", (part.title.strip().casefold() for part in proposed))
    for part in proposed:
        _check_not_empty(f"{field}.title", part.title)
        _check_not_empty(f"{field}.description", part.description)


def drafted_questions(state: BrainstormState, drafted: tuple[Question, ...]) -> None:
    _check_count("questions", len(drafted), state.question_limits, state)
    _questions(drafted)


def discussed_questions(
    state: BrainstormState, asked: tuple[Question, ...], replaces: tuple[str, ...]
) -> None:
    for wanted in replaces:
        if state.question(wanted) is None:
            raise InvalidInput("replaces", f"{wanted!r} is none of the questions")
    kept = [each for each in state.questions if each.answered and each.id not in replaces]
    _check_count(
        "questions", len(kept) + len(asked), state.question_totals, state, ", answered ones included"
    )
    _check_unique("questions.id", (each.id for each in (*kept, *asked)))
    _questions(asked)


def _questions(asked: tuple[Question, ...]) -> None:
    _check_unique("questions.id", (each.id for each in asked))
    for each in asked:
        _check_not_empty("questions.text", each.text)
        if each.type == "choice" and len(each.options) < 2:
            raise InvalidInput(
                "questions.options", f"{each.text!r} is a choice and needs at least two options"
            )
        if each.type == "text" and each.options:
            raise InvalidInput("questions.options", f"{each.text!r} has options, so its type must be choice")
        if each.answer:
            raise InvalidInput("questions.answer", "only the person can answer")


def approaches(offered: tuple[Approach, ...], recommendation: str) -> None:
    fewest, most = APPROACH_LIMITS
    if not fewest <= len(offered) <= most:
        raise InvalidInput("approaches", f"has {len(offered)}; {fewest} to {most} are wanted")
    _check_unique("approaches.id", (each.id for each in offered))
    for each in offered:
        _check_not_empty("approaches.title", each.title)
        _check_not_empty("approaches.summary", each.summary)
    if recommendation not in {each.id for each in offered}:
        raise InvalidInput("recommendation", f"must be the number of an approach, 1 to {len(offered)}")


def design(state: BrainstormState, drafted: tuple[Section, ...]) -> None:
    _check_count("sections", len(drafted), state.section_limits, state)
    _check_unique("sections.id", (each.id for each in drafted))
    for each in drafted:
        _check_not_empty("sections.title", each.title)
        _check_not_empty("sections.content", each.content)
        if each.status != "pending":
            raise InvalidInput("sections.status", "only the person can approve")


def changed_sections(state: BrainstormState, changed: tuple[Section, ...], at_least: int = 0) -> None:
    """Those that are shown, and any other that the comment is about, too."""
    there = [each.id for each in state.design_sections]
    if len(changed) < at_least:
        raise InvalidInput("sections", f"is empty; revise at least one of {', '.join(there)}")
    _check_unique("sections.id", (each.id for each in changed))
    for each in changed:
        if each.id not in there:
            raise InvalidInput("sections.id", f"{each.id!r} is no section; there are {', '.join(there)}")
        _check_not_empty("sections.title", each.title)
        _check_not_empty("sections.content", each.content)


def _check_count(field: str, count: int, limits: Limits, state: BrainstormState, note: str = "") -> None:
    fewest, most = limits
    if not fewest <= count <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise InvalidInput(field, f"has {count}{note}; {wanted} are wanted at level {state.level}")


def _check_unique(field: str, values: Iterable[str]) -> None:
    listed = list(values)
    if len(set(listed)) < len(listed):
        raise InvalidInput(field, "names the same twice")


def _check_not_empty(field: str, said: str) -> None:
    if not said.strip():
        raise InvalidInput(field, "is empty")
