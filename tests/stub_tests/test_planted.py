"""Facts that are planted are found where they are known, and missed where they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import ValidationError
from pydantic import BaseModel

from moot.llm.messages import Tool, ToolFault
from tests.stub.anthropic_wire import record as anthropic_record
from tests.stub.openai_wire import record as openai_record
from tests.stub.responses_wire import record as responses_record
from tests.stub.script import Recorded
from tests.stub.server import StubServer
from tests.support.planted import Known, Planting, left_out, word_of

WIRES = {"anthropic": anthropic_record, "openai": openai_record, "responses": responses_record}


class _Path(BaseModel):
    path: str


def _reading(folder: Path) -> Tool:
    async def read(given: _Path) -> str:
        try:
            return (folder / given.path).read_text(encoding="utf-8")
        except OSError as error:
            raise ToolFault("There is no such file.") from error

    return Tool("read_file", "Reads a file.", _Path, read)


def _request(wire: str, number: int, said: str, *tools: Tool) -> Recorded:
    schemas = [(tool.name, tool.takes.model_json_schema()) for tool in tools]
    offered: list[dict[str, Any]]
    match wire:
        case "anthropic":
            offered = [{"name": name, "input_schema": schema} for name, schema in schemas]
        case "openai":
            offered = [{"function": {"name": name, "parameters": schema}} for name, schema in schemas]
        case _:
            offered = [{"type": "function", "name": name, "parameters": schema} for name, schema in schemas]
    body: dict[str, Any] = {"model": "m", "tools": offered}
    body["input" if wire == "responses" else "messages"] = [{"role": "user", "content": said}]
    return WIRES[wire](number, "/", {}, body, 0.0)


@pytest.mark.parametrize("wire", WIRES)
def test_a_fact_is_carried_or_behind_a_tool_or_not_known(wire: str, tmp_path: Path) -> None:
    stub = StubServer()
    tool = _reading(tmp_path)
    facts = Planting(stub, tool)
    text = facts.plant("readme", ("read_file", {"path": "README.md"}))
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    stub.requests += [
        _request(wire, 1, f"As it says: {text}"),
        _request(wire, 2, "nothing", tool),
        _request(wire, 3, "nothing of it"),
    ]
    assert [facts.known("readme", one) for one in stub.requests] == [
        Known.CARRIED,
        Known.BEHIND_TOOL,
        Known.NOT,
    ]
    assert facts.unknown() == ["readme: request 3 (nothing of it)"]
    assert facts.unknown("readme", concerns=lambda one: one.number < 3) == []
    (tmp_path / "README.md").unlink()
    assert facts.known("readme", stub.requests[1]) is Known.NOT


def test_only_what_is_asked_after_it_was_said_has_to_know_it() -> None:
    stub = StubServer()
    facts = Planting(stub)
    stub.requests.append(_request("openai", 1, "before"))
    facts.plant("view")
    assert facts.later("view") == []
    stub.requests.append(_request("openai", 2, "its own request"))
    facts.begin("view", after=stub.requests[1])
    stub.requests.append(_request("openai", 3, f"later, with {facts['view'].word}"))
    assert [one.number for one in facts.later("view")] == [3]
    assert facts.later("view", "of something else") == []
    assert facts.unknown() == []


def test_an_offered_tool_takes_what_the_fact_is_found_with(tmp_path: Path) -> None:
    tool = _reading(tmp_path)
    facts = Planting(StubServer(), tool)
    facts.plant("body", ("read_file", {"file": "a.py"}))
    with pytest.raises(ValidationError):
        facts.known("body", _request("anthropic", 1, "…", tool))
    facts.plant("body of another", ("search", {"words": "a"}))
    assert facts.known("body of another", _request("anthropic", 1, "…", tool)) is Known.NOT


def test_each_place_has_a_word_of_its_own() -> None:
    places = [f"place {number}" for number in range(500)]
    words = {word_of(place) for place in places}
    assert len(words) == 500
    assert all(word.isalpha() and word.isascii() for word in words)
    facts = Planting(StubServer())
    facts.plant("answer")
    with pytest.raises(AssertionError, match="already"):
        facts.plant("answer")


def test_what_is_left_out_is_read_from_the_request() -> None:
    note = "<left-out>\nThis is not in what you are given.\n- E1 (a.txt)\n- 2 earlier messages\n</left-out>"
    assert left_out(_request("anthropic", 1, f"{note}\n\nAnd?")) == ("E1 (a.txt)", "2 earlier messages")
    assert left_out(_request("anthropic", 1, "All of it.")) == ()
