"""What building a change is going to cost: by what tasks have cost in this workspace, or at least by what has
to be read for it.

Pure. Agents read and write as they like, so nobody knows it beforehand: it says what it rests on. Limits hold
by the meter, whatever is told here.
"""

from __future__ import annotations

from collections.abc import Iterable

from moot.changes.state_file import Call
from moot.llm.metering import tokens_of
from moot.llm.prices import in_dollars

OF_A_TASK = ("implement", "review task")


def foresee_building(open_tasks: int, read: str, calls: Iterable[Call], attempts: int) -> str:
    """`read` is what whoever does or reviews a task is given, and `calls` what was asked for tasks before."""
    count = f"{open_tasks} task{'' if open_tasks == 1 else 's'}"
    if not open_tasks:
        return "nothing is left to build"
    done = [call for call in calls if call.step in OF_A_TASK]
    tries = sum(call.step == OF_A_TASK[0] for call in done)
    prices = [call.cost_usd for call in done if call.cost_usd is not None]
    measured = f"by {tries} attempt{'' if tries == 1 else 's'} at tasks here before"
    if tries and prices:
        each = sum(prices) / tries
        most = f", {in_dollars(each * open_tasks * attempts)} if each takes all retries" * (attempts > 1)
        return f"{count}, about {in_dollars(each * open_tasks)}{most}, {measured}"
    if tries and (used := sum(call.tokens_in + call.tokens_out for call in done)):
        tokens = _rounded(used * open_tasks // tries)
        return f"{count}, about {tokens:,} tokens at prices that are not known, {measured}"
    tokens = _rounded(2 * open_tasks * tokens_of(read))
    return f"{count}, at least about {tokens:,} tokens to read; what an agent adds is known afterwards"


def _rounded(tokens: int) -> int:
    step = 10 ** max(0, len(str(tokens)) - 2)
    return int(round(tokens / step) * step)
