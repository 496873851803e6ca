"""What models cost is counted right: each request once, however it ends, and limits hold for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select, update

from moot.agents import Job, Order, Outcome, Progress
from moot.app import Moot, Options, opened
from moot.changes.metered_agents import run_metered
from moot.config import Config, Limits, Price, Settings
from moot.core import spending as meter
from moot.core.spending import Meter
from moot.errors import (
    ConfigInvalid,
    LimitReached,
    ProviderDown,
    ProviderFailed,
    ReviewerCrashed,
    StreamBroken,
    Unreachable,
)
from moot.llm import read_scheduler
from moot.llm.messages import OnText, Request, Tokens, UserSaid
from moot.llm.metering import Bill, billing, charging
from moot.llm.model import Model
from moot.llm.names import ModelName, parse
from moot.llm.openai import OpenAIProvider
from moot.llm.prices import NANO, Pricing
from moot.llm.protocol import Call, Turn
from moot.llm.registry import Gateway
from moot.llm.retries import Patience
from moot.store import ledger
from moot.store.database import sqlite_url
from moot.store.ledger import Ledger
from moot.store.sessions import Store, open_store
from moot.store.tables import attempts, spending
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.postgres import running_postgresql
from tests.support.providers import WIRES, Wire, talking

NAME = ModelName("openai", "m")
DOLLAR = Tokens(1_000_000, 0)
A_DOLLAR_A_MILLION = Pricing("m", own=Price(input=1, output=1))
ASKED = Request("", (UserSaid("Should we?"),), max_tokens=1000)


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "moot.db")
        return
    url = str(request.getfixturevalue("postgresql"))
    yield url
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


@pytest.fixture(scope="module", autouse=True)
def _soon_looked_again() -> Iterator[None]:
    """That a request of another process has ended is found by looking, otherwise once a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meter, "_LOOK_AGAIN_SECONDS", 0.02)
        yield


