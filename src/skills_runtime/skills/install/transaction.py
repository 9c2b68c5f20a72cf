"""Change skills and the lock file in one transaction: after a crash each skill is either the old or the new version.

A journal is written before the changes; the next process completes the journal of a dead one. Every version is stored
by its digest for rollback and verified when it is read back.
"""

import os
import shutil
import stat
import string
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import InstallPaths, LockEntry, exclusive_directory, lock_bytes, read_lock
from skills_runtime.skills.install.selection import check_directory_name
from skills_runtime.storage import exchange_paths, remove_tree, stage_directory, sync_path, sync_tree, write_atomic

STAGED = "new"
"""Subdirectory of a work directory that holds staged skills."""
_JOURNAL = "journal.json"


class InstallChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one skill."""

    name: str
    staged: Path | None = None
    """A staged directory that replaces the skill; None leaves the installed directory as it is."""
    digest: str = ""
    remove: bool = False
    entry: LockEntry | None = None
    """The new lock entry; None removes it."""
    expected: str | None = None
    """Digest of the installed version that the user was shown; None if there was none."""


class _Step(msgspec.Struct, frozen=True):
    """One change in the journal."""

    name: str
    staged: str | None
    digest: str
    remove: bool


class _Journal(msgspec.Struct, frozen=True):
    """All changes of a transaction, and the new lock file."""

    work: str
    steps: list[_Step]
    lock: bytes


@contextmanager
def open_work_directory(paths: InstallPaths) -> Generator[Path]:
    """Create a work directory for one command and remove it afterwards."""
    with exclusive_directory(paths.skills.parent):
        work = _create_directory(paths.staging) / f"work-{os.getpid()}-{os.urandom(6).hex()}"
        (work / STAGED).mkdir(mode=0o700, parents=True)
    try:
        yield work
    finally:
        with exclusive_directory(paths.skills.parent):
            if _read_journal(paths) is None:
                remove_tree(work)
                _remove_staging(paths)


def apply_changes(paths: InstallPaths, work: Path, changes: Sequence[InstallChange]) -> None:
    """Apply all changes, or none if another process changed one of the skills meanwhile."""
    for change in changes:
        if change.staged is not None:
            sync_tree(change.staged)
    with exclusive_directory(paths.skills.parent):
        _apply_journal(paths)
        for change in changes:
            path = paths.skills / check_directory_name(change.name)
            if os.path.lexists(path) and not path.is_symlink() and not path.is_dir():
                raise ValidationFailed(f"`{path}` exists and is not a directory", hint="move it away")
            touches = change.staged is not None or change.remove
            if touches and installed_digest(paths, change.name) != change.expected:
                raise ValidationFailed(
                    f"the skill `{change.name}` was changed by another process meanwhile",
                    hint="check the skill and try again",
                )
        lock = read_lock(paths).having({change.name: change.entry for change in changes})
        steps = [
            _Step(change.name, change.staged.name if change.staged else None, change.digest, change.remove)
            for change in changes
        ]
        sync_path(work / STAGED)
        sync_path(work)
        _create_directory(paths.staging)
        journal = _Journal(work.name, steps, lock_bytes(lock))
        write_atomic(paths.staging / _JOURNAL, msgspec.json.encode(journal))
        _apply_journal(paths)


def finish_interrupted(paths: InstallPaths) -> None:
    """Complete the journal of a dead process and delete its leftovers."""
    if not os.path.lexists(paths.staging):
        return
    with exclusive_directory(paths.skills.parent):
        if not os.path.lexists(paths.staging):
            return
        _create_directory(paths.staging)
        _apply_journal(paths)
        for work in paths.staging.iterdir():
            if work.name.startswith("work-") and not _is_alive(work.name):
                remove_tree(work)
        for directory, name in ((paths.staging, _JOURNAL), (paths.lock.parent, paths.lock.name)):
            for draft in directory.glob(f".{name}.*"):
                number = draft.name.removeprefix(f".{name}.").partition(".")[0]
                if not _is_alive(f"draft-{number}-"):
                    draft.unlink(missing_ok=True)
        _remove_staging(paths)


def _remove_staging(paths: InstallPaths) -> None:
    with suppress(OSError):  # not empty: another process is using it
        paths.staging.rmdir()


def installed_digest(paths: InstallPaths, name: str) -> str | None:
    """Return the digest of an installed skill, or None."""
    directory = paths.skills / name
    return hash_directory(directory).digest if directory.is_dir() and not directory.is_symlink() else None


def _apply_journal(paths: InstallPaths) -> None:
    """Apply the journal; every step is idempotent, since a crash may repeat it."""
    journal = _read_journal(paths)
    if journal is None:
        return
    work = paths.staging / journal.work
    _create_directory(paths.skills)
    for step in journal.steps:
        _apply_step(paths, step, work)
    sync_path(paths.skills)
    paths.lock.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(paths.lock, journal.lock, mode=0o644)
    (paths.staging / _JOURNAL).unlink()
    sync_path(paths.staging)


def _apply_step(paths: InstallPaths, step: _Step, work: Path) -> None:
    target = paths.skills / step.name
    backup = work / f"before-{step.name}"
    if step.remove:
        if os.path.lexists(target):
            remove_tree(backup)
            target.rename(backup)
        return
    if step.staged is None or installed_digest(paths, step.name) == step.digest:
        return
    staged = work / STAGED / step.staged
    if not staged.is_dir() or hash_directory(staged).digest != step.digest:
        raise StorageFailed(
            f"the new version of `{step.name}` is damaged in `{paths.staging}`",
            hint=f"delete `{paths.staging / _JOURNAL}`, then install the skill again",
        )
    remove_tree(backup)
    _replace_directory(staged, target, backup)


def _read_journal(paths: InstallPaths) -> _Journal | None:
    path = paths.staging / _JOURNAL
    try:
        journal = msgspec.json.decode(path.read_bytes(), type=_Journal)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageFailed(f"the journal `{path}` is invalid", hint="delete it and try again") from error
    names = [journal.work, *(step.name for step in journal.steps), *(step.staged or "x" for step in journal.steps)]
    for name in names:
        check_directory_name(name)
    return journal


def _is_alive(work: str) -> bool:
    """Return whether the process that created a work directory is still running."""
    number = work.split("-")[1] if work.count("-") >= 2 else ""
    return number.isdigit() and Path(f"/proc/{number}").exists()


def _replace_directory(new: Path, target: Path, backup: Path) -> None:
    # Exchanges both directories in one step where the system can, so that there is always a skill in place.
    if not os.path.lexists(target):
        new.rename(target)
    elif exchange_paths(new, target):
        new.rename(backup)
    else:
        target.rename(backup)
        new.rename(target)
    sync_path(target.parent)


def _create_directory(path: Path) -> Path:
    """Create a directory if needed; refuse a link, since it may lead anywhere."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o755, parents=True)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise ValidationFailed(f"`{path}` is not a directory", hint="remove it and try again")
    return path


