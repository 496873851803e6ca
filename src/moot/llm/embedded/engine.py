"""The embedded model: llama.cpp in this process, so that moot speaks on a machine without a key.

It knows the engine, its threads and its wire format. It refuses to know where weights come from
(llm/embedded/weights.py), retries, prices, and what a reply is for. Make one `LocalProvider` per process: it
holds the weights in memory.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moot.errors import NoLocalModel, ProviderFailed, RequestRejected, StreamBroken
from moot.llm.embedded.grammar import Grammar
from moot.llm.embedded.small_model import (
    OPENERS,
    SAMPLING,
    SHORT_ENDING,
    anchor,
    first_sentence,
    has_sentence,
    is_garbled,
    is_sensible,
    plain,
    short_messages,
)
from moot.llm.embedded.weights import Weights, check
from moot.llm.messages import Message, ModelSaid, OnText, Tokens, ToolAnswered, ToolCall, UserSaid, deaf
from moot.llm.protocol import Call, Stop, Turn

if TYPE_CHECKING:
    import xllamacpp  # type: ignore[import-untyped]

VOICES = 8
"""How many replies are generated side by side: a board of eight."""

Json = Mapping[str, Any]


class LocalProvider:
    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._server: xllamacpp.Server | None = None
        self._loading = threading.Lock()
        self._running: dict[threading.Thread, threading.Event] = {}

    async def prepare(self) -> None:
        """The weights are loaded with the first request: that may take long, and costs nothing."""

    async def exchange(self, call: Call, hear: OnText) -> Turn:
        if call.schema is not None:
            return await self._draft(call, call.schema.json_schema, hear)
        if self._weights.tiny:
            # Tools are ignored: weights this small have not learnt to call them.
            return await self._speak(call, hear)
        body = {**_sampling(call), "messages": _messages(call), "max_tokens": call.max_tokens}
        if call.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.schema},
                }
                for t in call.tools
            ]
        answer = await self._generate(body, hear)
        return Turn(answer.text, answer.usage, answer.stop, answer.tool_calls())

    async def close(self) -> None:
        for thread, stop in tuple(self._running.items()):
            stop.set()
            await asyncio.to_thread(thread.join)
        await asyncio.to_thread(self._free)

    # -- a typed draft ---------------------------------------------------------------------------

    async def _draft(self, call: Call, schema: Json, hear: OnText) -> Turn:
        """A draft means nothing before it is whole, so it is heard in one piece."""
        grammar = Grammar(schema, plain=self._weights.tiny, model=call.model)
        body: dict[str, Any] = {
            **_sampling(call),
            "messages": _messages(call),
            "grammar": grammar.text,
            "max_tokens": max(call.max_tokens, grammar.longest),
        }
        if self._weights.tiny:
            lead = {"role": "assistant", "content": f"{anchor(call.messages)} My answer:\n"}
            body |= SAMPLING | {"repeat_penalty": 1.1, "messages": [*short_messages(call, 2_400), lead]}
        usage = Tokens()
        text = ""
        for _ in range(3):
            answer = await self._generate(body, deaf)
            usage += answer.usage
            if answer.stop == "end":
                text = json.dumps(grammar.finished(json.loads(answer.text)), ensure_ascii=False)
                if not (self._weights.tiny and is_garbled(text)):
                    break
        if not text:
            raise StreamBroken(call.model, "the draft did not fit into the model's context")
        hear(text)
        return Turn(text, usage, "end")

    # -- a few sentences from a tiny model -------------------------------------------------------

    async def _speak(self, call: Call, hear: OnText) -> Turn:
        """One sentence for each opener. Asked for more, weights this small lose the thread."""
        last = call.messages[-1] if call.messages else None
        beginning = last.text.rstrip() if isinstance(last, ModelSaid) else ""
        openers = (beginning,) if beginning else (call.openers or OPENERS)[:5]
        messages = short_messages(call, 1_200)
        reminder = anchor(call.messages)
        known = plain(" ".join((call.whole_system, *(message.text for message in call.messages))))
        said = ""
        usage = Tokens()
        # The first opener is said at once, so that a person sees that someone has begun to speak; but not
        # before it is certain that there is someone.
        await asyncio.to_thread(self._loaded)
        if not beginning:
            said = openers[0]
            hear(said)
        for place, opener in enumerate(openers):
            if usage.output_tokens >= call.max_tokens:
                return Turn(said, usage, "limit")
            prompt = [*messages, {"role": "assistant", "content": f"{reminder} {opener}"}]
            sentence, used = await self._sentence(prompt, f"{known} {plain(said)}", must_end=place == 0)
            usage += used
            if sentence:
                piece = sentence if place == 0 else f" {opener}{sentence}"
                said += piece
                hear(piece)
        return Turn(said, usage, "end")

    async def _sentence(self, prompt: list[Json], known: str, *, must_end: bool) -> tuple[str, Tokens]:
        """The rest of the sentence that the prompt ends with, or "" if nothing sensible comes. A sentence
        that somebody has already heard the beginning of must end somehow."""
        body = {**SAMPLING, "messages": prompt, "stop": ["\n"], "max_tokens": 60}
        usage = Tokens()
        spare = ""
        for _ in range(3):
            answer = await self._generate(body, deaf, enough=has_sentence)
            usage += answer.usage
            sentence = first_sentence(answer.text)
            if is_sensible(sentence, known):
                if len(sentence.split()) >= 5:
                    return sentence, usage
                spare = sentence
        if spare or not must_end:
            return spare, usage
        answer = await self._generate({**body, "grammar": SHORT_ENDING, "max_tokens": 200}, deaf)
        return answer.text, usage + answer.usage

    # -- the engine ------------------------------------------------------------------------------

    async def _generate(
        self, body: Json, hear: OnText, enough: Callable[[str], bool] = lambda _: False
    ) -> _Answer:
        """Run one request in a thread of its own; the engine queues what exceeds its slots. Cancelling
        stops the generation and returns when the thread is gone, so the slot is free by then."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        stop = threading.Event()
        answer = _Answer()
        problem: list[Exception] = []
        # Once the main thread has ended, the interpreter waits for this one before it exits.
        main = threading.main_thread()

        def hear_unless_stopped(piece: str) -> None:
            if not stop.is_set():
                hear(piece)

        def take(chunk: str) -> bool:
            """What this returns decides whether the engine stops."""
            try:
                piece = answer.add(json.loads(chunk))
                if piece:
                    loop.call_soon_threadsafe(hear_unless_stopped, piece)
                return stop.is_set() or not main.is_alive() or enough(answer.text)
            except Exception as failure:  # it must not pass through the engine's C++ frames
                problem.append(failure)
                return True

        def work() -> None:
            try:
                server = self._loaded()
                if not stop.is_set():
                    server.handle_chat_completions(json.dumps({**_STREAMED, **body}), take)
            except Exception as failure:
                problem.append(failure)
            finally:
                del self._running[thread]
                # The loop is closed when the process exits in the middle; nobody is waiting then.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(done.set_result, None)

        thread = threading.Thread(target=work, name="moot-local")
        self._running[thread] = stop
        thread.start()
        cancelled: asyncio.CancelledError | None = None
        while not done.done():
            try:
                await asyncio.wait((done,))
            except asyncio.CancelledError as cancel:
                cancelled = cancel
                stop.set()
        thread.join()
        if cancelled:
            raise cancelled
        if problem:
            raise self._explained(problem[0])
        if answer.error:
            raise self._refused(answer.error)
        if not answer.finish and not enough(answer.text):
            raise StreamBroken(self._weights.name, "the engine stopped in the middle of the reply")
        return answer

    def _loaded(self) -> xllamacpp.Server:
        with self._loading:
            if self._server is None:
                self._server = _load(self._weights)
                # By the time such functions run, the interpreter has waited for our threads. Left to
                # itself the engine's own thread would outlive the memory it works on.
                atexit.register(self._free)
            return self._server

    def _free(self) -> None:
        with self._loading:
            self._server = None
            atexit.unregister(self._free)

    def _explained(self, problem: Exception) -> ProviderFailed:
        if isinstance(problem, ProviderFailed):
            return problem
        return StreamBroken(self._weights.name, f"the engine failed: {problem}")

    def _refused(self, error: Json) -> ProviderFailed:
        problem = str(error.get("message", error))
        if error.get("code") == 400:
            return RequestRejected(self._weights.name, problem, status=400)
        return StreamBroken(self._weights.name, problem)


