"""From a place as written to the open directory that really holds it, which is what every operation then uses."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal

import msgspec

from skills_runtime.runs.files.paths import Location, check_write
from skills_runtime.runs.files.policy import PathPolicy
from skills_runtime.storage.beneath import DIRECTORY, MAX_LINKS, Beneath, Opener, follow, open_root, read_link

Links = Literal["follow", "keep"]
"""Whether a link in the last name stands for its target or for itself."""


class Place(msgspec.Struct, frozen=True):
    """A name in an open directory, and where that is; the name was not a link when it was looked at.

    Use the name only with `O_NOFOLLOW`, for it can change at any time; the directory cannot.
    """

    parent: int
    name: str
    location: Location


@contextmanager
def locate(policy: PathPolicy, location: Location, opener: Opener, *, links: Links = "follow") -> Generator[Place]:
    """Open the directory that holds the place, wherever links lead inside the root."""
    with _root(policy, location) as root:
        parent, name = _descend(root, location.parts, opener, links)
    try:
        parts = parent.parts if name == "." else (*parent.parts, name)
        yield Place(parent.fd, name, Location(location.mount, parts))
    finally:
        os.close(parent.fd)


def foresee(policy: PathPolicy, location: Location, opener: Opener) -> Location:
    """Where a place will be once its missing directories are made."""
    with _root(policy, location) as root:
        found, missing = _deepest(root, location.parts, opener)
        try:
            if missing and read_link(found.fd, missing[0]) is not None:
                raise OSError(errno.ELOOP, "a link leads to something that does not exist")
        finally:
            os.close(found.fd)
    return Location(location.mount, (*found.parts, *missing))


@contextmanager
def parents_made(policy: PathPolicy, location: Location, opener: Opener) -> Generator[None]:
    """Make the missing directories above a place, and take them away again if the body fails."""
    made: list[tuple[str, ...]] = []
    with _root(policy, location) as root:
        try:
            _make_parents(root, policy, location, opener, made)
            yield
        except BaseException:
            _unmake(root, made, opener)
            raise


@contextmanager
def _root(policy: PathPolicy, location: Location) -> Generator[int]:
    fd = open_root(policy.root(location.mount))
    try:
        yield fd
    finally:
        os.close(fd)


def _descend(root: int, parts: tuple[str, ...], opener: Opener, links: Links) -> tuple[Beneath, str]:
    """The open parent and the last name, after every link was followed that should be."""
    for _ in range(MAX_LINKS + 1):
        if not parts:
            return opener(root, (), DIRECTORY, 0), "."
        if parts[-1] == "..":
            parts = _real(root, parts, opener)
            continue
        parent, name = opener(root, parts[:-1], DIRECTORY, 0), parts[-1]
        try:
            target = read_link(parent.fd, name) if links == "follow" else None
            if target is not None:
                parts = follow(root, parent.parts, target)
        except BaseException:
            os.close(parent.fd)
            raise
        if target is None:
            return parent, name
        os.close(parent.fd)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _real(root: int, parts: tuple[str, ...], opener: Opener) -> tuple[str, ...]:
    found = opener(root, parts, DIRECTORY, 0)
    os.close(found.fd)
    return found.parts


def _deepest(root: int, parts: tuple[str, ...], opener: Opener) -> tuple[Beneath, tuple[str, ...]]:
    """The longest leading directory that exists, and the names missing after it."""
    for count in range(len(parts), 0, -1):
        with suppress(FileNotFoundError):
            return opener(root, parts[:count], DIRECTORY, 0), parts[count:]
    return opener(root, (), DIRECTORY, 0), parts


def _make_parents(
    root: int, policy: PathPolicy, location: Location, opener: Opener, made: list[tuple[str, ...]]
) -> None:
    found, missing = _deepest(root, location.parts[:-1], opener)
    here, trail = found
    try:
        if missing:
            check_write(policy, Location(location.mount, (*trail, *missing, location.parts[-1])))
        for name in missing:
            trail = (*trail, name)
            with suppress(FileExistsError):
                os.mkdir(name, policy.directory_mode, dir_fd=here)
                made.append(trail)
            inner = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
    finally:
        os.close(here)


def _unmake(root: int, made: list[tuple[str, ...]], opener: Opener) -> None:
    for parts in reversed(made):
        with suppress(OSError):
            parent = opener(root, parts[:-1], DIRECTORY, 0)
            try:
                os.rmdir(parts[-1], dir_fd=parent.fd)
            finally:
                os.close(parent.fd)
