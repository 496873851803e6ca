from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.board.events import (
    MAX_ANSWER,
    MAX_ANSWERS,
    MAX_CHALLENGE,
    MAX_CHALLENGES,
    MAX_DECISION,
    MAX_MEMBERS,
    AdvisorFailed,
    AdvisorPassed,
    AdvisorRetried,
    AdvisorSpoke,
    Answer,
    BoardConvened,
    BoardEvent,
    BoardResumed,
    BoardStopped,
    Brief,
    BriefDrafted,
    BriefFailed,
    BriefRequested,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
    ConditionTicked,
    Consensus,
    DecisionPresented,
    DraftedQuestion,
    Member,
    Mode,
    Question,
    QuestionAnswered,
    Questions,
    QuestionsDrafted,
    QuestionsFailed,
    Recommendation,
    RecordRequested,
    Tension,
)
from moot.board.flow import BOARD, TRANSITIONS, ask_again, go_on, stop
from moot.board.state import BoardState, Exchange, Step
from moot.cli.menu_lines import read_line
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Choice,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Takes,
    Usage,
)
from moot.core.input import check_text
from moot.errors import IllegalMove, InvalidInput, NotNow
from moot.text.characters import strip_controls

BILL = Usage("local", 10, 5, 0.0, 800)
QUESTION = Question("q1", "How long can you wait?", "months")
BRIEF = Brief(
    Consensus(("Ship something.",), "moderate"),
    (Tension(("Ada", "Ben"), "speed", "quality suffers"),),
    ("the competition",),
    Recommendation("Ship in May.", "low", ("the tests pass",)),
)
OTHER_BRIEF = msgspec.structs.replace(BRIEF, blind_spots=())


def member(persona: str) -> Member:
    return Member(persona, persona.capitalize(), "an advisor", "challenger")


def present(*personas: str, mode: Mode = "independent") -> DecisionPresented:
    return DecisionPresented("Should we ship?", tuple(member(each) for each in personas), mode, "local")


def spoke(persona: str) -> AdvisorSpoke:
    return AdvisorSpoke(persona, f"{persona}'s view", BILL)


def failed(persona: str) -> AdvisorFailed:
    return AdvisorFailed(persona, "ProviderDown", "529")


def replied(persona: str, text: str = "I still think so.") -> ChallengeReplied:
    return ChallengeReplied(persona, text, BILL)


WHY = ChallengeMade("ada", "Why?")
DRAFTED = BriefDrafted(BRIEF, BILL)
TICK = ConditionTicked("the tests pass")
UNDRAFTED = BriefFailed("DraftInvalid", "no JSON", "Well, …", 7.0)

EVENTS: dict[type, BoardEvent] = {
    DecisionPresented: present("ada", "ben"),
    QuestionsDrafted: QuestionsDrafted((QUESTION,), BILL),
    QuestionsFailed: QuestionsFailed("ProviderDown", "529"),
    QuestionAnswered: QuestionAnswered("q1", "Till May."),
    BoardConvened: BoardConvened(),
    AdvisorSpoke: spoke("ada"),
    AdvisorFailed: failed("ada"),
    AdvisorRetried: AdvisorRetried("ada"),
    BoardStopped: BoardStopped(),
    BoardResumed: BoardResumed(),
    ChallengeMade: WHY,
    ChallengeReplied: replied("ada"),
    ChallengeWithdrawn: ChallengeWithdrawn("ada"),
    AdvisorPassed: AdvisorPassed("ada"),
    BriefRequested: BriefRequested(),
    BriefDrafted: DRAFTED,
    BriefFailed: UNDRAFTED,
    ConditionTicked: ConditionTicked("the tests pass"),
    RecordRequested: RecordRequested("record.md"),
}


def asked_of_models(state: BoardState) -> tuple[Effect, ...]:
    return tuple(effect for effect in BOARD.pending(state) if not isinstance(effect, AskPerson))


OPENED: list[BoardEvent] = [present("ada", "ben")]
CONVENED: list[BoardEvent] = [*OPENED, BoardConvened()]
ONE_SPOKE: list[BoardEvent] = [*CONVENED, spoke("ada")]
BOTH_SPOKE: list[BoardEvent] = [*ONE_SPOKE, spoke("ben")]
ONE_FAILED: list[BoardEvent] = [*ONE_SPOKE, failed("ben")]
REVIEWED: list[BoardEvent] = [*BOTH_SPOKE, DRAFTED]
REVIEWED_WITH_ONE: list[BoardEvent] = [*ONE_FAILED, DRAFTED]
RETRIED: list[BoardEvent] = [*REVIEWED_WITH_ONE, AdvisorRetried("ben")]

ON_THE_WAY: dict[Step, list[BoardEvent]] = {
    Step.UNOPENED: [],
    Step.QUESTIONS: OPENED,
    Step.ANSWERS: [*OPENED, EVENTS[QuestionsDrafted]],
    Step.ADVISORS: CONVENED,
    Step.BRIEF: BOTH_SPOKE,
    Step.REVIEW: REVIEWED,
}