_HEX = frozenset(string.hexdigits.lower())
_DIGEST_LENGTH = 64


class VersionStore:
    """Stored versions of skills by digest."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, skill: Path, hashed: Hashed) -> None:
        """Store a version and index it by its public hash."""
        path = self._root / hashed.digest
        if not self._is_intact(path, hashed.digest):
            remove_tree(path)
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with stage_directory(path, mode=0o755) as draft:
                    shutil.copytree(skill, draft, symlinks=True, dirs_exist_ok=True)
                    sync_tree(draft)
            except OSError:
                # Else another process stored the same version meanwhile.
                if not self._is_intact(path, hashed.digest):
                    raise
        by_hash = self._root / "by-hash"
        by_hash.mkdir(exist_ok=True)
        write_atomic(by_hash / hashed.computed_hash, hashed.digest.encode())

    def get(self, digest: str) -> Path | None:
        """Return the directory of a version, or None if it is missing or damaged."""
        if len(digest) != _DIGEST_LENGTH or not _HEX.issuperset(digest):
            return None
        path = self._root / digest
        return path if self._is_intact(path, digest) else None

    def find(self, computed_hash: str) -> Path | None:
        """Return the directory of the version with a public hash, or None."""
        if len(computed_hash) != _DIGEST_LENGTH or not _HEX.issuperset(computed_hash):
            return None
        try:
            digest = (self._root / "by-hash" / computed_hash).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        path = self.get(digest)
        return path if path is not None and hash_directory(path).computed_hash == computed_hash else None

    def _is_intact(self, path: Path, digest: str) -> bool:
        try:
            return path.is_dir() and not path.is_symlink() and hash_directory(path).digest == digest
        except OSError:
            return False
