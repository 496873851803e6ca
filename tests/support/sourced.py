"""An item that was analysed and a board that was held, for a change to be made from. Nobody was asked: what
they said is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from moot.analysis.events import (
    AnalysisEvent,
    AnalysisOpened,
    AnswerGiven,
    MenuChosen,
    StepAssessed,
    StepCompleted,
    StepOpened,
    StepRef,
    Voice,
    WorkspaceScanned,
)
from moot.analysis.flow import ANALYSIS
from moot.analysis.items import ItemFolder, ItemFolders
from moot.app import Moot
from moot.board.events import (
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    Brief,
    BriefDrafted,
    ChallengeMade,
    ChallengeReplied,
    ConditionTicked,
    Consensus,
    DecisionPresented,
    Recommendation,
    Tension,
)
from moot.board.flow import BOARD
from moot.core.flow import Usage
from moot.files.layout import Workspace
from tests.support.board_held import MEMBERS

BILL = Usage("m", 1, 1, None, 1)
STEP = StepRef("00-01", "Scope", "00-quick-scan", "business-analyst", "standard", ("quick-scan.md",))
FIRST, SECOND = MEMBERS[0], MEMBERS[1]


@dataclass(frozen=True)
class Notes:
    """Of the one step of an analysis."""

    said: str = "An order must never be lost."
    decided: Sequence[str] = ("An order that cannot be sent is kept on the device.",)
    rejected: Sequence[str] = ("A database on the device.",)
    left_open: Sequence[str] = ("For how long an order is kept.",)
    artifact: str = "# Quick scan\n\n- There is no queue.\n"


async def write_item(root: Path, notes: Notes, *more: AnalysisEvent) -> ItemFolder:
    item = ItemFolders(Workspace.at(root)).create(
        "offline-mode", "manual", "Offline mode", description="Stalls lose their network."
    )
    voice = Voice("business-analyst", "Maya Chen", "Business Analyst")
    settled = (tuple(notes.decided), tuple(notes.rejected))
    events = (
        AnalysisOpened("offline-mode", "Offline mode", "m", (STEP,), (voice,), "Stalls lose their network."),
        WorkspaceScanned("Nothing.", "standard"),
        StepOpened("00-01", "What matters?", BILL),
        AnswerGiven("00-01", notes.said),
        StepAssessed("00-01", "Noted.", {}, tuple(notes.left_open), "", BILL, *settled),
        StepCompleted("00-01", ("quick-scan.md",)),
        *more,
        MenuChosen("C"),
    )
    ANALYSIS.fold(events)
    log = item.log(ANALYSIS)
    await log.read()
    for event in events:
        await log.append(event)
    item.write_artifact("quick-scan.md", lambda _: notes.artifact)
    return item


@dataclass(frozen=True)
class Held:
    """What was said on a board of two."""

    decision: str = "Should we drop paper receipts?"
    answer: str = "Since 2019."
    views: tuple[str, str] = ("Drop them.", "Wait for a season.")
    challenge: str = "Nobody has asked for one in May."
    reply: str = "Then I give way."
    recommends: str = "Print on request only."
    conditions: Sequence[str] = ("Every sale is recorded first.", "The tax adviser agrees.")
    dissent: str = "Those who claim expenses would be lost."


async def keep_board(moot: Moot, held: Held, *more: BoardEvent, owner: str = "") -> str:
    """The id of its session."""
    bodies = [BOARD.encode(event) for event in events_of(held, *more)]
    return (await (await moot.store()).create(BOARD.name, held.decision, bodies, owner=owner)).id


def events_of(held: Held, *more: BoardEvent) -> list[BoardEvent]:
    tension = Tension((FIRST.name, SECOND.name), "Whether anybody needs paper", held.dissent)
    brief = Brief(
        Consensus(("Record every sale.",), "strong"),
        (tension,),
        (),
        Recommendation(held.recommends, "moderate", tuple(held.conditions)),
    )
    return [
        DecisionPresented(held.decision, (FIRST, SECOND), "independent", "anthropic:m"),
        BoardConvened((Answer("Since when?", held.answer),)),
        AdvisorSpoke(FIRST.id, held.views[0], BILL),
        AdvisorSpoke(SECOND.id, held.views[1], BILL),
        ChallengeMade(SECOND.id, held.challenge),
        ChallengeReplied(SECOND.id, held.reply, BILL),
        BriefDrafted(brief, BILL),
        ConditionTicked(held.conditions[-1]),
        *more,
    ]
