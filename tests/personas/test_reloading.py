"""Personas and panels of the workspace are read again when they change, and a bad one hides no other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.errors import DefinitionInvalid
from moot.personas.library import load_library, scaffold
from tests.stub.server import StubServer, running_stub
from tests.support.server import Server, a_board, serving

PANEL = "---\nid: crew\nname: Crew\nmembers: [the-leaver, the-mentor]\n---\n\nWho leaves.\n"


def save(root: Path, id_: str, name: str = "The Leaver") -> Path:
    (root / "personas").mkdir(parents=True, exist_ok=True)
    file = root / "personas" / f"{id_}.md"
    file.write_text(scaffold(id_, name), encoding="utf-8")
    return file


def test_a_bad_file_is_named_where_it_is_used_and_hides_no_other(tmp_path: Path) -> None:
    save(tmp_path, "the-leaver").write_text("---\nid: the-leaver\n---\n", encoding="utf-8")
    save(tmp_path, "the-stayer", "The Stayer")
    (tmp_path / "panels").mkdir()
    (tmp_path / "panels" / "crew.md").write_text(PANEL, encoding="utf-8")
    library = load_library(tmp_path)
    assert library.persona("the-stayer").name == "The Stayer"
    assert len(library.members(library.panel("board"))) == 8
    for use in (lambda: library.persona("the-leaver"), lambda: library.members(library.panel("crew"))):
        with pytest.raises(DefinitionInvalid, match=r"the-leaver\.md"):
            use()


def test_a_bad_replacement_is_named_and_not_replaced_by_what_is_shipped(tmp_path: Path) -> None:
    save(tmp_path, "the-mentor").write_text("nothing", encoding="utf-8")
    library = load_library(tmp_path)
    with pytest.raises(DefinitionInvalid, match=r"the-mentor\.md"):
        library.persona("the-mentor")
    assert "the-mentor" not in [persona.id for persona in library.personas]


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        a_board(stub)
        yield stub


def names(server: Server, query: str) -> list[str]:
    answered = server.get(f"/api/board/personas?{query}")
    assert answered.status_code == 200, answered.text
    return [persona["name"] for persona in answered.json()["personas"]]


def test_a_server_reads_what_has_changed_without_a_restart(stub: StubServer, tmp_path: Path) -> None:
    with serving(tmp_path, stub) as server:
        before = names(server, "everyone=true")
        assert len(before) == 12
        file = save(tmp_path / "moot", "the-leaver")
        assert names(server, "everyone=true") == [*before, "The Leaver"]
        file.write_text(scaffold("the-leaver", "The Loafer"), encoding="utf-8")
        os.utime(file, ns=(1, 1))
        assert names(server, "everyone=true") == [*before, "The Loafer"]
        (tmp_path / "moot" / "panels").mkdir()
        panel = tmp_path / "moot" / "panels" / "crew.md"
        panel.write_text(PANEL, encoding="utf-8")
        assert sorted(names(server, "panel=crew")) == ["The Loafer", "The Mentor"]
        file.write_text("---\nid: the-leaver\n---\n", encoding="utf-8")
        refused = server.get("/api/board/personas?panel=crew")
        assert "the-leaver.md" in refused.json()["error"]
        assert names(server, "everyone=true") == before
        assert len(names(server, "panel=board")) == 8
        file.unlink()
        panel.unlink()
        assert names(server, "everyone=true") == before
