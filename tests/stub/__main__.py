"""`python -m tests.stub` runs the stub alone and prints its address on the first line."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from typing import Any

from tests.stub.script import Behaviour
from tests.stub.server import StubServer


async def _serve(port: int, default: Behaviour) -> None:
    async with StubServer(port, default) as stub:
        sys.stdout.write(f"{stub.url}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stub", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--default",
        type=json.loads,
        default={},
        metavar="JSON",
        help='fields of the default behaviour, such as {"text": "Yes.", "pace": 50}',
    )
    given = parser.parse_args()
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.default.items()
    }
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(given.port, Behaviour(**fields)))


if __name__ == "__main__":
    main()
