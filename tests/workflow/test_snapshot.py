"""workflow.json: a workflow that was killed anywhere goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import AskPerson, DraftReply, PersonAnswered
from moot.errors import IllegalMove, InvalidInput
from moot.workflow.events import BatchReviewed, Reopened, Verdict
from moot.workflow.flow import WORKFLOW
from moot.workflow.handover import binding
from moot.workflow.prompts import PROMPTS
from moot.workflow.snapshot import restored, snapshot, state_of
from moot.workflow.state import Phase, Stage, WorkflowState
from tests.support.workflow import BATCHES, OPENED, SPLITS, Play, triage


def killed(state: WorkflowState) -> WorkflowState:
    """Written to a file, and read again by another process."""
    return WORKFLOW.advance(WORKFLOW.initial, restored(json.loads(json.dumps(snapshot(state)))))


def a_whole_workflow() -> Play:
    scope = triage(batches=BATCHES, splits=SPLITS)
    verdicts: Iterator[Verdict] = iter(["NEEDS_REVISION", "APPROVED", "APPROVED"])
    play = Play({
        "brainstorm/triage": scope,
        "brainstorm/discuss-triage": {"reply": "So.", **scope},
        "ReviewPlan": lambda _: BatchReviewed(next(verdicts)),
    }).open()  # fmt: skip
    play.choose("discuss").write("why two?").choose("agree", "question-2").write("yes").choose(
        "question-1: no",
        "discuss: the third?",
        "board",
        "ask-default",
        "finish",
        "approach-1",
        "back",
        "back",
        "question-1: maybe",
        "finish",
    )
    play.choose("roundtable").write("is it wise?").choose("approach-2", "revise").write("shorter").choose(
        "discuss: hm", "approve", "previous", "approve", "approve"
    )
    return play.choose("adjust").write("less").choose("next-batch", "next-batch")


def _states() -> list[WorkflowState]:
    """Of a whole workflow, one after each event."""
    state, states = WORKFLOW.initial, []
    for event in a_whole_workflow().events:
        state = WORKFLOW.advance(state, event)
        states.append(state)
    return states


def test_killed_at_every_event_it_resumes_identically() -> None:
    play = a_whole_workflow()
    assert play.state.finished
    state = resumed = WORKFLOW.initial
    for event in play.events:
        state, resumed = WORKFLOW.advance(state, event), killed(WORKFLOW.advance(resumed, event))
        assert resumed == state
        assert WORKFLOW.pending(resumed) == WORKFLOW.pending(state)
    assert len(play.events) > 50


def test_the_file_has_the_fields_that_it_promises() -> None:
    saved = snapshot(a_whole_workflow().state)
    assert set(saved) >= {
        "phase", "userDescription", "config", "brainstorm", "designPath", "batches", "currentBatchIndex",
        "totalCostUsd", "startedAt", "error",
    }  # fmt: skip
    talk = saved["brainstorm"]
    assert set(talk) >= {
        "step", "scoutOutput", "complexityLevel", "questions", "approaches", "recommendation",
        "chosenApproach",         "designSections", "conversationLog",
    }  # fmt: skip
    assert set(talk["questions"][0]) == {"id", "text", "type", "options", "answer"}
    assert set(talk["approaches"][0]) == {"id", "title", "summary", "tradeoffs", "taskEstimate"}
    assert set(talk["designSections"][0]) == {"id", "title", "content", "status"}
    assert {frozenset(entry) for entry in talk["conversationLog"]} == {frozenset(("role", "step", "content"))}
    roles = {entry["role"] for entry in talk["conversationLog"]}
    assert roles == {"brainstormer", "user", "board", "roundtable"}
    assert set(saved["batches"][0]) == {"title", "description", "status", "changeId"}


def test_what_says_nothing_is_left_out() -> None:
    assert set(snapshot(Play().open().state)) - {"id", "happened", "workspaceChecked", "knownTree"} == {
        "phase", "userDescription", "config", "brainstorm", "designPath", "batches", "currentBatchIndex",
        "totalCostUsd", "startedAt", "error",
    }  # fmt: skip


def test_a_failure_is_told_in_the_file() -> None:
    play = Play().put(OPENED).perform().fail()
    assert snapshot(play.state)["error"] == "it is gone"
    assert killed(play.state) == play.state


# -- files that others have written --------------------------------------------------------------


def foreign(**changes: Any) -> dict[str, Any]:
    """As a program without levels, batches and ids leaves it."""
    talk = {
        "step": "questions",
        "scoutOutput": "Files.",
        "questions": [
            {"id": "q1", "text": "Which?", "type": "choice", "options": ["a", "b"], "answer": "a"},
            {"id": "q2", "text": "Why?", "type": "input"},
        ],
        **changes.pop("brainstorm", {}),
    }
    return {
        "phase": "brainstorm",
        "userDescription": "An idea",
        "startedAt": 1763200000000,
        "brainstorm": talk,
        **changes,
    }


def test_a_file_of_another_program_is_taken_up_where_it_is() -> None:
    state = WORKFLOW.advance(WORKFLOW.initial, restored(foreign(theirs=1)))
    assert (state.brainstorm.complexity_level, state.beneath) == ("exploration", Stage.BRAINSTORMING)
    play = Play(state=state).settle()
    assert play.done == ["CheckWorkspace"], "nobody has looked for uncommitted work yet"
    assert play.ids[:2] == ("question-1", "question-2")
    assert play.choose("question-2: because", "finish").step is Step.APPROACHES
    assert killed(state) == state


def test_an_error_that_another_program_left_is_shown() -> None:
    state = WORKFLOW.advance(WORKFLOW.initial, restored(foreign(error="it broke")))
    assert Play(state=state).settle().asked.expects == "it broke. What now?"


@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        ({"phase": "plan-write"}, Phase.PLAN),
        ({"phase": "plan-review"}, Phase.PLAN),
        ({"phase": "execute"}, Phase.PLAN),
        (
            {"phase": "execute", "batches": [{"title": "A", "description": "b", "changeId": "a"}]},
            Phase.REVIEW,
        ),
        ({"brainstorm": {"step": "done"}}, Phase.PLAN),
    ],
)
def test_nothing_is_built_because_a_file_says_so(changes: dict[str, Any], phase: Phase) -> None:
    state = WORKFLOW.advance(WORKFLOW.initial, restored(foreign(**changes)))
    assert state.phase is phase
    assert state.batches
    assert killed(state) == state


BAD: list[tuple[dict[str, Any], str]] = [
    ({"phase": 3}, "phase"),
    ({"phase": "dreaming"}, "phase"),
    ({"phase": "unopened"}, "phase"),
    ({"userDescription": " "}, "userDescription"),
    ({"config": []}, "config"),
    ({"brainstorm": {"step": "nap"}}, "brainstorm.step"),
    ({"brainstorm": {"complexityLevel": "hard"}}, "brainstorm.complexityLevel"),
    ({"brainstorm": {"complexityLevel": "straightforward"}}, "brainstorm.step"),
    ({"brainstorm": {"questions": [{"id": "q1"}]}}, "brainstorm.questions[0].text"),
    (
        {"brainstorm": {"questions": [{"id": "q1", "text": "a", "type": "essay"}]}},
        "brainstorm.questions[0].type",
    ),
    (
        {"brainstorm": {"questions": [{"id": "q1", "text": "a"}, {"id": "q1", "text": "b"}]}},
        "brainstorm.questions",
    ),
    ({"brainstorm": {"visited": ["triage", "nowhere"]}}, "brainstorm.visited[1]"),
    ({"brainstorm": {"visited": ["design"]}}, "brainstorm.visited"),
    ({"brainstorm": {"visited": ["scout"]}}, "brainstorm.visited"),
    ({"brainstorm": {"visited": ["triage"]}}, "brainstorm.visited"),
    ({"brainstorm": {"step": "design", "visited": ["questions"]}}, "brainstorm.visited"),
    ({"brainstorm": {"pickedQuestion": "q9"}}, "brainstorm.pickedQuestion"),
    ({"brainstorm": {"pickedQuestion": "q1", "step": "design"}}, "brainstorm.pickedQuestion"),
    ({"brainstorm": {"writing": "revise"}}, "brainstorm.writing"),
    ({"brainstorm": {"step": "scout", "writing": "discuss"}}, "brainstorm.writing"),
    (
        {"brainstorm": {"step": "design", "request": {"wish": "discuss", "text": "x"}}},
        "brainstorm.request.wish",
    ),
    (
        {"brainstorm": {"approaches": [{"id": "a", "title": "A", "summary": "b"}], "chosenApproach": "z"}},
        "brainstorm.chosenApproach",
    ),
    (
        {"brainstorm": {"designSections": [{"id": "s", "title": "A", "content": "b"}], "currentSection": 1}},
        "brainstorm.currentSection",
    ),
    (
        {"brainstorm": {"conversationLog": [{"role": "user", "step": "x"}]}},
        "brainstorm.conversationLog[0].content",
    ),
    ({"phase": "plan", "currentBatchIndex": 1}, "currentBatchIndex"),
    ({"batches": [{"title": "A", "description": "b", "status": "late"}]}, "batches[0].status"),
    ({"totalCostUsd": "much"}, "totalCostUsd"),
    ({"failure": {"kind": "x"}}, "failure.message"),
]


@pytest.mark.parametrize(("changes", "field"), BAD, ids=[field for _, field in BAD])
def test_what_is_not_understood_is_refused_by_the_name_of_its_field(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        restored(foreign(**changes))
    assert refused.value.field == field


@pytest.mark.parametrize("missing", ["phase", "userDescription"])
def test_what_must_be_there_is_named(missing: str) -> None:
    saved = foreign()
    del saved[missing]
    with pytest.raises(InvalidInput, match=f"{missing}: is missing"):
        restored(saved)


def test_what_is_null_is_as_good_as_missing() -> None:
    bare = {"phase": "brainstorm", "userDescription": "An idea"}
    nulls = {name: None for name in WorkflowState.__struct_encode_fields__ if name not in bare}
    assert state_of(bare | nulls) == state_of(bare)
    talk = dict.fromkeys(BrainstormState.__struct_encode_fields__)
    assert state_of(bare | {"brainstorm": talk}) == state_of(bare)


# -- any file at all -----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)  # fmt: skip
NAMES = [
    *map(str, Step),
    *map(str, Phase),
    "discuss",
    "revise",
    "straightforward",
    "q1",
    "a1",
    "s1",
    "APPROVED",
]
SAVED = [json.dumps(snapshot(state)) for state in _states()]


def _leaves(value: Any) -> list[Any]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [leaf for inner in below for leaf in _leaves(inner)] or [value]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([way] if way else []), *(place for key, inner in below for place in places(inner, (*way, key)))]


@st.composite
def changed_files(draw: st.DrawFn) -> dict[str, Any]:
    """Of a whole workflow, with something else in some places."""
    saved: dict[str, Any] = json.loads(draw(st.sampled_from(SAVED)))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(saved)))
        where: Any = saved
        for key in way:
            where = where[key]
        where[last] = draw(JSON | st.sampled_from(NAMES) | st.sampled_from(_leaves(saved)))
    return saved


@settings(max_examples=400, deadline=None)
@given(changed_files())
def test_whatever_a_file_says_it_is_refused_or_can_be_gone_on_from(saved: dict[str, Any]) -> None:
    try:
        state = WORKFLOW.advance(WORKFLOW.initial, restored(saved))
    except InvalidInput:
        return
    assert killed(state) == state
    play = Play(state=state)
    effects = play.effects
    assert state.stopped or state.finished or effects
    if effects and isinstance(effects[0], DraftReply):
        PROMPTS.drafts[effects[0].prompt](state, small=False)


@settings(max_examples=400, deadline=None)
@given(changed_files())
def test_whatever_a_file_says_every_move_from_it_leads_where_the_table_says(saved: dict[str, Any]) -> None:
    with suppress(InvalidInput):
        play = Play().put(restored(saved))
        state = play.state
        moves: list[Callable[[Play], object]] = [lambda play: play.put(Reopened())]
        match play.effects:
            case (AskPerson() as ask,):
                moves += [partial(answer, PersonAnswered(choice=choice.id)) for choice in ask.choices]
                moves += [partial(answer, PersonAnswered("words", choice.id)) for choice in ask.choices]
                moves += [partial(answer, PersonAnswered("words"))]
            case (_, *_):
                moves += [Play.perform, Play.fail]
        for move in moves:
            with suppress(InvalidInput, IllegalMove):
                move(Play(state=state))


def answer(given: PersonAnswered, play: Play) -> None:
    play.put(WORKFLOW.record(play.state, play.asked, given))


# -- files of another tool -----------------------------------------------------------------------

CONFIGURED = {
    "phase": "configure",
    "userDescription": "Passkeys",
    "designPath": "docs/design.md",
    "designContent": "# Passkeys\n\nSign in with them.",
}


def test_a_workflow_that_was_being_configured_is_reviewed_before_it_is_built() -> None:
    state = state_of({**CONFIGURED, "batches": [{"title": "A", "description": "B", "changeId": "c"}]})
    assert (state.phase, state.verdict) == (Phase.REVIEW, None)
    assert state_of(CONFIGURED).beneath is Stage.PLANNING


def test_a_design_that_was_approved_elsewhere_reaches_the_planner() -> None:
    state = state_of(CONFIGURED)
    assert "Sign in with them." in binding(state).design
    assert state_of(snapshot(state)) == state
    by_path = state_of({key: value for key, value in CONFIGURED.items() if key != "designContent"})
    assert binding(by_path, "As written.").design == "As written."


def test_the_batches_are_in_the_file_as_soon_as_they_are_confirmed() -> None:
    play = Play({"brainstorm/triage": triage(batches=BATCHES)}).open()
    assert not snapshot(play.state)["batches"]
    play.choose("agree")
    assert [batch["title"] for batch in snapshot(play.state)["batches"]] == [
        "Test baseline",
        "Cross-task validation",
    ]
    assert state_of(snapshot(play.state)) == play.state
    theirs = {"phase": "brainstorm", "userDescription": "x", "batches": list(BATCHES)}
    assert [part.title for part in state_of(theirs).brainstorm.batches] == [each["title"] for each in BATCHES]
