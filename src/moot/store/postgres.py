"""How PostgreSQL is reached by its own means, and how processes that share one tell each other of changes."""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Most who import this module use SQLite.
    import psycopg
    from psycopg.pq.abc import PGresult

CONNECTING: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""How soon it is noticed that a PostgreSQL is gone."""

CHANNEL = "moot"
_IDS_AT_ONCE = 200
"""PostgreSQL takes 8,000 bytes in a notification."""


def was_ended(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether the server has ended a connection that is not in use. It sends nothing unless it is asked, so
    anything to read says that it has."""
    if connection.closed:
        return True
    looking = select.poll()
    looking.register(connection.fileno(), select.POLLIN)
    return bool(looking.poll(0))


async def notifications(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[tuple[str, str]]:
    """What comes on the channels that a connection listens to, as (channel, payload), until it breaks. The
    driver's own way of waiting for that wakes up ten times a second."""
    server = connection.pgconn
    while True:
        await _until_readable(connection.fileno())
        server.consume_input()
        while said := server.notifies():
            yield said.relname.decode(), said.extra.decode()


async def run_prepared(
    connection: psycopg.AsyncConnection[Any], name: bytes, values: Sequence[bytes]
) -> PGresult:
    """What a prepared statement without rows leads to. Through the driver's cursors it takes four times as
    long, which counts for one that is run sixteen times a second."""
    server, fd = connection.pgconn, connection.fileno()
    server.send_query_prepared(name, values)
    while server.flush():
        await _until_writable(fd)
    while server.is_busy():
        await _until_readable(fd)
        server.consume_input()
    # One statement has one result; a connection that breaks has a second one to say so.
    [result, *_] = iter(server.get_result, None)
    return result


async def _until_readable(fd: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


async def _until_writable(fd: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(fd)


def notes(server: str, kind: str, sessions: Iterable[str]) -> list[str]:
    """What is sent to others: who sends, what has changed, and for which sessions."""
    ids = list(dict.fromkeys(sessions))
    some = (ids[start : start + _IDS_AT_ONCE] for start in range(0, len(ids), _IDS_AT_ONCE))
    return [" ".join((server, kind, *part)) for part in some]
