"""One contract for both ways of opening beneath a directory."""

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skills_runtime.storage.beneath import (
    DIRECTORY,
    Opener,
    open_beneath,
    open_by_kernel,
    open_by_walk,
    open_root,
    open_root_by_walk,
    resolve_parts,
    select_opener,
)


@contextmanager
def opened(path: Path, opener: Callable[[Path], int] = open_root) -> Generator[int]:
    fd = opener(path)
    try:
        yield fd
    finally:
        os.close(fd)


def read(opener: Opener, root: Path, path: str) -> tuple[bytes, tuple[str, ...]]:
    """The content, and the names that really led to it."""
    with opened(root) as root_fd:
        found = opener(root_fd, path.split("/"), os.O_RDONLY, 0)
        try:
            return os.read(found.fd, 100), found.parts
        finally:
            os.close(found.fd)


def refusal(opener: Opener, root: Path, path: str, flags: int = os.O_RDONLY) -> int | None:
    with opened(root) as root_fd, pytest.raises(OSError, match=r".") as refused:
        opener(root_fd, path.split("/"), flags, 0)
    return refused.value.errno


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    path = tmp_path / "root"
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "b" / "x").write_text("inside")
    (path / "top").write_text("top")
    assert outside.exists()
    return path


def test_a_file_is_opened_with_its_names(opener: Opener, root: Path) -> None:
    assert read(opener, root, "a/b/x") == (b"inside", ("a", "b", "x"))


def test_the_root_itself_is_opened(opener: Opener, root: Path) -> None:
    with opened(root) as root_fd:
        found = opener(root_fd, (), DIRECTORY, 0)
        try:
            assert os.path.samestat(os.fstat(found.fd), root.stat())
            assert found.parts == ()
        finally:
            os.close(found.fd)


@pytest.mark.parametrize(
    ("link", "target", "path", "parts"),
    [
        ("l", "top", "l", ("top",)),
        ("l", "a/b", "l/x", ("a", "b", "x")),
        ("a/l", "b/../../top", "a/l", ("top",)),
        ("a/b/l", "..", "a/b/l/b/x", ("a", "b", "x")),
        ("l", ".", "l/top", ("top",)),
        ("l", "{root}/a/b/x", "l", ("a", "b", "x")),
        ("l", "{root}", "l/l/l/top", ("top",)),
        ("l", "{root}/a/../top", "l", ("top",)),
    ],
)
def test_a_link_that_stays_inside_is_followed(
    opener: Opener, root: Path, link: str, target: str, path: str, parts: tuple[str, ...]
) -> None:
    (root / link).symlink_to(target.format(root=root))
    assert read(opener, root, path) == ((root / "/".join(parts)).read_bytes(), parts)


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("l", "../outside/x", "l"),
        ("l", "../outside", "l/x"),
        ("l", "{outside}/x", "l"),
        ("l", "{outside}", "l/x"),
        ("l", "/", "l/etc/passwd"),
        ("l", "a/../../outside/x", "l"),
        ("l", "../root/top", "l"),
        ("l", "..", "l/root/top"),
        ("a/b/l", "../../../outside", "a/b/l/x"),
        ("l", "{root}/../outside/x", "l"),
        ("l", "{root}-evil/x", "l"),
        ("l", "/proc/self/root/etc/passwd", "l"),
        ("l", "/proc/self/cwd", "l/x"),
    ],
)
def test_a_link_that_leaves_is_refused(
    opener: Opener, root: Path, outside: Path, link: str, target: str, path: str
) -> None:
    (root / link).symlink_to(target.format(root=root, outside=outside))
    assert refusal(opener, root, path) == errno.EXDEV


def test_parent_segments_cannot_climb_out(opener: Opener, root: Path) -> None:
    assert refusal(opener, root, "a/../../outside/x") == errno.EXDEV
    assert refusal(opener, root, "..") == errno.EXDEV


def test_forty_links_are_followed_and_one_more_is_not(opener: Opener, root: Path) -> None:
    (root / "l0").symlink_to("top")
    for number in range(1, 41):
        (root / f"l{number}").symlink_to(f"l{number - 1}")
    assert read(opener, root, "l39")[0] == b"top"
    assert refusal(opener, root, "l40") == errno.ELOOP


