"""No text of the libraries that check values reaches a person."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from moot import config
from moot.changes.state_file import InvalidField, read
from moot.errors import ConfigInvalid, DefinitionInvalid, InvalidInput
from moot.personas import library
from moot.text.faults import explain, msgspec_fault
from moot.workflow.snapshot import state_of

THEIRS = re.compile(
    r"Input should|should be|should have|should match|validation error|type=|For further information"
    r"|Field required|String should|Extra inputs|Value error|Assertion failed|Expected `|unable to|pydantic",
    re.IGNORECASE,
)


def check_even(value: int) -> int:
    if value % 2:
        raise ValueError("has to be even")
    return value


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    many: Annotated[list[int], Field(min_length=2, max_length=3)]


@dataclass
class Pair:
    left: int


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(min_length=1, max_length=5)] = "x"
    form: Annotated[str, Field(pattern="^a+$")] = "a"
    whole: Annotated[int, Field(ge=1, lt=10)] = 1
    number: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1
    even: Annotated[int, AfterValidator(check_even)] = 2
    step: Annotated[int, Field(multiple_of=5)] = 5
    switch: bool = True
    kind: Literal["a", "b"] = "a"
    names: dict[str, int] = {}
    some: tuple[int, ...] = ()
    several: set[int] = set()
    either: int | list[str] = 1
    inner: Inner | None = None
    pair: Pair | None = None
    when: datetime | None = None
    day: date | None = None
    at: AnyUrl | None = None
    unique: UUID | None = None


WRONG: list[Any] = [
    None,
    True,
    7,
    0,
    3.5,
    float("nan"),
    float("inf"),
    "",
    "word",
    "a" * 80,
    b"\xff",
    [],
    ["x"],
]
WRONG += [[1] * 4, {}, {"x": "y"}, {"many": [1]}, {"many": [1, 2], "more": 1}, {"left": "x"}, object()]


def said_of(shape: Any, value: Any) -> str | None:
    try:
        TypeAdapter(shape).validate_python(value)
    except ValidationError as invalid:
        return explain(invalid.errors())
    return None


@pytest.mark.parametrize("field", [*Everything.model_fields, "unknown"])
def test_every_wrong_value_of_every_kind_is_told_in_our_own_words(field: str) -> None:
    told = [said for value in WRONG if (said := said_of(Everything, {field: value}))]
    assert told
    for said in told:
        assert said.startswith(field)
        assert not THEIRS.search(said), said


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*Everything.model_fields, "other"]), json_values, max_size=3))
def test_no_value_brings_out_another_voice(value: dict[str, Any]) -> None:
    said = said_of(Everything, value)
    if said is None:
        return
    own = said
    for word in re.findall(r"'[^']*'|\"[^\"]*\"", said):
        own = own.replace(word, "")
    assert not THEIRS.search(own), said


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("text", 7, "text: has to be text, and is a number"),
        ("text", "", "text: must not be empty"),
        ("text", "abcdef", "text: has to have at most 5 characters"),
        ("text", "\ud800", "text: has half a character in it"),
        ("form", "b", "form: has to match the pattern ^a+$"),
        ("whole", 0, "whole: has to be at least 1, and is 0"),
        ("whole", "x", "whole: has to be a whole number, and is 'x'"),
        ("whole", 3.5, "whole: has to be a whole number, and is 3.5"),
        ("number", 0, "number: has to be greater than 0.0, and is 0"),
        ("even", 3, "even: has to be even"),
        ("switch", "x", "switch: has to be true or false, and is 'x'"),
        ("kind", "c", "kind: has to be 'a' or 'b', and is 'c'"),
        ("names", [], "names: has to be a mapping of names to values, and is a list"),
        ("inner", {"many": [1]}, "inner.many: has to have at least 2 entries"),
        ("inner", {}, "inner.many: is missing"),
        (
            "either",
            "x",
            "either: has to be a whole number, and is 'x'; either: has to be a list, and is text",
        ),
        ("unknown", 1, "unknown: is not known here"),
    ],
)
def test_a_fault_says_the_field_what_is_wrong_and_what_is_expected(field: str, value: Any, said: str) -> None:
    assert said_of(Everything, {field: value}) == said


def test_more_than_five_faults_are_counted() -> None:
    said = said_of(Everything, dict.fromkeys("abcdefg", 1)) or ""
    assert said.count("is not known here") == 5
    assert said.endswith("; and 2 more")


def test_a_value_that_is_a_key_is_not_repeated() -> None:
    key = "-".join(("sk", "proj", "Ab12_cd34", "ef56"))
    assert key not in (said_of(Everything, {"kind": key}) or "")


def test_text_that_is_no_json_is_named_as_such() -> None:
    with pytest.raises(ValidationError) as refused:
        Everything.model_validate_json("nonsense")
    assert explain(refused.value.errors(), "reply") == "reply: is no valid JSON"


@pytest.mark.parametrize(
    ("shape", "value", "said"),
    [
        (str, 7, "has to be text, and is a whole number"),
        (int | None, "x", "has to be a whole number or nothing, and is text"),
        (list[str], {}, "has to be a list, and is a mapping of names to values"),
        (Literal["a"], "b", "cannot be 'b'"),
    ],
)
def test_what_msgspec_finds_is_told_in_the_same_words(shape: Any, value: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(value, shape)
    assert msgspec_fault(str(refused.value)) == said


# -- where such faults come from -----------------------------------------------------------------

SETTINGS = [
    "[models]\ndefault = 7\n",
    "[models]\nroles = 'x'\n",
    "[providers.x]\nbase_url = 'ftp://x'\n",
    "[providers.x]\napi_key_env = 'X'\n",
    "[gateway]\nretries = -1\n",
    "[gateway]\nstall_seconds = 'x'\n",
    "[limits]\nx = 1\n",
    "[server]\nidentity_header = 'a b'\n",
    "[server]\ntrusted_proxies = ['x']\n",
    "[telemetry]\nendpoint = 'x'\n",
    "models = 3\n",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_a_configuration_is_refused_in_our_own_words(text: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        config.parse(text, "moot.toml")
    assert not THEIRS.search(str(refused.value))


@pytest.mark.parametrize(
    "field", ["name", "contribution", "interaction", "rubric", "lens", "forbidden_words", "model"]
)
@pytest.mark.parametrize("value", [7, True, [], {}, "", "a\tb"], ids=repr)
def test_a_persona_file_is_refused_in_our_own_words(field: str, value: object) -> None:
    text = library.scaffold("one", "One")
    front = re.compile(rf"^{field}:.*\n(?:[ ].*\n)*", re.MULTILINE)
    text = front.sub("", text, count=1).replace("---\n", f"---\n{field}: {json.dumps(value)}\n", 1)
    try:
        library.parse_persona(text, Path("one.md"))
    except DefinitionInvalid as refused:
        assert refused.field.startswith(field)  # noqa: PT017
        assert not THEIRS.search(str(refused))  # noqa: PT017
        assert "is not an id" not in str(refused)  # noqa: PT017
    else:
        assert (field, value) == ("forbidden_words", [])


@pytest.mark.parametrize(
    "state",
    [
        {"phase": 7},
        {"phase": []},
        {"validations": {}},
        {"validations": ["x"]},
        {"telemetry": {"calls": {}}},
        {"telemetry": {"calls": [{"cost_usd": "x"}]}},
        {"dismissed": 3},
        {"run": "x"},
    ],
    ids=repr,
)
def test_a_state_of_a_change_is_refused_in_our_own_words(state: dict[str, Any]) -> None:
    with pytest.raises(InvalidField) as refused:
        read(state, "a")
    assert not THEIRS.search(str(refused.value))


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"userDescription": 7},
        {"userDescription": "x", "phase": 3},
        {"userDescription": "x", "batches": 7},
    ],
    ids=repr,
)
def test_a_saved_workflow_is_refused_in_our_own_words(saved: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        state_of(saved)
    assert not THEIRS.search(str(refused.value))
