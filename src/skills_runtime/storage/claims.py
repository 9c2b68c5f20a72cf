"""Which processes may be alive in a workspace at the same time.

Sandboxed processes work side by side. What runs with more rights than they have runs what a person approved, so none of
them may be alive beside it: it could change that in the meantime. This process knows its own claims; a lock on the
runtime's directory in the workspace stands for those of its other processes.
"""

import fcntl
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

ClaimKind = Literal["sandboxed", "widened", "outside"]
"""In the sandbox of the run, in one with a grant, or in none."""
STATE_DIRECTORY = ".skills_runtime_sdk"


class Conflict(NamedTuple):
    """Why a claim cannot be made now."""

    kind: ClaimKind | None
    """What stands in the way; unknown where it belongs to another process."""
    holder: str = ""
    lasting: bool = False
    """Waiting is no use: it is a session, which ends when its owner wants it."""


class Claim:
    """The right to be alive in a workspace, until it is released."""

    def __init__(
        self, kind: ClaimKind, holder: str, paths: tuple[str, ...], files: frozenset[str], *, lasting: bool
    ) -> None:
        self.kind: ClaimKind = kind
        self.holder = holder
        self.lasting = lasting
        self._paths = paths
        self.files = files
        """The real paths of what it runs, which must not change meanwhile."""
        self.lock: _DirectoryLock | None = None

    def conflicts_with(self, other: "Claim") -> bool:
        """Whether both cannot be alive at the same time."""
        if self.kind == other.kind and self.kind != "widened":
            return False
        return any(
            own_path.startswith(other_path) or other_path.startswith(own_path)
            for own_path in self._paths
            for other_path in other._paths
        )

    def relax(self) -> None:
        """Let sandboxed processes in beside this one, which is in a sandbox too."""
        with _claims_lock:
            self.kind = "sandboxed"
            if self.lock is not None:
                fcntl.flock(self.lock.fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """Give it up; harmless when that was done."""
        with _claims_lock:
            if self not in _claims:
                return
            _claims.remove(self)
            if self.lock is not None:
                self.lock.release()


class _DirectoryLock:
    """The lock that the claims of this process on one workspace share."""

    def __init__(self, path: str, fd: int) -> None:
        self.fd = fd
        self._path = path
        self._count = 1

    def acquire(self) -> "_DirectoryLock":
        self._count += 1
        return self

    def release(self) -> None:
        self._count -= 1
        if not self._count:
            del _locks[self._path]
            fcntl.flock(self.fd, fcntl.LOCK_UN)  # closing alone would leave it to a child that was forked meanwhile
            os.close(self.fd)


_claims_lock = threading.Lock()
_claims: list[Claim] = []
_locks: dict[str, _DirectoryLock] = {}


def try_claim(
    kind: ClaimKind,
    holder: str,
    *,
    workspace: Path,
    paths: Iterable[Path | str] = (),
    files: Iterable[Path | str] = (),
    lasting: bool = False,
) -> Claim | Conflict:
    """Claim a workspace and other places that a process writes to or runs files of, or say what is in the way."""
    root = _with_trailing_slash(workspace)
    executed_files = frozenset(os.path.realpath(file) for file in files)
    claimed_paths = (*(_with_trailing_slash(path) for path in paths), *(f"{file}/" for file in executed_files))
    claim = Claim(kind, holder, claimed_paths, executed_files, lasting=lasting)
    with _claims_lock:
        for other in _claims:
            if claim.conflicts_with(other):
                return Conflict(other.kind, other.holder, other.lasting)
        if root in claimed_paths:
            try:
                claim.lock = _acquire_lock(root, shared=kind == "sandboxed")
            except BlockingIOError:
                return Conflict(None)
        _claims.append(claim)
    return claim


def is_claimed(path: Path | str) -> bool:
    """Whether a file is, or lies in, what runs with more rights than the sandbox gives: no tool may change it now."""
    with _claims_lock:
        files = [file for claim in _claims if claim.kind != "sandboxed" for file in claim.files]
    return bool(files) and _with_trailing_slash(path).startswith(tuple(_with_trailing_slash(file) for file in files))


def _with_trailing_slash(path: Path | str) -> str:
    return os.path.join(os.path.realpath(path), "")


def _acquire_lock(root: str, *, shared: bool) -> _DirectoryLock | None:
    """The lock of a workspace; nothing where the runtime has no directory, or the file system no locks."""
    lock_in_use = _locks.get(root)
    if lock_in_use is not None:
        return lock_in_use.acquire()
    try:
        fd = os.open(root + STATE_DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            raise
        return None
    _locks[root] = lock = _DirectoryLock(root, fd)
    return lock
