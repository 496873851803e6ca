"""A finding lies where its quote lies; several reviewers are one verdict by one rule."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.changes.review_block import Severity, Verdict
from moot.diffs.findings import Kind, Place, Review, Said, at_least, judge, locate
from moot.diffs.patch import parse

HIGH, MEDIUM, LOW = Severity
APPROVED, NEEDS_REVISION, REJECTED = Verdict

SHOP = """\
diff --git a/shop.py b/shop.py
index 1..2 100644
--- a/shop.py
+++ b/shop.py
@@ -10,6 +10,8 @@ def total(cart):
     summed = 0
-    for one in cart:
-        check(one)
+    for one in cart[1:]:
+
+        summed += one.price
+        log(one)
     return summed

 def empty(): return []
@@ -40,3 +42,2 @@ def last():
     begin()
-    close()
     return 1
@@ -60,2 +61,4 @@ def more():
+    return None
     x()
+    return None
     y()
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1,2 +0,0 @@
-KEPT = 1
-GONE = 2
diff --git a/was.py b/now.py
similarity index 90%
rename from was.py
rename to now.py
--- a/was.py
+++ b/now.py
@@ -5 +5 @@
-a = first()
+a = second()
diff --git a/end.py b/end.py
--- a/end.py
+++ b/end.py
@@ -3,2 +3 @@
 stays()
