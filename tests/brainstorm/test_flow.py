"""The brainstorm step by step: what the level decides, what menus offer, what is kept and what goes stale."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from moot.brainstorm import flow, shapes
from moot.brainstorm.events import (
    DEFERRED,
    MAX_TEXT,
    SCOUT_WORDS,
    Approach,
    ApproachesDiscussed,
    ApproachesDrafted,
    CodeFound,
    Consulted,
    DesignDiscussed,
    DesignDrafted,
    Part,
    Question,
    QuestionsDiscussed,
    QuestionsDrafted,
    ScoutReported,
    Section,
    SectionsRevised,
    Triage,
    TriageDiscussed,
    TriageDrafted,
)
from moot.brainstorm.flow import BrainstormEvent
from moot.brainstorm.menu import (
    AnswerGiven,
    AnswersClosed,
    ApproachChosen,
    GoneBack,
    LevelConfirmed,
    PlanningChosen,
    PreviousSectionShown,
    QuestionPicked,
    RequestMade,
    RequestWithdrawn,
    ScopeKeptWhole,
    SectionsApproved,
    WritingBegun,
    WritingDropped,
)
from moot.brainstorm.state import BrainstormState, Situation, Step
from moot.core.flow import AskPerson, AskPersona, Choice, DraftReply
from moot.errors import IllegalMove, InvalidInput
from moot.llm.messages import Source
from moot.roundtable.effects import OpenRoundtable
from moot.roundtable.events import (
    RULES,
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    CheckFailed,
    ContributionFailed,
    ContributionReturned,
    ElaborationRecorded,
    ExitDoubted,
    FramingFailed,
    HeldEvent,
    LeadRedirected,
    PersonaContributed,
    PersonaSilent,
    PersonLeft,
    PersonSilent,
    PersonSpokeUp,
    PersonStayed,
    RoundtableOpened,
    SynthesisDrafted,
    SynthesisFailed,
    SynthesisForgone,
    SynthesisRetried,
    SynthesisReturned,
    TopicFramed,
    TranscriptChecked,
)
from moot.roundtable.findings import NOTHING_FOUND
from moot.roundtable.insights import Synthesis
from moot.workflow.events import AttemptFailed
from moot.workflow.menu import INTERRUPTED, TriedAgain
from moot.workflow.state import Phase, Stage
from tests.support.workflow import (
    BATCHES,
    BILL,
    IDEA,
    SPEAKERS,
    SPLITS,
    Play,
    at,
    due,
    targets,
    triage,
    whole,
)

THREE = tuple(Question(f"q{n}", f"What about {n}?") for n in (1, 2, 3))
TWO_WAYS = (Approach("a1", "In place", "Strip it."), Approach("a2", "Before", "Strip it before."))
OPENED = RoundtableOpened("design", "Design", IDEA, SPEAKERS, "maya", 10, "17", "Files.")
FRAMED = TopicFramed("It is about codes.", "Where?", BILL)
SPOKE = PersonaContributed("alex", "Conflicts are shown.", BILL)
MINUTES = Synthesis((), (), (), (), "They agreed on little.")
DISCUSSED = (OPENED, FRAMED, SPOKE)
ENDED = (*DISCUSSED, PersonLeft())
NO_MINUTES = SynthesisFailed("DraftInvalid", "no JSON")
FOUND = TranscriptChecked(NOTHING_FOUND, 2, (), BILL)
ROUND = (
    msgspec.structs.replace(OPENED, rules=RULES),
    FRAMED,
    SPOKE,
    PersonSpokeUp("Why?"),
    PersonaContributed("maya", "Nobody reads them.", BILL),
    PersonaSilent("alex", BILL),
)
HELD: list[tuple[tuple[HeldEvent, ...], tuple[HeldEvent, ...]]] = [
    ((), (OPENED,)),
    ((OPENED,), (FRAMED, FramingFailed("Overloaded", "it is busy"))),
    ((OPENED, FRAMED), (SPOKE, PersonaSilent("alex", BILL), PersonLeft())),
    ((OPENED, FRAMED), (ContributionReturned("alex", "A schema.", ("schema",), BILL),)),
    ((OPENED, FRAMED), (ContributionFailed("alex", "Overloaded", "it is busy"),)),
    (DISCUSSED, (PersonSpokeUp("Why?"), PersonSilent(), ExitDoubted("Fine."))),
    ((*DISCUSSED, PersonSpokeUp("Why?")), (LeadRedirected("maya", "alex", "costs", "planning", BILL),)),
    ((*DISCUSSED, ExitDoubted("Fine.")), (PersonStayed(),)),
    (ROUND, (CheckFailed("Overloaded", "it is busy"),)),
    (ENDED, (FOUND,)),
    (ENDED, (SynthesisDrafted(MINUTES, BILL), NO_MINUTES, SynthesisReturned(MINUTES, ("no",), BILL))),
    ((*ENDED, NO_MINUTES), (SynthesisRetried(), SynthesisForgone())),
    (
        (*ENDED, SynthesisDrafted(MINUTES, BILL)),
        (ArtifactsUpdated(()), ArtifactsNotUpdated("NotFound", "it is gone")),
    ),
    ((*ENDED, SynthesisDrafted(MINUTES, BILL), ArtifactsUpdated(())), (ElaborationRecorded(saved=True),)),
]
"""What can happen at a roundtable, each after what leads to it."""
AT_ROUNDTABLE = {type(event): event for _, events in HELD for event in events}
BEFORE: dict[type, tuple[HeldEvent, ...]] = {type(event): told for told, events in HELD for event in events}
SECTIONS = (Section("s1", "Parser", "One pass."), Section("s2", "Tests", "A table."))


def texts(play: Play) -> list[str]:
    return [each.text for each in play.talk.questions]


def answers(play: Play) -> list[str]:
    return [each.answer for each in play.talk.questions]


# -- the level rules the process -----------------------------------------------------------------


def test_a_straightforward_idea_takes_two_replies_and_two_decisions() -> None:
    play = Play({"brainstorm/triage": triage("straightforward")}).open()
    play.choose("agree")
    assert len(play.talk.shown_sections) == 1
    play.choose("approve")
    assert play.talk.finished
    assert [name for name in play.done if name.startswith("brainstorm/")] == [
        "brainstorm/triage",
        "brainstorm/design",
    ]
    assert (play.talk.questions, play.talk.approaches) == ((), ())


def test_an_outline_of_two_sections_is_confirmed_as_one() -> None:
    two = {
        "sections": [{"title": "Parser", "content": "One pass."}, {"title": "Tests", "content": "A table."}]
    }
    play = at(Step.DESIGN, "straightforward", **{"brainstorm/design": two})
    assert [each.title for each in play.talk.shown_sections] == ["Parser", "Tests"]
    assert "previous" not in play.ids
    play.choose("approve")
    assert [each.status for each in play.talk.design_sections] == ["approved", "approved"]


@pytest.mark.parametrize(
    ("level", "asked"), [("exploration", 3), ("exploration", 5), ("complex", 5), ("complex", 7)]
)
def test_a_level_takes_as_many_questions_as_it_allows(level: str, asked: int) -> None:
    questions = {"questions": [{"text": f"Question {n}?"} for n in range(asked)]}
    assert len(at(Step.QUESTIONS, level, **{"brainstorm/questions": questions}).talk.questions) == asked


@pytest.mark.parametrize(
    ("level", "asked"), [("exploration", 2), ("exploration", 6), ("complex", 4), ("complex", 8)]
)
def test_a_level_refuses_fewer_and_more_questions(level: str, asked: int) -> None:
    questions = {"questions": [{"text": f"Question {n}?"} for n in range(asked)]}
    with pytest.raises(InvalidInput, match=rf"questions: has {asked}; \d to \d are wanted at level {level}"):
        at(Step.QUESTIONS, level, **{"brainstorm/questions": questions})


@pytest.mark.parametrize(
    ("level", "sections"),
    [("straightforward", 0), ("straightforward", 3), ("exploration", 1), ("exploration", 7), ("complex", 2),
     ("complex", 9)],
)  # fmt: skip
def test_a_level_refuses_fewer_and_more_sections(level: str, sections: int) -> None:
    design = {"sections": [{"title": f"Part {n}", "content": "Text."} for n in range(sections)]}
    with pytest.raises(InvalidInput, match=f"sections: has {sections}"):
        at(Step.DESIGN, level, **{"brainstorm/design": design})


def test_the_person_can_override_the_level_either_way() -> None:
    assert at(Step.TRIAGE, "straightforward").choose("complex").talk.complexity_level == "complex"
    assert at(Step.TRIAGE, "straightforward").choose("complex").step is Step.QUESTIONS
    assert at(Step.TRIAGE, "complex").choose("straightforward").step is Step.DESIGN


def test_skipping_to_planning_needs_nothing_more() -> None:
    play = at(Step.TRIAGE).choose("skip")
    assert play.talk.finished
    assert play.done[3:5] == ["WriteDesign", "PlanBatch"]


# -- questions -----------------------------------------------------------------------------------


def test_questions_are_answered_in_any_order_and_show_their_state() -> None:
    play = at(Step.QUESTIONS).choose("question-3").write("PostgreSQL").choose("question-1: no")
    assert answers(play) == ["no", "", "PostgreSQL"]
    labels = [choice.label.split("]")[0] for choice in play.asked.choices[:3]]
    assert labels == ["[answered: no", "[unanswered", "[answered: PostgreSQL"]


def test_done_leaves_open_questions_to_the_brainstormer() -> None:
    play = at(Step.QUESTIONS).choose("question-2: yes", "finish")
    assert answers(play) == [DEFERRED, "yes", DEFERRED]
    assert DEFERRED == "user deferred — use your best judgment"


def test_a_deferred_question_can_still_be_answered_after_going_back() -> None:
    play = at(Step.QUESTIONS).choose("finish", "back", "question-1: now I know")
    assert answers(play) == ["now I know", DEFERRED, DEFERRED]


def test_a_question_can_be_answered_by_one_of_its_options() -> None:
    asked = {
        "questions": [
            {"text": "Which?", "type": "choice", "options": ["None", "Sessions"]},
            {"text": "How many?"},
            {"text": "Why?"},
        ]
    }
    play = at(Step.QUESTIONS, **{"brainstorm/questions": asked}).choose("question-1")
    assert play.ids == ("option-1", "option-2", "skip", "back", "stop")
    play.choose("option-2", "question-2: 7")
    assert answers(play) == ["Sessions", "7", ""]
    assert play.asked.choices[0].suggestions == ("None", "Sessions")
    with pytest.raises(InvalidInput, match="'option-3' is none of those offered"):
        play.choose("question-1", "option-3")


def test_turning_to_a_question_and_back_answers_nothing() -> None:
    play = at(Step.QUESTIONS).choose("question-2", "back")
    assert (play.talk.situation, answers(play)) == (Situation.AT_QUESTIONS, ["", "", ""])


def discussed(questions: list[dict[str, Any]], replaces: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"reply": "Then so.", "questions": questions, "replaces": replaces}


def test_a_discussion_keeps_the_answers_given() -> None:
    said = discussed([{"id": "q2", "text": "Reworded?"}, {"text": "A new one?"}])
    play = at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said}).choose(
        "question-1: yes", "discuss: drop the third"
    )
    assert texts(play)[1:] == ["Reworded?", "A new one?"]
    assert answers(play) == ["yes", "", ""]
    assert [each.id for each in play.talk.questions] == ["q1", "q2", "q4"]


def test_an_answered_question_that_is_only_repeated_stays_as_it_is() -> None:
    said = discussed(
        [{"id": "q1", "text": "Changed behind your back?"}, {"id": "q2", "text": "b?"}, {"text": "c?"}]
    )
    play = at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said})
    before = texts(play)[0]
    play.choose("question-1: yes", "discuss: hm")
    assert (texts(play)[0], answers(play)[0]) == (before, "yes")


def test_an_answer_goes_only_with_a_question_that_is_explicitly_replaced() -> None:
    said = discussed([{"id": "q1", "text": "The right one?"}, {"id": "q3", "text": "c?"}], ("q1",))
    play = at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said}).choose(
        "question-1: yes", "question-2: no", "discuss: q1 is wrong"
    )
    assert [(each.text, each.answer) for each in play.talk.questions if each.answer] == [
        (play.talk.questions[0].text, "no")
    ]
    assert {each.text for each in play.talk.questions} >= {"The right one?", "c?"}
    assert "answered: yes" in play.talk.conversation_log[-1].content


def test_a_discussion_cannot_replace_what_is_not_there() -> None:
    said = discussed([{"text": f"{n}?"} for n in range(3)], ("q9",))
    with pytest.raises(InvalidInput, match="'q9' is none of the questions"):
        at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said}).choose("discuss: hm")


def test_a_discussion_keeps_to_the_number_of_questions() -> None:
    said = discussed([{"text": f"{n}?"} for n in range(5)])
    with pytest.raises(InvalidInput, match="questions: has 6, answered ones included; 1 to 5"):
        at(Step.QUESTIONS, **{"brainstorm/discuss-questions": said}).choose(
            "question-1: yes", "discuss: more"
        )


# -- approaches and design -----------------------------------------------------------------------


def test_an_approach_is_picked_or_agreed_with() -> None:
    assert at(Step.APPROACHES).choose("approach-1").talk.chosen_approach == "a1"
    assert at(Step.APPROACHES).choose("agree").talk.chosen_approach == "a2"
    assert at(Step.APPROACHES).choose("skip").talk.chosen_approach == "a2"


def test_a_discussed_approach_keeps_its_id_and_a_new_one_gets_another() -> None:
    combined = {
        "reply": "Both.",
        "approaches": [
            {"title": "Both", "summary": "Together.", "tradeoffs": "More."},
            {"id": "a1", "title": "Way 1", "summary": "As before.", "tradeoffs": "Slow."},
        ],
        "recommendation": 1,
        "because": "you asked",
    }
    play = at(Step.APPROACHES, **{"brainstorm/discuss-approaches": combined}).choose("discuss: combine them")
    assert [each.id for each in play.talk.approaches] == ["a3", "a1"]
    assert play.talk.recommended is not None
    assert play.talk.recommended.title == "Both"


def test_sections_are_approved_one_at_a_time() -> None:
    play = at(Step.DESIGN).choose("approve")
    assert [each.status for each in play.talk.design_sections] == ["approved", "pending"]
    assert play.talk.current_section == 1
    play.choose("previous")
    assert (play.talk.current_section, play.talk.design_sections[0].status) == (0, "approved")
    play.choose("approve", "approve")
    assert play.talk.finished


def test_a_revised_section_has_to_be_approved_again() -> None:
    play = at(Step.DESIGN).choose("approve", "previous", "revise: shorter, please")
    assert play.talk.design_sections[0].status == "pending"
    assert play.talk.design_sections[0].content.endswith("shorter, please")
    play.choose("approve")
    assert not play.talk.finished


def test_a_design_can_be_discussed_before_it_is_changed() -> None:
    play = at(Step.DESIGN)
    before = play.talk.design_sections
    play.choose("discuss").write("is that needed at all?")
    assert play.talk.design_sections == before
    assert [entry.content for entry in play.talk.conversation_log][-2:] == [
        "is that needed at all?",
        "Which of the two?",
    ]


@pytest.mark.parametrize("wish", ["revise", "discuss"])
def test_a_comment_may_change_another_section_that_is_then_approved_again(wish: str) -> None:
    other = {"reply": "So.", "sections": [{"id": "s1", "content": "Another one."}]}
    prompt = "brainstorm/revise" if wish == "revise" else "brainstorm/discuss-design"
    play = at(Step.DESIGN, **{prompt: other}).choose("approve", f"{wish}: the first is wrong")
    (shown,) = play.talk.shown_sections
    assert (shown.id, shown.content, shown.status) == ("s1", "Another one.", "pending")
    play.choose("approve")
    assert (play.talk.finished, play.talk.current_section) == (False, 1)
    assert play.choose("approve").talk.finished


def test_what_is_shown_stays_where_it_is_changed_along_with_another() -> None:
    both = {"sections": [{"id": "s1", "content": "One."}, {"id": "s2", "content": "Two."}]}
    play = at(Step.DESIGN, **{"brainstorm/revise": both}).choose("approve", "revise: both")
    assert [each.content for each in play.talk.shown_sections] == ["Two."]
    play.choose("approve")
    assert [each.content for each in play.talk.shown_sections] == ["One."]


def test_only_a_section_that_is_there_can_be_revised() -> None:
    other = {"sections": [{"id": "s9", "content": "Another one."}]}
    with pytest.raises(InvalidInput, match="'s9' is no section; there are s1, s2"):
        at(Step.DESIGN, **{"brainstorm/revise": other}).choose("revise: change it")


def test_a_menu_says_which_section_it_is_about() -> None:
    def asked(play: Play) -> str:
        (effect,) = play.effects
        assert isinstance(effect, AskPerson)
        return effect.expects

    assert asked(at(Step.DESIGN)) == "what you think of this section, 1 of 2"
    assert asked(at(Step.DESIGN).choose("approve")) == "what you think of this section, 2 of 2"
    assert asked(at(Step.DESIGN, "straightforward")) == "what you think of this section"


def test_the_rest_of_a_design_can_be_approved_at_once() -> None:
    assert at(Step.DESIGN).choose("skip").talk.finished


# -- going back, and what is stale ---------------------------------------------------------------


def test_going_back_leads_to_the_step_that_was_really_visited() -> None:
    play = at(Step.DESIGN).choose("back", "back", "back")
    assert play.step is Step.TRIAGE
    play.choose("straightforward")
    assert (play.step, play.talk.visited) == (Step.DESIGN, (Step.TRIAGE,))
    assert play.choose("back").step is Step.TRIAGE


def test_going_back_and_forth_without_a_change_asks_nobody() -> None:
    play = at(Step.DESIGN).choose("approve")
    asked, shown = len(play.done), (play.talk.design_sections, play.talk.current_section)
    play.choose("back", "back", "back", "agree", "finish", "approach-1")
    assert len(play.done) == asked
    assert (play.talk.design_sections, play.talk.current_section) == shown


def redone(play: Play, *choices: str) -> list[str]:
    before = len(play.done)
    play.choose(*choices)
    return play.done[before:]


def test_another_approach_makes_only_the_design_stale() -> None:
    assert redone(at(Step.DESIGN), "back", "approach-2") == ["brainstorm/design"]


def test_another_answer_makes_approaches_and_design_stale_but_no_question() -> None:
    assert redone(at(Step.DESIGN), "back", "back", "question-1: other", "finish", "approach-1") == [
        "brainstorm/approaches",
        "brainstorm/design",
    ]


def test_a_choice_goes_with_the_approach_that_was_chosen() -> None:
    play = at(Step.DESIGN).choose("back", "back", "question-1: other", "finish")
    assert (play.talk.chosen_approach, play.talk.chosen) == ("", None)


def test_an_answer_that_is_taken_back_leaves_nothing_stale() -> None:
    play = at(Step.QUESTIONS).choose("question-1: yes", "finish", "approach-1")
    assert redone(play, "back", "back", "question-1: other", "question-1: yes", "finish", "approach-1") == []


def test_another_level_asks_for_more_questions_and_keeps_the_answers() -> None:
    play = at(Step.QUESTIONS).choose("question-1: yes", "question-2: no")
    assert redone(play, "back", "complex") == ["brainstorm/questions"]
    assert answers(play) == ["yes", "no", "", "", ""]
    assert len({each.id for each in play.talk.questions}) == 5


def test_who_has_answered_enough_is_not_asked_more_at_a_lower_level() -> None:
    play = at(Step.QUESTIONS, "complex").choose(*(f"question-{n}: yes" for n in range(1, 6)))
    assert redone(play, "back", "exploration") == []
    assert answers(play) == ["yes"] * 5


def test_who_takes_an_answer_back_below_what_the_level_wants_is_asked_more() -> None:
    play = at(Step.QUESTIONS, "complex").choose(*(f"question-{n}: yes" for n in range(1, 6)))
    play.choose("back", "exploration", "question-5")
    assert redone(play, "skip") == ["brainstorm/questions"]
    assert (answers(play)[:4], play.asked.step) == (["yes"] * 4, "questions")


def test_another_level_makes_the_design_stale_but_no_approach() -> None:
    play = at(Step.QUESTIONS, "complex").choose(
        *(f"question-{n}: yes" for n in range(1, 6)), "finish", "approach-1"
    )
    assert redone(play, "back", "back", "back", "exploration", "finish", "approach-1") == [
        "brainstorm/design"
    ]


def test_an_outline_is_stale_when_answers_have_come_in_but_not_for_mere_questions() -> None:
    play = at(Step.DESIGN, "straightforward")
    assert redone(play, "back", "exploration", "back", "straightforward") == ["brainstorm/questions"]
    assert redone(play, "back", "exploration", "question-1: yes", "back", "straightforward") == [
        "brainstorm/design"
    ]


def test_a_confirmed_override_is_still_there_after_going_back() -> None:
    play = at(Step.TRIAGE).choose("complex", "back")
    assert redone(play, "agree") == []
    assert play.talk.complexity_level == "complex"


def test_a_new_assessment_opens_the_level_again() -> None:
    reply = {"reply": "You are right.", **triage("straightforward")}
    play = at(Step.QUESTIONS, **{"brainstorm/discuss-triage": reply}).choose("back", "discuss: it is small")
    assert play.talk.complexity_level is None
    assert play.choose("agree").step is Step.DESIGN


# -- scope ---------------------------------------------------------------------------------------


def test_batches_and_splits_are_confirmed_with_the_level() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(batches=BATCHES, splits=SPLITS)}).choose("agree")
    assert play.talk.batches == tuple(Part(**each) for each in BATCHES)
    assert play.talk.subject == "New endpoint: Serve the reviews."


def test_batches_can_be_discussed() -> None:
    proposal = triage(batches=BATCHES)
    play = at(Step.TRIAGE, **{"brainstorm/triage": proposal}).choose("discuss: combine the two", "agree")
    assert play.talk.batches == ()


def test_the_person_can_keep_it_whole() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(batches=BATCHES, splits=SPLITS)})
    assert "keep-whole" in play.ids
    play.choose("keep-whole")
    assert "keep-whole" not in play.ids
    play.choose("agree")
    assert (play.talk.batches, play.talk.splits, play.talk.subject) == ((), (), IDEA)


def test_narrowing_to_a_part_makes_what_was_made_from_the_whole_stale() -> None:
    play = at(Step.QUESTIONS).choose("question-1: yes", "back")
    play.replies["brainstorm/discuss-triage"] = {"reply": "Two.", **triage(splits=SPLITS)}
    assert redone(play, "discuss: these are two things", "agree")[-1] == "brainstorm/questions"
    assert answers(play)[0] == "yes"
    assert texts(play)[1].startswith("exploration New endpoint")


@pytest.mark.parametrize("field", ["batches", "splits"])
def test_one_part_alone_is_no_division(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field}: has 1; 2 to 10"):
        at(Step.TRIAGE, **{"brainstorm/triage": triage(**{field: BATCHES[:1]})})


# -- others are asked ----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN])
@pytest.mark.parametrize(
    ("who", "said", "paid"),
    [("board", "The Board says: wait.", 0.5), ("roundtable", "They agreed on little.", 0.04)],
)
def test_at_every_step_others_can_be_consulted(step: Step, who: str, said: str, paid: float) -> None:
    play = at(step)
    cost = play.state.total_cost
    play.choose(who).write("Is this wise?")
    asked, came_of_it = play.talk.conversation_log[-2:]
    assert (asked.speaker, asked.step, asked.content) == ("person", step, "Is this wise?")
    assert (came_of_it.speaker, came_of_it.step) == (who, step)
    assert said in came_of_it.content
    assert play.asked.step == step
    assert play.state.total_cost - cost == pytest.approx(paid)


def test_a_roundtable_is_a_part_of_the_brainstorm_until_it_is_over() -> None:
    play = at(Step.TRIAGE).put(RequestMade("roundtable", "Is this wise?"))
    number = str(play.state.happened)
    (opening,) = play.effects
    assert opening == OpenRoundtable(number)
    framing, interrupting = play.perform().effects
    assert framing == DraftReply("roundtable/framing", f"{number}.{number}")
    assert isinstance(interrupting, AskPerson)
    assert interrupting.interrupting
    play.perform()
    assert play.effects[0] == AskPersona("alex", "roundtable/contribution", f"{number}.1")
    assert len(play.talk.roundtable) == 2
    play.settle()
    assert (len(play.talk.roundtable), play.talk.table, play.asked.step) == (0, None, "triage")
    again = play.put(RequestMade("roundtable", "And this?")).perform().state.happened - 1
    assert [effect.key for effect in play.effects] == [f"{again}.{again}", f"{again}.1"]


def test_a_roundtable_that_cannot_be_opened_is_tried_again_or_gone_on_without() -> None:
    play = at(Step.DESIGN).put(RequestMade("roundtable", "Is this wise?")).fail()
    assert play.asked.step == "failed"
    again = Play(state=play.state).choose("try-again")
    assert again.talk.conversation_log[-1].speaker == "roundtable"
    assert play.choose("back").talk.conversation_log[-1].content == "Is this wise?"


def test_a_roundtable_that_is_interrupted_goes_on_where_it_was_or_is_given_up() -> None:
    play = at(Step.DESIGN).put(RequestMade("roundtable", "Is this wise?")).perform().perform()
    before = play.talk
    play.put(AttemptFailed(INTERRUPTED, "Interrupted"))
    again = Play(state=play.state).put(TriedAgain())
    assert again.talk == before
    assert again.effects[0] == AskPersona("alex", "roundtable/contribution", _key(before))
    given_up = play.choose("back").talk
    assert (len(given_up.roundtable), given_up.situation) == (0, Situation.AT_DESIGN)


def _key(talk: BrainstormState) -> str:
    assert talk.table is not None
    return f"{talk.table.opened.at}.1"


def test_who_does_not_say_what_to_ask_asks_about_the_step() -> None:
    play = at(Step.APPROACHES).choose("board", "ask-default")
    assert play.talk.conversation_log[-2].content == "Which approach should be taken?"


def test_choices_mean_the_same_everywhere() -> None:
    for step in (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN):
        labels = {choice.id: choice.label.split()[0] for choice in at(step).asked.choices}
        assert labels["discuss"] == "Discuss"
        assert (labels["board"], labels["roundtable"], labels["stop"]) == ("Board", "Roundtable", "Stop")
        assert labels.get("back", "Back") == "Back"
        assert labels.get("skip", "Skip") == "Skip"


@pytest.mark.parametrize("choice", ["", "A", "approach-9", "approach-0", "agree: please", "yes"])
def test_what_is_not_offered_is_refused_and_changes_nothing(choice: str) -> None:
    play = at(Step.APPROACHES)
    before = play.state
    with pytest.raises(InvalidInput):
        play.choose(choice)
    with pytest.raises(InvalidInput):
        play.write("agree")
    assert play.state == before


def test_a_comment_that_is_begun_can_be_dropped() -> None:
    play = at(Step.DESIGN).choose("revise", "back")
    assert play.asked.step == "design"
    assert play.talk.conversation_log == at(Step.DESIGN).talk.conversation_log


# -- limits of what is typed and reported --------------------------------------------------------


def test_texts_of_exactly_the_limit_pass() -> None:
    at(Step.QUESTIONS).choose("question-1: " + "x" * MAX_TEXT)
    with pytest.raises(InvalidInput, match=r"answer: has 20,001 characters; at most 20,000 are taken"):
        at(Step.QUESTIONS).choose("question-1: " + "x" * (MAX_TEXT + 1))


@pytest.mark.parametrize("text", ["   ", "\ud800"])
def test_a_comment_without_usable_text_is_refused(text: str) -> None:
    play = at(Step.DESIGN).choose("discuss")
    with pytest.raises(InvalidInput, match="discuss"):
        play.write(text)


def test_a_scout_reports_at_most_so_many_words() -> None:
    Play({"ScoutWorkspace": ScoutReported("word " * SCOUT_WORDS)}).open()
    with pytest.raises(InvalidInput, match="scout: has 501 words; at most 500"):
        Play({"ScoutWorkspace": ScoutReported("word " * (SCOUT_WORDS + 1))}).open()


REFUSED: list[tuple[BrainstormState, BrainstormEvent, str]] = [
    (
        at(Step.APPROACHES).talk,
        ApproachChosen("a9"),
        "approach: 'a9' is none of those offered",
    ),
    (at(Step.QUESTIONS).talk, AnswerGiven("q9", "x"), "question: 'q9' is none of those asked"),
    (at(Step.QUESTIONS).talk, QuestionPicked("q9"), "question: 'q9' is none of those asked"),
    (at(Step.DESIGN).talk, SectionsApproved(()), "what is shown can be approved"),
    (at(Step.DESIGN).talk, SectionsApproved(("s2",)), "what is shown can be approved"),
    (at(Step.DESIGN).talk, SectionsApproved(("s1", "s9")), "what is shown can be approved"),
]


@pytest.mark.parametrize(("state", "event", "why"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_not_there_cannot_be_named(state: BrainstormState, event: BrainstormEvent, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        flow.advance(state, event)


def drafted(**changes: Any) -> QuestionsDrafted:
    first = Question("q1", "What?", **changes)
    return QuestionsDrafted((first, *THREE[1:]), BILL)


BAD_DRAFTS: list[tuple[Step, BrainstormEvent, str]] = [
    (Step.QUESTIONS, drafted(type="choice"), "needs at least two options"),
    (Step.QUESTIONS, drafted(options=("a", "b")), "its type must be choice"),
    (Step.QUESTIONS, drafted(answer="sure"), "only the person can answer"),
    (Step.QUESTIONS, QuestionsDrafted((THREE[0], *THREE[:2]), BILL), "names the same twice"),
    (Step.APPROACHES, ApproachesDrafted(TWO_WAYS[:1], "a1", "x", BILL), "approaches: has 1; 2 to 4"),
    (Step.APPROACHES, ApproachesDrafted(TWO_WAYS, "a3", "x", BILL), "recommendation: must be the number"),
    (Step.DESIGN, DesignDrafted((Section("s1", "A", "b", "approved"), SECTIONS[1]), BILL), "only the person"),
    (Step.DESIGN, DesignDrafted((Section("s1", "A", " "), SECTIONS[1]), BILL), "sections.content: is empty"),
]


@pytest.mark.parametrize(("step", "event", "why"), BAD_DRAFTS, ids=[why for _, _, why in BAD_DRAFTS])
def test_a_draft_that_breaks_the_rules_is_refused(step: Step, event: BrainstormEvent, why: str) -> None:
    way: dict[Step, tuple[BrainstormEvent, ...]] = {Step.QUESTIONS: ()}
    way[Step.APPROACHES] = (QuestionsDrafted(THREE, BILL), AnswersClosed())
    way[Step.DESIGN] = (
        *way[Step.APPROACHES],
        ApproachesDrafted(TWO_WAYS, "a1", "x", BILL),
        ApproachChosen("a1"),
    )
    state = at(Step.TRIAGE).talk
    for each in (LevelConfirmed("exploration"), *way[step]):
        state = flow.advance(state, each)
    with pytest.raises(InvalidInput, match=why):
        flow.advance(state, event)


# -- the table -----------------------------------------------------------------------------------

EVENTS: dict[type, BrainstormEvent] = {
    ScoutReported: ScoutReported("Files."),
    CodeFound: CodeFound((Source("body of strip()", "def strip(): ..."),)),
    TriageDrafted: TriageDrafted(Triage("exploration", "Choices."), BILL),
    ScopeKeptWhole: ScopeKeptWhole(),
    LevelConfirmed: LevelConfirmed("exploration"),
    PlanningChosen: PlanningChosen(),
    QuestionsDrafted: QuestionsDrafted(THREE, BILL),
    QuestionPicked: QuestionPicked("q1"),
    AnswerGiven: AnswerGiven("q1", "yes"),
    AnswersClosed: AnswersClosed(),
    ApproachesDrafted: ApproachesDrafted(TWO_WAYS, "a1", "it is plain", BILL),
    ApproachChosen: ApproachChosen("a1"),
    DesignDrafted: DesignDrafted(SECTIONS, BILL),
    SectionsApproved: SectionsApproved(("s1",)),
    PreviousSectionShown: PreviousSectionShown(),
    WritingBegun: WritingBegun("discuss"),
    WritingDropped: WritingDropped(),
    RequestMade: RequestMade("discuss", "hm"),
    RequestWithdrawn: RequestWithdrawn(),
    TriageDiscussed: TriageDiscussed("So.", Triage("complex", "More."), BILL),
    QuestionsDiscussed: QuestionsDiscussed("So.", THREE, (), BILL),
    ApproachesDiscussed: ApproachesDiscussed("So.", TWO_WAYS, "a2", "you said so", BILL),
    DesignDiscussed: DesignDiscussed("So.", (), BILL),
    SectionsRevised: SectionsRevised(SECTIONS[:1], BILL),
    Consulted: Consulted("Wait."),
    GoneBack: GoneBack(),
    **AT_ROUNDTABLE,
}


def somewhere_at(situation: Situation) -> BrainstormState:
    steps = {
        Situation.AT_TRIAGE: at(Step.TRIAGE),
        Situation.AT_QUESTIONS: at(Step.QUESTIONS),
        Situation.AT_APPROACHES: at(Step.APPROACHES),
        Situation.AT_DESIGN: at(Step.DESIGN),
    }
    if situation in steps:
        return steps[situation].talk
    drafting = {
        Situation.SCOUTING: BrainstormState(description=IDEA),
        Situation.TRIAGING: flow.advance(BrainstormState(description=IDEA), ScoutReported("Files.")),
        Situation.ASKING: flow.advance(at(Step.TRIAGE).talk, LevelConfirmed("exploration")),
        Situation.WEIGHING: flow.advance(at(Step.QUESTIONS).talk, AnswersClosed()),
        Situation.DESIGNING: flow.advance(at(Step.APPROACHES).talk, ApproachChosen("a1")),
        Situation.ANSWERING: flow.advance(at(Step.QUESTIONS).talk, QuestionPicked("q1")),
        Situation.WRITING: flow.advance(at(Step.DESIGN).talk, WritingBegun("discuss")),
        Situation.DISCUSSING_TRIAGE: flow.advance(at(Step.TRIAGE).talk, RequestMade("discuss", "hm")),
        Situation.DISCUSSING_QUESTIONS: flow.advance(at(Step.QUESTIONS).talk, RequestMade("discuss", "hm")),
        Situation.DISCUSSING_APPROACHES: flow.advance(at(Step.APPROACHES).talk, RequestMade("discuss", "hm")),
        Situation.DISCUSSING_DESIGN: flow.advance(at(Step.DESIGN).talk, RequestMade("discuss", "hm")),
        Situation.REVISING: flow.advance(at(Step.DESIGN).talk, RequestMade("revise", "hm")),
        Situation.CONVENING: flow.advance(at(Step.DESIGN).talk, RequestMade("board", "hm")),
        Situation.AT_ROUNDTABLE: flow.advance(at(Step.DESIGN).talk, RequestMade("roundtable", "hm")),
        Situation.DONE: flow.advance(at(Step.TRIAGE).talk, PlanningChosen()),
    }
    return drafting[situation]


def test_every_event_and_every_situation_is_known_to_these_tests() -> None:
    assert set(EVENTS) == set(get_args(BrainstormEvent)) == {kind for _, kind in flow.TRANSITIONS}
    assert all(somewhere_at(situation).situation is situation for situation in Situation)


@pytest.mark.parametrize("situation", Situation)
def test_what_the_table_does_not_allow_raises_and_names_what_it_does(situation: Situation) -> None:
    state = somewhere_at(situation)
    allowed = {kind for at_, kind in flow.TRANSITIONS if at_ is situation}
    for kind, event in EVENTS.items():
        if kind in allowed:
            continue
        with pytest.raises(IllegalMove) as refused:
            flow.advance(state, event)
        assert set(refused.value.allowed) == {each.__name__ for each in allowed}


@pytest.mark.parametrize(
    ("situation", "kind"), flow.TRANSITIONS, ids=lambda value: getattr(value, "__name__", value)
)
def test_what_the_table_allows_leads_where_it_says(situation: Situation, kind: type) -> None:
    state, event = somewhere_at(situation), EVENTS[kind]
    for earlier in BEFORE.get(kind, ()):
        state = flow.advance(state, earlier)
    if kind is PreviousSectionShown:
        state = at(Step.DESIGN).choose("approve").talk
    if kind is ScopeKeptWhole:
        state = at(Step.TRIAGE, **{"brainstorm/triage": triage(batches=BATCHES)}).talk
    after = flow.advance(state, event)
    assert after.situation in targets(flow.TRANSITIONS[situation, kind])


NOT_NOW: list[tuple[BrainstormState, BrainstormEvent]] = [
    (at(Step.TRIAGE).talk, ScopeKeptWhole()),
    (at(Step.TRIAGE).talk, WritingBegun("revise")),
    (at(Step.QUESTIONS).talk, RequestMade("revise", "shorter")),
    (at(Step.DESIGN).talk, PreviousSectionShown()),
    (flow.advance(at(Step.QUESTIONS).talk, QuestionPicked("q1")), AnswerGiven("q2", "yes")),
    (flow.advance(at(Step.DESIGN).talk, WritingBegun("revise")), RequestMade("discuss", "hm")),
    (flow.advance(at(Step.DESIGN).talk, RequestMade("discuss", "hm")), Consulted("Wait.")),
    (flow.advance(at(Step.DESIGN).talk, RequestMade("board", "hm")), EVENTS[RoundtableOpened]),
    (flow.advance(at(Step.DESIGN).talk, RequestMade("roundtable", "hm")), Consulted("Wait.")),
    (flow.advance(at(Step.DESIGN).talk, RequestMade("discuss", "hm")), EVENTS[QuestionsDiscussed]),
    (flow.advance(at(Step.DESIGN).talk, RequestMade("discuss", "hm")), EVENTS[SectionsRevised]),
]


@pytest.mark.parametrize(("state", "event"), NOT_NOW, ids=lambda value: type(value).__name__)
def test_what_does_not_fit_what_is_going_on_is_refused(
    state: BrainstormState, event: BrainstormEvent
) -> None:
    with pytest.raises(IllegalMove):
        flow.advance(state, event)


# -- what fails ----------------------------------------------------------------------------------


def test_a_draft_that_failed_is_shown_raw_and_can_be_retried() -> None:
    play = Play().put(at(Step.TRIAGE).events[0]).perform().perform().fail()
    assert play.state.failure is not None
    assert play.state.failure.raw == "Well, …"
    assert (play.asked.step, play.ids) == ("failed", ("try-again", "stop"))
    assert play.choose("try-again").asked.step == "triage"


def test_a_failed_round_can_be_gone_on_without_and_keeps_the_comment() -> None:
    play = at(Step.QUESTIONS).choose("question-1: yes")
    play.put(RequestMade("discuss", "hm")).fail()
    assert Choice("back", "Back to the menu, without it") in play.asked.choices
    play.choose("back")
    assert (play.asked.step, answers(play)[0]) == ("questions", "yes")
    assert play.talk.conversation_log[-1].content == "hm"


def test_a_failed_step_can_be_gone_back_from() -> None:
    play = at(Step.QUESTIONS)
    play.put(AnswersClosed()).fail().choose("back")
    assert (play.state.stage, play.asked.step) == (Stage.BRAINSTORMING, "questions")


def test_aborting_saves_and_stops() -> None:
    play = Play().put(at(Step.TRIAGE).events[0]).perform().fail().choose("stop")
    assert (play.state.stopped, play.effects, play.state.phase) == (True, (), Phase.BRAINSTORM)


def test_questions_can_be_dropped_below_the_levels_minimum_when_the_person_says_so() -> None:
    play = at(Step.QUESTIONS)
    first = play.talk.questions[0]
    play.replies["brainstorm/discuss-questions"] = {
        "reply": "Then only this one.",
        "questions": [{"id": first.id, "text": first.text}],
        "replaces": [],
    }
    play.choose("discuss: drop all but the first")
    assert [each.id for each in play.talk.questions] == [first.id]
    assert play.asked.step == "questions"
    shape = shapes.discussed_questions(play.state.brainstorm, small=False)
    assert shape.model_json_schema()["properties"]["questions"].get("minItems", 0) <= 1


def test_the_options_of_questions_are_part_of_the_discussion() -> None:
    asked = [{"text": f"Which {n}?", "type": "choice", "options": ["Sessions", f"Tokens {n}"]} for n in "123"]
    play = at(Step.QUESTIONS, **{"brainstorm/questions": {"questions": asked}}).choose("question-1: Sessions")
    play.put(RequestMade("discuss", "what about keys?"))
    told = whole(due(play.state))
    assert "Which 2? (options: Sessions | Tokens 2)" in told
    assert "[answered: Sessions] Which 1? (options: Sessions | Tokens 1)" in told, "what was turned down"


def test_a_comment_that_is_withdrawn_was_never_said() -> None:
    play = at(Step.QUESTIONS)
    before = play.talk.conversation_log
    play.put(RequestMade("discuss", "sent by mistake")).put(RequestWithdrawn())
    assert play.talk.conversation_log == before
    assert play.asked.step == "questions"
