"""Building a directory aside: under a hidden name until it is whole, then put in place by one rename.

What a killed process leaves under such a name is swept away by one that comes later.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from skills_runtime.errors import AccessRefused, LogLocked, RunExists, StorageFailed
from skills_runtime.runs.layout import DIRECTORY_MODE, RunPaths
from skills_runtime.runs.log import RunLock
from skills_runtime.storage.files import make_directories, remove_empty, remove_tree, spread_out

ABANDONED_SECONDS = 3600
_DRAFT = re.compile(r"\..{1,100}\.[0-9a-f]{12}\.new")


class Draft(NamedTuple):
    """A run directory that nobody knows yet, open to make files in it."""

    path: str
    fd: int


@contextmanager
def made_aside(root: Path) -> Generator[Draft]:
    """A draft of the run that will be at `root`; gone without a trace when the block fails."""
    above = root.parent
    path = f"{above}/.{root.name[:100]}.{os.urandom(6).hex()}.new"
    made: list[Path] = []
    try:
        try:
            os.mkdir(path, DIRECTORY_MODE)  # noqa: PTH102 - done for every run: a `Path` costs more than the call
        except FileNotFoundError:
            made += make_directories(above, mode=DIRECTORY_MODE)
            spread_out(above)
            os.mkdir(path, DIRECTORY_MODE)  # noqa: PTH102 - as above
        sweep(above)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Draft(path, fd)
        finally:
            os.close(fd)
    except BaseException as error:
        remove_tree(path, ignore_errors=True)
        remove_empty(made)
        if isinstance(error, OSError):
            raise _explained(root, error) from error
        raise


def put_in_place(draft: Draft, root: Path) -> None:
    """Let everybody see the run, all at once."""
    try:
        os.rename(draft.path, root)  # noqa: PTH104 - as above
    except OSError as error:
        if root.exists():
            raise RunExists(f"`{root}` already holds a run") from error
        raise


def real_place(draft: Draft, root: Path) -> str:
    """Where the run will really be, whatever links lead there; the system knows it of a directory that is open."""
    try:
        there = os.readlink(f"/proc/self/fd/{draft.fd}")  # noqa: PTH115 - done for every run
        return there.rpartition("/")[0] + f"/{root.name}"
    except OSError:
        return os.path.realpath(root)


@cache
def sweep(directory: Path) -> None:
    """Remove what killed processes left half made; looked for once per process and directory."""
    with suppress(OSError):  # somebody else's drafts are no reason to fail
        now = directory.stat().st_mtime  # the disk's own time, for a draft has just been made here
        with os.scandir(directory) as entries:
            drafts = [one for one in entries if _DRAFT.fullmatch(one.name) and one.is_dir(follow_symlinks=False)]
        for draft in drafts:
            _discard(Path(draft.path), now)


def _discard(draft: Path, now: float) -> None:
    with suppress(LogLocked, OSError):  # whoever holds the lock is still at work
        if now - draft.stat().st_mtime < ABANDONED_SECONDS:
            return
        lock = RunLock(RunPaths(draft).lock)
        try:
            remove_tree(draft, ignore_errors=True)
        finally:
            lock.release()


def _explained(root: Path, error: OSError) -> Exception:
    if isinstance(error, PermissionError):
        return AccessRefused(f"no run can be created at `{root}`: {error.strerror}", hint="choose a writable directory")
    if isinstance(error, FileExistsError):
        return RunExists(f"`{root}` already holds a run")
    return StorageFailed(
        f"no run can be created at `{root}`: {error.strerror}", hint="free some space or choose another disk"
    )
