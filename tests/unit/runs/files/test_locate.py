"""Paths handed out to code that wants a path: real, inside, or refused."""

import os
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, PathEscape, PolicyDenied, SkillsRuntimeError, ValidationFailed, WriteRefused
from skills_runtime.runs.files import resolve
from skills_runtime.runs.files.paths import PathPolicy
from skills_runtime.storage.beneath import Opener


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("workspace/x", "workspace/x"),
        ("workspace/new", "workspace/new"),
        ("workspace/new/deep/x", "workspace/new/deep/x"),
        ("workspace/link", "workspace/x"),
        ("workspace/up/deliverables/r.md", "deliverables/r.md"),
        ("workspace/up/deliverables/new/r.md", "deliverables/new/r.md"),
        ("run.json", "run.json"),
        (".", "."),
        ("workspace", "workspace"),
    ],
)
def test_the_real_path_inside_the_run_is_returned(
    path: str, expected: str, isolated: PathPolicy, run_root: Path, opener: Opener
) -> None:
    (run_root / "workspace" / "x").touch()
    (run_root / "workspace" / "link").symlink_to("x")
    (run_root / "workspace" / "up").symlink_to("..")
    assert resolve(isolated, path, opener=opener) == run_root / expected
    assert resolve(isolated, f"{run_root}/{path}", opener=opener) == run_root / expected


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../x", PathEscape),
        ("a/../../x", PathEscape),
        ("workspace/../../x", PathEscape),
        ("/etc/passwd", PathEscape),
        ("workspace/out", PathEscape),
        ("workspace/away/x", PathEscape),
        ("workspace/away/new/x", PathEscape),
        ("workspace/dangling/x", PathEscape),
        ("workspace/hard", PathEscape),
        ("~", PathEscape),
        ("~user/x", PathEscape),
        ("\\..\\x", PathEscape),
        ("", ValidationFailed),
        ("\0", ValidationFailed),
        ("workspace/\udcff", ValidationFailed),
        ("workspace/" + "n" * 256, ValidationFailed),
        ("workspace/" + "a/" * 2500, ValidationFailed),
        ("workspace/fifo", ValidationFailed),
        ("workspace/file/x", NotFound),
        ("blobs/b", PolicyDenied),
        ("workspace/blob", PolicyDenied),
    ],
)
@pytest.mark.parametrize("for_write", [False, True])
def test_every_other_path_is_refused(
    path: str,
    error: type[SkillsRuntimeError],
    for_write: bool,
    isolated: PathPolicy,
    run_root: Path,
    outside: Path,
    opener: Opener,
) -> None:
    workspace = run_root / "workspace"
    (workspace / "out").symlink_to(outside / "x")
    (workspace / "away").symlink_to("../../outside")
    (workspace / "dangling").symlink_to("nowhere")
    (workspace / "hard").hardlink_to(outside / "x")
    (workspace / "blob").symlink_to("../blobs/b")
    (workspace / "file").touch()
    os.mkfifo(workspace / "fifo")
    with pytest.raises(error):
        resolve(isolated, path, for_write=for_write, opener=opener)


def test_a_sibling_with_the_same_prefix_is_refused(isolated: PathPolicy, run_root: Path) -> None:
    with pytest.raises(PathEscape):
        resolve(isolated, f"{run_root}-evil/x")


@pytest.mark.parametrize("path", ["run.json", "logs/x", "workspace/system", "workspace/.bashrc", "bare"])
def test_a_path_to_write_must_be_where_writing_is_allowed(path: str, isolated: PathPolicy, run_root: Path) -> None:
    (run_root / "workspace" / "system").symlink_to("../run.json")
    with pytest.raises(WriteRefused):
        resolve(isolated, path, for_write=True)


def test_the_run_s_deliverables_are_resolved_in_the_user_s_tree(shared: PathPolicy, workspace_root: Path) -> None:
    assert resolve(shared, "deliverables/r.md", for_write=True) == shared.mounts["deliverables"] / "r.md"
    assert resolve(shared, "main.py", for_write=True) == workspace_root / "main.py"
