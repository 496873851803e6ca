"""A patch as files, hunks and numbered lines: as git prints it, as `diff -u` does, or as it came by mail.

Pure. Knows the format, and reads hunks by their counts, so that no line of the code can pass for a header.
Whoever wrote the patch is not trusted: what cannot be read raises PatchInvalid with the line, and nothing
else is ever raised. Refuses to know whether the files are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from moot.errors import PatchInvalid

NOWHERE = "/dev/null"
_MADE_BY_PROGRAMS = (
    "package-lock.json",
    "-lock.yaml",
    ".lock",
    ".min.js",
    ".min.css",
    ".map",
    ".snap",
    ".sum",
)
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(.*)")
_COMBINED = re.compile(r"diff --(?:cc|combined) |@@@+ -")
_STAMP = re.compile(r"\t.*$", re.DOTALL)
_MADE_OF_NOTHING = re.compile(r"\t(?:1970-01-01|1969-12-31) .*$", re.DOTALL)
_ESCAPE = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


class Status(StrEnum):
    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"


@dataclass(frozen=True, slots=True)
class Line:
    """`sign` is "+", "-" or a blank; `old` and `new` are its numbers on either side, counted from 1, and `at`
    that in the patch. The text is without its line end, CRLF or LF."""

    sign: str
    text: str
    old: int | None
    new: int | None
    at: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Where a side has no lines, its start is that of the line before."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FileDiff:
    """`old` and `new` are names below the root, None where the file is not there on that side. `at` and `end`
    are its first line in the patch, and the one behind its last."""

    status: Status
    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    at: int
    end: int
    old_mode: str = ""
    new_mode: str = ""
    binary: bool = False

    @property
    def path(self) -> str:
        """As it is called now, or was last."""
        return self.new or self.old or ""

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for hunk in self.hunks for line in hunk.lines)

    def count(self, sign: str) -> int:
        return sum(line.sign == sign for line in self.lines)


@dataclass(frozen=True)
class Patch:
    text: str
    files: tuple[FileDiff, ...]

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Its lines, without their ends."""
        return _rows(self.text)

    @cached_property
    def _flat(self) -> dict[int, str]:
        return {
            file.at: "\n".join(row[:1] + squeezed(row[1:]) for row in self.rows[file.at - 1 : file.end - 1])
            for file in self.files
        }

    def flat_of(self, file: FileDiff) -> str:
        """A file's part with its white space squeezed, to look into before anything is compared by line."""
        return self._flat[file.at]

    def text_of(self, file: FileDiff) -> str:
        return "\n".join(self.rows[file.at - 1 : file.end - 1])


def squeezed(text: str) -> str:
    return " ".join(text.split())


def parse(text: str) -> Patch:
    """What stands around the diffs, as a mail's words, is passed over. Raises PatchInvalid; a text with
    nothing but white space is a patch without files."""
    files = tuple(_Reader(_rows(text)).files())
    if not files and text.strip():
        raise PatchInvalid(1, "there is no diff in it")
    return Patch(text, files)


def without(patch: Patch, left_out: set[str]) -> Patch:
    """The same, without the files of these names."""
    kept = [one for one in patch.files if not {one.old, one.new} & left_out]
    return (
        parse("".join(f"{patch.text_of(one)}\n" for one in kept)) if len(kept) < len(patch.files) else patch
    )


def is_made_by_program(file: FileDiff) -> bool:
    """By its name: nobody writes these by hand, and nobody reads them."""
    return file.path.endswith(_MADE_BY_PROGRAMS)


def source_name(path: str) -> str:
    """What a file's part is called where it is given, or left out."""
    return f"the diff of {path}"


def _rows(text: str) -> tuple[str, ...]:
    """Only LF ends a line: whatever else does for some is part of the code."""
    return tuple(text.split("\n"))