def _load(weights: Weights) -> xllamacpp.Server:
    check(weights)
    try:
        # Here, because it maps a hundred megabytes of machine code.
        import xllamacpp
    except ImportError as problem:
        raise NoLocalModel(weights.name, f"the engine cannot be loaded: {problem}") from problem
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.path)
    params.n_parallel = VOICES
    # Larger weights need more memory for each word of context: there the voices share one pool.
    params.n_ctx = VOICES * 2_048
    params.kv_unified = not weights.tiny
    for cores in (params.cpuparams, params.cpuparams_batch):
        # One core is left to others: all threads wait for the slowest after every step, so that a single one
        # that has to share its core makes all of them as slow.
        cores.n_threads = max(1, (os.cpu_count() or 1) - 1)
        # Waiting threads sleep. Busy waiting, the default, falls from 50 words a second to less than one
        # as soon as another program wants the same cores.
        cores.poll = 0
    # By default, 8 GB of old prompts are kept.
    params.cache_ram_mib = 0
    params.verbosity = -1
    params.offline = True
    # The engine opens a port on loopback whether it is wanted or not. Nobody gets the key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.cors_origins = "null"
    params.ui = params.endpoint_slots = False
    params.n_threads_http = 1
    try:
        return xllamacpp.Server(params)
    except RuntimeError as problem:
        raise NoLocalModel(
            weights.name,
            f"the weights {weights.path} do not load: they are damaged, of a kind that the engine does not "
            "know, or larger than the free memory",
        ) from problem


