"""The tables that sessions are kept in: columns and what they are for.

What is done with them is others' business, and how an older database gets them is said in `migrations`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    text,
)
from sqlalchemy.types import TypeDecorator


class Instant(TypeDecorator[datetime]):
    """Aware UTC times on every database; SQLite alone would forget the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        return value and value.replace(tzinfo=UTC)


metadata = MetaData()

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("format", String(32), nullable=False, index=True),
    Column("title", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False, index=True),
    Column("workspace", String, nullable=False, server_default=""),
    Column("owner", String(64), nullable=False, server_default=""),
    Column("name", String, nullable=False, server_default=""),
    Column("pinned", Boolean, nullable=False, server_default=text("false")),
)

events = Table(
    "events",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("body", LargeBinary, nullable=False),
)


frames = Table(
    "frames",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""What listeners of a session are told, word for word, so that one who was away can be told the rest. Frames
that were written together are one row, under the number of the first, a line each."""

driving = Table(
    "driving",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("wanted", Integer, nullable=False),
    Column("client", String(64), nullable=False),
    Column("driver", String(32), nullable=False, server_default=""),
    Column("until", Float, nullable=False, server_default="0"),
)
"""Sessions that are to be driven, and how often that was asked for: who drives one to its end takes it out,
unless it has been asked for again meanwhile. `driver` is the process that holds the lease: only that may log
what models have said. `until` is when the lease expires unless it is renewed, in seconds since 1970."""

listeners = Table(
    "listeners",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("server", String(32), primary_key=True),
    Column("until", Float, nullable=False),
)
"""Which process has somebody who listens; one that was killed stops renewing."""

servers = Table(
    "servers",
    metadata,
    Column("server", String(32), primary_key=True),
    Column("until", Float, nullable=False),
)
"""Which processes use a SQLite file: one that is alone need not ask whether others have changed it."""

spending = Table(
    "spending",
    metadata,
    Column("day", String(10), primary_key=True),
    Column("usd", Float, nullable=False),
)
"""What models had cost, by day in UTC, before `attempts` was there. Read, and no longer written."""

attempts = Table(
    "attempts",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("day", String(10), nullable=False, index=True),
    Column("session", String, nullable=False, index=True),
    Column("model", String, nullable=False),
    Column("began_at", Instant, nullable=False),
    Column("lease_until", Float, index=True),
    Column("outcome", String(64), nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("estimated", Integer, nullable=False),
    Column("nano_usd", BigInteger),
    Column("reserved_tokens", BigInteger, nullable=False),
    Column("reserved_nano_usd", BigInteger, nullable=False),
)
"""Every request to a model, noted before it is sent, and what it cost, in billionths of a dollar; null where
nobody knows. While it is under way there is a lease, in seconds since 1970, which whoever sent it renews with
what is known by then, and something is reserved: what it may cost. Outlives its session, because money that
was spent stays spent; so `session` refers to no table, and names also what lives in files."""

keys = Table(
    "keys",
    metadata,
    Column("owner", String(64), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("session", String(64), nullable=False, index=True),
    Column("at", Instant, nullable=False),
)
"""Which session a client's key was given for, so that a request that is sent again begins no second one."""

heartbeat = Table(
    "heartbeat", metadata, Column("id", Integer, primary_key=True), Column("at", Instant, nullable=False)
)
"""Written to find out whether the database can be written."""

people = Table(
    "people",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("added_at", Instant, nullable=False),
)
"""Who may sign in. The token itself is nowhere."""

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("cookie_hash", String(64), primary_key=True),
    Column("token_hash", String(64), nullable=False, index=True),
    Column("until", Instant, nullable=False),
)
"""Browsers that are signed in, and with which token: as long as that opens, the cookie does."""

actions = Table(
    "actions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("person", String(64), nullable=False),
    Column("action", String(100), nullable=False),
    Column("session", String(64), nullable=False, server_default=""),
)
"""Who did what. Nothing that was said is in it."""
