"""An image among a change's evidence is seen by whoever drafts and reviews it, as it was given."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from moot.changes import images
from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.service import Changes
from moot.evidence.items import Evidence
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.changes import FakeReviewer, at_the_stub, drafted, silent

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
SHOT = Evidence("shot.png", "docs/shot.png", hashlib.sha256(PNG).hexdigest(), "image/png", image=PNG)
NOTES = Evidence("notes.txt", "docs/notes.txt", "ab", "text/plain", "Dates are ISO.")
GIVEN = Binding(evidence=(NOTES, SHOT))
READS = Behaviour(
    tool_calls=tuple(
        ("read_file", {"path": path}) for path in ("proposal.md", "specs/sign-in.md", "tasks.md")
    )
)
APPENDS = Behaviour(
    tool_calls=(("append_review", {"verdict": "APPROVED", "issues": [], "summary": "Fine."}),)
)


def shown(request: Recorded) -> list[Any]:
    blocks = (message["content"] for message in request.body["messages"])
    parts = (part for content in blocks if isinstance(content, list) for part in content)
    return [part for part in parts if part["type"] == "image"]


@pytest.fixture
def folder(tmp_path: Path, stub: StubServer) -> ChangeFolder:
    """Of a change that was drafted from an image."""
    root = tmp_path / "project"
    root.mkdir()

    async def propose() -> None:
        async with at_the_stub(stub, root) as moot:
            stub.script(Behaviour(json_text=drafted()))
            await Changes(moot).propose("passkeys", "Passkeys for all.", silent, GIVEN)

    asyncio.run(propose())
    return ChangeFolder("passkeys", root / "moot" / "changes" / "passkeys")


def challenge(folder: ChangeFolder, stub: StubServer, engine: str = "model") -> list[str]:
    told: list[str] = []

    async def work() -> None:
        async with at_the_stub(stub, folder.path.parents[2]) as moot:
            await Challenging(Changes(moot)).challenge("passkeys", engine, told.append)

    asyncio.run(work())
    return told


def test_who_drafts_and_who_reviews_see_it(folder: ChangeFolder, stub: StubServer) -> None:
    assert len(shown(stub.requests[0])) == 1
    assert "you see it with the first of the messages, as E2" in stub.requests[0].said
    stub.script(READS, APPENDS)
    challenge(folder, stub)
    for request in stub.requests[1:]:
        assert len(shown(request)) == 1
        assert "you see it with the first of the messages, as E2" in request.said


def test_a_program_is_not_shown_it_and_the_person_hears_so(
    folder: ChangeFolder, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.changes.challenge.find", FakeReviewer().found)
    told = challenge(folder, stub, "codex")
    assert "codex reviews by text alone, and is not shown the images: E2 (shot.png)" in told


def test_what_lies_in_its_place_and_is_another_is_shown_to_nobody(folder: ChangeFolder) -> None:
    [kept] = (folder.path / "evidence").iterdir()
    assert kept.read_bytes() == PNG
    assert [one.name for one in images.sources(folder)] == ["E2 (shot.png)"]
    kept.write_bytes(PNG + b"!")
    assert images.sources(folder) == ()
    kept.unlink()
    assert images.sources(folder) == ()
    kept.symlink_to("/etc/hostname")
    assert images.sources(folder) == ()
