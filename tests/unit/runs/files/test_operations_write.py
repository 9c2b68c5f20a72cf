"""Writing: whole or not at all, only where it is allowed, never through anything."""

import errno
import hashlib
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.errors import (
    NotFound,
    PathEscape,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
    WriteRefused,
)
from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import PathPolicy, isolated_policy
from skills_runtime.storage.beneath import Opener
from tests.support.users import Unprivileged
from tests.unit.runs.files.conftest import dies_at_sync


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(root: Path) -> dict[str, bytes]:
    """Every file below, with its content."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_new_file_is_written_and_recorded(files: RunFiles, run_root: Path, records: list[FileOperation]) -> None:
    assert files.write("workspace/x", b"new", create_dirs=False) == 3
    assert (run_root / "workspace" / "x").read_bytes() == b"new"
    assert records == [FileOperation(op="write", path="workspace/x", ok=True, size=3, sha256=sha256(b"new"))]


def test_the_digest_of_what_was_overwritten_is_recorded(
    files: RunFiles, run_root: Path, records: list[FileOperation]
) -> None:
    (run_root / "workspace" / "x").write_bytes(b"old")
    files.for_call("c2").write("workspace/x", b"new", create_dirs=False)
    assert records == [
        FileOperation(
            op="write",
            path="workspace/x",
            ok=True,
            size=3,
            sha256=sha256(b"new"),
            before_sha256=sha256(b"old"),
            call_id="c2",
        )
    ]


def test_missing_directories_are_made_only_when_asked_for(files: RunFiles, run_root: Path) -> None:
    with pytest.raises(NotFound):
        files.write("workspace/a/b/x", b"", create_dirs=False)
    assert not (run_root / "workspace" / "a").exists()
    files.write("workspace/a/b/x", b"deep", create_dirs=True)
    assert (run_root / "workspace" / "a" / "b" / "x").read_bytes() == b"deep"
    assert (run_root / "workspace" / "a").stat().st_mode & 0o777 == 0o700


def test_an_isolated_run_writes_private_files(files: RunFiles, run_root: Path) -> None:
    files.write("workspace/x", b"", create_dirs=False)
    assert (run_root / "workspace" / "x").stat().st_mode & 0o777 == 0o600


def test_files_in_the_user_s_tree_get_the_user_s_mode(shared_files: RunFiles, workspace_root: Path) -> None:
    previous = os.umask(0o027)
    try:
        shared_files.write("new/x", b"", create_dirs=True)
    finally:
        os.umask(previous)
    assert (workspace_root / "new" / "x").stat().st_mode & 0o777 == 0o640
    assert (workspace_root / "new").stat().st_mode & 0o777 == 0o750


def test_the_mode_of_an_existing_file_is_kept_without_its_special_bits(files: RunFiles, run_root: Path) -> None:
    path = run_root / "workspace" / "tool"
    path.touch()
    path.chmod(0o4755)
    files.write("workspace/tool", b"#!", create_dirs=False)
    assert path.stat().st_mode & 0o7777 == 0o755


def test_a_hard_linked_file_is_replaced_and_never_written_through(
    files: RunFiles, run_root: Path, outside: Path
) -> None:
    (run_root / "workspace" / "hard").hardlink_to(outside / "x")
    files.write("workspace/hard", b"mine", create_dirs=False)
    assert (outside / "x").read_text() == "outside secret"
    assert (run_root / "workspace" / "hard").read_bytes() == b"mine"


def test_a_link_that_stays_inside_is_written_through_and_stays_a_link(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "l").symlink_to("../deliverables/r.md")
    files.write("workspace/l", b"report", create_dirs=False)
    assert (run_root / "deliverables" / "r.md").read_bytes() == b"report"
    assert (run_root / "workspace" / "l").is_symlink()


@pytest.mark.parametrize("create_dirs", [False, True])
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("run.json", WriteRefused),
        ("events.jsonl", WriteRefused),
        ("config.yaml", WriteRefused),
        ("logs/x", WriteRefused),
        ("archive/x", WriteRefused),
        ("blobs/x", WriteRefused),
        ("bare", WriteRefused),
        ("new/dir/x", WriteRefused),
        ("workspace/to-system", WriteRefused),
        ("workspace/to-root/run.json", WriteRefused),
        ("workspace/to-env", WriteRefused),
        ("workspace/git/config", WriteRefused),
        ("workspace/git/hooks/pre-commit", WriteRefused),
        ("workspace/.claude/settings.json", WriteRefused),
        ("workspace/out", PathEscape),
        ("workspace/away/x", PathEscape),
        ("workspace/away/new/x", PathEscape),
        ("workspace/not-yet", PathEscape),
        ("../x", PathEscape),
        ("/etc/x", PathEscape),
        ("workspace/x\0", ValidationFailed),
        ("workspace/folder", ValidationFailed),
        ("workspace/fifo", ValidationFailed),
    ],
)
def test_a_place_that_may_not_be_written_is_refused_recorded_once_and_untouched(
    path: str,
    error: type[SkillsRuntimeError],
    create_dirs: bool,
    files: RunFiles,
    run_root: Path,
    outside: Path,
    records: list[FileOperation],
) -> None:
    workspace = run_root / "workspace"
    targets = {
        "to-system": "../run.json",
        "to-root": "..",
        "to-env": ".env",
        "git": ".git",
        "out": "../../outside/x",
        "away": "../../outside",
        "not-yet": "../../outside/new",
    }
    for name, target in targets.items():
        (workspace / name).symlink_to(target)
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "fifo")
    before = tree(run_root), tree(outside), sorted(run_root.rglob("*"))
    with pytest.raises(error) as refused:
        files.write(path, b"evil", create_dirs=create_dirs)
    assert (tree(run_root), tree(outside), sorted(run_root.rglob("*"))) == before
    assert [(record.op, record.ok, record.error) for record in records] == [("write", False, refused.value.kind)]
    assert refused.value.hint


def test_directories_are_not_made_even_for_a_moment_where_links_lead_to_a_refusal(
    files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_root / "workspace" / "to-root").symlink_to("..")
    calls: list[object] = []

    def note(*arguments: object, **_: object) -> None:
        calls.append(arguments)

    monkeypatch.setattr(os, "mkdir", note)
    with pytest.raises(WriteRefused):
        files.write("workspace/to-root/new/x", b"evil", create_dirs=True)
    assert calls == []


def test_directories_are_not_made_through_a_link_to_nowhere(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "dangling").symlink_to("nowhere")
    with pytest.raises(NotFound):
        files.write("workspace/dangling/x", b"", create_dirs=True)
    assert sorted(path.name for path in (run_root / "workspace").iterdir()) == ["dangling"]


def test_too_much_data_is_refused_before_anything_is_made(
    isolated: PathPolicy, run_root: Path, opener: Opener, records: list[FileOperation]
) -> None:
    files = RunFiles(replace(isolated, max_file_bytes=3), records.append, opener=opener)
    files.write("workspace/x", b"abc", create_dirs=False)
    with pytest.raises(ValidationFailed, match="larger than 3 bytes"):
        files.write("workspace/d/y", b"abcd", create_dirs=True)
    assert not (run_root / "workspace" / "d").exists()


@pytest.mark.parametrize(
    ("call", "code"),
    [("write", errno.ENOSPC), ("fsync", errno.EIO), ("link", errno.EIO), ("rename", errno.EIO)],
)
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(
    call: str, code: int, files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch, records: list[FileOperation]
) -> None:
    (run_root / "workspace" / "x").write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    for path in ("workspace/x", "workspace/new/deep/x"):
        with pytest.raises(StorageFailed):
            files.write(path, b"new", create_dirs=True)
    monkeypatch.undo()
    assert tree(run_root / "workspace") == {"x": b"old"}
    assert [path.name for path in (run_root / "workspace").iterdir()] == ["x"]
    assert [record.error for record in records] == ["storage_error", "storage_error"]


def test_a_new_name_is_made_durable_after_the_content(
    files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[[int], None] = os.fsync
    synced: list[tuple[bool, bool]] = []

    def note(fd: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(fd).st_mode), (run_root / "workspace" / "x").exists()))
        real(fd)

    monkeypatch.setattr(os, "fsync", note)
    files.write("workspace/x", b"new", create_dirs=False)
    assert synced == [(False, False), (True, True)]


def test_short_writes_are_continued(files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[[int, memoryview], int] = os.write

    def one_byte(fd: int, data: memoryview) -> int:
        return real(fd, data[:1])

    monkeypatch.setattr(os, "write", one_byte)
    files.write("workspace/x", b"several bytes", create_dirs=False)
    assert (run_root / "workspace" / "x").read_bytes() == b"several bytes"


def test_a_limit_of_the_system_on_file_sizes_is_a_storage_error(unprivileged: Unprivileged, opener: Opener) -> None:
    (unprivileged.path / "workspace").mkdir(mode=0o777)
    (unprivileged.path / "workspace").chmod(0o777)

    def write() -> list[str]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        files = RunFiles(isolated_policy(unprivileged.path), lambda _: None, opener=opener)
        with pytest.raises(StorageFailed):
            files.write("workspace/x", b"x" * 2000, create_dirs=False)
        return [path.name for path in (unprivileged.path / "workspace").iterdir()]

    assert unprivileged(write) == []


def test_a_process_killed_while_writing_leaves_nothing(files: RunFiles, run_root: Path) -> None:
    (run_root / "workspace" / "x").write_bytes(b"old")
    assert dies_at_sync(1, lambda: files.write("workspace/x", b"new", create_dirs=False))
    assert tree(run_root / "workspace") == {"x": b"old"}


def test_a_file_system_that_wants_names_gets_them(
    files: RunFiles, run_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: str, flags: int, *more: int, **options: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", refuse)
    files.write("workspace/x", b"old", create_dirs=False)
    files.write("workspace/x", b"new", create_dirs=False)
    monkeypatch.undo()
    assert tree(run_root / "workspace") == {"x": b"new"}


def test_a_leftover_of_a_crash_is_never_in_the_way(files: RunFiles, run_root: Path) -> None:
    for number in range(50):
        (run_root / "workspace" / f".x.{os.getpid()}.{number:012x}").write_text("leftover")
    before = tree(run_root / "workspace")
    files.write("workspace/x", b"new", create_dirs=False)
    assert tree(run_root / "workspace") == before | {"x": b"new"}


def test_the_run_s_deliverables_are_written_from_the_user_s_tree(
    shared_files: RunFiles, shared: PathPolicy, workspace_root: Path
) -> None:
    shared_files.write("deliverables/sub/r.md", b"report", create_dirs=True)
    assert (shared.mounts["deliverables"] / "sub" / "r.md").read_bytes() == b"report"
    assert not (workspace_root / "deliverables").exists()


def test_deliverables_replaced_by_a_link_are_refused(shared_files: RunFiles, shared: PathPolicy, outside: Path) -> None:
    shared.mounts["deliverables"].rmdir()
    shared.mounts["deliverables"].symlink_to(outside)
    with pytest.raises(PathEscape):
        shared_files.write("deliverables/x", b"evil", create_dirs=True)
    assert tree(outside) == {"x": b"outside secret"}


def test_no_descriptor_is_left_open_by_writing(files: RunFiles, descriptors: Callable[[], int]) -> None:
    before = descriptors()
    for path in ("workspace/a/x", "workspace/a", "run.json", "workspace/a/x/y", "workspace/b/c/d"):
        for create_dirs in (False, True):
            try:
                files.write(path, b"", create_dirs=create_dirs)
            except SkillsRuntimeError:
                continue
    assert descriptors() == before


def test_a_write_through_an_inner_link_records_where_it_really_went(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "workspace" / "inner").mkdir(parents=True)
    (run / "deliverables").mkdir()
    (run / "workspace" / "link").symlink_to("inner")
    records: list[FileOperation] = []
    RunFiles(isolated_policy(run), records.append).write("workspace/link/x", b"new", create_dirs=False)
    (record,) = records
    assert (record.path, record.real_path) == ("workspace/link/x", "workspace/inner/x")
