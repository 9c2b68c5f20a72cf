"""Puts skills and the lock file in place together: whatever interrupts it, each skill is the old one or the new one.

What is going to be done is written down before it is done. Whoever comes next finishes what a dead process began. Every
version is kept by its digest, so that it can be put back; what is read from that store is checked.
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
"""The directory of finished skills in that of a command."""
_JOURNAL = "journal.json"


class InstallChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one skill."""

    name: str
    staged: Path | None = None
    """A finished directory in the staging place that takes the skill's place; nothing leaves the directory alone."""
    digest: str = ""
    remove: bool = False
    entry: LockEntry | None = None
    """What the lock file says afterwards; nothing takes the entry out."""
    expected: str | None = None
    """The digest of what is there now, as the user was told; nothing where nothing was there."""


class _Step(msgspec.Struct, frozen=True):
    """One change as the journal keeps it."""

    name: str
    staged: str | None
    digest: str
    remove: bool


class _Journal(msgspec.Struct, frozen=True):
    """Everything that is being done."""

    work: str
    steps: list[_Step]
    lock: bytes


@contextmanager
def open_work_directory(places: InstallPaths) -> Generator[Path]:
    """A directory in the staging place for one command; nothing of it is left afterwards."""
    with exclusive_directory(places.skills.parent):
        work = _real_directory(places.staging) / f"work-{os.getpid()}-{os.urandom(6).hex()}"
        (work / STAGED).mkdir(mode=0o700, parents=True)
    try:
        yield work
    finally:
        with exclusive_directory(places.skills.parent):
            if _read_journal(places) is None:
                remove_tree(work)
                _remove_staging(places)


def apply_changes(places: InstallPaths, work: Path, changes: Sequence[InstallChange]) -> None:
    """Do all changes; a skill that somebody else changed meanwhile is not touched, nor any other."""
    for change in changes:
        if change.staged is not None:
            sync_tree(change.staged)
    with exclusive_directory(places.skills.parent):
        _finish(places)
        for change in changes:
            path = places.skills / check_directory_name(change.name)
            if os.path.lexists(path) and not path.is_symlink() and not path.is_dir():
                raise ValidationFailed(f"`{path}` is in the way: it is no directory", hint="move it away")
            touches = change.staged is not None or change.remove
            if touches and installed_digest(places, change.name) != change.expected:
                raise ValidationFailed(
                    f"the skill `{change.name}` was changed by somebody else meanwhile",
                    hint="look at it, and try again",
                )
        lock = read_lock(places).having({change.name: change.entry for change in changes})
        steps = [
            _Step(change.name, change.staged.name if change.staged else None, change.digest, change.remove)
            for change in changes
        ]
        sync_path(work / STAGED)
        sync_path(work)
        _real_directory(places.staging)
        journal = _Journal(work.name, steps, lock_bytes(lock))
        write_atomic(places.staging / _JOURNAL, msgspec.json.encode(journal))
        _finish(places)


def finish_interrupted(places: InstallPaths) -> None:
    """Finish what a process that died began, and clear away what it left."""
    if not os.path.lexists(places.staging):
        return
    with exclusive_directory(places.skills.parent):
        if not os.path.lexists(places.staging):
            return
        _real_directory(places.staging)
        _finish(places)
        for each in places.staging.iterdir():
            if each.name.startswith("work-") and not _is_alive(each.name):
                remove_tree(each)
        for directory, name in ((places.staging, _JOURNAL), (places.lock.parent, places.lock.name)):
            for draft in directory.glob(f".{name}.*"):
                number = draft.name.removeprefix(f".{name}.").partition(".")[0]
                if not _is_alive(f"draft-{number}-"):
                    draft.unlink(missing_ok=True)
        _remove_staging(places)


def _remove_staging(places: InstallPaths) -> None:
    with suppress(OSError):  # somebody else is at work in it
        places.staging.rmdir()


def installed_digest(places: InstallPaths, name: str) -> str | None:
    """The digest of what is installed under a name, or nothing."""
    place = places.skills / name
    return hash_directory(place).digest if place.is_dir() and not place.is_symlink() else None


