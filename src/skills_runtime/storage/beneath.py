"""Open paths beneath a directory so that no link, `..` or race can lead out of it.

Two implementations of one contract: the kernel's `openat2`, and a walk where the kernel lacks it. Both follow links
that stay beneath the root and raise `EXDEV` for anything that would leave it. Knows nothing of policies.
"""

import ctypes
import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

MAX_LINKS = 40
"""The kernel follows at most this many links in one path."""
DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""Opens a directory only for further lookups."""

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_MAX_ATTEMPTS = 64


class OpenedFile(NamedTuple):
    """An open file and the names that really lead to it from the root, links resolved."""

    fd: int
    parts: tuple[str, ...]


Opener = Callable[[int, Sequence[str], int, int], OpenedFile]
"""Takes root, names, flags and mode; returns an open file."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def select_opener() -> Opener:
    """Return the opener for this kernel: `openat2` if available, else the walk; detected once per process."""
    try:
        fd = _openat2(Path("/"), DIRECTORY, resolve=_RESOLVE_NO_SYMLINKS)
    except OSError:
        return open_by_walk
    try:
        return open_by_kernel if _read_fd_path(fd) == "/" else open_by_walk
    finally:
        os.close(fd)


def open_beneath(root_fd: int, parts: Sequence[str], flags: int, mode: int = 0) -> int:
    """Open a path beneath the root; links are followed as long as they stay beneath it."""
    return select_opener()(root_fd, parts, flags, mode).fd


def open_root(path: Path) -> int:
    """Open a real directory; refuse a link anywhere in its path, because another process may have created it."""
    if select_opener() is open_by_kernel:
        return _openat2(path, DIRECTORY, resolve=_RESOLVE_NO_SYMLINKS)
    return open_root_by_walk(path)


def open_root_by_walk(path: Path) -> int:
    """Open a real directory one component at a time, where the kernel lacks `openat2`."""
    top = os.open("/", DIRECTORY)
    try:
        return _open_directory_by_names(top, path.parts[1:])
    finally:
        os.close(top)


def open_by_kernel(root_fd: int, parts: Sequence[str], flags: int, mode: int = 0) -> OpenedFile:
    """Open with `openat2`, which resolves and opens in one atomic step."""
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
    try:
        fd = _openat2("/".join(parts) or ".", flags, mode=mode, resolve=resolve, dir_fd=root_fd)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EAGAIN):
            raise
        # openat2 refuses absolute links and may fail forever during renames; the walk handles both.
        return open_by_walk(root_fd, parts, flags, mode)
    try:
        return OpenedFile(fd, resolve_parts(root_fd, fd))
    except BaseException:
        os.close(fd)
        raise


def open_by_walk(root_fd: int, parts: Sequence[str], flags: int, mode: int = 0) -> OpenedFile:
    """Open one component at a time; links are read here, never followed by the kernel."""
    pending, walk = deque(parts), _Walk(root_fd)
    try:
        while pending:
            name = pending.popleft()
            if name == "..":
                walk.leave()
                continue
            fd = _open_name(walk.here, name, flags if not pending else DIRECTORY, mode)
            if fd is None:
                pending.extendleft(reversed(walk.read(name)))
            elif pending:
                walk.enter(fd, name)
            else:
                return OpenedFile(fd, (*walk.trail, name))
        return OpenedFile(os.open(".", flags | os.O_CLOEXEC, mode, dir_fd=walk.here), walk.trail)
    finally:
        os.close(walk.here)


def resolve_parts(root_fd: int, fd: int) -> tuple[str, ...]:
    """Return the names that lead from the root to an open file now; raise `EXDEV` if it is not beneath the root."""
    root, path = _read_fd_path(root_fd).rstrip("/"), _read_fd_path(fd)
    if path != root and not path.startswith(root + "/"):
        raise _escape_error()
    return split_link_target(path[len(root) :])