LEGAL: list[tuple[Step, list[BoardEvent], BoardEvent, Step]] = [
    (Step.UNOPENED, [], present("ada"), Step.QUESTIONS),
    (Step.QUESTIONS, OPENED, EVENTS[QuestionsDrafted], Step.ANSWERS),
    (Step.QUESTIONS, OPENED, EVENTS[QuestionsFailed], Step.ANSWERS),
    (Step.QUESTIONS, OPENED, BoardConvened(), Step.ADVISORS),
    (Step.ANSWERS, ON_THE_WAY[Step.ANSWERS], EVENTS[QuestionAnswered], Step.ANSWERS),
    (Step.ANSWERS, ON_THE_WAY[Step.ANSWERS], BoardConvened(), Step.ADVISORS),
    (Step.ADVISORS, CONVENED, spoke("ben"), Step.ADVISORS),
    (Step.ADVISORS, ONE_SPOKE, spoke("ben"), Step.BRIEF),
    (Step.ADVISORS, RETRIED, spoke("ben"), Step.REVIEW),
    (Step.ADVISORS, CONVENED, failed("ben"), Step.ADVISORS),
    (Step.ADVISORS, ONE_SPOKE, failed("ben"), Step.BRIEF),
    (Step.ADVISORS, RETRIED, failed("ben"), Step.REVIEW),
    (Step.ADVISORS, [*CONVENED, failed("ben")], AdvisorRetried("ben"), Step.ADVISORS),
    (Step.ADVISORS, CONVENED, BoardStopped(), Step.ADVISORS),
    (Step.ADVISORS, [*CONVENED, BoardStopped()], BoardResumed(), Step.ADVISORS),
    (Step.BRIEF, ONE_FAILED, BoardStopped(), Step.BRIEF),
    (Step.BRIEF, [*ONE_FAILED, BoardStopped()], BoardResumed(), Step.BRIEF),
    (Step.BRIEF, ONE_FAILED, AdvisorRetried("ben"), Step.ADVISORS),
    (Step.REVIEW, REVIEWED_WITH_ONE, AdvisorRetried("ben"), Step.ADVISORS),
    (Step.ADVISORS, ONE_SPOKE, WHY, Step.ADVISORS),
    (Step.BRIEF, BOTH_SPOKE, WHY, Step.BRIEF),
    (Step.REVIEW, REVIEWED, WHY, Step.REVIEW),
    (Step.ADVISORS, [*ONE_SPOKE, WHY], replied("ada"), Step.ADVISORS),
    (Step.BRIEF, [*BOTH_SPOKE, WHY], replied("ada"), Step.BRIEF),
    (Step.REVIEW, [*REVIEWED, WHY], replied("ada"), Step.REVIEW),
    (Step.ADVISORS, [*ONE_SPOKE, WHY], ChallengeWithdrawn("ada"), Step.ADVISORS),
    (Step.BRIEF, [*BOTH_SPOKE, WHY], ChallengeWithdrawn("ada"), Step.BRIEF),
    (Step.REVIEW, [*REVIEWED, WHY], ChallengeWithdrawn("ada"), Step.REVIEW),
    (Step.BRIEF, BOTH_SPOKE, DRAFTED, Step.REVIEW),
    (Step.BRIEF, BOTH_SPOKE, UNDRAFTED, Step.REVIEW),
    (Step.REVIEW, [*REVIEWED, WHY, replied("ada")], BriefRequested(), Step.BRIEF),
    (Step.REVIEW, REVIEWED, BriefRequested(), Step.REVIEW),
    (Step.ADVISORS, RETRIED, TICK, Step.ADVISORS),
    (Step.BRIEF, [*REVIEWED, WHY, replied("ada"), BriefRequested()], TICK, Step.BRIEF),
    (Step.REVIEW, REVIEWED, TICK, Step.REVIEW),
    (Step.REVIEW, REVIEWED, AdvisorPassed("ben"), Step.REVIEW),
    (Step.REVIEW, REVIEWED, RecordRequested("record.md"), Step.REVIEW),
]


def state_at(step: Step) -> BoardState:
    state = BOARD.fold(ON_THE_WAY[step])
    assert state.step is step
    return state


# -- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "history", "event", "leads_to"), LEGAL)
def test_each_legal_event_leads_where_it_should(
    step: Step, history: list[BoardEvent], event: BoardEvent, leads_to: Step
) -> None:
    before = BOARD.fold(history)
    assert (before.step, BOARD.advance(before, event).step) == (step, leads_to)


def test_the_table_holds_what_can_happen_and_nothing_else() -> None:
    reached = {(step, type(event), leads_to) for step, _, event, leads_to in LEGAL}
    assert reached == {(*pair, leads_to) for pair, steps in TRANSITIONS.items() for leads_to in steps}


ILLEGAL = [pair for pair in itertools.product(Step, EVENTS) if pair not in TRANSITIONS]


@pytest.mark.parametrize(("step", "kind"), ILLEGAL, ids=lambda part: getattr(part, "__name__", str(part)))
def test_each_illegal_event_raises_and_names_what_is_allowed(step: Step, kind: type) -> None:
    state = state_at(step)
    with pytest.raises(IllegalMove) as raised:
        BOARD.advance(state, EVENTS[kind])
    assert (raised.value.event, raised.value.step) == (kind.__name__, step)
    assert raised.value.allowed == tuple(event.__name__ for at, event in TRANSITIONS if at is step)
    assert state == state_at(step)


@pytest.mark.parametrize(
    ("history", "event"),
    [
        (ONE_SPOKE, spoke("ada")),
        ([*CONVENED, failed("ada")], spoke("ada")),
        (ONE_SPOKE, failed("ada")),
        ([*CONVENED, failed("ada")], failed("ada")),
        (CONVENED, AdvisorRetried("ada")),
        (ONE_SPOKE, AdvisorRetried("ada")),
        (ONE_SPOKE, replied("ada")),
        ([*ONE_SPOKE, WHY, replied("ada")], replied("ada")),
        ([*BOTH_SPOKE, WHY], replied("ben")),
        (ONE_SPOKE, ChallengeWithdrawn("ada")),
        ([*ONE_SPOKE, WHY, replied("ada")], ChallengeWithdrawn("ada")),
        ([*BOTH_SPOKE, WHY], ChallengeWithdrawn("ben")),
    ],
)
def test_what_the_step_takes_but_this_advisor_does_not_is_illegal(
    history: list[BoardEvent], event: Any
) -> None:
    state = BOARD.fold(history)
    with pytest.raises(IllegalMove) as raised:
        BOARD.advance(state, event)
    assert raised.value.event == type(event).__name__
    assert raised.value.step == f"{state.step}, {event.persona}"
    assert state == BOARD.fold(history)


@pytest.mark.parametrize(
    "event",
    [
        spoke("zoe"),
        failed("zoe"),
        AdvisorRetried("zoe"),
        ChallengeMade("zoe", "Why?"),
        replied("zoe"),
        ChallengeWithdrawn("zoe"),
    ],
)
def test_somebody_who_does_not_sit_on_the_board_is_not_taken(event: BoardEvent) -> None:
    with pytest.raises(InvalidInput, match="'zoe' is not an advisor") as raised:
        BOARD.advance(state_at(Step.ADVISORS), event)
    assert raised.value.field == "personaId"


# -- a whole session -----------------------------------------------------------------------------


