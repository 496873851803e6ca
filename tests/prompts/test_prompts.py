from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from moot.ask import prompts
from moot.ask.flow import AskState, Step
from moot.board import prompts as board
from moot.board.events import AdvisorSpoke, BoardConvened, DecisionPresented, Member
from moot.board.flow import BOARD
from moot.core.conversation import PERSON, Conversation
from moot.core.flow import Usage
from moot.llm.context import fit, needed_tokens
from moot.llm.messages import ModelSaid, UserSaid
from moot.personas.library import Persona, load_library, parse_persona, scaffold
from moot.prompts import template

LIBRARY = load_library()
STRATEGIST = LIBRARY.persona("the-strategist")


def asked(*said: str) -> AskState:
    conversation = Conversation()
    for place, text in enumerate(said):
        conversation = conversation.said("the-strategist" if place % 2 else PERSON, "x", text)
    return AskState(Step.ANSWER, "the-strategist", "local", conversation, known=(0,) * (len(said) // 2))


def test_a_persona_is_put_together_in_a_fixed_order() -> None:
    prompt = template.system_prompt(STRATEGIST, whole_answer=True)
    landmarks = [
        "You are The Strategist",
        STRATEGIST.bio[:40],
        "that of the integrator",
        "Risk appetite: 6 of 10.",
        "Delivery vs rigour: 5 of 10.",
        "How you reason:",
        "How you talk with people:",
        "The limits that you keep to:",
        "How you sound:",
        "How you open an answer:",
        "How you end it:",
        "Words you do not use",
    ]
    places = [prompt.index(landmark) for landmark in landmarks]
    assert places == sorted(places)


@pytest.mark.parametrize("persona", LIBRARY.personas, ids=lambda persona: persona.id)
def test_every_shipped_persona_makes_a_prompt_of_sensible_size(persona: object) -> None:
    prompt = template.system_prompt(persona, whole_answer=True)  # type: ignore[arg-type]
    assert 250 < len(prompt.split()) < 900
    assert "\n\n\n" not in prompt


WITHOUT = replace(STRATEGIST.voice, opening="", ending="")
"""The voice of a persona that does not say how it opens or ends."""
SCAFFOLDED = parse_persona(scaffold("the-leaver", "The Leaver"), Path("the-leaver.md"))


@pytest.mark.parametrize("persona", [*LIBRARY.personas, SCAFFOLDED], ids=lambda persona: persona.id)
def test_no_heading_turns_the_sentences_under_it_into_their_opposite(persona: Persona) -> None:
    """Boundaries and rules are whole sentences, some with a "no" of their own: no heading denies them."""
    headed = re.findall(r"^([A-Z][^\n]*):\n(?=- )", template.system_prompt(persona), re.MULTILINE)
    assert {"The limits that you keep to", "Rules for your words"} <= set(headed)
    for heading in headed:
        assert not re.search(r"\b(not|never|no|avoid|forbidden)\b", heading, re.IGNORECASE), heading


def test_an_answer_continues_the_conversation() -> None:
    request = prompts.answer(asked("One?", "Two.", "Three?"), STRATEGIST, small=False)
    assert request.messages == (UserSaid("One?"), ModelSaid("Two."), UserSaid("Three?"))
    assert request.system.startswith(template.system_prompt(STRATEGIST, whole_answer=True))
    assert request.system.endswith(template.when_challenged())
    assert (request.max_tokens, request.temperature, request.openers) == (1024, 0.7, ())


def test_a_small_model_gets_few_words_and_beginnings_to_go_on_from() -> None:
    request = prompts.answer(asked("One?", "Two.", "Three?"), STRATEGIST, small=True)
    assert request.messages == (UserSaid("Three?"),)
    assert len(request.system.split()) < 60
    assert request.openers == STRATEGIST.openers


def test_what_is_dropped_for_length_is_said_and_the_person_still_begins() -> None:
    long = "word " * 2_500
    request = prompts.answer(
        asked("First?", long, "Second?", long, "Third?", long, "Last?"), STRATEGIST, small=False
    )
    assert len(request.messages) == 7, "all of it is carried as far as the model's window goes"
    fitted = fit(request, needed_tokens(request) - 1, "m")
    first = fitted.request.messages[0]
    assert isinstance(first, UserSaid)
    assert first.text.startswith("<left-out>")
    assert first.text.endswith("- 2 earlier messages\n</left-out>\n\nSecond?")
    assert fitted.left_out == ("2 earlier messages",)
    assert fitted.request.messages[-1] == UserSaid("Last?")


def test_what_looks_like_a_slot_in_a_value_stays_text() -> None:
    assert "{{purpose}}" in template.fill("board/seat", {"name": "{{purpose}}", "strongest": ""})


@pytest.mark.parametrize("inputs", [{}, {"name": "x", "mood": "y"}])
def test_inputs_must_be_those_that_the_prompt_declares(inputs: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="declares"):
        template.fill("board/seat", inputs)


@pytest.mark.parametrize("persona", LIBRARY.personas, ids=lambda persona: persona.id)
def test_how_a_persona_opens_and_ends_is_said_where_it_gives_whole_answers(persona: Persona) -> None:
    asking = AskState(Step.ANSWER, persona.id, "local", Conversation().said(PERSON, "x", "One?"))
    said = template.system_prompt(persona, whole_answer=True)
    turn = template.system_prompt(persona)
    for text in (persona.voice.opening, persona.voice.ending):
        assert said.count(text) == 1
        assert text in prompts.answer(asking, persona, small=False).system
        assert text not in turn
    assert "\n\n\n" not in template.system_prompt(replace(persona, voice=WITHOUT), whole_answer=True)


def test_every_prompt_file_uses_exactly_what_it_declares() -> None:
    folder = Path(template.__file__).parent / "data"
    names = [str(file.relative_to(folder).with_suffix("")) for file in folder.rglob("*.md")]
    assert "ask/answer" in names
    for name in names:
        declared, _ = template._prompt(name)
        template.fill(name, dict.fromkeys(declared, "x"))


def test_a_small_models_brief_is_made_of_what_was_said() -> None:
    spoken = Usage("local", 1, 1, 0.0, 1)
    views = {"the-coach": "Wait a month. Then ask again.", "the-analyst": "Count first! It costs little."}
    members = tuple(Member(p.id, p.name, p.role, str(p.contribution)) for p in map(LIBRARY.persona, views))
    state = BOARD.fold(
        [
            DecisionPresented("Should we?", members, "independent", "local"),
            BoardConvened(),
            *(AdvisorSpoke(persona, text, spoken) for persona, text in views.items()),
        ]
    )
    _, small = board.brief(state, small=True)
    _, large = board.brief(state, small=False)

    def drafted(line: str, name: str = "The Analyst") -> dict[str, object]:
        return {
            "consensus": {"areas": [line], "strength": "weak"},
            "tensions": [{"between": ["The Coach", name], "issue": line, "implication": line}],
            "blindSpots": [],
            "recommendation": {"summary": line, "confidence": "low", "conditions": []},
        }

    for line in ("Wait a month.", "Then ask again.", "Count first!", "It costs little."):
        small.model_validate(drafted(line))
    with pytest.raises(ValidationError):
        small.model_validate(drafted("Something of its own."))
    large.model_validate(drafted("Something of its own."))
    for shape in (small, large):
        with pytest.raises(ValidationError):
            shape.model_validate(drafted("Wait a month.", "The Stranger"))