class Waiting:
    """A provider all of whose replies end together, when they are let go."""

    def __init__(self, usage: Tokens = DOLLAR) -> None:
        self.usage = usage
        self.asked = 0
        self.may_end = asyncio.Event()
        self.failure: Exception | None = None
        self._asked = asyncio.Condition()

    async def prepare(self) -> None:
        pass

    async def exchange(self, call: Call, hear: OnText) -> Turn:
        del hear
        self.asked += 1
        async with self._asked:
            self._asked.notify_all()
        call.tally.used = lambda: self.usage
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        return Turn("Yes.", self.usage, "end")

    async def until_asked(self, times: int) -> None:
        async with self._asked:
            await self._asked.wait_for(lambda: self.asked >= times)

    async def close(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def metering(store: Store, limits: Limits | None = None) -> AsyncIterator[Meter]:
    async def opened() -> Store:
        return store

    made = Meter(opened, limits or Limits(), lambda _: A_DOLLAR_A_MILLION)
    try:
        yield made
    finally:
        await made.close()


def model(provider: Any, by: Meter) -> Model:
    return Model(NAME, provider, pricing=A_DOLLAR_A_MILLION, meter=by, patience=Patience(retries=0))


async def rows(store: Store) -> list[Any]:
    return await store.read(select(attempts).order_by(attempts.c.began_at))


async def booked(store: Store) -> int:
    return sum(row.nano_usd or 0 for row in await rows(store))


def with_store(database: str, main: Callable[[Store], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with open_store(database) as store:
            await asyncio.wait_for(main(store), 60)

    asyncio.run(whole())


# -- booked once, however it ends ------------------------------------------------------------------


def test_eight_replies_of_a_dollar_that_end_together_book_eight_dollars(database: str) -> None:
    async def main(store: Store) -> None:
        provider = Waiting()
        async with metering(store) as by:
            talks = [asyncio.create_task(model(provider, by).stream(ASKED)) for _ in range(8)]
            await provider.until_asked(8)
            under_way = await rows(store)
            assert [row.outcome for row in under_way] == [""] * 8, "each is noted before it is sent"
            assert all(row.input_tokens > 0 and row.estimated for row in under_way)
            provider.may_end.set()
            assert [(await talk).cost_usd for talk in talks] == [1.0] * 8
            assert await booked(store) == 8 * NANO
            assert all(row.lease_until is None for row in await rows(store))

    with_store(database, main)


def test_what_breaks_off_or_is_cancelled_is_booked_with_what_is_known(database: str) -> None:
    async def main(store: Store) -> None:
        async with metering(store) as by:
            for failure in (StreamBroken("m", "it broke"), ProviderDown("m", "500: no", status=500)):
                provider = Waiting()
                provider.failure = failure
                provider.may_end.set()
                with pytest.raises(type(failure)):
                    await model(provider, by).stream(ASKED)
            provider = Waiting()
            talk = asyncio.create_task(model(provider, by).stream(ASKED))
            await provider.until_asked(1)
            talk.cancel()
            with pytest.raises(asyncio.CancelledError):
                await talk
        assert [row.outcome for row in await rows(store)] == [
            "StreamBroken",
            "ProviderDown",
            "CancelledError",
        ]
        assert await booked(store) == 3 * NANO

    with_store(database, main)


Fate = st.sampled_from(["ok", "broken", "cancelled"])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(Fate, st.integers(0, 10**7), st.integers(0, 10**6)), max_size=12))
def test_booked_is_always_the_sum_of_what_was_spent(
    tmp_path_factory: pytest.TempPathFactory, fates: list[tuple[str, int, int]]
) -> None:
    async def one(by: Meter, fate: str, usage: Tokens) -> None:
        provider = Waiting(usage)
        if fate == "broken":
            provider.failure = StreamBroken("m", "it broke")
        talk = asyncio.create_task(model(provider, by).stream(ASKED))
        await provider.until_asked(1)
        if fate == "cancelled":
            talk.cancel()
        else:
            provider.may_end.set()
        await asyncio.gather(talk, return_exceptions=True)

    async def main(store: Store) -> None:
        async with metering(store, Limits(day_tokens=10**12, day_usd=10**6)) as by:
            await asyncio.gather(*(one(by, fate, Tokens(i, o)) for fate, i, o in fates))
        # A dollar a million tokens is a thousand billionths for one.
        assert await booked(store) == sum(i + o for _, i, o in fates) * 1000
        assert len(await rows(store)) == len(fates)

    with_store(sqlite_url(tmp_path_factory.mktemp("sum") / "moot.db"), main)


def test_a_server_that_counts_nonsense_takes_nothing_off_the_bill(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        async with metering(store) as by:
            for usage in (Tokens(-(10**9), 10), Tokens(10**30, 0)):
                provider = Waiting(usage)
                provider.may_end.set()
                await model(provider, by).stream(ASKED)
            assert [row.nano_usd for row in await rows(store)] == [10 * 1000, 10**9 * 1000]

    with_store(sqlite_url(tmp_path / "moot.db"), main)


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(day_usd=0.0005), r"models have cost \$1.00 today, and \[limits\] day_usd stops"),
        (Limits(session_usd=0.0005), r"this session has cost \$1.00, and \[limits\] session_usd stops"),
        (Limits(day_tokens=500), r"models have used 1000000 tokens today, and \[limits\] day_tokens stops"),
        (Limits(session_tokens=500), "this session has used 1000000 tokens"),
    ],
)
def test_of_eight_that_begin_together_only_as_many_begin_as_there_is_room_for(
    database: str, limits: Limits, words: str
) -> None:
    async def main(store: Store) -> None:
        provider = Waiting()
        async with metering(store, limits) as by, metering(store, limits) as elsewhere:
            with charging("s"):
                talks = [
                    asyncio.create_task(model(provider, one).stream(ASKED))
                    for one in (by, elsewhere)
                    for _ in range(4)
                ]
            await provider.until_asked(1)
            provider.may_end.set()
            ended = await asyncio.gather(*talks, return_exceptions=True)
            refused = [one for one in ended if isinstance(one, LimitReached)]
            assert (provider.asked, len(refused)) == (1, 7)
            with pytest.raises(LimitReached, match=words), charging("s"):
                await model(provider, by).stream(ASKED)
            assert await booked(store) == NANO

    with_store(database, main)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5_000), st.lists(st.integers(0, 1_000), min_size=1, max_size=10))
