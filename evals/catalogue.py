"""All evaluations, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evals.caving.evaluation import EVALUATION as CAVING
from evals.evaluation import Evaluation
from evals.invented.evaluation import EVALUATION as INVENTED
from evals.minutes.evaluation import EVALUATION as MINUTES
from evals.planted.evaluation import EVALUATION as PLANTED
from evals.premise.evaluation import EVALUATION as PREMISE
from evals.recalled.evaluation import EVALUATION as RECALLED
from evals.review.evaluation import EVALUATION as REVIEW
from evals.voice.evaluation import EVALUATION as VOICE
from moot.errors import InvalidInput

EVALUATIONS: tuple[Evaluation[Any], ...] = (
    PLANTED,
    INVENTED,
    RECALLED,
    PREMISE,
    CAVING,
    REVIEW,
    MINUTES,
    VOICE,
)


def named(names: Sequence[str]) -> tuple[Evaluation[Any], ...]:
    """Of these names, in the catalogue's order; all where none is named."""
    known = [one.name for one in EVALUATIONS]
    for name in names:
        if name not in known:
            raise InvalidInput("evaluation", f"there is none called {name!r}; there is {', '.join(known)}")
    return tuple(one for one in EVALUATIONS if not names or one.name in names)
