"""A layer shows every change that a command has made, and commits no other."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "skills-runtime"
DEEP = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"


def _program(*words: str) -> "tuple[int, str]":
    done = subprocess.run([PROGRAM, "sandbox", *words], capture_output=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def _over(workspace: Path, *words: str) -> "tuple[int, str]":
    return _program("exec", "--overlay", "--workspace", str(workspace), "--", *words)


def _layers(workspace: Path) -> list[str]:
    layers = workspace / ".skills_runtime_sdk/layers"
    return [path.name for path in layers.iterdir()] if layers.exists() else []


def test_a_directory_that_became_sticky_is_not_removed_by_a_commit(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/file").write_text("kept")
    _over(tmp_path, "chmod", "1755", "source")
    for name in _layers(tmp_path):
        _program("commit", name, "--workspace", str(tmp_path))
    assert (tmp_path / "source/file").exists()


def test_a_sticky_directory_that_was_made_is_told(tmp_path: Path) -> None:
    _, said = _over(tmp_path, "sh", "-c", "mkdir made; echo x > made/file; chmod 1755 made")
    assert "made/file" in said


def test_a_layer_lies_over_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).touch()
    code, said = _over(tmp_path, "true")
    assert code == 0, said


def test_a_layer_of_any_depth_can_be_discarded(tmp_path: Path) -> None:
    _over(tmp_path, "python3", "-c", DEEP)
    for name in _layers(tmp_path):
        _program("discard", name, "--workspace", str(tmp_path))
    left = _layers(tmp_path)
    subprocess.run(["rm", "-rf", str(tmp_path / ".skills_runtime_sdk")], check=True)
    assert left == []


def test_a_commit_does_not_make_the_workspace_a_repository(tmp_path: Path) -> None:
    _over(tmp_path, "sh", "-c", "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; touch config")
    for name in _layers(tmp_path):
        _program("commit", name, "--workspace", str(tmp_path))
    assert not all((tmp_path / name).exists() for name in ("HEAD", "config", "objects", "refs"))


def test_a_link_in_a_layer_is_committed_as_a_link(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.write_text("as it was")
    (workspace / "file").write_text("a")
    _over(workspace, "sh", "-c", "rm file; ln -s ../outside file")
    for name in _layers(workspace):
        _program("commit", name, "--workspace", str(workspace))
    assert (str((workspace / "file").readlink()), outside.read_text()) == ("../outside", "as it was")


def test_a_commit_does_not_follow_a_directory_that_became_a_link(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "d").mkdir(parents=True)
    outside.mkdir()
    _over(workspace, "sh", "-c", "echo x > d/new")
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    for name in _layers(workspace):
        _program("commit", name, "--workspace", str(workspace), "--force")
    assert list(outside.iterdir()) == []