def resolve_link(root_fd: int, parts: Sequence[str], target: str) -> tuple[str, ...]:
    """Return the target of a link in directory `parts` as names from the root, which may contain `..`."""
    if not target.startswith("/"):
        return (*parts, *split_link_target(target))
    try:
        root = split_link_target(_read_fd_path(root_fd))
    except FileNotFoundError:
        raise _escape_error() from None
    names = split_link_target(target)
    if names[: len(root)] != root:
        raise _escape_error()
    return names[len(root) :]


def split_link_target(target: str) -> tuple[str, ...]:
    """Split the target of a link into names."""
    return tuple(part for part in target.split("/") if part not in ("", "."))


def read_link(dir_fd: int, name: str) -> str | None:
    """Return the target of a link, or None if the name is not a link."""
    try:
        return os.readlink(name, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


class _Walk:
    """The position of the walk: an open directory, and the names that led to it from the root."""

    def __init__(self, root_fd: int) -> None:
        self.root = root_fd
        self.here = _open_directory_by_names(root_fd, ())
        self.trail: tuple[str, ...] = ()
        self.links = 0

    def enter(self, fd: int, name: str) -> None:
        os.close(self.here)
        self.here, self.trail = fd, (*self.trail, name)

    def leave(self) -> None:
        """Go up by the names walked so far: the real `..` of a directory that was moved could be outside."""
        if not self.trail:
            raise _escape_error()
        self._restart(self.trail[:-1])

    def read(self, name: str) -> tuple[str, ...]:
        """Return the names that a link stands for, relative to the new position."""
        self.links += 1
        if self.links > MAX_LINKS:
            raise _loop_error()
        target = read_link(self.here, name)
        if target is None:  # replaced meanwhile: check again
            return (name,)
        if not target.startswith("/"):
            return split_link_target(target)
        self._restart(())
        return resolve_link(self.root, (), target)

    def _restart(self, trail: tuple[str, ...]) -> None:
        fd = _open_directory_by_names(self.root, trail)
        os.close(self.here)
        self.here, self.trail = fd, trail


def _openat2(path: str | Path, flags: int, *, resolve: int, mode: int = 0, dir_fd: int = -100) -> int:
    """Call `openat2`; repeat it a bounded number of times when interrupted or when a rename interferes."""
    number = errno.ENOSYS
    how = _OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, resolve)
    for _ in range(_MAX_ATTEMPTS if sys.platform == "linux" else 0):
        ctypes.set_errno(0)
        fd = _syscall()(_OPENAT2, dir_fd, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return int(fd)
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), str(path))


@cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    return call


def _read_fd_path(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - the text must stay as it is


def _escape_error() -> OSError:
    return OSError(errno.EXDEV, "leads out of the directory")


def _loop_error() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _open_directory_by_names(root_fd: int, parts: Sequence[str]) -> int:
    """Open a directory by names, none of which may be a link."""
    directory_fd = os.open(".", DIRECTORY, dir_fd=root_fd)
    for name in parts:
        try:
            inner = _open_name(directory_fd, name, DIRECTORY, 0)
        finally:
            os.close(directory_fd)
        if inner is None:
            raise _loop_error()
        directory_fd = inner
    return directory_fd


def _open_name(directory_fd: int, name: str, flags: int, mode: int) -> int | None:
    """Open one name; return None if it is a link that the caller follows."""
    follows = not flags & os.O_NOFOLLOW
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory_fd)
    except OSError as error:
        if follows and (
            error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link_or_directory(directory_fd, name))
        ):
            return None
        raise
    if follows and stat.S_ISLNK(os.fstat(fd).st_mode):  # `O_PATH` opens the link itself
        os.close(fd)
        return None
    return fd


def _is_link_or_directory(directory_fd: int, name: str) -> bool:
    """Return whether the name is a link, or was replaced by a directory meanwhile."""
    mode = os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode
    return stat.S_ISLNK(mode) or stat.S_ISDIR(mode)
