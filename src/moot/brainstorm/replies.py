"""What a typed reply of the brainstormer comes to: the event that it is, with ids given by the program.

A model's ids would be one more thing to get wrong: they count only where they name something that is there.
Whether the event is allowed, and within the limits of the level, the flow decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from moot.brainstorm.events import (
    Approach,
    ApproachesDiscussed,
    ApproachesDrafted,
    BrainstormEvent,
    DesignDiscussed,
    DesignDrafted,
    Question,
    QuestionsDiscussed,
    QuestionsDrafted,
    Section,
    SectionsRevised,
    Triage,
    TriageDiscussed,
    TriageDrafted,
)
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import Usage

Value = Mapping[str, Any]

TRIAGE, QUESTIONS, APPROACHES, DESIGN, REVISE = (
    f"brainstorm/{what}" for what in ("triage", "questions", "approaches", "design", "revise")
)
"""Names of prompts: those of a first draft, and of a revision of what is shown."""
DISCUSS = {
    step: f"brainstorm/discuss-{step}" for step in (Step.TRIAGE, Step.QUESTIONS, Step.APPROACHES, Step.DESIGN)
}
_NUMBER = re.compile(r"[0-9]{1,9}$")


def event_of(state: BrainstormState, prompt: str, value: Value, spoken: Usage) -> BrainstormEvent:
    reply = str(value.get("reply", ""))
    match prompt:
        case "brainstorm/triage":
            return TriageDrafted(_triage(value), spoken)
        case "brainstorm/discuss-triage":
            return TriageDiscussed(reply, _triage(value), spoken)
        case "brainstorm/questions":
            fresh = _fresh("q", (each.id for each in state.questions))
            asked = [_question(each, next(fresh)) for each in value["questions"]]
            return QuestionsDrafted(tuple(asked), spoken)
        case "brainstorm/discuss-questions":
            replaces = tuple(value.get("replaces", ()))
            asked = _still_to_ask(state, value["questions"], replaces)
            return QuestionsDiscussed(reply, tuple(asked), replaces, spoken)
        case "brainstorm/approaches":
            approaches = _approaches(state, value["approaches"])
            return ApproachesDrafted(approaches, _nth(approaches, value), value.get("because", ""), spoken)
        case "brainstorm/discuss-approaches":
            approaches = _approaches(state, value["approaches"])
            recommended = _nth(approaches, value)
            return ApproachesDiscussed(reply, approaches, recommended, value.get("because", ""), spoken)
        case "brainstorm/design":
            fresh = _fresh("s", ())
            drafted = tuple(
                Section(next(fresh), each["title"], each["content"]) for each in value["sections"]
            )
            return DesignDrafted(drafted, spoken)
        case "brainstorm/discuss-design":
            return DesignDiscussed(reply, _changed(state, value["sections"]), spoken)
        case _:
            return SectionsRevised(_changed(state, value["sections"]), spoken)


def _triage(value: Value) -> Triage:
    known = ("level", "reasoning", "suggestedSkips", "batches", "splits")
    return msgspec.convert({key: value[key] for key in known if key in value}, Triage)


def _still_to_ask(state: BrainstormState, drafts: Sequence[Value], replaces: Sequence[str]) -> list[Question]:
    """Open questions that are named keep their ids; answered ones that are only repeated stay as they are."""
    fresh = _fresh("q", (each.id for each in state.questions))
    asked = []
    for draft in drafts:
        there = state.question(draft.get("id", ""))
        replaced = there is not None and there.id in replaces
        if there is not None and there.answered and not replaced:
            continue
        asked.append(_question(draft, next(fresh) if there is None or replaced else there.id))
    return asked


def _question(draft: Value, given_id: str) -> Question:
    # A very small model writes questions only into a field of that name.
    text = draft["text"] if "text" in draft else draft["question"]
    return Question(given_id, text, draft.get("type", "text"), tuple(draft.get("options", ())))


def _approaches(state: BrainstormState, drafts: Sequence[Value]) -> tuple[Approach, ...]:
    fresh = _fresh("a", (each.id for each in state.approaches))
    named: set[str] = set()
    approaches = []
    for draft in drafts:
        there = state.approach(draft.get("id", ""))
        keeps = there is not None and there.id not in named
        given = there.id if there is not None and keeps else next(fresh)
        named.add(given)
        approaches.append(
            Approach(
                given,
                draft["title"],
                draft["summary"],
                draft.get("tradeoffs", ""),
                draft.get("taskEstimate", 0),
            )
        )
    return tuple(approaches)


def _nth(approaches: Sequence[Approach], value: Value) -> str:
    """The recommended one, which the reply counts from 1. Nothing, if there is no such one."""
    number = value["recommendation"]
    return approaches[number - 1].id if 1 <= number <= len(approaches) else ""


def _changed(state: BrainstormState, drafts: Sequence[Value]) -> tuple[Section, ...]:
    titles = {each.id: each.title for each in state.design_sections}
    return tuple(
        Section(draft["id"], draft.get("title") or titles.get(draft["id"], ""), draft["content"])
        for draft in drafts
    )


def _fresh(letter: str, used: Iterable[str]) -> Iterator[str]:
    """Ids that were not used, in order."""
    numbers = [int(found.group()) for each in used if (found := _NUMBER.search(each))]
    number = max(numbers, default=0)
    while True:
        number += 1
        yield f"{letter}{number}"