def _finish(places: InstallPaths) -> None:
    """Do what the journal says, as far as it is not done; every step may be done twice."""
    journal = _read_journal(places)
    if journal is None:
        return
    work = places.staging / journal.work
    _real_directory(places.skills)
    for step in journal.steps:
        _do_step(places, step, work)
    sync_path(places.skills)
    places.lock.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(places.lock, journal.lock, mode=0o644)
    (places.staging / _JOURNAL).unlink()
    sync_path(places.staging)


def _do_step(places: InstallPaths, step: _Step, work: Path) -> None:
    place = places.skills / step.name
    aside = work / f"before-{step.name}"
    if step.remove:
        if os.path.lexists(place):
            remove_tree(aside)
            place.rename(aside)
        return
    if step.staged is None or installed_digest(places, step.name) == step.digest:
        return
    staged = work / STAGED / step.staged
    if not staged.is_dir() or hash_directory(staged).digest != step.digest:
        raise StorageFailed(
            f"the new version of `{step.name}` is damaged in `{places.staging}`",
            hint=f"delete `{places.staging / _JOURNAL}`, then install the skill again",
        )
    remove_tree(aside)
    _put_in_place(staged, place, aside)


def _read_journal(places: InstallPaths) -> _Journal | None:
    path = places.staging / _JOURNAL
    try:
        journal = msgspec.json.decode(path.read_bytes(), type=_Journal)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageFailed(f"`{path}` is not what this program wrote", hint="delete it, and try again") from error
    names = [journal.work, *(step.name for step in journal.steps), *(step.staged or "x" for step in journal.steps)]
    for name in names:
        check_directory_name(name)
    return journal


def _is_alive(work: str) -> bool:
    """Whether the process that made a directory may still need it."""
    number = work.split("-")[1] if work.count("-") >= 2 else ""
    return number.isdigit() and Path(f"/proc/{number}").exists()


def _put_in_place(new: Path, place: Path, aside: Path) -> None:
    """Move a directory to its place; what was there goes to `aside`, in the same instant where the system can do it."""
    if not os.path.lexists(place):
        new.rename(place)
    elif exchange_paths(new, place):
        new.rename(aside)
    else:
        place.rename(aside)
        new.rename(place)
    sync_path(place.parent)


def _real_directory(path: Path) -> Path:
    """A directory that is made if need be; a link in its place is refused, since somebody else chose where it leads."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o755, parents=True)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise ValidationFailed(f"`{path}` is not a directory", hint="remove it and try again")
    return path


_HEX = frozenset(string.hexdigits.lower())
_DIGEST_LENGTH = 64


class VersionStore:
    """Directories of skills by digest."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, skill: Path, hashed: Hashed) -> None:
        """Keep a version, and remember which public hash it has."""
        place = self._root / hashed.digest
        if not self._holds(place, hashed.digest):
            remove_tree(place)
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with stage_directory(place, mode=0o755) as draft:
                    shutil.copytree(skill, draft, symlinks=True, dirs_exist_ok=True)
                    sync_tree(draft)
            except OSError:
                if not self._holds(place, hashed.digest):  # else another process kept the same version meanwhile
                    raise
        by_hash = self._root / "by-hash"
        by_hash.mkdir(exist_ok=True)
        write_atomic(by_hash / hashed.computed_hash, hashed.digest.encode())

    def get(self, digest: str) -> Path | None:
        """The directory of a version, or nothing where it is not kept or not what it was."""
        if len(digest) != _DIGEST_LENGTH or not _HEX.issuperset(digest):
            return None
        place = self._root / digest
        return place if self._holds(place, digest) else None

    def find(self, computed_hash: str) -> Path | None:
        """The directory of the version with a public hash."""
        if len(computed_hash) != _DIGEST_LENGTH or not _HEX.issuperset(computed_hash):
            return None
        try:
            digest = (self._root / "by-hash" / computed_hash).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        place = self.get(digest)
        return place if place is not None and hash_directory(place).computed_hash == computed_hash else None

    def _holds(self, place: Path, digest: str) -> bool:
        try:
            return place.is_dir() and not place.is_symlink() and hash_directory(place).digest == digest
        except OSError:
            return False