def test_a_link_to_itself_is_refused(opener: Opener, root: Path) -> None:
    (root / "l").symlink_to("l")
    assert refusal(opener, root, "l") == errno.ELOOP
    assert refusal(opener, root, "l/x") == errno.ELOOP


def test_a_last_link_is_not_followed_when_that_is_asked_for(opener: Opener, root: Path) -> None:
    (root / "l").symlink_to("top")
    assert refusal(opener, root, "l", os.O_RDONLY | os.O_NOFOLLOW) == errno.ELOOP


def test_a_last_link_is_followed_even_when_the_target_is_only_to_be_named(opener: Opener, root: Path) -> None:
    (root / "l").symlink_to("top")
    with opened(root) as root_fd:
        found = opener(root_fd, ("l",), os.O_PATH, 0)
        try:
            assert os.path.samestat(os.fstat(found.fd), (root / "top").stat())
            assert found.parts == ("top",)
        finally:
            os.close(found.fd)


def test_a_file_is_created_only_once_with_exclusive_flags(opener: Opener, root: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with opened(root) as root_fd:
        os.close(opener(root_fd, ("a", "new"), flags, 0o600).fd)
    assert (root / "a" / "new").stat().st_mode & 0o777 == 0o600
    assert refusal(opener, root, "a/new", flags) == errno.EEXIST


@pytest.mark.parametrize(("path", "code"), [("missing", errno.ENOENT), ("top/x", errno.ENOTDIR), ("m/x", errno.ENOENT)])
def test_a_missing_path_is_reported_plainly(opener: Opener, root: Path, path: str, code: int) -> None:
    assert refusal(opener, root, path) == code


def test_descriptors_are_closed_on_exec_and_never_leaked(
    opener: Opener, root: Path, descriptors: Callable[[], int]
) -> None:
    (root / "l").symlink_to("a/b/../../../outside")
    (root / "m").symlink_to("a/b")
    before = descriptors()
    for path in ("l/x", "m/x/y", "m/missing", "l"):
        refusal(opener, root, path)
    with opened(root) as root_fd:
        found = opener(root_fd, ("m", "x"), os.O_RDONLY, 0)
        assert not os.get_inheritable(found.fd)
        os.close(found.fd)
    assert descriptors() == before


@pytest.mark.parametrize("open_it", [open_root, open_root_by_walk])
def test_a_root_reached_through_a_link_is_refused(open_it: Callable[[Path], int], root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    for path in (tmp_path / "alias", tmp_path / "alias" / "a"):
        with pytest.raises(OSError, match=r".") as refused:
            open_it(path)
        assert refused.value.errno == errno.ELOOP


@pytest.mark.parametrize("open_it", [open_root, open_root_by_walk])
def test_a_root_is_the_directory_it_names(open_it: Callable[[Path], int], root: Path) -> None:
    with opened(root, open_it) as fd:
        assert os.path.samestat(os.fstat(fd), root.stat())


def test_the_names_of_an_open_directory_follow_it_when_it_moves(root: Path) -> None:
    with opened(root) as root_fd, opened(root / "a" / "b") as fd:
        assert resolve_parts(root_fd, fd) == ("a", "b")
        (root / "a" / "b").rename(root / "c")
        assert resolve_parts(root_fd, fd) == ("c",)


def test_a_directory_moved_outside_is_no_longer_beneath(root: Path, outside: Path) -> None:
    with opened(root) as root_fd, opened(root / "a" / "b") as fd:
        (root / "a" / "b").rename(outside / "b")
        with pytest.raises(OSError, match="leads out"):
            resolve_parts(root_fd, fd)


def test_a_sibling_whose_name_begins_alike_is_not_beneath(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root-evil").mkdir()
    with opened(root) as root_fd, opened(tmp_path / "root-evil") as fd, pytest.raises(OSError, match="leads out"):
        resolve_parts(root_fd, fd)


def test_the_best_way_of_this_system_is_chosen_once(root: Path) -> None:
    assert select_opener() in (open_by_kernel, open_by_walk)
    assert select_opener() is select_opener()
    with opened(root) as root_fd:
        fd = open_beneath(root_fd, ("top",), os.O_RDONLY)
        try:
            assert os.read(fd, 9) == b"top"
        finally:
            os.close(fd)
