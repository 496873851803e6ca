"""The workspace is found without git, without touching anything, and with other tools' names."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.errors import InvalidId, NotFound, UnsafePath
from moot.files.layout import Workspace, find_workspace


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "src" / "deep").mkdir(parents=True)
    return root


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}", encoding="utf-8")


def files(root: Path) -> set[Path]:
    return set(root.rglob("*"))


# -- discovery -----------------------------------------------------------------------------------


def test_the_git_root_is_found_from_anywhere_below(repository: Path) -> None:
    assert find_workspace(repository / "src" / "deep").root == repository
    assert find_workspace(repository).root == repository


def test_a_worktree_has_a_git_file(repository: Path) -> None:
    worktree = repository / "src"
    (worktree / ".git").write_text("gitdir: /elsewhere\n", encoding="utf-8")
    assert find_workspace(worktree / "deep").root == worktree


def test_without_git_the_start_is_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert find_workspace(tmp_path / "a").root == tmp_path / "a"


def test_an_explicit_workspace_wins_and_must_exist(repository: Path, tmp_path: Path) -> None:
    assert find_workspace(repository, repository / "src").root == repository / "src"
    with pytest.raises(NotFound, match="Workspace"):
        find_workspace(repository, tmp_path / "nope")


def test_parents_that_may_not_be_looked_into_do_not_stop_the_search(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_stat = Path.stat

    def forbidden(self: Path, *, follow_symlinks: bool = True) -> object:
        if self.name == ".git" and self.parent != repository:
            raise PermissionError(13, "Permission denied", str(self))
        return real_stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", forbidden)
    assert find_workspace(repository / "src" / "deep").root == repository


def test_looking_creates_nothing(repository: Path) -> None:
    before = files(repository)
    workspace = find_workspace(repository / "src")
    workspace.change_dir("some-change")
    workspace.item_dir("some-item")
    assert files(repository) == before


# -- names ---------------------------------------------------------------------------------------


def test_the_places_of_a_new_workspace(repository: Path) -> None:
    workspace = find_workspace(repository)
    assert workspace.config_file == repository / "moot.toml"
    assert workspace.changes == repository / "moot/changes"
    assert workspace.items == repository / "moot/items"
    assert workspace.designs == repository / "moot/designs"
    assert workspace.workflow_file == repository / "moot/workflow.json"
    assert workspace.queue_file == repository / "moot/queue.json"
    assert workspace.personas == repository / "moot/personas"
    assert workspace.panels == repository / "moot/panels"
    assert workspace.steps == repository / "moot/steps"
    assert workspace.archive == repository / "moot/archive"
    assert workspace.specs == repository / "moot/specs"
    assert workspace.changelog == repository / "moot/CHANGELOG.md"


def test_places_of_other_tools_are_used_where_they_are(repository: Path) -> None:
    (repository / "agentd/changes").mkdir(parents=True)
    put(repository / ".superteam-workflow.json")
    put(repository / ".superteam-workflow-queue.json")
    put(repository / "docs/requirements/login/meta.json")
    workspace = find_workspace(repository)
    assert workspace.changes == repository / "agentd/changes"
    assert workspace.workflow_file == repository / ".superteam-workflow.json"
    assert workspace.queue_file == repository / ".superteam-workflow-queue.json"
    assert workspace.item_dir("login") == repository / "docs/requirements/login"


def test_the_queue_goes_with_the_workflow(repository: Path) -> None:
    put(repository / ".superteam-workflow.json")
    assert find_workspace(repository).queue_file == repository / ".superteam-workflow-queue.json"


def test_requirements_without_items_are_only_documents(repository: Path) -> None:
    put(repository / "docs/requirements/login/readme.md")
    put(repository / "docs/requirements/meta.json")
    assert find_workspace(repository).items == repository / "moot/items"


def test_moots_own_places_win_over_those_of_other_tools(repository: Path) -> None:
    (repository / "agentd/changes").mkdir(parents=True)
    (repository / "moot/changes").mkdir(parents=True)
    (repository / "moot/items").mkdir()
    put(repository / "moot/workflow.json")
    put(repository / ".superteam-workflow.json")
    put(repository / ".superteam-workflow-queue.json")
    put(repository / "docs/requirements/login/meta.json")
    workspace = find_workspace(repository)
    assert workspace.changes == repository / "moot/changes"
    assert workspace.items == repository / "moot/items"
    assert workspace.workflow_file == repository / "moot/workflow.json"
    assert workspace.queue_file == repository / "moot/queue.json"


def test_a_design_in_moots_folder_does_not_hide_the_workflow_it_was_made_in(repository: Path) -> None:
    put(repository / ".superteam-workflow.json")
    (repository / "agentd/changes").mkdir(parents=True)
    put(repository / "moot/designs/2026-06-15-login.md")
    workspace = find_workspace(repository)
    assert workspace.workflow_file == repository / ".superteam-workflow.json"
    assert workspace.changes == repository / "agentd/changes"


def test_the_agentd_layout_can_be_asked_for(repository: Path) -> None:
    (repository / "moot/changes").mkdir(parents=True)
    workspace = find_workspace(repository, agentd=True)
    assert workspace.change_dir("x") == repository / "agentd/changes/x"
    assert workspace.items == repository / "moot/items"


# -- confinement ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..", "../x", "A", "a/b", "", "a\n", "x" * 65])
def test_only_ids_name_changes_and_items(repository: Path, name: str) -> None:
    workspace = Workspace.at(repository)
    with pytest.raises(InvalidId):
        workspace.change_dir(name)
    with pytest.raises(InvalidId):
        workspace.item_dir(name)


def test_a_change_that_is_a_link_out_of_the_workspace_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "moot/changes").mkdir(parents=True)
    (repository / "moot/changes/x").symlink_to(tmp_path)
    with pytest.raises(UnsafePath):
        find_workspace(repository).change_dir("x")


def test_a_workspace_reached_through_a_link_works(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    workspace = find_workspace(tmp_path / "elsewhere", tmp_path / "link")
    assert workspace.change_dir("x") == repository / "moot/changes/x"
