"""The synthesis of a discussion: what the check has found there, and what a model makes of the rest.

Decisions, positions and open questions are those that were found (findings.py): no model writes them here.
Insights, risks, acceptance criteria and action items come with quotes, each is looked up, and whose they are
is whose turns those are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from moot.roundtable.findings import Findings
from moot.roundtable.insights import ActionItem, Decision, Insight, OpenQuestion, Position, Synthesis
from moot.roundtable.quotes import Cited, Quoted, Statement, look_up

ALL = "All"


class Point(msgspec.Struct, frozen=True):
    text: str
    said: tuple[Quoted, ...]


class Action(msgspec.Struct, frozen=True):
    action: str
    owner: str
    said: tuple[Quoted, ...]


class Minutes(msgspec.Struct, frozen=True):
    """As a model drafts them. Untrusted."""

    insights: tuple[Point, ...]
    risks: tuple[Point, ...]
    acceptance_criteria: tuple[Point, ...]
    action_items: tuple[Action, ...]
    one_line: str


def synthesize(
    minutes: Minutes, findings: Findings, statements: Sequence[Statement]
) -> tuple[Synthesis, tuple[str, ...]]:
    """What of it is in the discussion, and what is wrong with the rest. Whatever no quote of its speaks for
    is left out: it would be nobody's, least of all everybody's."""
    faults: list[str] = []

    def authors(what: str, text: str, said: Iterable[Quoted]) -> tuple[str, ...]:
        looked_up = [look_up(each, statements) for each in said]
        cited = [each for each in looked_up if isinstance(each, Cited)]
        wrong = [each for each in looked_up if isinstance(each, str)]
        if not cited:
            faults.append(f"{what} is left out, because {'; '.join(wrong) or 'nobody is quoted'}: {text}")
        else:
            faults.extend(f"{what}: {why}" for why in wrong)
        return _attribute([each.by for each in sorted(cited, key=lambda each: each.turn)], statements)

    def points(what: str, given: Iterable[Point]) -> tuple[Insight, ...]:
        named = enumerate(given, start=1)
        each = [(authors(f"{what} {number}", one.text, one.said), one) for number, one in named]
        return tuple(Insight(by, one.text) for by, one in each if by)

    insights = points("Insight", minutes.insights)
    risks = points("Risk", minutes.risks)
    criteria = points("Acceptance criterion", minutes.acceptance_criteria)
    actions = tuple(
        ActionItem(one.action, one.owner)
        for number, one in enumerate(minutes.action_items, start=1)
        if authors(f"Action item {number}", one.action, one.said)
    )
    synthesis = Synthesis(
        insights,
        tuple(
            Decision(made.decision, made.rationale, made.said.by, made.said.quote, made.said.turn)
            for made in findings.decisions
        ),
        tuple(OpenQuestion(left.question, left.context) for left in findings.open_points),
        actions,
        minutes.one_line,
        tuple(Position(each.about, (each.one, each.other)) for each in findings.disagreements),
        risks,
        criteria,
    )
    return synthesis, tuple(dict.fromkeys(faults))


def _attribute(names: Iterable[str], statements: Sequence[Statement]) -> tuple[str, ...]:
    """Each once; everybody's is what everybody who spoke is quoted for, if they are more than two."""
    by = tuple(dict.fromkeys(names))
    everybody = {one.by for one in statements}
    return (ALL,) if len(by) > 2 and everybody <= set(by) else by
