"""Nothing that somebody names leaves its root, whatever the name and whatever lies on the disk."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.errors import FileDamaged, InvalidId, InvalidInput, NotFound, UnsafePath
from moot.files.paths import Entry, Root, valid_id

# -- ids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a", "0", "a-b", "add-oauth-2", "a--", "x" * 64])
def test_an_id_is_returned_as_it_is(value: str) -> None:
    assert valid_id(value, "change id") == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-a",
        "A",
        "a_b",
        "a.b",
        "a/b",
        "..",
        "a\n",
        "a\x00",
        "ä",
        "a٣",
        "３",
        "x" * 65,
        "\ud800",
        " a",
        "a ",
    ],
)
def test_what_is_no_id_is_refused_by_its_field_name(value: str) -> None:
    with pytest.raises(InvalidId) as caught:
        valid_id(value, "change id")
    assert caught.value.field == "change id"
    assert caught.value.value == value


# -- hostile input -------------------------------------------------------------------------------

LINKS = {
    "in-file": "plain.txt",
    "in-folder": "sub/deep",
    "sub/in-up": "..",
    "in-absolute": "ROOT/sub",
    "out-file": "../outside/secret.txt",
    "out-folder": "../outside",
    "sub/out-up": "../../outside",
    "sub/deep/out-absolute": "/",
    "out-by-way-of-in": "sub/out-up",
    "self": "self",
    "loop-a": "loop-b",
    "loop-b": "loop-a",
    "sneaky-loop": "loop-a/../../outside",
    "dangling": "not/there",
    "dangling-out": "../outside/not-there",
}
NAMES = [
    "a",
    "b",
    "plain.txt",
    "sub",
    "deep",
    "secret.txt",
    "etc/passwd",
    "proc",
    ".git",
    "-rf",
    "$HOME",
    "*",
    "nul",
]
DOTS = [
    "..",
    ".",
    "",
    "/",
    "//",
    "%2e%2e",
    "%2f",
    "․․",
    "．．",
    "／",
    "…",
    "‥",
    "~",
    "~root",
    "C:",
    "c:/",
    "\\",
    "\\\\",
]
ODD = ["\x00", "\n", "\r", "\x1b", "\x85", "\u2028", " ", "\ud800", "\udcff", "\U0010ffff"]
LONG = ["x" * 255, "x" * 256, "é" * 128, "a/" * 600]
PIECES = [*LINKS, *NAMES, *DOTS, *ODD, *LONG]

hostile_paths = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map("/".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=8),
)
hostile_ids = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    st.text(alphabet="abz059-_.A\n ٣é", max_size=8),
    st.tuples(
        st.sampled_from(["a", "7", "-", "ä", "٣"]), st.integers(1, 66), st.sampled_from(["", "z", "-", "\n"])
    ).map(lambda made: made[0] * made[1] + made[2]),
)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with every kind of link in it, beside a folder that must not be reached."""
    base = tmp_path_factory.mktemp("trapped")
    outside = base / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret", encoding="utf-8")
    root = base / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a" / "b").mkdir(parents=True)
    (root / "plain.txt").write_text("plain", encoding="utf-8")
    (root / "sub" / "plain.txt").write_text("below", encoding="utf-8")
    for name, leads_to in LINKS.items():
        (root / name).symlink_to(leads_to.replace("ROOT", str(root)))
    return root


@settings(max_examples=6000, deadline=None)
@given(relative=hostile_paths)
def test_no_hostile_path_leads_outside_its_root(trapped: Path, relative: str) -> None:
    real_root = os.path.realpath(trapped)
    try:
        found = Root(trapped).resolve(relative)
    except UnsafePath:
        return
    assert os.path.commonpath([real_root, os.path.realpath(found)]) == real_root
    assert ".." not in found.parts


@settings(max_examples=4000, deadline=None)
@given(value=hostile_ids)
def test_no_hostile_id_is_taken(value: str) -> None:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    by_hand = 1 <= len(value) <= 64 and set(value) <= allowed and value[0] != "-"
    try:
        taken = valid_id(value, "id")
    except InvalidId:
        assert not by_hand
    else:
        assert taken == value
        assert by_hand


# -- what resolve says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relative", "below"),
    [
        ("plain.txt", "plain.txt"),
        ("./sub//plain.txt", "sub/plain.txt"),
        (".", ""),
        ("in-file", "plain.txt"),
        ("in-folder/new.md", "sub/deep/new.md"),
        ("sub/in-up/plain.txt", "plain.txt"),
        ("in-absolute/plain.txt", "sub/plain.txt"),
        ("dangling", "not/there"),
        ("not-yet/not-yet.md", "not-yet/not-yet.md"),
        ("~/x", "~/x"),
        ("%2e%2e", "%2e%2e"),
    ],
)
def test_a_path_below_the_root_is_resolved_to_where_it_really_is(
    trapped: Path, relative: str, below: str
) -> None:
    assert Root(trapped).resolve(relative) == trapped.resolve() / below


