"""The shapes of the brainstormer's typed replies, with the limits that hold where the brainstorm stands.

What a schema cannot say, the flow is asked: a reply is tried as if it had been taken, and refused for the
reason that the flow gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model, model_validator
from pydantic.alias_generators import to_camel

from moot.brainstorm import flow
from moot.brainstorm.events import APPROACH_LIMITS, MAX_PARTS, Limits
from moot.brainstorm.replies import APPROACHES, DESIGN, DISCUSS, QUESTIONS, REPLIES, REVISE, TRIAGE, event_of
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import Usage
from moot.core.model_effects import as_reply
from moot.errors import InvalidInput

T = TypeVar("T")
_LEVEL: Any = Literal["straightforward", "exploration", "complex"]
NOTHING_SPOKEN = Usage("", 0, 0, None, 0)
SMALL_LINE, _SMALL_NAME = 100, 40
"""A very small model writes a sentence or a name, and nothing longer."""


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


def triage(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    fields = {"type": (Literal["triage"], "triage"), **_triage(small=small)}
    return _make("Triage", state, TRIAGE, fields)


def questions(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    limits = state.question_limits
    asked = create_model("Question", __base__=_Shape, **_question(small=small))
    fields = {"type": (Literal["questions"], "questions"), "questions": (list_of(asked, limits), ...)}
    return _make("Questions", state, QUESTIONS, fields)


def approaches(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    offered = create_model("Approach", __base__=_Shape, **_approach(small=small))
    fields = {"type": (Literal["approaches"], "approaches"), **_recommending(offered, small=small)}
    return _make("Approaches", state, APPROACHES, fields)


def design(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    fewest, most = state.section_limits
    section = create_model(
        "Section",
        __base__=_Shape,
        title=(text_of(_SMALL_NAME if small else 120), ...),
        content=_content(small=small),
    )
    limits = (fewest, fewest) if small else (fewest, most)
    fields = {"type": (Literal["design"], "design"), "sections": (list_of(section, limits), ...)}
    return _make("Design", state, DESIGN, fields)


# -- discussions ---------------------------------------------------------------------------------


def discussed_triage(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    return _make(
        "DiscussedTriage", state, DISCUSS[Step.TRIAGE], {**_reply(small=small), **_triage(small=small)}
    )


def discussed_questions(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    names = tuple(each.id for each in state.questions)
    answered = tuple(each.id for each in state.questions if each.answered)
    fewest, most = state.question_totals
    asked = create_model("Question", __base__=_Shape, id=_known(names), **_question(small=small))
    fields = {
        **_reply(small=small),
        "questions": (list_of(asked, (max(fewest - len(answered), 0), most)), ...),
        "replaces": (list_of(_literal(answered), (0, 0 if small else len(answered))), ...),
    }
    return _make("DiscussedQuestions", state, DISCUSS[Step.QUESTIONS], fields)


def discussed_approaches(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    names = tuple(each.id for each in state.approaches)
    offered = create_model("Approach", __base__=_Shape, id=_known(names), **_approach(small=small))
    fields = {**_reply(small=small), **_recommending(offered, small=small)}
    return _make("DiscussedApproaches", state, DISCUSS[Step.APPROACHES], fields)


def discussed_design(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    fields = {**_reply(small=small), "sections": (_changed(state, 0, small=small), ...)}
    return _make("DiscussedDesign", state, DISCUSS[Step.DESIGN], fields)


def revised(state: BrainstormState, *, small: bool) -> type[BaseModel]:
    fields = {"sections": (_changed(state, 1, small=small), ...)}
    return _make("RevisedSections", state, REVISE, fields)


# -- their parts ---------------------------------------------------------------------------------


def _make(name: str, state: BrainstormState, prompt: str, fields: dict[str, Any]) -> type[BaseModel]:
    def try_it(reply: Any) -> None:
        flow.advance(state, event_of(state, reply, NOTHING_SPOKEN))

    return make_shape(name, REPLIES[prompt], try_it, fields)


def make_shape(
    name: str, struct: type[T], try_it: Callable[[T], None], fields: dict[str, Any]
) -> type[BaseModel]:
    """Refuses what the flow would refuse, with its reason."""

    def fits(given: BaseModel) -> BaseModel:
        try:
            try_it(as_reply(given, struct))
        except InvalidInput as refused:
            raise ValueError(str(refused)) from None
        return given

    check: Any = model_validator(mode="after")(fits)
    return create_model(name, __base__=_Shape, __validators__={"fits": check}, **fields)


def text_of(most: int) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=most)]


def loose(most: int) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, max_length=most)]


def list_of(of: Any, limits: Limits) -> Any:
    return Annotated[list[of], Field(min_length=limits[0], max_length=limits[1])]


def _literal(names: tuple[str, ...]) -> Any:
    return Literal[names] if names else loose(0)


def _known(names: tuple[str, ...]) -> Any:
    """The id of something that is there, or nothing for something new."""
    return (Literal[("", *names)], "")


def _reply(*, small: bool) -> dict[str, Any]:
    return {"reply": (text_of(SMALL_LINE if small else 2000), ...)}


def part(*, small: bool) -> type[BaseModel]:
    return create_model(
        "Part",
        __base__=_Shape,
        title=(text_of(_SMALL_NAME if small else 120), ...),
        description=(text_of(SMALL_LINE if small else 1200), ...),
    )


def _triage(*, small: bool) -> dict[str, Any]:
    parts = list_of(part(small=small), (0, 0 if small else MAX_PARTS))
    return {
        "level": (_LEVEL, ...),
        "reasoning": (text_of(SMALL_LINE if small else 1500), ...),
        "suggested_skips": (list_of(text_of(200), (0, 0 if small else 8)), ...),
        "batches": (parts, Field(default_factory=list)),
        "splits": (parts, Field(default_factory=list)),
    }


def _question(*, small: bool) -> dict[str, Any]:
    if small:
        return {"question": (text_of(SMALL_LINE), ...)}
    return {
        "text": (text_of(800), ...),
        "type": (Literal["choice", "text"], "text"),
        "options": (list_of(text_of(200), (0, 6)), Field(default_factory=list)),
    }


def _approach(*, small: bool) -> dict[str, Any]:
    return {
        "title": (text_of(_SMALL_NAME if small else 120), ...),
        "summary": (text_of(SMALL_LINE if small else 2000), ...),
        "tradeoffs": (text_of(SMALL_LINE if small else 2000), ...),
        "task_estimate": (Annotated[int, Field(ge=1, le=99)], ...),
    }


def _recommending(offered: type[BaseModel], *, small: bool) -> dict[str, Any]:
    fewest, most = (APPROACH_LIMITS[0],) * 2 if small else APPROACH_LIMITS
    return {
        "approaches": (list_of(offered, (fewest, most)), ...),
        "recommendation": (Annotated[int, Field(ge=1, le=most)], ...),
        "because": (text_of(SMALL_LINE if small else 800), ...),
    }


def _content(*, small: bool) -> Any:
    return (text_of(SMALL_LINE if small else 8000), ...)


def _changed(talk: BrainstormState, fewest: int, *, small: bool) -> Any:
    """Of all sections: a comment on the one that is shown may be about another, too. A small model is asked
    about that one alone. A title that is left empty stays as it is."""
    sections = talk.shown_sections if small else talk.design_sections
    ids = tuple(each.id for each in sections)
    one_of: Any = Literal[ids]
    section = create_model(
        "Section",
        __base__=_Shape,
        id=(one_of, ...),
        title=(loose(0 if small else 120), ""),
        content=_content(small=small),
    )
    return list_of(section, (fewest, 1 if small else len(ids)))
