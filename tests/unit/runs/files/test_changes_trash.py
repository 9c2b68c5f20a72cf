"""Deleting is off; where it is on, nothing is lost and nothing else is touched."""

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from skills_runtime.errors import (
    DeleteDisabled,
    NotFound,
    PathEscape,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
    WriteRefused,
)
from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import PathPolicy
from skills_runtime.storage.beneath import Opener

OLD = hashlib.sha256(b"old").hexdigest()


@pytest.fixture
def old(run_root: Path) -> Path:
    """A file worth keeping."""
    path = run_root / "workspace" / "x"
    path.write_bytes(b"old")
    return path


def trash(run_root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run_root / "logs" / "trash").iterdir()}


@pytest.fixture
def other_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trash seems to be on another device, as `rename` answers there."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "rename", refuse)


def test_delete_is_refused_by_default_and_the_file_stays(
    files: RunFiles, old: Path, records: list[FileOperation]
) -> None:
    with pytest.raises(DeleteDisabled) as refused:
        files.delete("workspace/x")
    assert refused.value.hint
    assert old.read_bytes() == b"old"
    assert records == [FileOperation(op="delete", path="workspace/x", ok=False, error="delete_disabled")]


def test_renaming_away_is_refused_by_default_and_the_file_stays(
    files: RunFiles, old: Path, records: list[FileOperation]
) -> None:
    with pytest.raises(DeleteDisabled):
        files.rename("workspace/x", "workspace/y")
    assert old.read_bytes() == b"old"
    assert records == [FileOperation(op="rename", path="workspace/x -> workspace/y", ok=False, error="delete_disabled")]


def test_a_deleted_file_is_in_the_trash_and_recorded(
    deleting: RunFiles, old: Path, run_root: Path, records: list[FileOperation]
) -> None:
    deleting.for_call("c3").delete("workspace/x")
    assert not old.exists()
    assert trash(run_root) == {"1-x": b"old"}
    assert (run_root / "logs" / "trash").stat().st_mode & 0o777 == 0o700
    assert records == [FileOperation(op="delete", path="workspace/x", ok=True, size=3, before_sha256=OLD, call_id="c3")]


def test_files_of_the_same_name_do_not_meet_in_the_trash(deleting: RunFiles, old: Path, run_root: Path) -> None:
    for content in (b"one", b"two", b"three"):
        old.write_bytes(content)
        deleting.delete("workspace/x")
    assert trash(run_root) == {"1-x": b"one", "2-x": b"two", "3-x": b"three"}


def test_a_name_taken_in_the_trash_is_passed_over(deleting: RunFiles, old: Path, run_root: Path) -> None:
    (run_root / "logs" / "trash").mkdir()
    (run_root / "logs" / "trash" / "2-x").write_bytes(b"kept")
    assert old.exists()
    deleting.delete("workspace/x")
    assert trash(run_root) == {"2-x": b"kept", "3-x": b"old"}


def test_a_name_of_full_length_fits_into_the_trash(deleting: RunFiles, run_root: Path) -> None:
    name = "文" * 85
    (run_root / "workspace" / name).write_bytes(b"old")
    deleting.delete(f"workspace/{name}")
    assert list(trash(run_root).values()) == [b"old"]


def test_a_link_is_deleted_and_not_what_it_leads_to(deleting: RunFiles, run_root: Path, outside: Path) -> None:
    (run_root / "workspace" / "l").symlink_to(outside / "x")
    deleting.delete("workspace/l")
    assert not (run_root / "workspace" / "l").is_symlink()
    assert (run_root / "logs" / "trash" / "1-l").is_symlink()
    assert (outside / "x").read_text() == "outside secret"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("run.json", WriteRefused),
        ("workspace/up/run.json", WriteRefused),
        ("workspace/.git/config", WriteRefused),
        ("workspace/away/x", PathEscape),
        ("../outside/x", PathEscape),
        ("workspace", WriteRefused),
        ("workspace/folder", ValidationFailed),
        ("workspace/missing", NotFound),
    ],
)
def test_what_may_not_be_written_may_not_be_deleted_or_moved(
    path: str, error: type[SkillsRuntimeError], deleting: RunFiles, run_root: Path, outside: Path
) -> None:
    workspace = run_root / "workspace"
    (workspace / "up").symlink_to("..")
    (workspace / "away").symlink_to("../../outside")
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").touch()
    (workspace / "folder").mkdir()
    (workspace / "y").touch()
    before = sorted(run_root.parent.rglob("*"))
    for attempt in (lambda: deleting.delete(path), lambda: deleting.rename(path, "workspace/new")):
        with pytest.raises(error):
            attempt()
    assert sorted(run_root.parent.rglob("*")) == before
    assert (outside / "x").read_text() == "outside secret"


