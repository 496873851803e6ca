"""What the brainstormer is given: a first draft for each step, and the conversation about what was drafted.

Knows the state of a brainstorm and the prompt files. Everything that there is goes along, as whole sources:
what does not fit into a model's window, llm/context.py leaves out, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace
from pydantic import BaseModel

from moot.brainstorm import shapes
from moot.brainstorm import text as words
from moot.brainstorm.events import QUESTION_LIMITS, Approach, Level, Limits, Question
from moot.brainstorm.replies import APPROACHES, DESIGN, DISCUSS, QUESTIONS, REVISE, TRIAGE
from moot.brainstorm.state import BRAINSTORMER, BrainstormState, Step
from moot.core.conversation import PERSON, Entry
from moot.llm.messages import Request, Source, UserSaid, Weight
from moot.prompts.template import fill

SMALL_TOKENS = 500
TEMPERATURE = 0.5
LOOKS, LOOK_TOKENS = 12, 24_000
"""How often the brainstormer may look into the repository for one reply, and how much of it that may be."""
_SMALL_ROOM = 600
_STALE = "made before something that they rest on was changed: to be made again"
_LISTED = "(The list of questions, as it stands below.)"
_SPEAKERS = {
    PERSON: "the person",
    BRAINSTORMER: "the brainstormer",
    "board": "the Board",
    "roundtable": "the roundtable",
}
_DEPTH: dict[Level, str] = {
    "straightforward": (
        "It is a quick outline: what changes where, and how one sees that it works. At most 150 words in all."
    ),
    "exploration": "Each section has 80 to 250 words.",
    "complex": (
        "Go deep: each section has 150 to 500 words. Between them they cover the parts and their boundaries, "
        "the data and what becomes of data that is there, the interfaces, failure and recovery, how it is "
        "tested, and in which order it is brought in without breaking what runs."
    ),
}


class Room(NamedTuple):
    """For a reply, in tokens: the longest that its shape takes, and what it usually has."""

    most: int
    usual: int


TRIAGE_ROOM, QUESTIONS_ROOM, APPROACHES_ROOM = Room(8_192, 768), Room(6_144, 1_024), Room(6_144, 1_536)
DESIGN_ROOM = Room(8_192, 4_096)
"""A design at the lengths that are asked for: its shape would take more."""

Draft = tuple[Request, type[BaseModel]]


@dataclass(frozen=True, slots=True)
class Known:
    """What a workflow knows besides its brainstorm. `decided` is what was decided so far, `not_found` what
    the brainstormer has cited that is not there."""

    evidence: tuple[Source, ...] = ()
    decided: tuple[Source, ...] = ()
    not_found: tuple[Source, ...] = ()


# -- first drafts --------------------------------------------------------------------------------


def triage(state: BrainstormState, known: Known, *, small: bool) -> Draft:
    request = _request(state, known, "triage", {}, TRIAGE_ROOM, small=small)
    return request, shapes.triage(state, small=small)


def questions(state: BrainstormState, known: Known, *, small: bool) -> Draft:
    more = " more" if any(each.answered for each in state.questions) else ""
    asked = {"count": f"{_count(state.question_limits)}{more} questions", "level": state.level}
    request = _request(state, known, "questions", asked, QUESTIONS_ROOM, small=small)
    return request, shapes.questions(state, small=small)


def approaches(state: BrainstormState, known: Known, *, small: bool) -> Draft:
    request = _request(state, known, "approaches", {}, APPROACHES_ROOM, small=small)
    return request, shapes.approaches(state, small=small)


def design(state: BrainstormState, known: Known, *, small: bool) -> Draft:
    batches = (
        "\n- The work is done in the batches that are listed. A section belongs to one of them, and its "
        'title ends with it, as in "Reading dates (batch 1)".'
        if state.batches
        else ""
    )
    asked = {
        "count": f"{_count(state.section_limits)} sections",
        "depth": _DEPTH[state.level],
        "batches": batches,
    }
    request = _request(state, known, "design", asked, DESIGN_ROOM, small=small)
    return request, shapes.design(state, small=small)


def _count(limits: Limits) -> str:
    return str(limits[0]) if limits[0] == limits[1] else f"{limits[0]} to {limits[1]}"


# -- the conversation ----------------------------------------------------------------------------


def conversational(state: BrainstormState, known: Known, *, small: bool) -> Request:
    """A round of discussion at the current step, about the comment that the person has just made."""
    if small:
        return _small(state, "conversational")
    doing = fill(DISCUSS[state.step], _doing(state))
    return _request(state, known, "conversational", {"doing": doing}, _ROOMS[state.step], small=False)


def _doing(talk: BrainstormState) -> dict[str, str]:
    match talk.step:
        case Step.QUESTIONS:
            kept = ", ".join(each.id for each in talk.questions if each.answered)
            usual = (min(QUESTION_LIMITS[talk.level][0], talk.question_totals[1]), talk.question_totals[1])
            return {"count": _count(usual), "kept": kept or "there are none yet"}
        case Step.DESIGN:
            return {"shown": _shown(talk)}
        case _:
            return {}


_ROOMS = {
    Step.TRIAGE: TRIAGE_ROOM,
    Step.QUESTIONS: QUESTIONS_ROOM,
    Step.APPROACHES: APPROACHES_ROOM,
    Step.DESIGN: DESIGN_ROOM,
}


def _discuss(shape: Callable[..., type[BaseModel]]) -> Callable[..., Draft]:
    return lambda state, known, *, small: (
        conversational(state, known, small=small),
        shape(state, small=small),
    )


def revise(state: BrainstormState, known: Known, *, small: bool) -> Draft:
    shown = {"shown": _shown(state)}
    request = _request(state, known, "revise", shown, DESIGN_ROOM, small=small, small_as="conversational")
    return request, shapes.revised(state, small=small)


def _shown(talk: BrainstormState) -> str:
    return "; ".join(f"{each.id} ({each.title})" for each in talk.shown_sections)


# -- what is said --------------------------------------------------------------------------------


def _request(
    state: BrainstormState,
    known: Known,
    prompt: str,
    inputs: Mapping[str, str],
    room: Room,
    *,
    small: bool,
    small_as: str = "",
) -> Request:
    if small:
        return _small(state, small_as or prompt)
    comment = state.request.text if state.request else ""
    return request(f"brainstorm/{prompt}", inputs, state, known, so_far(state), comment, room)


def request(
    prompt: str,
    inputs: Mapping[str, str],
    talk: BrainstormState,
    known: Known,
    so_far: Iterator[Source],
    comment: str,
    room: Room,
) -> Request:
    """All that the brainstormer has to know, the comment last: what stands nearest to the reply counts."""
    stands = tuple(so_far)
    sources = (
        *talk.code,
        *conversation(talk, comment, stands),
        *_part(talk),
        *stands,
        *known.decided,
        *known.not_found,
    )
    asked = _tag("comment", comment) or "Reply now."
    return Request(
        system=fill(prompt, inputs),
        messages=(UserSaid(asked, sources),),
        max_tokens=room.most,
        temperature=TEMPERATURE,
        shared=(*shared(talk, known), _rules()),
        looks=LOOKS,
        tools_tokens=LOOK_TOKENS,
        usual_tokens=room.usual,
    )


def _small(state: BrainstormState, prompt: str) -> Request:
    return small_request(f"brainstorm/{prompt}", state.subject, state.request.text if state.request else "")


def small_request(prompt: str, subject: str, comment: str) -> Request:
    """A very small model is confused by more than the matter itself and what was said last."""
    said = "\n".join(part for part in (subject[:_SMALL_ROOM], comment[:_SMALL_ROOM]) if part)
    return Request(fill(f"{prompt}.small", {}), (UserSaid(said),), SMALL_TOKENS, 0.4)


def shared(talk: BrainstormState, known: Known) -> tuple[tuple[Source, ...], ...]:
    """The same for the brainstormer and at a roundtable, until there is more evidence, or the scout looks
    again."""
    idea = Source("the idea", _tag("idea", talk.description), Weight.NEEDED)
    return (idea, *known.evidence), scouted(talk)


def _rules() -> tuple[Source, ...]:
    return (Source("the brainstormer's rules", fill("brainstorm/brainstormer", {}), Weight.NEEDED),)


def scouted(talk: BrainstormState) -> tuple[Source, ...]:
    """The same until the scout looks again."""
    seen = talk.scout_output or "The scout found nothing to read: the workspace is empty."
    return (Source("the scout's report", _tag("workspace", seen), Weight.DEPENDED_ON),)


def _part(talk: BrainstormState) -> Iterator[Source]:
    if talk.splits:
        part = f"Only this part of the idea is being worked on: {talk.subject}"
        yield Source("the part that is worked on", _tag("part", part), Weight.NEEDED)


def at_roundtable(talk: BrainstormState, known: Known) -> tuple[Source, ...]:
    """Besides what is shared: what the person asks there comes last."""
    assert talk.request is not None
    stands = tuple(so_far(talk))
    said = conversation(talk, talk.request.text, stands)
    asked = Source("what the person asks", _tag("asked", talk.request.text), Weight.NEEDED)
    return *talk.code, *said, *_part(talk), *stands, *known.decided, asked


def _tag(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>" if text else ""


def conversation(talk: BrainstormState, without: str = "", stands: Sequence[Source] = ()) -> Iterator[Source]:
    """All of it, entry by entry, so that the oldest goes first where not all fits. What `stands` is given
    beside it is not repeated."""
    return (source for _, source in entries(talk, without, stands))


def entries(
    talk: BrainstormState, without: str = "", stands: Sequence[Source] = ()
) -> Iterator[tuple[Entry, Source]]:
    standing = "\n\n".join(source.text for source in stands)
    log = talk.conversation_log
    if without and log and log[-1].speaker == PERSON and log[-1].content == without:
        log = log[:-1]
    listed: set[str] = set()
    for number, entry in enumerate(log, start=1):
        new = [name for name in entry.read if name not in listed]
        listed.update(new)
        speaker = _SPEAKERS.get(entry.speaker, entry.speaker)
        read = f"\n(Read for this: {'; '.join(new)})" if new else ""
        is_ours = entry.speaker == BRAINSTORMER
        content = _without(talk, entry.content, standing) if is_ours else entry.content
        text = f'<said number="{number}" by="{speaker}" at="{entry.step}">\n{content}{read}\n</said>'
        depended_on = talk.is_near(entry) or entry.speaker == PERSON
        weight = Weight.DEPENDED_ON if depended_on else Weight.HELPFUL
        name = f"what {speaker} said at {entry.step} (entry {number} of the conversation)"
        yield entry, Source(name, text, weight)


def _without(talk: BrainstormState, content: str, standing: str) -> str:
    """What the brainstormer has said, without what was laid out with it and stands below."""
    if talk.questions and words.questions(talk.questions) in standing:
        content = _without_questions(talk, content)
    laid_out = {
        "The assessment": words.triage(talk.triage) if talk.triage else "",
        "The list of approaches": words.approaches(talk.approaches, talk.recommendation, talk.because),
    }
    for name, said in laid_out.items():
        if said and said in standing:
            content = content.replace(said, f"({name}, as it stands below.)")
    for each in talk.design_sections:
        if each.content in standing:
            named = f"(The section {each.id}, {each.title}, as it stands below.)"
            content = content.replace(words.sections((each,)), named)
    return content


def _without_questions(talk: BrainstormState, content: str) -> str:
    """Whatever of them had been answered by then."""
    asked = tuple(words.question_with_options(replace(each, answer="")) for each in talk.questions)
    ends = tuple(line.removeprefix("[unanswered]") for line in asked)
    kept: list[str] = []
    for line in content.split("\n"):
        if not line.endswith(ends):
            kept.append(line)
        elif _LISTED not in kept:
            kept.append(_LISTED)
    return "\n".join(kept)


def so_far(talk: BrainstormState) -> Iterator[Source]:
    """What stands: as laid out, and as the person answered, chose and approved it."""
    parts = []
    if talk.step is Step.TRIAGE and talk.triage is not None:
        parts.append(words.triage(talk.triage))
    if talk.complexity_level is not None and talk.step is not Step.TRIAGE:
        parts.append(f"Level, confirmed by the person: {talk.complexity_level}")
    if talk.batches:
        parts.append("\n".join(("Batches, confirmed by the person:", *words.parts(talk.batches, "Batch"))))
    if talk.questions:
        listed = words.questions(talk.questions)
        parts.append(f"Questions, and the person's answers ({_numbers(talk.questions)}):\n{listed}")
    if talk.approaches:
        listed = words.approaches(talk.approaches, talk.recommendation, talk.because)
        stale = f"; {_STALE}" if talk.approaches_stale else ""
        parts.append(f"Approaches ({_numbers(talk.approaches)}{stale}):\n{listed}")
    if talk.chosen is not None and talk.step is not Step.APPROACHES:
        parts.append(f"Chosen by the person: {talk.chosen.title}")
    if parts:
        yield Source("what stands so far", _tag("so-far", "\n\n".join(parts)), Weight.NEEDED)
    if talk.design_sections and not talk.design_stale:
        yield from sections(talk)


def _numbers(listed: Iterable[Question | Approach]) -> str:
    """The person speaks of them by number; replies name them by id, which stays when others go."""
    return ", ".join(f"{number} is {each.id}" for number, each in enumerate(listed, start=1))


def sections(talk: BrainstormState) -> Iterator[Source]:
    """The design, section by section."""
    shown = talk.shown_sections if talk.step is Step.DESIGN else ()
    for each in talk.design_sections:
        now = ' shown="now"' if each in shown else ""
        about = f'id="{each.id}" title="{each.title}" status="{each.status}"{now}'
        text = f"<section {about}>\n{each.content}\n</section>"
        weight = Weight.NEEDED if each in shown else Weight.DEPENDED_ON
        yield Source(f"the design's section {each.id} ({each.title})", text, weight)


DRAFTS: dict[str, Callable[..., Draft]] = {
    TRIAGE: triage,
    QUESTIONS: questions,
    APPROACHES: approaches,
    DESIGN: design,
    REVISE: revise,
    DISCUSS[Step.TRIAGE]: _discuss(shapes.discussed_triage),
    DISCUSS[Step.QUESTIONS]: _discuss(shapes.discussed_questions),
    DISCUSS[Step.APPROACHES]: _discuss(shapes.discussed_approaches),
    DISCUSS[Step.DESIGN]: _discuss(shapes.discussed_design),
}
"""By the names that the flow uses; each takes the state of the brainstorm and what else is known."""
