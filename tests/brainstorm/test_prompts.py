"""What the brainstormer is told, and which of its replies are taken."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

from moot.brainstorm.events import DEFERRED
from moot.brainstorm.menu import RequestMade
from moot.brainstorm.prompts import conversation
from moot.brainstorm.state import Step
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import DraftReply, PersonAnswered
from moot.core.ledger import Correction
from moot.errors import DraftInvalid
from moot.evidence.items import Evidence
from moot.llm.context import fit, needed_tokens, shared_texts
from moot.llm.embedded.grammar import Grammar
from moot.llm.messages import Request, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.schemas import strict
from moot.prompts.template import fill
from moot.workflow.events import PlanLaidOut, ScopeReassessed
from moot.workflow.flow import WORKFLOW
from moot.workflow.menu import AdjustmentAsked
from moot.workflow.prompts import PROMPTS
from moot.workflow.state import WorkflowState
from tests.support.scripted import ScriptedProvider
from tests.support.workflow import BATCHES, IDEA, PLAN, REPLIES, SPLITS, Play, at, due, triage, whole

STEPS = (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN)


def drafting() -> dict[str, WorkflowState]:
    """A state in which each of the prompts is due."""
    found: dict[str, WorkflowState] = {}
    talks = [at(step).put(RequestMade("discuss", "a comment")) for step in STEPS]
    batches = Play({"brainstorm/triage": triage(batches=BATCHES)}).open().choose("skip")
    at_table = at(Step.DESIGN).put(RequestMade("roundtable", "a comment")).settle()
    planned = at(Step.DESIGN, LayOutPlan=PlanLaidOut(PLAN))
    while planned.asked.step != "plan":
        planned.choose("approve")
    planned.put(WORKFLOW.record(planned.state, planned.asked, PersonAnswered("a comment", "discuss")))
    revised = at(Step.DESIGN).put(RequestMade("revise", "a comment"))
    for one in (*talks, revised, at_table, batches, planned):
        state = WORKFLOW.initial
        for event in one.events:
            state = WORKFLOW.advance(state, event)
            for effect in WORKFLOW.pending(state):
                if isinstance(effect, DraftReply):
                    found.setdefault(effect.prompt, state)
    return found


DUE = drafting()
OWN = [name for name in PROMPTS.drafts if not name.startswith("roundtable/")]


def test_whoever_speaks_again_is_told_what_was_read_before() -> None:
    talk = at(Step.TRIAGE).talk.said("brainstormer", "So.", read=("app.py 1–3", "docs/a.md 1–9"))
    talk = talk.said("brainstormer", "Then.", read=("app.py 1–3", "b.py 1–2"))
    (*_, first, then) = conversation(talk)
    assert first.text.endswith("\nSo.\n(Read for this: app.py 1–3; docs/a.md 1–9)\n</said>")
    assert then.text.endswith("\nThen.\n(Read for this: b.py 1–2)\n</said>"), "each is named once"


@pytest.mark.parametrize("step", STEPS)
def test_what_was_laid_out_is_given_once(step: Step) -> None:
    play = at(step)
    talk = play.talk
    assert talk.triage is not None
    laid_out = {
        Step.TRIAGE: [talk.triage.reasoning],
        Step.QUESTIONS: [each.text for each in talk.questions],
        Step.APPROACHES: [each.summary for each in talk.approaches],
        Step.DESIGN: [each.content for each in talk.design_sections],
    }[step]
    said = told(play.put(RequestMade("discuss", "why?")))
    for words in laid_out:
        # Several may have the same words.
        assert len(re.findall(rf"{re.escape(words)}\.?\n", said)) == laid_out.count(words)
    assert said.count("as it stands below.)") >= 1


def message(request: Request) -> str:
    (said,) = request.messages
    assert isinstance(said, UserSaid)
    return said.text


def told(play: Play) -> str:
    return whole(due(play.state))


def replied(prompt: str) -> Any:
    reply = REPLIES[prompt]
    return reply(DUE[prompt]) if callable(reply) else reply


# -- what is told --------------------------------------------------------------------------------


def test_every_prompt_that_the_flow_names_can_be_made() -> None:
    assert set(DUE) == set(PROMPTS.drafts) == set(PROMPTS.replies)


@pytest.mark.parametrize("prompt", OWN)
def test_the_brainstormer_knows_who_it_is_and_what_the_scout_saw(prompt: str) -> None:
    request, _ = PROMPTS.drafts[prompt](DUE[prompt], small=False)
    said = whole(request)
    seen = DUE[prompt].brainstorm.scout_output
    shared = f"<idea>\n{IDEA}\n</idea>\n\n<workspace>\n{seen}\n</workspace>"
    assert said.startswith(f"{shared}\n\n{fill('brainstorm/brainstormer', {})}")
    assert "{{" not in request.system


@pytest.mark.parametrize("prompt", OWN)
def test_the_brainstormer_may_look_into_the_repository(prompt: str) -> None:
    request, _ = PROMPTS.drafts[prompt](DUE[prompt], small=False)
    assert request.looks > 0
    assert request.tools_tokens > 0
    assert PROMPTS.drafts[prompt](DUE[prompt], small=True)[0].looks == 0


def largest(schema: Any, whole: Any) -> int:
    """Characters of the longest value that a JSON schema takes, its longest alternative being the first."""
    if "$ref" in schema:
        return largest(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "enum" in schema or "const" in schema:
        return max(len(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    match schema["type"]:
        case "object":
            return sum(len(name) + 6 + largest(each, whole) for name, each in schema["properties"].items())
        case "array":
            return int(schema["maxItems"] * (largest(schema["items"], whole) + 2)) if "items" in schema else 2
        case "string":
            return int(schema["maxLength"]) + 2
        case _:
            return 2


_FOUR = 4
"""Characters of English in a token, as most models count them."""


@pytest.mark.parametrize("prompt", [name for name in OWN if not name.endswith(("design", "revise"))])
def test_there_is_room_for_the_longest_reply_that_is_taken(prompt: str) -> None:
    request, shape = PROMPTS.drafts[prompt](DUE[prompt], small=False)
    schema = shape.model_json_schema()
    assert largest(schema, schema) / _FOUR <= request.max_tokens
    assert 0 < request.usual_tokens <= request.max_tokens / 2


@pytest.mark.parametrize("step", STEPS)
def test_a_discussion_is_conversational_and_a_first_draft_is_not(step: Step) -> None:
    discussed = due(at(step).put(RequestMade("discuss", "why?")).state)
    assert "in the middle of this conversation" in discussed.system
    assert whole(discussed).endswith("<comment>\nwhy?\n</comment>")
    first, _ = PROMPTS.drafts[f"brainstorm/{step}"](DUE[f"brainstorm/{step}"], small=False)
    assert "in the middle of this conversation" not in first.system
    assert "<comment>" not in whole(first)


def test_a_conversational_prompt_has_its_parts_in_order() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "discuss: drop the second", "finish", "back")
    said = told(play.put(RequestMade("discuss", "and the third?")))
    places = [
        said.index(part)
        for part in (
            "<idea>",
            "<workspace>",
            'by="the person" at="questions">\ndrop the second',
            'by="the brainstormer" at="questions">\nThey stay.',
            "<so-far>",
            "Level, confirmed by the person: exploration",
            "(1 is q1, 2 is q2, 3 is q3):\n  1. [answered: PostgreSQL]",
            "2. [deferred]",
            "<decided-so-far>",
            "<comment>\nand the third?",
        )
    ]
    assert places == sorted(places)
    assert said.count("and the third?") == 1, "the comment is not in the conversation too"


def test_everything_that_was_said_is_said_again_at_every_later_step() -> None:
    play = at(Step.TRIAGE).choose("discuss: never use a database", "agree", "discuss: seen at questions")
    play.choose("finish", "discuss: seen at approaches")
    said = told(play.put(RequestMade("discuss", "x")))
    places = [
        said.index(words) for words in ("never use a database", "seen at questions", "seen at approaches")
    ]
    assert places == sorted(places)


def test_a_long_conversation_is_said_again_whole() -> None:
    play = at(Step.QUESTIONS)
    for number in range(4):
        play.put(RequestMade("board", f"comment {number} " + "word " * 900)).settle()
    request = due(play.put(RequestMade("discuss", "x")).state)
    assert all(f"comment {number} " in whole(request) for number in range(4))
    assert fit(request, 1_000_000, "model").left_out == ()


def test_beyond_the_window_the_oldest_goes_first_and_both_are_told() -> None:
    play = at(Step.QUESTIONS)
    for number in range(4):
        play.put(RequestMade("board", f"comment {number} " + "word " * 900)).settle()
    play.choose("finish")
    request = due(play.put(RequestMade("discuss", "x")).state)
    enough = needed_tokens(request)
    assert fit(request, enough, "model").left_out == ()
    assert fit(request, enough + 1, "model").left_out == ()
    fitted = fit(request, enough - 1, "model")
    # What is older, and only points to the list below, takes less room than saying that it is not there.
    oldest = "what the person said at questions (entry 3 of the conversation)"
    assert fitted.left_out == (oldest,)
    assert f"- {oldest}" in whole(fitted.request)
    less = fit(request, enough - 4_000, "model").left_out
    assert [name for name in less if "the person" in name] == [
        f"what the person said at questions (entry {number} of the conversation)" for number in (3, 5, 7)
    ], "the newest is kept"


def test_what_was_said_where_one_went_back_from_is_left_out_last() -> None:
    play = at(Step.TRIAGE).choose("discuss: long " + "word " * 900, "agree", "finish")
    play.choose("discuss: the second will not do " + "word " * 900, "back")
    request = due(play.put(RequestMade("discuss", "x")).state)
    fitted = fit(request, needed_tokens(request) - 100, "model")
    assert "the second will not do" in whole(fitted.request)
    assert any("at triage" in name for name in fitted.left_out)


def test_what_is_made_again_is_made_from_what_was_there() -> None:
    play = at(Step.DESIGN).choose("back", "back", "question-1: other", "finish")
    assert "Way 1" in whole(PROMPTS.drafts["brainstorm/approaches"](play.state, small=False)[0])
    assert "Made from exploration" in whole(PROMPTS.drafts["brainstorm/design"](play.state, small=False)[0])


def test_a_first_draft_after_going_back_knows_what_was_said_there() -> None:
    play = at(Step.APPROACHES).choose("discuss: the second will not do", "back", "question-1: other")
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered(choice="finish")))
    assert "the second will not do" in told(play)


def test_the_consulted_are_named() -> None:
    play = at(Step.APPROACHES).choose("board: is it wise?", "roundtable: and this?")
    said = told(play.put(RequestMade("discuss", "x")))
    assert 'by="the Board" at="approaches">\nThe Board says: wait.' in said
    assert 'by="the roundtable" at="approaches">\n' in said
    assert "They agreed on little." in said


def test_what_was_said_at_a_roundtable_is_known_afterwards() -> None:
    play = at(Step.APPROACHES).choose("roundtable: and this?")
    said = told(play.put(RequestMade("discuss", "x")))
    assert "What was said:\n\nMaya Okonkwo: " in said
    assert "Alex Rivera: Conflicts are shown." in said


def test_a_part_of_the_idea_is_named_as_what_is_worked_on() -> None:
    play = at(Step.TRIAGE, **{"brainstorm/triage": triage(splits=SPLITS, batches=BATCHES)}).choose("agree")
    said = told(play.put(RequestMade("discuss", "x")))
    assert "Only this part of the idea is being worked on: New endpoint: Serve the reviews." in said
    assert "Batches, confirmed by the person:\n  Batch 1: Test baseline" in said


def test_evidence_and_what_was_decided_are_given_at_every_step() -> None:
    notes = Evidence("notes.md", "docs/notes.md", "ab" * 32, "text/markdown", "Codes are kept.")
    for step in STEPS:
        play = at(step).put(EvidenceGiven((notes,)))
        play.put(LedgerCorrected(Correction("own:1", "Never use a database", step)))
        said = told(play.put(RequestMade("discuss", "x")))
        assert "1 Codes are kept." in said
        assert f"Decided: Never use a database (the person, at {step})" in said


def test_what_the_brainstormer_has_cited_and_is_not_there_is_said_to_it() -> None:
    notes = Evidence("notes.md", "docs/notes.md", "ab" * 32, "text/markdown", "Codes are kept.")
    reply = {**triage(), "reply": "Codes are kept [E1:1], for a year [E1:9]."}
    play = at(Step.TRIAGE, **{"brainstorm/discuss-triage": reply}).put(EvidenceGiven((notes,)))
    assert "<not-found>" not in told(play.put(RequestMade("discuss", "why?")))
    said = told(play.settle().put(RequestMade("discuss", "x")))
    _, _, found = said.partition("<not-found>")
    assert "E1:9" in found
    assert "E1:1]" not in found


def test_all_requests_of_a_workflow_begin_with_the_same() -> None:
    begun = {shared_texts(PROMPTS.drafts[prompt](DUE[prompt], small=False)[0])[0] for prompt in OWN}
    assert len(begun) == 1


def test_what_the_person_has_taken_back_is_said_to_be_so() -> None:
    play = at(Step.QUESTIONS).choose("question-1: PostgreSQL", "question-2: daily", "discuss: no colours")
    play.put(LedgerCorrected(Correction("answer:q1", "SQLite after all", "questions")))
    for gone in ("answer:q2", "said:2"):
        play.put(LedgerCorrected(Correction(gone, "", "questions")))
    said = told(play.put(RequestMade("discuss", "x")))
    assert "Decided: SQLite after all (the person, at questions)" in said
    assert f"No longer holds: Decided: exploration {IDEA} 1? daily (the person, at questions)" in said
    assert "No longer holds: Said: no colours (the person, at questions)" in said


def test_deferred_questions_are_left_to_the_brainstormer() -> None:
    said = whole(PROMPTS.drafts["brainstorm/approaches"](DUE["brainstorm/approaches"], small=False)[0])
    assert said.count("[deferred]") == 3
    assert DEFERRED not in said


@pytest.mark.parametrize(
    ("level", "told"),
    [("exploration", "Ask the person 3 to 5 questions"), ("complex", "Ask the person 5 to 7 questions")],
)
def test_the_level_is_told(level: str, told: str) -> None:
    play = at(Step.TRIAGE, level)
    play.put(WORKFLOW.record(play.state, play.asked, PersonAnswered(choice="agree")))
    request, _ = PROMPTS.drafts["brainstorm/questions"](play.state, small=False)
    assert told in request.system


def test_a_complex_design_goes_deeper() -> None:
    def told(level: str) -> str:
        return PROMPTS.drafts["brainstorm/design"](at(Step.DESIGN, level).state, small=False)[0].system

    assert "in 1 to 2 sections" in told("straightforward")
    assert "quick outline" in told("straightforward")
    assert "in 3 to 8 sections" in told("complex")
    assert "Go deep" in told("complex")


def test_a_reassessment_knows_the_batches_and_the_comment() -> None:
    play = Play({"brainstorm/triage": triage(batches=BATCHES)}).open().choose("skip")
    assert isinstance(play.events[-1], ScopeReassessed)
    play.put(AdjustmentAsked("drop it"))
    request, _ = PROMPTS.drafts["workflow/reassess"](play.state, small=False)
    said = whole(request)
    assert "Batch 1, complete: Test baseline" in said
    assert "Batch 2, pending: Cross-task validation" in said
    assert 'by="the brainstormer" at="reassess">\nAs planned.' in said
    assert said.endswith("<comment>\ndrop it\n</comment>")
    assert "beginning with batch 2" in request.system


# -- what is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.drafts)
def test_a_proper_reply_is_taken(prompt: str) -> None:
    _, shape = PROMPTS.drafts[prompt](DUE[prompt], small=False)
    value = json.loads(json.dumps(replied(prompt), default=list))
    for approach in value.get("approaches", ()):
        approach["taskEstimate"] = 3
    shape.model_validate(value)
    assert strict(shape.model_json_schema())["additionalProperties"] is False


def test_a_triage_is_read_with_its_scope() -> None:
    _, shape = PROMPTS.drafts["brainstorm/triage"](DUE["brainstorm/triage"], small=False)
    reply = triage("complex", batches=list(BATCHES), splits=list(SPLITS))
    read = shape.model_validate_json(json.dumps(reply))
    assert read.model_dump(by_alias=True) == reply


TRIAGES: list[tuple[dict[str, Any], str]] = [
    ({"level": "simple"}, "level"),
    ({"level": "Straightforward"}, "level"),
    ({"reasoning": ""}, "reasoning"),
    ({"type": "questions"}, "type"),
    ({"batches": [BATCHES[0]]}, "batches: has 1; 2 to 10 can be proposed, or none"),
    ({"splits": [{"title": "A"}, {"title": "B"}]}, "description"),
    ({"batches": [BATCHES[0], BATCHES[0]]}, "names the same twice"),
    ({"batches": [dict(BATCHES[0], title=f"{n}") for n in range(11)]}, "at most 10"),
]


@pytest.mark.parametrize(("changes", "why"), TRIAGES, ids=[why for _, why in TRIAGES])
def test_a_triage_that_is_none_is_refused(changes: dict[str, Any], why: str) -> None:
    _, shape = PROMPTS.drafts["brainstorm/triage"](DUE["brainstorm/triage"], small=False)
    with pytest.raises(ValidationError, match=why):
        shape.model_validate({**triage(), **changes})


def test_a_triage_in_prose_is_no_triage() -> None:
    _, shape = PROMPTS.drafts["brainstorm/triage"](DUE["brainstorm/triage"], small=False)
    with pytest.raises(ValidationError):
        shape.model_validate_json("This is clearly straightforward.")


def asked(count: int) -> str:
    return json.dumps({"questions": [{"text": f"{n}?", "type": "text", "options": []} for n in range(count)]})


def drafted(*lines: str) -> tuple[Any, ScriptedProvider]:
    provider = ScriptedProvider(lines)
    model = Model(ModelName("stub", "model"), provider)
    request, shape = PROMPTS.drafts["brainstorm/questions"](DUE["brainstorm/questions"], small=False)
    return asyncio.run(model.draft(request, shape)).value, provider


def test_a_reply_outside_the_level_is_returned_once_with_the_reason() -> None:
    value, provider = drafted(asked(2), asked(3))
    assert len(value.questions) == 3
    said = provider.calls[1].messages[-1]
    assert isinstance(said, UserSaid)
    assert "at least 3 entries" in said.text


def test_what_the_flow_would_refuse_is_told_in_its_words() -> None:
    wrong = json.dumps({"questions": [{"text": "Which?", "type": "choice", "options": ["one"]}] * 3})
    _, provider = drafted(wrong, asked(4))
    said = provider.calls[1].messages[-1]
    assert isinstance(said, UserSaid)
    assert "questions.options: 'Which?' is a choice and needs at least two options" in said.text


def test_a_second_bad_reply_is_shown_raw() -> None:
    with pytest.raises(DraftInvalid) as failed:
        drafted(asked(2), asked(9))
    assert failed.value.raw == asked(9)


# -- a very small model --------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.drafts)
def test_a_small_model_gets_little_to_read_and_little_to_write(prompt: str) -> None:
    request, shape = PROMPTS.drafts[prompt](DUE[prompt], small=True)
    assert len(request.system) < 240
    assert len(message(request)) < 1_300
    grammar = Grammar(shape.model_json_schema(), plain=True, model="local")
    assert grammar.longest < 1_600


def test_what_a_small_model_may_write_is_taken() -> None:
    _, shape = PROMPTS.drafts["brainstorm/questions"](DUE["brainstorm/questions"], small=True)
    shape.model_validate({"questions": [{"question": "What is it for?"}] * 3})
    _, shape = PROMPTS.drafts["brainstorm/approaches"](DUE["brainstorm/approaches"], small=True)
    way = {"title": "Way", "summary": "We do it.", "tradeoffs": "It is slow.", "taskEstimate": 1}
    shape.model_validate({"approaches": [way, way], "recommendation": 1, "because": "It is plain."})
