"""What the benchmarks make of their figures: tables, verdicts, plots, slopes."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from bench import report, results
from bench.contenders import POSTGRESQL, REFERENCE, SQLITE
from bench.mishaps import ACROSS
from bench.plots import chart
from bench.results import Grown, Results, ratio, spread
from bench.soak import slope


def a_run(**measures: results.Figures) -> Results:
    wall = {REFERENCE: [1.0, 1.0], SQLITE: [1.01, 1.03], POSTGRESQL: [1.05, 1.05], "litellm": [1.2, 1.4]}
    growth = {
        SQLITE: [Grown(1, 1.0, 3.0, 200.0), Grown(1000, 2.0, 3.5, 90.0)],
        "litellm": [Grown(1, 1.1, 30.0, 900.0), Grown(1000)],
    }
    return Results("2026-01-02", "2 cores", measures={"wall": wall, **measures}, growth=growth)


def test_a_ratio_is_the_median_of_those_within_each_round() -> None:
    figures = {"a": [1.0, 10.0, 2.0], "b": [2.0, 30.0, 8.0]}
    assert ratio(figures, "b", "a") == 3.0
    assert ratio(figures, "c", "a") is None
    assert ratio({"a": [1.0], "b": [1.0, 2.0]}, "b", "a") is None
    assert (spread([3.0, 1.0, 2.0], 0), spread([1.5]), spread([])) == ("2 (1 … 3)", "1.5", "–")


def test_the_table_has_every_contender_and_says_which_goals_are_met() -> None:
    run = a_run(
        cpu_streaming={REFERENCE: [50.0, 60.0], SQLITE: [65.0, 95.0], POSTGRESQL: [150.0, 180.0]},
        held={REFERENCE: [80.0], SQLITE: [40.0], POSTGRESQL: [72.0]},
        leaving={SQLITE: [10.0], ACROSS: [700.0]},
    )
    text = report.tables(run)
    assert "| | pass-through | moot, SQLite | moot, PostgreSQL | litellm | " + ACROSS in text
    assert re.search(r"wall time.*\| 1\.000 .*\| 1\.020 \(1\.010 … 1\.030\)", text)
    assert "80 (65 … 95), 1.44 ×" in text
    goals = [line for line in text.splitlines() if line.startswith("- ")]
    verdicts = {re.split(r": (?=[0-9]|not)", line[2:])[0]: line for line in goals}
    assert verdicts["wall time of a whole board, over its limit, moot, SQLite"].endswith("at most 1.02: met")
    missed = [name for name, line in verdicts.items() if "**missed**" in line]
    assert missed == [
        "wall time of a whole board, over its limit, moot, PostgreSQL",
        "CPU per token while streaming, µs, moot, PostgreSQL",
        "boards of 8 × 50 tokens/s held, 99 % within 100 ms, moot, SQLite",
        f"a client leaves: until all upstreams are closed, ms, {ACROSS}",
    ]
    assert "700, goal at most 500: **missed**" in text
    assert verdicts["killed: until it accepts again, s, moot, SQLite"].endswith("not measured")


def test_who_could_not_be_installed_is_named() -> None:
    run = a_run()
    run.absent = ["litellm", "pydantic-ai"]
    assert "could not be installed: litellm, pydantic-ai." in report.tables(run)


def test_the_front_page_shows_medians_and_who_never_goes_on() -> None:
    run = a_run(cpu_streaming={REFERENCE: [50.0, 60.0], SQLITE: [90.0, 130.0]}, going_on={SQLITE: [1.5]})
    text = report.summary(run)
    assert "| | pass-through | **moot, SQLite** | litellm |" in text
    assert "| CPU per token, µs | 55 | 110 | – |" in text
    assert "goes on, s | never | 1.5 | never |" in text


def test_only_what_is_between_the_markers_is_written() -> None:
    readme = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    assert report.filled(readme, "new") == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    with pytest.raises(ValueError, match="has no lines"):
        report.filled("nothing", "new")
    report.filled(report.README.read_text(encoding="utf-8"), "new")


def test_the_readme_says_what_the_kept_results_say() -> None:
    found = results.load()
    assert found is not None
    assert not found.quick
    for file, shown in ((report.README, report.tables(found)), (report.FRONT, report.summary(found))):
        text = file.read_text(encoding="utf-8")
        assert report.filled(text, shown) == text, "run `python -m bench report`"
    for name, svg in report.plots(found).items():
        assert (report.PLOTS / f"{name}.svg").read_text(encoding="utf-8") == svg


def test_plots_are_drawings_with_a_line_for_each_who_has_figures() -> None:
    drawn = report.plots(a_run())
    assert list(drawn) == ["wall", "cpu", "memory"]
    root = ET.fromstring(drawn["wall"])
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    (first, second) = (line.attrib["points"].split() for line in lines)
    assert (len(first), len(second)) == (2, 1), "what did not end in time is not drawn"
    places = [tuple(map(float, point.split(","))) for point in first]
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1], "more is higher up"


def test_names_in_a_plot_are_text() -> None:
    svg = chart("<a>", "x & y", "z", {"<script>": [(1, 1)]})
    assert "<script>" not in svg
    ET.fromstring(svg)
    with pytest.raises(ValueError, match="nothing to draw"):
        chart("t", "x", "y", {"none": []})


def test_a_slope_is_growth_in_ten_minutes_after_the_warm_up() -> None:
    minutes = [float(second) for second in range(0, 1800, 10)]
    flat = [(at, 100_000_000) for at in minutes]
    assert slope(flat) == pytest.approx(0)
    warm = [(at, 50_000_000 if at < 300 else 100_000_000) for at in minutes]
    assert slope(warm) == pytest.approx(0), "what is loaded at the beginning is no leak"
    leaking = [(at, 100_000_000 + int(at * 10_000)) for at in minutes]
    assert slope(leaking) == pytest.approx(0.06, rel=0.05)
