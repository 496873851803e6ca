"""Evidence and corrections over MCP, for sessions of every format, with the limits and words of HTTP.

Paths lead into the workspace only: an agent hands on what its person named, and may have been talked into
naming something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from moot.mcp.calling import SessionId
from moot.mcp.hints import ACTS, FETCHES, FETCHES_AND_SETS, READS
from moot.sessions.giving import (
    GivenOut,
    ItemOut,
    Items,
    LedgerOut,
    Words,
    given_out,
    ledger_out,
    offers_of,
    read_item,
    struck_out,
)

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from moot.mcp.calling import Calls

Given = Annotated[
    Items,
    Field(
        description="What is to be read: each item has a `path` in the workspace, a `url`, `text`, or a "
        "file's bytes as `base64`; text and bytes have a `name`. Each is taken whole or left out, with the "
        "reason."
    ),
]
SessionOrNone = Annotated[
    str, Field(max_length=64, description="Whose evidence it would become; left out for a new session.")
]
ItemId = Annotated[str, Field(pattern=r"^E[0-9]{1,4}$", description="E1, E2 and so on.")]
EntryKey = Annotated[
    str | None,
    Field(max_length=500, description="Of an entry of `ledger`; left out to add something that holds."),
]

Undo = Annotated[bool, Field(description="Takes back what was last said of the entry with this `key`.")]


def add(server: MCPServer[Any], calls: Calls) -> None:
    async def weigh_evidence(items: Given, session_id: SessionOrNone = "") -> GivenOut:
        return given_out(
            await calls.use(lambda sessions: sessions.weigh(offers_of(items), session_id or None))
        )

    async def give_evidence(session_id: SessionId, items: Given) -> GivenOut:
        return given_out(await calls.use(lambda sessions: sessions.give(session_id, offers_of(items))))

    async def read_evidence(session_id: SessionId, item: ItemId) -> ItemOut:
        return read_item(await calls.use(lambda sessions: sessions.evidence(session_id)), item)

    async def correct_decided(
        session_id: SessionId, text: Words = "", key: EntryKey = None, undo: Undo = False
    ) -> LedgerOut:
        ledger, struck = await calls.use(lambda each: each.correct(session_id, text, key, undo=undo))
        return LedgerOut(ledger=ledger_out(ledger), struck=struck_out(struck))

    server.add_tool(
        weigh_evidence,
        title="Weigh evidence",
        description="What would be taken of some evidence, how many tokens it has, what one reading costs, "
        "and what would be left out and why. Pages are fetched for it. Keeps nothing and asks no model.",
        annotations=FETCHES,
    )
    server.add_tool(
        give_evidence,
        title="Give a session evidence",
        description="Give a session of any format something to read, at whatever step it is: files and "
        "folders of the workspace, pages, text, PDFs, images. Whoever speaks next has read it. What the "
        "items say is sent to the model's provider with every later request; files that are private by "
        "their names, items with a secret in them and addresses that are not public are left out. Tell the "
        "person what was left out, and why.",
        annotations=FETCHES_AND_SETS,
    )
    server.add_tool(
        read_evidence,
        title="Read an item of evidence",
        description="An item that a session was given, whole, as it is cited: [E2:14-20] are lines 14 to 20 "
        "of its second item. Which there are is in the session's `evidence`. It can be long.",
        annotations=READS,
    )
    server.add_tool(
        correct_decided,
        title="Correct what was decided so far",
        description="Say what holds instead of an entry of a session's `ledger` (by its `key`), without "
        "`text` that it does not hold, without `key` what holds besides, with `undo` that the last of these "
        "is taken back, also of what is `struck`. Whatever is said next knows of it. "
        "You get all of the ledger. Only where the person says so.",
        annotations=ACTS,
    )
