"""The directory that bundles are unpacked into: made whole or not at all, and compared with its zip before each use.

A bundle is kept as `<sha256>/bundle.zip` with its files in `<sha256>/skill/`. The fingerprint vouches for the zip, and
the zip for every file; whatever somebody changed, added or took away since is replaced.
"""

import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from skills_runtime.skills.bundles.archive import File, Parts, contents_of, refused
from skills_runtime.skills.bundles.budget import Budget
from skills_runtime.skills.problems import SkillError
from skills_runtime.storage.nofollow import LISTING, open_below, open_directory, read_below

ARCHIVE = "bundle.zip"
FILES = "skill"

_SHA256 = re.compile("[0-9a-f]{64}")

Fetch = Callable[[], bytes | None]


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a bundle without fetching it."""

    mention: str
    sha256: str
    key: str
    size: str = ""
    """How many bytes it has, if its database says so."""
    format: str = "zip"


class Bundles:
    """Bundles on this machine."""

    def __init__(self, cache: Path, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._cache = cache

    def directory(self, bundle: Bundle, fetch: Fetch) -> Path:
        """The directory with the files of a bundle, exactly as they are in it; fetched only when it must be."""
        self._check(bundle)
        place = self._cache / bundle.sha256
        try:
            self._make_cache(bundle)
            if not self._is_intact(place, bundle):
                data = self._data(bundle, place, fetch)
                with _alone_in(self._cache):
                    if not self._is_intact(place, bundle):  # somebody may have put it right meanwhile
                        self._put(place, data, bundle)
        except OSError as error:
            why = f"`{self._cache}` cannot be used: {error.strerror or error}"
            hint = "check `skills.bundles.cache_dir`"
            raise refused("SKILL_BUNDLE_INVALID", bundle.mention, why, hint=hint) from error
        return place / FILES

    def _check(self, bundle: Bundle) -> None:
        if not bundle.sha256:
            why = "nobody says which fingerprint it has"
            raise refused("SKILL_BUNDLE_FINGERPRINT_MISSING", bundle.mention, why, hint="store its `bundle_sha256`")
        if not _SHA256.fullmatch(bundle.sha256):
            why = "its `bundle_sha256` is not a SHA-256"
            raise refused("SKILL_BUNDLE_FINGERPRINT_MISSING", bundle.mention, why, hint="store 64 hexadecimal digits")
        if bundle.format != "zip":
            raise refused("SKILL_BUNDLE_INVALID", bundle.mention, f"it is no zip but {bundle.format[:40]!a}")
        if bundle.size.isascii() and bundle.size.isdigit() and int(bundle.size[:18]) > self.budget.max_bytes:
            raise self._too_large(bundle)

    def _make_cache(self, bundle: Bundle) -> None:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.realpath(self._cache) != str(self._cache):
            why = f"a link is on the way to `{self._cache}`"
            raise refused("SKILL_BUNDLE_INVALID", bundle.mention, why, hint="check `skills.bundles.cache_dir`")

    def _data(self, bundle: Bundle, place: Path, fetch: Fetch) -> bytes:
        """The zip: the one that is here if it is still the right one, or else from where the skill comes from."""
        kept = _kept(place, self.budget.max_bytes)
        if kept is not None and hashlib.sha256(kept).hexdigest() == bundle.sha256:
            return kept
        data = fetch()
        if data is None:
            why = f"there is nothing at {bundle.key[:200]!a}"
            raise refused("SKILL_BUNDLE_NOT_FOUND", bundle.mention, why, hint="publish the skill again")
        if len(data) > self.budget.max_bytes:
            raise self._too_large(bundle)
        found = hashlib.sha256(data).hexdigest()
        if found != bundle.sha256:
            why = f"its fingerprint is {found[:12]}…, and {bundle.sha256[:12]}… was promised"
            raise refused("SKILL_BUNDLE_FINGERPRINT_MISMATCH", bundle.mention, why)
        return data

    def _too_large(self, bundle: Bundle) -> SkillError:
        why = f"it has more than {self.budget.max_bytes} bytes"
        hint = "raise `skills.bundles.max_bytes` if that is right"
        return refused("SKILL_BUNDLE_TOO_LARGE", bundle.mention, why, hint=hint)

    def _is_intact(self, place: Path, bundle: Bundle) -> bool:
        data = _kept(place, self.budget.max_bytes)
        if data is None or hashlib.sha256(data).hexdigest() != bundle.sha256:
            return False
        try:
            return _found_below(place / FILES, self.budget) == contents_of(place / ARCHIVE, self.budget, bundle.mention)
        except OSError:
            return False

    def _put(self, place: Path, data: bytes, bundle: Bundle) -> None:
        """Build it aside, then put it into its place by one rename; what was there is taken away first."""
        draft = self._cache / f".new-{os.urandom(8).hex()}"
        draft.mkdir(mode=0o700)
        try:
            _write(draft / ARCHIVE, data, 0o400)
            _unpack(draft / FILES, contents_of(draft / ARCHIVE, self.budget, bundle.mention))
            if os.path.lexists(place):
                old = self._cache / f".old-{os.urandom(8).hex()}"
                place.rename(old)
                _remove(old)
            draft.rename(place)
        except BaseException:
            _remove(draft)
            raise


@contextmanager
def _alone_in(directory: Path) -> Generator[None]:
    """Nobody else changes the directory meanwhile, no thread and no process."""
    fd = os.open(directory, LISTING)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _kept(place: Path, limit: int) -> bytes | None:
    try:
        with open_directory(place) as top:
            return read_below(top, (ARCHIVE,), limit=limit + 1)
    except OSError:
        return None


def _unpack(place: Path, files: Mapping[Parts, File]) -> None:
    place.mkdir(mode=0o755)
    for parts, file in files.items():
        target = place.joinpath(*parts)
        for directory in reversed(target.relative_to(place).parents[:-1]):
            (place / directory).mkdir(mode=0o755, exist_ok=True)
        _write(target, file.data, 0o555 if file.executable else 0o444)


def _write(path: Path, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with open(fd, "wb") as file:
        file.write(data)


def _found_below(directory: Path, budget: Budget) -> dict[Parts, File]:
    """Every file that is there now; anything that is no plain file or directory is an `OSError`."""
    found: dict[Parts, File] = {}
    with open_directory(directory) as top:
        waiting: list[Parts] = [()]
        while waiting:
            parts = waiting.pop()
            for name, mode in _entries(top, parts):
                if stat.S_ISDIR(mode):
                    waiting.append((*parts, name))
                    continue
                if not stat.S_ISREG(mode) or len(found) >= budget.max_files:
                    raise OSError("something is there that the bundle does not have")
                data = read_below(top, (*parts, name), limit=budget.max_single_file_bytes + 1)
                found[(*parts, name)] = File(data, bool(mode & stat.S_IXUSR))
    return found


def _entries(top: int, parts: Parts) -> list[tuple[str, int]]:
    here = open_below(top, parts, LISTING)
    try:
        with os.scandir(here) as entries:
            return [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries]
    finally:
        os.close(here)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
