"""One model, as the rest of moot sees it: whole replies, typed drafts, tools, retries, usage, cost.

Knows no wire format. Nothing that a model says is trusted here: tool input and typed replies are
validated, and a reply that stopped in the middle raises.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from moot.errors import DraftInvalid, ProviderFailed, ReplyEmpty, ReplyRefused, ToolLoopTooLong
from moot.gateway import prices
from moot.gateway.names import ModelName
from moot.gateway.protocol import (
    Call,
    Draft,
    Hear,
    Message,
    ModelSaid,
    Provider,
    Reply,
    Request,
    Schema,
    Tool,
    ToolAnswered,
    ToolCall,
    ToolFault,
    Turn,
    Usage,
    UserSaid,
    deaf,
)

D = TypeVar("D", bound=BaseModel)

OnWait = Callable[[float, ProviderFailed], None]
"""Told how many seconds will be waited before the next attempt, and why."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to wait for a provider that fails."""

    retries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_retry_after: float = 60.0
    """A server that asks for more than this is not waited for: the error says how long it asked for."""

    def wait_before(self, retry: int, failed: ProviderFailed) -> float | None:
        """Seconds before retry number `retry` (from 1), or None to give up."""
        if not failed.retriable or retry > self.retries:
            return None
        if failed.retry_after is not None:
            return failed.retry_after if failed.retry_after <= self.longest_retry_after else None
        wait = min(self.first_wait * 2 ** (retry - 1), self.longest_wait)
        # Eight advisors that failed together should not come back together.
        return wait * random.uniform(0.75, 1.0)


@dataclass(slots=True)
class _Spent:
    """What one reply has cost so far, over all its requests."""

    started: float
    usage: Usage = Usage()
    attempts: int = 0
    first_text: float | None = None