def test_a_whole_session() -> None:
    order = ("ada", "ben", "cleo", "dan", "eve", "fay", "gil", "hal")
    state = BOARD.fold([present(*order), QuestionsDrafted((QUESTION,), BILL)])
    assert (state.step, state.questions, asked_of_models(state)) == (Step.ANSWERS, (QUESTION,), ())

    answers = (Answer("How long can you wait?", "Till May."), Answer("Who pays?", "  "))
    state = BOARD.advance(state, BoardConvened(answers))
    assert state.answers == (Answer("How long can you wait?", "Till May."),)
    assert BOARD.pending(state) == tuple(AskPersona(each, "board/advisor", "1") for each in order)

    for event in [spoke(each) for each in ("hal", "cleo", "ada", "fay", "ben")] + [failed("dan")]:
        state = BOARD.advance(state, event)
    assert BOARD.pending(state) == (
        AskPersona("eve", "board/advisor", "1"),
        AskPersona("gil", "board/advisor", "1"),
    )

    state = BOARD.advance(state, AdvisorRetried("dan"))
    assert state.advisor("dan").failure is None
    assert BOARD.pending(state)[0] == AskPersona("dan", "board/advisor", "2")

    for persona in ("gil", "dan", "eve"):
        state = BOARD.advance(state, spoke(persona))
    assert [advisor.member.id for advisor in state.advisors] == list(order)
    assert [advisor.text for advisor in state.advisors] == [f"{each}'s view" for each in order]
    assert [advisor.usage for advisor in state.advisors] == [BILL] * 8
    assert (state.step, state.contributions, state.turns) == (Step.BRIEF, 8, 8)
    assert BOARD.pending(state) == (DraftReply("board/brief", "8"),)

    state = BOARD.advance(state, DRAFTED)
    assert (state.step, state.brief, state.brief_stale) == (Step.REVIEW, BRIEF, False)
    assert asked_of_models(state) == ()

    state = BOARD.advance(state, ChallengeMade("dan", "Why?"))
    assert state.advisor("dan").challenged
    assert not state.brief_stale
    assert BOARD.pending(state) == (AskPersona("dan", "board/challenge", "1"),)
    state = BOARD.advance(state, replied("dan", "Because."))
    assert state.brief_stale
    assert asked_of_models(state) == ()
    state = BOARD.advance(state, ChallengeMade("dan", "Really?"))
    assert BOARD.pending(state) == (AskPersona("dan", "board/challenge", "2"),)
    state = BOARD.advance(state, replied("dan", "Really."))
    assert state.advisor("dan").exchanges == (
        Exchange("Why?", "Because.", BILL, 1),
        Exchange("Really?", "Really.", BILL, 2),
    )

    state = BOARD.advance(state, BriefRequested())
    assert (state.step, state.brief) == (Step.BRIEF, BRIEF)
    assert BOARD.pending(state) == (DraftReply("board/brief", "10"),)
    state = BOARD.advance(state, BriefDrafted(OTHER_BRIEF, BILL))
    assert (state.step, state.brief, state.brief_stale) == (Step.REVIEW, OTHER_BRIEF, False)
    # Questions, eight views, two replies, two briefs.
    assert state.bills == (BILL,) * 13


def test_a_session_remembers_how_it_was_opened() -> None:
    state = BOARD.fold([present("ada", "ben", mode="sequential")])
    assert (state.decision, state.mode, state.model) == ("Should we ship?", "sequential", "local")
    assert [advisor.member for advisor in state.advisors] == [member("ada"), member("ben")]


def test_nothing_is_asked_for_before_there_is_a_decision() -> None:
    assert BOARD.pending(BOARD.initial) == ()


def test_the_board_can_be_convened_while_the_questions_are_still_being_drafted() -> None:
    assert BOARD.pending(BOARD.fold(OPENED)) == (DraftReply("board/questions", "1"),)
    assert all(isinstance(effect, AskPersona) for effect in BOARD.pending(BOARD.fold(CONVENED)))


def test_questions_that_failed_hold_nobody_up() -> None:
    failure = QuestionsFailed("ProviderDown", "529", 7.0)
    state = BOARD.fold([*OPENED, failure])
    assert (state.step, state.questions, state.questions_failure) == (Step.ANSWERS, (), failure)
    assert (state.bills, asked_of_models(state)) == ((), ())


# -- advisors ------------------------------------------------------------------------------------


def test_in_sequence_one_is_asked_at_a_time_in_speaking_order() -> None:
    state = BOARD.fold([present("ada", "ben", "cleo", mode="sequential"), BoardConvened()])
    assert BOARD.pending(state) == (AskPersona("ada", "board/advisor", "1"),)
    state = BOARD.advance(state, spoke("ada"))
    assert BOARD.pending(state) == (AskPersona("ben", "board/advisor", "1"),)
    state = BOARD.advance(state, failed("ben"))
    assert BOARD.pending(state) == (AskPersona("cleo", "board/advisor", "1"),)
    state = BOARD.advance(state, AdvisorRetried("ben"))
    assert BOARD.pending(state) == (AskPersona("ben", "board/advisor", "2"),)


def test_a_board_on_which_everybody_failed_is_reviewed_without_a_brief() -> None:
    history = [*CONVENED, failed("ada"), failed("ben")]
    for state in (BOARD.fold(history), BOARD.fold([*history, BriefRequested()])):
        assert (state.step, state.brief, state.brief_stale) == (Step.REVIEW, None, False)
        assert asked_of_models(state) == ()
    saved = BOARD.fold([*history, AdvisorRetried("ben"), spoke("ben")])
    assert BOARD.pending(saved) == (DraftReply("board/brief", "1"),)


def test_a_retry_during_the_brief_puts_the_brief_off() -> None:
    retried = BOARD.fold([*ONE_FAILED, AdvisorRetried("ben")])
    assert BOARD.pending(retried) == (AskPersona("ben", "board/advisor", "2"),)
    assert BOARD.pending(BOARD.advance(retried, spoke("ben"))) == (DraftReply("board/brief", "2"),)
    assert BOARD.pending(BOARD.advance(retried, failed("ben"))) == (DraftReply("board/brief", "1"),)


def test_a_view_that_comes_after_the_brief_makes_it_stale() -> None:
    state = BOARD.fold([*RETRIED, spoke("ben")])
    assert (state.step, state.brief, state.brief_stale) == (Step.REVIEW, BRIEF, True)


# -- challenges ----------------------------------------------------------------------------------


@pytest.mark.parametrize("persona", ["ada", "ben"])
def test_a_new_challenge_drops_the_one_that_waits_for_its_reply(persona: str) -> None:
    settled = BOARD.fold([*REVIEWED, WHY, replied("ada")])
    state = BOARD.advance(settled, ChallengeMade("ada", "dropped"))
    state = BOARD.advance(state, ChallengeMade(persona, "kept"))
    assert state.advisor(persona).exchanges == (
        *settled.advisor(persona).exchanges,
        Exchange("kept", number=3),
    )
    assert sum(advisor.challenged for advisor in state.advisors) == 1
    assert BOARD.pending(state) == (AskPersona(persona, "board/challenge", "3"),)


@pytest.mark.parametrize("message", ["", "529"])
def test_a_withdrawn_challenge_leaves_no_trace_but_its_number(message: str) -> None:
    before = BOARD.fold([*REVIEWED, WHY, replied("ada")])
    after = BOARD.advance(before, ChallengeMade("ada", "Really?"))
    after = BOARD.advance(after, ChallengeWithdrawn("ada", "X", message))
    assert replace(after, challenges_made=before.challenges_made, order=before.order) == before
    # The number is kept so that what an abandoned stream still says is never taken for the next reply.
    again = BOARD.advance(after, ChallengeMade("ada", "Really?"))
    assert BOARD.pending(again) == (AskPersona("ada", "board/challenge", "3"),)


