"""Plans, their designs, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from evals.prose import Groups
from evals.workspaces import VANLOAD
from moot.changes.points import Point, points


@dataclass(frozen=True)
class Defect:
    """`words` are those that an issue about it cannot do without."""

    what: str
    words: Groups


@dataclass(frozen=True)
class Plan:
    """As a change has them; `asked` are the person's own words, where there is no design. `broken` are words of the design's points which the plan misses or contradicts, and
    `doubtful` of those that can be read either way."""

    id: str
    design: str
    why: str
    changes: Sequence[str]
    requirements: Sequence[str]
    scenarios: Sequence[tuple[str, str, str]]
    tasks: Sequence[str]
    defects: Sequence[Defect] = ()
    broken: Sequence[str] = ()
    doubtful: Sequence[str] = ()
    asked: str = ""

    @property
    def points(self) -> tuple[Point, ...]:
        """As the program lists them for a reviewer."""
        return points(self._design)

    @property
    def _design(self) -> str:
        return f"# {self.id.replace('-', ' ').capitalize()}\n\n{self.design}\n" if self.design else ""

    @property
    def files(self) -> dict[str, str]:
        folder = f"moot/changes/{self.id}"
        title = self.id.replace("-", " ").capitalize()
        return {
            **VANLOAD,
            **({f"{folder}/design.md": self._design} if self.design else {}),
            **({f"{folder}/STATE.yaml": self._state} if self.asked else {}),
            f"{folder}/proposal.md": f"# {title}\n\n## Summary\n\n{self.changes[0]}\n\n## Why\n\n{self.why}\n\n"
            f"## What Changes\n\n{_list(self.changes)}\n\n## Impact\n\nNobody has to migrate anything.\n",
            f"{folder}/specs/behaviour.md": f"# Behaviour\n\n## Overview\n\nWhat a user sees.\n\n## Requirements\n\n"
            f"{_list(self.requirements)}\n\n## Acceptance Criteria\n\n{self._scenarios()}",
            f"{folder}/tasks.md": "# Tasks\n\n" + "".join(f"- [ ] {task}\n" for task in self.tasks),
        }

    @property
    def _state(self) -> str:
        said = f"  text: {json.dumps(self.asked)}\n"
        return f"change_id: {self.id}\nphase: proposed\nreviews: []\nsaid:\n- step: proposal\n{said}"

    def _scenarios(self) -> str:
        return "\n".join(
            f"### Scenario: {n}\n\n- **WHEN** {w}\n- **THEN** {t}\n" for n, w, t in self.scenarios
        )


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


_LATE_DESIGN = """## What is built

`python -m vanload late` lists the late orders of a day from `orders.jsonl`. It takes a date, `YYYY-MM-DD`.

- A date that does not exist ends with exit code 2 and the message "no such date".
- A day without late orders prints nothing and ends with 0.
- The list is sorted by number.