class _Reader:
    def __init__(self, rows: tuple[str, ...]) -> None:
        self._rows = rows
        self._at = 0
        self._end = len(rows) - (rows[-1] == "")

    # -- rows --------------------------------------------------------------------------------

    def _row(self, ahead: int = 0) -> str:
        """The row without a line end of its own; empty behind the end."""
        at = self._at + ahead
        return self._rows[at].removesuffix("\r") if at < self._end else ""

    def _fault(self, problem: str) -> PatchInvalid:
        return PatchInvalid(min(self._at + 1, max(self._end, 1)), problem)

    # -- files -------------------------------------------------------------------------------

    def files(self) -> Iterator[FileDiff]:
        while self._at < self._end:
            row = self._row()
            if _COMBINED.match(row):
                raise self._fault(
                    "the combined diff of a merge has no one number for a line: give that to one parent"
                )
            if row.startswith("diff --git "):
                yield self._git_file()
            elif self._begins_plain():
                yield self._plain_file()
            elif _HUNK.match(row):
                raise self._fault("a hunk without the name of its file")
            else:
                self._at += 1

    def _begins_plain(self) -> bool:
        return (
            self._row().startswith("--- ")
            and self._row(1).startswith("+++ ")
            and _HUNK.match(self._row(2)) is not None
        )

    def _plain_file(self) -> FileDiff:
        at = self._at
        old, new = self._side("--- "), self._side("+++ ")
        stripped = _strip_both(old, new)
        hunks = self._hunks()
        if old is not None and new is not None:
            # `diff -N` says by the date alone that a file was not there.
            first = self._rows[at], self._rows[at + 1]
            whole = len(hunks) == 1
            if whole and hunks[0].old_count == 0 and _MADE_OF_NOTHING.search(first[0]):
                stripped = (None, stripped[1])
            elif whole and hunks[0].new_count == 0 and _MADE_OF_NOTHING.search(first[1]):
                stripped = (stripped[0], None)
            else:
                # Two names, as `x.orig` and `x`, are one file: patches that rename say so.
                stripped = (stripped[1], stripped[1])
        return self._file(at, *stripped, hunks, _status(*stripped))

    def _side(self, mark: str) -> str | None:
        """The name in a header of one side, still with its prefix."""
        row = self._row().removeprefix(mark)
        name = self._unquote(row) if row.startswith('"') else _STAMP.sub("", row)
        self._at += 1
        return None if name == NOWHERE else name

    def _git_file(self) -> FileDiff:
        at = self._at
        told = self._told_names(self._row().removeprefix("diff --git "))
        self._at += 1
        head: dict[str, str] = {}
        while found := _EXTENDED.match(self._row()):
            head[found[1]] = found[2]
            self._at += 1
        binary = self._row().startswith(("Binary files ", "GIT binary patch"))
        if binary:
            self._at += 1
        sides: tuple[str | None, str | None] | None = None
        hunks: tuple[Hunk, ...] = ()
        if self._row().startswith("--- ") and self._row(1).startswith("+++ "):
            sides = self._side("--- "), self._side("+++ ")
            hunks = self._hunks()
        elif binary:
            self._skip_binary()
        status, old, new = self._names(at, head, sides, told)
        mode = head.get("index", "").partition(" ")[2]
        old_mode = head.get("old mode") or head.get("deleted file mode") or mode
        new_mode = head.get("new mode") or head.get("new file mode") or mode
        return self._file(at, old, new, hunks, status, old_mode * bool(old), new_mode * bool(new), binary)

    def _names(
        self,
        at: int,
        head: dict[str, str],
        sides: tuple[str | None, str | None] | None,
        told: tuple[str, str] | None,
    ) -> tuple[Status, str | None, str | None]:
        for what, status in (("rename", Status.RENAMED), ("copy", Status.COPIED)):
            if f"{what} from" in head and f"{what} to" in head:
                old, new = (self._plain_name(head[f"{what} {end}"]) for end in ("from", "to"))
                return status, old, new
        if told is not None:
            old, new = told
        elif sides is not None:
            one, other = _strip_both(*sides)
            old, new = one or other or "", other or one or ""
        else:
            self._at = at
            raise self._fault("the names in `diff --git` cannot be told apart")
        added = "new file mode" in head or (sides is not None and sides[0] is None)
        deleted = "deleted file mode" in head or (sides is not None and sides[1] is None)
        status = Status.ADDED if added else Status.DELETED if deleted else Status.MODIFIED
        return status, None if added else old, None if deleted and not added else new

    def _file(
        self,
        at: int,
        old: str | None,
        new: str | None,
        hunks: tuple[Hunk, ...],
        status: Status,
        old_mode: str = "",
        new_mode: str = "",
        binary: bool = False,
    ) -> FileDiff:
        if not (old or new):
            self._at = at
            raise self._fault("a file without a name")
        return FileDiff(status, old, new, hunks, at + 1, self._at + 1, old_mode, new_mode, binary)

    def _skip_binary(self) -> None:
        """Its rows are not looked at: they begin with a letter, and no header of a file does but this one."""
        while self._at < self._end and not self._row().startswith(("diff --git ", "From ", "--- ")):
            self._at += 1

    # -- names -------------------------------------------------------------------------------

    def _told_names(self, row: str) -> tuple[str, str] | None:
        """Both names behind `diff --git`, which have no mark between them where they are not quoted. None
        where they differ: then other headers name them."""
        for one, other in self._splits(row):
            if one == other:
                # Made without prefixes.
                return one, other
            if (rest := one.partition("/")[2]) and rest == other.partition("/")[2]:
                return rest, rest
        return None

    def _splits(self, row: str) -> Iterator[tuple[str, str]]:
        if row.startswith('"'):
            end = _end_of_quoted(row)
            if end and row[end : end + 1] == " ":
                yield self._unquote(row[:end]), self._plain_name(row[end + 1 :])
            return
        if row.endswith('"') and (start := row.find(' "')) > 0:
            yield row[:start], self._unquote(row[start + 1 :])
            return
        # Both are of one length, up to their prefixes.
        for found in re.finditer(" ", row):
            if abs(2 * found.start() + 1 - len(row)) <= _MOST_PREFIX:
                yield row[: found.start()], row[found.end() :]

    def _plain_name(self, name: str) -> str:
        return self._unquote(name) if name.startswith('"') else name

    def _unquote(self, quoted: str) -> str:
        """As C writes it; its bytes are a text's."""
        end = _end_of_quoted(quoted)
        body = quoted[1 : end - 1].encode("utf-8", "surrogatepass")
        if not end or b"\\" in _ESCAPE.sub(b"", body):
            raise self._fault("a quoted name that does not end, or has an unknown escape")

        def plain(found: re.Match[bytes]) -> bytes:
            what = found[1]
            return bytes([int(what, 8) if len(what) == 3 else _ESCAPED[what[0]]])

        return _ESCAPE.sub(plain, body).decode("utf-8", "replace")

    # -- hunks -------------------------------------------------------------------------------

    def _hunks(self) -> tuple[Hunk, ...]:
        found: list[Hunk] = []
        while head := _HUNK.match(self._row()):
            found.append(self._hunk(head))
        return tuple(found)

    def _hunk(self, head: re.Match[str]) -> Hunk:
        old_start, new_start = int(head[1]), int(head[3])
        old_count, new_count = (1 if head[of] is None else int(head[of]) for of in (2, 4))
        if (old_count and not old_start) or (new_count and not new_start):
            raise self._fault("a hunk that begins at line 0")
        self._at += 1
        old, new = old_start, new_start
        old_end, new_end = old + old_count, new + new_count
        lines: list[Line] = []
        while old < old_end or new < new_end:
            if self._at >= self._end:
                raise self._fault("a hunk is cut off")
            row = self._rows[self._at]
            # Some mailers strip the blank of an empty line.
            sign = row[:1] if row not in ("", "\r") else " "
            if sign not in (" ", "+", "-", "\\"):
                raise self._fault("a hunk has fewer lines than it says")
            self._at += 1
            if sign == "\\":
                continue
            in_old, in_new = sign != "+", sign != "-"
            if (in_old and old >= old_end) or (in_new and new >= new_end):
                self._at -= 1
                raise self._fault("a hunk has other lines than it says")
            text = row[1:].removesuffix("\r")
            lines.append(Line(sign, text, old if in_old else None, new if in_new else None, self._at))
            old, new = old + in_old, new + in_new
        while self._row().startswith("\\ "):
            self._at += 1
        return Hunk(old_start, old_count, new_start, new_count, head[5].strip(), tuple(lines))


_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|rename old"
    r"|rename new|similarity index|dissimilarity index|index) (.*)"
)
_MOST_PREFIX = 80


def _end_of_quoted(text: str) -> int:
    """Behind the closing quotation mark; 0 where there is none."""
    found = re.match(r'"(?:[^"\\]|\\.)*"', text, re.DOTALL)
    return found.end() if found else 0


def _strip_both(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Without the prefixes, as `a/` and `b/`: two folders in front of the same name."""
    if old is None or new is None:
        return _strip(old, "a"), _strip(new, "b")
    one, other = old.partition("/")[2], new.partition("/")[2]
    if old != new and one and one == other:
        return one, other
    return old, new


def _strip(name: str | None, prefix: str) -> str | None:
    return None if name is None else name.removeprefix(f"{prefix}/")


def _status(old: str | None, new: str | None) -> Status:
    if old is None:
        return Status.ADDED
    return Status.DELETED if new is None else Status.MODIFIED
