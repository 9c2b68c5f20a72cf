"""Scanning what a run left behind: bounded, in order, never through a link."""

import hashlib
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.runs.files.scan import MAX_SKIPPED, Scan, ScanLimits, ScannedFile, Skipped, scan
from tests.support.users import Unprivileged

ROOTS = ("deliverables", "workspace")


def skipped(result: Scan) -> list[tuple[str, str]]:
    return [(item.path, item.reason) for item in result.skipped]


def paths(result: Scan) -> list[str]:
    return [file.path for file in result.files]


def test_files_are_listed_with_size_digest_and_media_type(run_root: Path) -> None:
    (run_root / "deliverables" / "r.md").write_text("report")
    (run_root / "workspace" / "a").mkdir()
    (run_root / "workspace" / "a" / "x").write_bytes(b"")
    result = scan(run_root, ROOTS)
    assert result.files == (
        ScannedFile(
            path="deliverables/r.md",
            size=6,
            sha256=hashlib.sha256(b"report").hexdigest(),
            media_type="text/markdown",
        ),
        ScannedFile(
            path="workspace/a/x",
            size=0,
            sha256=hashlib.sha256(b"").hexdigest(),
            media_type="application/octet-stream",
        ),
    )
    assert (result.files_seen, result.bytes_seen, result.complete, result.skipped) == (2, 6, True, ())


def test_a_scan_has_the_fields_of_the_manifest(run_root: Path) -> None:
    (run_root / "workspace" / "l").symlink_to("x")
    document: dict[str, Any] = msgspec.to_builtins(scan(run_root, ROOTS))
    assert document == {
        "roots": ("deliverables", "workspace"),
        "files_seen": 0,
        "bytes_seen": 0,
        "complete": True,
        "limits": {"max_files": 10000, "max_depth": 32, "max_hash_bytes": 1073741824},
        "skipped": ({"path": "workspace/l", "reason": "symlink"},),
        "files": (),
    }


def test_the_order_is_that_of_the_bytes_of_the_names(run_root: Path) -> None:
    for name in ("b", "a.txt", "a", "é", "Z", "10", "9"):
        (run_root / "workspace" / name).touch()
    assert paths(scan(run_root, ["workspace"])) == [
        f"workspace/{name}" for name in ("10", "9", "Z", "a", "a.txt", "b", "é")
    ]


def test_links_and_special_files_are_reported_and_never_opened(run_root: Path, outside: Path) -> None:
    workspace = run_root / "workspace"
    (workspace / "file").symlink_to(outside / "x")
    (workspace / "folder").symlink_to(outside)
    os.mkfifo(workspace / "pipe")
    result = scan(run_root, ROOTS)
    assert skipped(result) == [
        ("workspace/file", "symlink"),
        ("workspace/folder", "symlink"),
        ("workspace/pipe", "special"),
    ]
    assert result.complete
    assert result.files == ()


def test_a_root_that_is_a_link_is_reported_and_not_followed(run_root: Path, outside: Path) -> None:
    (run_root / "deliverables").rmdir()
    (run_root / "deliverables").symlink_to(outside)
    assert skipped(scan(run_root, ROOTS)) == [("deliverables", "symlink")]


def test_a_root_that_is_missing_holds_nothing(run_root: Path) -> None:
    result = scan(run_root, ["nothing", "nothing/deeper"])
    assert (result.files, result.skipped, result.complete) == ((), (), True)


@pytest.mark.parametrize("name", ["..", "../outside", "workspace/../..", "", "/etc", "."])
def test_a_root_outside_is_refused(name: str, run_root: Path) -> None:
    with pytest.raises(ValidationFailed):
        scan(run_root, [name])


