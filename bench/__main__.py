"""`python -m bench [NAME …]`: all benchmarks, or the named ones.

`report` writes the tables of the last run again; `soak` takes as long as it is told to. Both only by name.
"""

from __future__ import annotations

import argparse
import importlib
import resource
from typing import Any

from bench.compare import PARTS
from bench.contenders import BY_LETTERS

ALL = ("start_up", "gateway_cost", "compare", "loops", "embedded")
BY_NAME = ("report", "soak")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join((*ALL, *BY_NAME)))
    parser.add_argument("--quick", action="store_true", help="compare: see that it runs; keep nothing")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=(), help="compare: only these parts")
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=BY_LETTERS,
        default=(),
        metavar="NAME",
        help=f"compare: only these beside the pass-through; keeps nothing ({', '.join(BY_LETTERS)})",
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="soak: how long")
    parser.add_argument("--boards", type=int, help="soak: how many at once (default: half of capacity)")
    said = parser.parse_args()
    unknown = [name for name in said.name if name not in (*ALL, *BY_NAME)]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there is {', '.join((*ALL, *BY_NAME))}")
    # A thousand boards are eight thousand connections.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    more: dict[str, dict[str, Any]] = {
        "compare": {
            "quick": said.quick,
            "only": said.only,
            "some": [BY_LETTERS[name] for name in said.contenders],
        },
        "soak": {"minutes": said.minutes, "boards": said.boards},
    }
    for name in said.name or ALL:
        importlib.import_module(f"bench.{name}").main(**more.get(name, {}))


main()
