"""When a loop of reviews and revisions ends, and why. Pure: a function of what its rounds have found.

Knows issues that keep their id from round to round, which of them the last revision brought in, which are
disputed between reviewer and reviser and so the person's to decide, and how many are likely still unseen.
Refuses to know who reviews, what is reviewed, and how two descriptions are found to be one issue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from moot.changes.review_block import Severity

DISPUTED_AFTER = 2
"""So many times reopened, or its severity changed, and an issue is the person's to decide."""
_CHURN = Fraction(2, 3)
_MEDIUMS_THAT_BLOCK = 2
_NEARLY_NONE = 1.0


# -- what a round has found ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """An issue that a round says is there. `grounded`: its quote is in the text; without, it cannot block.
    `introduced`: the quote lies in what the last revision changed. `by` are the reviewers that found it."""

    id: str
    severity: Severity
    section: str = ""
    grounded: bool = True
    introduced: bool = False
    by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Round:
    """`families` has each reviewer's; `changed` says whether the text is another than in the round before."""

    found: tuple[Found, ...]
    families: tuple[tuple[str, str], ...] = ()
    changed: bool = True
    usd: float = 0.0
    minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    rounds: int = 4
    usd: float | None = None
    minutes: float | None = None


# -- where a loop stands -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one round."""

    introduced: int = 0
    missed: int = 0
    """New, but in what no revision has touched: earlier reviews could have found them."""
    repeated: int = 0
    fixed: int = 0
    disputed: int = 0

    def __str__(self) -> str:
        counts = (
            (self.introduced, "introduced"),
            (self.missed, "missed before"),
            (self.repeated, "repeated"),
            (self.fixed, "fixed"),
            (self.disputed, "disputed"),
        )
        return ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing found"


def counts(rounds: Sequence[Round]) -> tuple[Counts, ...]:
    """Of each round, in order. In the first nothing can have been missed before: all of it is new."""
    counted: list[Counts] = []
    known: set[str] = set()
    before: set[str] = set()
    for number, one in enumerate(rounds, start=1):
        here = {issue.id: issue for issue in one.found}
        new = [issue for name, issue in here.items() if name not in known]
        introduced = sum(1 for issue in new if issue.introduced or number == 1)
        counted.append(
            Counts(
                introduced,
                len(new) - introduced,
                len(here) - len(new),
                len(before - set(here)),
                len(disputed(rounds[:number]) & set(here)),
            )
        )
        known |= set(here)
        before = set(here)
    return tuple(counted)


def disputed(rounds: Sequence[Round]) -> frozenset[str]:
    """Reopened twice, or of another severity twice: who reviews and who revises do not agree about it."""
    reopened: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    severity: dict[str, Severity] = {}
    before: set[str] = set()
    for one in rounds:
        here = {issue.id: issue.severity for issue in one.found}
        for name, now in here.items():
            reopened[name] += name in severity and name not in before
            changed[name] += severity.get(name, now) is not now
        severity |= here
        before = set(here)
    return frozenset(name for name in severity if max(reopened[name], changed[name]) >= DISPUTED_AFTER)


def blocking(found: Sequence[Found]) -> tuple[Found, ...]:
    """Every grounded High, and Mediums where there are several."""
    grounded = [issue for issue in found if issue.grounded]
    mediums = sum(1 for issue in grounded if issue.severity is Severity.MEDIUM)
    return tuple(
        issue
        for issue in grounded
        if issue.severity is Severity.HIGH
        or (issue.severity is Severity.MEDIUM and mediums >= _MEDIUMS_THAT_BLOCK)
    )


def unseen(one: Round) -> float | None:
    """How many more High issues there are at least, by how much its reviewers overlap; None where that says
    nothing: one reviewer alone, or two of one family, which overlook the same things."""
    reviewers = dict(one.families)
    highs = [issue.by & reviewers.keys() for issue in one.found if issue.severity is Severity.HIGH]
    return unseen_by([by for by in highs if by], len(reviewers), len(set(reviewers.values())))


