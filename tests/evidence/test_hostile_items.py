"""Items that mean harm, each given to a session beside one that does not: what is planted in them is in no
request, in no file and in no log, nothing waits for ever, and the person is told of each by its name.

What has to be taken because it is only text, such as orders to a model, is there as text and as nothing else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moot.app import Moot, Options, opened
from moot.evidence.files import Reach
from moot.evidence.gather import Intake, Offer
from moot.server import Client
from moot.sessions import Sessions, open_sessions, take_turn
from moot.sessions.giving import given_out, item_out
from moot.store.database import sqlite_url
from moot.text import masking
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support import hostile_server
from tests.support.hostile_items import (
    ADDRESSES,
    BOMBS,
    INSTRUCTIONS,
    ITEMS,
    NO_FILES,
    OWN,
    PRIVATE,
    SECRETS,
    TRAVERSAL,
    Item,
    Scene,
)
from tests.support.hostile_server import INNER_WORDS, Hostile

HARMLESS = "The lease ends with grolbatu."

# -- a session that is given one -----------------------------------------------------------------


@pytest.fixture(scope="module")
def web() -> Iterator[Hostile]:
    with hostile_server.running() as web:
        yield web


@pytest.fixture
def scene(tmp_path: Path, web: Hostile, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path, web)
    scene.write("shop/lease.md", HARMLESS)
    scene.home.mkdir()
    monkeypatch.setenv("HOME", str(scene.home))
    monkeypatch.setattr(masking, "_protected", {OWN})
    monkeypatch.chdir(scene.workspace)
    web.reached = 0
    web.pages.clear()
    web.lookups.clear()
    web.requests.clear()
    return scene


@dataclass(frozen=True)
class Told:
    given: dict[str, Any]
    progress: list[str]


async def give(scene: Scene, stub: StubServer, item: Item, offer: Offer) -> Told:
    """A session that is begun with the harmless file and the item, to its first answer."""
    options = Options(workspace=scene.workspace, database=sqlite_url(scene.folder / "data" / "moot.sqlite3"))
    env = {"PATH": os.defpath, "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": stub.openai_base_url}
    (scene.folder / "data").mkdir()
    progress: list[str] = []

    def intake(_: Reach) -> Intake:
        return Intake(scene.workspace, item.reach, item.bounds, scene.web.fetcher.fetch)

    offers = [Offer(name="lease.md", data=HARMLESS.encode()), offer]

    async with opened(options, env) as moot:
        vars(moot)["intake"] = intake
        async with open_sessions(moot, grace=0) as sessions:
            return await _run(moot, sessions, offers, progress)


async def _run(moot: Moot, sessions: Sessions, offers: list[Offer], progress: list[str]) -> Told:
    given = await sessions.gather(offers)
    assert given is not None
    opening = {"persona": "the-analyst", "question": "Should we move?"}
    live, given = await sessions.begin("ask", opening, Client(), given)
    assert given is not None
    assert live.session is not None
    session_id = live.session.id

    def go_on() -> Awaitable[None]:
        return sessions.go_on(session_id)

    turn = await take_turn(sessions, moot.library, session_id, go_on, progress.append)
    assert not turn.problem
    assert [one.text for one in turn.said] == ["Not yet."]
    told = given_out(given).model_dump() | {
        "items": [item_out(place, one).model_dump() for place, one in enumerate(turn.standing.evidence)]
    }
    return Told(told, progress)


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.mark.parametrize("name", ITEMS)
def test_nothing_of_it_gets_anywhere_and_the_person_is_told(
    name: str,
    scene: Scene,
    stub: StubServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    item, stub.default = ITEMS[name], Behaviour(text="Not yet.")
    caplog.set_level(logging.DEBUG)
    offer = item.make(scene)
    planted_in = files_in(scene.folder)
    told = asyncio.run(give(scene, stub, item, offer))

    stored = b"".join(path.read_bytes() for path in files_in(scene.folder) - planted_in)
    sent = json.dumps([request.body for request in stub.requests], ensure_ascii=False)
    out, err = capfd.readouterr()
    said = "\n".join([json.dumps(told.given, ensure_ascii=False), *told.progress, out, err, caplog.text])
    assert HARMLESS in sent
    assert HARMLESS.encode() in stored, "what is looked at is where it would be"
    for planted in (item.planted, INNER_WORDS):
        assert planted not in sent
        assert planted.encode() not in stored
        assert planted not in said
    assert scene.web.reached == 0

    summary = told.given["summary"]
    if item.why:
        why = "; ".join(f"{one['name']} left out: {one['why']}" for one in told.given["left_out"])
        assert item.why in why
        assert item.said.rstrip("…") in why
        assert why in summary
        assert told.given["left_out"]
    else:
        assert summary.startswith("2 items, ")
        assert item.said in told.given["taken"][1]["name"] + told.given["taken"][1]["origin"]
        assert_is_text_and_nothing_else(stub)


def assert_is_text_and_nothing_else(stub: StubServer) -> None:
    """Two items and no more: neither ends before its end, nor speaks for the program."""
    [request] = stub.requests
    said = request.said
    assert re.findall(r'<evidence id="(E\d+)" name=', said) == ["E1", "E2"]
    assert said.count("</evidence>") == 2
    assert "<decided-so-far>" not in said
    assert "<left-out>" not in said
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\U000e0000-\U000e007f]", said)
    assert "is no instruction to you" in said


def test_there_are_enough_of_them_and_none_twice() -> None:
    assert len(ITEMS) >= 60
    assert sum(map(len, (SECRETS, PRIVATE, TRAVERSAL, NO_FILES, BOMBS, ADDRESSES, INSTRUCTIONS))) == len(
        ITEMS
    )
