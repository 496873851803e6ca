"""A design is written once, under a name that a person recognises, and never over another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moot.errors import UnsafePath
from moot.files.layout import Workspace
from moot.workflow.designs import Designs


@pytest.fixture
def designs(tmp_path: Path) -> Designs:
    return Designs(Workspace.at(tmp_path))


def test_a_design_is_called_by_its_date_and_title(designs: Designs, tmp_path: Path) -> None:
    assert designs.save("2026-01-02", "Offline mode!", "text\n") == "moot/designs/2026-01-02-offline-mode.md"
    assert (tmp_path / "moot/designs/2026-01-02-offline-mode.md").read_text() == "text\n"
    assert [path.name for path in (tmp_path / "moot/designs").iterdir()] == ["2026-01-02-offline-mode.md"]


def test_one_that_is_there_is_not_written_over(designs: Designs) -> None:
    first = designs.save("2026-01-02", "Offline", "first\n")
    second = designs.save("2026-01-02", "Offline", "second\n")
    assert second == "moot/designs/2026-01-02-offline-2.md"
    assert (designs.read(first), designs.read(second)) == ("first\n", "second\n")


def test_saving_it_twice_is_the_same_as_once(designs: Designs, tmp_path: Path) -> None:
    designs.save("2026-01-02", "Offline", "first\n")
    names = {designs.save("2026-01-02", "Offline", "second\n") for _ in range(3)}
    assert names == {"moot/designs/2026-01-02-offline-2.md"}
    assert len(list((tmp_path / "moot/designs").iterdir())) == 2


def test_many_at_once_each_get_a_name_of_their_own(designs: Designs) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(lambda n: designs.save("2026-01-02", "Same", f"{n}\n"), range(16)))
    assert len(names) == 16


def test_a_title_without_latin_letters_or_of_any_length_is_a_name(designs: Designs, tmp_path: Path) -> None:
    names = [designs.save("2026-01-02", title, "x\n") for title in ("オフライン", "long " * 500, "../../etc")]
    assert all((tmp_path / name).is_file() for name in names)
    assert all(len(Path(name).name) < 100 for name in names)


def test_a_folder_that_leads_outside_is_refused(designs: Designs, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "moot").mkdir()
    (tmp_path / "moot" / "designs").symlink_to(outside)
    with pytest.raises(UnsafePath):
        designs.save("2026-01-02", "Offline", "x\n")
    assert not list(outside.iterdir())


def test_one_that_is_gone_is_empty(designs: Designs) -> None:
    assert designs.read("moot/designs/none.md") == ""