def test_a_limit_is_never_passed_by_more_than_one_reply(
    tmp_path_factory: pytest.TempPathFactory, cap: int, costs: list[int]
) -> None:
    """However many begin together, in two processes; and never is anything refused while there is room."""

    async def one(by: Meter, tokens: int) -> None:
        provider = Waiting(Tokens(0, tokens))
        provider.may_end.set()
        with contextlib.suppress(LimitReached):
            await model(provider, by).stream(ASKED)

    async def main(store: Store) -> None:
        limits = Limits(day_tokens=cap)
        async with metering(store, limits) as here, metering(store, limits) as there:
            await asyncio.gather(*(one((here, there)[i % 2], cost) for i, cost in enumerate(costs)))
        used = [row.output_tokens for row in await rows(store)]
        assert sum(used) < cap + max(used)
        assert len(used) == len(costs) or sum(used) >= cap

    with_store(sqlite_url(tmp_path_factory.mktemp("cap") / "moot.db"), main)


def test_who_has_to_wait_for_room_goes_on_as_soon_as_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may cost a tenth of a cent and costs almost nothing, so that all find room in the end. In the same
    process nobody has to look again."""
    monkeypatch.setattr(meter, "_LOOK_AGAIN_SECONDS", 600)

    async def main(store: Store) -> None:
        provider = Waiting(Tokens(1, 1))
        provider.may_end.set()
        async with metering(store, Limits(day_usd=0.0011)) as by:
            replies = await asyncio.gather(*(model(provider, by).stream(ASKED) for _ in range(8)))
        assert len(replies) == provider.asked == 8

    with_store(sqlite_url(tmp_path / "moot.db"), main)


def test_one_session_at_its_limit_stops_no_other(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        provider = Waiting()
        provider.may_end.set()
        async with metering(store, Limits(session_usd=1)) as by:
            with charging("one"):
                await model(provider, by).stream(ASKED)
        # Also in another process, later.
        async with metering(store, Limits(session_usd=1)) as by:
            with charging("one"), pytest.raises(LimitReached, match="session_usd"):
                await model(provider, by).stream(ASKED)
            with charging("another"):
                await model(provider, by).stream(ASKED)
        assert [row.session for row in await rows(store)] == ["one", "another"]

    with_store(sqlite_url(tmp_path / "moot.db"), main)


def test_what_an_earlier_version_had_booked_today_still_counts(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        await store.run(insert(spending).values(day=ledger.today(), usd=0.75))
        provider = Waiting()
        provider.may_end.set()
        async with metering(store, Limits(day_usd=0.75)) as by:
            with pytest.raises(LimitReached, match=r"cost \$0.75 today"):
                await model(provider, by).stream(ASKED)
        async with metering(store, Limits(day_usd=0.80)) as by:
            await model(provider, by).stream(ASKED)
        [line] = await Ledger(store).report("day")
        assert (line.nano_usd, line.requests) == (1_750_000_000, 1)

    with_store(sqlite_url(tmp_path / "moot.db"), main)


@pytest.mark.parametrize("at", ["abandoned", "put"])
def test_closing_waits_for_what_the_database_is_doing(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that is cancelled in the middle is logged with a traceback, below the result."""
    monkeypatch.setattr(meter, "NOTE_SECONDS", 0.01)
    real = getattr(Ledger, at)
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def held(self: Ledger, *arguments: Any) -> Any:
        begun.set()
        await may_end.wait()
        found = await real(self, *arguments)
        ended.set()
        return found

    async def main(store: Store) -> None:
        provider = Waiting()
        async with metering(store) as by:
            talk = asyncio.create_task(model(provider, by).stream(ASKED))
            await provider.until_asked(1)
            monkeypatch.setattr(Ledger, at, held)
            by._swept = 0.0
            await begun.wait()
            closing = asyncio.create_task(by.close())
            while not (by._heart and (by._heart.cancelling() or by._heart.done())):  # noqa: ASYNC110
                await asyncio.sleep(0)
            may_end.set()
            await closing
            in_time = ended.is_set()
            provider.may_end.set()
            await talk
            assert in_time

    with_store(sqlite_url(tmp_path / "moot.db"), main)


