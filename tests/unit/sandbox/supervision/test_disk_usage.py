"""Disk use of a command: everything counts once, and only what was made beyond the limit is removed."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.sandbox.supervision.disk_usage import (
    IDLE_INTERVAL,
    INTERVAL,
    TICK_NS,
    DiskUsage,
    nameless_blocks_on,
)
from skills_runtime.sandbox.supervision.limit_watch import LimitWatch
from skills_runtime.sandbox.supervision.process_tree import Process
from tests.support.users import Unprivileged

MEBIBYTE = 1 << 20
SIZE = 64 * MEBIBYTE
LIMIT = 4 * MEBIBYTE


def test_a_file_without_a_name_is_found(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MEBIBYTE)
        (tmp_path / "file").unlink()
        assert sum(nameless_blocks_on(str(tmp_path), [os.getpid()])) * 512 >= MEBIBYTE


def test_a_file_with_a_name_is_not_counted_twice(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, MEBIBYTE)
        before = nameless_blocks_on(str(tmp_path), [os.getpid()])
        (tmp_path / "file").unlink()
        assert len(nameless_blocks_on(str(tmp_path), [os.getpid()])) == len(before) + 1


def _watching(place: Path, size: int) -> LimitWatch:
    return LimitWatch({"memory_bytes": None, **_wanted(place, size)})


def _wanted(place: Path, size: int = LIMIT, files: int = 10_000, excluded: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"disk_path": str(place), "disk_bytes": size, "disk_files": files, "disk_excluded": excluded}


def _allocate(path: Path, size: int) -> None:
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def test_what_was_too_quick_to_be_seen_is_seen_at_last(tmp_path: Path) -> None:
    watching = _watching(tmp_path, 4 * MEBIBYTE)
    _allocate(tmp_path / "file", SIZE)
    assert watching.find_exceeded_at_end() == "disk"


def test_little_is_no_matter_at_last(tmp_path: Path) -> None:
    watching = _watching(tmp_path, 4 * MEBIBYTE)
    _allocate(tmp_path / "file", MEBIBYTE)
    assert watching.find_exceeded_at_end() is None


def test_what_lies_in_a_closed_directory_counts(unprivileged: Unprivileged) -> None:
    def run() -> str | None:
        watching = _watching(unprivileged.path, 4 * MEBIBYTE)
        closed = unprivileged.path / "closed"
        closed.mkdir()
        _allocate(closed / "file", SIZE)
        closed.chmod(0)
        try:
            return watching.find_exceeded_at_end()
        finally:
            closed.chmod(0o700)

    assert unprivileged(run) == "disk"


def test_a_directory_that_was_taken_away_is_no_matter(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    watching = _watching(place, 4 * MEBIBYTE)
    place.rmdir()
    assert watching.find_exceeded_at_end() is None
    assert watching.find_exceeded_limit(lambda: [Process(os.getpid(), 1, 1, 1)]) is None


def _usage(place: Path, *, size: int = LIMIT, files: int = 10_000, excluded: tuple[str, ...] = ()) -> DiskUsage:
    """Begin to count; files that are made from now on are younger than that."""
    usage = DiskUsage(_wanted(place, size, files, excluded))
    _age(time.clock_gettime_ns(time.CLOCK_REALTIME), place)
    return usage


def _age(moment: int, place: Path) -> None:
    """Return when files that are made next are younger than this moment: their clock has larger steps."""
    clock = place / "clock"
    while True:
        clock.touch()
        made = clock.stat().st_ctime_ns
        clock.unlink()
        if made > moment:
            return


def _removed(usage: DiskUsage) -> dict[str, Any]:
    removed = usage.remove_excess()
    assert removed is not None
    return removed


def _write(path: Path, size: int) -> None:
    with path.open("ab") as file:
        file.write(b"x" * size)


def test_a_disk_that_fills_up_is_looked_at_often(tmp_path: Path) -> None:
    usage = _usage(tmp_path, size=SIZE)
    assert not usage.is_exceeded(list)
    while not usage.is_exceeded(list):  # other programs may make room on the same disk
        _write(tmp_path / "file", MEBIBYTE // 4)
        if usage.interval == INTERVAL:
            break
    assert usage.interval == INTERVAL <= 0.005


def test_a_disk_on_which_nothing_happens_is_looked_at_seldom(tmp_path: Path) -> None:
    usage = _usage(tmp_path, size=SIZE)
    while usage.interval < IDLE_INTERVAL:  # other programs may write to the same disk
        assert not usage.is_exceeded(list)


def test_files_written_beyond_the_limit_are_removed(tmp_path: Path) -> None:
    usage = _usage(tmp_path)
    (tmp_path / "made/here").mkdir(parents=True)
    for number in range(64):
        _write(tmp_path / f"made/here/{number}", MEBIBYTE)
    assert usage.is_exceeded(list)
    removed = _removed(usage)
    assert sum(path.stat().st_blocks * 512 for path in tmp_path.rglob("*")) <= LIMIT
    assert removed["files"] >= 60
    assert removed["bytes"] == removed["files"] * MEBIBYTE
    assert set(removed["paths"]) <= {f"made/here/{number}" for number in range(64)}
    assert removed["left_bytes"] == 0


def test_what_was_written_within_the_limit_is_kept(tmp_path: Path) -> None:
    usage = _usage(tmp_path, size=SIZE)
    _write(tmp_path / "early", SIZE // 2)
    _age((tmp_path / "early").stat().st_ctime_ns + TICK_NS, tmp_path)
    assert not usage.is_exceeded(list)
    _write(tmp_path / "late", 2 * SIZE)
    assert usage.is_exceeded(list)
    assert _removed(usage)["paths"] == ["late"]
    assert (tmp_path / "early").exists()


def test_what_other_programs_write_moves_no_limit(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    usage = _usage(place, size=SIZE)
    _write(place / "early", SIZE - MEBIBYTE)
    _write(tmp_path / "of another program", SIZE)
    assert not usage.is_exceeded(list)
    _write(place / "late", 2 * MEBIBYTE)
    assert usage.is_exceeded(list, at_last=True)
    assert _removed(usage)["left_bytes"] == 0


BEFORE: dict[str, Callable[[Path], object]] = {
    "grown": lambda place: _write(place / "old", SIZE),
    "renamed": lambda place: (_write(place / "old", SIZE), (place / "old").rename(place / "new")),
    "replaced by a rename": lambda place: (_write(place / "draft", SIZE), (place / "draft").rename(place / "old")),
    "moved into a new directory": lambda place: (
        _write(place / "old", SIZE),
        (place / "made").mkdir(),
        (place / "old").rename(place / "made/old"),
    ),
    "linked": lambda place: (_write(place / "old", SIZE), os.link(place / "old", place / "linked")),
}


@pytest.mark.parametrize("way", BEFORE)
def test_a_file_that_existed_before_is_never_removed(way: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before")
    _age((tmp_path / "old").stat().st_ctime_ns, tmp_path)
    usage = _usage(tmp_path)
    BEFORE[way](tmp_path)
    assert usage.is_exceeded(list)
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    removed = _removed(usage)
    assert removed["files"] == 0
    assert removed["left_bytes"] > 0
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


def test_files_and_directories_beyond_their_number_are_removed(tmp_path: Path) -> None:
    usage = _usage(tmp_path, files=100)
    for number in range(1000):
        (tmp_path / f"file{number}").touch()
        (tmp_path / f"directory{number}").mkdir()
    assert usage.is_exceeded(list)
    assert _removed(usage)["left_files"] == 0
    assert len(list(tmp_path.iterdir())) == 100


def test_what_the_command_cannot_write_is_neither_counted_nor_removed(tmp_path: Path) -> None:
    protected = tmp_path / "protected"
    protected.mkdir()
    usage = _usage(tmp_path, excluded=(str(protected),))
    _write(protected / "file", SIZE)
    assert not usage.is_exceeded(list)
    _write(tmp_path / "file", SIZE)
    assert usage.is_exceeded(list)
    assert _removed(usage)["paths"] == ["file"]
    assert (protected / "file").stat().st_size == SIZE


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    place, outside = tmp_path / "place", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    usage = _usage(place)
    _write(outside / "file", SIZE)
    (place / "link").symlink_to(outside)
    _write(place / "file", SIZE)
    assert usage.is_exceeded(list)
    _removed(usage)
    assert (outside / "file").stat().st_size == SIZE


def test_a_command_within_its_limit_keeps_everything(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    usage = _usage(place)
    _write(place / "file", MEBIBYTE)
    _write(tmp_path / "of another program", SIZE)
    assert usage.remove_excess() is None
    assert (place / "file").exists()


def test_what_lies_too_deep_for_any_path_counts(tmp_path: Path) -> None:
    usage = _usage(tmp_path)
    deep = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=deep)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=deep)
    os.posix_fallocate(file, 0, SIZE)
    os.close(file)
    os.close(deep)
    assert usage.is_exceeded(list)
    assert _removed(usage)["left_bytes"] == 0