class Model:
    """`small` says that the model needs short prompts and the beginnings of sentences given to it."""

    def __init__(
        self,
        name: ModelName,
        provider: Provider,
        *,
        small: bool = False,
        priced_as: str | None = None,
        free: bool = False,
        patience: Patience | None = None,
        tool_rounds: int = 40,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.small = small
        self._provider = provider
        self._priced_as = priced_as
        self._free = free
        self._patience = patience or Patience()
        self._tool_rounds = tool_rounds
        self._sleep = sleep

    async def stream(self, request: Request, hear: Hear = deaf, on_wait: OnWait | None = None) -> Reply:
        """The whole reply; `hear` is told its text as it comes."""
        spent = _Spent(time.monotonic())
        turn, _ = await self._converse(request, request.messages, None, hear, on_wait, spent)
        return await self._reply(turn, spent)

    async def draft(self, request: Request, shape: type[D], on_wait: OnWait | None = None) -> Draft[D]:
        """A typed reply. One that does not validate is returned to the model once, with the reason."""
        spent = _Spent(time.monotonic())
        schema = Schema(shape.__name__, shape.model_json_schema())
        turn, messages = await self._converse(request, request.messages, schema, deaf, on_wait, spent)
        try:
            return await self._drafted(shape, turn, request, spent)
        except DraftInvalid as invalid:
            messages = (*messages, ModelSaid(turn.text or "(nothing)"), UserSaid(_correction(invalid)))
        turn, _ = await self._converse(request, messages, schema, deaf, on_wait, spent)
        return await self._drafted(shape, turn, request, spent)

    async def _drafted(self, shape: type[D], turn: Turn, request: Request, spent: _Spent) -> Draft[D]:
        if turn.stop == "limit":
            problem = f"it was cut off at its limit of {request.max_tokens} tokens; be briefer"
            raise DraftInvalid(shape.__name__, problem, turn.text)
        try:
            value = shape.model_validate_json(turn.text)
        except ValidationError as invalid:
            raise DraftInvalid(shape.__name__, _told(invalid), turn.text) from invalid
        return Draft(value, await self._reply(turn, spent))

    async def _converse(
        self,
        request: Request,
        messages: tuple[Message, ...],
        schema: Schema | None,
        hear: Hear,
        on_wait: OnWait | None,
        spent: _Spent,
    ) -> tuple[Turn, tuple[Message, ...]]:
        """Turns until one that calls no tool. Returns it, and the messages that led to it."""
        tools = {tool.name: tool for tool in request.tools}
        specs = tuple(tool.spec() for tool in request.tools)
        for _ in range(self._tool_rounds):
            call = Call(
                model=self.name.model,
                system=request.system,
                messages=messages,
                max_tokens=request.max_tokens,
                temperature=request.temperature,
                tools=specs,
                schema=schema,
                openers=request.openers,
            )
            turn = await self._exchange(call, hear, on_wait, spent)
            if turn.stop == "refused":
                raise ReplyRefused(str(self.name), turn.text[:500])
            if not turn.tool_calls:
                if not turn.text.strip():
                    raise ReplyEmpty(str(self.name))
                return turn, messages
            answers = [await _use(tools, tool_call) for tool_call in turn.tool_calls]
            messages = (*messages, ModelSaid(turn.text, turn.tool_calls, turn.echo), *answers)
        raise ToolLoopTooLong(str(self.name), self._tool_rounds)

    async def _exchange(self, call: Call, hear: Hear, on_wait: OnWait | None, spent: _Spent) -> Turn:
        """One turn, with retries as long as nothing of it has been heard: what a person has begun to read
        is never silently begun again."""
        heard = False

        def listen(text: str) -> None:
            nonlocal heard
            heard = True
            if spent.first_text is None:
                spent.first_text = time.monotonic()
            hear(text)

        retry = 0
        while True:
            spent.attempts += 1
            try:
                turn = await self._provider.exchange(call, listen)
            except ProviderFailed as failed:
                retry += 1
                wait = None if heard else self._patience.wait_before(retry, failed)
                if wait is None:
                    raise
                if on_wait is not None:
                    on_wait(wait, failed)
                await self._sleep(wait)
            else:
                spent.usage += turn.usage
                return turn

    async def _reply(self, turn: Turn, spent: _Spent) -> Reply:
        ended = time.monotonic()
        first = spent.first_text
        return Reply(
            text=turn.text,
            model=str(self.name),
            usage=spent.usage,
            cost_usd=await self._cost(spent.usage),
            duration_ms=round((ended - spent.started) * 1000),
            first_text_ms=None if first is None else round((first - spent.started) * 1000),
            attempts=spent.attempts,
            cut_short=turn.stop == "limit",
        )

    async def _cost(self, usage: Usage) -> float | None:
        if self._free:
            return 0.0
        if self._priced_as is None:
            return None
        # In a thread, because the first look-up loads the price data.
        return await asyncio.to_thread(prices.cost_usd, self._priced_as, self.name.model, usage)


async def _use(tools: dict[str, Tool], call: ToolCall) -> ToolAnswered:
    """A tool's answer, or what was wrong, in words that the model can act on."""
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return ToolAnswered(call.id, f"There is no tool {call.name!r}. Tools: {known}.", is_error=True)
    try:
        return ToolAnswered(call.id, await tool.run(tool.takes.model_validate_json(call.arguments)))
    except ValidationError as invalid:
        return ToolAnswered(call.id, f"Input not accepted: {_told(invalid)}", is_error=True)
    except ToolFault as fault:
        return ToolAnswered(call.id, str(fault), is_error=True)


def _told(invalid: ValidationError) -> str:
    """At most five problems, each as `field: what is wrong`."""
    problems = [
        f"{'.'.join(str(part) for part in e['loc']) or 'reply'}: {e['msg']}"
        for e in invalid.errors(include_url=False)
    ]
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    return "; ".join(problems[:5]) + more


def _correction(invalid: DraftInvalid) -> str:
    return (
        f"That reply could not be used: {invalid.problem}. "
        "Answer again, whole and corrected, in the requested form and with nothing around it."
    )