@pytest.mark.parametrize(
    ("relative", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("//etc", "absolute"),
        ("C:/x", "absolute"),
        ("..", r"'\.\.'"),
        ("sub/../plain.txt", r"'\.\.'"),
        ("sub\\plain.txt", "backslash"),
        ("plain.txt\x00.md", "control characters"),
        ("a\nb", "control characters"),
        ("half \ud800", "no valid text"),
        ("undecodable \udcff", "no valid text"),
        ("x" * 256, "longer than 255"),
        ("é" * 128, "longer than 255"),
        ("/".join(["x" * 200] * 6)[:1025], "longer than 1024"),
        ("out-file", "outside"),
        ("out-folder/secret.txt", "outside"),
        ("sub/out-up/secret.txt", "outside"),
        ("sub/deep/out-absolute/etc/passwd", "outside"),
        ("out-by-way-of-in", "outside"),
        ("dangling-out", "outside"),
        ("loop-a", "circle"),
        ("self/x", "circle"),
        ("plain.txt/x", "a file, not a folder"),
    ],
)
def test_a_refusal_gives_the_reason(trapped: Path, relative: str, reason: str) -> None:
    with pytest.raises(UnsafePath, match=reason) as caught:
        Root(trapped).resolve(relative)
    assert caught.value.path == relative


def test_what_has_to_exist_and_does_not_is_not_found(trapped: Path) -> None:
    with pytest.raises(NotFound, match=re.escape("'sub/nope.md'")):
        Root(trapped).resolve("sub/nope.md", must_exist=True)


def test_a_root_may_be_a_link(trapped: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(trapped)
    assert Root(link).resolve("sub/plain.txt") == trapped.resolve() / "sub" / "plain.txt"
    with pytest.raises(UnsafePath):
        Root(link).resolve("out-file")


def test_pipes_and_sockets_are_refused_without_waiting_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            with pytest.raises(UnsafePath, match="neither a file nor a folder"):
                Root(tmp_path).read_text(name, 10)


# -- reading -------------------------------------------------------------------------------------


def test_a_file_of_exactly_the_limit_is_read_and_a_longer_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "five.txt").write_bytes("äöx".encode())
    assert Root(tmp_path).read_text("five.txt", 5) == "äöx"
    with pytest.raises(InvalidInput, match=r"five\.txt is larger than 4 bytes"):
        Root(tmp_path).read_text("five.txt", 4)


def test_line_ends_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(b"a\r\nb\r\n")
    assert Root(tmp_path).read_text("dos.txt", 100) == "a\r\nb\r\n"


def test_bytes_that_are_no_text_are_damage_on_their_line(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"one\ntwo \xe9\n")
    with pytest.raises(FileDamaged) as caught:
        Root(tmp_path).read_text("latin.txt", 100)
    assert (caught.value.file, caught.value.line) == ("latin.txt", 2)


def test_a_folder_is_not_read_and_a_file_is_not_listed(trapped: Path) -> None:
    with pytest.raises(UnsafePath, match="not a file"):
        Root(trapped).read_text("sub", 10)
    with pytest.raises(UnsafePath, match="not a folder"):
        Root(trapped).list("plain.txt")


def test_reading_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Root(tmp_path).read_text("nope", 10)
    with pytest.raises(NotFound):
        Root(tmp_path / "no-root").list()


@pytest.mark.parametrize("swapped", ["sub", "sub/plain.txt"])
def test_a_link_swapped_in_after_the_check_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "plain.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "plain.txt").write_text("plain", encoding="utf-8")
    root = Root(tmp_path / "root")
    checked = Root.resolve

    def resolve_then_lose_the_race(self: Root, relative: str, *, must_exist: bool = False) -> Path:
        real = checked(self, relative, must_exist=must_exist)
        victim = tmp_path / "root" / swapped
        victim.rename(tmp_path / "moved-away")
        victim.symlink_to(outside if swapped == "sub" else outside / "plain.txt")
        return real

    monkeypatch.setattr(Root, "resolve", resolve_then_lose_the_race)
    with pytest.raises(UnsafePath):
        root.read_text("sub/plain.txt", 100)


def test_reading_leaves_no_descriptor_open(trapped: Path) -> None:
    root = Root(trapped)
    before = len(list(Path("/dev/fd").iterdir()))
    for relative in ("sub/plain.txt", "in-folder", "nope", "plain.txt/x"):
        for read in (lambda path: root.read_text(path, 100), root.list):
            try:
                read(relative)
            except (UnsafePath, NotFound):
                continue
    assert len(list(Path("/dev/fd").iterdir())) == before


# -- listing -------------------------------------------------------------------------------------


def test_a_listing_tells_files_folders_and_the_rest(trapped: Path) -> None:
    assert Root(trapped).list("sub") == (
        Entry("deep", "folder"),
        Entry("in-up", "folder"),
        Entry("out-up", "other"),
        Entry("plain.txt", "file"),
    )
    kinds = {entry.name: entry.kind for entry in Root(trapped).list()}
    assert kinds["in-file"] == "file"
    assert kinds["in-folder"] == "folder"
    assert {kinds[name] for name in ("out-file", "out-folder", "self", "loop-a", "dangling")} == {"other"}


def test_a_name_that_is_no_text_is_listed_and_does_no_harm(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).write_text("x", encoding="utf-8")
    assert Root(tmp_path).list() == (Entry("caf\ufffd", "file"),)
