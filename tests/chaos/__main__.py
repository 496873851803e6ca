"""`python -m tests.chaos`: the long forms. `--help` says what can be chosen."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

import tests.conftest  # noqa: F401  (away from the developer's settings and files)
from moot.store.database import sqlite_url
from tests.chaos.play import Cluster, check, play, speaking
from tests.stub.server import running_stub
from tests.support.cluster import Postgres


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("database", choices=["postgresql", "sqlite"])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=30)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--pace", type=float, default=10, help="words a second; a reply has 10 to 40")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    sys.stdout.write(f"seed {chosen.seed}\n")
    lots = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory(prefix="moot-chaos-") as folder, running_stub() as stub:
        place = Path(folder)
        speaking(stub, words=40, pace=chosen.pace)
        began = time.monotonic()
        if chosen.database == "sqlite":
            database = sqlite_url(place / "moot.sqlite3")
            cluster, halfway, after = Cluster(place, stub, 1, "--database", database), None, None
        else:
            postgres = Postgres()
            database = postgres.url
            cluster = Cluster(place, stub, 3, "--database", database)
            halfway, after = postgres.restart, postgres.close
        with cluster.running():
            clients = asyncio.run(
                play(
                    cluster,
                    chosen.sessions,
                    at_once=chosen.at_once,
                    kills=chosen.kills,
                    lots=lots,
                    pause=(0.2, 2.5),
                    halfway=halfway,
                )
            )
            told = asyncio.run(check(clients, database, stub))
        if after is not None:
            after()
    sys.stdout.write(f"{cluster.kills} kills, {time.monotonic() - began:.0f} s: {told}\n")


if __name__ == "__main__":
    main()
