"""Claims decide which processes may run in a workspace at the same time.

Sandboxed processes run side by side. A process with more rights runs what a person approved, so no sandboxed process
may run beside it: it could change the approved files. Claims of this process are kept in memory; a lock on the
runtime's directory in the workspace represents those of other processes.
"""

import fcntl
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

ClaimKind = Literal["sandboxed", "widened", "outside"]
"""In the sandbox of the run, in one with a grant, or outside."""
STATE_DIRECTORY = ".skills_runtime_sdk"


class Conflict(NamedTuple):
    """Why a claim cannot be made now."""

    kind: ClaimKind | None
    """The kind of the conflicting claim; unknown if another process holds it."""
    holder: str = ""
    lasting: bool = False
    """Waiting does not help: the claim belongs to a session, which ends when its owner ends it."""


class Claim:
    """The right of a process to run in a workspace, until it is released."""

    def __init__(
        self, kind: ClaimKind, holder: str, paths: tuple[str, ...], files: frozenset[str], *, lasting: bool
    ) -> None:
        self.kind: ClaimKind = kind
        self.holder = holder
        self.lasting = lasting
        self._paths = paths
        self.files = files
        """The real paths of the files it executes, which must not change meanwhile."""
        self.lock: _DirectoryLock | None = None

    def conflicts_with(self, other: "Claim") -> bool:
        """Return whether the two claims exclude each other."""
        if self.kind == other.kind and self.kind != "widened":
            return False
        return any(
            own_path.startswith(other_path) or other_path.startswith(own_path)
            for own_path in self._paths
            for other_path in other._paths
        )

    def relax(self) -> None:
        """Admit sandboxed processes beside this one, which is sandboxed too."""
        with _claims_lock:
            self.kind = "sandboxed"
            if self.lock is not None:
                fcntl.flock(self.lock.fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """Release the claim; safe to repeat."""
        with _claims_lock:
            if self not in _claims:
                return
            _claims.remove(self)
            if self.lock is not None:
                self.lock.release()


class _DirectoryLock:
    """The lock that all claims of this process on one workspace share."""

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
            # Closing alone would leave it to a child that was forked meanwhile.
            fcntl.flock(self.fd, fcntl.LOCK_UN)
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
    """Claim a workspace and other paths that a process writes or executes, or return the conflict."""
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
    """Return whether a running process with more rights than the sandbox uses a file; no tool may change it now."""
    with _claims_lock:
        files = [file for claim in _claims if claim.kind != "sandboxed" for file in claim.files]
    return bool(files) and _with_trailing_slash(path).startswith(tuple(_with_trailing_slash(file) for file in files))


def _with_trailing_slash(path: Path | str) -> str:
    return os.path.join(os.path.realpath(path), "")


def _acquire_lock(root: str, *, shared: bool) -> _DirectoryLock | None:
    """Return the lock of a workspace; None without a runtime directory, or without locks in the file system."""
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
