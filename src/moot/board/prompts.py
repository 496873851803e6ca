"""What the board's advisors, and the clerk who writes its brief, are told."""

from __future__ import annotations

import functools
import re
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.alias_generators import to_camel

from moot.board.events import (
    Answer,
    Brief,
    Consensus,
    DraftedQuestion,
    Questions,
    Recommendation,
    Tension,
)
from moot.board.state import Advisor, BoardState
from moot.llm.messages import Message, ModelSaid, Request, UserSaid
from moot.personas.library import Persona
from moot.prompts.template import fill, system_prompt, when_challenged

VIEW_TOKENS, VIEW_TEMPERATURE = 1024, 0.7
QUESTIONS_TOKENS, QUESTIONS_TEMPERATURE = 512, 0.6
BRIEF_TOKENS, BRIEF_TEMPERATURE = 2048, 0.3


# -- advisors ------------------------------------------------------------------------------------


def view(state: BoardState, persona: Persona, *, small: bool) -> Request:
    """An advisor's first view."""
    if small:
        return _small(persona, state.decision)
    return _request(state, persona, (_presented(state, persona),))


def reply(state: BoardState, persona: Persona, *, small: bool) -> Request:
    """An advisor's reply to a challenge: the conversation so far, exactly, and the challenge at its end."""
    advisor = state.advisor(persona.id)
    open_challenge = advisor.exchanges[-1].challenge
    if small:
        return _small(persona, f"{state.decision}\n\n{open_challenge}")
    said: list[Message] = [_presented(state, persona), ModelSaid(advisor.text or "")]
    for exchange in advisor.replied:
        said += [UserSaid(exchange.challenge), ModelSaid(exchange.reply or "")]
    return _request(state, persona, (*said, UserSaid(open_challenge)))


def _request(state: BoardState, persona: Persona, messages: tuple[Message, ...]) -> Request:
    rules = fill("board/advisor", {"challenged": when_challenged()})
    return Request(
        system=f"{_seat(state, persona)}\n\n{rules}",
        messages=messages,
        max_tokens=VIEW_TOKENS,
        temperature=VIEW_TEMPERATURE,
    )


def _seat(state: BoardState, persona: Persona) -> str:
    """What one advisor alone is told, in their view as in every reply."""
    strongest = " ".join(dimension.note for _, dimension in persona.rubric.strongest(2))
    parts = [
        system_prompt(persona, whole_answer=True),
        fill("board/seat", {"name": persona.name, "strongest": strongest}),
        fill("board/opposes", {}) if persona.id == state.opposes else "",
    ]
    return "\n\n".join(filter(None, parts))


def _small(persona: Persona, text: str) -> Request:
    facts = {"name": persona.name, "role": persona.role, "purpose": persona.purpose}
    return Request(
        system=fill("board/advisor.small", facts),
        messages=(UserSaid(text),),
        max_tokens=VIEW_TOKENS,
        temperature=0.4,
        openers=persona.openers,
    )


def _presented(state: BoardState, persona: Persona) -> UserSaid:
    """The first message of an advisor's conversation: the same in the session and in every challenge."""
    return UserSaid(
        fill(
            "board/decision",
            {
                "decision": state.decision,
                "answers": _answers(state.answers),
                "earlier": _earlier(state, persona),
                "name": persona.name,
            },
        )
    )


def _answers(answers: tuple[Answer, ...]) -> str:
    if not answers:
        return ""
    listed = "\n\n".join(f"Question: {a.question}\nAnswer: {a.answer}" for a in answers)
    return f"\nAsked beforehand, they said:\n\n<answers>\n{listed}\n</answers>\n"


def _earlier(state: BoardState, persona: Persona) -> str:
    """In a sequential session, what those before this advisor have said."""
    if state.mode != "sequential":
        return ""
    before: list[Advisor] = []
    for advisor in state.advisors:
        if advisor.member.id == persona.id:
            break
        if advisor.text is not None:
            before.append(advisor)
    if not before:
        return ""
    said = "\n\n".join(f"### {a.member.name}\n{a.text}" for a in before)
    return f"\nThese advisors have spoken before you:\n\n<earlier>\n{said}\n</earlier>\n"


# -- typed replies -------------------------------------------------------------------------------


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


