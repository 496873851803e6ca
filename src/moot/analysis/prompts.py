"""What the personas of an analysis, and whoever takes their notes, are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from moot.analysis.asking import is_only_questions
from moot.analysis.effects import ASSESS, FEEDBACK, OPEN, READ
from moot.analysis.replies import FeedbackReply, Notes, Reading
from moot.analysis.state import FOLLOW_UPS, AnalysisState, StepRecord
from moot.analysis.steps import Step, Steps
from moot.core.model_effects import Prompts
from moot.errors import DefinitionInvalid, NotFound
from moot.llm.messages import Request, UserSaid
from moot.personas.library import Persona
from moot.prompts.small_model import one_of, sentences, sequence_of
from moot.prompts.template import fill, system_prompt
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE

OPEN_TOKENS, READ_TOKENS, NOTES_TOKENS = 700, 512, 4096
_KNOWN_LIMIT = 12_000
_SMALL_LIMIT = 400
_CANNOT_EXPLAIN = "I am too small a model to explain that. Say what you know, or: not known yet."


class AnalysisPrompts:
    """Reads the step files, which are not in the log: somebody may have improved them a moment ago."""

    def __init__(self, steps: Callable[[], Steps]) -> None:
        self._steps = steps

    def prompts(self) -> Prompts:
        """Those of the roundtable included."""
        return Prompts(
            speeches={OPEN: self.open, **ROUNDTABLE.speeches},
            drafts={READ: self.read, ASSESS: self.assess, FEEDBACK: self.feedback, **ROUNDTABLE.drafts},
            replies={READ: Reading, ASSESS: Notes, FEEDBACK: FeedbackReply, **ROUNDTABLE.replies},
        )

    def _step(self, record: StepRecord) -> Step:
        try:
            return self._steps().step(record.ref.id)
        except NotFound as gone:
            raise DefinitionInvalid(f"{record.ref.id}.md", "file", "is not there any more") from gone

    def open(self, state: AnalysisState, persona: Persona, *, small: bool) -> Request:
        record = state.record
        step = self._step(record)
        if small:
            return Request(
                system=f"You are {persona.name}, {persona.role}. {persona.purpose}",
                messages=(UserSaid(f"{state.title}. {step.title}. Ask me what you need to know."),),
                max_tokens=40,
                temperature=0.4,
                openers=persona.openers[:1],
            )
        instructions = fill(
            OPEN,
            {
                "name": persona.name,
                "item": state.title,
                "step": step.title,
                "depth": record.depth,
                "guide": step.modes[record.depth],
                "known": _known(state),
            },
        )
        return Request(
            system=f"{system_prompt(persona)}\n\n{instructions}",
            messages=(UserSaid(f"Let us begin with {step.title}."),),
            max_tokens=OPEN_TOKENS,
            temperature=0.6,
        )

    def read(self, state: AnalysisState, *, small: bool) -> tuple[Request, type[BaseModel]]:
        """Whether what the person has just said asks something, answers, or both."""
        record = state.record
        words = record.exchanges[-1][1]
        if small:
            # It can neither tell questions from answers nor explain anything: question marks have to do.
            asks = is_only_questions(words)
            reply: Any = (one_of((_CANNOT_EXPLAIN if asks else "",)), ...)
            answers: Any = (Literal[False] if asks else Literal[True], ...)
            shape = create_model("SmallReading", reply=reply, answers=answers)
            return _small_request(state, words), shape
        material = f"<known>\n{_known(state)}\n</known>\n\n{_conversation(record, with_last=False)}"
        material += f"\n\n<their-words>\n{words}\n</their-words>"
        return _request(fill(READ, _facts(state)), material, READ_TOKENS), ReadingGiven

    def assess(self, state: AnalysisState, *, small: bool) -> tuple[Request, type[BaseModel]]:
        record = state.record
        step = self._step(record)
        if small:
            answer = record.exchanges[-1][1]
            summary: Any = (one_of(sentences(answer)), ...)
            shape = _shape("StepNotes", record.ref.outputs, words=answer, summary=summary)
            return _small_request(state, answer), shape
        left = FOLLOW_UPS[record.depth] - (len(record.exchanges) - 1)
        facts = _facts(state) | {
            "step": step.title,
            "validation": step.validation,
            "artifacts": step.artifacts,
            "rounds": "" if left > 0 else "Nothing more will be asked: leave it empty.",
        }
        material = f"<known>\n{_known(state)}\n</known>\n\n{_conversation(record)}"
        shape = _shape("StepNotes", record.ref.outputs, **_notes())
        return _request(fill(ASSESS, facts), material, NOTES_TOKENS), shape

    def feedback(self, state: AnalysisState, *, small: bool) -> tuple[Request, type[BaseModel]]:
        record = state.record
        said, outputs = state.pending_feedback, record.ref.outputs
        reply: Any = (_text(600), ...)
        changes: Any = (bool, ...)
        if small:
            asks = is_only_questions(said)
            reply = (one_of((_CANNOT_EXPLAIN if asks else "I have written that down.",)), ...)
            changes = (Literal[False] if asks else Literal[True], ...)
            shape = _shape("Feedback", outputs, words=said, reply=reply, changes=changes)
            return _small_request(state, said), shape
        written = "\n\n".join(
            f'<file name="{name}">\n{text}\n</file>' for name, text in record.contents.items()
        )
        material = f"{written}\n\n<feedback>\n{said}\n</feedback>"
        shape = _shape("Feedback", outputs, optional=True, reply=reply, changes=changes)
        return _request(fill(FEEDBACK, _facts(state)), material, NOTES_TOKENS), shape


def _facts(state: AnalysisState) -> dict[str, str]:
    ref = state.record.ref
    voice = state.voice(ref.persona)
    return {"name": voice.name, "role": voice.role, "item": state.title, "step": ref.title}


def _conversation(record: StepRecord, *, with_last: bool = True) -> str:
    """What was asked and answered, and what the person asked back. Not `with_last`: their last words are left
    out, because nobody knows yet what they are."""
    lines = []
    for number, (question, answer) in enumerate(record.exchanges):
        back = [one for one in record.asked_back if one.question == number]
        lines.append(f"Asked: {question}")
        for one in back:
            if one.text != answer:
                lines.append(f"The person asked back: {one.text}\nThey were told: {one.reply}")
        if with_last or number < len(record.exchanges) - 1:
            lines.append(f"Answered: {answer}")
        lines += [f"They were told: {one.reply}" for one in back if one.text == answer]
    return "<conversation>\n" + "\n\n".join(lines) + "\n</conversation>"


def _request(system: str, material: str, max_tokens: int) -> Request:
    return Request(system, (UserSaid(material),), max_tokens, temperature=0.3)


def _small_request(state: AnalysisState, said: str) -> Request:
    """A very small model makes more of a sentence than of instructions, which would also take it minutes."""
    about = f"You take notes. {state.title}. {state.record.ref.title}."
    return _request(about, said[:_SMALL_LIMIT], 400)


def _known(state: AnalysisState) -> str:
    """What the workspace and the earlier steps have shown, the latest in full."""
    parts = [f"The item: {state.title}"]
    if state.description:
        parts.append(state.description)
    at = state.record.ref.phase
    if state.scan and at.startswith(("00", "01")):
        parts.append(f"Found in the workspace:\n{state.scan}")
    if state.impact and at >= "02":
        parts.append(f"Found in the workspace:\n{state.impact}")
    parts += [f"{record.ref.title}: {record.summary}" for record in state.done if record.summary]
    parts += [f"A roundtable found: {e.summary}" for e in state.elaborations]
    return "\n\n".join(parts)[:_KNOWN_LIMIT]


# -- shapes --------------------------------------------------------------------------------------


class _Shape(BaseModel):
    model_config = ConfigDict(populate_by_name=True)


class Story(_Shape):
    as_a: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    i_want: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    so_that: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    acceptance: Annotated[list[str], Field(max_length=12)]


class ReadingGiven(BaseModel):
    reply: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_200)]
    answers: bool


Priority = Literal["must", "should", "could", "won't"]


class Row(_Shape):
    requirement: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    priority: Priority
    reason: Annotated[str, StringConstraints(max_length=400)]
    source: Annotated[str, StringConstraints(max_length=200)]


def _text(limit: int) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=limit)]


def _notes() -> dict[str, Any]:
    line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=400)]
    return {
        "summary": (_text(800), ...),
        "missing": (Annotated[list[line], Field(max_length=8)], ...),
        "follow_up": (Annotated[str, StringConstraints(max_length=800)], ...),
    }


def _shape(
    name: str, outputs: tuple[str, ...], *, words: str = "", optional: bool = False, **fields: Any
) -> type[BaseModel]:
    """With a part for each file of the step, in the form that the file has. Given the person's `words`, every
    text is made of them."""
    parts: dict[str, Any] = {}
    for number, file in enumerate(outputs):
        kind = _content(file, words)
        parts[f"file_{number}"] = (
            (kind | None, Field(default=None, alias=file)) if optional else (kind, Field(alias=file))
        )
    contents = create_model(f"{name}Contents", __base__=_Shape, **parts)
    return create_model(name, __base__=_Shape, **fields, contents=(contents, ...))


def _content(file: str, words: str) -> Any:
    if file.endswith(".json"):
        return sequence_of(_small_story(words)) if words else _some(Story, 20)
    if file.endswith(".csv"):
        return sequence_of(_small_row(words)) if words else _some(Row, 40)
    return one_of((words[:_SMALL_LIMIT],)) if words else _text(12_000)


def _some(entry: Any, most: int) -> Any:
    return Annotated[list[entry], Field(min_length=1, max_length=most)]


def _small_story(words: str) -> Any:
    sentence: Any = (one_of(sentences(words)), ...)
    somebody: Any = (one_of(("person who uses it",)), ...)
    nothing: Any = (Annotated[list[str], Field(max_length=0)], ...)
    return create_model("SmallStory", as_a=somebody, i_want=sentence, so_that=sentence, acceptance=nothing)


def _small_row(words: str) -> Any:
    given: Any = (one_of(("Said in the conversation.",)), ...)
    requirement: Any = (one_of(sentences(words)), ...)
    priority: Any = (Priority, ...)
    return create_model("SmallRow", requirement=requirement, priority=priority, reason=given, source=given)
