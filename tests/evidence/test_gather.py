"""What a person gives, gathered within the bounds of a session: whole items or none, and why."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.evidence.bounds import STANDARD, Bounds
from moot.evidence.files import Reach
from moot.evidence.gather import Gathered, Intake, LeftOut, Offer, Weighed, mentions
from moot.evidence.items import Evidence
from tests.support.hostile_files import png


def pasted(*texts: str) -> list[Offer]:
    return [Offer(name=f"{place}.txt", data=text.encode()) for place, text in enumerate(texts, start=1)]


def gather(
    offers: Sequence[Offer],
    folder: Path = Path("/nowhere"),
    *,
    bounds: Bounds = STANDARD,
    already: Sequence[Evidence] = (),
    reach: Reach = Reach.WORKSPACE,
) -> Gathered:
    return asyncio.run(Intake(folder, reach, bounds).gather(offers, already))


def names(gathered: Gathered) -> list[str]:
    return [item.name for item in gathered.items]


def test_items_keep_their_order_and_what_is_left_out_is_named() -> None:
    gathered = gather(pasted("one", "\0", "two", " "))
    assert names(gathered) == ["1.txt", "3.txt"]
    assert [one.name for one in gathered.left_out] == ["2.txt", "4.txt"]


@pytest.mark.parametrize(("most", "taken"), [(2, 2), (3, 3), (4, 3)])
def test_a_session_takes_so_many_items_and_no_more(most: int, taken: int) -> None:
    gathered = gather(pasted("a", "b", "c"), bounds=replace(STANDARD, items=most))
    assert len(gathered.items) == taken
    if taken < 3:
        assert gathered.left_out == (LeftOut("3.txt", "a session takes 2 items, and has them"),)


@pytest.mark.parametrize(("most", "taken"), [(5, 1), (6, 2), (7, 2)])
def test_a_session_takes_so_much_text_and_no_more(most: int, taken: int) -> None:
    gathered = gather(pasted("aaa", "bbb"), bounds=replace(STANDARD, all_text=most))
    assert len(gathered.items) == taken
    if taken < 2:
        why = "3 bytes, and a session takes 5 bytes of text, of which 3 bytes are used"
        assert gathered.left_out == (LeftOut("2.txt", why),)


def test_images_have_bounds_of_their_own() -> None:
    offers = [Offer(name=f"{n}.png", data=png(n, n)) for n in (1, 2, 3)]
    assert len(gather(offers, bounds=replace(STANDARD, all_text=0)).items) == 3
    assert "a session takes 2 images" in gather(offers, bounds=replace(STANDARD, images=2)).left_out[0].why
    room = len(png(1, 1)) + len(png(2, 2))
    tight = gather(offers, bounds=replace(STANDARD, all_images=room))
    assert names(tight) == ["1.png", "2.png"]
    assert "of images" in tight.left_out[0].why


def test_what_is_there_already_counts_and_is_not_taken_twice() -> None:
    there = gather(pasted("one")).items
    again = gather([*pasted("one"), Offer(name="x.txt", data=b"one")], already=there)
    assert again.items == ()
    assert [one.why for one in again.left_out] == ["is given already", "is the same as 1.txt"]
    full = gather(pasted("", "two"), already=there, bounds=replace(STANDARD, items=1))
    assert "a session takes 1 items" in full.left_out[1].why


def test_what_was_gathered_is_weighed_again_beside_what_came_meanwhile() -> None:
    gathered = gather(pasted("one", "two"))
    meanwhile = gather(pasted("one")).items
    within = gathered.within(STANDARD, meanwhile)
    assert names(within) == ["2.txt"]
    assert within.left_out == (LeftOut("1.txt", "is given already"),)


# -- folders -------------------------------------------------------------------------------------


def test_of_a_folder_its_text_files_are_taken_and_the_others_are_counted(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "deep/c.md", "prod.env", "key.pem"):
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(name, encoding="utf-8")
    (tmp_path / "docs" / "plan.png").write_bytes(png())
    (tmp_path / "docs" / "tool.bin").write_bytes(b"\0")
    os.mkfifo(tmp_path / "docs" / "pipe")
    gathered = gather([Offer(path="docs")], tmp_path)
    assert [item.origin for item in gathered.items] == ["docs/a.md", "docs/b.md", "docs/deep/c.md"]
    assert [str(one).partition(":")[0] for one in gathered.left_out] == [
        "docs/tool.bin left out",
        "docs/, of its files left out",
    ]
    counted = gathered.left_out[1].why
    assert "2 private by their names" in counted
    assert "1 images: name those that matter" in counted


@pytest.mark.parametrize(("most", "more"), [(2, 1), (3, 0), (4, 0)])
def test_a_folder_has_a_bound_of_its_own(tmp_path: Path, most: int, more: int) -> None:
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(name, encoding="utf-8")
    gathered = gather([Offer(path=".")], tmp_path, bounds=replace(STANDARD, folder=most))
    assert len(gathered.items) == 3 - more
    said = "; ".join(map(str, gathered.left_out))
    assert (f"{more} more, because {most} of a folder are taken" in said) is bool(more)


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert "without files that belong to it" in gather([Offer(path="docs")], tmp_path).left_out[0].why


def test_the_terminal_may_name_what_is_outside_and_others_may_not(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "away.md").write_text("Away.", encoding="utf-8")
    offer = [Offer(path=str(tmp_path / "away.md"))]
    assert gather(offer, tmp_path / "shop", reach=Reach.ANYWHERE).items[0].text == "Away."
    assert gather(offer, tmp_path / "shop").items == ()
    assert gather(offer, tmp_path / "shop", reach=Reach.NOWHERE).items == ()


# -- what is said --------------------------------------------------------------------------------


def test_how_much_it_is_in_one_sentence() -> None:
    item = Evidence("a", "a", "00", "text/plain", "x" * 40_000)
    left_out = (LeftOut("notes.pdf", "12.3 MB, at most 10 MB are taken"),)
    gathered = Gathered((item,), left_out)
    end = "; notes.pdf left out: 12.3 MB, at most 10 MB are taken"
    for cost, said in ((0.07, ", about $0.07"), (0.001, ", under $0.01"), (None, "")):
        summary = Weighed(gathered, cost).summary
        assert re.fullmatch(r"1 item, 10,\d00 tokens", summary.removesuffix(f"{said}{end}")), summary
    assert Weighed(Gathered((), left_out)).summary.startswith("no items; notes.pdf")
    assert Weighed(Gathered()).summary == "no items"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("See @a.md, @b/c.txt; and (@d).", ("a.md", "b/c.txt", "d")),
        ('@"my notes.md" and @a.md, @a.md', ("my notes.md", "a.md")),
        ("me@example.org, a@b, @@x", ()),
        ("Ends with @a.md.", ("a.md",)),
        ("nothing @ all", ()),
    ],
)
def test_what_may_be_a_path_in_a_text(text: str, named: tuple[str, ...]) -> None:
    assert mentions(text) == named


@given(st.text(max_size=200))
def test_whatever_a_text_is_each_path_in_it_is_in_it(text: str) -> None:
    found = mentions(text)
    assert len(set(found)) == len(found)
    assert all(f"@{path}" in text or f'@"{path}"' in text for path in found)


@given(st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "\0"]), max_size=12), st.integers(0, 12))
def test_nothing_given_is_ever_lost_or_more_than_is_taken(texts: list[str], most: int) -> None:
    bounds = replace(STANDARD, items=5, all_text=most)
    gathered = gather(pasted(*texts), bounds=bounds)
    assert len(gathered.items) + len(gathered.left_out) == len(texts)
    assert len(gathered.items) <= 5
    assert sum(len(item.text) for item in gathered.items) <= most
