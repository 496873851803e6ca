"""How review loops end: with the governor's rules, and "until approved", on the same made-up changes.

No model takes part: a reviewer finds each defect with some probability, a fix works with some, and breaks
something with some. The seed is fixed, so the figures are the same on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import fmean

from moot.changes.governor import Found, Limits, Round, stop
from moot.changes.review_block import Severity

CHANGES = 400
MOST_ROUNDS = 50
"""Where people have long given up."""
BREAKING = (0.1, 0.3, 0.6, 0.9)
"""The probability that a fix brings in a new defect."""
FINDING = 0.7
FALSE_ALARMS = 0.3
"""Per round: a High issue that is none, which no fix removes."""
FIXING = 0.85
SECTIONS = 4
USD, MINUTES = 0.4, 3.0


@dataclass
class Change:
    """`defects` maps each present High defect to its section and the round that brought it in."""

    rng: random.Random
    breaking: float
    defects: dict[str, tuple[str, int]] = field(default_factory=dict)
    made: int = 0

    def add(self, at: int) -> None:
        self.made += 1
        self.defects[f"D{self.made}"] = (f"section {self.rng.randrange(SECTIONS)}", at)

    def review(self, at: int) -> Round:
        found = [
            Found(name, Severity.HIGH, section, introduced=brought_in == at > 1, by=frozenset({"a"}))
            for name, (section, brought_in) in self.defects.items()
            if self.rng.random() < FINDING
        ]
        if self.rng.random() < FALSE_ALARMS:
            found.append(Found(f"F{at}", Severity.HIGH, grounded=self.rng.random() < 0.5))
        return Round(tuple(found), (("a", "one family"),), usd=USD, minutes=MINUTES)

    def revise(self, found: Round, at: int) -> None:
        for issue in found.found:
            if self.rng.random() < FIXING:
                self.defects.pop(issue.id, None)
            if self.rng.random() < self.breaking:
                self.add(at + 1)


@dataclass(frozen=True)
class Ended:
    """`left` are all High defects; `named` are those of them that the last review names, and the person is
    handed. The others nobody knows of."""

    rounds: int
    left: int
    usd: float
    named: int

    @property
    def unseen(self) -> int:
        return self.left - self.named


def play(
    seed: int, breaking: float, ends: Callable[[list[Round]], bool], *, fixes_last: bool = False
) -> Ended:
    """`fixes_last`: what the last review names is fixed, too, and that fix is reviewed by nobody."""
    rng = random.Random(f"{seed} {breaking}")
    change = Change(rng, breaking)
    for _ in range(rng.randint(2, 8)):
        change.add(0)
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS:
        at = len(rounds) + 1
        rounds.append(change.review(at))
        if ends(rounds):
            break
        change.revise(rounds[-1], at)
    named = sum(issue.id in change.defects for issue in rounds[-1].found)
    if fixes_last:
        change.revise(rounds[-1], len(rounds))
        named = 0
    return Ended(len(rounds), len(change.defects), sum(one.usd for one in rounds), named)


def until_approved(rounds: list[Round]) -> bool:
    return not rounds[-1].found


def governed(rounds: list[Round], limits: Limits = Limits()) -> bool:  # noqa: B008
    return stop(rounds, limits) is not None


@dataclass(frozen=True)
class Compared:
    breaking: float
    before: tuple[Ended, ...]
    after: tuple[Ended, ...]

    def figures(self) -> tuple[float, ...]:
        """Rounds, High defects left, and of those the ones that nobody knows of: until approved, governed."""
        return tuple(
            fmean(figure(one) for one in ended)
            for figure in (_rounds, _left, _unseen)
            for ended in (self.before, self.after)
        )


_rounds: Callable[[Ended], float] = attrgetter("rounds")
_left: Callable[[Ended], float] = attrgetter("left")
_unseen: Callable[[Ended], float] = attrgetter("unseen")


def compare(changes: int = CHANGES) -> Iterator[Compared]:
    for breaking in BREAKING:
        before = tuple(play(seed, breaking, until_approved) for seed in range(changes))
        after = tuple(play(seed, breaking, governed) for seed in range(changes))
        yield Compared(breaking, before, after)


def main() -> None:
    print("until approved > governed | rounds | Highs left | of these, known to nobody")
    everything = list(compare())
    for one in everything:
        print(f"a fix breaks something with p = {one.breaking:.1f} | " + _row(one.figures()))
    means = tuple(fmean(column) for column in zip(*(one.figures() for one in everything), strict=True))
    print("all | " + _row(means))
    print(f"{1 - means[1] / means[0]:.0%} fewer rounds")
    for breaking in BREAKING:
        fixed = [play(seed, breaking, governed, fixes_last=True).unseen for seed in range(CHANGES)]
        print(
            f"p = {breaking:.1f}, if the last round were fixed and not reviewed: {fmean(fixed):.2f} unknown"
        )


def _row(figures: tuple[float, ...]) -> str:
    return " | ".join(
        f"{before:.2f} > {after:.2f}" for before, after in zip(*[iter(figures)] * 2, strict=True)
    )


if __name__ == "__main__":
    main()
