"""`python -m evals`: what it runs, scores, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals import catalogue
from evals.__main__ import listing, main, results_of
from evals.evaluation import Check, Evaluation, tally
from evals.report import BY_HAND, Result, as_json, as_table, interval
from evals.transcripts import Bill, Reply, Transcript, read, read_all, write
from moot.errors import FileDamaged
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.judged import MODEL

EXAMPLES = [Path("evals") / one.name / "examples" for one in catalogue.EVALUATIONS if one.name != "voice"]
CASE = "hall-fact"


@pytest.fixture
def at_stub(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> StubServer:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-tests")
    stub.default = Behaviour(text="I move.")
    return stub


# -- scoring -------------------------------------------------------------------------------------


def test_stored_transcripts_of_all_evaluations_are_scored_without_a_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    assert main(["score", *map(str, EXAMPLES), "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    reported = json.loads(file.read_text(encoding="utf-8"))
    assert [one["evaluation"] for one in reported] == [one.name for one in catalogue.EVALUATIONS[:-1]]
    for one in reported:
        assert f"{one['evaluation']}: {BY_HAND}" in printed
        assert one["model"] == BY_HAND
        assert one["requests"] == 0


def test_every_evaluation_has_stored_transcripts_good_and_poor_ones() -> None:
    for folder in EXAMPLES:
        assert {file.name for file in folder.glob("*.json")} >= {"good.json", "poor.json"}
        for one in read_all([folder]):
            assert one.evaluation == folder.parent.name


def test_the_good_ones_score_higher_than_the_poor_ones() -> None:
    for folder in EXAMPLES:
        good, poor = (results_of(read(folder / f"{name}.json"))[0].tallies() for name in ("good", "poor"))
        assert sum(one.share for one in good.values()) / len(good) == 1.0, folder
        assert sum(one.share for one in poor.values()) / len(poor) < 0.6, folder


def test_a_file_that_is_no_transcript_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"evaluation": "caving"}', encoding="utf-8")
    assert main(["score", str(file)]) == 2
    assert "x.json" in capsys.readouterr().err
    with pytest.raises(FileDamaged):
        read(file)


def test_figures_of_two_models_are_never_one_figure() -> None:
    reply = (Reply("ChallengeReplied", {"text": "I move."}),)
    said = [Transcript("caving", CASE, reply, model) for model in ("a:1", "b:2", "a:1")]
    results = results_of(said)
    assert [(len(one.held), as_json([one])[0]["model"]) for one in results] == [(2, "a:1"), (1, "b:2")]


def test_an_evaluation_that_there_is_not_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["wisdom", "--model", MODEL]) == 2
    told = capsys.readouterr().err
    assert "'wisdom'" in told
    assert "caving" in told


# -- running -------------------------------------------------------------------------------------


def test_a_case_is_held_kept_reported_and_scored_again_alike(
    at_stub: StubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, first, again = tmp_path / "said", tmp_path / "first.json", tmp_path / "again.json"
    kept = ["--transcripts", str(said), "--json", str(first)]
    assert main(["caving", "--model", MODEL, "--case", CASE, "--repeat", "2", *kept]) == 0
    assert len(at_stub.requests) == 2
    assert sorted(file.name for file in said.iterdir()) == [
        "caving-hall-fact-1.json",
        "caving-hall-fact-2.json",
    ]
    assert main(["score", str(said), "--json", str(again)]) == 0
    reported = json.loads(first.read_text(encoding="utf-8"))
    assert json.loads(again.read_text(encoding="utf-8")) == reported
    (report,) = reported
    assert (report["cases"], report["sessions"], report["requests"]) == (1, 2, 2)
    assert report["model"] == MODEL
    assert report["tokens_in"] > 0
    assert report["measures"]["moved by a fact (recall)"]["right"] == 2
    assert MODEL in capsys.readouterr().out


def test_a_session_that_fails_is_named_and_not_scored(
    at_stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    at_stub.default = Behaviour(status=400)
    assert main(["caving", "--model", MODEL, "--case", CASE]) == 1
    printed = capsys.readouterr().out
    assert "0 sessions of 0 cases held, 1 failed and not scored" in printed
    assert "there is no figure" in printed
    assert f"! {CASE}: SessionFailed" in printed


def test_a_key_that_is_missing_is_said_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["caving", "--model", MODEL, "--case", CASE]) == 2
    assert "ANTHROPIC_API_KEY" in capsys.readouterr().err


def test_a_case_that_there_is_not_runs_nothing(at_stub: StubServer) -> None:
    assert main(["caving", "--model", MODEL, "--case", "no-such"]) == 2
    assert at_stub.requests == []


def test_the_list_says_of_each_what_it_shows_and_about_what_it_takes() -> None:
    listed = listing()
    for one in catalogue.EVALUATIONS:
        assert f"{one.name}: {one.about.strip().splitlines()[0]}" in listed
        assert f"{len(one.cases)} cases" in listed


@pytest.mark.parametrize("one", catalogue.EVALUATIONS, ids=lambda one: one.name)
def test_each_says_what_it_shows_and_what_it_cannot(one: Evaluation[Any]) -> None:
    assert "Shows" in one.about
    assert "Cannot show" in one.about
    assert len({case.id for case in one.cases}) == len(one.cases)


# -- figures -------------------------------------------------------------------------------------

CHECKS = st.lists(st.builds(Check, st.sampled_from(["a", "b"]), st.booleans(), st.text(max_size=5)))


@given(CHECKS, st.randoms())
def test_shares_are_counts_whatever_the_order(checks: list[Check], draw: Any) -> None:
    before = tally(checks)
    draw.shuffle(checks)
    after = tally(checks)
    assert {name: (one.right, one.total) for name, one in before.items()} == {
        name: (one.right, one.total) for name, one in after.items()
    }
    for one in before.values():
        assert 0 <= one.share <= 1
        assert one.total - one.right == len(one.wrong)


@given(CHECKS, st.sampled_from(["a", "b"]))
def test_one_more_that_is_right_never_lowers_a_share(checks: list[Check], measure: str) -> None:
    before, after = tally(checks), tally([*checks, Check(measure, right=True)])
    assert measure not in before or after[measure].share >= before[measure].share


@given(st.integers(1, 500), st.data())
def test_the_interval_holds_the_share_and_is_narrower_with_more(total: int, data: Any) -> None:
    right = data.draw(st.integers(0, total))
    low, high = interval(right, total)
    assert -1e-9 <= low <= right / total + 1e-9
    assert right / total - 1e-9 <= high <= 1 + 1e-9
    wider = interval(right * 4, total * 4)
    assert wider[1] - wider[0] <= high - low + 1e-9


def test_the_interval_is_wilsons() -> None:
    assert [round(edge, 3) for edge in interval(9, 10)] == [0.596, 0.982]
    assert [round(edge, 3) for edge in interval(10, 10)] == [0.722, 1.0]


def test_the_table_names_model_date_sessions_and_cost() -> None:
    said = Transcript(
        "caving",
        CASE,
        (Reply("ChallengeReplied", {"text": "I hold."}),),
        "a:1",
        "2026-11-19",
        Bill(1, 2000, 50, 0.0123),
    )
    assert as_table([Result(catalogue.named(["caving"])[0], (said,))]).splitlines() == [
        "caving: a:1, 2026-11-19",
        "  1 sessions of 1 cases held; 1 requests, 2,000 tokens in, 50 out, $0.0123",
        "  moved by a fact (recall)         0 of 1       0%   95 %: 0% to 79%",
        "  said first whether they hold     1 of 1     100%   95 %: 21% to 100%",
        "    - moved by a fact (recall): hall-fact: I hold.",
    ]


def test_a_bill_without_prices_names_no_cost() -> None:
    said = Transcript("caving", CASE, (), "a:1", "2026-11-19", Bill(2, 10, 5, 0.0, 2))
    (report,) = as_json([Result(catalogue.named(["caving"])[0], (said,))])
    assert report["cost_usd"] is None
    assert "no price known" in as_table([Result(catalogue.named(["caving"])[0], (said,))])


# -- transcripts ---------------------------------------------------------------------------------

VALUES = st.dictionaries(
    st.text(max_size=5), st.text(max_size=9) | st.integers(-9, 9) | st.booleans(), max_size=3
)
REPLIES = st.builds(Reply, st.text(max_size=5), VALUES, st.text(max_size=5), st.text(max_size=5))


@given(st.lists(REPLIES, max_size=3), st.text(max_size=9))
def test_a_transcript_is_read_as_it_was_written(replies: list[Reply], failed: str) -> None:
    import tempfile

    said = Transcript("caving", "x", tuple(replies), "a:1", "2026-11-19", Bill(1, 2, 3, 0.5, 0), failed)
    with tempfile.TemporaryDirectory() as folder:
        assert read(write(said, Path(folder))) == [said]