-goes()
@@ -9 +8,0 @@
-alone()
diff --git a/run b/run
old mode 100755
new mode 100644
"""
PATCH = parse(SHOP)


def said(quote: str, file: str = "shop.py", severity: Severity = HIGH, **more: object) -> Said:
    base = Said(severity, Kind.BUG, file, quote, "It is wrong.", "Money is lost.", "Put it right.")
    return replace(base, **more)  # type: ignore[arg-type]


def place(quote: str, file: str = "shop.py", line: int | None = None) -> str | None:
    found = locate(PATCH, said(quote, file, line=line))
    return None if found is None else str(found)


@pytest.mark.parametrize(
    ("quote", "where"),
    [
        ("    for one in cart[1:]:", "shop.py:11"),
        ("+    for one in cart[1:]:", "shop.py:11"),
        ("for  one in cart[1:]:\n        summed += one.price", "shop.py:11-13"),
        ("cart[1:]:\nsummed += one.price\nlog", "shop.py:11-14"),
        ("cart[1:]", "shop.py:11"),
        ("for one in cart:", "shop.py:11 (removed)"),
        ("-    for one in cart:\n-        check(one)", "shop.py:11-12 (removed)"),
        ("-        check(one)\n+    for one in cart[1:]:", "shop.py:11"),
        ("summed = 0\nfor one in cart[1:]:", "shop.py:11"),
        ("summed = 0\nfor one in cart:", "shop.py:11 (removed)"),
        ("def empty(): return []", "shop.py:17"),
        ("log(one)\n\nreturn summed", "shop.py:14"),
        ("not in the diff", None),
        ("one in cart", "shop.py:11"),
        ("log(one)\nreturn nothing", None),
        ("", None),
        (" \n[]", None),
        ("one", None),
    ],
)  # fmt: skip
def test_a_quote_is_found_on_its_lines(quote: str, where: str | None) -> None:
    assert place(quote) == where


def test_what_is_there_twice_is_found_by_the_line_that_the_reviewer_names() -> None:
    assert place("return None") == place("return None", line=55) == "shop.py:61"
    assert place("return None", line=64) == "shop.py:63"


@pytest.mark.parametrize(
    "name", ["now.py", "was.py", "a/was.py", "b/now.py", "@/now.py", "./now.py", "wrong"]
)
def test_a_renamed_file_goes_by_either_name(name: str) -> None:
    assert place("a = second()", name) == "now.py:5"
    assert place("a = first()", name) == "now.py:5 (removed)"


def test_a_quote_in_an_unknown_file_has_to_be_the_only_one() -> None:
    assert place("return None", "elsewhere.py") is None
    assert place("KEPT = 1", "elsewhere.py") == "old.py:1 (removed)"


@pytest.mark.parametrize(
    ("quote", "file", "expected"),
    [
        ("check(one)", "shop.py", Place("shop.py", "old", 12, 12, 11, "check(one)")),
        ("close()", "shop.py", Place("shop.py", "old", 41, 41, 43, "close()")),
        ("goes()", "end.py", Place("end.py", "old", 4, 4, 3, "goes()")),
        ("alone()", "end.py", Place("end.py", "old", 9, 9, 1, "alone()")),
        ("GONE = 2", "old.py", Place("old.py", "old", 2, 2, None, "GONE = 2")),
        ("new mode 100644", "run", Place("run", "new", 1, 1, 1, "new mode 100644")),
        ("+++ /dev/null", "old.py", Place("old.py", "old", 1, 1, None, "+++ /dev/null")),
        ("rename to now.py", "now.py", Place("now.py", "new", 1, 1, 1, "rename to now.py")),
    ],
)  # fmt: skip
def test_what_was_removed_is_shown_next_to_where_it_was(quote: str, file: str, expected: Place) -> None:
    assert locate(PATCH, said(quote, file)) == expected


@given(st.sampled_from([line for file in PATCH.files for line in file.lines if line.text.strip()]), st.data())
def test_every_line_that_is_quoted_whole_is_found(line: object, data: st.DataObject) -> None:
    file = next(one for one in PATCH.files if line in one.lines)
    text = next(one.text for one in file.lines if one is line)
    number = next(one.new or one.old for one in file.lines if one is line)
    blanks = data.draw(st.text(" \t", max_size=3))
    found = locate(PATCH, said(blanks + text, file.path, line=number))
    assert found is not None
    assert found.line == number


# -- several reviewers ---------------------------------------------------------------------------

ADDED, LOG, NOWHERE = "for one in cart[1:]:", "log(one)", "not in the diff"


def test_findings_of_several_in_one_place_are_one_with_all_their_words() -> None:
    first = Review("codex", "Bad.", (said(ADDED, severity=MEDIUM), said(LOG, severity=LOW)))
    again = said(f"{ADDED}\n\nsummed += one.price", kind=Kind.DATA)
    twice = said(ADDED, severity=LOW)
    second = Review("claude", "Worse.", (again, twice, said(NOWHERE)))
    judged = judge(PATCH, [first, second])
    assert [(f.id, f.severity, f.kind, str(f.place), [v.by for v in f.voices]) for f in judged.findings] == [
        ("F1", HIGH, Kind.DATA, "shop.py:11-13", ["codex", "claude"]),
        ("F2", LOW, Kind.BUG, "shop.py:11", ["claude"]),
        ("F3", LOW, Kind.BUG, "shop.py:14", ["codex"]),
        ("F4", HIGH, Kind.BUG, "None", ["claude"]),
    ]
    assert [v.said for v in judged.findings[0].voices] == [first.said[0], again]
    assert [f.blocks for f in judged.findings] == [True, False, False, False]
    assert judged.findings[3].file == "shop.py"
    assert [judged.count(HIGH), judged.count(HIGH, grounded=False), judged.count(LOW)] == [1, 1, 2]


def test_it_is_shown_where_the_worst_of_them_is() -> None:
    low = Review("codex", "", (said(ADDED, severity=LOW),))
    high = Review("claude", "", (said(f"{ADDED}\nsummed += one.price"),))
    for order in ([low, high], [high, low]):
        assert str(judge(PATCH, order).findings[0].place) == "shop.py:11-13"


def test_of_several_findings_in_one_place_those_of_one_kind_are_joined() -> None:
    first = Review("codex", "", (said(ADDED, kind=Kind.TESTS), said(ADDED, kind=Kind.SECURITY)))
    second = Review("claude", "", (said(ADDED, kind=Kind.SECURITY),))
    judged = judge(PATCH, [first, second])
    assert [(f.kind, len(f.voices)) for f in judged.findings] == [(Kind.TESTS, 1), (Kind.SECURITY, 2)]


@pytest.mark.parametrize(
    ("severities", "verdict"),
    [
        ([], APPROVED),
        ([(LOW, ADDED)] * 9, APPROVED),
        ([(MEDIUM, ADDED)], APPROVED),
        ([(MEDIUM, ADDED), (MEDIUM, LOG)], NEEDS_REVISION),
        ([(MEDIUM, ADDED), (MEDIUM, NOWHERE)], APPROVED),
        ([(HIGH, ADDED)], NEEDS_REVISION),
        ([(HIGH, NOWHERE)] * 9, APPROVED),
    ],
)
def test_a_high_or_two_mediums_block_if_their_quotes_are_there(
    severities: list[tuple[Severity, str]], verdict: Verdict
) -> None:
    review = Review("model", "", tuple(said(quote, severity=one) for one, quote in severities))
    judged = judge(PATCH, [review])
    assert judged.verdict is verdict
    assert any(f.blocks for f in judged.findings) is (verdict is not APPROVED)


CALM = Review("calm", "Fine.", (said(LOG, severity=LOW),))
STRICT = Review("strict", "No.", (said(ADDED),))
REJECTING = Review("rejecting", "Never.", (said(ADDED),), rejects=True)
BLUSTER = Review("bluster", "Never!", (said(NOWHERE), said(LOG, severity=LOW)), rejects=True)


@pytest.mark.parametrize(
    ("reviews", "verdict"),
    [
        ([CALM], APPROVED),
        ([CALM, CALM], APPROVED),
        ([CALM, STRICT], NEEDS_REVISION),
        ([REJECTING], REJECTED),
        ([REJECTING, CALM], NEEDS_REVISION),
        ([REJECTING, STRICT], NEEDS_REVISION),
        ([REJECTING, REJECTING, CALM], REJECTED),
        ([BLUSTER], APPROVED),
        ([BLUSTER, BLUSTER, CALM], APPROVED),
    ],
)
def test_what_blocks_for_one_blocks_and_more_than_half_reject(
    reviews: list[Review], verdict: Verdict
) -> None:
    named = [replace(review, by=f"{number}") for number, review in enumerate(reviews)]
    assert judge(PATCH, named).verdict is verdict


def test_reviewers_that_disagree_are_told_apart() -> None:
    judged = judge(PATCH, [CALM, STRICT])
    assert judged.votes == (("calm", APPROVED), ("strict", NEEDS_REVISION))
    assert judged.disagree
    assert not judge(PATCH, [CALM]).disagree


def test_two_mediums_of_different_reviewers_do_not_add_up() -> None:
    one = Review("one", "", (said(ADDED, severity=MEDIUM),))
    other = Review("other", "", (said(LOG, severity=MEDIUM),))
    assert judge(PATCH, [one, other]).verdict is APPROVED


def test_nobody_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="nobody"):
        judge(PATCH, [])


def test_how_severe_it_is_counts_only_what_is_there() -> None:
    judged = judge(PATCH, [Review("one", "", (said(NOWHERE), said(LOG, severity=MEDIUM)))])
    assert [at_least(judged, severity) for severity in (HIGH, MEDIUM, LOW)] == [False, True, True]


def test_fingerprints_stay_where_lines_shift_and_tell_places_apart() -> None:
    review = Review("one", "", (said(ADDED), said(ADDED), said(LOG), said(NOWHERE)))
    before = judge(PATCH, [review]).findings
    shifted = parse(SHOP.replace("@@ -10,6 +10,8 @@", "@@ -110,6 +120,8 @@"))
    after = judge(shifted, [review]).findings
    assert [f.place and f.place.line for f in after] == [121, 121, 124, None]
    assert [f.fingerprint for f in before] == [f.fingerprint for f in after]
    assert len({f.fingerprint for f in before}) == 4


SAID = st.builds(
    said,
    st.sampled_from([ADDED, LOG, NOWHERE, "close()", "KEPT = 1"]),
    severity=st.sampled_from(Severity),
)
REVIEWS = st.lists(
    st.builds(Review, st.just(""), st.just(""), st.lists(SAID, max_size=4).map(tuple), st.booleans()),
    min_size=1, max_size=4,
).map(lambda all_of: [replace(one, by=str(number)) for number, one in enumerate(all_of)])  # fmt: skip


@given(REVIEWS)
def test_nothing_said_is_ever_lost_and_nothing_ungrounded_ever_blocks(reviews: list[Review]) -> None:
    judged = judge(PATCH, reviews)
    heard = sorted((v.by, repr(v.said)) for f in judged.findings for v in f.voices)
    assert heard == sorted((review.by, repr(one)) for review in reviews for one in review.said)
    assert not any(f.blocks for f in judged.findings if not f.grounded)
    assert (judged.verdict is APPROVED) is not any(f.blocks for f in judged.findings)


@given(REVIEWS, REVIEWS)
def test_another_reviewer_never_makes_a_verdict_an_approval(one: list[Review], more: list[Review]) -> None:
    renamed = [replace(review, by=f"more {review.by}") for review in more]
    if judge(PATCH, one).verdict is not APPROVED:
        assert judge(PATCH, [*one, *renamed]).verdict is not APPROVED


def test_the_verdict_does_not_depend_on_the_order_of_reviewers() -> None:
    named = [replace(r, by=r.by) for r in (CALM, STRICT, REJECTING)]
    for order in product(named, repeat=3):
        if len({r.by for r in order}) == 3:
            assert judge(PATCH, order).verdict is NEEDS_REVISION
