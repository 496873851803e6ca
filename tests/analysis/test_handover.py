"""What an analysis hands to a change: its decisions under their numbers, and nothing decided that is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

from moot.analysis.events import AnalysisEvent
from moot.analysis.flow import ANALYSIS
from moot.analysis.handover import hand_over
from moot.analysis.state import AnalysisState
from moot.core.background import LedgerCorrected
from moot.core.handover import Origin
from moot.core.ledger import Correction, Kind, lines
from tests.support.sourced import Notes, write_item


def analysed(folder: Path, *more: AnalysisEvent) -> AnalysisState:
    async def read() -> AnalysisState:
        item = await write_item(folder, Notes(), *more)
        return ANALYSIS.fold(await item.log(ANALYSIS).read())

    return asyncio.run(read())


def test_entries_keep_their_numbers_and_kinds_and_what_was_struck_is_known_to_be(tmp_path: Path) -> None:
    struck = LedgerCorrected(Correction("decided:00-01:1"))
    state = analysed(tmp_path, struck)
    handed = hand_over(state, "offline-mode", "Offline mode", "Stalls.", {"a.md": "A"}, "")
    assert lines(handed.decided) == [
        "D1. Said: An order must never be lost. (the person, at 00-01 (Scope))",
        f"D2. Said: This no longer holds: {Notes().decided[0]} (the person, at 00-01 (Scope))",
        "D3. Rejected: A database on the device. (Maya Chen's notes, at 00-01 (Scope))",
        "D4. Open: For how long an order is kept. (Maya Chen's notes, at 00-01 (Scope))",
    ]
    assert {one.number for one in ANALYSIS.ledger(state)} == {1, 3, 4}
    assert (handed.origin, handed.asked) == (
        Origin("analysis", "offline-mode", "Offline mode"), "Offline mode\n\nStalls.",
    )  # fmt: skip
    assert handed.texts == {"a.md": "A"}


def test_a_part_of_an_item_is_asked_for_in_the_person_s_words(tmp_path: Path) -> None:
    state = analysed(tmp_path)
    handed = hand_over(state, "offline-mode", "Offline mode", "", {}, "Only the queue.")
    assert handed.asked == "Only the queue.\n\nThis is about the item that was analysed:\nOffline mode"


def test_what_was_taken_back_binds_nobody_and_what_was_not_analysed_is_open(tmp_path: Path) -> None:
    state = analysed(tmp_path)
    [decided] = [one for one in ANALYSIS.ledger(state) if one.kind is Kind.DECIDED]
    back = LedgerCorrected(Correction(decided.key, f"{decided.text} [taken back at 01-01]"))
    handed = hand_over(ANALYSIS.advance(state, back), "offline-mode", "", "", {}, "x")
    [taken] = [one for one in handed.decided if "[taken back at" in one.text]
    assert (taken.kind, taken.number) == (Kind.SAID, decided.number or 2)
