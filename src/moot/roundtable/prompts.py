"""What the personas of a roundtable, and whoever takes its minutes, are told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, Field, StringConstraints, create_model

from moot.core.model_effects import Prompts
from moot.llm.messages import ModelSaid, Request, Source, UserSaid, Weight
from moot.personas.library import Persona
from moot.prompts.small_model import one_of, sentences, sequence_of
from moot.prompts.template import fill, system_prompt
from moot.roundtable.effects import AGAIN, CONTRIBUTION, FRAMING, SYNTHESIS, TRADEOFF
from moot.roundtable.insights import Synthesis
from moot.roundtable.replies import Framing
from moot.roundtable.state import USER, RoundtableState


class Hosting(Protocol):
    """A session that a roundtable may be a part of."""

    @property
    def roundtable(self) -> RoundtableState | None: ...


@dataclass(frozen=True, slots=True)
class Hosted:
    """A roundtable within a session, and what that session knows now, evidence and what was decided so far
    included: it may have changed since the roundtable was opened. `shared` is what every request of the
    session begins with; of `sources`, those that come later are newer."""

    roundtable: RoundtableState | None
    shared: tuple[tuple[Source, ...], ...] = ()
    sources: tuple[Source, ...] = ()
    looks: int = 0
    tools_tokens: int = 0


Seated = Hosting | RoundtableState
"""A roundtable runs as a part of something, or alone."""

CONTRIBUTION_TOKENS, FRAMING_TOKENS, SYNTHESIS_TOKENS = 400, 400, 2048

_REDIRECT = (
    "\n\nYou lead. If what was said last belongs to another step or another matter, reply with exactly one "
    "line instead: REDIRECT: <the subject, in a few words> | <the step or phase where it belongs>"
)

_ASKED_YOU = (
    "The person has turned to you and waits for your answer. Say in your own words where you stand, even if "
    "it is only whom you agree with and why. Only the contribution itself."
)


def contribution(state: Seated, persona: Persona, *, small: bool) -> Request:
    table = _table(state)
    if small:
        last = next((said.text for said in reversed(table.discussion)), "")
        return Request(
            system=f"You are {persona.name}, {persona.role}. {persona.purpose}",
            messages=(UserSaid(f"{table.focus_question} {last}"[:300]),),
            max_tokens=60,
            temperature=0.4,
            openers=persona.openers[:2],
        )
    redirect = _REDIRECT if persona.id == table.lead.id else ""
    return _speak(state, persona, fill(CONTRIBUTION, _facts(table, persona) | {"redirect": redirect}))


def tradeoff(state: Seated, persona: Persona, *, small: bool) -> Request:
    if small:
        return contribution(state, persona, small=True)
    table = _table(state)
    return _speak(state, persona, fill(TRADEOFF, _facts(table, persona)))


def again(state: Seated, persona: Persona, *, small: bool) -> Request:
    """The same once more, because it used words that this persona does not use."""
    request = contribution(state, persona, small=small)
    if small:
        return request
    returned = _table(state).returned
    assert returned is not None
    wrong = fill(AGAIN, {"words": ", ".join(returned.words)}) if returned.words else _ASKED_YOU
    said = returned.text or "(silent)"
    return replace(request, messages=(*request.messages, ModelSaid(said), UserSaid(wrong)))


def _facts(table: RoundtableState, persona: Persona) -> dict[str, str]:
    return {
        "name": persona.name,
        "others": _others(table, persona.id),
        "focus": table.focus_question or table.opened.step_title,
        "step": table.opened.step_title,
    }


def _speak(state: Seated, persona: Persona, instructions: str) -> Request:
    table = _table(state)
    names = {one.id: f"{one.name} ({one.role})" for one in table.opened.speakers} | {USER: "The person"}
    said = "\n\n".join(f"{names[s.speaker]}: {s.text}" for s in table.transcript if s.speaker in names)
    asked = f"<said>\n{said}\n</said>\n\nIt is your turn."
    system = f"{system_prompt(persona)}\n\n{instructions}"
    request = Request(system, (UserSaid(asked, _matter(state)),), CONTRIBUTION_TOKENS, temperature=0.7)
    return _within(state, request)


def _table(state: Seated) -> RoundtableState:
    table = state if isinstance(state, RoundtableState) else state.roundtable
    assert table is not None
    return table


def _others(table: RoundtableState, persona: str) -> str:
    names = [f"{one.name} ({one.role})" for one in table.opened.speakers if one.id != persona]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _matter(state: Seated) -> tuple[Source, ...]:
    """What it is about: as its session knows it now, or as it was handed over when it was opened."""
    if isinstance(state, Hosted):
        return state.sources
    material = f"<material>\n{_table(state).opened.material}\n</material>"
    return (Source("what the step has come to", material, Weight.DEPENDED_ON),)


def _within(state: Seated, request: Request) -> Request:
    if not isinstance(state, Hosted):
        return request
    return replace(request, shared=state.shared, looks=state.looks, tools_tokens=state.tools_tokens)


# -- typed replies -------------------------------------------------------------------------------

_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
_Loose = Annotated[str, StringConstraints(strip_whitespace=True, max_length=600)]


class FramingGiven(BaseModel):
    summary: _Line
    focus_question: _Line


def _small_framing(table: RoundtableState) -> type[BaseModel]:
    about = table.opened.step_title
    questions = (
        f"What could go wrong with {table.opened.item}, as far as {about} goes?",
        f"Who is affected most by what was said about {about}?",
        f"What do we not know yet about {about}?",
    )
    material: Any = (one_of(sentences(table.opened.material[:300])[:4]), ...)
    question: Any = (one_of(questions), ...)
    return create_model("SmallFraming", summary=material, focus_question=question)


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


def _small_synthesis(table: RoundtableState) -> type[BaseModel]:
    """One sentence of everybody who spoke, and a question if one was asked."""
    names = table.attributions
    said: dict[str, str] = {}
    for turn in table.discussion:
        if turn.kind != "framing":
            said[turn.speaker] = f"{said.get(turn.speaker, '')} {turn.text}"
    each: list[Any] = []
    for number, (who, text) in enumerate(said.items()):
        by: Any = (sequence_of(one_of((names[who],))), ...)
        each.append(create_model(f"By{number}", by=by, text=(one_of(sentences(text)), ...)))
    asked = tuple(one for text in said.values() for one in sentences(text) if one.endswith("?"))
    question: Any = create_model(
        "SmallQuestion",
        question=(one_of(asked or (table.focus_question or table.opened.step_title,)), ...),
        context=(one_of(("Nobody has answered it.",)), ...),
    )
    heard = f"we heard {len(said)} view{'' if len(said) == 1 else 's'} on {table.opened.step_title}"
    none: Any = (Annotated[list[str], Field(max_length=0)], ...)
    fields: Any = {
        "insights": (sequence_of(*each), ...),
        "decisions": none,
        "open_questions": (Annotated[list[question], Field(max_length=1)], ...),
        "action_items": none,
        "one_line": (one_of((heard,)), ...),
    }
    return create_model("SmallSynthesis", **fields)


def framing(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    table = _table(state)
    lead = table.lead
    if small:
        said = f"{table.opened.item}. {table.opened.material[:300]}"
        about = f"You are {lead.name}, {lead.role}. You ask about {table.opened.step_title}."
        return Request(about, (UserSaid(said),), 400, temperature=0.4), _small_framing(table)
    system = fill(
        FRAMING,
        {
            "lead": lead.name,
            "role": lead.role,
            "others": _others(table, lead.id),
            "step": table.opened.step_title,
            "item": table.opened.item,
        },
    )
    asked = UserSaid("Prepare the discussion.", _matter(state))
    return _within(state, Request(system, (asked,), FRAMING_TOKENS, temperature=0.4)), FramingGiven


def synthesis(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    table = _table(state)
    opened = table.opened
    names = table.attributions
    if small:
        said = "\n".join(s.text for s in table.discussion)[-500:]
        about = f"You sum up what was said about {opened.step_title}."
        return Request(about, (UserSaid(said),), 1000, temperature=0.2), _small_synthesis(table)
    facts = {"step": opened.step_title, "item": opened.item, "speakers": ", ".join(names.values())}
    system = fill(SYNTHESIS, facts)
    said = "\n\n".join(f"{names[s.speaker]}: {s.text}" for s in table.discussion)
    asked = f"<transcript>\n{said}\n</transcript>"
    if table.returned_synthesis is not None:
        wrong = "\n".join(f"- {reason}" for reason in table.returned_synthesis.reasons)
        asked += f"\n\nYour first minutes were returned:\n{wrong}\nGive them again, corrected."
    last = table.returned_synthesis is not None
    return Request(system, (UserSaid(asked),), SYNTHESIS_TOKENS, temperature=0.2, last=last), SynthesisGiven


PROMPTS = Prompts(
    speeches={CONTRIBUTION: contribution, TRADEOFF: tradeoff, AGAIN: again},
    drafts={FRAMING: framing, SYNTHESIS: synthesis},
    replies={FRAMING: Framing, SYNTHESIS: Synthesis},
)
