"""All ways through the menus of a brainstorm, and random ones: nothing that was said is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.brainstorm import flow
from moot.brainstorm.events import DEFERRED, QuestionsDiscussed
from moot.brainstorm.menu import AnswerGiven
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import AskPerson, PersonAnswered, Takes
from moot.errors import InvalidInput
from moot.workflow import flow as workflow
from moot.workflow.events import Resumed
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.menu import Stopped
from moot.workflow.snapshot import restored, snapshot
from moot.workflow.state import Stage, WorkflowState
from tests.support.workflow import Play, at, targets, triage

LENGTH = 6
BEGINNINGS = ("straightforward", "exploration", "complex")
AGAIN = {Step.TRIAGE: "agree", Step.QUESTIONS: "finish"}
"""What leads on from a step without a change."""


def contents(talk: BrainstormState) -> dict[Step, Any]:
    """What the person sees at each step."""
    return {
        Step.TRIAGE: (talk.triage, talk.complexity_level, talk.batches, talk.splits),
        Step.QUESTIONS: talk.questions,
        Step.APPROACHES: (talk.approaches, talk.recommendation, talk.chosen_approach),
        Step.DESIGN: (talk.design_sections, talk.current_section),
    }


@dataclass(frozen=True)
class Place:
    """Where a path has led, and what a careful bystander has noted on the way."""

    state: WorkflowState
    way: tuple[Step, ...] = ()
    left: dict[Step, Any] = field(default_factory=dict)
    """What each step showed when it was left."""

    def play(self) -> Play:
        return Play(state=self.state)

    @property
    def seen(self) -> Any:
        """All but how it was talked about: what is said does not change where menus lead."""
        talk = replace(self.state.brainstorm, conversation_log=(), gone_back_from=())
        return repr((replace(self.state, brainstorm=talk, happened=0, total_cost=0.0), self.way, self.left))


def choices(place: Place) -> list[str]:
    """Those that take words get them."""
    # Questions are alike: the first two stand for all.
    left_out = {"stop", *(f"question-{number}" for number in range(3, 10))}
    return [
        choice.id if choice.takes is Takes.NOTHING else f"{choice.id}: hm"
        for choice in place.play().asked.choices
        if choice.id not in left_out
    ]


def goes(place: Place, choice: str) -> Place | None:
    """One choice further, with what must hold on the way. None where the brainstorm is over."""
    before = place.state.brainstorm
    play = place.play().choose(choice)
    after = play.talk
    assert WORKFLOW.advance(WORKFLOW.initial, restored(snapshot(play.state))) == play.state
    if after.finished:
        return None
    if choice == "back":
        assert after.step is place.way[-1], "back leads to the step that was visited last"
        assert contents(after) == contents(before), "going back changes nothing"
        assert contents(after)[after.step] == place.left[after.step], "everything there is as it was"
        assert play.done == [], "and nobody is asked"
        return Place(play.state, place.way[:-1], place.left)
    if after.step is before.step:
        return Place(play.state, place.way, place.left)
    return Place(
        play.state, (*place.way, before.step), {**place.left, before.step: contents(after)[before.step]}
    )


def check_every_way_back(place: Place) -> None:
    """To each visited step, one after the other, and forward again to where it was."""
    for steps in range(1, len(place.way) + 1):
        play = place.play().choose(*["back"] * steps)
        assert play.step is place.way[-steps]
        for step in place.way[-steps:]:
            chosen = (
                [each.id for each in play.talk.approaches].index(play.talk.chosen_approach) + 1
                if (step is Step.APPROACHES)
                else 0
            )
            play.choose(AGAIN.get(step, f"approach-{chosen}"))
        assert play.step is place.state.brainstorm.step
        assert contents(play.talk) == contents(place.state.brainstorm)
        assert play.done == [], "nothing was stale, so nobody was asked"


def test_going_back_from_every_step_to_every_visited_step_keeps_everything() -> None:
    """Over all choices of all menus, six deep. Paths that have led to the same place are walked on once."""
    paths: Counter[str] = Counter()
    steps_seen = set()
    begin = Place(at(Step.TRIAGE).state)
    places = {begin.seen: begin}
    paths.update(places.keys())
    for _ in range(LENGTH):
        reached: dict[str, Place] = {}
        further: Counter[str] = Counter()
        for seen, place in places.items():
            check_every_way_back(place)
            for choice in choices(place):
                there = goes(place, choice)
                if there is not None:
                    steps_seen.add((choice, place.state.brainstorm.step, there.state.brainstorm.step))
                    further[there.seen] += paths[seen]
                    reached[there.seen] = there
        places, paths = reached, further
    for place in places.values():
        check_every_way_back(place)
    assert sum(paths.values()) > 60_000, "so many paths there are"
    assert {(at_, to) for choice, at_, to in steps_seen if choice == "back"} == {
        (Step.QUESTIONS, Step.TRIAGE),
        (Step.APPROACHES, Step.QUESTIONS),
        (Step.DESIGN, Step.APPROACHES),
        (Step.DESIGN, Step.TRIAGE),
    }


# -- random walks --------------------------------------------------------------------------------

LONG = "word " * 1_200
WORDS = st.sampled_from(["yes", "no, because", "the second one", LONG, "ünï çödé", "1"])
LEVELS = st.sampled_from(BEGINNINGS)


@st.composite
def discussions(draw: st.DrawFn) -> dict[str, Any]:
    """How the brainstormer takes part: what it proposes, which questions it drops, renames and replaces."""

    def about_questions(state: WorkflowState) -> dict[str, Any]:
        talk = state.brainstorm
        replaces = [each.id for each in talk.questions if each.answered and draw(st.booleans())]
        kept = [each for each in talk.questions if not each.answered and draw(st.booleans())]
        repeated = [each for each in talk.questions if each.answered and draw(st.booleans())]
        asked = [{"id": each.id, "text": f"{each.text}!"} for each in (*kept, *repeated)]
        fewest, most = talk.question_totals
        stay = sum(each.answered and each.id not in replaces for each in talk.questions)
        replaced = sum(each.id in replaces for each in repeated)
        new = max(fewest - stay - len(kept) - replaced, 0)
        room = most - stay - len(kept) - replaced - new
        new += draw(st.integers(0, room)) if room > 0 else 0
        asked += [{"text": f"New {state.happened} {n}?"} for n in range(new)]
        return {"reply": draw(WORDS), "questions": asked, "replaces": replaces}

    return {
        "brainstorm/triage": triage(draw(LEVELS)),
        "brainstorm/discuss-triage": lambda _: {"reply": draw(WORDS), **triage(draw(LEVELS))},
        "brainstorm/discuss-questions": about_questions,
    }


@dataclass
class Bystander:
    """Knows what the person has answered, and takes it back only for a reason."""

    answers: dict[str, str] = field(default_factory=dict)

    def hears(self, event: WorkflowEvent) -> None:
        if isinstance(event, AnswerGiven):
            self.answers[event.question] = event.answer
            if event.answer == DEFERRED:
                del self.answers[event.question]
        if isinstance(event, QuestionsDiscussed):
            for gone in event.replaces:
                self.answers.pop(gone, None)


def check(play: Play, before: WorkflowState, event: WorkflowEvent, bystander: Bystander) -> None:
    bystander.hears(event)
    after = play.state
    given = {each.id: each.answer for each in after.brainstorm.questions if each.answered}
    assert given == bystander.answers, "no answer is lost, and none is made up"
    assert after.stage in targets(workflow.TRANSITIONS[before.stage, type(event)])
    kinds = {kind for _, kind in flow.TRANSITIONS}
    if type(event) in kinds and before.stage is Stage.BRAINSTORMING:
        possible = flow.TRANSITIONS[before.brainstorm.situation, type(event)]
        assert after.brainstorm.situation in targets(possible)
    assert after.brainstorm.conversation_log[: len(before.brainstorm.conversation_log)] == (
        before.brainstorm.conversation_log
    ), "what was said stays said"
    assert WORKFLOW.advance(WORKFLOW.initial, restored(snapshot(after))) == after


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_walks_over_menus_lose_nothing(data: st.DataObject) -> None:
    play = Play(data.draw(discussions()))
    bystander = Bystander()
    play.open()
    for _ in range(data.draw(st.integers(1, 25))):
        if play.state.stage is not Stage.BRAINSTORMING:
            break
        before = play.state
        ask = play.asked
        chosen = data.draw(st.sampled_from(ask.choices) | st.none())
        has_words = chosen is None or (chosen.takes is not Takes.NOTHING and data.draw(st.booleans()))
        answer = PersonAnswered(data.draw(WORDS) if has_words else "", chosen.id if chosen else None)
        try:
            event = WORKFLOW.record(before, ask, answer)
            play.put(event)
        except InvalidInput:
            assert play.state == before
            continue
        check(play, before, event, bystander)
        _go_on(play, bystander, data)


def _go_on(play: Play, bystander: Bystander, data: st.DataObject) -> None:
    """Until it is the person's turn again; now and then something fails, or the person stops."""
    while play.state.stage in (Stage.BRAINSTORMING, Stage.STOPPED, Stage.FAILED):
        before = play.state
        if before.stage is Stage.STOPPED:
            assert play.effects == ()
            play.put(Resumed())
        elif before.stage is Stage.FAILED:
            play.put(
                WORKFLOW.record(
                    before, play.asked, PersonAnswered(choice=data.draw(st.sampled_from(play.ids)))
                )
            )
        elif isinstance(play.effects[0], AskPerson):
            return
        elif data.draw(st.integers(0, 9)) == 9:
            play.put(Stopped())
        elif data.draw(st.integers(0, 9)) == 9:
            play.fail()
        else:
            play.perform()
        check(play, before, play.events[-1], bystander)


def test_every_dispatch_and_every_comment_is_in_the_conversation() -> None:
    play = at(Step.QUESTIONS).choose(
        "discuss: drop the second",
        "question-1: yes",
        "finish",
        "board: is this wise?",
        "approach-1",
        "revise: shorter",
    )
    said = [(entry.speaker, entry.step) for entry in play.talk.conversation_log]
    assert said == [
        ("brainstormer", "triage"),
        ("brainstormer", "questions"),
        ("person", "questions"),
        ("brainstormer", "questions"),
        ("brainstormer", "approaches"),
        ("person", "approaches"),
        ("board", "approaches"),
        ("brainstormer", "design"),
        ("person", "design"),
        ("brainstormer", "design"),
    ]
