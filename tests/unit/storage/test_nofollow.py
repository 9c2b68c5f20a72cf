"""Files below a directory: no link is followed, and nothing is opened that could hold us up."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.storage.nofollow import (
    OPEN_TO_LIST,
    Parts,
    disk_usage,
    error_reason,
    list_names,
    open_below,
    open_directory,
    read_below,
    relative_parts,
    stat_mode_below,
    walk,
)
from tests.support.users import Unprivileged


@pytest.fixture
def top(tmp_path: Path, outside: Path) -> Path:
    """A directory with files, links that lead out and in circles, and a pipe."""
    path = tmp_path / "top"
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "b" / "x").write_bytes(b"0123456789")
    (path / "z").write_bytes(b"last")
    (path / "out").symlink_to(outside)
    (path / "a" / "up").symlink_to("..")
    os.mkfifo(path / "pipe")
    return path


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a", ("a",)),
        ("a/b c", ("a", "b c")),
        *((wrong, None) for wrong in ("", "/a", "a/", "a//b", ".", "a/./b", "..", "a/../b", "a\0")),
    ],
)
def test_only_a_path_that_stays_below_has_names(path: str, parts: Parts | None) -> None:
    assert relative_parts(path) == parts


def test_a_directory_is_opened_only_where_no_link_leads(top: Path, descriptors: Callable[[], int]) -> None:
    before = descriptors()
    with open_directory(top / "a") as fd:
        assert os.path.samestat(os.fstat(fd), (top / "a").stat())
    for path in (top / "out", top / "a" / "up" / "a", top / "z", top / "missing"):
        with pytest.raises(OSError, match=r"."), open_directory(path):
            pass
    assert descriptors() == before


def test_a_file_is_read_up_to_its_limit(top: Path) -> None:
    with open_directory(top) as fd:
        assert [read_below(fd, ("a", "b", "x"), limit=limit) for limit in (0, 4, 10, 11)] == [
            b"",
            b"0123",
            b"0123456789",
            b"0123456789",
        ]


def test_a_file_larger_than_one_read_is_read_whole(top: Path) -> None:
    data = os.urandom(3 << 20)
    (top / "large").write_bytes(data)
    with open_directory(top) as fd:
        assert read_below(fd, ("large",), limit=10 << 20) == data
        assert read_below(fd, ("large",), limit=(2 << 20) + 5) == data[: (2 << 20) + 5]


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("out/x", errno.ELOOP),
        ("out", errno.ELOOP),
        ("a/up/z", errno.ELOOP),
        ("pipe", errno.EINVAL),
        ("a", errno.EINVAL),
        ("z/x", errno.ENOTDIR),
        ("missing", errno.ENOENT),
    ],
)
def test_what_is_no_file_below_is_not_read(top: Path, path: str, number: int, descriptors: Callable[[], int]) -> None:
    with open_directory(top) as fd:
        before = descriptors()
        with pytest.raises(OSError, match=r".") as refused:
            read_below(fd, path.split("/"), limit=10)
        assert refused.value.errno == number
        assert descriptors() == before


def test_the_kind_of_a_name_is_reported_and_a_link_refused(top: Path) -> None:
    with open_directory(top) as fd:
        assert stat_mode_below(fd, ("a", "b", "x")) == (top / "a" / "b" / "x").stat().st_mode
        with pytest.raises(OSError, match="symbolic links") as refused:
            stat_mode_below(fd, ("out",))
    assert error_reason(refused.value) == "a link is on the way to it, and links are not followed"
    assert error_reason(PermissionError(errno.EACCES, "Permission denied")) == "permission denied"
    assert error_reason(OSError()) == "it cannot be read"


def test_the_top_itself_can_be_listed(top: Path) -> None:
    with open_directory(top) as fd:
        listing = open_below(fd, (), OPEN_TO_LIST)
        try:
            assert list_names(listing, None) == ["a", "out", "pipe", "z"]
            assert list_names(listing, 2) == ["a", "out"]
        finally:
            os.close(listing)


def test_names_are_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    for name in (b"\xff", b"b", "ä".encode(), b"a"):
        (tmp_path / os.fsdecode(name)).touch()
    with open_directory(tmp_path) as top:
        listing = open_below(top, (), OPEN_TO_LIST)
        try:
            assert [os.fsencode(name) for name in list_names(listing, None)] == [b"a", b"b", "ä".encode(), b"\xff"]
        finally:
            os.close(listing)


def test_a_walk_meets_everything_nearest_first_and_follows_no_link(top: Path, descriptors: Callable[[], int]) -> None:
    with open_directory(top) as fd:
        before = descriptors()
        found = [(entry.path, entry.is_directory, entry.is_file, entry.is_link) for entry in walk(fd)]
        assert descriptors() == before
    assert found == [
        ("a", True, False, False),
        ("out", False, False, True),
        ("pipe", False, False, False),
        ("z", False, True, False),
        ("a/b", True, False, False),
        ("a/up", False, False, True),
        ("a/b/x", False, True, False),
    ]


def test_what_a_walk_meets_can_be_read_there(top: Path, outside: Path) -> None:
    with open_directory(top) as fd:
        read = {entry.name: entry.read(4) for entry in walk(fd) if entry.is_file}
        links = {entry.name: entry.target() for entry in walk(fd) if entry.is_link}
    assert read == {"x": b"0123", "z": b"last"}
    assert links == {"out": str(outside), "up": ".."}


def test_a_walk_ends_at_its_limit_and_enters_what_it_may(top: Path, descriptors: Callable[[], int]) -> None:
    with open_directory(top) as fd:
        before = descriptors()
        assert [entry.path for entry in walk(fd, limit=2)] == ["a", "out"]
        assert [entry.path for entry in walk(fd, limit=5)] == ["a", "out", "pipe", "z", "a/b"]
        assert [entry.path for entry in walk(fd, enter=lambda entry: entry.name != "b")][-1] == "a/up"
        walking = walk(fd)
        next(walking)
        walking.close()
        assert descriptors() == before


def test_a_closed_directory_is_reported_or_raised(unprivileged: Unprivileged) -> None:
    def child() -> tuple[list[str], list[tuple[Parts, int | None]]]:
        (unprivileged.path / "closed").mkdir(mode=0o000)
        (unprivileged.path / "open").touch()
        errors: list[tuple[Parts, int | None]] = []
        with open_directory(unprivileged.path.resolve()) as fd:
            with pytest.raises(PermissionError):
                list(walk(fd))
            met = [entry.path for entry in walk(fd, on_error=lambda parts, error: errors.append((parts, error.errno)))]
        return met, errors

    assert unprivileged(child) == (["closed", "open"], [(("closed",), errno.EACCES)])


def test_what_is_removed_during_a_walk_is_reported(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch()
    gone: list[Parts] = []
    with open_directory(tmp_path) as fd:
        for entry in walk(fd, on_error=lambda parts, _: gone.append(parts)):
            (tmp_path / ("b" if entry.name == "a" else "a")).unlink()
    assert gone == [("b",)]


def test_the_size_of_a_tree_is_counted_without_following_links(top: Path) -> None:
    size, files, complete = disk_usage(top, lambda: True)
    assert (files, complete) == (5, True)
    assert size == sum((top / name).lstat().st_blocks * 512 for name in ("a/b/x", "z", "out", "a/up", "pipe"))
    assert disk_usage(top / "missing", lambda: True) == (0, 0, True)


def test_counting_ends_when_it_is_told_to(top: Path) -> None:
    left = iter([True, True])
    assert not disk_usage(top, lambda: next(left, False))[2]
