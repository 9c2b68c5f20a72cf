"""Several changes at once: all of them or none, each checked and recorded."""

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.errors import (
    AccessRefused,
    DeleteDisabled,
    NotFound,
    PathEscape,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
    WriteRefused,
)
from skills_runtime.events.payloads import FileOperation
from skills_runtime.ports import FileChange
from skills_runtime.runs.files import changes
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import isolated_policy
from tests.support.runs import count_descriptors
from tests.support.tools import modes, tree
from tests.support.users import Unprivileged
from tests.unit.runs.files.conftest import dies_at_sync, make_run


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def added(path: str, data: bytes = b"new") -> FileChange:
    return FileChange(path=path, before_sha256=None, data=data)


def updated(path: str, before: bytes, data: bytes = b"new", *, moved_to: str | None = None) -> FileChange:
    return FileChange(path=path, before_sha256=digest(before), data=data, moved_to=moved_to)


def removed(path: str, before: bytes) -> FileChange:
    return FileChange(path=path, before_sha256=digest(before), data=None)


@pytest.fixture
def workspace(run_root: Path) -> Path:
    """A workspace with the files `a`, `b` and `c`, each holding its name."""
    path = run_root / "workspace"
    for name in "abc":
        (path / name).write_text(name)
    return path


def test_every_kind_of_change_is_made_and_recorded(
    deleting: RunFiles, workspace: Path, records: list[FileOperation], run_root: Path
) -> None:
    deleting.for_call("call_7").apply(
        [
            updated("workspace/a", b"a", b"A"),
            removed("workspace/b", b"b"),
            added("workspace/d/e/f", b"F"),
            updated("workspace/c", b"c", b"C", moved_to="deliverables/c"),
        ]
    )
    files = {name: entry.content for name, entry in tree(workspace).items() if stat.S_ISREG(entry.mode)}
    assert files == {"a": b"A", "d/e/f": b"F"}
    assert (run_root / "deliverables" / "c").read_bytes() == b"C"
    assert sorted(path.read_bytes() for path in (run_root / "logs" / "trash").iterdir()) == [b"b", b"c"]
    assert [(record.op, record.path, record.size, record.ok, record.call_id) for record in records] == [
        ("write", "workspace/a", 1, True, "call_7"),
        ("delete", "workspace/b", None, True, "call_7"),
        ("write", "workspace/d/e/f", 1, True, "call_7"),
        ("rename", "workspace/c -> deliverables/c", 1, True, "call_7"),
    ]
    assert [(record.before_sha256, record.sha256) for record in records] == [
        (digest(b"a"), digest(b"A")),
        (digest(b"b"), None),
        (None, digest(b"F")),
        (digest(b"c"), digest(b"C")),
    ]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (updated("workspace/b", b"not this"), ValidationFailed),
        (updated("workspace/missing", b""), NotFound),
        (added("workspace/b"), ValidationFailed),
        (added("workspace/b/c"), NotFound),
        (added("workspace/link"), ValidationFailed),
        (updated("workspace/link", b""), SkillsRuntimeError),
        (removed("workspace/link", b""), ValidationFailed),
        (updated("workspace/out", b"outside secret"), PathEscape),
        (added("workspace/up/x/y"), PathEscape),
        (updated("workspace/system", b"system run.json"), WriteRefused),
        (added("workspace/logs/x"), WriteRefused),
        (added("workspace/../outside/y"), PathEscape),
        (added("run.json"), WriteRefused),
        (added("workspace/.env"), WriteRefused),
        (added("workspace/.git/hooks/x"), WriteRefused),
        (updated("workspace/d", b""), ValidationFailed),
        (updated("workspace/pipe", b""), ValidationFailed),
        (updated("workspace/b", b"b", moved_to="workspace/c"), ValidationFailed),
        (updated("workspace/b", b"b", moved_to="workspace/.env"), WriteRefused),
        (updated("workspace/a", b"a"), ValidationFailed),
        (updated("workspace/./a", b"a"), ValidationFailed),
        (added("workspace/n/e/w"), ValidationFailed),
    ],
)
def test_one_bad_change_means_no_change(
    bad: FileChange,
    error: type[Exception],
    deleting: RunFiles,
    workspace: Path,
    outside: Path,
    records: list[FileOperation],
) -> None:
    (workspace / "link").symlink_to("nowhere")
    (workspace / "out").symlink_to(outside / "x")
    (workspace / "up").symlink_to(outside.parent)
    (workspace / "system").symlink_to("../run.json")
    (workspace / "logs").symlink_to("../logs")
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "pipe")
    before, outer = tree(workspace), tree(outside)
    good = [updated("workspace/a", b"a"), added("workspace/n/e/w")]
    for order in ([*good, bad], [bad, *good]):
        with pytest.raises(error):
            deleting.apply(order)
        assert (tree(workspace), tree(outside)) == (before, outer)
    assert {record.ok for record in records} == {False}
    assert len(records) == 6


@pytest.mark.parametrize("change", [removed("workspace/a", b"a"), updated("workspace/a", b"a", moved_to="workspace/d")])
def test_taking_a_file_away_needs_the_right_to_delete(change: FileChange, files: RunFiles, workspace: Path) -> None:
    before = tree(workspace)
    with pytest.raises(DeleteDisabled):
        files.apply([added("workspace/new"), change])
    assert tree(workspace) == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_a_file_keeps_its_mode_when_it_changes_or_moves(mode: int, deleting: RunFiles, workspace: Path) -> None:
    for name in "ab":
        (workspace / name).chmod(mode)
    deleting.apply([updated("workspace/a", b"a"), updated("workspace/b", b"b", moved_to="workspace/d/b")])
    assert modes(workspace)["a"] == modes(workspace)["d/b"] == mode


