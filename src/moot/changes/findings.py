"""The findings of successive reviews: which are new, which were made before, which are gone.

Knows that findings of one id are the same, and when two are likely the same in other words. The latter is a
matter of degree: it is told to people, gives an id to an issue that was raised again without it, and decides
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from moot.changes.review_block import Issue, Review

_ALIKE = 0.5
_WEIGHT_OF_LOCATION = 0.25
# Enough of a word to tell it from others, too little to tell "expires" from "expiry".
_STEM = 5
_UNIMPORTANT = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "in", "is", "it", "of", "on", "or", "the", "to"}
)


@dataclass(frozen=True, slots=True)
class Matched:
    """`new` and `repeated` are issues of the later review, `resolved` of the earlier one, in their order.
    What the person has dismissed is resolved by nobody."""

    new: tuple[Issue, ...]
    repeated: tuple[Issue, ...]
    resolved: tuple[Issue, ...]


def match(earlier: Review | None, later: Review, dismissed: Collection[str] = ()) -> Matched:
    before = earlier.issues if earlier else ()
    found = pairs(before, later.issues)
    again, repeated = {old for old, _ in found}, {new for _, new in found}
    return Matched(
        new=tuple(issue for index, issue in enumerate(later.issues) if index not in repeated),
        repeated=tuple(issue for index, issue in enumerate(later.issues) if index in repeated),
        resolved=tuple(
            issue
            for index, issue in enumerate(before)
            if index not in again and issue.description not in dismissed
        ),
    )


def pairs(before: Sequence[Issue], after: Sequence[Issue]) -> list[tuple[int, int]]:
    """Indices of those that are the same: first those of one id, then one to one, the most alike first; of
    pairs equally alike, the one that stands higher up."""
    by_id = {issue.id: old for old, issue in enumerate(before) if issue.id}
    same = [(by_id[issue.id], new) for new, issue in enumerate(after) if issue.id in by_id]
    again, repeated = {old for old, _ in same}, {new for _, new in same}
    for old, new in _alike(before, after):
        # Two different ids are two issues, however alike.
        if old not in again and new not in repeated and not (before[old].id and after[new].id):
            again.add(old)
            repeated.add(new)
            same.append((old, new))
    return same


def in_words(matched: Matched) -> str:
    return f"{len(matched.new)} new, {len(matched.repeated)} repeated, {len(matched.resolved)} resolved"


# -- likeness ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gist:
    description: frozenset[str]
    location: frozenset[str]


def _alike(before: Sequence[Issue], after: Sequence[Issue]) -> list[tuple[int, int]]:
    """Indices of pairs in the order in which they are to be matched."""
    old_gists, new_gists = [_gist(issue) for issue in before], [_gist(issue) for issue in after]
    pairs = [
        # Pairs of the same sum have no issue in common, so that either order of the reviews counts the same.
        (-likeness, old + new, old, new)
        for old, old_gist in enumerate(old_gists)
        for new, new_gist in enumerate(new_gists)
        if (likeness := _likeness(old_gist, new_gist)) >= _ALIKE
    ]
    return [(old, new) for _, _, old, new in sorted(pairs)]


def _likeness(one: _Gist, other: _Gist) -> float:
    """From 0 to 1. A location counts where both name one."""
    described = _overlap(one.description, other.description)
    if not described or not one.location or not other.location:
        return described
    located = _overlap(one.location, other.location)
    return (1 - _WEIGHT_OF_LOCATION) * described + _WEIGHT_OF_LOCATION * located


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0


def _gist(issue: Issue) -> _Gist:
    return _Gist(_stems(issue.description), _stems(issue.location))


def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"\w+", text.casefold())
    # A text of nothing but signs or small words is its own only word.
    stems = {word[:_STEM] for word in words if word not in _UNIMPORTANT} or {text.casefold().strip()}
    return frozenset(stems - {""})
