"""What the personas of a roundtable, and whoever takes its minutes, are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, StringConstraints, create_model

from moot.core.model_effects import Prompts, Usual
from moot.llm.messages import ModelSaid, Request, Source, UserSaid, Weight
from moot.personas.library import Persona
from moot.prompts.small_model import one_of, sentences, sequence_of
from moot.prompts.template import fill, system_prompt
from moot.roundtable.effects import AGAIN, CHECK, CONTRIBUTION, FRAMING, SYNTHESIS, TRADEOFF
from moot.roundtable.findings import Named, quotation
from moot.roundtable.insights import Synthesis
from moot.roundtable.quotes import Statement
from moot.roundtable.replies import Framing
from moot.roundtable.state import THE_PERSON, RoundtableState
from moot.roundtable.synthesis import Minutes


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

CONTRIBUTION_TOKENS, FRAMING_TOKENS, CHECK_TOKENS, SYNTHESIS_TOKENS = 400, 400, 2048, 3072
_NEEDED = 3
"""Of what was said, how much of the newest nobody can do without."""

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
    contested = "Two of the colleagues disagree."
    if (each := table.contested) is not None:
        sides = "\n".join(f"- {quotation(side)}" for side in (each.one, each.other))
        contested = f"Two of the colleagues disagree: {each.about}.\n\n{sides}"
    return _speak(state, persona, fill(TRADEOFF, _facts(table, persona) | {"contested": contested}))


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
        "item": table.opened.item,
    }


def _speak(state: Seated, persona: Persona, instructions: str) -> Request:
    table = _table(state)
    asked = f"It is your turn: number {table.turns + 1} of {table.opened.max_turns} of this discussion."
    if table.silences:
        again = ", again" if table.silences > 1 else ""
        asked = f"The person has nothing to say for now{again}, and listens on. {asked}"
    system = f"{system_prompt(persona)}\n\n{instructions}"
    said = UserSaid(asked, (*_matter(state), *_said(table)))
    return _within(state, Request(system, (said,), CONTRIBUTION_TOKENS, temperature=0.7))


def _said(table: RoundtableState) -> tuple[Source, ...]:
    """What was said so far, turn by turn, so that the oldest goes first where not all of it fits, and what
    was found in it when it was last looked through."""
    roles = {table.attributions[one.id]: one.role for one in table.opened.speakers}
    newest = len(table.statements) - _NEEDED

    def source(one: Statement) -> Source:
        role = f' role="{roles[one.by]}"' if one.by in roles else ""
        text = f'<turn number="{one.number}" by="{one.by}"{role}>\n{one.text}\n</turn>'
        weight = Weight.NEEDED if one.number > newest else Weight.DEPENDED_ON
        return Source(f"turn {one.number} of the discussion, by {one.by}", text, weight)

    found = "\n".join(f"- {line}" for line in table.findings.lines())
    known = Source("what was found in it", f"<found>\n{found}\n</found>", Weight.NEEDED)
    return (*map(source, table.statements), *((known,) if found else ()))


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


def _within(state: Seated, request: Request, *, looks: bool = True) -> Request:
    """`looks`: who takes the minutes reads what was said, and nothing else."""
    if not isinstance(state, Hosted):
        return request
    if not looks:
        return replace(request, shared=state.shared)
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


_Quote = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_500)]


_Number = Annotated[str, StringConstraints(pattern=r"^D[0-9]{1,4}$")]


def _listed(item: Any, most: int = 12, fewest: int = 0) -> Any:
    return (Annotated[list[item], Field(min_length=fewest, max_length=most)], ...)


def _quoted(table: RoundtableState, *, by: bool) -> type[BaseModel]:
    """Only turns that there are, and only those who spoke."""
    fields: dict[str, Any] = {"turn": (Annotated[int, Field(ge=1, le=len(table.statements))], ...)}
    if by:
        fields["by"] = (one_of(tuple(dict.fromkeys(one.by for one in table.statements))), ...)
    return create_model("Quoted", **fields, quote=(_Quote, ...))


def _named(table: RoundtableState) -> type[BaseModel]:
    quoted: Any = (_quoted(table, by=True), ...)
    numbers: Any = (Annotated[list[_Number], Field(max_length=12)], Field(default_factory=list))
    decision = create_model(
        "Decision", decision=(_Line, ...), rationale=(_Loose, ...), said=quoted, instead_of=numbers
    )
    disagreement = create_model("Disagreement", about=(_Line, ...), one=quoted, other=quoted)
    point = create_model("OpenPoint", question=(_Line, ...), context=(_Loose, ...), said=quoted)
    return create_model(
        "Findings",
        decisions=_listed(decision),
        disagreements=_listed(disagreement),
        open_points=_listed(point),
    )


def _minutes(table: RoundtableState) -> type[BaseModel]:
    quoted = _quoted(table, by=False)
    point = create_model("Point", text=(_Line, ...), said=_listed(quoted, 6, 1))
    action = create_model("Action", action=(_Line, ...), owner=(_Loose, ...), said=_listed(quoted, 6, 1))
    return create_model(
        "Minutes",
        insights=_listed(point),
        risks=_listed(point),
        acceptance_criteria=_listed(point),
        action_items=_listed(action),
        one_line=(_Line, ...),
    )


_NOTHING: Any = (Annotated[list[str], Field(max_length=0)], ...)


def _small_named(table: RoundtableState) -> type[BaseModel]:
    """The question that was asked last, if one was: what was decided, it cannot tell."""
    asked = [
        (one, sentence)
        for one in table.statements
        if not one.reports
        for sentence in _quotable(one.text)
        if sentence.endswith("?")
    ]
    points = _NOTHING
    if asked:
        one, sentence = asked[-1]
        number: Any = Literal[one.number]
        said = create_model(
            "Quoted", turn=(number, ...), by=(one_of((one.by,)), ...), quote=(one_of((sentence,)), ...)
        )
        why = one_of(("Nobody has answered it.",))
        question = create_model(
            "Small", question=(one_of((sentence,)), ...), context=(why, ...), said=(said, ...)
        )
        points = _listed(question, 1)
    return create_model("SmallNamed", decisions=_NOTHING, disagreements=_NOTHING, open_points=points)


def _small_minutes(table: RoundtableState) -> type[BaseModel]:
    """One sentence of everybody who spoke."""
    last = {one.by: one for one in table.statements if not one.reports}
    each: list[Any] = []
    for one in last.values():
        number: Any = Literal[one.number]
        choice: Any = (one_of(_quotable(one.text)), ...)
        said: Any = (sequence_of(create_model(f"Said{one.number}", turn=(number, ...), quote=choice)), ...)
        each.append(create_model(f"By{one.number}", text=choice, said=said))
    heard = f"we heard {len(last)} view{'' if len(last) == 1 else 's'} on {table.opened.step_title}"
    return create_model(
        "SmallMinutes",
        insights=(sequence_of(*each) if each else _NOTHING[0], ...),
        risks=_NOTHING,
        acceptance_criteria=_NOTHING,
        action_items=_NOTHING,
        one_line=(one_of((heard,)), ...),
    )


def _quotable(text: str) -> tuple[str, ...]:
    """Its sentences, as they can be looked up."""
    said = tuple(one for one in sentences(text) if one in " ".join(text.split()))
    return said or (text,)


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


def check(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    """What of it is a decision, a disagreement, an open point: each with its quote, to be looked up."""
    table = _table(state)
    if small:
        return _small(table), _small_named(table)
    said = UserSaid("Name what is in it.", (*_matter(state), *_said(table)))
    request = Request(fill(CHECK, _occasion(table)), (said,), CHECK_TOKENS, temperature=0.2)
    return _within(state, request, looks=False), _named(table)


def synthesis(state: Seated, *, small: bool) -> tuple[Request, type[BaseModel]]:
    table = _table(state)
    if small:
        return _small(table), _small_minutes(table)
    asked = "Take the minutes."
    if table.returned_synthesis is not None:
        wrong = "\n".join(f"- {reason}" for reason in table.returned_synthesis.reasons)
        held = "\n".join(_held(table.returned_synthesis.synthesis)) or "- nothing"
        asked += f"\n\nOf your first minutes this holds:\n{held}\n\nThe rest was returned:\n{wrong}\n\n"
        asked += (
            "Give them again whole: what holds, with its quotes, and the rest with a quote that is there."
        )
    last = table.returned_synthesis is not None
    said = UserSaid(asked, (*_matter(state), *_said(table)))
    request = Request(
        fill(SYNTHESIS, _occasion(table)), (said,), SYNTHESIS_TOKENS, temperature=0.2, last=last
    )
    return _within(state, request, looks=False), _minutes(table)


def _held(synthesis: Synthesis) -> Iterator[str]:
    points = {
        "insight": synthesis.insights,
        "risk": synthesis.risks,
        "acceptance criterion": synthesis.acceptance_criteria,
    }
    for what, listed in points.items():
        yield from (f"- {what}, by {' and '.join(one.by)}: {one.text}" for one in listed)
    yield from (
        f"- action item: {one.action}; owner: {one.owner or 'nobody'}" for one in synthesis.action_items
    )


def _occasion(table: RoundtableState) -> dict[str, str]:
    speakers = (f"{table.attributions[one.id]} ({one.role})" for one in table.opened.speakers)
    named = ", ".join((*speakers, THE_PERSON))
    return {"step": table.opened.step_title, "item": table.opened.item, "speakers": named}


def _small(table: RoundtableState) -> Request:
    said = "\n".join(s.text for s in table.discussion)[-500:]
    about = f"You sum up what was said about {table.opened.step_title}."
    return Request(about, (UserSaid(said),), 1000, temperature=0.2)


_SENTENCE = "so it is in the file that has it, "
USUAL = Usual(
    {
        FRAMING: Framing(_SENTENCE * 5, _SENTENCE * 2),
        CHECK: Named(),
        SYNTHESIS: Minutes((), (), (), (), _SENTENCE),
    }
)
"""Nobody knows beforehand whether somebody is contradicted."""

PROMPTS = Prompts(
    speeches={CONTRIBUTION: contribution, TRADEOFF: tradeoff, AGAIN: again},
    drafts={FRAMING: framing, CHECK: check, SYNTHESIS: synthesis},
    replies={FRAMING: Framing, CHECK: Named, SYNTHESIS: Minutes},
    usual=USUAL,
)