# -- processes that are killed ---------------------------------------------------------------------


def test_what_a_killed_process_had_under_way_is_settled_at_what_was_known(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "NOTE_SECONDS", 0.01)

    async def main(store: Store) -> None:
        provider = Waiting()
        async with metering(store, Limits(day_usd=0.0005)) as dead:
            talk = asyncio.create_task(model(provider, dead).stream(ASKED))
            await provider.until_asked(1)
            await _until(lambda: _is_noted(store))
            # As if it were gone: nothing renews its lease, and that is over.
            assert dead._heart is not None
            dead._heart.cancel()
            await _end_leases(store)
            async with metering(store, Limits(day_usd=0.0005)) as by:
                with pytest.raises(LimitReached, match=r"\$1.00 today"):
                    await model(Waiting(), by).stream(ASKED)
            [row] = await rows(store)
            assert (row.outcome, row.nano_usd, row.estimated) == (ledger.ABANDONED, NANO, 1)
            # It was only frozen: what it really cost takes the place of the estimate.
            provider.usage = Tokens(2_000_000, 0)
            provider.may_end.set()
            await talk
            [row] = await rows(store)
            assert (row.outcome, row.nano_usd, row.estimated) == ("ok", 2 * NANO, 0)

    with_store(database, main)


async def _is_noted(store: Store) -> bool:
    return bool((await rows(store))[0].input_tokens == DOLLAR.input_tokens)


async def _until(there: Callable[[], Awaitable[bool]]) -> None:
    while not await there():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def _end_leases(store: Store) -> None:
    await store.run(update(attempts).values(lease_until=1.0))


# -- a database that is away -----------------------------------------------------------------------


def test_a_database_that_is_away_costs_nothing_but_keeps_no_limit(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        away = True

        async def opened() -> Store:
            if away:
                raise ConfigInvalid("database", "it is away")
            return store

        provider = Waiting()
        provider.may_end.set()
        limited = Meter(opened, Limits(day_usd=5), lambda _: A_DOLLAR_A_MILLION)
        with pytest.raises(LimitReached, match="cannot be read, so that"):
            await model(provider, limited).stream(ASKED)
        by = Meter(opened, Limits(), lambda _: A_DOLLAR_A_MILLION)
        await model(provider, by).stream(ASKED)
        away = False
        await by.close()
        assert await booked(store) == NANO, "it is booked as soon as the database is back"

    with_store(sqlite_url(tmp_path / "moot.db"), main)


# -- at once ---------------------------------------------------------------------------------------


def test_requests_to_a_provider_wait_for_each_other_over_all_processes(database: str) -> None:
    async def main(store: Store) -> None:
        limits = Limits(model_calls={"openai": 2})
        async with open_store(database) as second, metering(store, limits) as by:
            async with metering(second, limits) as other:
                ours, theirs = Waiting(), Waiting()
                talks = [asyncio.create_task(model(ours, by).stream(ASKED)) for _ in range(2)]
                await ours.until_asked(2)
                talks.append(asyncio.create_task(model(theirs, other).stream(ASKED)))
                elsewhere = Waiting()
                elsewhere.may_end.set()
                free = Model(ModelName("anthropic", "m"), elsewhere, pricing=A_DOLLAR_A_MILLION, meter=other)
                await free.stream(ASKED)
                assert theirs.asked == 0, "two are under way"
                ours.may_end.set()
                theirs.may_end.set()
                await asyncio.gather(*talks)
                assert theirs.asked == 1

    with_store(database, main)


def test_who_has_waited_longest_is_next_and_a_killed_process_holds_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "LEASE_SECONDS", 0.1)
    monkeypatch.setattr(meter, "LEASE_SECONDS", 0.1)

    async def main(store: Store) -> None:
        left_behind = {
            "id": "killed",
            "day": ledger.today(),
            "session": "",
            "model": "openai:m",
            "began_at": datetime.now(UTC),
            "lease_until": time.time() + 0.1,
            "outcome": "",
            **ledger.tokens(Tokens()),
            "nano_usd": None,
            "reserved_tokens": 0,
            "reserved_nano_usd": 0,
        }
        await store.run(insert(attempts).values(left_behind))
        order: list[int] = []

        async def ask(number: int, by: Meter) -> None:
            provider = Waiting()
            provider.may_end.set()
            await model(provider, by).stream(ASKED)
            order.append(number)

        async with metering(store, Limits(model_calls={"openai": 1})) as by:
            await asyncio.gather(*(ask(number, by) for number in range(5)))
        assert order == list(range(5))

    with_store(database, main)