def _shape(struct: type[msgspec.Struct], **narrower: Any) -> type[BaseModel]:
    """What a model has to write for a struct: its fields, some of them narrower than the struct has them."""
    types = get_type_hints(struct) | narrower
    fields: dict[str, Any] = {
        field.name: (types[field.name], ... if field.required else field.default)
        for field in msgspec.structs.fields(struct)
    }
    return create_model(struct.__name__, __base__=_Shape, **fields)


def _line(most: int, fewest: int | None = 1) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=fewest, max_length=most)]


_QUESTION: Any = _shape(DraftedQuestion, question=_line(300), hint=_line(120, fewest=None))
_QUESTIONS = _shape(Questions, questions=Annotated[list[_QUESTION], Field(min_length=3, max_length=5)])


def questions(state: BoardState, *, small: bool) -> tuple[Request, type[BaseModel]]:
    del small
    return (
        Request(
            system=fill("board/questions", {"count": str(len(state.advisors))}),
            messages=(UserSaid(f"<decision>\n{state.decision}\n</decision>"),),
            max_tokens=QUESTIONS_TOKENS,
            temperature=QUESTIONS_TEMPERATURE,
        ),
        _QUESTIONS,
    )


def brief(state: BoardState, *, small: bool) -> tuple[Request, type[BaseModel]]:
    challenged = any(advisor.replied for advisor in state.advisors)
    missing = [a.member.name for a in state.advisors if a.text is None]
    silent = f" These advisors did not answer; say so among the blind spots: {', '.join(missing)}."
    spoke = [advisor for advisor in state.advisors if advisor.text is not None]
    system = fill(
        "board/brief",
        {
            "count": str(len(spoke)),
            "challenged": f" {REFINED}" if challenged else "",
            "missing": silent if missing else "",
        },
    )
    said = "\n\n".join(_section(advisor, short=small) for advisor in spoke)
    asked = f"<decision>\n{state.decision}\n</decision>\n{_answers(state.answers)}\n## Advisors\n\n{said}"
    request = Request(
        system=system,
        messages=(UserSaid(asked),),
        max_tokens=BRIEF_TOKENS,
        temperature=BRIEF_TEMPERATURE,
    )
    names = tuple(advisor.member.name for advisor in spoke)
    return request, brief_shape(names, _sentences(spoke) if small else ())


REFINED = (
    "Some advisors may have received follow-up challenges. Their refined positions should carry more weight "
    "than initial takes on those points."
)


def _section(advisor: Advisor, *, short: bool) -> str:
    name = advisor.member.name
    text = (advisor.text or "")[:300] if short else advisor.text
    parts = [f"### {name}\n{text}"]
    if advisor.replied:
        exchanges = "\n".join(f"**User**: {e.challenge}\n**{name}**: {e.reply}" for e in advisor.replied)
        parts.append(f"#### Follow-up Discussion\n{exchanges}")
    return "\n\n".join(parts)


def _sentences(spoke: list[Advisor]) -> tuple[str, ...]:
    """What a very small model may choose from: it can point at what was said, but not sum it up."""
    chosen: dict[str, None] = {}
    for advisor in spoke:
        said = re.split(r"(?<=[.!?])\s+", " ".join((advisor.text or "").split()))
        chosen.update(dict.fromkeys(sentence[:300] for sentence in (said[0], said[-1])))
    return tuple(chosen)


@functools.lru_cache(maxsize=16)
def brief_shape(names: tuple[str, ...], sentences: tuple[str, ...] = ()) -> type[BaseModel]:
    """The brief of one session: a tension can be between nobody but the advisors who spoke in it. With
    `sentences`, every line of it is one of them."""
    somebody: Any = Literal[names]
    line: Any = Literal[sentences] if sentences else _line(600)
    summary: Any = line if sentences else _line(1500)
    most = 3 if sentences else 8
    lines: Any = Annotated[list[line], Field(max_length=most)]
    sides: Any = Annotated[list[somebody], Field(min_length=2, max_length=len(names))]
    tension: Any = _shape(Tension, between=sides, issue=line, implication=line)
    return _shape(
        Brief,
        consensus=_shape(Consensus, areas=lines),
        # A board of one has nobody to disagree with.
        tensions=Annotated[list[tension], Field(max_length=most if len(names) > 1 else 0)],
        blind_spots=lines,
        recommendation=_shape(Recommendation, summary=summary, conditions=lines),
    )