@pytest.mark.parametrize("history", [CONVENED, [*CONVENED, failed("ada")]])
def test_only_an_advisor_who_has_spoken_can_be_challenged(history: list[BoardEvent]) -> None:
    with pytest.raises(InvalidInput, match="Ada has not spoken yet") as raised:
        BOARD.advance(BOARD.fold(history), WHY)
    assert raised.value.field == "personaId"


def test_an_advisor_can_be_challenged_while_others_still_speak() -> None:
    assert BOARD.pending(BOARD.fold([*ONE_SPOKE, WHY])) == (
        AskPersona("ben", "board/advisor", "1"),
        AskPersona("ada", "board/challenge", "1"),
    )


# -- the brief -----------------------------------------------------------------------------------


def test_a_fresh_brief_is_not_drafted_again() -> None:
    assert BOARD.fold([*REVIEWED, BriefRequested()]) == replace(BOARD.fold(REVIEWED), brief_read=True)


def test_a_failed_brief_can_be_requested_again() -> None:
    state = BOARD.fold([*BOTH_SPOKE, UNDRAFTED])
    assert (state.step, state.brief, state.brief_failure) == (Step.REVIEW, None, UNDRAFTED)
    assert asked_of_models(state) == ()
    state = BOARD.advance(state, BriefRequested())
    assert state.brief_failure is None
    assert BOARD.pending(state) == (DraftReply("board/brief", "2"),)
    assert BOARD.advance(state, DRAFTED).brief == BRIEF


def test_a_failed_regeneration_keeps_the_brief_that_was_there() -> None:
    state = BOARD.fold([*REVIEWED, WHY, replied("ada"), BriefRequested(), UNDRAFTED])
    assert (state.step, state.brief, state.brief_stale) == (Step.REVIEW, BRIEF, True)
    assert state.brief_failure == UNDRAFTED
    for event in (BriefRequested(), BriefDrafted(OTHER_BRIEF, BILL)):
        state = BOARD.advance(state, event)
    assert (state.brief, state.brief_stale, state.brief_failure) == (OTHER_BRIEF, False, None)


def test_a_reply_that_comes_in_while_the_brief_is_drafted_begins_it_anew() -> None:
    waiting = BOARD.fold([*BOTH_SPOKE, WHY])
    assert BOARD.pending(waiting) == (
        AskPersona("ada", "board/challenge", "1"),
        DraftReply("board/brief", "2"),
    )
    assert BOARD.pending(BOARD.advance(waiting, replied("ada"))) == (DraftReply("board/brief", "3"),)


# -- the person ----------------------------------------------------------------------------------

TWO_QUESTIONS = (QUESTION, Question("q2", "Who pays?"))
ASKED: list[BoardEvent] = [*OPENED, QuestionsDrafted(TWO_QUESTIONS, BILL)]


def asked(state: BoardState) -> AskPerson:
    (effect,) = BOARD.pending(state)
    assert isinstance(effect, AskPerson)
    return effect


def meant(state: BoardState, text: str = "", choice: str | None = None) -> BoardEvent:
    return BOARD.record(state, asked(state), PersonAnswered(text, choice))


def told(state: BoardState, text: str = "", choice: str | None = None) -> BoardState:
    return BOARD.advance(state, meant(state, text, choice))


def test_probing_questions_are_asked_one_by_one_and_the_last_answer_convenes() -> None:
    state = BOARD.fold(ASKED)
    assert asked(state) == AskPerson(
        "answers",
        "How long can you wait? (months)",
        "q1",
        (Choice("skip-question", "Skip this question"), Choice("convene", "Convene the board now")),
        free_text=True,
    )
    state = told(state, " Till May. ")
    assert (state.step, asked(state).expects, asked(state).key) == (Step.ANSWERS, "Who pays?", "q2")
    state = told(state, "We do.")
    assert state.step is Step.ADVISORS
    assert state.answers == (Answer("How long can you wait?", "Till May."), Answer("Who pays?", "We do."))


def test_a_skipped_question_has_no_answer() -> None:
    state = told(told(BOARD.fold(ASKED), choice="skip-question"), "We do.")
    assert state.answers == (Answer("Who pays?", "We do."),)


def test_the_board_is_convened_at_once_with_the_answers_so_far() -> None:
    state = told(told(BOARD.fold(ASKED), "Till May."), choice="convene")
    assert (state.step, state.answers) == (Step.ADVISORS, (Answer("How long can you wait?", "Till May."),))


def test_without_questions_the_person_convenes() -> None:
    state = BOARD.fold([*OPENED, EVENTS[QuestionsFailed]])
    assert asked(state) == AskPerson(
        "answers", "whether to convene the board", "convene", (Choice("convene", "Convene the board now"),)
    )
    with pytest.raises(InvalidInput, match="has to be one of: convene"):
        meant(state, "Till May.")
    assert told(state, choice="convene").step is Step.ADVISORS


def test_only_the_question_whose_turn_it_is_is_answered() -> None:
    state = BOARD.fold(ASKED)
    with pytest.raises(IllegalMove, match="answers, q2"):
        BOARD.advance(state, QuestionAnswered("q2", "We do."))
    with pytest.raises(InvalidInput, match="1,001 characters"):
        told(state, "x" * 1_001)


def test_the_advisors_are_heard_out_in_order_on_the_way_to_the_brief() -> None:
    state = BOARD.fold(REVIEWED)
    assert asked(state) == AskPerson(
        "challenge",
        "a challenge to Ada",
        "ada 0",
        (Choice("next", "Go on to Ben"), Choice("brief", "Go to the brief")),
        optional=True,
        free_text=True,
    )
    assert meant(state, " Why? ") == WHY
    state = BOARD.advance(told(state, "Why?"), replied("ada"))
    assert asked(state).key == "ada 1"
    assert meant(state, choice="next") == AdvisorPassed("ada")
    state = told(state, choice="next")
    assert (asked(state).expects, asked(state).choices) == (
        "a challenge to Ben",
        (Choice("next", "Go to the brief"),),
    )
    assert meant(state, choice="next") == BriefRequested()
    # Ada has replied since the brief was written.
    assert told(state, choice="next").step is Step.BRIEF


def test_whoever_has_not_spoken_is_passed_over() -> None:
    state = BOARD.fold([*OPENED, BoardConvened(), failed("ada"), spoke("ben"), DRAFTED])
    assert asked(state).expects == "a challenge to Ben"


def test_the_others_can_be_passed_over_on_the_way_to_the_brief() -> None:
    state = BOARD.fold(REVIEWED)
    assert meant(state, choice="brief") == BriefRequested()
    assert asked(told(state, choice="brief")).step == "review"


def test_nobody_is_asked_while_a_reply_is_waited_for() -> None:
    assert BOARD.pending(BOARD.fold([*REVIEWED, WHY])) == (AskPersona("ada", "board/challenge", "1"),)


