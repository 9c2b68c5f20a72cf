"""Files that are seen whole or not at all, whatever fails, and the removal of trees."""

import errno
import hashlib
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.storage import files
from skills_runtime.storage.files import (
    append,
    atomic_file,
    copy_at_most,
    create_directories,
    exchange_paths,
    open_regular,
    read_at_most,
    read_regular,
    remove_empty_directories,
    remove_tree,
    sha256_of,
    sha256_of_path,
    stage_directory,
    sync_path,
    sync_tree,
    wrap_write_errors,
    write_all,
    write_atomic,
    write_new,
)
from tests.support.tools import tree
from tests.support.users import Unprivileged


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The system calls that put a file in place, in their order, each with what it was called for."""
    made: list[tuple[str, str]] = []

    def record(name: str, subject: Callable[..., str]) -> None:
        real = getattr(os, name)

        def call(*given: Any, **named: Any) -> Any:
            made.append((name, subject(*given)))
            return real(*given, **named)

        monkeypatch.setattr(os, name, call)

    def kind(fd: int) -> str:
        return "directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"

    def target(_: str, path: Path) -> str:
        return path.name

    record("fsync", kind)
    record("rename", target)
    record("link", target)
    return made


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    write_new(tmp_path / "a", b"x")
    assert mode_of(tmp_path / "a") == 0o600


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_new_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert not (tmp_path / "target").exists()


def test_a_new_file_lies_in_an_open_directory(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        write_new("a", b"x", mode=0o400, dir_fd=fd, durable=True)
    finally:
        os.close(fd)
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"x", 0o400)


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_and_no_draft_stays(tmp_path: Path, durable: bool) -> None:
    (tmp_path / "a").write_bytes(b"old")
    write_atomic(tmp_path / "a", b"new", durable=durable)
    assert {name: entry.content for name, entry in tree(tmp_path).items()} == {"a": b"new"}


def test_a_replaced_file_gets_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").touch(mode=0o600)
    write_atomic(tmp_path / "a", b"new", mode=0o644)
    assert mode_of(tmp_path / "a") == 0o644
    write_atomic(tmp_path / "a", b"new")
    assert mode_of(tmp_path / "a") == 0o600


def test_a_file_with_the_longest_name_is_written(tmp_path: Path) -> None:
    write_atomic(tmp_path / ("n" * 255), b"x")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"x"


def test_a_long_name_of_wide_characters_is_written(tmp_path: Path) -> None:
    write_atomic(tmp_path / ("名" * 85), b"x")
    assert (tmp_path / ("名" * 85)).read_bytes() == b"x"


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("unnamed", [True, False])
def test_a_file_is_written_into_an_open_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool, unnamed: bool
) -> None:
    if not unnamed:
        monkeypatch.setattr(files, "_UNNAMED", os.O_WRONLY | os.O_DIRECTORY)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        write_atomic("a", b"first", replace=replace, dir_fd=fd)
        if replace:
            write_atomic("a", b"second", dir_fd=fd)
        else:
            with pytest.raises(FileExistsError):
                write_atomic("a", b"second", replace=False, dir_fd=fd)
    finally:
        os.close(fd)
    assert {name: entry.content for name, entry in tree(tmp_path).items()} == {"a": b"second" if replace else b"first"}


def test_a_file_written_in_pieces_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a", mode=0o644) as fd:
        write_all(fd, b"one ")
        assert not (tmp_path / "a").exists()
        write_all(fd, b"two")
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"one two", 0o644)
    before = tree(tmp_path)

    def write_half(to: int) -> None:
        write_all(to, b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), atomic_file(tmp_path / "a") as fd:
        write_half(fd)
    assert tree(tmp_path) == before


def test_a_staged_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with stage_directory(tmp_path / "a", mode=0o755) as draft:
        (draft / "x").write_bytes(b"x")
        assert not (tmp_path / "a").exists()
    assert mode_of(tmp_path / "a") == 0o755
    before = tree(tmp_path)
    with pytest.raises(FileNotFoundError), stage_directory(tmp_path / "b") as draft:
        (draft / "missing" / "x").mkdir()
    with pytest.raises(OSError, match="not empty"), stage_directory(tmp_path / "a") as draft:
        (draft / "y").write_bytes(b"y")
    assert tree(tmp_path) == before


def test_a_relative_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic("a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


def test_replacing_a_link_replaces_the_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    write_atomic(tmp_path / "a", b"new")
    assert ((tmp_path / "target").read_bytes(), (tmp_path / "a").read_bytes()) == (b"mine", b"new")


def test_a_file_that_must_be_new_is_not_replaced(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"first", replace=False)
    with pytest.raises(FileExistsError):
        write_atomic(tmp_path / "a", b"second", replace=False)
    assert {name: entry.content for name, entry in tree(tmp_path).items()} == {"a": b"first"}


def test_a_replacement_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").touch()
    before = tree(tmp_path)
    with pytest.raises(OSError, match="directory"):
        write_atomic(tmp_path / "a", b"new")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("broken", ["open", "write", "fsync", "rename"])
def test_whatever_fails_the_old_file_stays_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    before = tree(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, full)
        with pytest.raises(OSError, match="space"):
            write_atomic(tmp_path / "a", b"new")
    assert tree(tmp_path) == before


def test_an_interrupted_write_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_atomic(tmp_path / "a", b"new")
    assert tree(tmp_path) == {}


def test_durable_means_bytes_before_the_name_and_the_name_at_last(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    write_atomic(tmp_path / "a", b"x")
    assert calls == [("fsync", "file"), ("rename", "a"), ("fsync", "directory")]


def test_a_new_name_is_durable_too(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    write_atomic(tmp_path / "a", b"x", replace=False)
    assert calls == [("fsync", "file"), ("link", "a"), ("fsync", "directory")]


def test_what_need_not_be_durable_does_not_wait_for_the_disk(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    write_atomic(tmp_path / "a", b"x", durable=False)
    assert calls == [("rename", "a")]


def test_every_byte_is_written_however_few_the_system_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def a_few(to: int, data: bytes) -> int:
        return real(to, bytes(data)[:3])

    fd = os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", a_few)
            write_all(fd, b"0123456789")
            write_all(fd, b"")
    finally:
        os.close(fd)
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_a_file_grows_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    append(tmp_path / "a", b" and new")
    assert (tmp_path / "a").read_bytes() == b"old and new"


def test_nothing_is_appended_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(StorageFailed, match="could not be written"), wrap_write_errors(tmp_path / "a"):
        append(tmp_path / "a", b"new")
    assert (tmp_path / "target").read_bytes() == b"mine"


def test_an_ordinary_user_is_told_which_file_could_not_be_written(unprivileged: Unprivileged) -> None:
    directory = unprivileged.path / "closed"

    def child() -> None:
        directory.mkdir(mode=0o500)
        with wrap_write_errors(directory / "a"):
            write_atomic(directory / "a", b"x")

    with pytest.raises(StorageFailed, match="closed/a` could not be written: Permission denied"):
        unprivileged(child)


def test_only_a_regular_file_is_opened_for_reading(tmp_path: Path, descriptors: Callable[[], int]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_bytes(b"0123456789")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        before = descriptors()
        for name in ("pipe", "link", "socket", "missing", "."):
            with pytest.raises(OSError, match=r"."):
                open_regular(tmp_path / name)
        assert descriptors() == before
    fd = open_regular(tmp_path / "file")
    try:
        assert (read_at_most(fd, 4), read_at_most(fd, 100), read_at_most(fd, 0)) == (b"0123", b"456789", b"")
    finally:
        os.close(fd)


def test_a_copy_and_a_digest_end_at_their_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    source, target = open_regular(tmp_path / "a"), os.open(tmp_path / "b", os.O_WRONLY | os.O_CREAT)
    try:
        assert copy_at_most(source, target, 4) == 4
        assert sha256_of(source, 3) == (hashlib.sha256(b"456").hexdigest(), 3)
        assert sha256_of(source, 100) == (hashlib.sha256(b"789").hexdigest(), 3)
    finally:
        os.close(source)
        os.close(target)
    assert (tmp_path / "b").read_bytes() == b"0123"
    assert sha256_of_path(tmp_path / "a", 10) == hashlib.sha256(b"0123456789").hexdigest()


@pytest.mark.parametrize("read", [read_regular, sha256_of_path])
def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, read: Callable[[Path, int], object]) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with pytest.raises(OSError, match="more than 9") as raised:
        read(tmp_path / "a", 9)
    assert raised.value.errno == errno.EFBIG


def test_a_tree_is_synced_without_following_links(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").touch()
    (tmp_path / "a" / "link").symlink_to("/nowhere")
    sync_tree(tmp_path / "a")
    assert sorted(kind for _, kind in calls) == ["directory", "directory", "file"]
    with pytest.raises(FileNotFoundError):
        sync_path(tmp_path / "missing")


def test_missing_directories_are_made_private_and_durable(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    assert create_directories(tmp_path / "a" / "b") == [tmp_path / "a", tmp_path / "a" / "b"]
    assert [mode_of(tmp_path / "a"), mode_of(tmp_path / "a" / "b")] == [0o700, 0o700]
    assert calls == [("fsync", "directory"), ("fsync", "directory")]
    assert create_directories(tmp_path / "a") == []


def test_directories_are_taken_back_where_one_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="long"):
        create_directories(tmp_path / "a" / ("n" * 256))
    assert tree(tmp_path) == {}


def test_only_empty_directories_are_taken_back(tmp_path: Path) -> None:
    made = create_directories(tmp_path / "a" / "b" / "c")
    (tmp_path / "a" / "x").touch()
    remove_empty_directories(made)
    assert sorted(tree(tmp_path)) == ["a", "a/x"]


@pytest.mark.parametrize("ignore_errors", [True, False])
def test_a_tree_is_removed_and_what_links_lead_to_stays(tmp_path: Path, ignore_errors: bool) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    for name in ("a", "link", "missing"):
        remove_tree(tmp_path / name, ignore_errors=ignore_errors)
    assert sorted(tree(tmp_path)) == ["outside", "outside/x"]


def test_an_ordinary_user_removes_read_only_directories_of_their_own(unprivileged: Unprivileged) -> None:
    top = unprivileged.path / "top"

    def child() -> bool:
        (top / "a" / "b").mkdir(parents=True)
        (top / "a" / "b" / "x").touch()
        for path in (top / "a" / "b", top / "a", top):
            path.chmod(0o500)
        remove_tree(top)
        return top.exists()

    assert not unprivileged(child)


def test_what_cannot_be_removed_is_raised_or_left() -> None:
    with pytest.raises(OSError, match=r"."):
        remove_tree("/proc/self/comm")
    remove_tree("/proc/self/comm", ignore_errors=True)


def test_two_directories_change_places(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "x").touch()
    if exchange_paths(tmp_path / "a", tmp_path / "b"):
        assert sorted(tree(tmp_path)) == ["a", "b", "b/x"]
    else:
        assert sorted(tree(tmp_path)) == ["a", "a/x", "b"]


def test_nothing_changes_places_with_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(FileNotFoundError):
        exchange_paths(tmp_path / "a", tmp_path / "b")
    assert sorted(tree(tmp_path)) == ["a"]
