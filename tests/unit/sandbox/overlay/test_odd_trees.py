"""Layers over trees that are deep, or have names that are no text, or modes that mean something to the fence."""

import os
import stat
from pathlib import Path

import pytest

from skills_runtime.sandbox.overlay import (
    commit_layer,
    difference_of,
    discard_layer,
    find_layer,
    layers_over,
    new_layer,
)
from skills_runtime.sandbox.overlay.comparing import difference
from skills_runtime.sandbox.overlay.manifests import decoded, encoded, printable
from skills_runtime.sandbox.overlay.trees import walk
from skills_runtime.sandbox.overlay.values import Entry, Manifest
from tests.support.users import Unprivileged

DEPTH = 1200
"""More than Python calls or a process has descriptors."""
STRAY = os.fsdecode(b"n\xff\xfe")
DIRECTORY = Entry("directory", 0o755)


def deep(root: Path, depth: int = DEPTH) -> None:
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def test_a_deep_layer_is_told_and_dropped(tmp_path: Path) -> None:
    layer = new_layer(tmp_path)
    deep(layer.tree)
    assert len(difference_of(layer).changes) == DEPTH + 1
    discard_layer(layer)
    assert layers_over(tmp_path) == ()


def test_a_deep_layer_is_committed(tmp_path: Path) -> None:
    layer = new_layer(tmp_path)
    deep(layer.tree, 100)
    commit_layer(layer)
    assert (tmp_path / "/".join(["d"] * 100) / "file").exists()


def test_closed_directories_are_walked_and_closed_again(unprivileged: Unprivileged) -> None:
    root = unprivileged.path / "root"

    def run() -> tuple[list[str], list[int]]:
        (root / "a/b/c").mkdir(parents=True)
        closed = [root / "a/b/c", root / "a/b", root / "a"]
        for path in closed:
            path.chmod(0)
        seen: list[str] = []
        walk(str(root), lambda directory, name, path, found: bool(seen.append(path)) or True, ours=True)
        modes: list[int] = []
        for path in reversed(closed):
            modes.append(stat.S_IMODE(path.stat().st_mode))
            path.chmod(0o700)
        return seen, modes

    assert unprivileged(run) == (["a", "a/b", "a/b/c"], [0, 0, 0])


def test_a_directory_that_is_moved_while_it_is_walked_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "root/z").mkdir()

    def visit(directory: int, name: str, path: str, found: os.stat_result) -> bool:
        del directory, name, found
        if path == "a/b":
            (tmp_path / "root/a").rename(tmp_path / "a")
        return True

    with pytest.raises(OSError, match="moved"):
        walk(str(tmp_path / "root"), visit, ours=True)


@pytest.mark.parametrize("name", ["source", ".git", ".vscode"])
def test_a_directory_with_the_mode_of_a_placeholder_is_none_when_something_is_in_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/file").write_text("kept")
    layer = new_layer(tmp_path)
    (layer.tree / name).mkdir(exist_ok=True)
    (layer.tree / name / "new").write_text("x")
    (layer.tree / name).chmod(0o1755)
    found = difference_of(layer)
    assert f"{name}/new" in {change.path for change in (*found.changes, *found.withheld)}


def test_a_directory_that_became_sticky_keeps_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/file").write_text("kept")
    layer = new_layer(tmp_path)
    (layer.tree / "source").chmod(0o1755)
    commit_layer(layer)
    assert (stat.S_IMODE((tmp_path / "source").stat().st_mode), (tmp_path / "source/file").read_text()) == (
        0o1755,
        "kept",
    )


def test_what_only_keeps_a_name_free_is_no_change(tmp_path: Path) -> None:
    layer = new_layer(tmp_path)
    (layer.tree / ".vscode").touch()
    (layer.tree / ".vscode").chmod(0o1444)
    assert not difference_of(layer)


def test_what_another_command_keeps_free_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / ".vscode").touch()
    (tmp_path / ".vscode").chmod(0o1444)
    layer = new_layer(tmp_path)
    assert not (layer.tree / ".vscode").exists()
    assert not difference_of(layer)


def test_names_that_are_no_text_are_committed(tmp_path: Path) -> None:
    (tmp_path / STRAY).write_text("before")
    (tmp_path / "link").symlink_to(STRAY)
    layer = new_layer(tmp_path)
    (layer.tree / STRAY).write_text("after")
    found = difference_of(find_layer(tmp_path, layer.name))
    assert [change.path for change in found.changes] == [STRAY]
    assert printable(found).changes[0].path == "n\\xff\\xfe"
    commit_layer(layer)
    assert (tmp_path / STRAY).read_text() == "after"


def test_a_manifest_with_names_that_are_no_text_is_read_as_it_was() -> None:
    manifest = Manifest(
        workspace=f"/{STRAY}", base={f"{STRAY}/é": Entry("link", 0, STRAY)}, stamps={}, left_out=(STRAY, "plain")
    )
    assert decoded(encoded(manifest)) == manifest


@pytest.mark.parametrize("before", [(), ("HEAD",), ("objects", "refs"), ("HEAD", "objects", "refs")])
@pytest.mark.parametrize("place", ["", "sub/"])
def test_what_makes_a_directory_a_repository_is_withheld(before: tuple[str, ...], place: str) -> None:
    base = {f"{place}{name}": DIRECTORY for name in before}
    now = {f"{place}{name}": DIRECTORY for name in ("HEAD", "objects", "refs", "config", "other")}
    found = difference(base, now)
    assert [change.path for change in found.changes] == [f"{place}other"]


def test_a_repository_is_seen_also_where_a_part_of_it_was_there_before() -> None:
    found = difference({}, {"HEAD": Entry("file")}, unchanged=("objects", "refs"))
    assert ([change.path for change in found.withheld], found.changes) == (["HEAD"], ())


def test_a_file_called_head_alone_is_nothing_special() -> None:
    assert not difference({}, {"HEAD": Entry("file"), "config": Entry("file")}).withheld