@pytest.mark.parametrize("persona", ["ben", "ada"])
def test_an_advisor_who_has_not_spoken_or_was_passed_cannot_be_passed(persona: str) -> None:
    state = BOARD.fold([*REVIEWED_WITH_ONE, AdvisorPassed("ada")])
    with pytest.raises(IllegalMove):
        BOARD.advance(state, AdvisorPassed(persona))


def test_with_the_brief_everything_is_offered_that_can_be_done() -> None:
    state = BOARD.fold([*REVIEWED_WITH_ONE, BriefRequested()])
    assert asked(state) == AskPerson(
        "review",
        "what next",
        "1 0 2",
        (
            Choice("challenge-1", "Challenge Ada", Takes.TEXT),
            Choice("ask-again-2", "Ask Ben again"),
            Choice("brief", "Show the brief"),
            Choice("tick-1", "Tick, or take the tick back: the tests pass"),
            Choice("export", "Export the record: .md, .json, .html", Takes.TEXT),
        ),
        optional=True,
    )
    stale = BOARD.fold([*REVIEWED, BriefRequested(), WHY, replied("ada")])
    assert Choice("brief", "Rewrite the brief") in asked(stale).choices


@pytest.mark.parametrize(
    ("choice", "text", "event"),
    [
        ("challenge-1", "Why?", WHY),
        ("ask-again-2", "", AdvisorRetried("ben")),
        ("brief", "", BriefRequested()),
        ("tick-1", "", TICK),
        ("export", "my record.md", RecordRequested("my record.md")),
    ],
)
def test_a_choice_becomes_an_event(choice: str, text: str, event: BoardEvent) -> None:
    assert meant(BOARD.fold([*REVIEWED_WITH_ONE, BriefRequested()]), text, choice) == event


def test_a_condition_is_ticked_and_its_tick_taken_back() -> None:
    state = BOARD.fold([*REVIEWED, BriefRequested()])
    assert state.conditions == (("the tests pass", False),)
    state = told(state, choice="tick-1")
    assert state.conditions == (("the tests pass", True),)
    assert meant(state, choice="tick-1") == ConditionTicked("the tests pass", ticked=False)
    assert told(state, choice="tick-1").conditions == (("the tests pass", False),)


def test_a_brief_that_is_written_anew_keeps_the_ticks_of_the_conditions_that_it_still_has() -> None:
    anew: list[BoardEvent] = [TICK, WHY, replied("ada"), BriefRequested()]
    other = Recommendation("Ship.", "low", ("the money lasts", "the tests pass"))
    changed = BriefDrafted(msgspec.structs.replace(BRIEF, recommendation=other), BILL)
    state = BOARD.fold([*REVIEWED, *anew, changed])
    assert state.conditions == (("the money lasts", False), ("the tests pass", True))


@pytest.mark.parametrize("history", [CONVENED, REVIEWED])
def test_only_a_condition_of_the_brief_can_be_ticked(history: list[BoardEvent]) -> None:
    with pytest.raises(InvalidInput, match="'the sun shines' is no condition of the brief") as raised:
        BOARD.advance(BOARD.fold(history), ConditionTicked("the sun shines"))
    assert raised.value.field == "condition"


