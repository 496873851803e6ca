"""How review loops end: with the governor's rules, and "until approved", on the same made-up changes.

No model takes part: a reviewer finds each defect with some probability, a fix works with some, and breaks
something with some. The seed is fixed, so the figures are the same on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
    rounds: int
    left: int
    usd: float


def play(seed: int, breaking: float, ends: Callable[[list[Round]], bool]) -> Ended:
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
    return Ended(len(rounds), len(change.defects), sum(one.usd for one in rounds))


def until_approved(rounds: list[Round]) -> bool:
    return not rounds[-1].found


def governed(rounds: list[Round], limits: Limits = Limits()) -> bool:  # noqa: B008
    return stop(rounds, limits) is not None


@dataclass(frozen=True)
class Compared:
    breaking: float
    before: tuple[Ended, ...]
    after: tuple[Ended, ...]

    def figures(self) -> tuple[float, float, float, float]:
        """Rounds and High defects left: until approved, governed."""
        return (
            fmean(one.rounds for one in self.before),
            fmean(one.rounds for one in self.after),
            fmean(one.left for one in self.before),
            fmean(one.left for one in self.after),
        )


def compare(changes: int = CHANGES) -> Iterator[Compared]:
    for breaking in BREAKING:
        before = tuple(play(seed, breaking, until_approved) for seed in range(changes))
        after = tuple(play(seed, breaking, governed) for seed in range(changes))
        yield Compared(breaking, before, after)


def main() -> None:
    print("a fix breaks something | rounds until approved | governed | Highs left until approved | governed")
    everything = list(compare())
    for one in everything:
        print(f"p = {one.breaking:.1f} | " + " | ".join(f"{figure:.2f}" for figure in one.figures()))
    means = [fmean(column) for column in zip(*(one.figures() for one in everything), strict=True)]
    print("all | " + " | ".join(f"{figure:.2f}" for figure in means))
    print(f"{1 - means[1] / means[0]:.0%} fewer rounds")


if __name__ == "__main__":
    main()
