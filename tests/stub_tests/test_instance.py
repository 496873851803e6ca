"""Instances made from a schema are valid, always and for every shape that a model API takes."""

from __future__ import annotations

import datetime
import enum
import json
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from tests.stub.instance import Bottomless, instance_of
from tests.stub.reply import tokens_of


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int = Field(ge=3, le=9)
    y: float = Field(gt=0, lt=1)
    label: str = Field(min_length=2, max_length=3)
    note: str = "left out"


class Circle(BaseModel):
    kind: Literal["circle"]
    centre: Point


class Square(BaseModel):
    kind: Literal["square"]
    corners: tuple[Point, Point]


class Drawing(BaseModel):
    shape: Annotated[Circle | Square, Field(discriminator="kind")]
    colours: set[Colour] = Field(min_length=2)
    points: list[Point] = Field(min_length=2, max_length=5)
    day: datetime.date
    maybe: int | None
    anything: Any
    scores: dict[str, int] = Field(min_length=1)


class Tree(BaseModel):
    name: str
    parent: Tree | None
    children: list[Tree]


class Endless(BaseModel):
    self: Endless


class Names(RootModel[list[str]]):
    pass


@pytest.mark.parametrize("model", [Point, Circle, Square, Drawing, Tree, Names])
def test_an_instance_of_a_models_schema_is_valid_for_the_model(model: type[BaseModel]) -> None:
    model.model_validate_json(json.dumps(instance_of(model.model_json_schema())))


def test_an_instance_is_small_and_can_be_read() -> None:
    assert instance_of(Point.model_json_schema()) == {"x": 3, "y": 0.5, "label": "stu"}
    assert instance_of(Tree.model_json_schema()) == {"name": "stub", "parent": None, "children": []}


def test_references_and_parts_are_put_together() -> None:
    schema = {
        "$defs": {"Named": {"properties": {"name": {"const": "Ada"}}, "required": ["name"]}},
        "allOf": [
            {"$ref": "#/$defs/Named"},
            {"properties": {"age": {"type": "integer", "exclusiveMinimum": 17}}, "required": ["age"]},
        ],
    }
    assert instance_of(schema) == {"name": "Ada", "age": 18}


def test_an_endless_schema_is_refused() -> None:
    with pytest.raises(Bottomless):
        instance_of(Endless.model_json_schema())


def a_number(kind: Any, low: int, width: int, closed: tuple[bool, bool]) -> Any:
    least = Field(ge=low) if closed[0] else Field(gt=low)
    most = Field(le=low + width) if closed[1] else Field(lt=low + width)
    return Annotated[kind, least, most]


def a_text(least: int, more: int) -> Any:
    return Annotated[str, Field(min_length=least, max_length=least + more)]


def a_multiple(step: int, least: int) -> Any:
    return Annotated[int, Field(multiple_of=step, ge=least)]


def a_list(item: Any, least: int) -> Any:
    return Annotated[list[item], Field(min_length=least, max_length=least + 2)]


def a_pair(one: Any, other: Any) -> Any:
    return tuple[one, other]


def a_choice(one: Any, other: Any) -> Any:
    return Union[one, other]  # noqa: UP007 - some of these are not types, and have no operator


def a_dict(item: Any) -> Any:
    return dict[str, item]


def a_model(item: Any) -> Any:
    return create_model("Inner", kept=(item, ...), left_out=(item, None))


low = st.integers(-50, 50)
closed = st.tuples(st.booleans(), st.booleans())
plain = [str, int, float, bool, None, Colour, Point, Tree, Literal["a", 1], datetime.datetime]
leaves = st.one_of(
    st.sampled_from(plain),
    st.builds(a_number, st.just(int), low, st.integers(2, 9), closed),
    st.builds(a_number, st.just(float), low, st.integers(1, 9), closed),
    st.builds(a_text, st.integers(0, 40), st.integers(0, 3)),
    st.builds(a_multiple, st.integers(1, 7), low),
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(a_list, inner, st.integers(0, 3)),
        st.builds(a_pair, inner, inner),
        st.builds(a_choice, inner, inner),
        st.builds(a_dict, inner),
        st.builds(a_model, inner),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(types, min_size=1, max_size=4))
def test_an_instance_of_any_schema_is_valid(fields: list[Any]) -> None:
    definitions: dict[str, Any] = {f"field{index}": (kind, ...) for index, kind in enumerate(fields)}
    model: type[BaseModel] = create_model("Anything", **definitions)
    schema = model.model_json_schema()
    instance = instance_of(schema)
    model.model_validate_json(json.dumps(instance))
    assert instance_of(schema) == instance


@given(st.text())
def test_no_character_is_lost_between_tokens(text: str) -> None:
    assert "".join(tokens_of(text)) == text
