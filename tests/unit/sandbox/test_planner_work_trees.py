"""Which repository outside a workspace git may read from behind the fence."""

from pathlib import Path

import pytest

from skills_runtime.sandbox.planner import repository_elsewhere


def make(tmp_path: Path) -> tuple[Path, Path]:
    """A work tree and its repository, as git makes them."""
    tree, repository = tmp_path / "tree", tmp_path / "main/.git"
    known = repository / "worktrees/tree"
    for directory in (tree, known, repository / "objects", repository / "refs"):
        directory.mkdir(parents=True)
    (repository / "HEAD").touch()
    (tree / ".git").write_text(f"gitdir: {known}\n")
    (known / "gitdir").write_text(f"{tree / '.git'}\n")
    (known / "commondir").write_text("../..\n")
    return tree, repository


def test_the_repository_of_a_work_tree_can_be_read(tmp_path: Path) -> None:
    tree, repository = make(tmp_path)
    assert repository_elsewhere(tree) == (repository,)


def test_a_repository_that_does_not_know_the_work_tree_is_not_shown(tmp_path: Path) -> None:
    tree, repository = make(tmp_path)
    (repository / "worktrees/tree/gitdir").write_text("/elsewhere/.git\n")
    assert repository_elsewhere(tree) == ()


def test_nothing_wider_than_a_repository_is_shown(tmp_path: Path) -> None:
    tree, repository = make(tmp_path)
    (repository / "worktrees/tree/commondir").write_text("../../../..\n")
    assert repository_elsewhere(tree) == ()


def test_a_repository_among_secrets_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    tree, _ = make(tmp_path / ".ssh")
    assert repository_elsewhere(tree) == ()


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir:", "gitdir: \0", "gitdir: /proc/self", "gitdir: ."])
def test_a_file_that_names_no_repository_opens_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(text)
    assert repository_elsewhere(tmp_path) == ()


def test_a_repository_in_the_workspace_needs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert repository_elsewhere(tmp_path) == ()
