"""A commit makes the workspace what the layer is, refuses what somebody changed meanwhile, and can be repeated."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.overlay import Layer, commit_layer, committing, difference_of, discard_layer, new_layer
from tests.support.users import Unprivileged
from tests.unit.sandbox.overlay.trees_in_tests import edit, fill, tree


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    fill(made)
    return made


@pytest.fixture
def layer(workspace: Path) -> Layer:
    return new_layer(workspace)


def changed_equally(base: Path, seed: int) -> bool:
    """Whether edits in a layer and the same edits in a copy of the workspace end in the same tree."""
    base.mkdir(parents=True)
    workspace, twin = base / "workspace", base / "twin"
    workspace.mkdir()
    fill(workspace)
    shutil.copytree(workspace, twin, symlinks=True)
    layer = new_layer(workspace)
    edit(layer.tree, seed)
    edit(twin, seed)
    before = tree(workspace)
    kept = new_layer(workspace)
    discard_layer(kept)
    untouched = tree(workspace) == before
    commit_layer(layer)
    return untouched and tree(workspace) == tree(twin) and not layer.home.exists()


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_edits_in_a_layer_are_the_same_edits_in_the_workspace(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert changed_equally(tmp_path_factory.mktemp("trees") / "base", seed)


def test_the_same_holds_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def run() -> list[int]:
        return [seed for seed in range(40) if not changed_equally(unprivileged.path / str(seed), seed)]

    assert unprivileged(run) == []


def test_a_layer_that_nobody_wrote_to_holds_no_change(layer: Layer) -> None:
    assert not difference_of(layer)


def test_a_file_with_the_same_size_and_time_is_still_seen_to_differ(layer: Layer) -> None:
    file = layer.tree / "README"
    before = file.stat()
    file.write_text("x" * before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [change.path for change in difference_of(layer).changes] == ["README"]


def test_discarding_leaves_nothing_behind(workspace: Path) -> None:
    before = tree(workspace, without=())
    layer = new_layer(workspace)
    edit(layer.tree, 7)
    discard_layer(layer)
    assert tree(workspace, without=()) == before


def test_secrets_are_not_even_copied(layer: Layer) -> None:
    assert (layer.tree / ".env").read_bytes() == b""
    assert "hush" not in "".join(path.read_text() for path in layer.home.rglob("*") if path.is_file())


PROTECTED = [".env", ".env.local", ".git/hooks/pre-commit", ".mcp.json", ".claude/settings.json", "src/.git/config",
             ".vscode/tasks.json", ".ssh/id", ".bashrc", "docs/.gitmodules", ".skills_runtime_sdk/x"]  # fmt: skip


@pytest.mark.parametrize("path", PROTECTED)
def test_what_is_protected_is_never_committed(path: str, layer: Layer) -> None:
    before = tree(layer.workspace)
    target = layer.tree / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("taken over")
    done = commit_layer(layer)
    assert done.changes == ()
    assert tree(layer.workspace) == before


def test_a_layer_with_something_withheld_is_kept(layer: Layer) -> None:
    (layer.tree / ".mcp.json").write_text("{}")
    (layer.tree / "new").write_text("x")
    done = commit_layer(layer)
    assert [change.path for change in done.withheld] == [".mcp.json"]
    assert (layer.workspace / "new").read_text() == "x"
    assert layer.home.is_dir()


def test_a_pipe_is_withheld(layer: Layer) -> None:
    os.mkfifo(layer.tree / "pipe")
    assert [change.path for change in commit_layer(layer).withheld] == ["pipe"]
    assert not (layer.workspace / "pipe").exists()


def _other_content(workspace: Path) -> None:
    (workspace / "README").write_text("somebody else's")


def _other_mode(workspace: Path) -> None:
    (workspace / "README").chmod(0o600)


def _gone(workspace: Path) -> None:
    (workspace / "README").unlink()


def _a_directory(workspace: Path) -> None:
    _gone(workspace)
    (workspace / "README").mkdir()


def _a_link(workspace: Path) -> None:
    _gone(workspace)
    (workspace / "README").symlink_to("/etc/passwd")


@pytest.mark.parametrize("meanwhile", [_other_content, _other_mode, _gone, _a_directory, _a_link])
def test_what_changed_meanwhile_is_a_conflict_and_nothing_is_written(
    meanwhile: Callable[[Path], None], layer: Layer
) -> None:
    (layer.tree / "README").write_text("ours")
    (layer.tree / "new").write_text("ours")
    meanwhile(layer.workspace)
    before = tree(layer.workspace)
    with pytest.raises(SandboxError, match="changed meanwhile") as refused:
        commit_layer(layer)
    assert refused.value.details == {"conflicts": ["README"]}
    assert tree(layer.workspace) == before
    commit_layer(layer, force=True)
    assert (layer.workspace / "README").read_text() == "ours"
    assert not (layer.workspace / "README").is_symlink()


def test_somebody_else_s_file_in_a_directory_that_goes_is_a_conflict(layer: Layer) -> None:
    shutil.rmtree(layer.tree / "src/deep")
    (layer.workspace / "src/deep/theirs").write_text("x")
    with pytest.raises(SandboxError, match=r"src/deep/theirs"):
        commit_layer(layer)
    assert (layer.workspace / "src/deep/x").exists()


def test_a_directory_that_is_gone_meanwhile_is_a_conflict_for_what_would_come_into_it(layer: Layer) -> None:
    (layer.tree / "empty/new").write_text("x")
    (layer.workspace / "empty").rmdir()
    with pytest.raises(SandboxError, match="empty/new"):
        commit_layer(layer)
    commit_layer(layer, force=True)
    assert (layer.workspace / "empty/new").read_text() == "x"


def test_a_link_put_in_the_way_is_not_followed(layer: Layer, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (layer.tree / "docs/index").write_text("ours")
    shutil.rmtree(layer.workspace / "docs")
    (layer.workspace / "docs").symlink_to(elsewhere)
    with pytest.raises(SandboxError):
        commit_layer(layer)
    commit_layer(layer, force=True)
    assert list(elsewhere.iterdir()) == []
    assert not (layer.workspace / "docs").is_symlink()


def test_links_are_committed_as_links(layer: Layer) -> None:
    (layer.tree / "out").symlink_to("/etc/passwd")
    commit_layer(layer)
    assert (layer.workspace / "out").readlink() == Path("/etc/passwd")


def crashing_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commit die at a change of the workspace."""
    left = [steps]

    def dying(real: Callable[..., None]) -> Callable[..., None]:
        def act(*arguments: object, **options: object) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            real(*arguments, **options)

        return act

    for name in ("rename", "mkdir", "unlink", "rmdir"):
        monkeypatch.setattr(committing.os, name, dying(getattr(os, name)))


@pytest.mark.parametrize("steps", range(12))
def test_a_commit_that_died_can_be_repeated(steps: int, workspace: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(workspace, twin, symlinks=True)
    layer = new_layer(workspace)
    for root in (layer.tree, twin):
        edit(root, 11)
        shutil.rmtree(root / "src/deep")
        (root / "src/deep").write_text("a file now")
        (root / "README").unlink()
        (root / "README").mkdir()
        (root / "README/inner").write_text("x")
    with pytest.MonkeyPatch.context() as patch:
        crashing_after(steps, patch)
        with pytest.raises(KeyboardInterrupt):
            commit_layer(layer)
    commit_layer(layer)
    assert tree(workspace) == tree(twin)
    assert not (workspace / ".skills_runtime_sdk").exists()
