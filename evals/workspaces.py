"""A small repository in which cases are held: files with facts that cannot be guessed."""

from __future__ import annotations

README = """# Vanload

Orders for the delivery vans of a dairy. Customers order by ten in the evening; at a quarter past,
`vanload/orders.py` closes the day and `vanload/routes.py` gives every order to a van. There are seven vans.

Run it with `python -m vanload`. It listens on port 8451. The tests need no network: `python -m pytest`.

Orders are kept in `orders.jsonl`, one line for each; a line is never changed, a correction is a new line.
"""

ORDERS = '''"""Orders of one day, and when the day is closed."""

import json
from pathlib import Path

from vanload.dates import parse_due

CUT_OFF = (22, 15)
MOST_CRATES = 38


def read_orders(file: Path) -> list[dict]:
    """Every order; of those with the same number, the last line counts."""
    orders = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        order = json.loads(line)
        orders[order["number"]] = order
    return list(orders.values())


def add_order(file: Path, order: dict) -> bool:
    """Whether it was taken. One that is too large is refused, and nothing is written."""
    if order["crates"] > MOST_CRATES:
        return False
    order["due"] = parse_due(order.get("due", ""))
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(order) + "\\n")
    return True


def is_closed(hour: int, minute: int) -> bool:
    return (hour, minute) >= CUT_OFF
'''

DATES = '''"""Dates as customers write them."""

import datetime

FALLBACK = "1999-09-09"


def parse_due(text: str) -> str:
    """A date as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return FALLBACK
'''

ROUTES = '''"""Which van takes which order."""

VANS = 7
TURNS = {"north": 3, "south": 2, "lake": 2}


def assign(orders: list[dict]) -> dict[int, list[dict]]:
    """Round robin, by number: a van that is full is passed over in silence, and its order is lost."""
    loads = {van: [] for van in range(1, VANS + 1)}
    for order in sorted(orders, key=lambda each: each["number"]):
        van = order["number"] % VANS + 1
        if len(loads[van]) < 40:
            loads[van].append(order)
    return loads
'''

COMMAND = '''"""`python -m vanload`: takes orders until the day is closed."""

import sys

from vanload.orders import is_closed

TOO_LATE = 75


def main(argv: list[str]) -> int:
    if is_closed(int(argv[1]), int(argv[2])):
        print("too late for the van", file=sys.stderr)
        return TOO_LATE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
'''

TESTS = """from vanload.dates import parse_due
from vanload.orders import is_closed


def test_a_date_is_read():
    assert parse_due(" 2026-03-01 ") == "2026-03-01"


def test_a_quarter_past_ten_is_too_late():
    assert is_closed(22, 15)
    assert not is_closed(22, 14)
"""

VANLOAD = {
    "README.md": README,
    "pyproject.toml": '[project]\nname = "vanload"\nversion = "0.4.0"\nrequires-python = ">=3.11"\n',
    "vanload/__init__.py": "",
    "vanload/__main__.py": COMMAND,
    "vanload/dates.py": DATES,
    "vanload/orders.py": ORDERS,
    "vanload/routes.py": ROUTES,
    "tests/test_orders.py": TESTS,
}
