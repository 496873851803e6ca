"""What a diff shows by itself: tests that are gone or skipped, and files that the task does not concern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.diffs.patch import Patch, parse
from moot.diffs.signs import find_weakened_tests, in_words, is_test_file, named_files, outside, size_of

weakened = find_weakened_tests


def diff(name: str, *rows: str, new: str | None = None) -> str:
    """Of one file, in one hunk; `new` is "" where it is deleted."""
    old = sum(row[:1] != "+" for row in rows)
    added = sum(row[:1] != "-" for row in rows)
    mode = "deleted file mode 100644\n" if new == "" else ""
    side = "/dev/null" if new == "" else f"b/{name}"
    text = "".join(f"{row}\n" for row in rows)
    head = f"diff --git a/{name} b/{name}\n{mode}--- a/{name}\n+++ {side}\n"
    return f"{head}@@ -1,{old} +{1 if added else 0},{added} @@\n{text}"


def patch(*parts: str) -> Patch:
    return parse("".join(parts))


def said(*parts: str) -> list[str]:
    return [str(sign) for sign in weakened(patch(*parts))]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tests/test_a.py", "def test_one():"),
        ("a_test.py", "    async def test_one(self):"),
        ("a.test.ts", "  it('adds', () => {"),
        ("a.spec.js", 'test("adds", async () => {'),
        ("web/__tests__/a.tsx", "test.each([1])(`adds`, () => {"),
        ("a_test.go", "func TestOne(t *testing.T) {"),
        ("src/lib.rs", "    #[test]"),
        ("tests/a.rs", "#[tokio::test]"),
        ("src/test/java/ATest.java", "    @Test"),
        ("ATests.cs", "    [Fact]"),
        ("spec/a_spec.rb", "  it 'adds' do"),
        ("tests/ATest.php", "    public function testAdds(): void"),
        ("Tests/ATests.swift", "    func testAdds() {"),
    ],
)
def test_a_deleted_test_is_seen(name: str, line: str) -> None:
    if "each" in line:
        line = "test(`adds`, () => {"
    assert said(diff(name, " x", f"-{line}", "-    body", " y")) == [
        f"deletes the test in {name}:2: {line.strip()}"
    ]
    assert said(diff(name, " x", f"+{line}", " y")) == []


def test_a_test_that_was_moved_is_still_there() -> None:
    body = ("def test_one():", "    assert 1")
    gone = diff("tests/test_a.py", " x", *(f"-{row}" for row in body))
    there = diff("tests/test_b.py", " x", *(f"+{row}" for row in body))
    assert said(gone, there) == said(there, gone) == []
    assert len(said(gone)) == 1


def test_a_test_that_was_renamed_is_still_there_and_one_that_was_replaced_is_not() -> None:
    renamed = diff("tests/test_a.py", "-def test_one():", "+def test_first():", "     assert 1")
    replaced = diff("tests/test_a.py", "-def test_one():", "-    assert 1", "+def test_two():", "+    pass")
    assert said(renamed) == []
    assert said(replaced) == ["deletes the test in tests/test_a.py:1: def test_one():"]


def test_a_whole_file_of_tests() -> None:
    assert said(diff("tests/test_a.py", "-def test_one():", "-    pass", new="")) == [
        "deletes the test in tests/test_a.py:1: def test_one():"
    ]
    assert said(diff("tests/helpers.py", "-x = 1", new="")) == ["deletes the file of tests tests/helpers.py"]
    assert said(diff("tests/data.json", "-{}", new="")) == [], "data is no test"


def test_what_only_is_called_like_a_test_is_none() -> None:
    assert said(diff("app/connection.py", "-def test_connection():", "-    pass")) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tests/test_a.py", "@pytest.mark.skip(reason='later')"),
        ("tests/test_a.py", "@pytest.mark.xfail"),
        ("tests/test_a.py", "    pytest.skip('later')"),
        ("tests/test_a.py", "@unittest.skipIf(True, '')"),
        ("tests/test_a.py", "        self.skipTest('later')"),
        ("a.test.ts", "  it.skip('adds', () => {"),
        ("a.test.ts", "describe.todo('adds')"),
        ("a.test.ts", "xit('adds', () => {"),
        ("a_test.go", '\tt.Skip("later")'),
        ("src/lib.rs", "    #[ignore]"),
        ("ATest.java", "    @Disabled"),
        ("ATests.cs", '    [Fact(Skip = "later")]'),
        ("spec/a_spec.rb", "  xit 'adds' do"),
        ("tests/ATest.php", "        $this->markTestSkipped();"),
    ],
)
def test_a_skipped_test_is_seen(name: str, line: str) -> None:
    assert said(diff(name, " x", f"+{line}", " y")) == [f"skips a test in {name}:2: {line.strip()}"]
    assert said(diff(name, " x", f"-{line}", " y")) in ([], [f"deletes the test in {name}:2: {line.strip()}"])
    moved = diff(name, f"-{line}", " x", f"+{line}", " y")
    assert said(moved) == [], "it was skipped before"


def test_tests_that_others_keep_from_running() -> None:
    assert said(diff("a.test.ts", "+it.only('adds', () => {")) == [
        "has only one test run in a.test.ts:1: it.only('adds', () => {"
    ]
    assert said(diff("pyproject.toml", '+addopts = "--ignore=tests/test_a.py"'))[0].startswith(
        "has tests left out in pyproject.toml:1"
    )
    assert said(diff("docs/a.md", "+Use `--ignore` for that.")) == []
    assert said(diff("app/skip.py", "+skip_test = True")) == []


ROWS = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), min_size=1, max_size=8)


@given(ROWS)
def test_what_only_adds_deletes_no_test(rows: list[str]) -> None:
    found = weakened(patch(diff("tests/test_a.py", *(f"+{row}" for row in rows))))
    assert not [sign for sign in found if sign.what.startswith("deletes")]


@given(ROWS)
def test_what_stays_as_it_was_is_no_sign(rows: list[str]) -> None:
    """Removed here, added there: the same lines."""
    moved = (
        diff("tests/test_a.py", *(f"-{r}" for r in rows)),
        diff("tests/test_b.py", *(f"+{r}" for r in rows)),
    )
    assert weakened(patch(*moved)) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/conftest.py", True),
        ("a/test_b.py", True),
        ("b_test.go", True),
        ("UserTest.java", True),
        ("src/contest.py", False),
        ("latest.js", False),
        ("attest/a.py", False),
    ],
)
def test_which_files_are_tests(name: str, *, expected: bool) -> None:
    assert is_test_file(name) == expected


# -- what the task does not concern --------------------------------------------------------------

THERE = ("app.py", "lib/sums.py", "lib/words.py", "web/page.ts", "docs/app.md")


def beyond(task: str, *names: str, plan: str = "") -> list[str]:
    every = patch(*(diff(name, "+x") for name in names))
    return [sign.file for sign in outside(every, task, plan, THERE)]


def test_a_task_that_names_files_concerns_these_and_their_neighbours() -> None:
    task = "Round the sums in `lib/sums.py`"
    assert beyond(task, "lib/sums.py", "lib/new.py", "tests/test_sums.py", "README.md", "uv.lock") == []
    assert beyond(task, "lib/sums.py", "web/page.ts", "app.py") == ["web/page.ts", "app.py"]
    assert beyond(task, "web/page.ts", plan="The page, web/page.ts, shows them.") == []
    assert beyond("Round the sums in sums.py", "web/page.ts") == ["web/page.ts"], "also without its folder"
    assert beyond("Round what is in lib/", "lib/sums.py", "app.py") == ["app.py"]


def test_a_task_that_names_none_concerns_any_but_settings() -> None:
    assert beyond("Round the sums, e.g. 0.1 + 0.2", "app.py", "web/page.ts") == []
    settings = (".github/workflows/ci.yml", "moot.toml", "AGENTS.md", ".gitignore", "a/CLAUDE.md")
    assert beyond("Round the sums", *settings) == list(settings)
    assert beyond("Let .gitignore have build/", ".gitignore") == []


def test_what_a_text_names() -> None:
    assert named_files("See `./app.py`, and app.md.", THERE) == ("app.py", "docs/app.md")
    assert named_files("Node.js, e.g. at 10.5", THERE) == ()
    assert named_files("web/*", THERE) == ("web/page.ts",)


def test_in_words() -> None:
    many = patch(diff("tests/test_a.py", *(f"-def test_{number}():" for number in range(12))))
    assert in_words(weakened(many)).splitlines()[-1] == "- and 2 more"
    assert size_of(many) == "1 file, +0 -12"
