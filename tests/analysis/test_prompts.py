"""What the personas of an analysis and of a roundtable are told, and which shape their replies must have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from moot.analysis.events import FeedbackWritten, StepRef
from moot.analysis.ledger import ledger
from moot.analysis.material import at_hand
from moot.analysis.prompts import AnalysisPrompts
from moot.analysis.replies import FeedbackReply, Notes
from moot.analysis.state import Step
from moot.analysis.steps import load_steps
from moot.core.background import LedgerCorrected
from moot.core.flow import Drafted, PersonAnswered, PersonaSpoke, TaskDone
from moot.core.ledger import read_correction
from moot.core.model_effects import as_reply
from moot.llm.context import fit, shared_texts
from moot.llm.messages import ModelSaid, Request, UserSaid
from moot.personas.library import Persona, load_library
from moot.prompts.small_model import sentences
from moot.roundtable import prompts
from moot.roundtable.events import ContributionReturned
from moot.roundtable.findings import Named
from moot.roundtable.state import RoundtableState
from moot.roundtable.synthesis import Minutes, synthesize
from moot.text.depth import Depth
from tests.analysis.test_flow import ALEX, BILL, JORDAN, MAYA, STEPS, TALK, Play, assessed, read, seated

LIBRARY = load_library()
FILES: dict[str, str] = {}
PROMPTS = AnalysisPrompts(load_steps, lambda _: FILES)
PERSONAS = [LIBRARY.persona(persona) for persona in (MAYA, ALEX, JORDAN)]


def said(request: Request) -> str:
    """All of it, as it is sent where it fits."""
    sent = fit(request, 1_000_000, "local").request
    return "\n".join([*shared_texts(sent), sent.system, *(message.text for message in sent.messages)])


def at_table(*words: str) -> Play:
    """Alex has the word, then Jordan, then the person."""
    play = Play().step()
    play.picks("elaborate")
    play.settle(TaskDone(seated(STEPS[0])))
    play.settle(play._at_table(play.asked(), ()))
    for persona, _ in zip((ALEX, JORDAN), words, strict=False):
        play.settle(PersonaSpoke(TALK[persona], BILL))
    return play


@pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.id)
def test_a_persona_at_the_table_hears_its_own_voice_rules(persona: Persona) -> None:
    system = prompts.contribution(at_table().state, persona, small=False).system
    assert persona.voice.lens in system
    for rules in (persona.voice.patterns, persona.voice.behaviours, persona.voice.forbidden.rules):
        assert rules
        assert all(rule in system for rule in rules)
    assert all(word in system for word in persona.voice.forbidden.words)


@pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.id)
def test_a_persona_is_told_to_name_colleagues_stay_on_the_question_or_be_silent(persona: Persona) -> None:
    request = prompts.contribution(at_table().state, persona, small=False)
    others = [other for other in PERSONAS if other is not persona]
    assert all(f"{other.name} ({other.role})" in request.system for other in others)
    assert "Refer to colleagues by name when you build on what they said" in request.system
    assert "<focus>\nWho?\n</focus>" in request.system
    assert "reply with exactly: (silent)" in request.system
    assert ("REDIRECT:" in request.system) == (persona.id == MAYA), "only the lead redirects"


def test_everything_that_was_said_is_heard() -> None:
    request = prompts.contribution(at_table("Alex", "Jordan").state, PERSONAS[0], small=False)
    for persona in (ALEX, JORDAN):
        assert TALK[persona] in said(request)


def test_forbidden_words_are_named_when_a_contribution_is_asked_for_again() -> None:
    play = at_table()
    play.put(ContributionReturned(ALEX, "A delightful thing.", ("delightful",), BILL))
    request = prompts.again(play.state, PERSONAS[1], small=False)
    *_, before, wrong = request.messages
    assert (type(before), before) == (ModelSaid, ModelSaid("A delightful thing."))
    assert isinstance(wrong, UserSaid)
    assert "delightful" in wrong.text


def test_the_opening_has_the_guide_of_the_depth_and_what_was_found() -> None:
    for depth in ("brief", "standard", "deep"):
        request = PROMPTS.open(Play(scan=depth).state, PERSONAS[0], small=False)
        step = load_steps().steps[0]
        assert step.modes[depth] in request.system
        assert "3 files" in said(request)
        assert f"({depth})" in request.system


def test_notes_have_a_part_for_each_file_in_its_form() -> None:
    play = Play(completed=("00-01", "00-02", "01-01")).opens()
    play.says("Twenty.")
    _, shape = PROMPTS.assess(play.state, small=False)
    assert list(shape.model_json_schema()["$defs"]["StepNotesContents"]["properties"]) == [
        "spec.md",
        "nfr.md",
    ]
    with pytest.raises(ValidationError):
        shape.model_validate({"summary": "x", "missing": [], "follow_up": "", "contents": {"spec.md": "x"}})


def test_whoever_takes_the_notes_again_has_those_before_and_knows_that_they_are_replaced() -> None:
    play = Play(scan="standard").opens()
    play.says("Twenty.")
    assert "notes-so-far" not in said(PROMPTS.assess(play.state, small=False)[0])
    play.settle(Drafted(Notes("So.", {"spec.md": "### Who"}, ("who pays",), "Who pays?", ("Trains.",)), BILL))
    play.says("The county.")
    request, _ = PROMPTS.assess(play.state, small=False)
    assert "nothing of them is written anywhere yet" in said(request)
    assert all(said(request).count(words) == 1 for words in ("### Who", "who pays", "Trains."))


def test_whoever_takes_notes_is_told_of_a_next_question_only_where_one_may_be_asked() -> None:
    def asked(depth: Depth) -> tuple[str, list[str]]:
        play = Play(scan=depth).opens()
        play.says("Twenty.")
        request, shape = PROMPTS.assess(play.state, small=False)
        return request.system, list(shape.model_json_schema()["properties"])

    standard, fields = asked("standard")
    assert "**follow_up**" in standard
    assert "let the follow-up ask which holds." in standard
    assert "follow_up" in fields
    brief, fields = asked("brief")
    assert "follow" not in brief.replace("What follows", "")
    assert "put it under **missing**." in brief
    assert "follow_up" not in fields
    assert "left_open" in fields


def test_what_the_person_said_has_its_number_where_it_was_said() -> None:
    play = Play(STEPS[0]).step("Twenty.")
    play.says("You forgot the tunnels.")
    play.settle(Drafted(FeedbackReply("Right.", {}), BILL))
    play.settle(TaskDone(FeedbackWritten(())))
    play.roundtable("Alex, what of conflicts?")
    play.says("Good.")
    told = said(PROMPTS.feedback(play.state, small=False)[0])
    numbers = {one.text: one.number for one in ledger(play.state)}
    assert f"Answered (D{numbers['Twenty.']}): Twenty." in told
    assert f"the person said (D{numbers['You forgot the tunnels.']}): You forgot" in told
    assert f"The person (D{numbers['Alex, what of conflicts?']}): Alex, what" in told


def test_minutes_that_an_artifact_has_are_not_told_a_second_time() -> None:
    def told(*announcements: str) -> bool:
        play = Play(STEPS[0]).step().roundtable()
        (held,) = play.state.elaborations
        assert held.table is not None
        held = replace(held, table=replace(held.table, announcements=announcements))
        state = replace(play.state, elaborations=(held,))
        return any("<minutes" in source.text for source in at_hand(state))

    assert told("Could not update spec.md (file not found).")
    assert not told('Updated spec.md, section "Who": added 1 insight.')


def test_a_step_that_is_over_is_no_longer_called_the_step_at_hand() -> None:
    play = Play().opens()
    play.says("Twenty.")
    assert "this is the step at hand" in said(PROMPTS.assess(play.state, small=False)[0])
    play.settle(assessed())
    play.completes()
    play.says("You forgot the tunnels.")
    told = said(PROMPTS.feedback(play.state, small=False)[0])
    assert "just finished" in told
    assert "this is the step at hand" not in told


def test_the_table_knows_that_the_person_listens_on() -> None:
    def told(table: RoundtableState) -> str:
        return said(prompts.contribution(table, PERSONAS[1], small=False))

    table = at_table().state.table
    assert "listens on" not in told(table)
    assert "nothing to say for now, and listens on. It is your turn" in told(replace(table, silences=1))
    assert "nothing to say for now, again, and listens on." in told(replace(table, silences=2))


def test_what_the_person_corrects_of_the_notes_is_known_when_they_are_taken_again() -> None:
    play = Play(scan="standard").opens()
    play.says("Twenty.")
    notes = Notes("So.", {}, (), "Who pays?", ("Ready by May.", "Twenty seats.", "Trains."))
    play.settle(Drafted(notes, BILL))
    for number, words in ((1, "drop D{}"), (2, "D{}: Thirty seats")):
        place = next(one.number for one in ledger(play.state) if one.key == f"decided:00-01:{number}")
        correction = read_correction(ledger(play.state), (), words.format(place), "00-01")
        play.put(LedgerCorrected(correction))
    play.says("The county.")
    request, _ = PROMPTS.assess(play.state, small=False)
    assert said(request).endswith(
        "into your notes and the files:\n- Ready by May: does not hold any more\n"
        "- Twenty seats: instead of it holds: Thirty seats"
    )


# -- a very small model --------------------------------------------------------------------------


def test_a_small_models_notes_are_the_persons_own_words() -> None:
    play = Play().opens()
    play.says("People on trains. About twenty of them.")
    request, shape = PROMPTS.assess(play.state, small=True)
    assert len(said(request)) < 300
    notes = {"summary": "About twenty of them.", "contents": {}}
    words = "People on trains. About twenty of them."
    shape.model_validate(notes | {"contents": {"quick-scan.md": words}})
    for wrong in (notes | {"contents": {"quick-scan.md": "Something."}}, notes | {"summary": "Its own."}):
        with pytest.raises(ValidationError):
            shape.model_validate({"contents": {"quick-scan.md": words}} | wrong)


def test_a_small_models_feedback_is_written_down_in_the_persons_words() -> None:
    play = Play().step()
    play.says("You forgot the tunnels.")
    assert play.state.step is Step.FEEDBACK
    _, shape = PROMPTS.feedback(play.state, small=True)
    drafted: dict[str, Any] = {"contents": {"quick-scan.md": "You forgot the tunnels."}}
    drafted |= {"reply": "I have written that down.", "changes": True}
    shape.model_validate(drafted)
    with pytest.raises(ValidationError):
        shape.model_validate(drafted | {"changes": False})


@pytest.mark.parametrize(("words", "asks"), [("What is throughput?", True), ("Thirty. Why?", False)])
def test_a_small_model_takes_nothing_for_a_question_but_questions_and_explains_nothing(
    words: str, asks: bool
) -> None:
    play = Play().opens()
    play.says(words)
    assert play.state.step is Step.READING
    _, shape = PROMPTS.read(play.state, small=True)
    reply = "I am too small a model to explain that. Say what you know, or: not known yet." if asks else ""
    shape.model_validate({"reply": reply, "answers": not asks})
    for wrong in ({"reply": reply, "answers": asks}, {"reply": "Something.", "answers": not asks}):
        with pytest.raises(ValidationError):
            shape.model_validate(wrong)


def test_what_was_asked_back_is_told_apart_from_the_answers() -> None:
    play = Play(scan="deep").opens()
    play.says("What is throughput?")
    request, _ = PROMPTS.read(play.state, small=False)
    assert "<their-words>\nWhat is throughput?\n</their-words>" in said(request)
    assert "Asked: Who needs it?\n</conversation>" in said(request)
    play.settle(read("How many an hour."))
    play.says("Thirty. Why do you ask?")
    play.settle(read("To size it.", answers=True))
    request, _ = PROMPTS.assess(play.state, small=False)
    assert (
        "Asked: Who needs it?\n\n"
        "The person asked back: What is throughput?\nThey were told: How many an hour.\n\n"
        "Answered (D1): Thirty. Why do you ask?\n\n"
        "They were told: To size it.\n</conversation>"
    ) in said(request)


def test_a_small_model_finds_nothing_but_the_question_that_was_asked_last() -> None:
    """What was decided it cannot tell, so it is not asked."""
    play = at_table("Alex", "Jordan")
    play.settle(Drafted(Named(), BILL))
    play.says("We take Redis. But who pays for it?")
    _, shape = prompts.check(play.state, small=True)
    asked = {"turn": 4, "by": "User", "quote": "But who pays for it?"}
    point = {"question": "But who pays for it?", "context": "Nobody has answered it.", "said": asked}
    empty: dict[str, Any] = {"decisions": [], "disagreements": [], "open_points": []}
    shape.model_validate(empty | {"open_points": [point]})
    for wrong in (
        {"decisions": ["We take Redis."]},
        {"open_points": [{**point, "question": "We take Redis."}]},
        {"open_points": [{**point, "said": {**asked, "by": "Alex"}}]},
    ):
        with pytest.raises(ValidationError):
            shape.model_validate(empty | wrong)


def test_a_small_models_minutes_are_a_sentence_of_everybody_as_it_was_said() -> None:
    play = at_table("Alex", "Jordan")
    play.settle(Drafted(Named(), BILL))
    play.settle(PersonAnswered(choice="done"))
    _, shape = prompts.synthesis(play.state, small=True)
    alex = {"text": TALK[ALEX], "said": [{"turn": 2, "quote": TALK[ALEX]}]}
    jordan = {"text": TALK[JORDAN], "said": [{"turn": 3, "quote": TALK[JORDAN]}]}
    drafted: dict[str, Any] = {
        "insights": [alex, jordan],
        "risks": [],
        "acceptance_criteria": [],
        "action_items": [],
        "one_line": "we heard 2 views on Scope Estimation",
    }
    made = as_reply(shape.model_validate(drafted), Minutes)
    synthesis, wrong = synthesize(made, play.state.table.findings, play.state.table.statements)
    assert [(one.by, one.text) for one in synthesis.insights] == [
        (("Alex",), TALK[ALEX]),
        (("Jordan",), TALK[JORDAN]),
    ]
    assert wrong == ()
    for insights in ([], [{**alex, "said": jordan["said"]}, jordan]):
        with pytest.raises(ValidationError):
            shape.model_validate(drafted | {"insights": insights})


def test_a_small_models_framing_asks_one_of_the_questions_given() -> None:
    play = Play().step()
    play.picks("elaborate")
    play.settle(TaskDone(seated(STEPS[0], "Twenty people. On trains.")))
    _, shape = prompts.framing(play.state, small=True)
    question = "What do we not know yet about Scope Estimation?"
    shape.model_validate({"summary": "On trains.", "focus_question": question})
    with pytest.raises(ValidationError):
        shape.model_validate({"summary": "On trains.", "focus_question": "What is love?"})


@pytest.mark.parametrize(
    ("text", "found"),
    [("", ("(nothing)",)), ("One.\n\nTwo? One.", ("One.", "Two?")), ("x" * 400, ("x" * 300,))],
)
def test_sentences_are_each_there_once(text: str, found: tuple[str, ...]) -> None:
    assert sentences(text) == found


# -- what is known -------------------------------------------------------------------------------


ARCHITECTURE = ("03-01", "03-02", "03-03", "03-04")


def test_the_architecture_review_gets_the_architecture_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much was written: nothing is cut at a number of characters."""
    steps = [step for step in load_steps().steps if step.id in ARCHITECTURE]
    refs = [StepRef(step.id, step.title, step.phase, ALEX, "brief", step.outputs) for step in steps]
    play = Play(*refs)
    for number, _ in enumerate(refs[:-1], start=1):
        play.step(f"Answer {number}. {'More of it. ' * 400}The end of answer {number}.")
        play.picks("continue")
    text = f"# Offline mode\n\n### ADR-1: One queue\n\n{'A sentence. ' * 5_000}\n\nADR-1 holds on the phone."
    monkeypatch.setitem(FILES, "architecture-overview.md", text)
    request = PROMPTS.open(play.state, PERSONAS[1], small=False)
    assert steps[-1].title in request.system
    assert text in said(request)
    assert "ADR-1 (architecture-overview.md): One queue" in said(request)
    assert all(f"The end of answer {number}." in said(request) for number in (1, 2, 3))