# -- the wire ------------------------------------------------------------------------------------

_STREAMED = {
    "stream": True,
    # Counts in every chunk: a generation that is stopped early never sends its last one.
    "timings_per_token": True,
    "stream_options": {"include_usage": True},
    "chat_template_kwargs": {"enable_thinking": False},
}
_STOPS: Mapping[str, Stop] = {"stop": "end", "length": "limit", "tool_calls": "tools"}


@dataclass(slots=True)
class _Answer:
    text: str = ""
    finish: str = ""
    usage: Tokens = field(default_factory=Tokens)
    error: Json = field(default_factory=dict)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)

    @property
    def stop(self) -> Stop:
        return _STOPS.get(self.finish, "end")

    def add(self, chunk: Json) -> str:
        """Take in one chunk and return its piece of text."""
        self.error = chunk.get("error", self.error)
        if timings := chunk.get("timings"):
            cached = timings["cache_n"]
            self.usage = Tokens(cached + timings["prompt_n"], timings["predicted_n"], cached)
        piece = ""
        for choice in chunk.get("choices", ()):
            self.finish = choice.get("finish_reason") or self.finish
            delta = choice.get("delta", {})
            piece += delta.get("content") or ""
            for part in delta.get("tool_calls") or ():
                call = self.calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += part.get("id") or ""
                for key in ("name", "arguments"):
                    call[key] += part.get("function", {}).get(key) or ""
        self.text += piece
        return piece

    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(**call) for _, call in sorted(self.calls.items()))


def _sampling(call: Call) -> dict[str, Any]:
    return {} if call.temperature is None else {"temperature": call.temperature}


def _messages(call: Call) -> list[Json]:
    whole = call.whole_system
    system: list[Json] = [{"role": "system", "content": whole}] if whole else []
    return system + [_message(message) for message in call.messages]


def _message(message: Message) -> Json:
    match message:
        case UserSaid(text):
            return {"role": "user", "content": text}
        case ToolAnswered(call_id, text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case ModelSaid(text, ()):
            return {"role": "assistant", "content": text}
        case ModelSaid(text, calls):
            functions = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in calls
            ]
            return {"role": "assistant", "content": text, "tool_calls": functions}
