from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.ask.flow import (
    ASK,
    MAX_QUESTION,
    TRANSITIONS,
    AnswerFailed,
    AnswerGiven,
    AskEvent,
    AskOpened,
    AskState,
    QuestionAsked,
    RetryChosen,
    Step,
)
from moot.core.conversation import PERSON
from moot.core.flow import AskPerson, AskPersona, PersonaFailed, PersonAnswered, PersonaSpoke, Usage
from moot.errors import IllegalMove, InvalidInput

BILL = Usage("local", 10, 5, 0.0, 800)
OPENED = AskOpened("the-strategist", "local")

EVENTS: dict[type, AskEvent] = {
    AskOpened: OPENED,
    QuestionAsked: QuestionAsked("Should we?"),
    AnswerGiven: AnswerGiven("Yes.", BILL),
    AnswerFailed: AnswerFailed("ProviderDown", "529"),
    RetryChosen: RetryChosen(),
}

ON_THE_WAY: dict[Step, list[AskEvent]] = {
    Step.UNOPENED: [],
    Step.QUESTION: [OPENED],
    Step.ANSWER: [OPENED, EVENTS[QuestionAsked]],
    Step.FOLLOW_UP: [OPENED, EVENTS[QuestionAsked], EVENTS[AnswerGiven]],
    Step.FAILED: [OPENED, EVENTS[QuestionAsked], EVENTS[AnswerFailed]],
}


def state_at(step: Step) -> AskState:
    state = ASK.fold(ON_THE_WAY[step])
    assert state.step is step
    return state


@pytest.mark.parametrize(("step", "kind"), TRANSITIONS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_each_legal_event_leads_where_the_table_says(step: Step, kind: type) -> None:
    assert ASK.advance(state_at(step), EVENTS[kind]).step is TRANSITIONS[step, kind]


ILLEGAL = [pair for pair in itertools.product(Step, EVENTS) if pair not in TRANSITIONS]


@pytest.mark.parametrize(("step", "kind"), ILLEGAL, ids=lambda part: getattr(part, "__name__", str(part)))
def test_each_illegal_event_raises_and_names_what_is_allowed(step: Step, kind: type) -> None:
    state = state_at(step)
    with pytest.raises(IllegalMove) as raised:
        ASK.advance(state, EVENTS[kind])
    assert raised.value.allowed == tuple(event.__name__ for at, event in TRANSITIONS if at is step)
    assert state == state_at(step)


def test_a_whole_conversation() -> None:
    state = ASK.fold(
        [
            OPENED,
            QuestionAsked("Should we?"),
            AnswerFailed("RateLimited", "429"),
            RetryChosen(),
            AnswerGiven("Yes.", BILL),
            QuestionAsked("Why?"),
            AnswerGiven("Because.", BILL),
        ]
    )
    assert [(entry.speaker, entry.content) for entry in state.conversation] == [
        (PERSON, "Should we?"),
        ("the-strategist", "Yes."),
        (PERSON, "Why?"),
        ("the-strategist", "Because."),
    ]
    assert state.bills == (BILL, BILL)
    assert state.failure is None


def test_after_a_failure_another_question_takes_the_place_of_the_unanswered_one() -> None:
    state = ASK.fold([*ON_THE_WAY[Step.FAILED], QuestionAsked("Then should I?")])
    assert [entry.content for entry in state.conversation] == ["Then should I?"]


def test_each_step_asks_for_exactly_what_it_needs() -> None:
    assert ASK.pending(state_at(Step.UNOPENED)) == ()
    assert ASK.pending(state_at(Step.ANSWER)) == (AskPersona("the-strategist", "ask/answer", "1"),)
    (question,) = ASK.pending(state_at(Step.QUESTION))
    (follow_up,) = ASK.pending(state_at(Step.FOLLOW_UP))
    (failed,) = ASK.pending(state_at(Step.FAILED))
    assert isinstance(question, AskPerson)
    assert isinstance(follow_up, AskPerson)
    assert isinstance(failed, AskPerson)
    assert (question.optional, follow_up.optional, failed.optional) == (False, True, False)
    assert [choice.id for choice in failed.choices] == ["retry"]
    assert question.free_text
    assert follow_up.free_text
    assert failed.free_text


def test_a_retry_is_another_asking() -> None:
    again = ASK.advance(state_at(Step.FAILED), RetryChosen())
    assert ASK.pending(again) != ASK.pending(state_at(Step.ANSWER))


@pytest.mark.parametrize(
    ("step", "outcome", "event"),
    [
        (Step.QUESTION, PersonAnswered("  Should we? "), QuestionAsked("Should we?")),
        (Step.FOLLOW_UP, PersonAnswered("r"), QuestionAsked("r")),
        (Step.FAILED, PersonAnswered(choice="retry"), RetryChosen()),
        (Step.FAILED, PersonAnswered("really?"), QuestionAsked("really?")),
        (Step.ANSWER, PersonaSpoke("Yes.", BILL), AnswerGiven("Yes.", BILL)),
        (Step.ANSWER, PersonaFailed("ReplyEmpty", "no word"), AnswerFailed("ReplyEmpty", "no word")),
    ],
)
def test_outcomes_become_events(step: Step, outcome: object, event: AskEvent) -> None:
    state = state_at(step)
    (effect,) = ASK.pending(state)
    assert ASK.record(state, effect, outcome) == event  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", " \n", "x" * (MAX_QUESTION + 1)])
def test_a_question_has_words_and_a_limit(text: str) -> None:
    with pytest.raises(InvalidInput, match="question"):
        ASK.advance(state_at(Step.QUESTION), QuestionAsked(text))


def test_a_question_of_exactly_the_limit_is_taken() -> None:
    assert ASK.advance(state_at(Step.QUESTION), QuestionAsked("x" * MAX_QUESTION)).step is Step.ANSWER


@given(st.sampled_from(list(EVENTS)), st.text(min_size=1, max_size=40).filter(str.strip))
def test_events_survive_the_log(kind: type, text: str) -> None:
    event = QuestionAsked(text) if kind is QuestionAsked else EVENTS[kind]
    assert ASK.decode(ASK.encode(event)) == event


@given(st.lists(st.sampled_from(list(EVENTS.values())), max_size=15))
def test_whatever_happens_the_conversation_alternates_and_the_state_is_legal(events: list[AskEvent]) -> None:
    state = ASK.initial
    for event in events:
        before = state
        try:
            state = ASK.advance(state, event)
        except IllegalMove:
            assert state is before
    speakers = [entry.speaker for entry in state.conversation]
    assert speakers == [PERSON if place % 2 == 0 else "the-strategist" for place in range(len(speakers))]
    assert len(ASK.pending(state)) == (0 if state.step is Step.UNOPENED else 1)
