"""`python -m evals --model PROVIDER:MODEL` runs the evaluations; `score` scores stored transcripts, without a
key; `list` says what there is and about what it costs."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import catalogue, transcripts
from evals.evaluation import Evaluation
from evals.person import NotTaken
from evals.report import Result, as_json, as_table
from evals.room import SessionFailed, open_room
from evals.transcripts import Transcript
from moot.errors import MootError

USAGE = """python -m evals [NAME ...] --model PROVIDER:MODEL [--repeat N] [--json FILE] [--transcripts DIR]
       python -m evals score TRANSCRIPT ... [--json FILE]
       python -m evals list"""


@dataclass(frozen=True)
class Run:
    """`at_once` is how many sessions are under way at the same time."""

    model: str
    repeat: int = 1
    at_once: int = 4
    keep_in: Path | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where everything was held and scored; 1 where a session failed; 2 where nothing could be done."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        match given:
            case ["list", *rest]:
                _parser("list").parse_args(rest)
                sys.stdout.write(listing() + "\n")
                return 0
            case ["score", *rest]:
                return _score(rest)
            case _:
                return _run(given)
    except (MootError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _parser(command: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=f"python -m evals {command}".strip(), description=__doc__, usage=USAGE
    )


def listing() -> str:
    lines = []
    for one in catalogue.EVALUATIONS:
        tokens_in, tokens_out = (len(one.cases) * one.requests * each for each in one.tokens)
        lines.append(
            f"{one.name}: {one.about.strip().splitlines()[0]}\n  {len(one.cases)} cases, about "
            f"{len(one.cases) * one.requests} requests, {tokens_in:,} tokens in, {tokens_out:,} out"
        )
    return "\n".join(lines)


# -- running -------------------------------------------------------------------------------------


def _run(given: Sequence[str]) -> int:
    parser = _parser("")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones; all without a name")
    parser.add_argument("--model", required=True, metavar="PROVIDER:MODEL", help="the model to be judged")
    parser.add_argument("--repeat", type=_positive, default=1, metavar="N", help="hold each case N times")
    parser.add_argument("--at-once", type=_positive, default=4, metavar="N", help="sessions at the same time")
    parser.add_argument("--case", action="append", default=[], metavar="ID", help="only these cases")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, too")
    parser.add_argument(
        "--transcripts", type=Path, metavar="DIR", help="keep what was said, to score it again"
    )
    options = parser.parse_args(given)
    chosen = catalogue.named(options.names)
    run = Run(options.model, options.repeat, options.at_once, options.transcripts)
    results = asyncio.run(run_all(chosen, run, options.case))
    return _report(results, options.json)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("has to be at least 1")
    return number


async def run_all(chosen: Sequence[Evaluation[Any]], run: Run, only: Sequence[str] = ()) -> list[Result]:
    room = asyncio.Semaphore(run.at_once)

    async def held(evaluation: Evaluation[Any], case: Any, number: int) -> Transcript:
        async with room:
            said = await hold(evaluation, case, run.model)
        if run.keep_in is not None:
            transcripts.write(said, run.keep_in, number)
        return said

    results = []
    for evaluation in chosen:
        cases = [case for case in evaluation.cases if not only or case.id in only]
        waiting = [held(evaluation, case, n) for case in cases for n in range(1, run.repeat + 1)]
        if waiting:
            results.append(Result(evaluation, tuple(await asyncio.gather(*waiting))))
    return results


async def hold(evaluation: Evaluation[Any], case: Any, model: str) -> Transcript:
    """One session. What goes wrong in it is its own affair; what is wrong before it, such as a key that is
    missing, is everybody's."""
    date = datetime.now(UTC).date().isoformat()
    async with open_room(evaluation.files(case), model) as room:
        name = (await room.moot.model_in_use()).name
        failed = ""
        try:
            await evaluation.hold(case, room)
            room.check_complete()
        except (MootError, SessionFailed, NotTaken) as error:
            failed = f"{type(error).__name__}: {error}"
        replies, bill = tuple(room.record.replies), await room.bill()
    return Transcript(evaluation.name, case.id, replies, name, date, bill, failed)


# -- scoring -------------------------------------------------------------------------------------


def _score(given: Sequence[str]) -> int:
    parser = _parser("score")
    parser.add_argument("transcripts", nargs="+", type=Path, metavar="TRANSCRIPT", help="files or folders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, too")
    options = parser.parse_args(given)
    return _report(results_of(transcripts.read_all(options.transcripts)), options.json)


def results_of(said: Sequence[Transcript]) -> list[Result]:
    """By evaluation and model: figures of two models are never one figure."""
    found: dict[tuple[str, str], list[Transcript]] = {}
    for one in said:
        found.setdefault((one.evaluation, one.model), []).append(one)
    names = [one.name for one in catalogue.EVALUATIONS]
    catalogue.named([name for name, _ in found])
    in_order = sorted(found, key=lambda key: (names.index(key[0]), key[1]))
    return [Result(catalogue.named([key[0]])[0], tuple(found[key])) for key in in_order]


def _report(results: Sequence[Result], file: Path | None) -> int:
    if not results:
        sys.stderr.write("There is no such case, so nothing was run.\n")
        return 2
    if file is not None:
        file.write_text(json.dumps(as_json(results), indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(as_table(results) + "\n")
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
