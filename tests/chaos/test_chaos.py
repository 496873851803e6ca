"""The short forms of `python -m tests.chaos`: processes are killed, and nothing is lost, told twice or paid
for twice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from moot.store.database import sqlite_url
from tests.chaos.play import Cluster, check, play, speaking
from tests.stub.server import StubServer
from tests.support.cluster import Postgres

SEED = 20_261
"""Who is killed, and when: always the same. The long forms take another each time."""


def test_three_servers_on_one_postgresql(tmp_path: Path, stub: StubServer) -> None:
    """The database is restarted, too."""
    speaking(stub, words=40, pace=8)
    postgres = Postgres()
    try:
        cluster = Cluster(tmp_path, stub, 3, "--database", postgres.url)
        with cluster.running():
            clients = asyncio.run(
                play(
                    cluster,
                    20,
                    at_once=20,
                    kills=5,
                    lots=random.Random(SEED),
                    pause=(0.2, 1.5),
                    halfway=postgres.restart,
                )
            )
            asyncio.run(check(clients, postgres.url, stub))
    finally:
        postgres.close()


def test_one_server_on_sqlite(tmp_path: Path, stub: StubServer) -> None:
    speaking(stub, words=40, pace=20)
    database = sqlite_url(tmp_path / "moot.sqlite3")
    cluster = Cluster(tmp_path, stub, 1, "--database", database)
    with cluster.running():
        clients = asyncio.run(
            play(cluster, 10, at_once=10, kills=8, lots=random.Random(SEED), pause=(0.2, 0.8))
        )
        asyncio.run(check(clients, database, stub))