def test_calls_are_not_held_up_by_a_database_that_is_away() -> None:
    async def main() -> None:
        async def opened() -> Store:
            raise ConfigInvalid("database", "it is away")

        provider = Waiting()
        provider.may_end.set()
        by = Meter(opened, Limits(model_calls={"openai": 1}), lambda _: A_DOLLAR_A_MILLION)
        assert (await model(provider, by).stream(ASKED)).text == "Yes."

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai:gpt-5.6", "openai"),
        ("ollama:qwen3:4b", "ollama"),
        ("http://127.0.0.1:9/v1#m", "http://127.0.0.1:9/v1"),
        ("codex", "codex"),
    ],
)
def test_a_model_s_name_says_whose_it_is(name: str, provider: str) -> None:
    assert meter.provider_of(name) == provider


# -- prices ----------------------------------------------------------------------------------------


def gateway(toml: Settings, **env: str) -> Gateway:
    return Gateway(Config(user=toml), env, cache=Path("/nonexistent"))


CAPPED = Settings(limits=Limits(day_usd=5))


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("openai:no-such-model", {"OPENAI_API_KEY": "x"}),
        ("openai:gpt-4o", {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}),
        ("anthropic:claude-sonnet-5-5", {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "http://h"}),
        ("http://127.0.0.1:9/v1#m", {}),
        ("ollama:qwen3:4b", {"OLLAMA_HOST": "http://ollama.example:11434"}),
    ],
)
def test_a_limit_in_dollars_is_refused_where_nobody_knows_the_price(name: str, env: dict[str, str]) -> None:
    async def main() -> None:
        with pytest.raises(ConfigInvalid) as refused:
            gateway(CAPPED, **env).named(parse(name))
        said = str(refused.value)
        assert f"nobody knows what {name} costs" in said
        assert f'[prices."{name}"]' in said
        assert "day_tokens" in said
        gateway(Settings(limits=Limits(day_tokens=5)), **env).named(parse(name))
        own = Settings(limits=Limits(day_usd=5), prices={name: Price(input=1.5, output=6)})
        priced = gateway(own, **env)
        priced.named(parse(name))
        assert priced.pricing(parse(name)).nano_usd(Tokens(1000, 100)) == 1_500_000 + 600_000

    asyncio.run(main())


@pytest.mark.parametrize("name", ["ollama:qwen3:4b", "openai:gpt-4o", "anthropic:claude-sonnet-5-5"])
def test_what_is_free_or_listed_may_be_limited(name: str) -> None:
    async def main() -> None:
        there = gateway(CAPPED, OPENAI_API_KEY="x", ANTHROPIC_API_KEY="x")
        there.named(parse(name))
        await there.close()

    asyncio.run(main())


def test_prices_are_exact_in_billionths_of_a_dollar() -> None:
    own = Pricing("m", own=Price(input=0.1, output=0.7, cache_read=0.01, cache_write=0.125))
    assert own.nano_usd(Tokens(3, 0)) == 300
    assert own.nano_usd(Tokens(10, 1, cache_read_tokens=4, cache_write_tokens=2)) == 400 + 40 + 250 + 700


# -- what the wires know of a reply that did not end -----------------------------------------------

