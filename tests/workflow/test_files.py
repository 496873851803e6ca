"""The file of a workflow and the queue, with a small flow in place of the real one."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.runner import LogReplaced
from moot.errors import FileDamaged, InvalidInput, NotFound, SessionMoved
from moot.files import atomic
from moot.workflow.files import Queue, Snapshot, SnapshotLog, carried_over, entry_id, line_of

# -- a flow that counts, and names what it has counted ---------------------------------------------


@dataclass(frozen=True)
class Counted:
    total: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Came:
    name: str


@dataclass(frozen=True)
class Read:
    snapshot: Snapshot


@dataclass(frozen=True)
class Replaced:
    snapshot: Snapshot


Happening = Came | Read | Replaced


def snapshot(state: Counted) -> Snapshot:
    return {"total": state.total, "seen": [{"title": name} for name in state.seen]}


def understood(data: Snapshot) -> Counted:
    total = data.get("total", 0)
    if type(total) is not int:
        raise InvalidInput("total", "it is not a number")
    for number, entry in enumerate(data.get("seen", [])):
        if not isinstance(entry.get("title"), str):
            raise InvalidInput(f"seen[{number}].title", "it is not a text")
    return Counted(total, tuple(entry["title"] for entry in data.get("seen", [])))


def advance(state: Counted, event: Happening) -> Counted:
    if isinstance(event, Came):
        return replace(state, total=state.total + 1, seen=(*state.seen, event.name))
    return understood(event.snapshot)


def log_at(path: Path) -> SnapshotLog[Counted, Happening]:
    return SnapshotLog(
        path,
        initial=Counted(),
        advance=advance,
        snapshot=snapshot,
        restored=Read,
        brings=lambda event: event.snapshot if isinstance(event, Replaced) else None,
    )


def append(log: SnapshotLog[Counted, Happening], *events: Happening) -> None:
    for event in events:
        asyncio.run(log.append(event))


def read(log: SnapshotLog[Counted, Happening]) -> list[Happening]:
    return asyncio.run(log.read())


def there(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


# -- the log ---------------------------------------------------------------------------------------


def test_without_a_file_nothing_has_happened(tmp_path: Path) -> None:
    assert read(log_at(tmp_path / "moot" / "workflow.json")) == []
    assert list(tmp_path.iterdir()) == []


def test_what_was_appended_is_read_back_as_one_event(tmp_path: Path) -> None:
    path = tmp_path / "moot" / "workflow.json"
    first = log_at(path)
    read(first)
    append(first, Came("a"), Came("b"))
    assert read(log_at(path)) == [Read({"total": 2, "seen": [{"title": "a"}, {"title": "b"}]})]


def test_a_log_that_was_read_is_carried_on(tmp_path: Path) -> None:
    path = tmp_path / "workflow.json"
    for name in "abc":
        log = log_at(path)
        read(log)
        append(log, Came(name))
    assert there(path) == {"total": 3, "seen": [{"title": "a"}, {"title": "b"}, {"title": "c"}]}


def test_what_others_wrote_into_the_file_survives(tmp_path: Path) -> None:
    path = tmp_path / ".superteam-workflow.json"
    path.write_text(
        '{\n    "gitBranch": "main",\n    "total": 1,\n'
        '    "seen": [\n        {\n            "title": "a",\n            "sha": 1.5\n        }\n    ]\n}',
        encoding="utf-8",
    )
    log = log_at(path)
    read(log)
    append(log, Came("b"))
    assert path.read_text(encoding="utf-8") == (
        '{\n    "gitBranch": "main",\n    "total": 2,\n'
        '    "seen": [\n        {\n            "title": "a",\n            "sha": 1.5\n        },\n'
        '        {\n            "title": "b"\n        }\n    ]\n}'
    )


def test_another_workflow_brings_its_own_unknown_fields_and_leaves_the_old_ones_behind(
    tmp_path: Path,
) -> None:
    path = tmp_path / "workflow.json"
    path.write_text('{"old": true, "total": 1, "seen": [{"title": "a", "x": 1}]}', encoding="utf-8")
    log = log_at(path)
    read(log)
    append(log, Replaced({"new": True, "total": 5, "seen": [{"title": "q", "y": 2}]}), Came("r"))
    assert there(path) == {"new": True, "total": 6, "seen": [{"title": "q", "y": 2}, {"title": "r"}]}


def test_a_file_that_another_process_carried_on_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "workflow.json"
    ours, theirs = log_at(path), log_at(path)
    read(ours)
    read(theirs)
    append(theirs, Came("theirs"))
    with pytest.raises(SessionMoved):
        append(ours, Came("ours"))
    assert there(path)["seen"] == [{"title": "theirs"}]


def test_what_another_wrote_is_news_and_replaces_what_was_known(tmp_path: Path) -> None:
    path = tmp_path / "workflow.json"
    ours, theirs = log_at(path), log_at(path)
    assert read(ours) == []
    append(ours, Came("ours"))
    assert asyncio.run(ours.news()) == []
    read(theirs)
    append(theirs, Came("theirs"))
    with pytest.raises(LogReplaced) as replaced:
        asyncio.run(ours.news())
    assert replaced.value.events == [Read(there(path))]
    append(ours, Came("ours again"))
    assert there(path)["total"] == 3


def test_a_file_that_was_taken_away_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "moot" / "workflow.json"
    log = log_at(path)
    read(log)
    append(log, Came("a"))
    path.unlink()
    path.parent.rmdir()
    with pytest.raises(SessionMoved):
        append(log, Came("b"))
    assert not path.parent.exists()


def test_an_event_that_could_not_be_written_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "workflow.json"
    log = log_at(path)
    read(log)
    append(log, Came("a"))

    class FullDisk(atomic.Disk):
        def fsync(self, handle: int) -> None:
            raise OSError(28, f"No space left on device ({handle})")

    with monkeypatch.context() as patched:
        patched.setattr(atomic, "disk", FullDisk())
        with pytest.raises(OSError, match="No space left"):
            append(log, Came("lost"))
    append(log, Came("b"))
    assert there(path)["seen"] == [{"title": "a"}, {"title": "b"}]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "total": 1,\n  "seen": [\n', 4),
        ('{\n  "total": 1,\n  "total": 2\n}', 3),
        ('{\n  "seen": [],\n  "total": "many"\n}', 3),
        ('{\n  "seen": [\n    {"title": "a"},\n    {"title":\n       7}\n  ]\n}', 5),
        ('{\n  "seen": [\n    {"title": "a"},\n    {"name": "b"}\n  ]\n}', 4),
        ('\ufeff{\n  "total": "many"\n}', 2),
        ("[1]", 1),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_left_alone(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "workflow.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileDamaged) as caught:
        read(log_at(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert path.read_text(encoding="utf-8") == text


# -- what is carried over --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "before", "after", "expected"),
    [
        ({"theirs": 1}, {}, {"a": 2}, {"theirs": 1, "a": 2}),
        ({"a": 1, "theirs": 1}, {"a": 1}, {}, {"theirs": 1}),
        # A field that the file leaves out, and that is still what leaving it out means.
        ({}, {"a": "default", "b": 1}, {"a": "default", "b": 2}, {"b": 2}),
        ({"a": {"x": 1, "y": 1}}, {"a": {"y": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ({"a": {"x": 1}}, {"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": "theirs"}, {}, {"a": None}, {"a": None}),
        ([{"id": "1", "x": 1}, {"id": "2", "x": 2}], [{"id": "1"}, {"id": "2"}], [{"id": "2"}],
         [{"id": "2", "x": 2}]),
        ([{"id": "1", "x": 1}], [{"id": "1", "a": 1}], [{"id": "1", "a": 2}], [{"id": "1", "x": 1, "a": 2}]),
        ([{"said": "a", "x": 1}], [{"said": "a"}], [{"said": "a"}, {"said": "b"}],
         [{"said": "a", "x": 1}, {"said": "b"}]),
        ([{"said": "a", "x": 1}], [{"said": "a"}], [{"said": "b"}], [{"said": "b"}]),
        # A snapshot may have its lists as tuples.
        ([{"id": "1", "x": 1}], ({"id": "1"},), ({"id": "1"}, {"id": "2"}),
         [{"id": "1", "x": 1}, {"id": "2"}]),
    ],
)  # fmt: skip
def test_only_what_changed_is_changed(there: Any, before: Any, after: Any, expected: Any) -> None:
    assert carried_over(there, before, after) == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@settings(max_examples=200, deadline=None)
@given(objects, objects)
def test_a_file_that_nobody_else_wrote_into_is_always_just_the_snapshot(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert carried_over(before, before, after) == after


@settings(max_examples=200, deadline=None)
@given(objects, objects, values)
def test_an_unknown_field_always_survives(before: dict[str, Any], after: dict[str, Any], theirs: Any) -> None:
    assert carried_over(before | {"theirs": theirs}, before, after) == after | {"theirs": theirs}


@pytest.mark.parametrize(
    ("field", "line"),
    [("a", 2), ("b[0].c", 4), ("b[1]", 5), ("b[1].c", 5), ("b[7]", 3), ("z", 1), ("a.b", 2)],
)
def test_a_field_is_found_by_its_path(field: str, line: int) -> None:
    text = '{\n "a": "b: [",\n "b": [\n  {"a": 1, "c": 2},\n  {"d": {"c": 1}}\n ]\n}'
    assert line_of(text, field) == line


def test_in_what_is_no_json_no_line_is_named() -> None:
    assert line_of('{"a": ', "b") is None


# -- the queue -------------------------------------------------------------------------------------


def entry(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "userDescription": f"build {name}", **fields}


def test_no_file_is_an_empty_queue_and_looking_makes_none(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "moot" / "queue.json")
    assert (queue.list(), queue.peek()) == ((), None)
    assert list(tmp_path.iterdir()) == []
    assert queue.take() is None


def test_workflows_are_taken_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "queue.json")
    queue.add([entry("a"), entry("b")])
    queue.add([entry("c")])
    assert queue.peek() == entry("a")
    assert [queue.take(), queue.take(), queue.take(), queue.take()] == [
        entry("a"),
        entry("b"),
        entry("c"),
        None,
    ]


def test_adding_twice_is_the_same_as_once(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "queue.json")
    queue.add([entry("a"), entry("b")])
    queue.add([entry("a", phase="other"), entry("b")])
    assert queue.list() == (entry("a"), entry("b"))


def test_one_can_be_dropped_by_its_id(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "queue.json")
    queue.add([entry("a"), entry("b"), entry("c")])
    queue.drop("b")
    assert queue.list() == (entry("a"), entry("c"))
    with pytest.raises(NotFound) as caught:
        queue.drop("b")
    assert caught.value.known == ("a", "c")


def test_an_entry_of_another_tool_has_an_id_too(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "queue.json")
    queue.add([{"title": "theirs", "n": 1}, {"title": "theirs", "n": 2}])
    first, second = queue.list()
    assert entry_id(first) != entry_id(second)
    queue.drop(entry_id(first))
    assert queue.list() == (second,)


def test_unknown_fields_in_the_queue_survive(tmp_path: Path) -> None:
    path = tmp_path / ".superteam-workflow-queue.json"
    path.write_text('{"v": 1.5, "workflows": [{"id": "a", "x": 1.5}, {"id": "b"}]}\n', encoding="utf-8")
    queue = Queue(path)
    queue.drop("b")
    queue.add([entry("c")])
    assert path.read_text(encoding="utf-8") == (
        '{"v": 1.5, "workflows": [{"id": "a", "x": 1.5}, {"id": "c", "userDescription": "build c"}]}\n'
    )
    assert queue.take() == {"id": "a", "x": 1.5}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "workflows": [\n    {"id": "a"\n  ]\n}', 4),
        ('{\n  "v": 1,\n  "workflows": {}\n}', 3),
        ('{\n  "workflows": [\n    {"id": "a"},\n    "b"\n  ]\n}', 4),
    ],
)
def test_a_damaged_queue_is_named_with_its_line_and_left_alone(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "queue.json"
    path.write_text(text, encoding="utf-8")
    queue = Queue(path)
    for call in (queue.list, queue.take, lambda: queue.add([entry("c")]), lambda: queue.drop("a")):
        with pytest.raises(FileDamaged) as caught:
            call()
        assert (caught.value.file, caught.value.line) == (str(path), line)
    assert path.read_text(encoding="utf-8") == text


def test_no_workflow_is_lost_or_taken_twice_by_threads_at_once(tmp_path: Path) -> None:
    path = tmp_path / "queue.json"
    taken: list[str] = []

    def work(worker: int) -> None:
        Queue(path).add([entry(f"{worker}-{number}") for number in range(3)])
        while (found := Queue(path).take()) is not None:
            taken.append(found["id"])

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(f"{worker}-{number}" for worker in range(4) for number in range(3))


def test_a_queue_that_is_a_list_stays_one(tmp_path: Path) -> None:
    path = tmp_path / ".superteam-workflow-queue.json"
    path.write_text(
        '[{"userDescription": "One", "theirs": 1.50}, {"userDescription": "Two"}]', encoding="utf-8"
    )
    queue = Queue(path)
    assert [each["userDescription"] for each in queue.list()] == ["One", "Two"]
    first = queue.take()
    assert first is not None
    assert first["theirs"] == 1.5
    queue.add([{"id": "w-3", "userDescription": "Three"}])
    assert json.loads(path.read_text(encoding="utf-8")) == [
        {"userDescription": "Two"},
        {"id": "w-3", "userDescription": "Three"},
    ]
    path.write_text("[{}, 3]", encoding="utf-8")
    with pytest.raises(FileDamaged, match=r"workflows\[1\]: it is not an object"):
        queue.list()