def test_a_trash_replaced_by_a_link_is_not_used(deleting: RunFiles, old: Path, run_root: Path, outside: Path) -> None:
    (run_root / "logs" / "trash").symlink_to(outside)
    with pytest.raises(NotFound, match="not a directory"):
        deleting.delete("workspace/x")
    assert old.read_bytes() == b"old"
    assert [path.name for path in outside.iterdir()] == ["x"]


def test_a_failing_disk_leaves_the_file_and_no_trash(
    deleting: RunFiles, old: Path, run_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StorageFailed):
        deleting.delete("workspace/x")
    assert old.read_bytes() == b"old"
    assert trash(run_root) == {}


@pytest.mark.usefixtures("other_device")
def test_a_file_on_another_device_is_copied_and_then_removed(deleting: RunFiles, old: Path, run_root: Path) -> None:
    deleting.delete("workspace/x")
    assert not old.exists()
    assert trash(run_root) == {"1-x": b"old"}


@pytest.mark.usefixtures("other_device")
def test_a_link_on_another_device_is_made_again_and_then_removed(deleting: RunFiles, run_root: Path) -> None:
    link = run_root / "workspace" / "l"
    link.symlink_to("nowhere")
    deleting.delete("workspace/l")
    assert not link.is_symlink()
    assert (run_root / "logs" / "trash" / "1-l").readlink() == Path("nowhere")


@pytest.mark.usefixtures("other_device")
def test_a_file_too_large_to_copy_to_another_device_stays(
    isolated: PathPolicy, old: Path, run_root: Path, opener: Opener
) -> None:
    policy = replace(isolated, delete="allow", max_file_bytes=2)
    with pytest.raises(ValidationFailed, match="too large"):
        RunFiles(policy, lambda _: None, opener=opener).delete("workspace/x")
    assert old.read_bytes() == b"old"
    assert trash(run_root) == {}


@pytest.mark.usefixtures("other_device")
def test_a_file_replaced_while_it_is_copied_is_not_removed(
    deleting: RunFiles, old: Path, run_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[[int], None] = os.fsync

    def replacing(fd: int) -> None:
        old.unlink()
        old.with_name("other").write_bytes(b"other")
        old.with_name("other").replace(old)
        real(fd)

    # `Path.replace` is `os.replace`, which is not the call that seems to meet another device.
    monkeypatch.setattr(os, "fsync", replacing)
    with pytest.raises(PathEscape, match="kept changing"):
        deleting.delete("workspace/x")
    monkeypatch.undo()
    assert old.read_bytes() == b"other"
    assert trash(run_root) == {}


def test_a_file_is_renamed_where_deleting_is_allowed(
    deleting: RunFiles, old: Path, run_root: Path, records: list[FileOperation]
) -> None:
    deleting.rename("workspace/x", "deliverables/y")
    assert not old.exists()
    assert (run_root / "deliverables" / "y").read_bytes() == b"old"
    assert records == [FileOperation(op="rename", path="workspace/x -> deliverables/y", ok=True, size=3, sha256=OLD)]


def test_a_rename_never_overwrites(deleting: RunFiles, old: Path, run_root: Path) -> None:
    (run_root / "workspace" / "y").write_bytes(b"kept")
    with pytest.raises(ValidationFailed, match="already exists"):
        deleting.rename("workspace/x", "workspace/y")
    assert old.read_bytes() == b"old"
    assert (run_root / "workspace" / "y").read_bytes() == b"kept"


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("run.json", WriteRefused),
        ("workspace/.git", WriteRefused),
        ("workspace/.bashrc", WriteRefused),
        ("../y", PathEscape),
        ("workspace/missing/y", NotFound),
    ],
)
def test_a_file_is_not_renamed_to_where_it_may_not_be_written(
    target: str, error: type[SkillsRuntimeError], deleting: RunFiles, old: Path, records: list[FileOperation]
) -> None:
    with pytest.raises(error):
        deleting.rename("workspace/x", target)
    assert old.read_bytes() == b"old"
    assert [record.ok for record in records] == [False]


@pytest.mark.usefixtures("other_device")
def test_a_rename_to_another_device_is_refused_and_leaves_nothing(
    deleting: RunFiles, old: Path, run_root: Path
) -> None:
    with pytest.raises(ValidationFailed, match="another device"):
        deleting.rename("workspace/x", "deliverables/y")
    assert old.read_bytes() == b"old"
    assert not (run_root / "deliverables" / "y").exists()


def test_no_descriptor_is_left_open_by_deleting(deleting: RunFiles, old: Path, descriptors: Callable[[], int]) -> None:
    before = descriptors()
    attempts: list[Callable[[], Any]] = [
        lambda: deleting.rename("workspace/x", "run.json"),
        lambda: deleting.rename("workspace/x", "workspace/y"),
        lambda: deleting.delete("workspace/missing"),
        lambda: deleting.delete("workspace/y"),
        lambda: deleting.delete("workspace"),
    ]
    for attempt in attempts:
        try:
            attempt()
        except SkillsRuntimeError:
            continue
    assert descriptors() == before
    assert not old.exists()