WORDS = "yes" + " yes" * 399
"""Four bytes a token, as they are estimated."""


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fate", "tokens"),
    [
        (Behaviour(text=WORDS, truncate_after=100), 100),
        (Behaviour(text=WORDS, error_event_after=60), 60),
        (Behaviour(text=WORDS, stall_after=80), 80),
        (Behaviour(tool_calls=(("look", '{"a": "' + "yes " * 50 + '"}'),), truncate_after=30), 30),
        (Behaviour(status=500), 0),
        (Behaviour(status=401), 0),
    ],
)
def test_a_reply_that_breaks_off_costs_what_was_said_by_then(
    wire: Wire, fate: Behaviour, tokens: int, tmp_path: Path, stub: StubServer
) -> None:
    stub.default = fate

    async def main(store: Store) -> None:
        priced = Pricing("m", own=Price(input=1, output=1))
        async with (
            metering(store) as by,
            talking(
                wire, stub, pricing=priced, meter=by, patience=Patience(retries=0), stall_seconds=0.5
            ) as talk,
        ):
            with pytest.raises(ProviderFailed):
                await talk.stream()
        [row] = await rows(store)
        [exchange] = stub.exchanges
        assert abs(row.output_tokens - tokens) <= 1 + tokens // 10
        if fate.status != 200:
            assert (row.input_tokens, row.nano_usd) == (0, 0), "what was refused costs nothing"
        elif wire == "anthropic":
            assert row.input_tokens == exchange.spent.input_tokens
        else:
            assert row.input_tokens > 0
        assert bool(row.estimated) is (fate.status == 200)

    with_store(sqlite_url(tmp_path / "moot.db"), main)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("many", [False, True])
def test_what_came_and_was_not_looked_at_before_a_cancel_is_paid_too(
    wire: Wire, many: bool, tmp_path: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr(read_scheduler, "MANY", 1)
    stub.default = Behaviour(text=WORDS, pace=200, stall_after=100)

    async def main(store: Store) -> None:
        async with metering(store) as by, talking(wire, stub, meter=by) as talk:
            speaking = asyncio.create_task(talk.stream())
            while not talk.heard:  # noqa: ASYNC110
                await asyncio.sleep(0)
            # Nothing of this process reads meanwhile.
            stub.wait(lambda s: s.exchanges[0].spent.output_tokens == 100)
            heard = len(talk.heard)
            speaking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await speaking
            assert len(talk.heard) == heard, "who has left is told nothing more"
        [row] = await rows(store)
        assert (row.outcome, row.output_tokens) == ("CancelledError", 100)

    with_store(sqlite_url(tmp_path / "moot.db"), main)


def test_a_server_that_does_not_count_is_counted_for(tmp_path: Path, stub: StubServer) -> None:
    stub.default = Behaviour(text=WORDS, omit_usage=True)

    async def main(store: Store) -> None:
        async with metering(store) as by, talking("openai", stub, meter=by) as talk:
            reply = await talk.stream()
        assert (reply.usage.output_tokens, reply.usage.estimated) == (400, True)
        [row] = await rows(store)
        assert (row.output_tokens, row.estimated, row.outcome) == (400, 1, "ok")

    with_store(sqlite_url(tmp_path / "moot.db"), main)


def test_a_server_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        there = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key="x", compatible=True)
        async with metering(store) as by:
            with pytest.raises(Unreachable):
                await model(there, by).stream(ASKED)
        await there.close()
        [row] = await rows(store)
        assert (row.nano_usd, row.outcome) == (0, "unsent")
        assert await Ledger(store).report("day") == [], "nobody was asked"

    with_store(sqlite_url(tmp_path / "moot.db"), main)


# -- reviewers and coding agents -------------------------------------------------------------------


@asynccontextmanager
async def at_work(folder: Path, toml: str) -> AsyncIterator[Moot]:
    config = folder / "config.toml"
    config.write_text(toml, encoding="utf-8")
    options = Options(workspace=folder, database=sqlite_url(folder / "moot.db"))
    async with opened(options, env={"PATH": "/usr/bin:/bin"}) as moot:
        vars(moot).update(user_config_file=config)
        yield moot


