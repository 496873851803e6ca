"""Patches are read as `git apply` reads them, and whatever is none is refused by its line."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moot.diffs.patch import FileDiff, Status, parse, without
from moot.errors import PatchInvalid


def only(text: str) -> FileDiff:
    [file] = parse(text).files
    return file


def numbered(file: FileDiff) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.sign, line.old, line.new, line.text) for line in file.lines]


MODIFIED = """\
diff --git a/src/shop.py b/src/shop.py
index 3b18e51..f2e4113 100644
--- a/src/shop.py
+++ b/src/shop.py
@@ -3,4 +3,5 @@ def total(cart):
     summed = 0
-    for one in cart:
+    for one in cart[1:]:
+        # skip
         summed += one
     return summed
"""


def test_every_line_has_its_number_on_either_side() -> None:
    file = only(MODIFIED)
    assert (file.status, file.old, file.new, file.path) == (
        Status.MODIFIED, "src/shop.py", "src/shop.py", "src/shop.py",
    )  # fmt: skip
    assert (file.old_mode, file.new_mode) == ("100644", "100644")
    assert numbered(file) == [
        (" ", 3, 3, "    summed = 0"),
        ("-", 4, None, "    for one in cart:"),
        ("+", None, 4, "    for one in cart[1:]:"),
        ("+", None, 5, "        # skip"),
        (" ", 5, 6, "        summed += one"),
        (" ", 6, 7, "    return summed"),
    ]
    assert [line.at for line in file.lines] == [6, 7, 8, 9, 10, 11]
    assert file.hunks[0].heading == "def total(cart):"
    assert (file.count("+"), file.count("-")) == (2, 1)


def test_lines_that_look_like_headers_are_lines() -> None:
    rows = ["--- a comment", "-diff --git a/x b/x", "+++ another", "+@@ -1 +1 @@"]
    text = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n" + "\n".join(rows) + "\n"
    assert numbered(only(text)) == [
        ("-", 1, None, "-- a comment"),
        ("-", 2, None, "diff --git a/x b/x"),
        ("+", None, 1, "++ another"),
        ("+", None, 2, "@@ -1 +1 @@"),
    ]


@pytest.mark.parametrize(
    ("head", "status", "old", "new"),
    [
        ("new file mode 100644\nindex 0000000..e69de29", Status.ADDED, None, "x y.py"),
        ("deleted file mode 100644\nindex e69de29..0000000", Status.DELETED, "x y.py", None),
        ("old mode 100644\nnew mode 100755", Status.MODIFIED, "x y.py", "x y.py"),
        ("index 1..2 100644\nBinary files a/x y.py and b/x y.py differ", Status.MODIFIED, "x y.py", "x y.py"),
    ],
)
def test_files_without_hunks_are_named_by_their_headers(
    head: str, status: Status, old: str | None, new: str | None
) -> None:
    file = only(f"diff --git a/x y.py b/x y.py\n{head}\n")
    assert (file.status, file.old, file.new, file.hunks) == (status, old, new, ())
    assert file.path == "x y.py"


def test_modes_and_binaries_are_known() -> None:
    mode = only("diff --git a/run b/run\nold mode 100644\nnew mode 100755\n")
    assert (mode.old_mode, mode.new_mode, mode.binary) == ("100644", "100755", False)
    data = "GIT binary patch\nliteral 3\nKcmZ?wbhEHb\n\nliteral 0\nHcmV?d00001\n\n"
    added = only(f"diff --git a/i.png b/i.png\nnew file mode 100644\nindex 0..1\n{data}")
    assert (added.binary, added.old_mode, added.new_mode) == (True, "", "100644")


@pytest.mark.parametrize(("what", "status"), [("rename", Status.RENAMED), ("copy", Status.COPIED)])
def test_renames_and_copies_have_two_names(what: str, status: Status) -> None:
    text = (
        f"diff --git a/old name b/new name\nsimilarity index 90%\n{what} from old name\n{what} to new name\n"
    )
    file = only(text + "index 1..2 100644\n--- a/old name\t\n+++ b/new name\t\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.status, file.old, file.new) == (status, "old name", "new name")
    assert numbered(file) == [("-", 1, None, "a"), ("+", None, 1, "b")]
    assert only(text).hunks == ()


def test_quoted_names_are_bytes_of_a_text() -> None:
    name = r'"a/gr\303\274n \"\t\\.py" "b/gr\303\274n \"\t\\.py"'
    assert only(f"diff --git {name}\nnew file mode 100644\n").new == 'grün "\t\\.py'
    plain = only('--- "a/\\342\\202\\254"\n+++ "b/\\342\\202\\254"\n@@ -1 +1 @@\n-a\n+b\n')
    assert plain.path == "€"
    renamed = only('diff --git "a/\\303\\274" b/u\nrename from "\\303\\274"\nrename to u\n')
    assert (renamed.old, renamed.new) == ("ü", "u")
    assert only('diff --git a/u "b/\\303\\274"\ncopy from u\ncopy to "\\303\\274"\n').new == "ü"


def test_names_without_prefixes_keep_their_first_folder() -> None:
    assert only("diff --git a/x a/x\n--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n").path == "a/x"
    assert only("diff --git i/x w/x\n--- i/x\n+++ w/x\n@@ -1 +1 @@\n-a\n+b\n").path == "x"
    odd = "diff --git src/before/x after/x\n--- src/before/x\n+++ after/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert only(odd).path == "after/x"
    added = odd.replace("--- src/before/x", "--- /dev/null")
    assert (only(added).old, only(added).new) == (None, "after/x")
    assert only("diff --git before/a/x now/a/x\nold mode 100644\nnew mode 100755\n").path == "a/x"


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("a/x.py\t2026-01-01 10:00:00 +0100", "b/x.py\t2026-01-02", ("x.py", "x.py")),
        ("x.py.orig", "x.py", ("x.py", "x.py")),
        ("x.py", "x.py", ("x.py", "x.py")),
        ("shop-1/src/x.py", "shop-2/src/x.py", ("src/x.py", "src/x.py")),
    ],
)
def test_plain_patches_are_read(old: str, new: str, names: tuple[str, str]) -> None:
    file = only(f"Index: x.py\n=====\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.old, file.new, file.status) == (*names, Status.MODIFIED)


def test_plain_patches_say_by_name_or_date_what_was_not_there() -> None:
    added = "@@ -0,0 +1 @@\n+a\n"
    deleted = "@@ -1 +0,0 @@\n-a\n"
    assert only(f"--- /dev/null\n+++ b/x\n{added}").status is Status.ADDED
    assert only(f"--- a/x\n+++ /dev/null\n{deleted}").status is Status.DELETED
    assert only(f"--- one/x\t1970-01-01 00:00:00\n+++ two/x\t2026-01-01\n{added}").old is None
    assert only(f"--- one/x\t2026-01-01\n+++ two/x\t1970-01-01 00:00:00\n{deleted}").new is None
    assert only(f"--- one/x\t2026-01-01\n+++ two/x\t2026-01-01\n{added}").status is Status.MODIFIED


def test_a_mail_is_read_around_its_words() -> None:
    mail = (
        "From 1a2b Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] Sum all\n\nWhy.\n"
        "---\n src/shop.py | 3 ++-\n 1 file changed\n\n" + MODIFIED + "-- \n2.51.0\n\n"
    )
    [one, other] = parse(mail + mail).files
    assert one.lines[0].new == 3
    assert numbered(one) == numbered(other)
    assert parse(mail).text_of(one) == MODIFIED.rstrip("\n")


def test_line_ends_of_either_kind_are_no_part_of_a_line() -> None:
    rows = "-a\r\n-b\x0c\x85\r\n+c\n d\r\n\\ No newline at end of file\n"
    crlf = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n{rows}"
    expected = [("-", 1, None, "a"), ("-", 2, None, "b\x0c\x85"), ("+", None, 1, "c"), (" ", 3, 2, "d")]
    assert numbered(only(crlf)) == expected
    # A patch that was itself given other line ends, and one whose empty lines a mailer has emptied.
    assert numbered(only(crlf.replace("\r\n", "\n").replace("\n", "\r\n"))) == expected
    emptied = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+b\n\n\r\n"
    assert numbered(only(emptied))[2:] == [(" ", 2, 2, ""), (" ", 3, 3, "")]


def test_no_newline_at_the_end_is_no_line() -> None:
    text = (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
    )
    assert numbered(only(text)) == [("-", 1, None, "a"), ("+", None, 1, "b")]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("no diff", 1, "there is no diff"),
        ("diff --cc x\nindex 1,2..3\n", 1, "combined diff of a merge"),
        ("diff --combined x\n", 1, "combined diff of a merge"),
        ("@@@ -1,2 -1,2 +1,3 @@@\n", 1, "combined diff of a merge"),
        ("words\n@@ -1 +1 @@\n-a\n+b\n", 2, "without the name of its file"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n", 4, "cut off"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n", 5, "fewer lines than it says"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n a\n+b\n", 5, "other lines than it says"),
        ("--- a/x\n+++ b/x\n@@ -0,1 +1,1 @@\n-a\n+b\n", 3, "begins at line 0"),
        ("diff --git a/x b/y\nold mode 1\n", 1, "cannot be told apart"),
        ('diff --git "a/\\x" "b/\\x"\n', 1, "unknown escape"),
        ('diff --git "a/x"\nold mode 1\n', 1, "cannot be told apart"),
        (f"diff --git a/x {'b ' * 99}\n", 1, "cannot be told apart"),
        ('--- "a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n', 1, "does not end"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "a file without a name"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(PatchInvalid) as refused:
        parse(text)
    assert (refused.value.line, problem in refused.value.problem) == (line, True), refused.value


def test_nothing_is_a_patch_without_files() -> None:
    assert parse("").files == parse("\n \n").files == ()


def test_files_can_be_left_out() -> None:
    other = (
        "diff --git a/.env b/.env\nnew file mode 100644\n--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+KEY=1\n"
    )
    both = parse(MODIFIED + other)
    left = without(both, {".env"})
    assert [file.path for file in left.files] == ["src/shop.py"]
    assert left.text == MODIFIED
    assert without(both, {"elsewhere"}) is both
    assert without(both, {".env", "src/shop.py"}).files == ()


# -- never anything else -------------------------------------------------------------------------

ROWS = st.sampled_from(
    [
        "diff --git a/x b/x", 'diff --git "a/\\303" "b/x"', "diff --git x", "diff --cc x", "index 1..2",
        "rename from x", "rename to \"y", "new file mode 100644", "deleted file mode 1", "GIT binary patch",
        "--- a/x", "+++ b/x", "--- /dev/null", "+++ /dev/null", '--- "a/x"', "+++ \"b", "@@ -1 +1 @@",
        "@@ -1,2 +1,3 @@ f", "@@ -0,0 +1 @@", "@@ -999999999,999999999 +1 @@", "@@ -9999999999 +1 @@",
        "@@@ -1 -1 +1 @@@", "-a", "+a", " a", "", "\\ No newline", "-- ", "From x", "copy from x", "copy to",
    ]
)  # fmt: skip


@given(st.lists(ROWS | st.text(max_size=20), max_size=14), st.sampled_from(["\n", "\r\n"]))
def test_whatever_a_text_is_it_is_read_or_refused(rows: list[str], end: str) -> None:
    text = end.join(rows)
    refused: PatchInvalid | None = None
    patch = parse("")
    try:
        patch = parse(text)
    except PatchInvalid as problem:
        refused = problem
    assert refused is None or 1 <= refused.line <= text.count("\n") + 1
    last = 1
    for file in patch.files:
        assert file.path
        assert last <= file.at < file.end
        last = file.end
        for hunk in file.hunks:
            assert sum(line.sign != "+" for line in hunk.lines) == hunk.old_count
            assert sum(line.sign != "-" for line in hunk.lines) == hunk.new_count


@given(st.text(max_size=200))
def test_any_text_at_all_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(PatchInvalid):
        parse(text)


# -- as git has it -------------------------------------------------------------------------------

LINE = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\0", max_codepoint=0x2FF), max_size=8
) | st.sampled_from(["-- a", "++ b", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No newline", "same", "same\r"])
NAMES = st.sampled_from(["x", "a/x", "with space", "grün", 'q"uote', "tab\there", "b/a/b"])


def git(folder: Path, *arguments: str, given: bytes = b"", ok: tuple[int, ...] = (0,)) -> bytes:
    command = ["git", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", *arguments]
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode in ok, done.stderr
    return done.stdout


def applied(old: list[str], file: FileDiff) -> list[str]:
    """The new lines, made of the old ones by the numbers alone; CR is no part of a line here."""
    new: dict[int, str] = {}
    gone = set()
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.old is not None:
                assert old[line.old - 1] == line.text
                gone.add(line.old)
            if line.new is not None:
                new[line.new] = line.text
    kept = [text for number, text in enumerate(old, start=1) if number not in gone]
    made: list[str] = []
    while kept or len(made) + 1 in new:
        number = len(made) + 1
        made.append(new.pop(number) if number in new else kept.pop(0))
    assert not new
    return made


def lines_of(data: str) -> list[str]:
    rows = data.split("\n")
    return [row.removesuffix("\r") for row in (rows[:-1] if rows[-1] == "" else rows)]


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:
    old = draw(st.lists(LINE, max_size=25))
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 3))] = draw(st.lists(LINE, max_size=3))
    ends = st.sampled_from(["", "\n"])
    return tuple("\n".join(rows) + (draw(ends) if rows else "") for rows in (old, new))  # type: ignore[return-value]


@settings(max_examples=60, deadline=None)
@given(edits(), NAMES, NAMES, st.integers(0, 3), st.sampled_from([(), ("--no-prefix",)]))
def test_line_numbers_are_those_that_git_applies(
    tmp_path_factory: pytest.TempPathFactory,
    texts: tuple[str, str],
    name: str,
    renamed: str,
    context: int,
    how: tuple[str, ...],
) -> None:
    old, new = texts
    assume(old and new and old != new)
    folder = tmp_path_factory.mktemp("repo")
    git(folder, "init", "-q")
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(old.encode())
    git(folder, "add", "-A")
    place.unlink()
    if name in {"x", "b/a/b"}:
        renamed = name
    target = folder / renamed
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(new.encode())
    git(folder, "add", "-N", "--", ":(literal)" + renamed)
    diff = git(folder, "diff", f"--unified={context}", "--text", "--find-renames=1%", *how)
    files = parse(diff.decode()).files
    by_path = {file.path: file for file in files}
    if len(files) == 1:
        assert files[0].old == name
        assert applied(lines_of(old), files[0]) == lines_of(new)
    else:
        assert by_path[name].status is Status.DELETED
        assert applied(lines_of(old), by_path[name]) == []
        assert applied([], by_path[renamed]) == lines_of(new)
    assert renamed in by_path
    counted = git(folder, "apply", "--numstat", "-z", *(("-p0",) if how else ()), given=diff)
    told = [row.split(b"\t", 2)[:2] for row in counted.split(b"\0") if b"\t" in row]
    assert [(str(f.count("+")), str(f.count("-"))) for f in files] == [
        (a.decode(), d.decode()) for a, d in told
    ]