Not done: no mail, no web page."""

CASES = (
    Plan(
        "late-list",
        _LATE_DESIGN,
        "The desk keeps late orders in a green book.",
        ("`python -m vanload late DATE` lists the late orders of a day, in `vanload/__main__.py`.",),
        (
            "R1: The command MUST print one line for each late order, sorted by number.",
            "R2: A day without late orders MUST print nothing and end with exit code 0.",
        ),
        (
            (
                "Two late orders",
                "two orders of 2026-03-01 are late",
                "their two numbers are printed, the smaller first",
            ),
            ("None", "no order of the day is late", "nothing is printed and the exit code is 0"),
        ),
        (
            "Add the subcommand and its sorting, with a test of two late orders (R1)",
            "Print nothing on a day without late orders, with a test (R2)",
            "Send the list to the depot by mail, with a test",
        ),
        (
            Defect(
                "the design's exit code for a bad date is missing",
                (("exit code 2", "no such date", "does not exist", "invalid date", "bad date"),),
            ),
            Defect("a task sends mail, which the design rules out", (("mail", "e-mail", "email"),)),
        ),
        broken=("no such date", "no mail"),
    ),
    Plan(
        "cancel-order",
        "",
        "Orders are cancelled by phone and struck out in the book.",
        ("`python -m vanload cancel NUMBER` removes the order's line from `orders.jsonl`.",),
        (
            "R1: The command MUST take the order's line out of orders.jsonl.",
            "R2: A number that no order has MUST be named in a message on standard error.",
        ),
        (
            ("Cancelled", "`python -m vanload cancel 7` is called", "orders.jsonl has no line of order 7"),
            ("Unknown", "no order has the number", "standard error names the number"),
        ),
        (
            "Add the subcommand, with a test that the line is gone (R1)",
            "Name a number that is not there, with a test (R2)",
        ),
        (
            Defect(
                "an order that is loaded already cannot be cancelled and ends with exit code 3, which nothing says",
                (("exit code 3", "already loaded", "loaded already", "loaded order", "is loaded"),),
            ),
            Defect(
                "a line is taken out, though the person wants a new line and lines are never changed",
                (
                    ("remove", "removes", "removed", "takes out", "taken out", "deletes", "deleted", "R1"),
                    ("new line", "never changed", "marked", "append", "appended", "correction"),
                ),
            ),
        ),
        asked="Let the desk cancel an order by its number. A cancelled order stays in orders.jsonl: its "
        "cancellation is a new line. An order that is loaded already cannot be cancelled: exit code 3.",
    ),
    Plan(
        "slot-times",
        "## Slots\n\nA slot is 30 minutes. Times are written to `nightly-slots.tsv` when the day is closed: number, van, from, to, separated by tabs.\n\nA van with no orders has no line. If the file cannot be written, the command says so and ends with exit code 74.",
        "Customers ask on the phone when their van comes.",
        (
            "When the day is closed, `vanload/slots.py` writes `nightly-slots.tsv`.",
            "Each line has number, van, from and to, separated by tabs.",
        ),
        (
            "R1: A slot MUST be 60 minutes long.",
            "R2: Each line MUST have number, van, from and to, separated by tabs.",
            "R3: If the file cannot be written, the command MUST say so and end with exit code 74.",
        ),
        (
            ("Closing", "the day is closed with three orders", "nightly-slots.tsv has three lines"),
            ("Disk full", "the file cannot be written", "the exit code is 74"),
        ),
        (
            "Write slots.py with slots of 60 minutes, and its test (R1)",
            "Write the lines, with a test of the tabs (R2)",
        ),
        (
            Defect("slots are 60 minutes, the design says 30", (("30", "thirty"), ("60", "sixty"))),
            Defect(
                "a van with no orders has no line, which the plan leaves out",
                (
                    (
                        "no orders",
                        "without orders",
                        "without any orders",
                        "no line",
                        "empty van",
                        "empty vans",
                    ),
                ),
            ),
            Defect(
                "R3 has no task", (("R3", "exit code 74", "cannot be written"), ("task", "tasks", "tasks.md"))
            ),
        ),
        broken=("30 minutes", "no orders has no line"),
        doubtful=("exit code 74",),
    ),
    Plan(
        "full-vans",
        "## Full vans\n\n`assign` in `vanload/routes.py` must not lose an order. An order whose van is full goes to the next van that has room; when all seven are full, `assign` raises `VansFull` with the numbers that were not placed.",
        "Orders beyond the fortieth of a van are lost in silence.",
        ("`assign` in `vanload/routes.py` gives an order whose van is full to the next van with room.",),
        (
            "R1: An order whose van is full MUST go to the next van with room.",
            "R2: With all vans full, the order MUST be left out of the result.",
            "R3: It MUST be quick.",
        ),
        (
            ("One full van", "van 3 has 40 orders and one more is for it", "the order is in van 4"),
            ("Quick", "a day has many orders", "it feels quick"),
        ),
        (
            "Look for the next van with room, with a test of one full van (R1)",
            "Leave out what cannot be placed, with a test of seven full vans (R2)",
            "Measure how quick it is (R3)",
        ),
        (
            Defect(
                "with all vans full the design raises VansFull",
                (("VansFull", "all vans full", "all seven", "R2"),),
            ),
            Defect("'quick' cannot be tested", (("quick",),)),
        ),
        broken=("VansFull",),
        doubtful=("must not lose",),
    ),
    Plan(
        "crate-limit",
        "## Limit\n\nThe limit of 38 crates in `vanload/orders.py` becomes a setting in `vanload.toml`, `most_crates`, from 1 to 60. Without the file it is 38. A value outside ends the start with exit code 78 and names the setting.",
        "The co-op has bought larger vans.",
        (
            "`most_crates` in `vanload.toml` replaces `MOST_CRATES` in `vanload/orders.py`.",
            "The order of the routes is configurable, too.",
        ),
        (
            "R1: Without `vanload.toml` the limit MUST be 38.",
            "R2: A value outside of 1 to 60 MUST end the start with exit code 78 and name `most_crates`.",
        ),
        (
            ("No file", "vanload.toml is not there", "an order of 39 crates is refused"),
            ("Too large", "most_crates is 61", "the exit code is 1 and the message names most_crates"),
        ),
        (
            "Read most_crates, with a test without the file (R1)",
            "Refuse values outside, with a test of 0 and 61 (R2)",
        ),
        (
            Defect("routes are configurable, which the design does not have", (("route", "routes"),)),
            Defect("the scenario says exit code 1, R2 says 78", (("78",), ("1", "scenario"))),
        ),
        doubtful=("exit code 78",),
    ),
    Plan(
        "bad-dates",
        "## Dates\n\n`parse_due` raises `BadDate` instead of falling back to 1999-09-09. `add_order` returns False for such an order and writes nothing. Orders that are in `orders.jsonl` with 1999-09-09 stay as they are.",
        "Orders with a mistyped date are delivered never.",
        ("`parse_due` in `vanload/dates.py` raises `BadDate`.", "`add_order` refuses such an order."),
        (
            "R1: A date that does not exist MUST raise BadDate.",
            "R2: `add_order` MUST return False for it and write nothing.",
            "R3: Orders that have 1999-09-09 MUST be deleted from orders.jsonl.",
        ),
        (
            (
                "31 February",
                "an order is due on 2026-02-31",
                "add_order returns False and orders.jsonl is unchanged",
            ),
        ),
        (
            "Raise BadDate, with a test of 2026-02-31 (R1)",
            "Refuse the order, with a test that nothing is written (R2)",
            "Delete the orders with 1999-09-09 (R3)",
        ),
        (
            Defect(
                "old orders are deleted, the design keeps them",
                (("1999-09-09", "R3", "delete", "deleted", "deletes"),),
            ),
            Defect(
                "R3 and its task have no scenario",
                (("R3", "delete", "deleted", "deletion"), ("scenario", "scenarios", "acceptance")),
            ),
        ),
        broken=("stay as they are",),
    ),
    Plan(
        "close-earlier",
        "## Closing\n\nOn Saturdays the day closes at 20:00; `is_closed` takes the weekday as its third argument, 0 for Monday. All other days stay at 22:15. `python -m vanload` passes the weekday.",
        "The night shift on Saturdays was given up.",
        (
            "`is_closed` in `vanload/orders.py` closes at 20:00 on Saturdays.",
            "`vanload/__main__.py` passes the weekday.",
        ),
        (
            "R1: On Saturdays `is_closed` MUST be true from 20:00.",
            "R2: On other days `is_closed` MUST be true from 22:15.",
            "R3: The weekday MUST be 1 for Monday.",
        ),
        (
            ("Saturday", "it is Saturday, 20:00", "is_closed is true"),
            ("Sunday", "it is Sunday, 20:00", "is_closed is true"),
        ),
        ("Take the weekday, 1 for Monday, with tests (R1, R2, R3)",),
        (
            Defect("Monday is 1, the design says 0", (("Monday",), ("0", "1"))),
            Defect("the Sunday scenario contradicts R2", (("Sunday",),)),
            Defect(
                "nobody passes the weekday: no task",
                (
                    ("__main__", "passes the weekday", "pass the weekday", "caller"),
                    ("task", "tasks", "tasks.md"),
                ),
            ),
            Defect("R2 has no scenario of 22:15", (("22:15",), ("scenario", "scenarios"))),
        ),
        broken=("0 for Monday",),
        doubtful=("22:15", "passes the weekday"),
    ),
    Plan(
        "sound-count",
        "## Count\n\n`python -m vanload count` prints how many orders a day has, as a number. No orders: 0. It ends with exit code 0.",
        "The desk counts lines by hand.",
        (
            "`python -m vanload count` in `vanload/__main__.py` prints the number of orders in `orders.jsonl`.",
        ),
        (
            "R1: The command MUST print the number of orders, each number counted once, and end with exit code 0.",
            "R2: Without orders it MUST print 0 and end with exit code 0.",
        ),
        (
            (
                "Three",
                "orders.jsonl has three orders, one of them corrected",
                "3 is printed and the exit code is 0",
            ),
            ("None", "orders.jsonl is empty", "0 is printed and the exit code is 0"),
        ),
        (
            "Add the subcommand, with a test of three orders of which one was corrected (R1)",
            "Print 0 for an empty file, with a test (R2)",
        ),
    ),
    Plan(
        "sound-message",
        '## Message\n\nThe message "too late for the van" also names the closing time: "too late for the van: it left at 22:15". The exit code stays 75.',
        "People call to ask when the van left.",
        (
            "The message in `vanload/__main__.py` names the closing time, taken from `CUT_OFF` in `vanload/orders.py`.",
        ),
        (
            'R1: An order that is too late MUST lead to "too late for the van: it left at 22:15" on standard error.',
            "R2: The exit code MUST stay 75.",
        ),
        (
            (
                "Too late",
                "python -m vanload 22 20 is called",
                'standard error is "too late for the van: it left at 22:15" and the exit code is 75',
            ),
        ),
        ("Write the message from CUT_OFF, with a test of the text and the exit code (R1, R2)",),
    ),
)
