"""Layers are found by name, kept from others while in use, and refused where they are not what they seem."""

import os
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import AccessRefused, NotFound, SandboxError, ValidationFailed
from skills_runtime.sandbox.overlay import (
    difference_of,
    discard_layer,
    find_layer,
    holding,
    layers_over,
    laying,
    new_layer,
    text_of,
)
from tests.support.users import Unprivileged
from tests.unit.sandbox.overlay.trees_in_tests import fill


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    fill(made)
    return made


def test_a_layer_is_found_by_its_name(workspace: Path) -> None:
    layer = new_layer(workspace)
    assert find_layer(workspace, layer.name) == layer
    assert layers_over(workspace) == (layer,)


def test_a_workspace_without_layers_has_none(workspace: Path) -> None:
    assert layers_over(workspace) == ()
    with pytest.raises(NotFound, match="there is no layer"):
        find_layer(workspace, "0123456789ab")


@pytest.mark.parametrize("name", ["", "..", "../../etc", "0123456789AB", "x" * 12, "0123456789ab/tree", "\0"])
def test_what_is_no_name_of_a_layer_is_refused(name: str, workspace: Path) -> None:
    with pytest.raises(ValidationFailed):
        find_layer(workspace, name)


def test_a_layer_that_is_a_link_is_refused(workspace: Path, tmp_path: Path) -> None:
    layer = new_layer(workspace)
    layer.home.rename(tmp_path / "moved")
    layer.home.symlink_to(tmp_path / "moved")
    with pytest.raises(SandboxError, match="is not a directory of this user"):
        find_layer(workspace, layer.name)


def test_no_layer_is_laid_through_a_link(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (workspace / ".skills_runtime_sdk").symlink_to(elsewhere)
    with pytest.raises(SandboxError, match="no directory"):
        new_layer(workspace)
    assert list(elsewhere.iterdir()) == []


def test_a_layer_in_use_is_kept_from_others(workspace: Path) -> None:
    layer = new_layer(workspace)
    with holding(layer), pytest.raises(SandboxError, match="in use"):
        discard_layer(layer)
    discard_layer(layer)
    assert not layer.home.exists()


def test_a_damaged_layer_is_refused(workspace: Path) -> None:
    layer = new_layer(workspace)
    layer.manifest.write_bytes(b"{")
    with pytest.raises(ValidationFailed, match="damaged"):
        difference_of(layer)


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", "", "a//b"])
def test_a_manifest_that_leads_out_of_the_tree_is_refused(path: str, workspace: Path) -> None:
    layer = new_layer(workspace)
    values = msgspec.json.decode(layer.manifest.read_bytes())
    values["base"][path] = ["file", 0o644, "", 0]
    layer.manifest.write_bytes(msgspec.json.encode(values))
    with pytest.raises(ValidationFailed):
        difference_of(layer)


def test_a_workspace_that_is_too_large_is_refused_and_left_alone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laying, "MAX_ENTRIES", 5)
    with pytest.raises(SandboxError, match="too large for a layer"):
        new_layer(workspace)
    assert not (workspace / ".skills_runtime_sdk").exists()


def test_what_cannot_be_read_is_refused_and_keeps_its_mode(unprivileged: Unprivileged) -> None:
    def run() -> tuple[str, int]:
        workspace = unprivileged.path / "workspace"
        workspace.mkdir()
        (workspace / "closed").write_text("x")
        (workspace / "closed").chmod(0)
        try:
            new_layer(workspace)
        except AccessRefused as error:
            return error.message, (workspace / "closed").stat().st_mode & 0o777
        return "", -1

    message, mode = unprivileged(run)
    assert "`closed` cannot be read" in message
    assert mode == 0


def test_changes_are_shown_line_by_line(workspace: Path) -> None:
    layer = new_layer(workspace)
    (layer.tree / "new").write_text("one\ntwo")
    (layer.tree / "README").unlink()
    (layer.tree / "src/run.sh").write_bytes(b"\xff\xfe")
    shown = {change.path: text_of(layer, change) for change in difference_of(layer).changes}
    assert "+one\n+two\n\\ no newline at the end\n" in shown["new"]
    assert "-README" in shown["README"]
    assert "no text" in shown["src/run.sh"]


def test_what_is_no_file_is_left_where_it_is(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    layer = new_layer(workspace)
    assert not (layer.tree / "pipe").exists()
    assert not difference_of(layer)
