"""A link that leads out of the workspace is refused by its name, whatever it stands for, and nothing is
read or written on its other side. Files that would cost too much are refused before they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.analysis.items import ItemFolders
from moot.app import Options, opened
from moot.changes.folder import ChangeFolders
from moot.changes.living_specs import LivingSpecs
from moot.cli.answers import parse_answers
from moot.errors import FileDamaged, UnsafePath
from moot.files.documents import JsonDocument, YamlDocument
from moot.files.layout import Workspace
from moot.workflow.designs import Designs
from moot.workflow.files import Queue
from moot.workflow.service import Workflows
from tests.support.change import write_change
from tests.support.command import environment, moot

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    write_change(made / "moot" / "changes" / "feat-auth")
    for name in ("items", "designs", "archive", "personas", "panels", "specs", "steps"):
        (made / "moot" / name).mkdir()
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    made.mkdir()
    return made


def lead_out(root: Path, name: str, outside: Path) -> None:
    place = root / name
    if place.exists():
        place.rename(outside / "there")
        place.symlink_to(outside / "there")
    else:
        place.symlink_to(outside / "not-there")


def look_for_changes(root: Path) -> None:
    ChangeFolders(Workspace.at(root)).all()


def open_a_change(root: Path) -> None:
    ChangeFolders(Workspace.at(root)).open("feat-auth")


def archive(root: Path) -> None:
    folders = ChangeFolders(Workspace.at(root))
    folders.archive(folders.open("feat-auth"))


def look_for_items(root: Path) -> None:
    ItemFolders(Workspace.at(root)).all()


def create_an_item(root: Path) -> None:
    ItemFolders(Workspace.at(root)).create("sso", "text", "Single sign-on")


def save_a_design(root: Path) -> None:
    Designs(Workspace.at(root)).save("2026-01-02", "Single sign-on", "# Design\n")


def read_the_workflow(root: Path) -> None:
    async def go() -> None:
        async with opened(Options(workspace=root), env={}) as there:
            await Workflows(there).state()

    asyncio.run(go())


def list_the_queue(root: Path) -> None:
    Queue(Workspace.at(root).queue_file).list()


def add_to_the_queue(root: Path) -> None:
    Queue(Workspace.at(root).queue_file).add([{"id": "w-1"}])


def load_personas(root: Path) -> None:
    async def go() -> None:
        async with opened(Options(workspace=root), env={}) as there:
            _ = there.library

    asyncio.run(go())


def read_what_holds(root: Path) -> None:
    LivingSpecs(Workspace.at(root)).texts()


CHANGES = (look_for_changes, open_a_change)
ITEMS = (look_for_items, create_an_item)
QUEUE = (list_the_queue, add_to_the_queue)
ALL = (*CHANGES, *ITEMS, *QUEUE, save_a_design, read_the_workflow, load_personas)
FOLDERS = {
    "moot": ALL,
    "moot/changes": CHANGES,
    "moot/changes/feat-auth": (open_a_change,),
    "moot/archive": (archive,),
    "moot/specs": (read_what_holds,),
    "moot/items": ITEMS,
    "moot/designs": (save_a_design,),
    "moot/personas": (load_personas,),
    "moot/panels": (load_personas,),
}
FILES = {
    "moot/workflow.json": (read_the_workflow,),
    "moot/queue.json": QUEUE,
    "moot/personas/the-mentor.md": (load_personas,),
}


def refused(link: str, use: Callable[[Path], None], root: Path, outside: Path) -> None:
    lead_out(root, link, outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(UnsafePath, match=f"the link '{link}' leads out of it") as caught:
        use(root)
    assert "remove it" in str(caught.value)
    assert sorted(outside.rglob("*")) == before


@pytest.mark.parametrize(("link", "use"), [(link, use) for link, uses in FOLDERS.items() for use in uses])
def test_a_folder_that_leads_out_is_refused_by_name(
    link: str, use: Callable[[Path], None], root: Path, outside: Path
) -> None:
    refused(link, use, root, outside)


@pytest.mark.parametrize(("link", "use"), [(link, use) for link, uses in FILES.items() for use in uses])
@pytest.mark.parametrize("content", ['{"workflows": []}', None])
def test_a_file_that_leads_out_is_refused_by_name(
    link: str, use: Callable[[Path], None], content: str | None, root: Path, outside: Path
) -> None:
    if content is not None:
        (root / link).write_text(content, encoding="utf-8")
    refused(link, use, root, outside)


def test_a_link_within_the_workspace_is_as_good_as_what_it_leads_to(root: Path) -> None:
    (root / "moot").rename(root / "papers")
    (root / "moot").symlink_to("papers")
    assert [folder.id for folder in ChangeFolders(Workspace.at(root)).all()] == ["feat-auth"]
    Queue(Workspace.at(root).queue_file).add([{"id": "w-1"}])
    assert (root / "papers" / "queue.json").is_file()


@pytest.mark.parametrize("name", ["moot", "moot/changes", "moot/changes/feat-auth"])
def test_a_link_that_is_put_in_the_way_of_a_change_later_is_refused(
    name: str, root: Path, outside: Path
) -> None:
    """As a coding agent could."""
    folder = ChangeFolders(Workspace.at(root)).open("feat-auth")
    lead_out(root, name, outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    for use in (folder.proposal, folder.state, lambda: folder.write_tasks("- [ ] Mine\n")):
        with pytest.raises(FileDamaged, match="a link was put in its way"):
            use()
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_a_link_that_is_put_in_the_way_of_the_queue_later_is_refused(root: Path, outside: Path) -> None:
    queue = Queue(Workspace.at(root).queue_file)
    queue.add([{"id": "w-1"}])
    lead_out(root, "moot/queue.json", outside)
    before = (outside / "there").read_bytes()
    for use in (queue.list, lambda: queue.add([{"id": "w-2"}])):
        with pytest.raises(UnsafePath, match="a link was put in its way"):
            use()
    assert (outside / "there").read_bytes() == before


def test_a_command_says_which_link_it_is_and_what_to_do(root: Path, outside: Path, tmp_path: Path) -> None:
    lead_out(root, "moot", outside)
    for command in (("changes",), ("items",), ("workflow", "status"), ("personas",)):
        ended = moot(*command, env=environment(tmp_path), cwd=root)
        assert ended.code == 2
        assert "the link 'moot' leads out of it" in ended.err


# -- cost ----------------------------------------------------------------------------------------


def test_aliases_in_a_state_are_refused_with_their_line(root: Path, tmp_path: Path) -> None:
    state = root / "moot" / "changes" / "feat-auth" / "STATE.yaml"
    state.write_text("change_id: feat-auth\n" + BOMB, encoding="utf-8")
    ended = moot("changes", env=environment(tmp_path), cwd=root, timeout=60)
    assert "STATE.yaml" in ended.out + ended.err
    assert "line 2" in ended.out + ended.err
    with pytest.raises(FileDamaged, match="anchors and aliases are not allowed here: '&a0'") as caught:
        YamlDocument.load(state)
    assert caught.value.line == 2


def test_aliases_in_answers_are_refused_with_their_line() -> None:
    with pytest.raises(FileDamaged, match="anchors and aliases are not allowed here") as caught:
        parse_answers("- one\n- &a two\n- *a\n", "answers.yaml")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 5000 + "]" * 5000, "".join(f"{' ' * n}a:\n" for n in range(300))]
)
def test_a_state_that_is_nested_without_end_is_refused(root: Path, text: str) -> None:
    state = root / "moot" / "changes" / "feat-auth" / "STATE.yaml"
    state.write_text(text, encoding="utf-8")
    with pytest.raises(FileDamaged, match="nested"):
        YamlDocument.load(state)


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (YamlDocument, f"a: {'9' * 5000}\n", "a value in it cannot be read: Exceeds the limit"),
        (YamlDocument, "a: !!int x\n", "a value in it cannot be read: "),
        (JsonDocument, f'{{"a": {"9" * 5000}}}', "a number in it has too many digits"),
    ],
)
def test_a_value_that_cannot_be_read_is_damage(
    root: Path, read: type[YamlDocument | JsonDocument], text: str, said: str
) -> None:
    file = root / "file"
    file.write_text(text, encoding="utf-8")
    for look in (read.load, lambda path: read.update(path, lambda data: data.update(b=1))):
        with pytest.raises(FileDamaged) as damaged:
            look(file)
        assert said in str(damaged.value)
        assert "sys." not in str(damaged.value)


def test_a_state_that_would_take_minutes_is_refused(root: Path) -> None:
    state = root / "moot" / "changes" / "feat-auth" / "STATE.yaml"
    state.write_text("".join(f"a{n}: 1\n" for n in range(30_000)), encoding="utf-8")
    with pytest.raises(FileDamaged, match="larger than 256 KB"):
        YamlDocument.load(state)


def test_a_document_of_more_lines_than_anybody_writes_is_refused(root: Path) -> None:
    folder = ChangeFolders(Workspace.at(root)).open("feat-auth")
    (folder.path / "proposal.md").write_text("x\n" * 20_001, encoding="utf-8")
    with pytest.raises(FileDamaged, match="more than 20,000 lines"):
        folder.proposal()