@pytest.mark.parametrize(
    ("choice", "text", "problem"),
    [
        ("tick-2", "", "none of those offered"),
        ("challenge-2", "Why?", "none of those offered"),
        ("challenge-3", "Why?", "none of those offered"),
        ("challenge-1", "", "needs words"),
        (None, "Why?", "has to be one of"),
        ("brief", "now", "takes no words"),
        ("export", "", "needs words"),
        ("export", "record.pdf", "must end in"),
        ("ask-again-1", "", "none of those offered"),
    ],
)
def test_a_choice_that_is_not_offered_is_refused(choice: str | None, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        told(BOARD.fold([*REVIEWED_WITH_ONE, BriefRequested()]), text, choice)


def test_a_board_on_which_nobody_spoke_has_no_brief_to_offer() -> None:
    state = BOARD.fold([*CONVENED, failed("ada"), failed("ben")])
    offered = [choice.id for choice in asked(state).choices]
    assert offered == ["ask-again-1", "ask-again-2", "ask-again-all", "export"]
    with pytest.raises(InvalidInput, match="none of those offered"):
        meant(state, choice="brief")


# -- limits --------------------------------------------------------------------------------------


def test_a_decision_has_words_and_a_limit() -> None:
    opening = present("ada")
    longest = msgspec.structs.replace(opening, decision="é" * MAX_DECISION)
    assert BOARD.advance(BOARD.initial, longest).decision == "é" * 5_000
    for text in ("", " \n", "é" * (MAX_DECISION + 1), "\udcff"):
        with pytest.raises(InvalidInput) as raised:
            BOARD.advance(BOARD.initial, msgspec.structs.replace(opening, decision=text))
        assert raised.value.field == "decision"


def test_a_challenge_has_words_and_a_limit() -> None:
    state = state_at(Step.REVIEW)
    longest = BOARD.advance(state, ChallengeMade("ada", "é" * MAX_CHALLENGE))
    assert longest.advisor("ada").exchanges == (Exchange("é" * 2_000, number=1),)
    for text in ("", " \n", "é" * (MAX_CHALLENGE + 1), "\udcff"):
        with pytest.raises(InvalidInput) as raised:
            BOARD.advance(longest, ChallengeMade("ada", text))
        assert raised.value.field == "challengeText"
    # A challenge that is not taken does not take the floor either.
    assert BOARD.pending(longest) == (AskPersona("ada", "board/challenge", "1"),)


def test_a_challenge_may_follow_ten_others() -> None:
    assert MAX_CHALLENGES == 10
    rounds = [event for _ in range(10) for event in (WHY, replied("ada"))]
    # One that was dropped or withdrawn does not count.
    state = BOARD.fold([*REVIEWED, *rounds, WHY, WHY, ChallengeWithdrawn("ada"), WHY, replied("ada")])
    assert len(state.advisor("ada").replied) == 11
    with pytest.raises(InvalidInput, match="Ada has replied to 11 challenges; at most 10") as raised:
        BOARD.advance(state, WHY)
    assert raised.value.field == "priorChallenges"
    assert BOARD.advance(state, ChallengeMade("ben", "Why?")).advisor("ben").challenged


def test_ten_answers_of_a_thousand_characters_are_taken() -> None:
    answers = (Answer("?" * MAX_ANSWER, "é" * MAX_ANSWER),) * MAX_ANSWERS
    state = BOARD.advance(state_at(Step.ANSWERS), BoardConvened(answers))
    assert state.answers == (Answer("?" * 1_000, "é" * 1_000),) * 10


@pytest.mark.parametrize(
    ("answers", "field"),
    [
        ((Answer("?", "é"),) * (MAX_ANSWERS + 1), "answers"),
        ((Answer("?", "é"), Answer("?", "é" * (MAX_ANSWER + 1))), "answers[1].answer"),
        ((Answer("?" * (MAX_ANSWER + 1), "é"),), "answers[0].question"),
        ((Answer("?", "\udcff"),), "answers[0].answer"),
        ((Answer("\udcff", "é"),), "answers[0].question"),
    ],
)
def test_more_or_longer_answers_are_not_taken(answers: tuple[Answer, ...], field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        BOARD.advance(state_at(Step.ANSWERS), BoardConvened(answers))
    assert raised.value.field == field


@pytest.mark.parametrize("size", [1, MAX_MEMBERS])
def test_one_to_twenty_advisors_can_sit_on_a_board(size: int) -> None:
    state = BOARD.advance(BOARD.initial, present(*(f"advisor-{number}" for number in range(size))))
    assert len(state.advisors) == size


@pytest.mark.parametrize(
    ("personas", "problem"),
    [
        ((), "has 0 members; 1 to 20 can sit on a board"),
        (tuple(f"advisor-{number}" for number in range(21)), "has 21 members"),
        (("ada", "ben", "ada"), "names an advisor twice"),
    ],
)
def test_other_boards_are_not_opened(personas: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as raised:
        BOARD.advance(BOARD.initial, present(*personas))
    assert raised.value.field == "panel"


def test_a_text_that_is_too_long_says_how_long_it_is() -> None:
    with pytest.raises(InvalidInput, match="decision: has 5,001 characters; at most 5,000 are taken"):
        check_text("decision", "x" * 5_001, 5_000)


# -- record --------------------------------------------------------------------------------------

QUESTIONS = Questions((DraftedQuestion("How long can you wait?", "months"), DraftedQuestion("Who pays?")))
ASK_QUESTIONS = DraftReply("board/questions", "1")
ASK_ADVISOR = AskPersona("ada", "board/advisor", "1")
ASK_CHALLENGED = AskPersona("ada", "board/challenge", "1")
ASK_BRIEF = DraftReply("board/brief", "2")
ASK_NEXT = AskPerson("review", "what next", "1", free_text=True)
SPOKE = PersonaSpoke("Yes.", BILL)
SILENT = PersonaFailed("ProviderDown", "529", 7.0)
UNUSABLE = DraftFailed("DraftInvalid", "no JSON", "Well, …", 7.0)

RECORDED: list[tuple[Effect, Outcome, BoardEvent]] = [
    (
        ASK_QUESTIONS,
        Drafted(QUESTIONS, BILL),
        QuestionsDrafted((QUESTION, Question("q2", "Who pays?")), BILL),
    ),
    (ASK_QUESTIONS, UNUSABLE, QuestionsFailed("DraftInvalid", "no JSON", 7.0)),
    (ASK_ADVISOR, SPOKE, AdvisorSpoke("ada", "Yes.", BILL)),
    (ASK_ADVISOR, SILENT, AdvisorFailed("ada", "ProviderDown", "529", 7.0)),
    (ASK_CHALLENGED, SPOKE, ChallengeReplied("ada", "Yes.", BILL)),
    (ASK_CHALLENGED, SILENT, ChallengeWithdrawn("ada", "ProviderDown", "529", 7.0)),
    (ASK_BRIEF, Drafted(BRIEF, BILL), DRAFTED),
    (ASK_BRIEF, UNUSABLE, UNDRAFTED),
]


@pytest.mark.parametrize(("effect", "outcome", "event"), RECORDED)
def test_outcomes_become_events(effect: Effect, outcome: Outcome, event: BoardEvent) -> None:
    assert BOARD.record(BOARD.initial, effect, outcome) == event


EVERY_OUTCOME: tuple[Outcome, ...] = (
    SPOKE,
    SILENT,
    Drafted(BRIEF, BILL),
    Drafted(QUESTIONS, BILL),
    UNUSABLE,
    PersonAnswered("r"),
)
EVERY_EFFECT: tuple[Effect, ...] = (
    ASK_QUESTIONS,
    ASK_ADVISOR,
    ASK_CHALLENGED,
    ASK_BRIEF,
    AskPersona("ada", "ask/answer", "1"),
    AskPerson("elsewhere", "a challenge", "1", free_text=True),
    ASK_NEXT,
)


def kinds(outcome: Outcome) -> tuple[type, ...]:
    return (Drafted, type(outcome.value)) if isinstance(outcome, Drafted) else (type(outcome),)


POSSIBLE = {(effect, kinds(outcome)) for effect, outcome, _ in RECORDED} | {(ASK_NEXT, (PersonAnswered,))}
IMPOSSIBLE = [
    (effect, outcome)
    for effect, outcome in itertools.product(EVERY_EFFECT, EVERY_OUTCOME)
    if (effect, kinds(outcome)) not in POSSIBLE
]


@pytest.mark.parametrize(("effect", "outcome"), IMPOSSIBLE)
def test_an_outcome_that_the_effect_cannot_have_is_a_mistake_of_ours(
    effect: Effect, outcome: Outcome
) -> None:
    with pytest.raises(AssertionError, match="is nothing that"):
        BOARD.record(BOARD.initial, effect, outcome)


# -- the log -------------------------------------------------------------------------------------

words = st.text(max_size=30).map(strip_controls)
waits = st.none() | st.floats(0, 1e6)
lists_of_words = st.lists(words, max_size=3).map(tuple)
bills = st.builds(
    Usage,
    words,
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.none() | st.floats(0, 1e6),
    st.integers(0, 10**9),
    st.booleans(),
)
briefs = st.builds(
    Brief,
    st.builds(Consensus, lists_of_words, st.sampled_from(["strong", "moderate", "weak"])),
    st.lists(st.builds(Tension, lists_of_words, words, words), max_size=3).map(tuple),
    lists_of_words,
    st.builds(Recommendation, words, st.sampled_from(["high", "moderate", "low"]), lists_of_words),
)
SHAPES: dict[type, st.SearchStrategy[BoardEvent]] = {
    DecisionPresented: st.builds(
        DecisionPresented,
        words,
        st.lists(st.builds(Member, words, words, words, words), max_size=3).map(tuple),
        st.sampled_from(["independent", "sequential"]),
        words,
    ),
    QuestionsDrafted: st.builds(
        QuestionsDrafted, st.lists(st.builds(Question, words, words, words), max_size=3).map(tuple), bills
    ),
    QuestionsFailed: st.builds(QuestionsFailed, words, words, waits),
    QuestionAnswered: st.builds(QuestionAnswered, words, words),
    BoardConvened: st.builds(BoardConvened, st.lists(st.builds(Answer, words, words), max_size=3).map(tuple)),
    AdvisorSpoke: st.builds(AdvisorSpoke, words, words, bills),
    AdvisorFailed: st.builds(AdvisorFailed, words, words, words, waits),
    AdvisorRetried: st.builds(AdvisorRetried, words),
    BoardStopped: st.just(BoardStopped()),
    BoardResumed: st.just(BoardResumed()),
    ChallengeMade: st.builds(ChallengeMade, words, words),
    ChallengeReplied: st.builds(ChallengeReplied, words, words, bills),
    ChallengeWithdrawn: st.builds(ChallengeWithdrawn, words, words, words, waits),
    AdvisorPassed: st.builds(AdvisorPassed, words),
    BriefRequested: st.just(BriefRequested()),
    BriefDrafted: st.builds(BriefDrafted, briefs, bills),
    BriefFailed: st.builds(BriefFailed, words, words, words, waits),
    ConditionTicked: st.builds(ConditionTicked, words, st.booleans()),
    RecordRequested: st.builds(RecordRequested, words),
}


@pytest.mark.parametrize("kind", EVENTS)
@settings(max_examples=25)
@given(data=st.data())
def test_events_survive_the_log(kind: type, data: st.DataObject) -> None:
    event = data.draw(SHAPES[kind])
    read = BOARD.decode(BOARD.encode(event))
    assert type(read) is kind
    assert read == event


def test_a_log_calls_a_bill_what_it_always_has() -> None:
    bill = (
        b'{"model":"local","input_tokens":10,"output_tokens":5,"cost_usd":0.0,"duration_ms":800,'
        b'"cut_short":false}'
    )
    assert BOARD.encode(replied("ada", "Yes.")) == (
        b'{"type":"ChallengeReplied","persona":"ada","text":"Yes.","spoken":%b}' % bill
    )


def test_a_failure_logged_without_a_wait_can_still_be_read() -> None:
    logged = b'{"type":"AdvisorFailed","persona":"ada","kind":"ProviderDown","message":"529"}'
    assert BOARD.decode(logged) == AdvisorFailed("ada", "ProviderDown", "529", retry_after=None)


@settings(max_examples=50)
@given(st.text("a é\n\ud83d\udcff", max_size=4), st.text("a é\n\ud83d\udcff", max_size=4))
def test_whatever_a_person_writes_and_the_board_takes_can_be_logged(decision: str, answer: str) -> None:
    opening = msgspec.structs.replace(present("ada"), decision=decision)
    convening = BoardConvened((Answer("?", answer),))
    try:
        BOARD.fold([opening, convening])
    except InvalidInput:
        return
    assert [BOARD.decode(BOARD.encode(event)) for event in (opening, convening)] == [opening, convening]


# -- stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("history", [CONVENED, ONE_SPOKE, ONE_FAILED])
def test_a_stopped_board_asks_no_model_for_anything_until_the_person_goes_on(
    history: list[BoardEvent],
) -> None:
    before = BOARD.fold(history)
    stopped = BOARD.advance(before, BoardStopped())
    assert asked_of_models(before)
    assert asked_of_models(stopped) == ()
    [effect] = BOARD.pending(stopped)
    assert isinstance(effect, AskPerson)
    with pytest.raises(InvalidInput):
        BOARD.record(stopped, effect, PersonAnswered("x"))
    resumed = BOARD.advance(stopped, BOARD.record(stopped, effect, PersonAnswered(choice="go-on")))
    assert (resumed.step, resumed.stopped) == (before.step, False)
    assert len(asked_of_models(resumed)) == len(asked_of_models(before))
    with pytest.raises(IllegalMove):
        BOARD.advance(stopped, BoardStopped())
    with pytest.raises(IllegalMove):
        BOARD.advance(before, BoardResumed())


def test_who_does_not_speak_cannot_be_stopped_and_who_has_answered_is_not_asked_again() -> None:
    state = BOARD.fold([present("ada", "ben"), BoardConvened(), spoke("ada"), failed("ben")])
    with pytest.raises(NotNow, match="Ada does not speak at the moment: there is nothing to stop"):
        stop(state, "ada")
    with pytest.raises(NotNow, match="Ada has answered: there is nothing to ask again"):
        ask_again(state, "ada")
    with pytest.raises(InvalidInput, match="'zoe' is not an advisor"):
        stop(state, "zoe")
    with pytest.raises(NotNow, match="Nobody speaks"):
        stop(BOARD.fold([present("ada")]))
    with pytest.raises(NotNow, match="Nobody speaks"):
        stop(BOARD.fold([present("ada")]), "ada")
    with pytest.raises(NotNow, match="No advisor has failed"):
        ask_again(BOARD.fold(CONVENED))
    with pytest.raises(NotNow, match="has not had their say yet"):
        ask_again(BOARD.fold(CONVENED), "ada")
    # Everybody is stopped, and then each of them: there is nothing left to go on with.
    each = BOARD.fold([*CONVENED, BoardStopped(), failed("ada"), failed("ben")])
    assert (each.step, go_on(each)) == (Step.REVIEW, ())


def test_everybody_who_failed_is_asked_again_with_one_word() -> None:
    state = BOARD.fold(
        [present("ada", "ben", "cleo"), BoardConvened(), failed("ada"), failed("ben"), spoke("cleo")]
    )
    again = BOARD.advance(state, AdvisorRetried())
    assert [effect.persona for effect in asked_of_models(again) if isinstance(effect, AskPersona)] == [
        "ada",
        "ben",
    ]
    with pytest.raises(IllegalMove):
        BOARD.advance(again, AdvisorRetried())
    nobody = BOARD.fold([present("ada", "ben"), BoardConvened(), failed("ada"), failed("ben")])
    assert Choice("ask-again-all", "Ask all of them again") in asked(nobody).choices
    assert meant(nobody, choice="ask-again-all") == AdvisorRetried()


# -- random walks --------------------------------------------------------------------------------


_WORDS = {"export": "record.md", **{f"challenge-{n}": "Why?" for n in range(1, 10)}}


def outcomes_of(effect: Effect) -> tuple[Outcome, ...]:
    if isinstance(effect, AskPersona):
        return SPOKE, SILENT
    if isinstance(effect, AskPerson):
        chosen = (PersonAnswered(_WORDS.get(choice.id, ""), choice.id) for choice in effect.choices)
        return (*chosen, PersonAnswered("Why?"))
    assert isinstance(effect, DraftReply)
    return Drafted(BRIEF if effect.prompt == "board/brief" else QUESTIONS, BILL), UNUSABLE


def events_of(state: BoardState, effect: Effect) -> Iterator[BoardEvent]:
    """What an effect can lead to; an answer that means nothing there leads nowhere."""
    for outcome in outcomes_of(effect):
        try:
            event = BOARD.record(state, effect, outcome)
            BOARD.advance(state, event)
        except InvalidInput:
            assert isinstance(effect, AskPerson)
        else:
            yield event


def moves(state: BoardState) -> list[BoardEvent]:
    """Everything that can happen next: what models lead to, and what the person may do."""
    possible = [event for effect in BOARD.pending(state) for event in events_of(state, effect)]
    if state.step in (Step.QUESTIONS, Step.ANSWERS):
        possible.append(BoardConvened())
    if state.step is Step.REVIEW:
        possible.append(BriefRequested())
    if state.step in (Step.ADVISORS, Step.BRIEF):
        possible.append(BoardResumed() if state.stopped else BoardStopped())
    for advisor in state.advisors:
        persona = advisor.member.id
        if advisor.failure is not None:
            possible.append(AdvisorRetried(persona))
        if advisor.text is not None and len(advisor.replied) <= MAX_CHALLENGES:
            possible.append(ChallengeMade(persona, "Why?"))
        if advisor.challenged:
            possible.append(ChallengeWithdrawn(persona))
    possible.extend(ConditionTicked(condition, not ticked) for condition, ticked in state.conditions)
    return possible


Walk = list[tuple[BoardState, BoardEvent, BoardState]]


def walk(mode: Mode, choices: list[int]) -> Iterator[tuple[BoardState, BoardEvent, BoardState]]:
    event: BoardEvent = present("ada", "ben", "cleo", mode=mode)
    state = BOARD.advance(BOARD.initial, event)
    yield BOARD.initial, event, state
    for choice in choices:
        possible = moves(state)
        event = possible[choice % len(possible)]
        before, state = state, BOARD.advance(state, event)
        yield before, event, state


# How long a walk takes is the machine's affair.
walking = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
walks = st.builds(
    lambda mode, choices: list(walk(mode, choices)),
    st.sampled_from(["independent", "sequential"]),
    # Long ones: a short walk never comes to the second brief.
    st.lists(st.integers(0, 999), min_size=30, max_size=40),
)


@walking
@given(walks)
def test_every_move_is_in_the_table(walked: Walk) -> None:
    for before, event, after in walked:
        assert after.step in TRANSITIONS[before.step, type(event)]


@walking
@given(walks)
def test_what_was_said_is_never_lost(walked: Walk) -> None:
    for before, event, after in walked:
        said = isinstance(event, AdvisorSpoke | ChallengeReplied)
        assert after.contributions == before.contributions + said
        for was, now in zip(before.advisors, after.advisors, strict=False):
            assert was.text is None or (was.text, was.usage) == (now.text, now.usage)
            assert now.replied[: len(was.replied)] == was.replied
        assert after.bills[: len(before.bills)] == before.bills


@walking
@given(walks)
def test_stopping_leaves_nobody_speaking_and_going_on_asks_for_exactly_what_was_missing(walked: Walk) -> None:
    for _, _, state in walked:
        if not state.convened:
            continue
        missing = {advisor.member.id for advisor in state.advisors if not advisor.settled}
        stopped = state
        try:
            for event in stop(state):
                stopped = BOARD.advance(stopped, event)
        except NotNow:
            assert asked_of_models(state) == ()
            continue
        assert asked_of_models(stopped) == ()
        assert stopped.contributions == state.contributions
        on = stopped
        for event in go_on(stopped):
            on = BOARD.advance(on, event)
        assert on.step is state.step
        asked = {effect.persona for effect in asked_of_models(on) if isinstance(effect, AskPersona)}
        assert asked <= missing
        assert asked or not missing
        for persona in missing:
            [event] = stop(state, persona)
            assert BOARD.advance(state, event).advisor(persona).failure is not None


@walking
@given(walks)
def test_at_most_one_challenge_waits_for_its_reply_and_it_is_the_latest(walked: Walk) -> None:
    for _, _, state in walked:
        assert sum(len(a.exchanges) - len(a.replied) for a in state.advisors) <= 1
        assert all(exchange.reply is not None for a in state.advisors for exchange in a.exchanges[:-1])


@walking
@given(walks)
def test_a_brief_is_stale_exactly_if_something_was_said_since(walked: Walk) -> None:
    said_since = 0
    for _, event, state in walked:
        if isinstance(event, BriefDrafted):
            said_since = 0
        elif isinstance(event, AdvisorSpoke | ChallengeReplied):
            said_since += 1
        assert state.brief_stale == (state.brief is not None and said_since > 0)
        # A failure is shown for as long as what failed is missing and nobody is trying it again.
        assert state.brief_failure is None or state.step is not Step.BRIEF
        assert state.brief_failure is None or state.brief is None or state.brief_stale


@walking
@given(walks)
def test_only_what_is_open_is_asked_for_and_every_outcome_of_it_can_be_taken(walked: Walk) -> None:
    for _, _, state in walked:
        effects = BOARD.pending(state)
        assert len(set(effects)) == len(effects)
        asked = [e.persona for e in effects if isinstance(e, AskPersona) and e.prompt == "board/advisor"]
        assert not any(state.advisor(persona).settled for persona in asked)
        assert state.mode == "independent" or len(asked) <= 1
        for effect in effects:
            led_to = [BOARD.advance(state, event) for event in events_of(state, effect)]
            assert led_to
            # A person who shows the brief or exports the record is asked the same again.
            assert isinstance(effect, AskPerson) or all(effect not in BOARD.pending(now) for now in led_to)


@walking
@given(walks)
def test_a_person_is_asked_one_thing_at_a_time_and_never_while_somebody_speaks(walked: Walk) -> None:
    for _, _, state in walked:
        effects = BOARD.pending(state)
        asked = [effect for effect in effects if isinstance(effect, AskPerson)]
        assert not asked or effects == tuple(asked[:1])
        # A session never comes to a stop where neither a model nor a person can carry it on.
        assert effects


@settings(max_examples=60, deadline=None)
@given(walks, st.text(max_size=8) | st.sampled_from(["9 x", "r 1", "r 9", "e x.pdf", "b b", "\udcff"]))
def test_whatever_a_person_types_is_taken_or_refused_with_a_reason(walked: Walk, typed: str) -> None:
    for _, _, state in walked:
        for effect in BOARD.pending(state):
            if isinstance(effect, AskPerson):
                with contextlib.suppress(InvalidInput):
                    BOARD.advance(state, BOARD.record(state, effect, read_line(effect, typed)))


@walking
@given(walks)
def test_no_asking_of_an_advisor_is_mistaken_for_an_earlier_one(walked: Walk) -> None:
    over: set[Effect] = set()
    for before, _, after in walked:
        pending = set(BOARD.pending(after))
        over |= {e for e in BOARD.pending(before) if isinstance(e, AskPersona) and e not in pending}
        # In sequence, a retry interrupts whoever speaks later, and they are asked the same again.
        if after.mode == "independent":
            assert not over & pending


@walking
@given(walks)
def test_the_log_alone_gives_the_same_state(walked: Walk) -> None:
    logged = [BOARD.encode(event) for _, event, _ in walked]
    assert BOARD.fold(BOARD.decode(body) for body in logged) == walked[-1][2]
