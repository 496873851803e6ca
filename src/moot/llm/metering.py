"""How each request to a model is accounted for: noted before it is sent, settled when it has ended.

Knows what is asked of a meter, and how tokens are estimated where nobody has counted them. Where the account
is kept, and what may be spent, is for the meter to know (`moot.core.spending`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from moot.llm.messages import ModelSaid, Tokens, ToolAnswered, UserSaid
from moot.llm.prices import Pricing, usd
from moot.llm.protocol import Call

_BYTES_PER_TOKEN = 4
"""Of English prose and of JSON; other scripts have more bytes a character, and more tokens."""

IMAGE_TOKENS = 1_600
"""About as many as an image has that is as large as most models look at it."""

UNSENT = "unsent"
"""The outcome of a request that the server never got: it is in no account."""

_charged_to: ContextVar[str] = ContextVar("charged_to", default="")


def charged_to() -> str:
    """The session on whose account models are asked here; empty where there is none."""
    return _charged_to.get()


@contextmanager
def charging(session: str) -> Iterator[None]:
    """While this lasts, what models cost is the session's. A session is anything that `session_usd` limits:
    its stored id, or a name for what lives in files. What a session begins in its turn, such as the board
    that a workflow consults, is on its account, too."""
    token = _charged_to.set(charged_to() or session)
    try:
        yield
    finally:
        _charged_to.reset(token)


@dataclass(slots=True)
class Bill:
    """What requests have cost together. `nano_usd` is None where the price of one is not known."""

    usage: Tokens = field(default_factory=Tokens)
    nano_usd: int | None = 0

    def add(self, usage: Tokens) -> None:
        self.usage += usage

    def add_cost(self, nano_usd: int | None) -> None:
        self.nano_usd = None if self.nano_usd is None or nano_usd is None else self.nano_usd + nano_usd

    @property
    def cost_usd(self) -> float | None:
        """None, too, where nothing was asked."""
        return usd(self.nano_usd) if self.usage.input_tokens or self.usage.output_tokens else None


_bill: ContextVar[Bill | None] = ContextVar("bill", default=None)


@contextmanager
def billing(bill: Bill) -> Iterator[None]:
    """While this lasts, what requests cost here is added to the bill, also of those that fail."""
    token = _bill.set(bill)
    try:
        yield
    finally:
        _bill.reset(token)


def open_bill() -> Bill:
    """The one to which a request that ends here belongs; one that nobody reads where there is none."""
    return _bill.get() or Bill()


class Attempt(Protocol):
    """One request that is under way."""

    def end(self, outcome: str, usage: Tokens, nano_usd: int | None = None) -> asyncio.Future[int | None]:
        """Books it, whatever became of it, and says what it cost in billionths of a dollar; None where no
        price is known. `nano_usd` is for one who was told. Begins at once, and goes on to its end whether or
        not anybody waits for it: who was cancelled need not."""


class Meter(Protocol):
    async def begin(
        self, model: str, pricing: Pricing, least: Tokens, most: Tokens, used: Callable[[], Tokens]
    ) -> Attempt:
        """Notes a request before it is sent. `least` is what it costs if nothing comes back, `most` what it
        may cost; `used` says what is known while it is under way. Raises LimitReached where it may not be
        sent."""


class _Unmetered:
    """For a model that nobody keeps accounts of."""

    async def begin(self, _model: str, pricing: Pricing, *_: object) -> Attempt:
        return _Unnoted(pricing)


class _Unnoted:
    def __init__(self, pricing: Pricing) -> None:
        self._pricing = pricing

    def end(self, _outcome: str, usage: Tokens, nano_usd: int | None = None) -> asyncio.Future[int | None]:
        open_bill().add(usage)
        return asyncio.ensure_future(self._cost(usage, nano_usd))

    async def _cost(self, usage: Tokens, nano_usd: int | None) -> int | None:
        await self._pricing.load()
        cost = self._pricing.nano_usd(usage) if nano_usd is None else nano_usd
        open_bill().add_cost(cost)
        return cost


UNMETERED: Meter = _Unmetered()


# -- estimates -----------------------------------------------------------------------------------


def tokens_of(*texts: str) -> int:
    """About how many tokens a text has."""
    size = sum(len(text) if text.isascii() else len(text.encode("utf-8", "replace")) for text in texts)
    return -(-size // _BYTES_PER_TOKEN)


def least_of(call: Call) -> Tokens:
    """What a request has cost once it was read, if nothing more is known."""
    texts, images = [*call.shared, call.system], 0
    for message in call.messages:
        match message:
            case UserSaid(text):
                texts.append(text)
                images += len(message.images)
            case ToolAnswered(text=text):
                texts.append(text)
            case ModelSaid(text, tool_calls):
                texts.append(text)
                texts.extend(used.arguments for used in tool_calls)
    texts.extend(json.dumps(dict(tool.schema)) + tool.description for tool in call.tools)
    if call.schema is not None:
        texts.append(json.dumps(dict(call.schema.json_schema)))
    return Tokens(input_tokens=tokens_of(*texts) + images * IMAGE_TOKENS, estimated=True)


def most_of(call: Call, least: Tokens) -> Tokens:
    """What it may cost: all that it may say. The room that some models get to think in is left out: most of
    them use little of it, and it is several times what is said."""
    return Tokens(least.input_tokens, call.max_tokens, estimated=True)
