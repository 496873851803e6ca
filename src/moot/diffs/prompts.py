"""What a reviewer of a diff is told, be it a program with tools, a model, or a persona.

Knows texts alone. Where they come from, and what is done with the answers, is for others to know.
"""

from __future__ import annotations

from moot.diffs import patch as patches
from moot.diffs import shapes
from moot.diffs.flow import DiffTaken
from moot.llm.messages import Request, Source, UserSaid
from moot.personas.library import Persona
from moot.prompts.template import fill, system_prompt

REVIEW_TOKENS, REVIEW_TEMPERATURE = 8192, 0.2
LOOKS = 12
LOOK_TOKENS = 40_000

_OF_CODE = "files are as they are now; the diff may be of another state, and then the diff counts."
_OF_PLAN = "it is the code as it is now, which the plan has to fit."
_REMINDER = (
    "You have not appended a review: what you say counts for nothing. Call append_review now. If it asks you "
    "to read something first, read it to its end and call append_review again."
)


def for_program(opened: DiffTaken) -> str:
    """For a program that reads by tools."""
    files = f"{shapes.DIFF} and {shapes.PLAN}" if opened.plan else shapes.DIFF
    return fill(
        "diff/review",
        {
            **_slots(opened),
            "files": f"{files}, each" if opened.plan else files,
            "intent": f"\n\n{shapes.intent_text(opened.intent)}" if opened.intent else "",
        },
    )


def reminder() -> str:
    return _REMINDER


def for_model(opened: DiffTaken, persona: Persona | None = None) -> Request:
    """For a typed reply."""
    given = "The plan" if opened.is_plan else "The diff"
    system = fill("diff/review-inline", {**_slots(opened), "given": given})
    if persona is not None:
        system = fill("diff/persona", {"persona": system_prompt(persona), "review": system})
    beside = [Source("what the commits say", shapes.intent_text(opened.intent))] if opened.intent else []
    beside += [shapes.plan_source(opened.plan)] if opened.plan else []
    return Request(
        system=system,
        messages=(UserSaid("Review it.", tuple(beside)),),
        max_tokens=REVIEW_TOKENS,
        temperature=REVIEW_TEMPERATURE,
        # The same for all reviewers of a diff, so that a provider reads it once.
        shared=(shapes.sources(patches.parse(opened.patch)),),
        looks=LOOKS,
        tools_tokens=LOOK_TOKENS,
    )


def _slots(opened: DiffTaken) -> dict[str, str]:
    kind = "a plan before anybody builds it" if opened.is_plan else "code that somebody has written"
    held = (
        " It was made to a plan, which you are given, too: what the plan asks for and the diff lacks or "
        "contradicts is a finding of the kind `plan`."
        if opened.plan
        else ""
    )
    return {
        "what": f"You review {kind}: {opened.what}.{held}",
        "state": _OF_PLAN if opened.is_plan else _OF_CODE,
        "standard": fill("diff/standard-plan" if opened.is_plan else "diff/standard", {}),
        "left_out": shapes.in_words(opened.left_out),
    }
