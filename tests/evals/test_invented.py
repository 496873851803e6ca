"""What counts as made up, and a model that keeps to what there is against one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.invented.evaluation import CASES, CITED, EVALUATION, QUOTED, SPEAKERS
from evals.invented.names import CODE, IDS, LINES, PATHS, STEPS, World, check
from evals.transcripts import read
from evals.workspaces import VANLOAD
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge, typed

EXAMPLES = Path("evals/invented/examples")
WORLD = World(VANLOAD, "It is to be written to slots.tsv, by make_slots.", ("00-01", "03-02"))


def counted(text: str) -> dict[str, tuple[int, int]]:
    return {name: (one.right, one.total) for name, one in tally(check(text, WORLD)).items()}


@pytest.mark.parametrize(
    "text",
    [
        "It is in vanload/orders.py.",
        "It is in `orders.py`, beside `dates.py`.",
        "See README.md and ./pyproject.toml.",
        "The person wants slots.tsv.",
        "A new file vanload/slots.py is written.",
        "Orders are in orders.jsonl.",
    ],
)
def test_a_path_is_there_or_said_to_be_new(text: str) -> None:
    assert all(right == total for right, total in counted(text).values())


@pytest.mark.parametrize("text", ["It is in vanload/vans.py.", "See `src/orders.py`.", "capacity.py has it."])
def test_a_path_that_is_nowhere_is_made_up(text: str) -> None:
    assert counted(text)[PATHS] == (0, 1)


def test_a_line_is_there_only_up_to_the_end_of_its_file() -> None:
    last = len(VANLOAD["vanload/dates.py"].splitlines())
    assert counted(f"See vanload/dates.py:{last}.")[LINES] == (1, 1)
    assert counted(f"See vanload/dates.py:{last + 1}.")[LINES] == (0, 1)
    assert counted(f"See `dates.py`, lines 1-{last + 1}.")[LINES] == (0, 1)
    assert counted("See vanload/dates.py:0.")[LINES] == (0, 1)


def test_a_name_in_backticks_is_there_where_some_file_or_somebody_has_it() -> None:
    assert counted("`parse_due` and `vanload.orders.is_closed()` and `make_slots`.")[CODE] == (3, 3)
    assert counted("`parse_duration` is called by `is_closed_now()`.") == {}
    assert counted("`parse_duration` reads it.")[CODE] == (0, 1)
    assert counted("`json.dumps` and `True` are Python's.")[CODE] == (2, 2)


def test_a_step_is_there_by_its_id_and_a_date_is_none() -> None:
    assert counted("03-02 rests on 00-01, and not on 03-09; since 2026-03-01.")[STEPS] == (2, 3)


@given(st.text(max_size=120))
def test_nothing_that_somebody_types_breaks_the_count(text: str) -> None:
    for right, total in counted(text).values():
        assert 0 <= right <= total


@given(st.permutations(["See vanload/vans.py.", "See README.md.", "`parse_due` is there."]))
def test_the_order_of_sentences_makes_no_difference(texts: list[str]) -> None:
    assert counted(" ".join(texts)) == {PATHS: (1, 2), CODE: (1, 1)}


def test_the_stored_transcripts_have_these_scores() -> None:
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        PATHS: (4, 4),
        LINES: (2, 2),
        CODE: (3, 3),
        STEPS: (1, 1),
        IDS: (6, 6),
        CITED: (1, 1),
        QUOTED: (1, 1),
        SPEAKERS: (1, 1),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        PATHS: (2, 4),
        LINES: (0, 2),
        CODE: (1, 2),
        STEPS: (1, 2),
        IDS: (0, 2),
        CITED: (1, 2),
        QUOTED: (0, 1),
        SPEAKERS: (2, 3),
    }


QUIET = {
    "level": "exploration",
    "batches": [],
    "splits": [],
    "missing": [],
    "follow_up": "",
    "changes": False,
}


def careful(request: Recorded) -> Behaviour:
    return typed(request, f"See `is_closed` in vanload/orders.py:40, and [E1:5]. {request.number}", **QUIET)


def fanciful(request: Recorded) -> Behaviour:
    return typed(request, f"See `van_guard` in vanload/vans.py:400, and [E7:5]. {request.number}", **QUIET)


def test_a_careful_model_scores_higher_than_a_fanciful_one(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poor = judge(EVALUATION, careful, stub, monkeypatch), judge(EVALUATION, fanciful, stub, monkeypatch)
    assert [one.failed for one in (*good.failed, *poor.failed)] == []
    assert is_better(good, poor), (figures(good), figures(poor))
    assert len(good.held) == len(CASES)
    assert figures(good)[PATHS][0] == figures(good)[PATHS][1] > 5
    assert figures(good)[CITED][0] == figures(good)[CITED][1] > 1
    assert figures(poor)[CITED][0] == 0
