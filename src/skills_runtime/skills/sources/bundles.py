"""Skill bundles: size-limited zip files, unpacked atomically into a directory.

A directory is compared with its zip before each use, since others may write there.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.archives import (
    Archive,
    ArchiveLimits,
    ArchiveMember,
    bad_archive_error,
    check_members,
    is_archive_bomb,
    open_zip,
)
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.storage import (
    lock_directory,
    open_directory,
    read_below,
    remove_tree,
    stage_directory,
    walk,
    write_new,
)

_MAX_ZIP_ENTRIES = 65_535
"""The entry limit of the zip format; `read_bundle` checks our own limit and raises the right code."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a bundle; unset limits are derived from `max_bytes`."""

    max_bytes: int = 1 << 20
    extracted: int | None = None
    files: int | None = None
    single_file: int | None = None
    ratio: int = 100
    """Maximum compression ratio of files larger than a megabyte."""

    @property
    def max_extracted_bytes(self) -> int:
        """Maximum unpacked size of a bundle."""
        return self.extracted if self.extracted is not None else 16 * self.max_bytes

    @property
    def max_files(self) -> int:
        """Maximum number of files in a bundle."""
        return self.files if self.files is not None else 4096

    @property
    def max_single_file_bytes(self) -> int:
        """Maximum size of one file."""
        return self.single_file if self.single_file is not None else 8 * self.max_bytes

    @property
    def for_reading(self) -> ArchiveLimits:
        """Limits for opening the archive; sizes and counts are checked separately."""
        return ArchiveLimits(
            archive_bytes=self.max_bytes,
            members=_MAX_ZIP_ENTRIES,
            file_bytes=self.max_single_file_bytes,
            total_bytes=self.max_extracted_bytes,
            ratio=self.ratio,
            directory_bytes=max(self.max_bytes, 1 << 16),
        )


DIRECTORIES = ("actions", "references")
"""Top-level directories allowed in a bundle."""

Parts = tuple[str, ...]


class File(msgspec.Struct, frozen=True):
    """One file of a bundle."""

    data: bytes
    executable: bool


def read_bundle(zip_file: Path, budget: Budget, mention: str) -> dict[Parts, File]:
    """Read every file of a bundle by path; any violation rejects the whole bundle."""
    limits = budget.for_reading
    try:
        with open_zip(zip_file, limits) as archive:
            members = archive.members()
            _check_sizes(members, budget, mention)
            targets = check_members(members, limits)
            for member, parts in zip(members, targets, strict=True):
                _check_target(member, parts, mention)
            return _read_files(archive, members, budget, mention)
    except ValidationFailed as error:
        unsafe = error.details.get("code") == "SKILL_INSTALL_UNSAFE_PATH"
        code = "SKILL_BUNDLE_CONTRACT_INVALID" if unsafe else "SKILL_BUNDLE_INVALID"
        raise bundle_error(code, mention, error.message) from error


def bundle_error(code: str, mention: str, reason: str, *, hint: str = "ask the publisher of the skill") -> SkillError:
    """Build the error for a rejected bundle."""
    return failure(code, f"the bundle of `{mention}` was refused: {reason}", hint=hint, mention=mention)


def _check_sizes(members: Sequence[ArchiveMember], budget: Budget, mention: str) -> None:
    if len(members) > budget.max_files:
        raise _too_large_error(
            mention, f"it has {len(members)} entries, and {budget.max_files} are allowed", "max_files"
        )
    for member in members:
        if member.size > budget.max_single_file_bytes:
            reason = f"{member.name[:100]!a} has more than {budget.max_single_file_bytes} bytes"
            raise _too_large_error(mention, reason, "max_single_file_bytes")
        if is_archive_bomb(member.size, member.packed or 0, budget.for_reading):
            reason = f"{member.name[:100]!a} grows more than {budget.ratio} times"
            raise bundle_error("SKILL_BUNDLE_TOO_LARGE", mention, reason)
    if sum(member.size for member in members) > budget.max_extracted_bytes:
        reason = f"it unpacks to more than {budget.max_extracted_bytes} bytes"
        raise _too_large_error(mention, reason, "max_extracted_bytes")


def _too_large_error(mention: str, reason: str, setting: str) -> SkillError:
    return bundle_error(
        "SKILL_BUNDLE_TOO_LARGE", mention, reason, hint=f"raise `skills.bundles.{setting}` if that is right"
    )


def _check_target(member: ArchiveMember, parts: Parts | None, mention: str) -> None:
    inside = parts is not None and parts[:1] and parts[0] in DIRECTORIES
    if not inside or (member.kind == "file" and parts is not None and len(parts) == 1):
        reason = f"{member.name[:100]!a} is not below `actions/` or `references/`"
        raise bundle_error("SKILL_BUNDLE_CONTRACT_INVALID", mention, reason)


def _read_files(archive: Archive, members: Sequence[ArchiveMember], budget: Budget, mention: str) -> dict[Parts, File]:
    """Read the files and check their real sizes instead of those in the archive's headers."""
    files: dict[Parts, File] = {}
    for number, member in enumerate(members):
        if member.kind == "file":
            with closing(archive.open(number)) as content:
                data = content.read(member.size + 1)
            if len(data) != member.size:
                raise bad_archive_error(f"{member.name[:100]!a} has not the size it says")
            parts = tuple(member.name.removeprefix("./").split("/"))
            files[parts] = File(data, member.executable)
    if not files:
        raise bundle_error("SKILL_BUNDLE_CONTRACT_INVALID", mention, "it holds no files")
    return files


ARCHIVE = "bundle.zip"
FILES = "skill"

_SHA256 = re.compile("[0-9a-f]{64}")

