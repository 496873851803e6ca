"""The schema's versions: what leads from each to the next, and who may open a database of which.

A new database is made as the tables stand in the code, and says which version that is. One of an earlier
version is brought up to date when it is opened, in one transaction, whoever comes first; one of a later
version is left alone, because an earlier program would not understand what is in it.

To change the schema: change the tables, add a step to `STEPS`, and keep a database of the version before in
tests/store/data. Tables and indexes that are merely new need no step; they are created wherever they are
missing. They need an empty one only where an earlier program must no longer write to the database.

Knows no table but its own: the others are given.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Column, Connection, Integer, MetaData, Table, delete, insert, inspect, select, text
from sqlalchemy.schema import CreateIndex, CreateTable

from moot.errors import StoreFailed

Step = Callable[[Connection], None]


def _frames_written_together(_: Connection) -> None:
    """A row of frames may hold several of them, a line each. Rows of one, as there were before, are the same
    in both versions, so there is nothing to rewrite; but an earlier program would take several for one."""


def _workspaces_owners_and_leases(connection: Connection) -> None:
    """Sessions have a workspace and an owner; of those that are there, neither is known. Who drives one holds
    a lease on it: what the tables of who does what say is of use only to processes that are running, so they
    are made anew with the columns that they have now."""
    connection.execute(text("ALTER TABLE sessions ADD COLUMN workspace VARCHAR NOT NULL DEFAULT ''"))
    connection.execute(text("ALTER TABLE sessions ADD COLUMN owner VARCHAR(64) NOT NULL DEFAULT ''"))
    for table in ("driving", "listeners", "slots"):
        connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


def _names_and_pins(connection: Connection) -> None:
    """People give sessions names, and pin those that they want on top. Logs may have events of ticked
    conditions, which an earlier program could not read."""
    connection.execute(text("ALTER TABLE sessions ADD COLUMN name VARCHAR NOT NULL DEFAULT ''"))
    connection.execute(text("ALTER TABLE sessions ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT false"))


def _two_tables_less(connection: Connection) -> None:
    """Replies to challenges are frames like all other words, and calls to a provider are counted where they
    are booked."""
    for table in ("words", "slots"):
        connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


STEPS: tuple[Step, ...] = (
    _frames_written_together,
    _workspaces_owners_and_leases,
    _names_and_pins,
    _two_tables_less,
)
"""The first leads from version 1 to version 2, and so on."""

NEWEST = 1 + len(STEPS)

_UNVERSIONED = "sessions"
"""A database that has this table and says no version is of version 1, which said none."""

_version = Table("schema_version", MetaData(), Column("version", Integer, nullable=False))

_TAKING_TURNS = 6466723
"""PostgreSQL's lock is known by a number, and this one is ours."""


def bring_up_to_date(connection: Connection, tables: MetaData) -> None:
    """Within a transaction of the caller's. Two processes may open a database at once: they take turns where
    there is anything to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_TAKING_TURNS})"))
    version = _version_of(connection)
    if version < NEWEST:
        if connection.dialect.name == "sqlite":
            # Reading does not begin a transaction there; what was read may be old by now.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            version = _version_of(connection)
        if version > 0:
            for step in STEPS[version - 1 :]:
                step(connection)
    _create_missing(connection, tables)
    if version < NEWEST:
        _create_missing(connection, _version.metadata)
        connection.execute(delete(_version))
        connection.execute(insert(_version).values(version=NEWEST))


def check_version(connection: Connection) -> None:
    """Raises where this program is not, or no longer, of the database's version."""
    version = _version_of(connection)
    if version < NEWEST:
        raise _refusal(connection, "their tables are gone, or of an older schema: start moot again")


def _version_of(connection: Connection) -> int:
    """0 is a database with nothing of ours in it."""
    inspector = inspect(connection)
    if not inspector.has_table(_version.name):
        return 1 if inspector.has_table(_UNVERSIONED) else 0
    version = connection.scalar(select(_version.c.version))
    if version is None:
        raise _refusal(connection, "the table schema_version is empty: it has been changed by hand")
    if version > NEWEST:
        raise _refusal(
            connection,
            f"they were written by a newer moot (schema {version}, while this one knows {NEWEST}); "
            "upgrade moot, or use another database",
        )
    return int(version)


def _refusal(connection: Connection, problem: str) -> StoreFailed:
    return StoreFailed(connection.engine.url.render_as_string(hide_password=True), problem)


def _create_missing(connection: Connection, tables: MetaData) -> None:
    """One statement each that asks and acts at once, because a database that is up to date is not locked."""
    for table in tables.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.execute(CreateIndex(index, if_not_exists=True))
