"""Resolve a path to a handle (open directory and name), and read what is there.

Every operation works on the open directory and never follows a link. `resolve` returns a plain path, which can change
before it is used; tools use `RunFiles` instead.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import PathEscape, ValidationFailed, WriteRefused
from skills_runtime.runs.files.paths import (
    HardLinkRule,
    Location,
    PathPolicy,
    check_read,
    check_write,
    escape_path,
    parse_path,
    path_error,
)
from skills_runtime.storage import (
    DIRECTORY,
    MAX_LINKS,
    OPEN_TO_LIST,
    OpenedFile,
    Opener,
    is_claimed,
    list_names,
    open_root,
    read_link,
    resolve_link,
    select_opener,
    sha256_of,
)

Links = Literal["follow", "keep"]
"""Whether a link in the last component is followed."""
Kind = Literal["file", "directory", "symlink", "special"]

MAX_LISTED = 10_000
MAX_DIGEST_BYTES = 1_073_741_824
"""A larger file is not hashed for its record."""

_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
_MAX_TRIES = 8
"""The maximum number of attempts to open a stable file."""
_STABILITY_CHECKS = 8


class PathHandle(msgspec.Struct, frozen=True):
    """A name in an open directory, and its location; the name was not a link when it was resolved.

    Use the name only with `O_NOFOLLOW`, for it can change at any time; the directory cannot.
    """

    parent: int
    name: str
    location: Location


@contextmanager
def locate(policy: PathPolicy, location: Location, opener: Opener, *, links: Links = "follow") -> Generator[PathHandle]:
    """Open the directory that contains a location, following links inside the root."""
    with _root(policy, location) as root:
        parent, name = _descend(root, location.parts, opener, links)
    try:
        parts = parent.parts if name == "." else (*parent.parts, name)
        yield PathHandle(parent.fd, name, Location(location.mount, parts))
    finally:
        os.close(parent.fd)


def predict_location(policy: PathPolicy, location: Location, opener: Opener) -> Location:
    """Return the location of a path after its missing directories are created."""
    with _root(policy, location) as root:
        directory, missing = _open_deepest(root, location.parts, opener)
        try:
            if missing and read_link(directory.fd, missing[0]) is not None:
                raise OSError(errno.ELOOP, "a link leads to something that does not exist")
        finally:
            os.close(directory.fd)
    return Location(location.mount, (*directory.parts, *missing))


@contextmanager
def create_parents(policy: PathPolicy, location: Location, opener: Opener) -> Generator[None]:
    """Create the missing parent directories; remove them again if the body fails."""
    created: list[tuple[str, ...]] = []
    with _root(policy, location) as root:
        try:
            _make_parents(root, policy, location, opener, created)
            yield
        except BaseException:
            for parts in reversed(created):
                with suppress(OSError):
                    parent = opener(root, parts[:-1], DIRECTORY, 0)
                    try:
                        os.rmdir(parts[-1], dir_fd=parent.fd)
                    finally:
                        os.close(parent.fd)
            raise


@contextmanager
def _root(policy: PathPolicy, location: Location) -> Generator[int]:
    fd = open_root(policy.root(location.mount))
    try:
        yield fd
    finally:
        os.close(fd)


def _descend(root: int, parts: tuple[str, ...], opener: Opener, links: Links) -> tuple[OpenedFile, str]:
    """Open the parent directory and return it with the last name, after following links."""
    for _ in range(MAX_LINKS + 1):
        if not parts:
            return opener(root, (), DIRECTORY, 0), "."
        if parts[-1] == "..":
            directory = opener(root, parts, DIRECTORY, 0)
            os.close(directory.fd)
            parts = directory.parts
            continue
        parent, name = opener(root, parts[:-1], DIRECTORY, 0), parts[-1]
        try:
            target = read_link(parent.fd, name) if links == "follow" else None
            if target is not None:
                parts = resolve_link(root, parent.parts, target)
        except BaseException:
            os.close(parent.fd)
            raise
        if target is None:
            return parent, name
        os.close(parent.fd)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _open_deepest(root: int, parts: tuple[str, ...], opener: Opener) -> tuple[OpenedFile, tuple[str, ...]]:
    """Open the deepest existing directory and return it with the missing names."""
    for count in range(len(parts), 0, -1):
        with suppress(FileNotFoundError):
            return opener(root, parts[:count], DIRECTORY, 0), parts[count:]
    return opener(root, (), DIRECTORY, 0), parts


def _make_parents(
    root: int, policy: PathPolicy, location: Location, opener: Opener, created: list[tuple[str, ...]]
) -> None:
    directory, missing = _open_deepest(root, location.parts[:-1], opener)
    current, trail = directory
    try:
        if missing:
            check_write(policy, Location(location.mount, (*trail, *missing, location.parts[-1])))
        for name in missing:
            trail = (*trail, name)
            with suppress(FileExistsError):
                os.mkdir(name, policy.directory_mode, dir_fd=current)
                created.append(trail)
            inner = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = inner
    finally:
        os.close(current)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One directory entry."""

    name: str
    kind: Kind
    size: int
    mode: int
    modified_ns: int


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a directory, sorted; `complete` is false when there are more."""

    entries: tuple[Entry, ...]
    complete: bool


def is_text(name: str) -> bool:
    """Return whether a name from the disk was valid UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def encode_name(name: str) -> str:
    """Encode a name as text: if it is not valid UTF-8, those bytes and `%` become `%XX`."""
    if is_text(name):
        return name
    return "".join(f"%{byte:02X}" if byte >= 0x80 or byte == 0x25 else chr(byte) for byte in os.fsencode(name))


