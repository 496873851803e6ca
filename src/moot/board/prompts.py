"""What the board's advisors, and the clerk who writes its brief, are told."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
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
from moot.board.ledger import challenges, known_at_first, known_to, told
from moot.board.state import Advisor, BoardState
from moot.core.background import Background
from moot.core.ledger import source
from moot.core.looked import looked_before, not_found
from moot.evidence import citations
from moot.evidence import items as evidence
from moot.evidence.items import Evidence
from moot.llm.messages import Message, ModelSaid, Request, Source, UserSaid, Weight
from moot.personas.library import Persona
from moot.prompts.template import fill, system_prompt, when_challenged

VIEW_TOKENS, VIEW_TEMPERATURE = 1024, 0.7
QUESTIONS_TOKENS, QUESTIONS_TEMPERATURE = 512, 0.6
BRIEF_TOKENS, BRIEF_TEMPERATURE = 2048, 0.3
LOOKS, LOOKS_TOKENS = 3, 24_000
"""How often an advisor, or who asks the questions, may look something up, where the person wants them to,
and how much that may take."""


# -- what all requests of a board begin with -----------------------------------------------------

_Blocks = tuple[tuple[Source, ...], ...]


def _shared(state: BoardState, background: Background) -> _Blocks:
    """The same bytes in every request of a session, as far as it has come: rules, decision and evidence; then
    what was answered, and evidence that came after the board was convened."""
    first = state.evidence_first if state.convened else len(background.evidence)
    rules = fill("board/board", {"decision": state.decision})
    matter = (Source("the decision", rules, Weight.NEEDED), *evidence.sources(background.evidence[:first]))
    later = (*_answered(state), *evidence.sources(background.evidence, known=first))
    return (matter, later) if later else (matter,)


def _answered(state: BoardState) -> tuple[Source, ...]:
    """What the person said, and which questions they left open: what nobody knows is no oversight."""
    if not state.answers:
        return ()
    answered = {one.question for one in state.answers}
    left = [f"- {one.question}" for one in state.questions or () if one.question not in answered]
    open_ones = "\n\nThey left these questions without an answer:\n" + "\n".join(left) if left else ""
    return (Source("the answers", f"{_answers(state.answers).strip()}{open_ones}", Weight.NEEDED),)


# -- advisors ------------------------------------------------------------------------------------


def view(state: BoardState, persona: Persona, *, small: bool) -> Request:
    """An advisor's first view."""
    if small:
        return _small(persona, state.decision)
    said = source(told(state), known_at_first(state))
    return _request(state, persona, state.background, (_presented(state, persona, said),))


def reply(state: BoardState, persona: Persona, *, small: bool) -> Request:
    """An advisor's reply to a challenge: the conversation so far, exactly, and the challenge at its end, with
    what has come since they gave their view."""
    advisor = state.advisor(persona.id)
    open_challenge = advisor.exchanges[-1].challenge
    if small:
        return _small(persona, f"{state.decision}\n\n{open_challenge}")
    at_first = source(advisor.knew_decided, known_at_first(state))
    said: list[Message] = [_presented(state, persona, at_first), ModelSaid(advisor.text or "")]
    for exchange in advisor.replied:
        said += [UserSaid(exchange.challenge), ModelSaid(exchange.reply or "")]
    since = (
        *evidence.sources(state.background.evidence, known=len(advisor.knew.evidence)),
        *source(told(state), known_to(state, persona.id)),
        *not_found(_said(advisor), state.background.evidence),
        *looked_before([advisor.usage, *(exchange.usage for exchange in advisor.replied)]),
    )
    return _request(state, persona, advisor.knew, (*said, UserSaid(open_challenge, since)))


def _said(advisor: Advisor) -> Iterator[tuple[str, Sequence[Evidence]]]:
    """What an advisor has said so far, each with the evidence that there was."""
    yield advisor.text or "", advisor.evidence
    yield from ((exchange.reply or "", exchange.evidence) for exchange in advisor.replied)


