"""What came of evaluations, as a table and as JSON: counts, shares, and how far each can be trusted.

Refuses to report a figure for what was not run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evals.evaluation import Evaluation, Tally, tally
from evals.transcripts import Bill, Transcript

_CONFIDENCE = 1.96
_MOST_NOTES = 12
BY_HAND = "nobody's model: written by hand"


def interval(right: int, total: int) -> tuple[float, float]:
    """Wilson's, at 95 %: it stays honest for small samples and for a perfect score."""
    share, square = right / total, _CONFIDENCE**2
    middle = share + square / (2 * total)
    spread = _CONFIDENCE * math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    return (middle - spread) / (1 + square / total), (middle + spread) / (1 + square / total)


@dataclass(frozen=True)
class Result:
    """Of one evaluation: what was scored, and what could not be because its session failed."""

    evaluation: Evaluation[Any]
    transcripts: tuple[Transcript, ...]

    @property
    def held(self) -> tuple[Transcript, ...]:
        return tuple(one for one in self.transcripts if not one.failed)

    @property
    def failed(self) -> tuple[Transcript, ...]:
        return tuple(one for one in self.transcripts if one.failed)

    @property
    def bill(self) -> Bill:
        return sum((one.bill for one in self.transcripts), Bill())

    def tallies(self) -> dict[str, Tally]:
        """In the evaluation's order; a measure that nothing was counted for has no figure."""
        counted = tally(self.evaluation.score(self.held)) if self.held else {}
        return {name: counted[name] for name in self.evaluation.measures if name in counted}


def as_table(results: Sequence[Result], *, notes: bool = True) -> str:
    return "\n\n".join(_one(result, notes=notes) for result in results)


def _one(result: Result, *, notes: bool) -> str:
    tallies = result.tallies()
    name, cases = result.evaluation.name, len({one.case for one in result.held})
    lines = [
        f"{name}: {_models(result)}, {_dates(result)}",
        f"  {len(result.held)} sessions of {cases} cases held{_failed(result)}; {_spent(result.bill)}",
    ]
    width = max((len(measure) for measure in tallies), default=0)
    for measure, counted in tallies.items():
        low, high = interval(counted.right, counted.total)
        row = f"  {measure:<{width}}  {counted.right:>4} of {counted.total:<4} {counted.share:>5.0%}"
        lines.append(f"{row}   95 %: {low:.0%} to {high:.0%}")
    if not tallies:
        lines.append("  nothing could be scored, so there is no figure")
    if notes:
        wrong = [f"{measure}: {note}" for measure, one in tallies.items() for note in one.wrong if note]
        lines += [f"    - {note}" for note in wrong[:_MOST_NOTES]]
        if len(wrong) > _MOST_NOTES:
            lines.append(f"    - and {len(wrong) - _MOST_NOTES} more, in the JSON report")
    lines += [f"    ! {one.case}: {one.failed}" for one in result.failed]
    return "\n".join(lines)


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    return [
        {
            "evaluation": result.evaluation.name,
            "model": _models(result),
            "date": _dates(result),
            "cases": len({one.case for one in result.held}),
            "sessions": len(result.held),
            "failed": {one.case: one.failed for one in result.failed},
            "requests": result.bill.requests,
            "tokens_in": result.bill.tokens_in,
            "tokens_out": result.bill.tokens_out,
            "cost_usd": None if result.bill.unpriced else round(result.bill.usd, 6),
            "measures": {
                measure: {
                    "right": counted.right,
                    "total": counted.total,
                    "share": round(counted.share, 4),
                    "interval": [round(edge, 4) for edge in interval(counted.right, counted.total)],
                    "wrong": list(counted.wrong),
                }
                for measure, counted in result.tallies().items()
            },
        }
        for result in results
    ]


def _models(result: Result) -> str:
    return ", ".join(sorted({one.model or BY_HAND for one in result.transcripts})) or BY_HAND


def _dates(result: Result) -> str:
    found = sorted({one.date for one in result.transcripts if one.date})
    if not found:
        return "no date"
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _failed(result: Result) -> str:
    return f", {len(result.failed)} failed and not scored" if result.failed else ""


def _spent(bill: Bill) -> str:
    if not bill.requests:
        return "no request was sent"
    used = f"{bill.requests} requests, {bill.tokens_in:,} tokens in, {bill.tokens_out:,} out"
    if bill.unpriced == bill.requests:
        return f"{used}, no price known"
    return f"{used}, ${bill.usd:.4f}{f' without {bill.unpriced} that have no price' if bill.unpriced else ''}"
