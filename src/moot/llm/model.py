"""One model, as the rest of moot sees it: whole replies, typed drafts, tools, retries, usage, cost.

Knows no wire format. Nothing that a model says is trusted here: tool input and typed replies are
validated, and a reply that stopped in the middle raises.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from moot.errors import DraftInvalid, KeyRefused, ProviderFailed, ReplyEmpty, ReplyRefused, ToolLoopTooLong
from moot.llm import prices
from moot.llm.context import Fitted, fit, needed_tokens, shared_texts
from moot.llm.messages import (
    Draft,
    Message,
    ModelSaid,
    OnText,
    Reply,
    Request,
    Tokens,
    Tool,
    ToolAnswered,
    ToolCall,
    ToolFault,
    UserSaid,
    deaf,
)
from moot.llm.metering import UNMETERED, UNSENT, Meter, least_of, most_of
from moot.llm.names import ModelName
from moot.llm.prices import UNKNOWN, Pricing
from moot.llm.protocol import Call, Provider, Schema, Tally, Turn
from moot.llm.retries import Patience, retry_failed
from moot.llm.windows import ANY, Window
from moot.telemetry import ModelCall, reporting
from moot.text.characters import strip_controls, strip_controls_in_json
from moot.text.faults import explain

D = TypeVar("D", bound=BaseModel)

OnWait = Callable[[float, ProviderFailed], None]
"""Told how many seconds will be waited before the next attempt, and why."""
HELD_BACK = 300
"""Characters of a turn that may still end in a call of a tool, which are kept until there are more: what is
said before such a call is no answer, and most of the time it is a sentence."""


@dataclass(slots=True)
class _Talk:
    """One reply in the making: what was asked for, who listens, and what it has cost so far."""

    request: Request
    schema: Schema | None
    hear: OnText
    on_wait: OnWait | None
    on_void: Callable[[], None]
    report: ModelCall
    left_out: tuple[str, ...] = ()
    started: float = field(default_factory=time.monotonic)
    usage: Tokens = field(default_factory=Tokens)
    nano_usd: int | None = 0
    attempts: int = 0
    first_text: float | None = None

    def call(self, model: str, messages: tuple[Message, ...]) -> Call:
        request = self.request
        return Call(
            model=model,
            system=request.system,
            messages=messages,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            tools=tuple(tool.spec() for tool in request.tools),
            schema=self.schema,
            openers=request.openers,
            # Eight advisors begin with the same, which may be a book.
            shared=tuple(map(sys.intern, shared_texts(request))),
            must_answer=request.may_use_tools is not None and not request.may_use_tools(),
        )


class Model:
    """`small` says that the model needs short prompts and the beginnings of sentences given to it, `sees`
    that it takes images."""

    def __init__(
        self,
        name: ModelName,
        provider: Provider,
        *,
        small: bool = False,
        pricing: Pricing = UNKNOWN,
        window: Window = ANY,
        sees: bool = True,
        meter: Meter = UNMETERED,
        patience: Patience | None = None,
        key_variable: str = "",
        today: Callable[[], date] | None = None,
        tool_rounds: int = 40,
        tool_calls: int = 200,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.small = small
        self._provider = provider
        self.pricing = pricing
        self._window = window
        self._sees = sees
        self._meter = meter
        self._patience = patience or Patience()
        self._key_variable = key_variable
        self._today = today
        self._tool_rounds = tool_rounds
        self._tool_calls = tool_calls
        self._sleep = sleep

    async def stream(
        self,
        request: Request,
        hear: OnText = deaf,
        on_wait: OnWait | None = None,
        on_void: Callable[[], None] = lambda: None,
    ) -> Reply:
        """The whole reply; `hear` is told its text as it comes, and `on_void` when what it was told so far is
        no answer, because a tool was called after it."""
        fitted = await self._fit(request)
        request = self._dated(fitted.request)
        talk = _Talk(request, None, hear, on_wait, on_void, self._report(typed=False), fitted.left_out)
        with reporting(talk.report):
            turn, messages = await self._converse(talk, request.messages)
            if reminder := _reminder(request):
                answered = (*messages, ModelSaid(turn.text or "(nothing)"), UserSaid(reminder))
                turn, _ = await self._converse(talk, answered)
            if not turn.text.strip() and not _is_done(request):
                raise ReplyEmpty(str(self.name), at_limit=turn.stop == "limit")
            return self._reply(talk, turn)

    async def draft(self, request: Request, shape: type[D], on_wait: OnWait | None = None) -> Draft[D]:
        """A typed reply. One that does not validate is returned to the model once, with the reason, unless
        the request was the last of its kind."""
        fitted = await self._fit(request)
        request = self._dated(fitted.request)
        report = self._report(typed=True)
        talk = _Talk(request, _schema_of(shape), deaf, on_wait, lambda: None, report, fitted.left_out)
        with reporting(talk.report):
            turn, messages = await self._converse(talk, request.messages)
            returned = False
            try:
                value = _validate(shape, turn, request.max_tokens)
            except DraftInvalid as invalid:
                if request.last:
                    raise
                returned = True
                answered = (*messages, ModelSaid(turn.text or "(nothing)"), UserSaid(_correction(invalid)))
                turn, _ = await self._converse(talk, answered)
                value = _validate(shape, turn, request.max_tokens)
            return Draft(value, self._reply(talk, turn), returned)

    async def room_for_tools(self, request: Request) -> int:
        """Tokens that the answers of tools may take where the request is sent whole: at most what it asks
        for."""
        needed = needed_tokens(request)
        room = await self._window.tokens(needed) - needed
        return request.tools_tokens + min(0, room)

    async def as_sent(self, request: Request) -> Request:
        """As much of it as fits; raises WindowTooSmall where what is needed does not."""
        return (await self._fit(request)).request

    def _dated(self, request: Request) -> Request:
        """With the day, which no model knows: "by July" is another matter in March. It stands behind all that
        a session shares, and what is taken for the size of a text leaves room for it."""
        if self._today is None:
            return request
        day = self._today()
        told = f"Today is {day:%A}, {day.day} {day:%B} {day.year}."
        return replace(request, system=f"{request.system}\n\n{told}".strip())

    async def _fit(self, request: Request) -> Fitted:
        window = await self._window.tokens(needed_tokens(request))
        return fit(request, window, str(self.name), sees=self._sees)

    def _report(self, *, typed: bool) -> ModelCall:
        # A server's address is nobody's business but its user's.
        provider = "compatible" if self.name.is_url else self.name.provider
        return ModelCall(provider, self.name.model, typed)

    async def _converse(self, talk: _Talk, messages: tuple[Message, ...]) -> tuple[Turn, tuple[Message, ...]]:
        """Turns until one that calls no tool, or after whose tools all is done. Returns it, and the messages
        that led to it."""
        tools = {tool.name: tool for tool in talk.request.tools}
        calls = 0
        for _ in range(self._tool_rounds):
            turn = await self._exchange(talk, talk.call(self.name.model, messages))
            if turn.stop == "refused":
                raise ReplyRefused(str(self.name), turn.text[:500])
            if not turn.tool_calls:
                return turn, messages
            calls += len(turn.tool_calls)
            if calls > self._tool_calls:
                raise ToolLoopTooLong(str(self.name), calls)
            answers = [await _use(tools, tool_call) for tool_call in turn.tool_calls]
            messages = (*messages, ModelSaid(turn.text, turn.tool_calls, turn.echo), *answers)
            if _is_done(talk.request):
                return turn, messages
        raise ToolLoopTooLong(str(self.name), self._tool_rounds)

    async def _exchange(self, talk: _Talk, call: Call) -> Turn:
        """One turn, with retries as long as nothing of it has been heard: what a person has begun to read
        is never silently begun again."""
        heard, held = False, ""
        least = HELD_BACK if call.tools and not call.must_answer else 0

        def listen(text: str) -> None:
            nonlocal heard, held
            text = strip_controls(text)
            if not text:
                return
            if not heard:
                held += text
                if len(held) < least:
                    return
                heard, text = True, held
                talk.first_text = talk.first_text or time.monotonic()
            talk.hear(text)

        async def attempt() -> Turn:
            nonlocal held
            held = ""
            talk.attempts += 1
            try:
                return await self._attempt(talk, call, listen)
            except KeyRefused as refused:
                raise refused.naming(self._key_variable) from refused

        async def wait(seconds: float, failed: ProviderFailed) -> None:
            talk.report.retries += 1
            if talk.on_wait is not None:
                talk.on_wait(seconds, failed)
            await self._sleep(seconds)

        turn = await retry_failed(attempt, self._patience, lambda: not heard, wait)
        if heard and turn.tool_calls:
            talk.on_void()
        elif held and not heard and not turn.tool_calls:
            talk.first_text = talk.first_text or time.monotonic()
            talk.hear(held)
        return turn

    async def _attempt(self, talk: _Talk, call: Call, hear: OnText) -> Turn:
        """One request. It is booked when it ends, however it ends: what breaks off or is cancelled has cost
        something, too."""
        tally = Tally()
        least = least_of(call)

        def used() -> Tokens:
            return tally.so_far() or least

        await self._provider.prepare()
        attempt = await self._meter.begin(str(self.name), self.pricing, least, most_of(call, least), used)
        outcome, usage, cancelled = "ok", Tokens(), False
        try:
            turn = await self._provider.exchange(replace(call, tally=tally), hear)
            usage = turn.usage
            return replace(turn, text=strip_controls(turn.text))
        except BaseException as failed:
            cancelled = isinstance(failed, asyncio.CancelledError)
            outcome = type(failed).__name__ if tally.is_sent else UNSENT
            if tally.is_sent and not tally.is_refused:
                usage = used()
            raise
        finally:
            ending = attempt.end(outcome, usage)
            # Who was cancelled lets go at once; the meter sees to the rest.
            if not cancelled:
                cost = await ending
                talk.usage += usage
                talk.nano_usd = None if talk.nano_usd is None or cost is None else talk.nano_usd + cost

    def _reply(self, talk: _Talk, turn: Turn) -> Reply:
        ended = time.monotonic()
        first = talk.first_text
        talk.report.reply = reply = Reply(
            text=turn.text,
            model=str(self.name),
            usage=talk.usage,
            cost_usd=prices.usd(talk.nano_usd),
            duration_ms=round((ended - talk.started) * 1000),
            first_text_ms=None if first is None else round((first - talk.started) * 1000),
            attempts=talk.attempts,
            cut_short=turn.stop == "limit",
            left_out=talk.left_out,
        )
        return reply


@functools.lru_cache(maxsize=32)
def _schema_of(shape: type[BaseModel]) -> Schema:
    """Of most shapes there is only one, and it takes a millisecond to describe it."""
    return Schema(shape.__name__, shape.model_json_schema())


def _reminder(request: Request) -> str | None:
    """None where nobody looks whether it is done."""
    return request.remind() if request.remind is not None else None


def _is_done(request: Request) -> bool:
    return _reminder(request) == ""


def _name_of(shape: type[BaseModel]) -> str:
    """For the person: a ReviewGiven is a Review."""
    return shape.__name__.removesuffix("Given")


def _validate(shape: type[D], turn: Turn, max_tokens: int) -> D:
    if turn.stop == "limit":
        problem = f"it was cut off at its limit of {max_tokens} tokens; be briefer"
        raise DraftInvalid(_name_of(shape), problem, turn.text)
    try:
        return shape.model_validate_json(strip_controls_in_json(turn.text.encode(errors="surrogatepass")))
    except ValidationError as invalid:
        raise DraftInvalid(_name_of(shape), explain(invalid.errors(), "reply"), turn.text) from invalid


async def _use(tools: dict[str, Tool], call: ToolCall) -> ToolAnswered:
    """A tool's answer, or what was wrong, in words that the model can act on."""
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return ToolAnswered(call.id, f"There is no tool {call.name!r}. Tools: {known}.", is_error=True)
    try:
        return ToolAnswered(call.id, await tool.run(tool.takes.model_validate_json(call.arguments)))
    except ValidationError as invalid:
        return ToolAnswered(
            call.id, f"Input not accepted: {explain(invalid.errors(), 'input')}", is_error=True
        )
    except ToolFault as fault:
        return ToolAnswered(call.id, str(fault), is_error=True)


def _correction(invalid: DraftInvalid) -> str:
    return (
        f"That reply could not be used: {invalid.problem}. "
        "Answer again, whole and corrected, in the requested form and with nothing around it."
    )
