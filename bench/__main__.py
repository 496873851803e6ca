"""`python -m bench [NAME …]`: all benchmarks, or the named ones."""

from __future__ import annotations

import importlib
import sys

ALL = ("start_up", "gateway_cost", "board", "embedded")


def main() -> None:
    for name in sys.argv[1:] or ALL:
        if name not in ALL:
            sys.exit(f"There is no benchmark '{name}'. There is: {', '.join(ALL)}.")
        importlib.import_module(f"bench.{name}").main()


main()
