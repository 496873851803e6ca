"""A board that is held against the stub: advisors who say what a test wants, questions and briefs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from moot.board.events import BoardEvent, DecisionPresented, Member, Mode
from moot.board.flow import BOARD
from moot.board.service import PROMPTS
from moot.board.state import BoardState
from moot.config import Config
from moot.personas.library import load_library, speaking_order
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.held import Held
from tests.support.providers import Wire
from tests.support.server import BRIEF, QUESTIONS
from tests.support.speaker import speaker

LIBRARY = load_library()
ADVISORS = speaking_order(LIBRARY.members(LIBRARY.panel("board")))
MEMBERS = tuple(Member(p.id, p.name, p.role, str(p.contribution)) for p in ADVISORS)
BoardHeld = Held[BoardState, BoardEvent]


def a_board_held(
    stub: StubServer,
    folder: Path,
    wire: Wire = "anthropic",
    says: Callable[[Recorded], str] = lambda request: f"{speaker(request)} says no.",
    config: Config | None = None,
) -> BoardHeld:
    def answer(request: Recorded) -> Behaviour:
        if request.schema is None:
            return Behaviour(text=says(request))
        wanted = QUESTIONS if "questions" in request.schema["properties"] else BRIEF
        return Behaviour(json_text=json.dumps(wanted))

    stub.default = answer
    return Held(BOARD, PROMPTS, stub, folder, wire, config)


def presented(
    decision: str, model: str = "m", mode: Mode = "independent", *, looks: bool = False
) -> DecisionPresented:
    return DecisionPresented(decision, MEMBERS, mode, model, "the-devil-s-advocate", looks)


def is_questions(request: Recorded) -> bool:
    return request.schema is not None and "questions" in request.schema["properties"]


def is_brief(request: Recorded) -> bool:
    return request.schema is not None and "consensus" in request.schema["properties"]
