"""What is in a discussion: decisions, disagreements, open points. A model names them, and each is looked up.

Nothing here is believed: what a model names counts only if its quote stands in the turn that it names, and
whose it is is whose turn that is. Knows what is no decision whoever says so: a question, and what was
reported before the discussion began. Refuses to know any phrase by which people decide or contradict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from moot.roundtable.quotes import Cited, Quoted, Statement, look_up, only_asks

# -- what a model names --------------------------------------------------------------------------


class DecisionNamed(msgspec.Struct, frozen=True):
    decision: str
    rationale: str
    said: Quoted
    instead_of: tuple[str, ...] = ()


class DisagreementNamed(msgspec.Struct, frozen=True):
    about: str
    one: Quoted
    other: Quoted


class OpenPointNamed(msgspec.Struct, frozen=True):
    question: str
    context: str
    said: Quoted


class Named(msgspec.Struct, frozen=True):
    decisions: tuple[DecisionNamed, ...] = ()
    disagreements: tuple[DisagreementNamed, ...] = ()
    open_points: tuple[OpenPointNamed, ...] = ()


# -- what is there -------------------------------------------------------------------------------


class DecisionFound(msgspec.Struct, frozen=True):
    """`instead_of` is what it answers or replaces of what was decided so far: numbers as they are named,
    and keys as whoever holds the discussion knows them."""

    decision: str
    rationale: str
    said: Cited
    instead_of: tuple[str, ...] = ()


class Disagreement(msgspec.Struct, frozen=True):
    """`other` was said after `one`, by somebody else."""

    about: str
    one: Cited
    other: Cited


class OpenPoint(msgspec.Struct, frozen=True):
    question: str
    context: str
    said: Cited


class Findings(msgspec.Struct, frozen=True):
    decisions: tuple[DecisionFound, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    open_points: tuple[OpenPoint, ...] = ()

    def lines(self) -> Iterator[str]:
        """Each with the words that it rests on, for somebody who is told of them."""
        for made in self.decisions:
            yield f"Decided: {made.decision} ({quotation(made.said)})"
        for each in self.disagreements:
            yield f"Disagreement about {each.about}: {quotation(each.one)} against {quotation(each.other)}"
        for left in self.open_points:
            yield f"Open: {left.question} ({quotation(left.said)})"


NOTHING_FOUND = Findings()


def quotation(cited: Cited) -> str:
    return f"{cited.by} in turn {cited.turn}: “{cited.quote}”"


# -- looked up -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    """`thrown_out` says of each that was not taken what it was, and why."""

    findings: Findings
    thrown_out: tuple[str, ...]


def check(named: Named, statements: Sequence[Statement]) -> Checked:
    """What of it is in the discussion, each once."""
    reported = {one.number for one in statements if one.reports}
    thrown_out: list[str] = []

    def cite(quoted: Quoted, what: str, text: str) -> Cited | None:
        found = look_up(quoted, statements)
        if isinstance(found, Cited):
            return found
        thrown_out.append(f"No {what}, because {found}: {text}")
        return None

    decisions: list[DecisionFound] = []
    for made in named.decisions:
        if (said := cite(made.said, "decision", made.decision)) is None:
            continue
        if said.turn in reported:
            why = f"turn {said.turn} says where things stood before"
            thrown_out.append(f"No decision, because {why}: {made.decision}")
        elif only_asks(said.quote):
            thrown_out.append(f"No decision, because turn {said.turn} asks: {made.decision}")
        else:
            decisions.append(DecisionFound(made.decision, made.rationale, said, made.instead_of))
    disagreements: list[Disagreement] = []
    for each in named.disagreements:
        sides = [cite(side, "disagreement", each.about) for side in (each.one, each.other)]
        found = sorted(filter(None, sides), key=lambda side: side.turn)
        if len(found) < 2:
            continue
        if found[0].by == found[1].by:
            thrown_out.append(f"No disagreement, because {found[0].by} said both: {each.about}")
        else:
            disagreements.append(Disagreement(each.about, *found))
    points = [
        OpenPoint(left.question, left.context, said)
        for left in named.open_points
        if (said := cite(left.said, "open question", left.question)) is not None
    ]
    findings = Findings(
        tuple(dict.fromkeys(decisions)), tuple(dict.fromkeys(disagreements)), tuple(dict.fromkeys(points))
    )
    return Checked(findings, tuple(dict.fromkeys(thrown_out)))
