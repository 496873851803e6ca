"""What the brainstormer is told: a first draft for each step, and the conversation about what was drafted.

Knows the state of a brainstorm and the prompt files. The conversation is said again, as much of it as fits: a
model remembers nothing between two askings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from moot.brainstorm import shapes
from moot.brainstorm import text as words
from moot.brainstorm.events import QUESTION_LIMITS, Level, Limits
from moot.brainstorm.replies import APPROACHES, DESIGN, DISCUSS, QUESTIONS, REVISE, TRIAGE
from moot.brainstorm.state import BRAINSTORMER, BrainstormState, Step
from moot.core.conversation import PERSON, Capped
from moot.llm.messages import Request, UserSaid
from moot.prompts.template import fill

TRIAGE_TOKENS, QUESTIONS_TOKENS, APPROACHES_TOKENS, DESIGN_TOKENS = 1536, 2048, 3072, 8192
SMALL_TOKENS = 500
TEMPERATURE = 0.5
_SMALL_ROOM = 600
_SPEAKERS = {PERSON: "The person", BRAINSTORMER: "You", "board": "The Board", "roundtable": "The roundtable"}
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

Draft = tuple[Request, type[BaseModel]]


# -- first drafts --------------------------------------------------------------------------------


def triage(state: BrainstormState, *, small: bool) -> Draft:
    request = _request(state, "triage", {}, TRIAGE_TOKENS, small=small)
    return request, shapes.triage(state, small=small)


def questions(state: BrainstormState, *, small: bool) -> Draft:
    more = " more" if any(each.answered for each in state.questions) else ""
    asked = {"count": f"{_count(state.question_limits)}{more} questions", "level": state.level}
    request = _request(state, "questions", asked, QUESTIONS_TOKENS, small=small)
    return request, shapes.questions(state, small=small)


def approaches(state: BrainstormState, *, small: bool) -> Draft:
    request = _request(state, "approaches", {}, APPROACHES_TOKENS, small=small)
    return request, shapes.approaches(state, small=small)


def design(state: BrainstormState, *, small: bool) -> Draft:
    batches = (
        "\n- The work is done in the batches that are listed: each section says to which of them it belongs."
        if state.batches
        else ""
    )
    asked = {
        "count": f"{_count(state.section_limits)} sections",
        "depth": _DEPTH[state.level],
        "batches": batches,
    }
    request = _request(state, "design", asked, DESIGN_TOKENS, small=small)
    return request, shapes.design(state, small=small)


def _count(limits: Limits) -> str:
    return str(limits[0]) if limits[0] == limits[1] else f"{limits[0]} to {limits[1]}"


# -- the conversation ----------------------------------------------------------------------------


def conversational(state: BrainstormState, *, small: bool) -> Request:
    """A round of discussion at the current step, about the comment that the person has just made."""
    if small:
        return _small(state, "conversational")
    doing = fill(DISCUSS[state.step], _doing(state))
    return _request(state, "conversational", {"doing": doing}, _TOKENS[state.step], small=False)


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


_TOKENS = {
    Step.TRIAGE: TRIAGE_TOKENS,
    Step.QUESTIONS: QUESTIONS_TOKENS,
    Step.APPROACHES: APPROACHES_TOKENS,
    Step.DESIGN: DESIGN_TOKENS,
}


def _discuss(shape: Callable[..., type[BaseModel]]) -> Callable[..., Draft]:
    return lambda state, *, small: (conversational(state, small=small), shape(state, small=small))


def revise(state: BrainstormState, *, small: bool) -> Draft:
    shown = {"shown": _shown(state)}
    request = _request(state, "revise", shown, DESIGN_TOKENS, small=small, small_as="conversational")
    return request, shapes.revised(state, small=small)


def _shown(talk: BrainstormState) -> str:
    return "; ".join(f"{each.id} ({each.title})" for each in talk.shown_sections)


# -- what is said --------------------------------------------------------------------------------


def _request(
    state: BrainstormState,
    prompt: str,
    inputs: Mapping[str, str],
    tokens: int,
    *,
    small: bool,
    small_as: str = "",
) -> Request:
    if small:
        return _small(state, small_as or prompt)
    return request(f"brainstorm/{prompt}", inputs, material(state), tokens)


def request(prompt: str, inputs: Mapping[str, str], said: str, tokens: int) -> Request:
    system = f"{fill('brainstorm/brainstormer', {})}\n\n{fill(prompt, inputs)}"
    return Request(system, (UserSaid(said),), tokens, TEMPERATURE)


def _small(state: BrainstormState, prompt: str) -> Request:
    return small_request(f"brainstorm/{prompt}", state.subject, state.request.text if state.request else "")


def small_request(prompt: str, subject: str, comment: str) -> Request:
    """A very small model is confused by more than the matter itself and what was said last."""
    said = "\n".join(part for part in (subject[:_SMALL_ROOM], comment[:_SMALL_ROOM]) if part)
    return Request(fill(f"{prompt}.small", {}), (UserSaid(said),), SMALL_TOKENS, 0.4)


def material(state: BrainstormState) -> str:
    comment = state.request.text if state.request else ""
    return material_of(state, state.replay, _so_far(state), comment)


def material_of(state: BrainstormState, replay: Capped, so_far: str, comment: str) -> str:
    """All that the brainstormer has to know, the comment last: what stands nearest to the reply counts."""
    parts = [
        _tag("workspace", state.scout_output or "The scout found nothing to read: the workspace is empty."),
        _tag("idea", state.description),
        _tag("part", f"Only this part of the idea is being worked on: {state.subject}")
        if state.splits
        else "",
        _tag("conversation", _replay(replay)),
        _tag("so-far", so_far),
        _tag("comment", comment),
    ]
    return "\n\n".join(part for part in parts if part)


def _tag(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>" if text else ""


def _replay(replay: Capped) -> str:
    if not replay.conversation and not replay.dropped:
        return ""
    left_out = "1 older entry was" if replay.dropped == 1 else f"{replay.dropped} older entries were"
    dropped = f"({left_out} left out: what is said again has a limit.)\n\n"
    said = "\n\n".join(
        f"{_SPEAKERS.get(entry.speaker, entry.speaker)}, at {entry.step}:\n{entry.content}"
        for entry in replay.conversation
    )
    return f"{dropped if replay.dropped else ''}{said}".strip()


def _so_far(talk: BrainstormState) -> str:
    """What stands: as laid out, and as the person answered, chose and approved it."""
    parts = []
    if talk.step is Step.TRIAGE and talk.triage is not None:
        parts.append(words.triage(talk.triage))
    if talk.complexity_level is not None and talk.step is not Step.TRIAGE:
        parts.append(f"Level, confirmed by the person: {talk.complexity_level}")
    if talk.batches:
        parts.append("\n".join(("Batches, confirmed by the person:", *words.parts(talk.batches, "Batch"))))
    if talk.questions:
        listed = "\n".join(f"  {each.id}. {words.question_with_options(each)}" for each in talk.questions)
        parts.append(f"Questions, and the person's answers:\n{listed}")
    if talk.approaches and not talk.approaches_stale:
        listed = words.approaches(talk.approaches, talk.recommendation, talk.because)
        names = ", ".join(f"{n} is {each.id}" for n, each in enumerate(talk.approaches, start=1))
        parts.append(f"Approaches ({names}):\n{listed}")
    if talk.chosen is not None and talk.step is not Step.APPROACHES:
        parts.append(f"Chosen by the person: {talk.chosen.title}")
    if talk.step is Step.DESIGN and talk.design_sections and not talk.design_stale:
        parts.append(_sections_so_far(talk))
    return "\n\n".join(parts)


def _sections_so_far(talk: BrainstormState) -> str:
    shown = talk.shown_sections
    listed = "\n\n".join(
        f"### {each.id}: {each.title} ({each.status}{', shown now' if each in shown else ''})\n{each.content}"
        for each in talk.design_sections
    )
    return f"The design:\n\n{listed}"


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
"""By the names that the flow uses; each takes the state of the brainstorm."""