def test_a_missing_run_directory_is_reported_plainly(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        scan(tmp_path / "missing", ROOTS)


def test_a_run_directory_reached_by_a_link_is_scanned(run_root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(run_root)
    (run_root / "workspace" / "x").touch()
    assert paths(scan(tmp_path / "alias", ROOTS)) == ["workspace/x"]


@pytest.mark.slow
def test_twenty_thousand_files_stop_at_the_limit(run_root: Path) -> None:
    many = run_root / "workspace" / "many"
    many.mkdir()
    for number in range(20_000):
        os.close(os.open(many / f"{number:05}", os.O_CREAT | os.O_WRONLY))
    result = scan(run_root, ROOTS)
    assert not result.complete
    assert result.files_seen == len(result.files) == 10_000
    assert result.files[-1].path == "workspace/many/09999"
    assert skipped(result) == [("workspace/many/10000", "limit")]


def test_exactly_as_many_files_as_the_limit_are_complete(run_root: Path) -> None:
    for number in range(5):
        (run_root / "workspace" / str(number)).touch()
    assert scan(run_root, ROOTS, ScanLimits(max_files=5)).complete
    assert not scan(run_root, ROOTS, ScanLimits(max_files=4)).complete


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_entries_that_are_not_files_are_limited_too(kind: str, run_root: Path) -> None:
    for number in range(50):
        path = run_root / "workspace" / f"{number:02}"
        path.mkdir() if kind == "directory" else path.symlink_to("x")
    result = scan(run_root, ["workspace"], ScanLimits(max_files=10))
    assert not result.complete
    assert ("workspace/09", "limit") in skipped(result)


def test_a_directory_too_deep_is_reported(run_root: Path) -> None:
    (run_root / "workspace" / "a" / "b" / "c").mkdir(parents=True)
    for name in ("a/x", "a/b/x", "a/b/c/x"):
        (run_root / "workspace" / name).touch()
    result = scan(run_root, ROOTS, ScanLimits(max_depth=2))
    assert paths(result) == ["workspace/a/b/x", "workspace/a/x"]
    assert skipped(result) == [("workspace/a/b/c", "limit")]
    assert not result.complete


def test_a_file_beyond_what_may_be_hashed_is_reported_and_smaller_ones_are_listed(run_root: Path) -> None:
    (run_root / "workspace" / "a").write_bytes(b"12345")
    with (run_root / "workspace" / "b").open("wb") as sparse:
        sparse.truncate(1 << 40)
    (run_root / "workspace" / "c").write_bytes(b"123")
    (run_root / "workspace" / "d").write_bytes(b"1")
    result = scan(run_root, ROOTS, ScanLimits(max_hash_bytes=8))
    assert paths(result) == ["workspace/a", "workspace/c"]
    assert skipped(result) == [("workspace/b", "limit"), ("workspace/d", "limit")]
    assert (result.files_seen, result.bytes_seen, result.complete) == (4, (1 << 40) + 9, False)


def test_the_list_of_what_was_skipped_is_bounded(run_root: Path) -> None:
    for number in range(MAX_SKIPPED + 1):
        (run_root / "workspace" / f"{number:04}").symlink_to("x")
    result = scan(run_root, ROOTS)
    assert len(result.skipped) == MAX_SKIPPED
    assert not result.complete


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_beyond_the_limit(run_root: Path) -> None:
    for number in range(20_000):
        os.close(os.open(run_root / "workspace" / f"{number:05}-{'n' * 200}", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    try:
        scan(run_root, ROOTS, ScanLimits(max_files=10))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_a_file_that_changes_while_it_is_hashed_is_reported(run_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_root / "workspace" / "growing"
    path.write_bytes(b"begin")
    real: Callable[[int, Any], int] = os.readv

    def growing(fd: int, buffers: Any) -> int:
        with path.open("ab") as more:
            more.write(b"x" * 10)
        return real(fd, buffers)

    monkeypatch.setattr(os, "readv", growing)
    result = scan(run_root, ROOTS)
    assert skipped(result) == [("workspace/growing", "changed")]
    assert (result.files, result.complete) == ((), False)


def test_names_that_are_not_text_are_listed_with_their_bytes_written_out(run_root: Path) -> None:
    (run_root / "workspace" / os.fsdecode(b"100%\xff.txt")).touch()
    (run_root / "workspace" / "100%FF.txt").touch()
    result = scan(run_root, ROOTS)
    assert [(file.path, file.escaped, file.media_type) for file in result.files] == [
        ("workspace/100%FF.txt", False, "text/plain"),
        ("workspace/100%25%FF.txt", True, "text/plain"),
    ]
    assert msgspec.json.decode(msgspec.json.encode(result), type=Scan) == result


def test_what_cannot_be_read_is_reported(unprivileged: Unprivileged) -> None:
    workspace = unprivileged.path / "workspace"
    (workspace / "closed").mkdir(parents=True)
    (workspace / "closed" / "x").touch()
    (workspace / "secret").write_text("secret")
    (workspace / "open").write_text("open")
    workspace.chmod(0o755)
    for name in ("closed", "secret"):
        (workspace / name).chmod(0o000)
    result = unprivileged(lambda: msgspec.json.encode(scan(unprivileged.path, ROOTS)))
    (workspace / "closed").chmod(0o700)
    found = msgspec.json.decode(result, type=Scan)
    assert found.skipped == (Skipped("workspace/closed", "unreadable"), Skipped("workspace/secret", "unreadable"))
    assert paths(found) == ["workspace/open"]
    assert not found.complete


def test_no_descriptor_is_left_open_by_a_scan(run_root: Path, descriptors: Callable[[], int]) -> None:
    (run_root / "workspace" / "a" / "b").mkdir(parents=True)
    (run_root / "workspace" / "a" / "l").symlink_to("b")
    before = descriptors()
    scan(run_root, ROOTS)
    scan(run_root, ["workspace/a/l", "run.json"])
    assert descriptors() == before
