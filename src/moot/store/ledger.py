"""What every request to a model has cost, in SQL: one row for each, written when it begins and when it ends.

Knows rows, sums and leases. What a request costs, and what may be spent, is for `meter` to know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from moot.llm.messages import Tokens
from moot.llm.metering import UNSENT
from moot.store.sessions import Store
from moot.store.tables import attempts, spending

NANO = 1_000_000_000
LEASE_SECONDS = 15.0
"""How long a request is believed to be under way without a word from the process that sent it."""
ABANDONED = "abandoned"
_MOST_TOKENS = 1_000_000_000
"""A server may say anything; what it says has to fit, and takes nothing off the bill."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spent:
    """`held` is what requests that are under way may still cost."""

    nano_usd: int = 0
    held_nano_usd: int = 0
    tokens: int = 0
    held_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """Of a report: what requests that have something in common have cost. `unpriced` of them have no known
    price, `estimated` were not counted to their end by the provider."""

    name: str
    requests: int
    tokens_in: int
    tokens_out: int
    nano_usd: int
    estimated: int
    estimated_nano_usd: int
    unpriced: int


def tokens(usage: Tokens) -> Row:
    return {
        "input_tokens": _bounded(usage.input_tokens),
        "output_tokens": _bounded(usage.output_tokens),
        "cache_read_tokens": _bounded(usage.cache_read_tokens),
        "cache_write_tokens": _bounded(usage.cache_write_tokens),
        "estimated": int(usage.estimated),
    }


def bounded(usage: Tokens) -> Tokens:
    counted = tokens(usage)
    return Tokens(**{**counted, "estimated": usage.estimated})


def _bounded(count: int) -> int:
    return min(max(0, count), _MOST_TOKENS)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


class Ledger:
    def __init__(self, store: Store) -> None:
        self._store = store
        dialect = postgresql if store.shared else sqlite
        new = dialect.insert(attempts)
        changes = {c.name: new.excluded[c.name] for c in attempts.columns if c.name not in _FIXED}
        self._put = new.on_conflict_do_update(index_elements=["id"], set_=changes)

    async def put(self, rows: Sequence[Row]) -> None:
        """Writes rows as they are now, all or none."""
        await self._store.write(lambda connection: connection.execute(self._put, rows))

    async def reserve(self, row: Row, provider: str, may_begin: Callable[[Spent, Spent, int], bool]) -> bool:
        """Writes a row if `may_begin`, told what the day and the session have cost and how many requests to
        the provider are under way, says so. Of all processes only one does this at a time: what it was
        told holds until the row is there."""

        def reserve(connection: Connection) -> bool:
            day = _spent(connection, attempts.c.day == row["day"])
            session = _spent(connection, attempts.c.session == row["session"])
            old = connection.scalar(select(spending.c.usd).where(spending.c.day == row["day"]))
            under_way = _under_way(connection, provider)
            day = replace(day, nano_usd=day.nano_usd + round((old or 0.0) * NANO))
            if not may_begin(day, session, under_way):
                return False
            connection.execute(insert(attempts).values(row))
            return True

        return await self._store.write(reserve, alone="attempts")

    # -- what nobody has settled -------------------------------------------------------------

    async def abandoned(self) -> list[Any]:
        """Requests of processes that were killed, as they were last known."""
        return await self._store.read(select(attempts).where(attempts.c.lease_until < time.time()))

    async def settle_abandoned(self, request_id: str, nano_usd: int | None) -> None:
        """Unless it was settled meanwhile: a process that was only frozen may do that itself, and then with
        what the request really cost, also after this."""
        due = (attempts.c.id == request_id) & (attempts.c.lease_until < time.time())
        values = {"outcome": ABANDONED, "estimated": 1, "nano_usd": nano_usd, "lease_until": None}
        await self._store.run(update(attempts).where(due).values(values))

    async def used(self, session: str) -> list[Any]:
        """What its requests have cost that have ended, by model."""
        summed = (
            func.count().label("requests"),
            *(func.sum(column).label(column.name) for column in _COUNTED),
            func.sum(case((attempts.c.nano_usd.is_(None), 1), else_=0)).label("unpriced"),
        )
        mine = (attempts.c.session == session) & attempts.c.lease_until.is_(None)
        query = select(attempts.c.model, *summed).where(mine, attempts.c.outcome != UNSENT)
        return await self._store.read(query.group_by(attempts.c.model).order_by(attempts.c.model))

    # -- reports -----------------------------------------------------------------------------

    async def report(self, by: str, day: str | None = None) -> list[Line]:
        """By `day`, `session` or `model`; of one day, or of all."""
        column = attempts.c[by]
        guessed = attempts.c.estimated == 1
        query = select(
            column,
            func.count(),
            func.sum(attempts.c.input_tokens),
            func.sum(attempts.c.output_tokens),
            func.sum(attempts.c.nano_usd),
            func.sum(case((guessed, 1), else_=0)),
            func.sum(case((guessed, attempts.c.nano_usd), else_=0)),
            func.sum(case((attempts.c.nano_usd.is_(None), 1), else_=0)),
        ).where(attempts.c.lease_until.is_(None), attempts.c.outcome != UNSENT)
        if day is not None:
            query = query.where(attempts.c.day == day)
        found = await self._store.read(query.group_by(column).order_by(column))
        old = await self._store.read(select(spending)) if by == "day" and day is None else []
        lines = {name: Line(name, *(int(count or 0) for count in counts)) for name, *counts in found}
        for row in old:
            there = lines.get(row.day, Line(row.day, 0, 0, 0, 0, 0, 0, 0))
            lines[row.day] = replace(there, nano_usd=there.nano_usd + round(row.usd * NANO))
        return [lines[name] for name in sorted(lines)]


_COUNTED = (
    attempts.c.input_tokens,
    attempts.c.output_tokens,
    attempts.c.cache_read_tokens,
    attempts.c.cache_write_tokens,
    attempts.c.estimated,
    attempts.c.nano_usd,
)

_FIXED = ("id", "day", "session", "model", "began_at")


def _under_way(connection: Connection, provider: str) -> int:
    mine = (attempts.c.model.startswith(provider + mark, autoescape=True) for mark in (":", "#"))
    query = select(func.count()).select_from(attempts).where(attempts.c.lease_until > time.time())
    return int(connection.scalar(query.where(or_(attempts.c.model == provider, *mine))) or 0)


def _spent(connection: Connection, which: ColumnElement[bool]) -> Spent:
    ended = attempts.c.lease_until.is_(None)
    counted = attempts.c.input_tokens + attempts.c.output_tokens
    found = connection.execute(
        select(
            func.sum(case((ended, attempts.c.nano_usd))),
            func.sum(case((ended, 0), else_=attempts.c.reserved_nano_usd)),
            func.sum(case((ended, counted))),
            func.sum(case((ended, 0), else_=attempts.c.reserved_tokens)),
        ).where(which)
    )
    return Spent(*(int(total or 0) for total in found.one()))