def test_a_new_file_has_the_mode_of_the_policy(files: RunFiles, workspace: Path) -> None:
    files.apply([added("workspace/d/new")])
    assert (modes(workspace)["d"], modes(workspace)["d/new"]) == (0o700, 0o600)


def test_a_file_with_a_second_name_is_not_changed_where_that_is_refused(files: RunFiles, workspace: Path) -> None:
    os.link(workspace / "a", workspace / "other")
    with pytest.raises(PathEscape, match="hard link"):
        files.apply([updated("workspace/a", b"a")])


def test_a_file_that_changes_before_its_turn_is_left_alone_and_all_others_too(
    files: RunFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def meddle(*names: str, **directories: int) -> None:
        real(*names, **directories)
        (workspace / "b").write_text("meddled")

    monkeypatch.setattr(os, "rename", meddle)
    with pytest.raises(ValidationFailed, match="changed since it was read"):
        files.apply([updated("workspace/a", b"a"), updated("workspace/b", b"b")])
    contents = {name: entry.content for name, entry in tree(workspace).items()}
    assert contents == {"a": b"a", "b": b"meddled", "c": b"c"}


def test_a_name_taken_before_its_turn_is_left_alone(
    files: RunFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def meddle(*names: str, **directories: int) -> None:
        real(*names, **directories)
        (workspace / "new").write_text("somebody else's")

    monkeypatch.setattr(os, "rename", meddle)
    with pytest.raises(ValidationFailed, match="exists already"):
        files.apply([updated("workspace/a", b"a"), added("workspace/new")])
    assert (workspace / "new").read_text() == "somebody else's"
    assert (workspace / "a").read_text() == "a"


@pytest.mark.parametrize(
    ("call", "nth"),
    [
        (call, nth)
        for call, count in {"write": 5, "fsync": 9, "fchmod": 5, "link": 2, "rename": 4}.items()
        for nth in range(1, count + 1)
    ],
)
def test_whatever_call_fails_everything_is_as_it_was(
    call: str, nth: int, deleting: RunFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = getattr(os, call), 0
    before, descriptors = tree(workspace), count_descriptors()

    def fail(*arguments: object, **options: object) -> object:
        nonlocal count
        count += 1
        if count == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **options)

    changes = [
        updated("workspace/a", b"a"),
        updated("workspace/b", b"b", moved_to="workspace/x/y"),
        removed("workspace/c", b"c"),
    ]
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageFailed):
        deleting.apply(changes)
    assert tree(workspace) == before
    assert count_descriptors() == descriptors


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_process_killed_while_writing_leaves_nothing(nth: int, files: RunFiles, workspace: Path) -> None:
    before = tree(workspace)
    changes = [updated("workspace/a", b"a"), updated("workspace/b", b"b"), added("workspace/new")]
    assert dies_at_sync(nth, lambda: files.apply(changes))
    assert tree(workspace) == before


def test_an_interruption_is_undone_too(files: RunFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, before = os.rename, tree(workspace)

    def interrupt(*names: str, **directories: int) -> None:
        real(*names, **directories)
        monkeypatch.setattr(os, "rename", real)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.apply([updated("workspace/a", b"a"), updated("workspace/b", b"b")])
    assert tree(workspace) == before


def test_changes_have_a_number_and_a_size(isolated_files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationFailed, match="larger than 5 bytes"):
        isolated_files.apply([added("workspace/x", b"123456")])
    monkeypatch.setattr(changes, "MAX_CHANGES", 1)
    with pytest.raises(ValidationFailed, match="more than 1 files"):
        isolated_files.apply([added("workspace/x"), added("workspace/y")])


@pytest.fixture
def isolated_files(run_root: Path) -> RunFiles:
    """The files of a run that takes only tiny ones."""
    return RunFiles(replace(isolated_policy(run_root), max_file_bytes=5), lambda _: None)


def test_no_change_at_all_is_fine(files: RunFiles, records: list[FileOperation]) -> None:
    files.apply([])
    assert records == []


def test_without_rights_nothing_is_half_done(unprivileged: Unprivileged) -> None:
    def attempt() -> tuple[dict[str, bytes], list[str]]:
        root = make_run(unprivileged.path / "run")
        files = RunFiles(isolated_policy(root), lambda _: None)
        path = root / "workspace"
        for name in ("open/a", "closed/b", "open/read-only"):
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_bytes(b"old")
        (path / "closed").chmod(0o500)
        (path / "open" / "read-only").chmod(0o400)
        kinds: list[str] = []
        for other in ("closed/b", "open/read-only"):
            with pytest.raises(AccessRefused) as caught:
                files.apply([updated("workspace/open/a", b"old"), updated(f"workspace/{other}", b"old")])
            kinds.append(caught.value.kind)
        with pytest.raises(AccessRefused):
            files.apply([added("workspace/open/new/file"), added("workspace/closed/new")])
        result = {name: entry.content for name, entry in tree(path).items() if stat.S_ISREG(entry.mode)}
        (path / "closed").chmod(0o700)
        return result, kinds

    found, kinds = unprivileged(attempt)
    assert found == {"open/a": b"old", "closed/b": b"old", "open/read-only": b"old"}
    assert kinds == ["permission", "permission"]