def _request(
    state: BoardState, persona: Persona, background: Background, messages: tuple[Message, ...]
) -> Request:
    rules = Source("the rules", fill("board/advisor", {"challenged": when_challenged()}), Weight.NEEDED)
    return Request(
        system=_seat(state, persona),
        messages=messages,
        max_tokens=VIEW_TOKENS,
        temperature=VIEW_TEMPERATURE,
        shared=(*_shared(state, background), (rules,)),
        history=len(messages) - 1,
        looks=LOOKS if state.looks else 0,
        tools_tokens=LOOKS_TOKENS if state.looks else 0,
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


def _presented(state: BoardState, persona: Persona, said: tuple[Source, ...]) -> UserSaid:
    """The first message of an advisor's conversation: the same in the session and in every challenge."""
    earlier = _earlier(state, persona)
    names = _listed([advisor.member.name for advisor in earlier])
    spoke = f"{names} spoke before you; what they said stands above.\n" if earlier else ""
    facts = {"decision": state.decision, "earlier": spoke, "name": persona.name}
    before = map(_spoke_before, earlier)
    return UserSaid(fill("board/decision", facts), (*said, *before))


def _spoke_before(advisor: Advisor) -> Source:
    name = advisor.member.name
    text = citations.mark(advisor.text or "", advisor.evidence)
    return Source(f"what {name} said", f"### {name}\n{text}", Weight.DEPENDED_ON)


def _earlier(state: BoardState, persona: Persona) -> list[Advisor]:
    """In a sequential session, those before this advisor who have spoken."""
    if state.mode != "sequential":
        return []
    before = itertools.takewhile(lambda advisor: advisor.member.id != persona.id, state.advisors)
    return [advisor for advisor in before if advisor.text is not None]


def _answers(answers: tuple[Answer, ...]) -> str:
    if not answers:
        return ""
    listed = "\n\n".join(f"Question: {a.question}\nAnswer: {a.answer}" for a in answers)
    return f"\nAsked beforehand, they said:\n\n<answers>\n{listed}\n</answers>\n"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


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
    said = () if small else source(told(state), known_at_first(state))
    asked = f"<decision>\n{state.decision}\n</decision>" if small else fill("board/ask-first", {})
    looks = state.looks and not small
    request = Request(
        system=fill("board/questions", {"count": str(len(state.advisors))}),
        messages=(UserSaid(asked, said),),
        max_tokens=QUESTIONS_TOKENS,
        temperature=QUESTIONS_TEMPERATURE,
        shared=() if small else _shared(state, state.background),
        looks=LOOKS if looks else 0,
        tools_tokens=LOOKS_TOKENS if looks else 0,
    )
    return request, _QUESTIONS


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
            "met": f" {MET}" if state.ticks and not small else "",
            "missing": silent if missing else "",
            "unverified": f" {UNVERIFIED}" if not small and _cites_wrongly(state) else "",
        },
    )
    request = Request(
        system=system,
        messages=(_summed_up(state, spoke, small=small),),
        max_tokens=BRIEF_TOKENS,
        temperature=BRIEF_TEMPERATURE,
        shared=() if small else _shared(state, state.background),
    )
    names = tuple(advisor.member.name for advisor in spoke)
    return request, brief_shape(names, _sentences(spoke) if small else ())


def _summed_up(state: BoardState, spoke: list[Advisor], *, small: bool) -> UserSaid:
    sections = [_section(advisor, state, short=small) for advisor in spoke]
    if small:
        said = "\n\n".join(sections)
        return UserSaid(
            f"<decision>\n{state.decision}\n</decision>\n{_answers(state.answers)}\n## Advisors\n\n{said}"
        )
    known = (*known_at_first(state), *challenges(state))
    views = (
        Source(f"what {advisor.member.name} said", section, Weight.DEPENDED_ON)
        for advisor, section in zip(spoke, sections, strict=True)
    )
    return UserSaid(fill("board/sum-up", {}), (*source(told(state), known), *views))


REFINED = (
    "Some advisors may have received follow-up challenges. Their refined positions should carry more weight "
    "than initial takes on those points."
)


MET = "A condition that is said to be met keeps its words where it still belongs: by them its tick is kept."


UNVERIFIED = (
    "Where something that is cited is marked as unverified, the program has not found it there: what rests "
    "on it is an assertion, and the brief does not cite it."
)


def _cites_wrongly(state: BoardState) -> bool:
    return any(citations.unverified(*said) for advisor in state.advisors for said in _said(advisor))


def _section(advisor: Advisor, state: BoardState, *, short: bool) -> str:
    name = advisor.member.name
    if short:
        return _with_exchanges(f"### {name}\n{(advisor.text or '')[:300]}", advisor, lambda text, _: text)

    task = fill("board/opposed", {"name": name}) + "\n\n" if advisor.member.id == state.opposes else ""
    return _with_exchanges(
        f"### {name}\n{task}{citations.mark(advisor.text or '', advisor.evidence)}", advisor, citations.mark
    )


def _with_exchanges(section: str, advisor: Advisor, marked: Callable[[str, Sequence[Evidence]], str]) -> str:
    if not advisor.replied:
        return section
    name = advisor.member.name
    exchanges = "\n".join(
        f"**User**: {e.challenge}\n**{name}**: {marked(e.reply or '', e.evidence)}" for e in advisor.replied
    )
    return f"{section}\n\n#### Follow-up Discussion\n{exchanges}"


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
