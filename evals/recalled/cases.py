"""What is settled and ruled out, and where that has to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from evals.person import Turn
from evals.prose import Groups
from evals.workspaces import VANLOAD


@dataclass(frozen=True)
class Settled:
    """`out` are words for what is ruled out. A question that has a word of each group of `settled` asks it again. `kept`
    are words that the last reply of kind `kept_in` has to have."""

    id: str
    format: Literal["ask", "board", "analysis", "brainstorm", "change"]
    subject: str
    turns: Sequence[Turn] = ()
    out: Sequence[str] = ()
    settled: Groups = ()
    kept: Groups = ()
    kept_in: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


LATER = "later"
DATABASES = (
    "database",
    "databases",
    "sqlite",
    "postgres",
    "postgresql",
    "mysql",
    "sql",
    "redis",
    "duckdb",
    "mongodb",
)
MESSAGES = ("text message", "text messages", "SMS", "texting")
LOANS = ("loan", "loans", "borrow", "borrowing", "credit", "overdraft")
_IDEA = "Tell a customer by what time their van will be there"
_NO_DATABASE = "One thing is decided: no database of any kind. Two people keep this running, and neither wants to look after one."
_SLOTS = "It is settled that slots are half an hour long; the co-op has printed it already."
_NO_MESSAGES = "No text messages: the works council has ruled them out, and that is final."
_NO_LOAN = "Borrowing is out of the question; our statutes forbid it."
_DEEPER = Turn("triage", choice="exploration|agree", during=LATER)

CASES = (
    Settled(
        id="brainstorm-no-database",
        format="brainstorm",
        subject=_IDEA,
        turns=(
            Turn("triage", _NO_DATABASE, choice="discuss"),
            _DEEPER,
            Turn("questions", choice="finish"),
            Turn("approaches", choice="agree"),
        ),
        out=DATABASES,
        files=VANLOAD,
    ),
    Settled(
        id="brainstorm-slots",
        format="brainstorm",
        subject=_IDEA,
        turns=(
            Turn("triage", _SLOTS, choice="discuss"),
            _DEEPER,
            Turn("questions", choice="finish"),
            Turn("approaches", choice="agree"),
        ),
        settled=(
            ("slot", "slots", "window", "windows"),
            ("how long", "length", "duration", "how wide", "how many minutes"),
        ),
        kept=(
            (
                "half an hour",
                "half-hour",
                "half hour",
                "30 minutes",
                "30-minute",
                "thirty minutes",
                "thirty-minute",
            ),
        ),
        kept_in="DesignDrafted",
        files=VANLOAD,
    ),
    Settled(
        id="brainstorm-first-words",
        format="brainstorm",
        subject=f"{_IDEA}. {_NO_MESSAGES}",
        turns=(
            Turn("triage", choice="exploration|agree", during=LATER),
            Turn("questions", "Which of these matters most?", choice="discuss"),
            Turn("questions", choice="finish"),
            Turn("approaches", choice="agree"),
        ),
        out=MESSAGES,
        files=VANLOAD,
    ),
    Settled(
        id="analysis-no-messages",
        format="analysis",
        subject="Late orders",
        turns=(
            Turn("00-01", _NO_MESSAGES),
            Turn("menu", choice="skip-phase", during=LATER),
            Turn("menu", choice="continue"),
            Turn("menu", "How would people hear that they are late?"),
        ),
        out=MESSAGES,
        files=VANLOAD,
    ),
    Settled(
        id="analysis-architecture",
        format="analysis",
        subject="Late orders",
        turns=(
            Turn("00-01", _NO_DATABASE),
            *(Turn("menu", choice="skip-phase", during=LATER) for _ in range(3)),
            Turn("menu", "Which options for keeping late orders do you see?"),
        ),
        out=DATABASES,
        files=VANLOAD,
    ),
    Settled(
        id="roundtable-to-next-step",
        format="analysis",
        subject="Late orders",
        turns=(
            Turn("menu", choice="elaborate"),
            Turn("roundtable", _NO_DATABASE),
            Turn("roundtable", choice="done", during=LATER),
            Turn("menu", choice="continue"),
            Turn("menu", "Where should late orders be kept?"),
        ),
        out=DATABASES,
        files=VANLOAD,
    ),
    Settled(
        id="board-no-loan",
        format="board",
        subject="The choir's hall needs a boiler for 6,400 euros, and we have 1,900. How do we go about it?",
        turns=(
            Turn("answers", _NO_LOAN),
            Turn("answers", choice="convene", during=LATER),
            Turn("challenge", "How would you get the rest together?"),
            Turn("challenge", choice="brief|next"),
        ),
        out=LOANS,
    ),
    Settled(
        id="ask-no-loan",
        format="ask",
        subject="the-pragmatist",
        turns=(
            Turn(
                "question",
                f"Our hall needs a boiler for 6,400 euros, and we have 1,900. {_NO_LOAN} What first?",
                during=LATER,
            ),
            Turn("follow-up", "And what if that does not work?"),
            Turn("follow-up", "Give me three ways to get the rest together."),
        ),
        out=LOANS,
    ),
    Settled(
        id="change-no-database",
        format="change",
        subject=f"Keep late orders for the next day instead of refusing them. {_NO_DATABASE} They go into late.jsonl.",
        out=DATABASES,
        kept=(("late.jsonl",),),
        kept_in="ProposalDrafted",
        files=VANLOAD,
    ),
)
