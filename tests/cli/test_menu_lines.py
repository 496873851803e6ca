"""What somebody types at a menu, and which choice it is."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.ask.flow import ASK, AnswerFailed, AskOpened, QuestionAsked
from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    BoardStopped,
    Brief,
    BriefDrafted,
    BriefRequested,
    Consensus,
    DecisionPresented,
    Member,
    Question,
    QuestionsDrafted,
    QuestionsFailed,
    Recommendation,
)
from moot.board.flow import BOARD
from moot.brainstorm.menu import RequestMade
from moot.brainstorm.state import Step
from moot.cli.answers import Answer, ScriptedPerson
from moot.cli.implement import question_about_tests
from moot.cli.menu_lines import LINES, TypingPerson, answerable, key_of, read_line, shown
from moot.core.flow import AskPerson, Choice, PersonAnswered, Takes, TaskFailed, Usage
from moot.errors import InvalidInput
from moot.repo.testing import Found
from moot.roundtable.events import (
    ExitDoubted,
    PersonaContributed,
    PersonLeft,
    RoundtableEvent,
    RoundtableOpened,
    Speaker,
    SynthesisFailed,
    TopicFramed,
)
from moot.roundtable.flow import ROUNDTABLE
from moot.workflow.events import (
    BatchBuilt,
    BatchReviewed,
    PlanLaidOut,
    Summary,
    WorkflowFinalized,
    WorkspaceChecked,
)
from tests.analysis.test_flow import Play
from tests.support.workflow import BATCHES, PLAN, REFUSED, at, triage
from tests.support.workflow import Play as Workflow


def chosen(choice: str, text: str = "") -> PersonAnswered:
    return PersonAnswered(text, choice)


def asked(effects: tuple[object, ...]) -> AskPerson:
    (effect,) = effects
    assert isinstance(effect, AskPerson)
    return effect


def refused(ask: AskPerson, line: str) -> str:
    with pytest.raises(InvalidInput) as raised:
        read_line(ask, line)
    return str(raised.value)


def test_what_may_be_taken_over_is_shown_with_what_to_type() -> None:
    which = Choice("question-2", "Which?", Takes.OPTIONAL_TEXT, ("Daily", "Never"))
    ask = AskPerson("questions", "a question to answer", "1", (which,))
    assert list(shown(ask)) == [("2", "Which? (2\u00a01 = Daily; 2\u00a02 = Never)")]
    assert read_line(ask, "2 2") == chosen("question-2", "Never")


YES_OR_NO = AskPerson("approve", "really? (y or n)", "1", (Choice("yes", "yes"), Choice("no", "no")))


@pytest.mark.parametrize(("line", "choice"), [("y", "yes"), ("Yes", "yes"), (" N ", "no"), ("no", "no")])
def test_yes_and_no_have_a_letter_and_a_word(line: str, choice: str) -> None:
    assert read_line(YES_OR_NO, line) == chosen(choice)


@pytest.mark.parametrize("line", ["", "perhaps", "yes please", "yn"])
def test_everything_else_is_neither(line: str) -> None:
    assert refused(YES_OR_NO, line) == f"choice: {line!r} is neither y nor n"


def test_a_choice_without_a_letter_is_typed_as_its_id() -> None:
    ask = AskPerson("s", "what next", "1", (Choice("turn-round", "Turn round"),))
    assert list(shown(ask)) == [("turn-round", "Turn round")]
    assert read_line(ask, "Turn-Round") == chosen("turn-round")
    assert refused(ask, "turn") == "choice: 'turn' is none of those offered: turn-round"


def test_a_line_that_stands_for_nothing_is_asked_for_again() -> None:
    class Reader(ScriptedPerson):
        problems: list[str | None] = []  # noqa: RUF012

        async def answer(self, ask: AskPerson, problem: str | None) -> str:
            self.problems.append(problem)
            return await super().answer(ask, None)

    person = TypingPerson(Reader([Answer("perhaps"), Answer("y")]))
    assert asyncio.run(person.answer(YES_OR_NO, None)) == chosen("yes")
    assert Reader.problems == [None, "choice: 'perhaps' is neither y nor n"]


# -- asking a persona ----------------------------------------------------------------------------

FAILED = asked(
    ASK.pending(
        ASK.fold([AskOpened("ada", "local"), QuestionAsked("Why?"), AnswerFailed("ProviderDown", "529")])
    )
)


@pytest.mark.parametrize("line", [" R ", "r", "Retry"])
def test_a_letter_or_a_word_retries_a_question(line: str) -> None:
    assert read_line(FAILED, line) == chosen("retry")


@pytest.mark.parametrize("line", ["really?", "retry it with less", "", "r?"])
def test_everything_else_is_another_question(line: str) -> None:
    assert read_line(FAILED, f" {line} ") == PersonAnswered(line)


def test_what_may_be_answered_is_put_in_the_words_of_somebody_who_types() -> None:
    assert answerable(FAILED) == "type r to retry, or ask another question: r = Retry: ask the same again"


# -- the board -----------------------------------------------------------------------------------

BILL = Usage("local", 1, 1, None, 1)
MEMBERS = tuple(Member(name.lower(), name, "advisor", "looks at it") for name in ("Ada", "Ben", "Cleo"))
PRESENTED: list[BoardEvent] = [DecisionPresented("Ship?", MEMBERS, "independent", "local")]
DRAFTED = BriefDrafted(
    Brief(Consensus((), "weak"), (), (), Recommendation("Ship.", "low", ("tests pass", "money lasts"))), BILL
)
HEARD: list[BoardEvent] = [
    *PRESENTED,
    BoardConvened(),
    AdvisorSpoke("ada", "Yes.", BILL),
    AdvisorFailed("ben", "ProviderDown", "529"),
    AdvisorSpoke("cleo", "No.", BILL),
    DRAFTED,
]


def board(*events: BoardEvent) -> AskPerson:
    return asked(BOARD.pending(BOARD.fold(events)))


QUESTION = board(*PRESENTED, QuestionsDrafted((Question("q1", "How long?"),), BILL))
NO_QUESTIONS = board(*PRESENTED, QuestionsFailed("ProviderDown", "529"))
STOPPED = board(*PRESENTED, BoardConvened(), BoardStopped())
CHALLENGE = board(*HEARD)
LAST_CHALLENGE = board(*HEARD[:-3], HEARD[3], AdvisorFailed("cleo", "ProviderDown", "529"), DRAFTED)
REVIEW = board(*HEARD, BriefRequested())


@pytest.mark.parametrize(
    ("ask", "line", "answer"),
    [
        (QUESTION, "", chosen("skip-question")),
        (QUESTION, "C", chosen("convene")),
        (QUESTION, "convene", PersonAnswered("convene")),
        (QUESTION, "c is the speed of light", PersonAnswered("c is the speed of light")),
        (NO_QUESTIONS, "c", chosen("convene")),
        (STOPPED, "G", chosen("go-on")),
        (CHALLENGE, "", chosen("next")),
        (CHALLENGE, "b", chosen("brief")),
        (CHALLENGE, "Why?", PersonAnswered("Why?")),
        (LAST_CHALLENGE, "", chosen("next")),
        (LAST_CHALLENGE, "B", chosen("next")),
        (REVIEW, "1 Why?", chosen("challenge-1", "Why?")),
        (REVIEW, "3: Why\nnot?", chosen("challenge-3", "Why\nnot?")),
        (REVIEW, "r 2", chosen("ask-again-2")),
        (REVIEW, "R", chosen("ask-again-2")),
        (REVIEW, "r  ALL", chosen("ask-again-2")),
        (REVIEW, "b", chosen("brief")),
        (REVIEW, "t 2", chosen("tick-2")),
        (REVIEW, "e my record.md", chosen("export", "my record.md")),
    ],
)
def test_lines_on_a_board(ask: AskPerson, line: str, answer: PersonAnswered) -> None:
    assert read_line(ask, line) == answer
    ask.check(answer)


@pytest.mark.parametrize(
    ("ask", "line", "problem"),
    [
        (NO_QUESTIONS, "Till May.", "none of those offered: c"),
        (NO_QUESTIONS, "convene", "none of those offered: c"),
        (STOPPED, "go", "none of those offered: g"),
        (STOPPED, "g now", "none of those offered: g"),
        (REVIEW, "t 3", "t: name the number of a condition, 1 to 2"),
        (REVIEW, "t", "none of those offered"),
        (REVIEW, "2 Why?", "none of those offered"),
        (REVIEW, "0 Why?", "none of those offered"),
        (REVIEW, "1", "none of those offered"),
        (REVIEW, "Why?", "none of those offered: NUMBER TEXT, r 2, b, t NUMBER, e FILE"),
        (REVIEW, "b now", "none of those offered"),
        (REVIEW, "e", "none of those offered"),
        (REVIEW, "r 1", "r: name the number of an advisor who did not answer"),
        (REVIEW, "r 9", "r: name the number of an advisor who did not answer"),
    ],
)
def test_lines_that_a_board_refuses(ask: AskPerson, line: str, problem: str) -> None:
    assert problem in refused(ask, line)


def test_the_menu_of_a_board_has_a_line_for_each_kind_of_choice() -> None:
    assert list(shown(REVIEW)) == [
        ("NUMBER TEXT", "Challenge an advisor: 1 Ada, 3 Cleo"),
        ("r 2", "Ask Ben again"),
        ("b", "Show the brief"),
        ("t NUMBER", "Tick a condition of the brief, or take its tick back"),
        ("e FILE", "Export the record: .md, .json, .html"),
    ]
    assert list(shown(CHALLENGE)) == [("", "Go on to Cleo"), ("b", "Go to the brief")]
    assert list(shown(LAST_CHALLENGE)) == [("", "Go to the brief")]


# -- a roundtable --------------------------------------------------------------------------------


def table(*events: RoundtableEvent) -> AskPerson:
    speakers = tuple(
        Speaker(name.lower(), name, name, "advisor", "advisor", "scope") for name in ("Maya", "Alex")
    )
    opened = RoundtableOpened("00-01", "Scope", "Offline mode", speakers, "maya", 10, "1", "")
    return asked(ROUNDTABLE.pending(ROUNDTABLE.fold([opened, *events]))[-1:])


FRAMED = TopicFramed("Settled.", "Who?", BILL)
TALKED: list[RoundtableEvent] = [FRAMED, PersonaContributed("alex", "Conflicts are shown.", BILL)]
SPEAKING = table(FRAMED)
FLOOR = table(*TALKED)
DOUBT = table(*TALKED, ExitDoubted("are we done?"))
NO_SYNTHESIS = table(*TALKED, PersonLeft("done"), SynthesisFailed("DraftInvalid", "no JSON", ""))


@pytest.mark.parametrize(
    ("ask", "line", "answer"),
    [
        (SPEAKING, "done", chosen("done")),
        (SPEAKING, "Done.", PersonAnswered("Done.")),
        (FLOOR, " ", chosen("listen")),
        (FLOOR, "done", chosen("done")),
        (FLOOR, "Alex, why?", PersonAnswered("Alex, why?")),
        (FLOOR, "continue", PersonAnswered("continue")),
        (DOUBT, "done", chosen("done")),
        (DOUBT, "continue", chosen("stay")),
        (DOUBT, "yes, end it", PersonAnswered("yes, end it")),
        (DOUBT, "", PersonAnswered("")),
        (NO_SYNTHESIS, " R ", chosen("retry")),
        (NO_SYNTHESIS, "retry", chosen("retry")),
        (NO_SYNTHESIS, "g", chosen("go-without")),
    ],
)
def test_lines_at_a_roundtable(ask: AskPerson, line: str, answer: PersonAnswered) -> None:
    assert read_line(ask, line) == answer
    ask.check(answer)


def test_without_a_synthesis_a_roundtable_takes_no_other_words() -> None:
    assert refused(NO_SYNTHESIS, "maybe") == "choice: 'maybe' is none of those offered: r, g"
    assert refused(NO_SYNTHESIS, "go") == "choice: 'go' is none of those offered: r, g"


# -- an analysis ---------------------------------------------------------------------------------


def analysis(*choices: str, fails: bool = False) -> AskPerson:
    play = Play().step().roundtable()
    for choice in choices:
        play.picks(choice)
    if fails:
        play.settle(TaskFailed("LockTimeout", "held"))
    return asked((play.asked(),))


AT_MENU = analysis()
BOARD_QUESTION = analysis("ask-board")
NO_BOARD = analysis("ask-board", "question-1", fails=True)


def _skipped() -> AskPerson:
    play = Play().step()
    for _ in range(2):
        play.picks("skip-phase")
        play.step()
    play.picks("continue")
    return asked((play.asked(),))


SKIPPED = _skipped()


@pytest.mark.parametrize(
    ("ask", "line", "answer"),
    [
        (AT_MENU, " c ", chosen("continue")),
        (AT_MENU, "E", chosen("elaborate")),
        (AT_MENU, "s", chosen("skip-phase")),
        (AT_MENU, "B", chosen("ask-board")),
        (AT_MENU, "Continue", PersonAnswered("Continue")),
        (AT_MENU, "CC", PersonAnswered("CC")),
        (AT_MENU, "Q", PersonAnswered("Q")),
        (AT_MENU, "C is the wrong language", PersonAnswered("C is the wrong language")),
        (BOARD_QUESTION, "2", chosen("question-2")),
        (BOARD_QUESTION, " 01 ", chosen("question-1")),
        (BOARD_QUESTION, "", chosen("none")),
        (NO_BOARD, "R", chosen("retry")),
        (NO_BOARD, "Menu", chosen("to-menu")),
        (NO_BOARD, "m", chosen("to-menu")),
        (SKIPPED, "T", chosen("take-up")),
        (SKIPPED, "Take them up", chosen("take-up")),
    ],
)
def test_lines_in_an_analysis(ask: AskPerson, line: str, answer: PersonAnswered) -> None:
    assert read_line(ask, line) == answer
    ask.check(answer)


@pytest.mark.parametrize(
    ("ask", "line", "offered"),
    [
        (BOARD_QUESTION, "3", "1, 2, Enter"),
        (BOARD_QUESTION, "0", "1, 2, Enter"),
        (BOARD_QUESTION, "²", "1, 2, Enter"),
        (BOARD_QUESTION, "who", "1, 2, Enter"),
        (NO_BOARD, "retry now", "r, m"),
        (NO_BOARD, "back", "r, m"),
        (SKIPPED, "take", "t"),
    ],
)
def test_lines_that_an_analysis_refuses(ask: AskPerson, line: str, offered: str) -> None:
    assert refused(ask, line) == f"choice: {line!r} is none of those offered: {offered}"


def test_a_letter_that_is_not_offered_is_feedback() -> None:
    ask = asked((Play().step().asked(),))
    assert read_line(ask, "B") == PersonAnswered("B")


# -- a brainstorm and a workflow -----------------------------------------------------------------

TRIAGE = at(Step.TRIAGE, "complex", **{"brainstorm/triage": triage("complex", batches=BATCHES)}).asked
WITH_OPTIONS = at(
    Step.QUESTIONS,
    **{
        "brainstorm/questions": {
            "questions": [
                {"text": "Which?", "type": "choice", "options": ["None", "Sessions"]},
                {"text": "How many?"},
                {"text": "Why?"},
            ]
        }
    },
)
QUESTIONS = WITH_OPTIONS.asked
ANSWER = WITH_OPTIONS.choose("question-1").asked
OPEN_ANSWER = at(Step.QUESTIONS).choose("question-1").asked
APPROACHES = at(Step.APPROACHES).asked
DESIGN = at(Step.DESIGN).choose("approve").asked
COMMENT = at(Step.DESIGN).choose("revise").asked
FOR_THE_BOARD = at(Step.APPROACHES).choose("board").asked


def workflow(**replies: Any) -> Workflow:
    return Workflow({"brainstorm/triage": triage(batches=BATCHES), **replies}).open()


UNCOMMITTED = workflow(CheckWorkspace=WorkspaceChecked(("half.py",), "2")).asked
REASSESS = (
    workflow(
        **{"workflow/reassess": {"assessment": "Less.", "batches": [{"title": "Docs", "description": "-"}]}}
    )
    .choose("skip")
    .asked
)
FAILED_TASK = BatchBuilt(complete=False, message="no", failed_task=1, before_task="abc")
OPEN_TASKS = workflow(BuildBatch=FAILED_TASK).choose("skip").asked
VERDICT = workflow(ReviewPlan=BatchReviewed("REJECTED")).choose("skip").asked
_PLAN = replace(PLAN, can_commit=True)
PLANNED = at(Step.DESIGN, LayOutPlan=PlanLaidOut(_PLAN))
while PLANNED.asked.step == "design":
    PLANNED.choose("approve")
AT_PLAN, WITH_COMMITS = PLANNED.asked, PLANNED.choose("commit-tasks").asked
BY_TRIAGE = Workflow({"LayOutPlan": PlanLaidOut(_PLAN)}).open().choose("skip").asked
CHANGED_PLAN = Workflow({"LayOutPlan": PlanLaidOut(REFUSED)}).open().choose("skip").asked
_BUILT = Summary((), ("docs-1234",))
NEXT = Workflow({"FinalizeWorkflow": WorkflowFinalized(("Docs",), _BUILT)}).open().choose("skip").asked
FAILED_ROUND = at(Step.QUESTIONS).put(RequestMade("discuss", "hm")).fail().asked


@pytest.mark.parametrize(
    ("ask", "line", "answer"),
    [
        (TRIAGE, "a", chosen("agree")),
        (TRIAGE, "Agree", chosen("agree")),
        (TRIAGE, "q", chosen("straightforward")),
        (TRIAGE, "K", chosen("keep-whole")),
        (TRIAGE, "d", chosen("discuss")),
        (TRIAGE, "D it is\nsmall", chosen("discuss", "it is\nsmall")),
        (TRIAGE, "discuss it is small", chosen("discuss", "it is small")),
        (TRIAGE, "o is it wise?", chosen("board", "is it wise?")),
        (TRIAGE, "S", chosen("skip")),
        (TRIAGE, "stop", chosen("stop")),
        (QUESTIONS, "2", chosen("question-2")),
        (QUESTIONS, "2 7", chosen("question-2", "7")),
        (QUESTIONS, "1 2", chosen("question-1", "Sessions")),
        (QUESTIONS, "1 02", chosen("question-1", "Sessions")),
        (QUESTIONS, "1 sessions", chosen("question-1", "sessions")),
        (QUESTIONS, "done", chosen("finish")),
        (QUESTIONS, "s", chosen("finish")),
        (QUESTIONS, "b", chosen("back")),
        (ANSWER, "2", chosen("option-2")),
        (ANSWER, "s", chosen("skip")),
        (ANSWER, "B", chosen("back")),
        (ANSWER, "X", chosen("stop")),
        (ANSWER, "stop", chosen("stop")),
        (ANSWER, "skip", PersonAnswered("skip")),
        (ANSWER, "2 of them", PersonAnswered("2 of them")),
        (OPEN_ANSWER, "300", PersonAnswered("300")),
        (APPROACHES, "2", chosen("approach-2")),
        (APPROACHES, "A", chosen("agree")),
        (DESIGN, "approve", chosen("approve")),
        (DESIGN, "r shorter", chosen("revise", "shorter")),
        (DESIGN, "P", chosen("previous")),
        (COMMENT, "b", chosen("back")),
        (COMMENT, "b is wrong", PersonAnswered("b is wrong")),
        (COMMENT, "", PersonAnswered("")),
        (FOR_THE_BOARD, "", chosen("ask-default")),
        (FOR_THE_BOARD, "Is it wise?", PersonAnswered("Is it wise?")),
        (UNCOMMITTED, "g", chosen("mix")),
        (UNCOMMITTED, "stash it, please", chosen("stash")),
        (UNCOMMITTED, "n", chosen("new-branch")),
        (REASSESS, "a", chosen("next-batch")),
        (REASSESS, "continue with it", chosen("next-batch")),
        (REASSESS, "d only the docs", chosen("adjust", "only the docs")),
        (REASSESS, "k", chosen("keep-batches")),
        (REASSESS, "h", chosen("end-here")),
        (REASSESS, "stop", chosen("stop")),
        (OPEN_TASKS, "r", chosen("try-again")),
        (OPEN_TASKS, "c keep the codes", chosen("comment", "keep the codes")),
        (OPEN_TASKS, "s", chosen("skip")),
        (OPEN_TASKS, "roll back", chosen("roll-back")),
        (VERDICT, "r keep it smaller", chosen("revise", "keep it smaller")),
        (NEXT, "accept", chosen("begin-next")),
        (FAILED_ROUND, "Retry now", chosen("try-again")),
        (FAILED_ROUND, "b", chosen("back")),
        (FAILED_ROUND, "abort", chosen("stop")),
        (FAILED_ROUND, "STOP", chosen("stop")),
    ],
)
def test_lines_in_a_workflow(ask: AskPerson, line: str, answer: PersonAnswered) -> None:
    assert read_line(ask, line) == answer
    ask.check(answer)


@pytest.mark.parametrize(
    ("ask", "line", "problem"),
    [
        (TRIAGE, "zebra", "choice: 'zebra' is none of those offered: A, Q, E, K, D, O, T, S, X"),
        (TRIAGE, "why so complex", "offered: A, Q, E, K, D, O, T, S, X; to say something, begin with D"),
        (TRIAGE, "override", "'override' is none of those offered"),
        (TRIAGE, "a please", "choice: A stands alone; D please discusses it"),
        (TRIAGE, "", "'' is none of those offered"),
        (QUESTIONS, "9", "'9' is none of those offered"),
        (QUESTIONS, "1 3", "answer: a number from 1 to 2, or your own words"),
        (QUESTIONS, f"1 {'0' * 5_000}3", "answer: a number from 1 to 2, or your own words"),
        (ANSWER, "3", "answer: a number from 1 to 2, or your own words"),
        (ANSWER, "0", "answer: a number from 1 to 2, or your own words"),
        (APPROACHES, "yes, but", "none of those offered"),
        (UNCOMMITTED, "a", "none of those offered: G, Z, N, X"),
        (REASSESS, "stop here", "none of those offered"),
        (NEXT, "x", "none of those offered: A"),
    ],
)
def test_lines_that_a_workflow_refuses(ask: AskPerson, line: str, problem: str) -> None:
    assert problem in refused(ask, line)


def test_the_same_letter_does_the_same_at_every_menu_of_a_brainstorm() -> None:
    for step in (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN):
        labels = {key: label.split()[0] for key, label in shown(at(step).asked)}
        assert labels["D"] == "Discuss"
        assert (labels["O"], labels["T"], labels["X"]) == ("Board", "Roundtable", "Stop")
        assert labels.get("B", "Back") == "Back"
        assert labels["S"] in ("Skip", "Done")


TESTS = question_about_tests([Found("make test", "Makefile"), Found("tox", "tox.ini")])
DOCUMENT = at(Step.DESIGN).choose("approve", "approve-and-wait").asked
EVERY_MENU = [
    *(YES_OR_NO, FAILED, QUESTION, NO_QUESTIONS, STOPPED, CHALLENGE, LAST_CHALLENGE, REVIEW),
    *(SPEAKING, FLOOR, DOUBT, NO_SYNTHESIS, AT_MENU, BOARD_QUESTION, NO_BOARD, SKIPPED),
    *(TRIAGE, QUESTIONS, ANSWER, OPEN_ANSWER, APPROACHES, DESIGN, COMMENT, FOR_THE_BOARD),
    *(UNCOMMITTED, REASSESS, OPEN_TASKS, VERDICT, NEXT, FAILED_ROUND, TESTS, DOCUMENT),
    *(AT_PLAN, WITH_COMMITS, BY_TRIAGE, CHANGED_PLAN),
]


@pytest.mark.parametrize("ask", EVERY_MENU, ids=lambda ask: ask.step)
def test_every_choice_can_be_typed_and_no_two_are_typed_alike(ask: AskPerson) -> None:
    keys = [key_of(ask, choice.id) for choice in ask.choices]
    assert len({str(key).casefold() for key in keys}) == len(keys)
    for choice, key in zip(ask.choices, keys, strict=True):
        words = "record.md" if choice.takes is Takes.TEXT else ""
        assert read_line(ask, f"{key} {words}") == chosen(choice.id, words)


def test_every_line_belongs_to_a_choice_that_some_menu_offers() -> None:
    offered = {re.sub(r"-\d+$", "", choice.id) for ask in EVERY_MENU for choice in ask.choices}
    offered |= {re.sub(r"-\d+$", "", choice.id) for choice in (*SEVERAL_FAILED.choices, *AT_TRIAGE.choices)}
    assert set(LINES) == offered


SEVERAL_FAILED = board(
    *HEARD[:3],
    *(AdvisorFailed(one, "ProviderDown", "529") for one in ("ben", "cleo")),
    DRAFTED,
    BriefRequested(),
)
AT_TRIAGE = at(Step.TRIAGE).asked


@given(st.sampled_from(EVERY_MENU), st.text(max_size=12))
def test_whatever_is_typed_is_an_answer_that_the_flow_takes_or_is_refused(ask: AskPerson, line: str) -> None:
    with contextlib.suppress(InvalidInput):
        ask.check(read_line(ask, line))