def file_kind(status: os.stat_result) -> Kind:
    """Return the file type."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "special")


def build_entry(name: str, status: os.stat_result) -> Entry:
    """Build an entry from the result of `stat`."""
    return Entry(
        name=encode_name(name),
        kind=file_kind(status),
        size=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
        modified_ns=status.st_mtime_ns,
    )


def list_directory(handle: PathHandle) -> Listing:
    """List a directory."""
    try:
        fd = os.open(handle.name, OPEN_TO_LIST, dir_fd=handle.parent)
    except NotADirectoryError as error:
        name = escape_path(str(handle.location))
        raise ValidationFailed(f"`{name}` is not a directory", hint="read it instead") from error
    try:
        names = list_names(fd, MAX_LISTED + 1)
        return Listing(entries=tuple(_entries(fd, names[:MAX_LISTED])), complete=len(names) <= MAX_LISTED)
    finally:
        os.close(fd)


def _entries(directory: int, names: list[str]) -> Iterator[Entry]:
    for name in names:
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue  # removed in the meantime
        yield build_entry(name, status)


def hash_open_file(fd: int) -> str | None:
    """Hash an open file; return None above `MAX_DIGEST_BYTES`."""
    digest, count = sha256_of(fd, MAX_DIGEST_BYTES + 1) if os.fstat(fd).st_size <= MAX_DIGEST_BYTES else ("", 0)
    return digest if digest and count <= MAX_DIGEST_BYTES else None


def check_regular(status: os.stat_result, handle: PathHandle) -> None:
    """Raise unless `status` is that of a regular file."""
    name = escape_path(str(handle.location))
    if stat.S_ISLNK(status.st_mode):
        raise PathEscape(f"`{name}` became a link while it was opened", hint="try again when nothing else changes it")
    if stat.S_ISDIR(status.st_mode):
        raise ValidationFailed(f"`{name}` is a directory", hint="name a file")
    if not stat.S_ISREG(status.st_mode):
        raise ValidationFailed(f"`{name}` is not a regular file", hint="name a regular file")


def check_unclaimed(policy: PathPolicy, location: Location) -> None:
    """Raise while the file is executed outside the sandbox, as it was approved."""
    if is_claimed(policy.root(location.mount).joinpath(*location.parts)):
        raise WriteRefused(
            f"`{escape_path(str(location))}` is being executed with more rights than the sandbox grants",
            hint="change it when that has ended",
        )


def hard_link_error(handle: PathHandle) -> PathEscape:
    """Build the error for a file with several hard links."""
    return PathEscape(
        f"`{escape_path(str(handle.location))}` has another name, which may be outside (a hard link)",
        hint="copy the file instead of linking it",
    )


def lstat(handle: PathHandle) -> os.stat_result:
    """Return the status of the name without following a link."""
    return os.stat(handle.name, dir_fd=handle.parent, follow_symlinks=False)


@contextmanager
def open_handle(handle: PathHandle, flags: int = os.O_RDONLY, *, hard_links: HardLinkRule = "allow") -> Generator[int]:
    """Open the regular file of that name, never through a link and without blocking on a pipe."""
    fd = _open_without_hard_links(handle, flags) if hard_links == "refuse" else _open_regular(handle, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def _open_regular(handle: PathHandle, flags: int) -> int:
    # Opening a device can have side effects, so check first; the check of the open file is the one that counts.
    check_regular(lstat(handle), handle)
    fd = os.open(handle.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=handle.parent)
    try:
        check_regular(os.fstat(fd), handle)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_without_hard_links(handle: PathHandle, flags: int) -> int:
    """Open a file that has no other hard link."""
    for _ in range(_MAX_TRIES):
        fd = _open_regular(handle, flags)
        try:
            links = os.fstat(fd).st_nlink
            if links == 1 and _is_stable(handle, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if links > 1:
            break
    raise hard_link_error(handle)


def _is_stable(handle: PathHandle, fd: int) -> bool:
    """Return whether the open file is the one of that name, without another hard link during the check.

    A link that is created and removed between two samples changes the ctime, which kernels before 6.13 store only
    coarsely; hence many samples. During an unlink the name can still resolve although `st_nlink` has dropped, so the
    last sample is taken when every unlink in progress has ended.
    """
    samples = [os.fstat(fd)]
    for _ in range(_STABILITY_CHECKS):
        samples += lstat(handle), os.fstat(fd)
    listing = os.open(".", OPEN_TO_LIST, dir_fd=handle.parent)
    try:
        with os.scandir(listing) as names:
            next(names, None)  # waits until nothing changes the directory
    finally:
        os.close(listing)
    samples += lstat(handle), os.fstat(fd)
    facts = {(sample.st_dev, sample.st_ino, sample.st_nlink, sample.st_ctime_ns) for sample in samples}
    return len(facts) == 1 and samples[0].st_nlink == 1


def resolve(policy: PathPolicy, user_path: str, *, for_write: bool = False, opener: Opener | None = None) -> Path:
    """Resolve a path to its real absolute path and check that it may be read, or written; it need not exist."""
    check = check_write if for_write else check_read
    location = parse_path(policy, user_path)
    check(policy, location)
    try:
        real = _real_location(policy, location, opener or select_opener())
    except OSError as error:
        raise path_error(error, user_path) from error
    check(policy, real)
    return policy.root(real.mount).joinpath(*real.parts)


def _real_location(policy: PathPolicy, location: Location, opener: Opener) -> Location:
    try:
        with locate(policy, location, opener) as handle:
            _check_existing(handle, policy.hard_links)
            return handle.location
    except FileNotFoundError:
        return predict_location(policy, location, opener)


def _check_existing(handle: PathHandle, hard_links: HardLinkRule) -> None:
    try:
        status = lstat(handle)
    except FileNotFoundError:
        return
    if file_kind(status) == "directory":
        return
    check_regular(status, handle)
    if hard_links == "refuse" and status.st_nlink > 1:
        raise hard_link_error(handle)