def unseen_by(found_by: Sequence[frozenset[str]], reviewers: int, families: int) -> float | None:
    """Two: Chapman's estimate. Four and more: the jackknife of the first order. Both are lower bounds, since
    reviewers tend to find the same easy ones."""
    if reviewers >= 4:
        once = sum(1 for by in found_by if len(by) == 1)
        return once * (reviewers - 1) / reviewers
    if reviewers < 2 or families < 2:
        return None
    names = Counter(name for by in found_by for name in by)
    first, second, *_ = (*(count for _, count in names.most_common(2)), 0, 0)
    both = sum(1 for by in found_by if len(by) >= 2)
    return max(0.0, (first + 1) * (second + 1) / (both + 1) - 1 - len(found_by))


# -- when it ends --------------------------------------------------------------------------------


class Rule(StrEnum):
    CLEAN = "clean"
    DISPUTED = "disputed"
    STALL = "stall"
    CHURN = "churn"
    ESTIMATE = "estimate"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Stop:
    rule: Rule
    why: str


def stop(
    rounds: Sequence[Round], limits: Limits, decided: frozenset[str] = frozenset(), since: int = 0
) -> Stop | None:
    """The first rule that holds after the last round; None: another one is worth it. `decided` are the issues
    that the person has accepted or rejected: none of them keeps a loop going. The `since` rounds before this
    loop do not use up its limits."""
    if not rounds[since:]:
        return None
    return next(_holding(rounds, limits, decided, since), None)


def _holding(rounds: Sequence[Round], limits: Limits, decided: frozenset[str], since: int) -> Iterator[Stop]:
    last = rounds[-1]
    blocks = [issue for issue in blocking(last.found) if issue.id not in decided]
    disputes = disputed(rounds)
    if not blocks:
        yield Stop(Rule.CLEAN, "nothing is left that has to be fixed")
    elif all(issue.id in disputes for issue in blocks):
        names = ", ".join(issue.id for issue in blocks)
        yield Stop(Rule.DISPUTED, f"only {names} is left, and keeps coming back: decide it yourself")
    if len(rounds) - since > 1 and not last.changed:
        yield Stop(Rule.STALL, "the last revision changed nothing")
    if section := _churning(rounds):
        yield Stop(
            Rule.CHURN,
            f"two rounds brought most new High issues in {section}: rewrite it, or leave it out",
        )
    if _seen_enough(rounds):
        yield Stop(Rule.ESTIMATE, "another review would likely find nothing new: fix what is listed")
    yield from _spent(rounds[since:], limits)


def _churning(rounds: Sequence[Round]) -> str:
    """The section in which two rounds' revisions brought in most of the new High issues."""
    if len(rounds) < 3:
        return ""
    return next(iter(_worst_sections(rounds, -2) & _worst_sections(rounds, -1)), "")


def _worst_sections(rounds: Sequence[Round], at: int) -> set[str]:
    known = {issue.id for one in rounds[: len(rounds) + at] for issue in one.found}
    new = [one for one in rounds[at].found if one.id not in known and one.severity is Severity.HIGH]
    of_section = Counter(issue.section for issue in new if issue.introduced)
    return {section for section, count in of_section.items() if count >= _CHURN * len(new)}


def _seen_enough(rounds: Sequence[Round]) -> bool:
    if len(rounds) < 2:
        return False
    known = {issue.id for one in rounds[:-1] for issue in one.found}
    left = unseen(rounds[-1])
    new = any(issue.id not in known for issue in rounds[-1].found)
    return left is not None and left < _NEARLY_NONE and not new


def _spent(rounds: Sequence[Round], limits: Limits) -> Iterator[Stop]:
    """Also where one more like the last would go beyond what may be spent."""
    if len(rounds) >= limits.rounds:
        count = len(rounds)
        made = "1 round was made" if count == 1 else f"{count} rounds were made"
        yield Stop(Rule.BUDGET, f"{made}, as many as are allowed")
    usd = sum(one.usd for one in rounds)
    if limits.usd is not None and usd + next_round(rounds) > limits.usd:
        cost = f"${next_round(rounds):.2f}"
        yield Stop(Rule.BUDGET, f"another round, about {cost}, would go beyond ${limits.usd:.2f}")
    minutes = sum(one.minutes for one in rounds)
    if limits.minutes is not None and minutes + max(one.minutes for one in rounds) > limits.minutes:
        yield Stop(Rule.BUDGET, f"another round would take longer than {limits.minutes:g} minutes in all")


def next_round(rounds: Sequence[Round]) -> float:
    """Dollars that another round costs, going by the dearest so far."""
    return max((one.usd for one in rounds), default=0.0)
