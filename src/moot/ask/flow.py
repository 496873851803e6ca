"""One persona answers a question; the person may follow up as often as they want."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec

from moot.core.background import Background, EvidenceGiven, LedgerCorrected, keep_background
from moot.core.conversation import PERSON, Conversation
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Choice,
    Effect,
    Event,
    Flow,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Table,
    Usage,
    next_step,
)
from moot.core.input import check_fits
from moot.core.ledger import Decided, correct, number
from moot.errors import InvalidInput
from moot.evidence.items import Evidence

MAX_QUESTION = 5_000
"""Characters."""


class Step(StrEnum):
    UNOPENED = "unopened"
    QUESTION = "question"
    ANSWER = "answer"
    FOLLOW_UP = "follow-up"
    FAILED = "failed"


class AskOpened(Event, frozen=True, omit_defaults=True):
    """`model` is the one that the session began with; follow-ups keep to it, so that the voice stays.
    `looks`: whoever is asked may look things up in the repository."""

    persona: str
    model: str
    looks: bool = False


class QuestionAsked(Event, frozen=True):
    text: str


class AnswerGiven(Event, frozen=True):
    text: str
    usage: Usage = msgspec.field(name="spoken")


class AnswerFailed(Event, frozen=True):
    kind: str
    message: str


class RetryChosen(Event, frozen=True):
    pass


OwnEvent = AskOpened | QuestionAsked | AnswerGiven | AnswerFailed | RetryChosen
AskEvent = OwnEvent | EvidenceGiven | LedgerCorrected

TRANSITIONS: Table = {
    (Step.UNOPENED, AskOpened): Step.QUESTION,
    (Step.QUESTION, QuestionAsked): Step.ANSWER,
    (Step.ANSWER, AnswerGiven): Step.FOLLOW_UP,
    (Step.ANSWER, AnswerFailed): Step.FAILED,
    (Step.FOLLOW_UP, QuestionAsked): Step.ANSWER,
    (Step.FAILED, RetryChosen): Step.ANSWER,
    (Step.FAILED, QuestionAsked): Step.ANSWER,
}


@dataclass(frozen=True, slots=True)
class AskState:
    step: Step = Step.UNOPENED
    persona: str = ""
    model: str = ""
    conversation: Conversation = field(default_factory=Conversation)
    attempts: int = 0
    failure: AnswerFailed | None = None
    bills: tuple[Usage, ...] = ()
    known: tuple[int, ...] = ()
    """How many items of evidence there were at each answer."""
    looks: bool = False
    background: Background = field(default_factory=Background)

    @property
    def is_open(self) -> bool:
        return self.step is not Step.UNOPENED

    def with_background(self, background: Background) -> AskState:
        return replace(self, background=background)

    @property
    def turns(self) -> int:
        return len(self.conversation)

    @property
    def answers(self) -> tuple[tuple[str, tuple[Evidence, ...]], ...]:
        """Each with the evidence that there was: what came later bears out no earlier citation."""
        said = (entry.content for entry in self.conversation if entry.speaker != PERSON)
        return tuple(
            (text, self.background.evidence[:known]) for text, known in zip(said, self.known, strict=True)
        )


def advance_own(state: AskState, event: OwnEvent) -> AskState:
    step = next_step(TRANSITIONS, state.step, event)
    match event:
        case AskOpened(persona, model, looks):
            return replace(state, step=step, persona=persona, model=model, looks=looks)
        case QuestionAsked(text):
            _check(text)
            # After a failure, a new question takes the place of the one that got no answer.
            before = state.conversation.without_last() if state.step is Step.FAILED else state.conversation
            return replace(
                state,
                step=step,
                conversation=before.said(PERSON, Step.QUESTION, text),
                attempts=state.attempts + 1,
                failure=None,
            )
        case AnswerGiven(text, usage):
            said = state.conversation.said(state.persona, Step.ANSWER, text)
            known = (*state.known, len(state.background.evidence))
            return replace(state, step=step, conversation=said, bills=(*state.bills, usage), known=known)
        case AnswerFailed():
            return replace(state, step=step, failure=event)
        case RetryChosen():
            return replace(state, step=step, attempts=state.attempts + 1, failure=None)


advance = keep_background(advance_own)


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidInput("question", "is empty: ask something")
    check_fits("question", text, MAX_QUESTION)


_RETRY = Choice("retry", "Retry: ask the same again")


def pending(state: AskState) -> tuple[Effect, ...]:
    key = str(state.attempts)
    match state.step:
        case Step.QUESTION:
            return (AskPerson(Step.QUESTION, "your question", key, free_text=True),)
        case Step.ANSWER:
            return (AskPersona(state.persona, "ask/answer", key),)
        case Step.FOLLOW_UP:
            asked = "a follow-up question"
            return (AskPerson(Step.FOLLOW_UP, asked, key, optional=True, free_text=True),)
        case Step.FAILED:
            return (AskPerson(Step.FAILED, "a retry, or another question", key, (_RETRY,), free_text=True),)
        case _:
            return ()


def record(_state: AskState, effect: Effect, outcome: Outcome) -> AskEvent:
    match outcome:
        case PersonaSpoke(text, usage):
            return AnswerGiven(text, usage)
        case PersonaFailed(kind, message):
            return AnswerFailed(kind, message)
        case PersonAnswered(choice="retry"):
            return RetryChosen()
        case PersonAnswered(text):
            return QuestionAsked(text.strip())
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def ledger(state: AskState) -> tuple[Decided, ...]:
    """What the person has said to hold. All else is in the conversation, which is always carried whole."""
    corrections = state.background.corrections
    return number(correct((), corrections), dict.fromkeys(one.key for one in corrections))


ASK: Flow[AskState, AskEvent] = Flow(
    name="ask",
    initial=AskState(),
    events=AskEvent,
    advance=advance,
    pending=pending,
    make_event=record,
    ledger=ledger,
)
