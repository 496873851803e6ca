"""A board session that nobody has to speak for: written to the database as its events, to its brief."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from moot.board.events import (
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    Consensus,
    DecisionPresented,
    Member,
    Recommendation,
    Tension,
)
from moot.board.flow import BOARD
from moot.core.flow import Usage
from moot.store.database import sqlite_url
from moot.store.sessions import open_store

DECISION = "Should we open a second shop?"
BRIEF = Brief(
    Consensus(("The market is real.",), "strong"),
    (Tension(("The Strategist", "The Mentor"), "Speed or depth", "Hire first."),),
    ("Nobody asked the customers.",),
    Recommendation("Wait for spring.", "moderate", ("Cash lasts a year.", "The team agrees.")),
)
MEMBERS = (
    Member("the-strategist", "The Strategist", "Sees the whole field", "integrator"),
    Member("the-mentor", "The Mentor", "Grows people", "sense-checker"),
)
BILL = Usage("openai:gpt-x", 100, 20, None, 900)


def events(
    decision: str = DECISION,
    model: str = "openai:gpt-x",
    words: str = "Not yet, because of the lease.",
    brief: Brief = BRIEF,
    members: tuple[Member, ...] = MEMBERS,
) -> list[BoardEvent]:
    return [
        DecisionPresented(decision, members, "independent", model),
        BoardConvened(),
        *(AdvisorSpoke(member.id, words, BILL) for member in members),
        BriefDrafted(brief, BILL),
    ]


def keep(folder: Path, happened: Sequence[BoardEvent]) -> str:
    """In the database that a command finds whose user and workspace are in `folder`; the session's id."""

    workspace = str(folder.resolve())

    async def create() -> str:
        url = sqlite_url(folder / "data" / "moot" / "moot.sqlite3")
        async with open_store(url, workspace) as store:
            first = happened[0]
            assert isinstance(first, DecisionPresented)
            session = await store.create(BOARD.name, first.decision, [BOARD.encode(one) for one in happened])
            return session.id

    # In a thread of its own: a test with a browser runs in a loop.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(create())).result()
