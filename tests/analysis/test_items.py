"""An item on the disk: what is written is whole, what others wrote stays, what is damaged is named."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.analysis.events import MenuChosen
from moot.analysis.flow import ANALYSIS
from moot.analysis.item_meta import Elaboration, ItemMeta, is_same_title, slug_of, slugs_of
from moot.analysis.items import ItemFolder, ItemFolders
from moot.errors import AlreadyThere, FileDamaged, InvalidId, InvalidInput, NotFound, UnsafePath
from moot.files import atomic, timestamps
from moot.files.layout import Workspace
from moot.repo import search

NOON = "2026-11-15T12:00:00Z"

NEW_META = """\
{
  "slug": "offline-mode",
  "title": "Offline mode",
  "description": "Work without a network.",
  "source": "github",
  "source_id": "42",
  "created_at": "2026-11-15T12:00:00Z",
  "analysis_status": "raw",
  "phases_completed": [],
  "codebase_hash": "abc123",
  "steps_completed": [],
  "depth_overrides": {},
  "elaborations": [],
  "elaboration_config": {}
}
"""

THEIRS = """\
{
    "source": "jira",
    "source_id": 1200,
    "slug": "offline-mode",
    "created_at": "2026-02-20T14:30:00.000Z",
    "analysis_status": "partial",
    "phases_completed": ["00-quick-scan"],
    "codebase_hash": "1f2e3d4",
    "steps_completed": ["00-01", "00-02"],
    "depth_overrides": {"01-requirements": "deep"},
    "elaborations": [
        {
            "step_id": "00-02",
            "turn_count": 7,
            "personas_active": ["business-analyst", "solutions-architect"],
            "timestamp": "2026-02-20T14:30:00.000Z",
            "synthesis_summary": "Found 3 more criteria",
            "mood": "good"
        }
    ],
    "elaboration_config": {"max_turns": 6},
    "weight": 1.5,
    "owner": {"name": "Änne"}
}"""

FIRST = Elaboration(
    "00-02",
    7,
    ("business-analyst", "solutions-architect"),
    "2026-02-20T14:30:00.000Z",
    "Found 3 more criteria",
)
SECOND = Elaboration("00-02", 4, ("business-analyst",), "2026-11-15T12:00:00.000Z", "Chose a queue")


class Fast(atomic.Disk):
    """Power failures are not what is tried here, so nothing waits for the disk."""

    def fsync(self, handle: int) -> None:
        pass

    def fsync_dir(self, folder: Path) -> None:
        pass


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "disk", Fast())
    monkeypatch.setattr(timestamps, "now", lambda: NOON)
    monkeypatch.setattr(search, "fingerprint", lambda _root: "abc123")


@pytest.fixture
def items(tmp_path: Path) -> ItemFolders:
    return ItemFolders(Workspace.at(tmp_path))


@pytest.fixture
def item(items: ItemFolders) -> ItemFolder:
    return items.create(
        "offline-mode", "github", "Offline mode", source_id="42", description="Work without a network."
    )


def meta_text(item: ItemFolder) -> str:
    return (item.path / "meta.json").read_text(encoding="utf-8")


def put_meta(item: ItemFolder, text: str) -> None:
    (item.path / "meta.json").write_bytes(text.encode())


def put_field(item: ItemFolder, name: str, value: Any) -> None:
    put_meta(item, json.dumps(json.loads(meta_text(item)) | {name: value}, indent=2))


# -- folders -------------------------------------------------------------------------------------


def test_a_new_item_has_a_meta_file_that_people_can_read(item: ItemFolder, tmp_path: Path) -> None:
    assert item.path == tmp_path / "moot" / "items" / "offline-mode"
    assert [path.name for path in item.path.iterdir()] == ["meta.json"]
    assert meta_text(item) == NEW_META
    assert item.meta() == ItemMeta(
        slug="offline-mode",
        title="Offline mode",
        description="Work without a network.",
        source="github",
        source_id="42",
        created_at=NOON,
        codebase_hash="abc123",
    )


def test_an_item_that_is_there_is_not_created_again(items: ItemFolders, item: ItemFolder) -> None:
    with pytest.raises(AlreadyThere):
        items.create("offline-mode", "manual", "Other")
    assert meta_text(item) == NEW_META


def test_a_folder_without_anything_of_an_item_is_used(items: ItemFolders, tmp_path: Path) -> None:
    folder = tmp_path / "moot" / "items" / "notes"
    folder.mkdir(parents=True)
    (folder / "draft.md").write_text("kept", encoding="utf-8")
    assert items.all() == []
    assert items.create("notes", "manual", "Notes").read_artifact("draft.md") == "kept"


def test_a_file_in_the_place_of_an_item_is_not_replaced(items: ItemFolders, tmp_path: Path) -> None:
    (tmp_path / "moot" / "items").mkdir(parents=True)
    (tmp_path / "moot" / "items" / "notes").write_text("mine", encoding="utf-8")
    with pytest.raises(AlreadyThere):
        items.create("notes", "manual", "Notes")
    with pytest.raises(NotFound):
        items.open("notes")


def test_items_are_listed_by_slug(items: ItemFolders, item: ItemFolder, tmp_path: Path) -> None:
    items.create("add-login", "manual", "Add login")
    (tmp_path / "moot" / "items" / "Not An Id").mkdir()
    (tmp_path / "moot" / "items" / "empty").mkdir()
    assert [each.slug for each in items.all()] == ["add-login", "offline-mode"]
    assert items.open("offline-mode") == item


def test_a_workspace_without_items_has_none(items: ItemFolders) -> None:
    assert items.all() == []
    with pytest.raises(NotFound):
        items.open("offline-mode")


def test_an_item_that_is_not_there_is_told_with_those_that_are(items: ItemFolders, item: ItemFolder) -> None:
    with pytest.raises(NotFound) as raised:
        items.open("online-mode")
    assert raised.value.known == (item.slug,)


def test_items_of_another_tool_are_used_in_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "requirements" / "offline-mode"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(THEIRS, encoding="utf-8")
    items = ItemFolders(Workspace.at(tmp_path))
    assert [each.path for each in items.all()] == [folder]
    assert items.create("new", "manual", "New").path == tmp_path / "docs" / "requirements" / "new"


@pytest.mark.parametrize("slug", ["..", "a/b", "A", "", "-a", "a" * 65])
def test_no_slug_leads_elsewhere(items: ItemFolders, slug: str) -> None:
    with pytest.raises(InvalidId):
        items.open(slug)
    with pytest.raises(InvalidId):
        items.create(slug, "manual", "x")


def test_a_link_out_of_the_workspace_is_no_item(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "meta.json").write_text("{}", encoding="utf-8")
    (root / "moot" / "items").mkdir(parents=True)
    (root / "moot" / "items" / "linked").symlink_to(outside)
    items = ItemFolders(Workspace.at(root))
    assert items.all() == []
    with pytest.raises(UnsafePath):
        items.open("linked")


def test_an_item_that_was_moved_away_is_not_made_anew(item: ItemFolder) -> None:
    item.path.rename(item.path.with_name("moved"))
    for attempt in (
        item.meta,
        lambda: item.add_elaboration(SECOND),
        lambda: item.read_artifact("a.md"),
        lambda: item.write_artifact("a.md", lambda _: "x"),
        lambda: item.log(ANALYSIS),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert not item.path.exists()


# -- slugs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Offline mode", "offline-mode"),
        ("  Don't lose É-mails!  (v2) ", "dont-lose-e-mails-v2"),
        ("Größe", "grosse"),
        ("a/../b", "a-b"),
        ("work on the train " * 5, "work-on-the-train-work-on-the-train-work-on-the-train-work-on"),
        ("x" * 70, "x" * 64),
        ("a " + "x" * 70, "a-" + "x" * 62),
        ("日本語", "item-77710aed"),
        ("", "item-e3b0c442"),
    ],
)  # fmt: skip
def test_a_slug_is_made_of_a_title(title: str, slug: str) -> None:
    assert slug_of(title) == slug


@settings(max_examples=200)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_title_has_a_slug_that_is_an_id(title: str) -> None:
    for slug in slugs_of(title):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", slug)
    assert slugs_of(title)[0] == slug_of(title)


@settings(max_examples=200)
@given(st.text(max_size=90), st.text(max_size=5))
def test_titles_that_are_not_the_same_never_share_both_slugs(title: str, more: str) -> None:
    other = title + more
    assert is_same_title(title, other) == (slugs_of(title)[1][-8:] == slugs_of(other)[1][-8:])


# -- meta.json -----------------------------------------------------------------------------------


def test_meta_of_another_tool_is_understood(item: ItemFolder) -> None:
    put_meta(item, THEIRS)
    assert item.meta() == ItemMeta(
        slug="offline-mode",
        title="offline mode",
        source="jira",
        source_id="1200",
        created_at="2026-02-20T14:30:00.000Z",
        analysis_status="partial",
        phases_completed=("00-quick-scan",),
        codebase_hash="1f2e3d4",
        steps_completed=("00-01", "00-02"),
        depth_overrides={"01-requirements": "deep"},
        elaborations=(FIRST,),
        elaboration_config={"max_turns": 6},
    )


def test_an_update_leaves_everything_else_as_it_was(item: ItemFolder) -> None:
    put_meta(item, THEIRS)
    meta = item.complete_step("00-03", ["00-quick-scan"], "partial")
    assert meta.steps_completed == ("00-01", "00-02", "00-03")
    after = json.loads(meta_text(item))
    assert after == json.loads(THEIRS) | {"steps_completed": ["00-01", "00-02", "00-03"]}
    assert list(after) == list(json.loads(THEIRS))
    assert '"weight": 1.5,' in meta_text(item)
    assert "Änne" in meta_text(item)
    assert not meta_text(item).endswith("\n")


@pytest.mark.parametrize("value", [None, "oops", 7, True, 1.5, "wrong kind"])
@pytest.mark.parametrize("name", ["elaborations", "elaboration_config", "steps_completed", "depth_overrides"])
def test_a_field_of_the_wrong_kind_reads_as_empty_and_stays(item: ItemFolder, name: str, value: Any) -> None:
    is_list = name in {"elaborations", "steps_completed"}
    put_field(item, name, ({"a": 1} if is_list else ["a"]) if value == "wrong kind" else value)
    before = meta_text(item)
    assert not getattr(item.meta(), name)
    assert meta_text(item) == before


def test_fields_that_are_missing_have_their_first_value(item: ItemFolder) -> None:
    put_meta(item, "{}")
    assert item.meta() == ItemMeta("offline-mode", title="offline mode")


def test_without_a_meta_file_nothing_is_known(item: ItemFolder) -> None:
    (item.path / "meta.json").unlink()
    assert item.meta() == ItemMeta("offline-mode", title="offline mode")
    assert item.complete_step("00-01", (), "partial").created_at == NOON


def test_entries_of_the_wrong_kind_are_passed_over_and_kept(item: ItemFolder) -> None:
    put_field(item, "steps_completed", ["00-01", 2, None, "00-01"])
    put_field(item, "depth_overrides", {"01-requirements": "deep", "04-design": "abyssal", "x": 1})
    entries = ["x", {"step_id": 3}, {"step_id": "00-01", "timestamp": NOON, "turn_count": "7"}]
    put_field(item, "elaborations", entries)
    meta = item.add_elaboration(SECOND)
    assert meta.steps_completed == ("00-01",)
    assert meta.depth_overrides == {"01-requirements": "deep"}
    assert meta.elaborations == (Elaboration("00-01", 0, (), NOON), SECOND)
    assert json.loads(meta_text(item))["elaborations"][:3] == entries


@pytest.mark.parametrize("name", ["elaborations", "steps_completed", "phases_completed"])
def test_what_cannot_be_a_list_gives_way_when_something_is_added(item: ItemFolder, name: str) -> None:
    put_field(item, name, "oops")
    item.complete_step("00-01", ["00-quick-scan"], "partial")
    item.add_elaboration(SECOND)
    assert len(json.loads(meta_text(item))[name]) == 1


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ('{\n  "slug": "a",\n}', "Expecting property name|Illegal trailing comma", None),
        ("[]", "it is not an object", 1),
        ('{\n\n "analysis_status": "done"}', "has to be 'raw', 'partial' or 'analyzed', and is 'done'", 3),
        ('{\n "source": ["x"]}', "source: has to be text, and is a list", 2),
        ('{"title": true}', "title: has to be text, and is true", 1),
        ("", "Expecting value", 1),
    ],
)
def test_a_damaged_meta_file_is_named_and_left_as_it_is(
    item: ItemFolder, text: str, problem: str, line: int | None
) -> None:
    put_meta(item, text)
    for attempt in (item.meta, lambda: item.complete_step("00-01", (), "partial")):
        with pytest.raises(FileDamaged, match=problem) as raised:
            attempt()
        assert raised.value.file == str(item.path / "meta.json")
        assert line is None or raised.value.line == line
    assert meta_text(item) == text


@pytest.mark.parametrize(
    "change",
    [lambda data: data.update(analysis_status="done"), lambda data: data.update(title=["x"])],
)
def test_what_could_not_be_read_back_is_not_written(item: ItemFolder, change: Callable[[Any], None]) -> None:
    with pytest.raises(InvalidInput):
        item.update_meta(change)
    assert meta_text(item) == NEW_META


def test_completing_a_step_twice_is_the_same_as_once(item: ItemFolder) -> None:
    item.complete_step("00-01", [], "partial")
    once = item.complete_step("00-02", ["00-quick-scan"], "partial")
    text = meta_text(item)
    assert item.complete_step("00-02", ["00-quick-scan"], "partial") == once
    assert meta_text(item) == text
    assert once.steps_completed == ("00-01", "00-02")
    assert once.phases_completed == ("00-quick-scan",)


def test_phases_that_others_completed_stay_completed(item: ItemFolder) -> None:
    put_field(item, "phases_completed", ["05-own"])
    meta = item.complete_step("00-03", ["00-quick-scan"], "analyzed")
    assert meta.phases_completed == ("05-own", "00-quick-scan")
    assert meta.analysis_status == "analyzed"


def test_elaborations_are_appended_in_the_words_of_the_schema(item: ItemFolder) -> None:
    put_meta(item, THEIRS)
    assert item.add_elaboration(SECOND).elaborations == (FIRST, SECOND)
    first, second = json.loads(meta_text(item))["elaborations"]
    assert first["mood"] == "good"
    assert second == {
        "step_id": "00-02",
        "turn_count": 4,
        "personas_active": ["business-analyst"],
        "timestamp": "2026-11-15T12:00:00.000Z",
        "synthesis_summary": "Chose a queue",
    }


def test_an_elaboration_is_recorded_once_and_the_first_record_stays(item: ItemFolder) -> None:
    put_meta(item, THEIRS)
    retold = Elaboration(FIRST.step_id, 1, (), FIRST.timestamp, "Retold")
    assert item.add_elaboration(retold).elaborations == (FIRST,)
    assert meta_text(item) == THEIRS
    elsewhere = Elaboration("01-01", 1, (), FIRST.timestamp)
    assert item.add_elaboration(elsewhere).elaborations == (FIRST, elsewhere)


def test_a_record_written_again_after_a_crash_keeps_the_time_of_the_first(item: ItemFolder) -> None:
    first = Elaboration("01-01", 3, (), "12:30", "We agreed", opened_at="12:00")
    again = Elaboration("01-01", 3, (), "12:45", "We agreed", opened_at="12:00")
    later = Elaboration("01-01", 5, (), "13:30", "We agreed", opened_at="13:00")
    for record in (first, again, later):
        item.add_elaboration(record)
    assert item.meta().elaborations == (first, later)
    # As earlier versions recorded it, by the time at which it was opened.
    old = Elaboration("01-02", 3, (), "11:00", "We agreed")
    item.add_elaboration(old)
    assert item.add_elaboration(Elaboration("01-02", 3, (), "11:30", "", opened_at="11:00")).elaborations[
        2:
    ] == (old,)


records = st.builds(
    Elaboration,
    step_id=st.sampled_from(["00-01", "01-03"]),
    turn_count=st.integers(1, 20),
    personas_active=st.just(("a", "b")),
    timestamp=st.sampled_from(["t1", "t2", "t3"]),
    synthesis_summary=st.text(max_size=8),
)


@settings(max_examples=40, deadline=None)
@given(adding=st.lists(records, max_size=8))
def test_records_are_never_replaced_or_doubled(
    adding: list[Elaboration], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = ItemFolder("x", tmp_path_factory.mktemp("item"))
    kept: dict[tuple[str, str], Elaboration] = {}
    for record in adding:
        kept.setdefault((record.step_id, record.timestamp), record)
        assert folder.add_elaboration(record).elaborations == tuple(kept.values())


def test_nobody_loses_what_another_writes_at_the_same_time(item: ItemFolder) -> None:
    with ThreadPoolExecutor(6) as pool:
        for number in range(12):
            pool.submit(item.complete_step, f"00-{number:02}", (), "partial")
            pool.submit(item.add_elaboration, Elaboration("00-01", number, (), str(number)))
    meta = item.meta()
    assert sorted(meta.steps_completed) == [f"00-{number:02}" for number in range(12)]
    assert sorted(each.turn_count for each in meta.elaborations) == list(range(12))


# -- artifacts -----------------------------------------------------------------------------------


def test_an_artifact_is_written_as_a_change_of_what_it_says(item: ItemFolder) -> None:
    assert item.read_artifact("requirements-spec.md") is None
    assert item.write_artifact("requirements-spec.md", lambda old: f"{old}\r\n") == "None\r\n"
    assert item.write_artifact("requirements-spec.md", lambda old: f"{old}more") == "None\r\nmore"
    assert item.read_artifact("requirements-spec.md") == "None\r\nmore"


def test_a_change_that_fails_leaves_the_artifact_as_it_was(item: ItemFolder) -> None:
    item.write_artifact("data-flow.md", lambda _: "kept")

    def fail(_: str | None) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        item.write_artifact("data-flow.md", fail)
    assert item.read_artifact("data-flow.md") == "kept"
    assert sorted(path.name for path in item.path.iterdir()) == ["data-flow.md", "meta.json"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x.md", "/etc/passwd", "a/b.md", "a\\b.md", ".hidden", "a\0.md", "a\n.md", "x" * 101,
     "meta.json", "META.json", "session.jsonl", "é.md", "a b.md"],
)  # fmt: skip
def test_no_name_of_an_artifact_leads_elsewhere_or_to_the_items_own_files(
    item: ItemFolder, name: str
) -> None:
    with pytest.raises(InvalidInput):
        item.read_artifact(name)
    with pytest.raises(InvalidInput):
        item.write_artifact(name, lambda _: "x")
    assert meta_text(item) == NEW_META


def test_a_link_that_leads_outside_is_damage_and_is_not_written_through(
    item: ItemFolder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs", encoding="utf-8")
    (item.path / "a.md").symlink_to(outside)
    (item.path / "session.jsonl").symlink_to(outside)
    with pytest.raises(FileDamaged):
        item.read_artifact("a.md")
    with pytest.raises(FileDamaged):
        item.write_artifact("a.md", lambda _: "mine")
    with pytest.raises(FileDamaged):
        item.log(ANALYSIS)
    assert outside.read_text(encoding="utf-8") == "theirs"


# -- the session ---------------------------------------------------------------------------------


def test_the_session_is_in_the_items_folder(item: ItemFolder) -> None:
    asyncio.run(item.log(ANALYSIS).append(MenuChosen("C")))
    assert (item.path / "session.jsonl").read_text(encoding="utf-8") == '{"type":"MenuChosen","key":"C"}\n'
    assert asyncio.run(item.log(ANALYSIS).read()) == [MenuChosen("C")]
