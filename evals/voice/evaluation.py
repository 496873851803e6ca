"""Analyses with roundtables in every phase, and who wrote what, guessed blind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import evals.voice
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.person import Turn
from evals.planted.evaluation import GOES_ON
from evals.prose import shorten
from evals.room import Room
from evals.transcripts import Reply, Transcript
from evals.voice.identification import Sample, identify
from evals.voice.transcripts import blind
from evals.workspaces import VANLOAD

AT_THE_TABLE = "told apart at roundtables"
AT_STEPS = "told apart at steps"
_KINDS = {"PersonaContributed": AT_THE_TABLE, "StepOpened": AT_STEPS}
_FIRST_NAMES = ("Maya", "Alex", "Jordan")


@dataclass(frozen=True)
class Item:
    id: str
    title: str
    answer: str

    @property
    def turns(self) -> tuple[Turn, ...]:
        """One step of each phase, and a roundtable at it."""
        at_a_table = (
            Turn("menu", choice="elaborate"),
            Turn("roundtable", "What would go wrong first?"),
            Turn("roundtable", "And what would you each leave out?"),
            Turn("roundtable", choice="done"),
        )
        through = [turn for _ in range(4) for turn in (*at_a_table, Turn("menu", choice="skip-phase"))]
        return (Turn("00-01", self.answer), *through, *at_a_table)


CASES = (
    Item(
        "offline",
        "Offline mode",
        "About twenty people. They lose what they typed when the connection breaks.",
    ),
    Item("late-orders", "Late orders", "Twelve a week; the desk writes them into a green book."),
    Item("price-alerts", "Price alerts", "Shops ask for it. Nobody knows how often prices change."),
    Item("sign-on", "Single sign-on", "Drivers share one password, and it is on the wall."),
)


async def hold(case: Item, room: Room) -> None:
    await sessions.analysis(room, case.title, "", room.script(case.turns, GOES_ON))


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for kind, measure in _KINDS.items() for check in _told_apart(transcripts, kind, measure)]


def _told_apart(transcripts: Sequence[Transcript], kind: str, measure: str) -> Iterator[Check]:
    said = [[reply for reply in one.replies if reply.kind == kind and reply.by] for one in transcripts]
    spoke = [replies for replies in said if replies]
    if len(spoke) < 2:
        return
    guessed = identify([[_sample(reply) for reply in replies] for replies in spoke]).identified
    for reply, one in zip((reply for replies in spoke for reply in replies), guessed, strict=True):
        note = f"{one.speaker} taken for {one.taken_for}: {shorten(reply.text)}"
        yield Check(measure, one.taken_for == one.speaker, note)


def _sample(reply: Reply) -> Sample:
    return reply.by, blind(str(reply.value.get("text", "")), _FIRST_NAMES)


def files(_: Item) -> Mapping[str, str]:
    return VANLOAD


EVALUATION: Evaluation[Item] = Evaluation(
    name="voice",
    about=evals.voice.__doc__ or "",
    measures=(AT_THE_TABLE, AT_STEPS),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=75,
    tokens=(3_500, 250),
)