@dataclass
class Program:
    """A reviewer and a coding agent at once, which reports what it is told to."""

    name: str
    tokens: tuple[int, int] = (0, 0)
    cost_usd: float | None = None
    failure: Exception | None = None
    started: int = 0

    async def review(self, job: Job, _: Progress) -> Outcome:
        self._start()
        return Outcome(job.model or "default", "It is fine.", 1, Tokens(*self.tokens), self.cost_usd)

    async def work(self, _order: Order, _: Progress) -> Outcome:
        self._start()
        return Outcome(self.name, "It is done.", 1, Tokens(*self.tokens), self.cost_usd)

    def _start(self) -> None:
        self.started += 1
        if self.failure is not None:
            raise self.failure


def job(model: str | None, folder: Path) -> Job:
    return Job("Review it, please, all of it.", folder, 10, "feat", ("moot",), model)


async def review(moot: Moot, program: Program, job: Job) -> None:
    name = ModelName(program.name, job.model or "")
    await run_metered(moot, name, job.text, lambda: program.review(job, print))


async def work(moot: Moot, program: Program, order: Order) -> None:
    await run_metered(moot, ModelName(program.name, ""), order.text, lambda: program.work(order, print))


def programs(folder: Path, toml: str, do: Callable[[Moot], Awaitable[None]]) -> list[Any]:
    async def main() -> list[Any]:
        async with at_work(folder, toml) as moot:
            with charging("change feat"):
                await do(moot)
            return await rows(await moot.store())

    return asyncio.run(main())


def test_a_program_is_booked_by_what_it_reports_else_by_what_is_known(tmp_path: Path) -> None:
    order = Order("Carry it out, please, all of it.", tmp_path, 10)

    async def do(moot: Moot) -> None:
        await review(moot, Program("claude", (5, 7), 0.25), job(None, tmp_path))
        await review(moot, Program("codex", (1000, 100)), job("gpt-4o", tmp_path))
        await work(moot, Program("command"), order)
        broken = Program("claude", failure=ReviewerCrashed("claude", "it fell over"))
        with pytest.raises(ReviewerCrashed):
            await work(moot, broken, order)
        paid = ReviewerCrashed("claude", "it fell over in the end")
        paid.used, paid.cost_usd = (2000, 100, 500), 0.5
        with billing(bill), pytest.raises(ReviewerCrashed):
            await review(moot, Program("claude", failure=paid), job(None, tmp_path))

    bill = Bill()
    found = programs(tmp_path, "[prices.command]\ninput = 1.0\noutput = 2.0\n", do)
    # gpt-4o: 2.5 and 10 dollars a million; the command: 8 tokens in, 3 out.
    assert [(row.model, row.nano_usd) for row in found] == [
        ("claude", 250_000_000),
        ("codex:gpt-4o", 2_500_000 + 1_000_000),
        ("command", 8 * 1000 + 3 * 2000),
        ("claude", None),
        ("claude", 500_000_000),
    ]
    assert [row.estimated for row in found] == [0, 0, 1, 1, 0]
    assert found[3].outcome == found[4].outcome == "ReviewerCrashed"
    assert [row.input_tokens for row in found[3:]] == [8, 2000]
    assert (bill.usage.input_tokens, bill.usage.output_tokens, bill.cost_usd) == (2000, 100, 0.5)
    assert {row.session for row in found} == {"change feat"}


@pytest.mark.parametrize("name", ["codex", "command"])
def test_a_program_whose_cost_nobody_knows_does_not_start_under_a_limit_in_dollars(
    tmp_path: Path, name: str
) -> None:
    program = Program(name)

    async def do(moot: Moot) -> None:
        with pytest.raises(ConfigInvalid, match=rf"what {name} costs: set its price under \[prices"):
            await review(moot, program, job(None, tmp_path))

    assert programs(tmp_path, "[limits]\nday_usd = 1.0\n", do) == []
    assert program.started == 0


def test_a_program_does_not_start_once_the_limit_is_reached(tmp_path: Path) -> None:
    program = Program("claude", (5, 7), 2.0)

    async def do(moot: Moot) -> None:
        await review(moot, program, job(None, tmp_path))
        with pytest.raises(LimitReached, match=r"has cost \$2.00"):
            await review(moot, program, job(None, tmp_path))

    assert len(programs(tmp_path, "[limits]\nsession_usd = 1.5\n", do)) == 1
    assert program.started == 1
