"""What the personas of a roundtable, and whoever takes its minutes, are told."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, create_model

from moot.flows.analysis_state import AnalysisState
from moot.flows.roundtable_state import USER, RoundtableState
from moot.personas import Persona
from moot.prompting.parts import fill, system_prompt
from moot.speech import Message, ModelSaid, Request, UserSaid

Seated = AnalysisState | RoundtableState
"""A roundtable runs as a part of an analysis, or alone."""

CONTRIBUTION_TOKENS, FRAMING_TOKENS, SYNTHESIS_TOKENS = 400, 400, 2048
_MATERIAL_LIMIT = 12_000

_REDIRECT = (
    "\n\nYou lead. If what was said last belongs to another step or another matter, reply with exactly one "
    "line instead: REDIRECT: <the subject, in a few words> | <the step or phase where it belongs>"
)


def contribution(state: Seated, persona: Persona, *, small: bool) -> Request:
    table = _table(state)
    others = _others(table, persona.id)
    if small:
        last = next((said.text for said in reversed(table.discussion)), "")
        return Request(
            system=f"You are {persona.name}, {persona.role}. {persona.purpose}",
            messages=(UserSaid(f"{table.focus_question} {last}"[:300]),),
            max_tokens=60,
            temperature=0.4,
            openers=persona.openers[:2],
        )
    instructions = fill(
        "roundtable/contribution",
        {
            "name": persona.name,
            "others": others,
            "focus": table.focus_question or table.opened.step_title,
            "step": table.opened.step_title,
            "redirect": _REDIRECT if persona.id == table.lead.id else "",
        },
    )
    return _speech(persona, instructions, (UserSaid(_heard(table)),))


def tradeoff(state: Seated, persona: Persona, *, small: bool) -> Request:
    if small:
        return contribution(state, persona, small=True)
    table = _table(state)
    instructions = fill(
        "roundtable/tradeoff",
        {
            "name": persona.name,
            "others": _others(table, persona.id),
            "focus": table.focus_question or table.opened.step_title,
            "step": table.opened.step_title,
        },
    )
    return _speech(persona, instructions, (UserSaid(_heard(table)),))


def again(state: Seated, persona: Persona, *, small: bool) -> Request:
    """The same once more, because it used words that this persona does not use."""
    request = contribution(state, persona, small=small)
    if small:
        return request
    returned = _table(state).returned
    assert returned is not None
    wrong = fill("roundtable/again", {"words": ", ".join(returned.words)})
    messages: tuple[Message, ...] = (*request.messages, ModelSaid(returned.text), UserSaid(wrong))
    return Request(
        system=request.system,
        messages=messages,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
    )


def _speech(persona: Persona, instructions: str, messages: tuple[Message, ...]) -> Request:
    return Request(
        system=f"{system_prompt(persona)}\n\n{instructions}",
        messages=messages,
        max_tokens=CONTRIBUTION_TOKENS,
        temperature=0.7,
    )


def _table(state: Seated) -> RoundtableState:
    table = state if isinstance(state, RoundtableState) else state.roundtable
    assert table is not None
    return table


def _others(table: RoundtableState, persona: str) -> str:
    names = [f"{one.name} ({one.role})" for one in table.opened.speakers if one.id != persona]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _heard(table: RoundtableState) -> str:
    names = {one.id: f"{one.name} ({one.role})" for one in table.opened.speakers} | {USER: "The person"}
    lines = [f"{names[s.speaker]}: {s.text}" for s in table.transcript if s.speaker in names]
    said = "\n\n".join(lines)
    material = table.opened.material[:_MATERIAL_LIMIT]
    return f"<material>\n{material}\n</material>\n\n<said>\n{said}\n</said>\n\nIt is your turn."


# -- typed replies -------------------------------------------------------------------------------

_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
_Loose = Annotated[str, StringConstraints(strip_whitespace=True, max_length=600)]


class Framing(BaseModel):
    summary: _Line
    focus_question: _Line


class SmallFraming(BaseModel):
    summary: Annotated[str, StringConstraints(min_length=1, max_length=120)]
    focus_question: Annotated[str, StringConstraints(min_length=1, max_length=120)]


class InsightGiven(BaseModel):
    by: Annotated[list[_Line], Field(min_length=1, max_length=8)]
    text: _Line


class DecisionGiven(BaseModel):
    decision: _Line
    rationale: _Loose
    stated_by: _Loose


class QuestionGiven(BaseModel):
    question: _Line
    context: _Loose


class ActionGiven(BaseModel):
    action: _Line
    owner: _Loose


class SynthesisGiven(BaseModel):
    insights: Annotated[list[InsightGiven], Field(max_length=12)]
    decisions: Annotated[list[DecisionGiven], Field(max_length=12)]
    open_questions: Annotated[list[QuestionGiven], Field(max_length=12)]
    action_items: Annotated[list[ActionGiven], Field(max_length=12)]
    one_line: _Line


_Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]


class SmallQuestion(BaseModel):
    question: _Short
    context: Literal["Nobody has answered it."]


def _small_synthesis(names: tuple[str, ...]) -> type[BaseModel]:
    """A very small model would go on for ever, and name anybody."""
    literal: Any = Literal
    one_of_them: Any = literal[names]
    insight: Any = create_model("SmallInsight", by=(tuple[one_of_them], ...), text=(_Short, ...))
    return create_model(
        "SmallSynthesis",
        insights=(tuple[insight], ...),
        decisions=(Annotated[list[DecisionGiven], Field(max_length=0)], ...),
        open_questions=(Annotated[list[SmallQuestion], Field(max_length=1)], ...),
        action_items=(Annotated[list[ActionGiven], Field(max_length=0)], ...),
        one_line=(_Short, ...),
    )


def framing(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    table = _table(state)
    lead = table.lead
    if small:
        said = f"{table.opened.item}. {table.opened.material[:300]}"
        about = f"You are {lead.name}, {lead.role}. You ask about {table.opened.step_title}."
        return Request(about, (UserSaid(said),), 160, temperature=0.4), SmallFraming
    system = fill(
        "roundtable/framing",
        {
            "lead": lead.name,
            "role": lead.role,
            "others": _others(table, lead.id),
            "step": table.opened.step_title,
            "item": table.opened.item,
        },
    )
    material = table.opened.material[:_MATERIAL_LIMIT]
    request = Request(
        system=system,
        messages=(UserSaid(f"<material>\n{material}\n</material>"),),
        max_tokens=FRAMING_TOKENS,
        temperature=0.4,
    )
    return request, Framing


def synthesis(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    table = _table(state)
    opened = table.opened
    names = table.first_names | {USER: "User"}
    if small:
        spoke = tuple(names[speaker] for speaker in table.spoke)
        said = "\n".join(s.text for s in table.discussion)[-500:]
        about = f"You sum up what was said about {opened.step_title}."
        return Request(about, (UserSaid(said),), 200, temperature=0.2), _small_synthesis(spoke)
    facts = {"step": opened.step_title, "item": opened.item, "speakers": ", ".join(names.values())}
    system = fill("roundtable/synthesis", facts)
    said = "\n\n".join(f"{names[s.speaker]}: {s.text}" for s in table.discussion)
    asked = f"<transcript>\n{said}\n</transcript>"
    if table.returned_synthesis is not None:
        wrong = "\n".join(f"- {reason}" for reason in table.returned_synthesis.reasons)
        asked += f"\n\nYour first minutes were returned:\n{wrong}\nGive them again, corrected."
    request = Request(
        system=system,
        messages=(UserSaid(asked),),
        max_tokens=SYNTHESIS_TOKENS,
        temperature=0.2,
        last=table.returned_synthesis is not None,
    )
    return request, SynthesisGiven
