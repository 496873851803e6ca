"""What the personas of an analysis, and whoever takes their notes, are told.

Knows how a step is put to a model; everything that is known goes along (material.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, create_model

from moot.analysis import ledger, shapes
from moot.analysis.asking import is_only_questions
from moot.analysis.edits import Files
from moot.analysis.effects import ASSESS, FEEDBACK, OPEN, READ
from moot.analysis.material import at_hand, shared
from moot.analysis.replies import FeedbackReply, Notes, Reading
from moot.analysis.shapes import SMALL_LIMIT, ReadingGiven
from moot.analysis.state import FOLLOW_UPS, AnalysisState, StepRecord
from moot.analysis.steps import Step, Steps
from moot.analysis.usual import USUAL
from moot.core.model_effects import Prompts
from moot.errors import DefinitionInvalid, NotFound
from moot.llm.messages import Request, Source, UserSaid
from moot.personas.library import Persona
from moot.prompts.small_model import one_of, sentences
from moot.prompts.template import fill, system_prompt
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE
from moot.roundtable.prompts import Hosted

OPEN_TOKENS, READ_TOKENS, NOTES_TOKENS = 1536, 512, 8192
LOOKS, LOOK_TOKENS = 6, 24_000
"""How often whoever leads a step may look into the workspace for one reply, and how much that may take."""
ROUNDTABLE_LOOKS = 3
_LENGTHS = {"brief": "180", "standard": "420", "deep": "700"}
FOLLOW_UP = "analysis/follow-up"
_CANNOT_EXPLAIN = "I am too small a model to explain that. Say what you know, or: not known yet."

T = TypeVar("T")


class AnalysisPrompts:
    """Reads the step files and the artifacts of an item (by its slug), which are not in the log: somebody may
    have improved them a moment ago."""

    def __init__(self, steps: Callable[[], Steps], files: Callable[[str], Files]) -> None:
        self._steps = steps
        self._files = files

    def prompts(self) -> Prompts:
        """Those of the roundtable included."""
        return Prompts(
            speeches={
                OPEN: self.open,
                **{name: self._hosting(speech) for name, speech in ROUNDTABLE.speeches.items()},
            },
            drafts={
                READ: self.read,
                ASSESS: self.assess,
                FEEDBACK: self.feedback,
                **{name: self._hosting(draft) for name, draft in ROUNDTABLE.drafts.items()},
            },
            replies={READ: Reading, ASSESS: Notes, FEEDBACK: FeedbackReply, **ROUNDTABLE.replies},
            usual=USUAL,
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
                "length": _LENGTHS[record.depth],
            },
        )
        system = f"{system_prompt(persona)}\n\n{instructions}"
        said = UserSaid(f"Let us begin with {step.title}.", at_hand(state))
        return self._request(state, system, said, OPEN_TOKENS, temperature=0.6)

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
        said = UserSaid(f"<their-words>\n{words}\n</their-words>", at_hand(state, with_last=False))
        return self._request(state, fill(READ, _facts(state)), said, READ_TOKENS), ReadingGiven

    def assess(self, state: AnalysisState, *, small: bool) -> tuple[Request, type[BaseModel]]:
        record = state.record
        step = self._step(record)
        if small:
            answer = record.exchanges[-1][1]
            summary: Any = (one_of(sentences(answer)), ...)
            shape = shapes.shape("StepNotes", record.ref.outputs, words=answer, summary=summary)
            return _small_request(state, answer), shape
        left = FOLLOW_UPS[record.depth] - (len(record.exchanges) - 1)
        facts = _facts(state)
        facts |= {
            "step": step.title,
            "validation": step.validation,
            "artifacts": step.artifacts,
            "which_holds": "let the follow-up ask which holds" if left > 0 else "put it under **missing**",
            "follow_up": f"\n{fill(FOLLOW_UP, {'name': facts['name']})}" if left > 0 else "",
        }
        shape = shapes.shape("StepNotes", record.ref.outputs, **shapes.notes(asks=left > 0))
        said = UserSaid(f"Take the notes.{_notes_so_far(state)}", at_hand(state.before_notes))
        return self._request(state, fill(ASSESS, facts), said, NOTES_TOKENS), shape

    def feedback(self, state: AnalysisState, *, small: bool) -> tuple[Request, type[BaseModel]]:
        record = state.record
        said, outputs = state.pending_feedback, record.ref.outputs
        reply: Any = (shapes.text(900), ...)
        changes: Any = (bool, ...)
        if small:
            asks = is_only_questions(said)
            reply = (one_of((_CANNOT_EXPLAIN if asks else "I have written that down.",)), ...)
            changes = (Literal[False] if asks else Literal[True], ...)
            shape = shapes.shape("Feedback", outputs, words=said, reply=reply, changes=changes)
            return _small_request(state, said), shape
        entries = shapes.rulings()
        shape = shapes.shape("Feedback", outputs, optional=True, reply=reply, changes=changes, **entries)
        asked = UserSaid(f"<feedback>\n{said}\n</feedback>", at_hand(state))
        return self._request(state, fill(FEEDBACK, _facts(state)), asked, NOTES_TOKENS), shape

    def _request(
        self, state: AnalysisState, system: str, said: UserSaid, tokens: int, *, temperature: float = 0.3
    ) -> Request:
        return Request(
            system,
            (said,),
            tokens,
            temperature,
            shared=self._shared(state),
            looks=LOOKS,
            tools_tokens=LOOK_TOKENS,
        )

    def _shared(self, state: AnalysisState) -> tuple[tuple[Source, ...], ...]:
        return shared(state, self._files(state.slug))

    def _hosting(self, prompt: Callable[..., T]) -> Callable[..., T]:
        """A roundtable is told all that a step is told, as it is known now."""

        def hosted(state: AnalysisState, *given: Any, small: bool) -> T:
            if small:
                return prompt(state, *given, small=True)
            table = Hosted(
                state.roundtable, self._shared(state), at_hand(state), ROUNDTABLE_LOOKS, LOOK_TOKENS
            )
            return prompt(table, *given, small=False)

        return hosted


def _notes_so_far(state: AnalysisState) -> str:
    record = state.record
    if not record.summary:
        return ""
    notes = {
        "summary": record.summary,
        "contents": record.contents,
        "decided": record.decided,
        "rejected": record.rejected,
        "left_open": record.left_open,
        "missing": record.missing,
    }
    corrected = "\n".join(f"- {line}" for line in ledger.corrected_notes(state))
    told = "\n\nThe person has corrected this since; that is what goes into your notes and the files:\n"
    return (
        " Before the last question you had taken these, and nothing of them is written anywhere yet. Give "
        "all of it again, with what was said since: your new notes replace them.\n\n"
        f"<notes-so-far>\n{json.dumps(notes, ensure_ascii=False, indent=1)}\n</notes-so-far>"
        f"{told + corrected if corrected else ''}"
    )


def _facts(state: AnalysisState) -> dict[str, str]:
    ref = state.record.ref
    voice = state.voice(ref.persona)
    return {"name": voice.name, "role": voice.role, "item": state.title, "step": ref.title}


def _small_request(state: AnalysisState, said: str) -> Request:
    """A very small model makes more of a sentence than of instructions, which would also take it minutes."""
    about = f"You take notes. {state.title}. {state.record.ref.title}."
    return Request(about, (UserSaid(said[:SMALL_LIMIT]),), 400, temperature=0.3)
