"""Which form a model's typed replies must have in an analysis; a very small model makes every text of the
person's words.

Knows the kinds of files that a step writes. Refuses to know what a request says.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from moot.prompts.small_model import one_of, sentences, sequence_of

SMALL_LIMIT = 400


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


def text(limit: int) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=limit)]


def changed_entries() -> dict[str, Any]:
    """Which entries of what was decided so far are no longer as they are listed, by their numbers."""
    number = Annotated[str, StringConstraints(pattern=r"^D[0-9]{1,4}$")]
    listed = Annotated[list[number], Field(max_length=20)]
    return {name: (listed, Field(default_factory=list)) for name in ("settled", "taken_back")}


def rulings() -> dict[str, Any]:
    """What the person has decided, rejected and left open, and what that changes."""
    listed = Annotated[list[_Line], Field(max_length=12)]
    names = ("decided", "rejected", "left_open")
    added: dict[str, Any] = {name: (listed, Field(default_factory=list)) for name in names}
    return added | changed_entries()


_Line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=400)]


def notes(*, asks: bool) -> dict[str, Any]:
    """`asks`: whether anything more can be asked."""
    follow_up = {"follow_up": (Annotated[str, StringConstraints(max_length=800)], ...)}
    return {
        "summary": (text(800), ...),
        **rulings(),
        "missing": (Annotated[list[_Line], Field(max_length=8)], ...),
        **(follow_up if asks else {}),
    }


def shape(
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
    return one_of((words[:SMALL_LIMIT],)) if words else text(12_000)


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
