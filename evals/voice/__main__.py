"""`python -m evals.voice TRANSCRIPT …`: who said what, guessed blind, and how often that is right."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from evals.report import interval
from evals.voice import transcripts
from evals.voice.identification import GOAL, Result, Sample, identify
from evals.voice.transcripts import Transcript
from moot.errors import MootError
from moot.personas.library import load_library

EXAMPLES = Path(__file__).with_name("examples")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the goal is reached, 1 if not, 2 if nothing could be judged."""
    parser = argparse.ArgumentParser(prog="python -m evals.voice", description=__doc__)
    parser.add_argument(
        "transcripts", nargs="+", type=Path, metavar="TRANSCRIPT", help="session.jsonl or JSON"
    )
    parser.add_argument(
        "--examples", action="store_true", help="learn from the hand-written examples too (not judged)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    options = parser.parse_args(arguments)
    try:
        judged = [transcripts.read(file) for file in options.transcripts]
        known = example_transcripts() if options.examples else []
    except (MootError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if problem := _unjudgeable(judged, known):
        sys.stderr.write(f"{problem}\n")
        return 2
    names = first_names([*judged, *known])
    learnt_from = [sample for transcript in known for sample in samples(transcript, names)]
    result = identify([samples(transcript, names) for transcript in judged], learnt_from)
    sys.stdout.write((as_json(result) if options.json else as_table(result)) + "\n")
    return 0 if result.reaches_goal() else 1


def example_transcripts() -> list[Transcript]:
    return [transcripts.read(file) for file in sorted(EXAMPLES.glob("*.json"))]


def first_names(among: Sequence[Transcript]) -> frozenset[str]:
    """Those the transcripts give, and those of the roundtable that moot ships."""
    library = load_library()
    shipped = {persona.name.split()[0] for persona in library.members(library.panel("roundtable"))}
    return frozenset(shipped).union(*(transcript.first_names for transcript in among))


def samples(transcript: Transcript, names: frozenset[str]) -> list[Sample]:
    return [(said.speaker, transcripts.blind(said.text, names)) for said in transcript.contributions]


def _unjudgeable(judged: Sequence[Transcript], known: Sequence[Transcript]) -> str:
    if len(judged) + len(known) < 2:
        return "One transcript leaves nothing to learn from: give two or more, or add --examples."
    if len({said.speaker for transcript in judged for said in transcript.contributions}) < 2:
        return "Only one speaker is in these transcripts: there is nobody to be taken for."
    return ""


def as_table(result: Result) -> str:
    width = max(map(len, (*result.speakers(), "overall")))
    lines = [_row(speaker, result, speaker, width) for speaker in result.speakers()]
    lines.append(_row("overall", result, None, width))
    low, high = interval(result.right(), result.total())
    reached = "reached" if result.reaches_goal() else "not reached"
    chance = 1 / len(result.speakers())
    lines += [
        "",
        f"Guessing would give {chance:.0%}. With {result.total()} contributions the true figure is probably "
        f"between {low:.0%} and {high:.0%}.",
        f"The goal of {GOAL:.0%} is {reached}.",
    ]
    return "\n".join(lines)


def as_json(result: Result) -> str:
    low, high = interval(result.right(), result.total())
    personas = {
        speaker: {
            "right": result.right(speaker),
            "total": result.total(speaker),
            "accuracy": result.accuracy(speaker),
            "taken_for": dict(sorted(result.taken_for(speaker).items())),
        }
        for speaker in result.speakers()
    }
    overall = {
        "right": result.right(),
        "total": result.total(),
        "accuracy": result.accuracy(),
        "interval": [low, high],
    }
    return json.dumps(
        {"personas": personas, "overall": overall, "goal": GOAL, "reached": result.reaches_goal()}, indent=2
    )


def _row(name: str, result: Result, speaker: str | None, width: int) -> str:
    right, total = result.right(speaker), result.total(speaker)
    wrong = [] if speaker is None else result.taken_for(speaker).most_common()
    mistaken = ", ".join(f"{times} for {other}" for other, times in wrong if other != speaker)
    taken = f"   mistaken: {mistaken}" if mistaken else ""
    return f"{name:<{width}}  {result.accuracy(speaker):>5.0%}   {right} of {total}{taken}"


if __name__ == "__main__":
    sys.exit(main())
