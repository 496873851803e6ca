"""Tells speakers apart by how they write, having read other discussions of theirs.

Knows words, punctuation and the letters within words, weighed by TF-IDF; a contribution is given to the
speaker whose average is nearest. Deliberately plain: what so simple a reader can tell apart, a person can.
Refuses to know where the texts are from. Nobody is ever judged by a model that has seen the transcript.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

GOAL = 0.8

_WORD = re.compile(r"\w+(?:['’]\w+)*|->|[^\w\s]")
_LETTERS = (3, 4)

Vector = dict[str, float]
Sample = tuple[str, str]
"""A speaker and a text of theirs."""


@dataclass(frozen=True, slots=True)
class Identified:
    speaker: str
    taken_for: str


@dataclass(frozen=True, slots=True)
class Result:
    identified: tuple[Identified, ...]

    def speakers(self) -> tuple[str, ...]:
        return tuple(sorted({one.speaker for one in self.identified}))

    def taken_for(self, speaker: str) -> Counter[str]:
        return Counter(one.taken_for for one in self.identified if one.speaker == speaker)

    def right(self, speaker: str | None = None) -> int:
        return sum(one.taken_for == one.speaker for one in self._of(speaker))

    def total(self, speaker: str | None = None) -> int:
        return len(self._of(speaker))

    def accuracy(self, speaker: str | None = None) -> float:
        return self.right(speaker) / self.total(speaker)

    def reaches_goal(self) -> bool:
        return self.accuracy() >= GOAL

    def _of(self, speaker: str | None) -> tuple[Identified, ...]:
        return tuple(one for one in self.identified if speaker in {None, one.speaker})


def identify(transcripts: Sequence[Sequence[Sample]], known: Sequence[Sample] = ()) -> Result:
    """Each transcript is judged by what was learnt from the others, and from `known`."""
    identified = []
    for index, judged in enumerate(transcripts):
        others = (sample for at, other in enumerate(transcripts) if at != index for sample in other)
        reader = _Reader([*known, *others])
        identified += [Identified(speaker, reader.speaker_of(text)) for speaker, text in judged]
    return Result(tuple(identified))


class _Reader:
    def __init__(self, samples: Sequence[Sample]) -> None:
        counted = [(speaker, _features(text)) for speaker, text in samples]
        found_in = Counter(feature for _, features in counted for feature in features)
        self._rarity = {
            feature: math.log((1 + len(samples)) / (1 + times)) + 1 for feature, times in found_in.items()
        }
        sums: dict[str, Vector] = {}
        for speaker, features in counted:
            total = sums.setdefault(speaker, {})
            for feature, weight in self._weighed(features).items():
                total[feature] = total.get(feature, 0.0) + weight
        self._averages = {speaker: _unit(total) for speaker, total in sums.items()}

    def speaker_of(self, text: str) -> str:
        vector = self._weighed(_features(text))
        return max(sorted(self._averages), key=lambda speaker: _likeness(vector, self._averages[speaker]))

    def _weighed(self, features: Counter[str]) -> Vector:
        weights = {
            feature: (1 + math.log(times)) * self._rarity[feature]
            for feature, times in features.items()
            if feature in self._rarity
        }
        # Letters are many and words few: each kind counts as much as the other.
        kinds = ({f: w for f, w in weights.items() if (f[0] == " ") is letters} for letters in (True, False))
        return {feature: weight for kind in kinds for feature, weight in _unit(kind).items()}


def _features(text: str) -> Counter[str]:
    """Words and pairs of words; and, marked by a space in front, the letters that follow each other."""
    words = _WORD.findall(text.casefold())
    features = Counter(words)
    features.update(f"{one} {next_one}" for one, next_one in pairwise(words))
    for word in words:
        edged = f"<{word}>"
        for length in _LETTERS:
            features.update(f" {edged[at : at + length]}" for at in range(len(edged) - length + 1))
    return features


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {feature: weight / length for feature, weight in vector.items()} if length else {}


def _likeness(vector: Vector, average: Vector) -> float:
    return sum(weight * average.get(feature, 0.0) for feature, weight in vector.items())
