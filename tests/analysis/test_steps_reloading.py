"""Steps of the workspace are read again when they change, and a bad one is named where it is used."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from moot.analysis.current_steps import current_steps
from moot.analysis.steps import load_steps
from moot.app import Options, opened
from moot.errors import DefinitionInvalid, NotFound
from moot.personas.library import scaffold
from tests.cli.test_analyze import Project, speaking
from tests.stub.server import StubServer
from tests.support.terminal import CTRL_D, ENTER, Terminal, at_terminal

TUNNELS = """---
step_id: 00-01b
title: Tunnels
persona: business-analyst
depth: standard
outputs: [quick-scan.md]
---

## Brief Mode

Ask which tunnels matter.

## Standard Mode

Go through every tunnel.

## Deep Mode

Go through the longest tunnel.

## Validation

- A tunnel is named.

## Artifacts

In `quick-scan.md`: the tunnels.
"""
BAD = TUNNELS.replace("depth: standard", "depth: bottomless")


def save(root: Path, text: str = TUNNELS, name: str = "00-01b") -> Path:
    (root / "moot" / "steps").mkdir(parents=True, exist_ok=True)
    file = root / "moot" / "steps" / f"{name}.md"
    file.write_text(text, encoding="utf-8")
    return file


def test_what_has_changed_is_read_without_a_restart(tmp_path: Path) -> None:
    async def whole() -> None:
        async with opened(Options(workspace=tmp_path), env={"PATH": "/usr/bin:/bin"}) as moot:
            assert "00-01b" not in [step.id for step in current_steps(moot).steps]
            file = save(tmp_path)
            assert current_steps(moot).step("00-01b").title == "Tunnels"
            assert current_steps(moot) is current_steps(moot), "nothing is read twice"
            file.write_text(TUNNELS.replace("title: Tunnels", "title: Bridges"), encoding="utf-8")
            os.utime(file, ns=(1, 1))
            assert current_steps(moot).step("00-01b").title == "Bridges"
            file.write_text(TUNNELS.replace("business-analyst", "the-digger"), encoding="utf-8")
            with pytest.raises(DefinitionInvalid, match=r"00-01b\.md.*there is no persona 'the-digger'"):
                current_steps(moot).step("00-01b")
            (tmp_path / "moot" / "personas").mkdir()
            digger = tmp_path / "moot" / "personas" / "the-digger.md"
            digger.write_text(scaffold("the-digger", "The Digger"), encoding="utf-8")
            assert current_steps(moot).step("00-01b").persona == "the-digger"
            file.unlink()
            with pytest.raises(NotFound):
                current_steps(moot).step("00-01b")

    asyncio.run(whole())


def test_a_bad_file_is_named_where_its_step_is_asked_for_and_hides_no_other(tmp_path: Path) -> None:
    save(tmp_path, BAD)
    save(tmp_path, "nothing", "00-02")
    steps = load_steps(tmp_path / "moot" / "steps")
    with pytest.raises(DefinitionInvalid, match=r"00-01b\.md.*depth"):
        steps.step("00-01b")
    assert steps.step("00-02").title == "Keyword Search", "the shipped one is taken"
    assert len(steps.warnings) == 2


# -- while an analysis goes on -------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, stub: StubServer) -> Project:
    stub.default = speaking
    return Project(tmp_path, stub)


def answer(terminal: Terminal, text: str) -> None:
    terminal.wait_for(">")
    terminal.type(f"{text}{ENTER}")


def at_the_menu(terminal: Terminal) -> None:
    terminal.wait_for("Your answer:")
    answer(terminal, "Twenty people.")
    terminal.wait_for("Or type naturally")
    terminal.wait_for(">")


def test_a_step_that_is_added_while_the_menu_shows_is_the_next(project: Project, stub: StubServer) -> None:
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        at_the_menu(terminal)
        save(project.root, TUNNELS.replace("business-analyst", "the-digger"))
        (project.root / "moot" / "personas").mkdir()
        digger = project.root / "moot" / "personas" / "the-digger.md"
        digger.write_text(scaffold("the-digger", "The Digger"), encoding="utf-8")
        terminal.type(f"C{ENTER}")
        terminal.wait_for("The Digger")
        terminal.wait_for("-- Step 00-01b: Tunnels")
        terminal.wait_for("Your answer:")
        file = save(project.root, TUNNELS.replace("A tunnel is named.", "A bridge is named."))
        answer(terminal, "The long one.")
        terminal.wait_for("Or type naturally")
        terminal.wait_for(">")
        assert "A bridge is named." in stub.requests[-1].said
        file.unlink()
        terminal.type(f"C{ENTER}")
        terminal.wait_for("-- Step 00-02: Keyword Search")
    assert project.meta["steps_completed"] == ["00-01", "00-01b"]


def test_a_step_that_went_bad_is_named_and_passed_over(project: Project) -> None:
    save(project.root)
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        at_the_menu(terminal)
        save(project.root, BAD)
        terminal.type(f"C{ENTER}")
        terminal.wait_for("00-01b.md")
        terminal.wait_for("This file is skipped.")
        terminal.wait_for("-- Step 00-02: Keyword Search")
        terminal.wait_for("Your answer:")
        terminal.type(CTRL_D)
        terminal.end()
    mended = save(project.root)
    again = project.run("analyze", "Offline mode", answers=["Ten."])
    assert "This file is skipped." not in again.err
    assert mended.exists()


def test_a_file_that_goes_bad_within_its_step_is_named_and_can_be_mended(project: Project) -> None:
    save(project.root)
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        at_the_menu(terminal)
        terminal.type(f"C{ENTER}")
        terminal.wait_for("-- Step 00-01b: Tunnels")
        terminal.wait_for("Your answer:")
        save(project.root, BAD)
        answer(terminal, "The long one.")
        terminal.wait_for("00-01b.md")
        terminal.wait_for("What now?")
        save(project.root)
        answer(terminal, "r")
        terminal.wait_for("Or type naturally")
    assert project.meta["steps_completed"] == ["00-01", "00-01b"]


def test_a_finished_analysis_takes_up_a_step_that_was_added(project: Project) -> None:
    skipping: list[Any] = []
    for _ in range(5):
        skipping += ["Twenty people.", "S"]
    assert project.run("analyze", "Offline mode", answers=skipping).code == 0
    save(
        project.root,
        TUNNELS.replace("00-01b", "05-01").replace("title:", "phase: 05-tunnels\ntitle:"),
        "05-01",
    )
    ended = project.run("analyze", "Offline mode", answers=["The long one.", "C"])
    assert "-- Step 05-01: Tunnels" in ended.out
    assert "05-01" in project.meta["steps_completed"]