Fetch = Callable[[], bytes | None]


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of a bundle, known before it is fetched."""

    mention: str
    sha256: str
    key: str
    size: str = ""
    """Size in bytes, if the database stores it."""
    format: str = "zip"


class Bundles:
    """Local cache of bundles."""

    def __init__(self, cache: Path, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._cache = cache

    def directory(self, bundle: Bundle, fetch: Fetch) -> Path:
        """Return the unpacked directory of a bundle, fetching the bundle if needed."""
        self._check(bundle)
        path = self._cache / bundle.sha256
        try:
            self._make_cache(bundle)
            if not self._is_intact(path, bundle):
                data = self._load_zip(bundle, path, fetch)
                with lock_directory(self._cache):
                    # Another process may have repaired it meanwhile.
                    if not self._is_intact(path, bundle):
                        self._store(path, data, bundle)
        except OSError as error:
            reason = f"`{self._cache}` cannot be used: {error.strerror or error}"
            hint = "check `skills.bundles.cache_dir`"
            raise bundle_error("SKILL_BUNDLE_INVALID", bundle.mention, reason, hint=hint) from error
        return path / FILES

    def _check(self, bundle: Bundle) -> None:
        if not bundle.sha256:
            reason = "its fingerprint is unknown"
            raise bundle_error(
                "SKILL_BUNDLE_FINGERPRINT_MISSING", bundle.mention, reason, hint="store its `bundle_sha256`"
            )
        if not _SHA256.fullmatch(bundle.sha256):
            reason = "its `bundle_sha256` is not a SHA-256"
            raise bundle_error(
                "SKILL_BUNDLE_FINGERPRINT_MISSING", bundle.mention, reason, hint="store 64 hexadecimal digits"
            )
        if bundle.format != "zip":
            raise bundle_error("SKILL_BUNDLE_INVALID", bundle.mention, f"it is no zip but {bundle.format[:40]!a}")
        if bundle.size.isascii() and bundle.size.isdigit() and int(bundle.size[:18]) > self.budget.max_bytes:
            raise self._too_large(bundle)

    def _make_cache(self, bundle: Bundle) -> None:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.realpath(self._cache) != str(self._cache):
            reason = f"a link is on the way to `{self._cache}`"
            raise bundle_error("SKILL_BUNDLE_INVALID", bundle.mention, reason, hint="check `skills.bundles.cache_dir`")

    def _load_zip(self, bundle: Bundle, path: Path, fetch: Fetch) -> bytes:
        """Load the cached zip if its digest matches, else fetch it."""
        cached = _read_cached_zip(path, self.budget.max_bytes)
        if cached is not None and hashlib.sha256(cached).hexdigest() == bundle.sha256:
            return cached
        data = fetch()
        if data is None:
            reason = f"there is nothing at {bundle.key[:200]!a}"
            raise bundle_error("SKILL_BUNDLE_NOT_FOUND", bundle.mention, reason, hint="publish the skill again")
        if len(data) > self.budget.max_bytes:
            raise self._too_large(bundle)
        digest = hashlib.sha256(data).hexdigest()
        if digest != bundle.sha256:
            reason = f"its fingerprint is {digest[:12]}…, and {bundle.sha256[:12]}… was promised"
            raise bundle_error("SKILL_BUNDLE_FINGERPRINT_MISMATCH", bundle.mention, reason)
        return data

    def _too_large(self, bundle: Bundle) -> SkillError:
        reason = f"it has more than {self.budget.max_bytes} bytes"
        hint = "raise `skills.bundles.max_bytes` if that is right"
        return bundle_error("SKILL_BUNDLE_TOO_LARGE", bundle.mention, reason, hint=hint)

    def _is_intact(self, path: Path, bundle: Bundle) -> bool:
        data = _read_cached_zip(path, self.budget.max_bytes)
        if data is None or hashlib.sha256(data).hexdigest() != bundle.sha256:
            return False
        try:
            return _read_directory(path / FILES, self.budget) == read_bundle(
                path / ARCHIVE, self.budget, bundle.mention
            )
        except OSError:
            return False

    def _store(self, path: Path, data: bytes, bundle: Bundle) -> None:
        """Unpack into a staging directory, then replace the old directory by a rename."""
        with stage_directory(path) as draft:
            write_new(draft / ARCHIVE, data, mode=0o400)
            _unpack(draft / FILES, read_bundle(draft / ARCHIVE, self.budget, bundle.mention))
            if os.path.lexists(path):
                old = self._cache / f".old-{os.urandom(8).hex()}"
                path.rename(old)
                remove_tree(old, ignore_errors=True)


def _read_cached_zip(path: Path, limit: int) -> bytes | None:
    try:
        with open_directory(path) as top:
            return read_below(top, (ARCHIVE,), limit=limit + 1)
    except OSError:
        return None


def _unpack(path: Path, files: Mapping[Parts, File]) -> None:
    path.mkdir(mode=0o755)
    for parts, file in files.items():
        target = path.joinpath(*parts)
        for directory in reversed(target.relative_to(path).parents[:-1]):
            (path / directory).mkdir(mode=0o755, exist_ok=True)
        write_new(target, file.data, mode=0o555 if file.executable else 0o444)


def _read_directory(directory: Path, budget: Budget) -> dict[Parts, File]:
    """Read every file of the directory; raise `OSError` for anything but regular files and directories."""
    files: dict[Parts, File] = {}
    with open_directory(directory) as top:
        for entry in walk(top):
            if entry.is_directory:
                continue
            if not entry.is_file or len(files) >= budget.max_files:
                raise OSError("something is there that the bundle does not have")
            data = entry.read(budget.max_single_file_bytes + 1)
            files[entry.parts] = File(data, bool(entry.status.st_mode & stat.S_IXUSR))
    return files
