"""What a draft or a review is going to cost, and has cost, in words for the person.

Refuses to know who drafts and reviews. Limits hold by the meter, whatever is told here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from moot.changes.state_file import Call
from moot.core.estimate import LEAST_SHARE, Asked, as_sent, estimate
from moot.errors import MootError
from moot.llm.model import Model
from moot.llm.prices import in_dollars


async def foretell(requests: Iterable[Asked], model: Model, tell: Callable[[str], None]) -> None:
    """Before the first is sent. How much is looked up besides, nobody knows yet, nor how much is answered: it
    is a lower bound. What stands in the way of an estimate is said by the model itself."""
    with suppress(MootError):
        sent = [await as_sent(asked, model) for asked in requests]
        tell(f"this takes {await estimate(sent, model.pricing, at_least=True, share=LEAST_SHARE)}")


def took(call: Call) -> str:
    return f"this took {call.tokens_in + call.tokens_out:,} tokens, {in_dollars(call.cost_usd)}"
