"""File operations of a run: each is checked by the path policy, done on open directories and recorded once."""

import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext

import msgspec

from skills_runtime.errors import DeleteDisabled, SkillsRuntimeError, ValidationFailed
from skills_runtime.events import FileOperation
from skills_runtime.ports import FileChange
from skills_runtime.runs.files.changes import apply_changes, check_movable, discard, move, replace
from skills_runtime.runs.files.locate import (
    Entry,
    Links,
    Listing,
    PathHandle,
    build_entry,
    check_unclaimed,
    create_parents,
    file_kind,
    hash_open_file,
    list_directory,
    locate,
    lstat,
    open_handle,
)
from skills_runtime.runs.files.paths import (
    Location,
    PathPolicy,
    check_read,
    check_write,
    escape_path,
    parse_path,
    path_error,
    printable,
)
from skills_runtime.runs.files.secrets import check_not_secret
from skills_runtime.storage import Opener, read_at_most, select_opener


class _Facts(msgspec.Struct):
    """The recorded facts of a successful operation."""

    size: int | None = None
    sha256: str | None = None
    before_sha256: str | None = None
    real_path: str | None = None


class RunFiles(msgspec.Struct, frozen=True):
    """The files of a run for its tools; refused attempts are recorded as well."""

    policy: PathPolicy
    record: Callable[[FileOperation], None]
    call_id: str | None = None
    opener: Opener = msgspec.field(default_factory=select_opener)

    def for_call(self, call_id: str) -> "RunFiles":
        """Return a copy whose records carry a call id."""
        return msgspec.structs.replace(self, call_id=call_id)

    def read(self, path: str, *, limit: int) -> bytes:
        """Read the first `limit` bytes of a file."""
        with self._attempt("read", path) as facts, self._readable(path) as handle:
            largest = self.policy.max_file_bytes
            with open_handle(handle, hard_links=self.policy.hard_links) as fd:
                check_not_secret(fd, self.policy, path)
                data = read_at_most(fd, min(limit, largest + 1))
            self._check_size(len(data), path)
            facts.size, facts.sha256 = len(data), hashlib.sha256(data).hexdigest()
            facts.real_path = str(handle.location)
        return data

    def glance(self, path: str, *, limit: int) -> bytes | None:
        """Read what a write would replace, for an approval; checked like a write, and only a refusal is recorded."""
        try:
            location = parse_path(self.policy, path)
            with (
                self._writable(location, links="follow") as handle,
                open_handle(handle, hard_links=self.policy.hard_links) as fd,
            ):
                check_not_secret(fd, self.policy, path)
                return read_at_most(fd, min(limit, self.policy.max_file_bytes + 1))
        except FileNotFoundError:
            return None
        except (OSError, SkillsRuntimeError):
            with self._attempt("write", path):
                raise

    def real(self, path: str) -> str:
        """Return the path behind all links, or the path itself on failure; records nothing."""
        try:
            with locate(self.policy, parse_path(self.policy, path), self.opener) as handle:
                return str(handle.location)
        except (OSError, SkillsRuntimeError):
            return path

    def write(self, path: str, data: bytes, *, create_dirs: bool) -> int:
        """Replace a file atomically, keeping its mode; returns the number of bytes."""
        with self._attempt("write", path) as facts:
            location = parse_path(self.policy, path)
            check_write(self.policy, location)
            self._check_size(len(data), path)
            parents = create_parents(self.policy, location, self.opener) if create_dirs else nullcontext()
            with parents, self._writable(location, links="follow") as handle:
                facts.before_sha256 = replace(handle, data, self.policy.file_mode)
                facts.real_path = str(handle.location)
            facts.size, facts.sha256 = len(data), hashlib.sha256(data).hexdigest()
        return len(data)

    def delete(self, path: str) -> None:
        """Move a file to the run's trash, if deleting is allowed."""
        with self._attempt("delete", path) as facts:
            location = parse_path(self.policy, path)
            self._check_delete(path)
            with self._writable(location, links="keep") as handle:
                content = _content(handle)
                discard(handle, self.policy.trash, self.policy.max_file_bytes)
                facts.size, facts.before_sha256 = content

    def rename(self, source: str, target: str) -> None:
        """Rename a file; needs permission to delete."""
        with self._attempt("rename", f"{source} -> {target}") as facts:
            old, new = parse_path(self.policy, source), parse_path(self.policy, target)
            self._check_delete(source)
            with self._writable(old, links="keep") as source_handle, self._writable(new, links="keep") as target_handle:
                content = _content(source_handle)
                move(source_handle, target_handle)
                facts.size, facts.sha256 = content

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Apply several changes, all or none."""
        apply_changes(self.policy, self.opener, changes, self._attempt)

    def list(self, path: str) -> Listing:
        """List a directory, sorted by name and bounded."""
        with self._attempt("list", path), self._readable(path) as handle:
            return list_directory(handle)

    def stat(self, path: str) -> Entry:
        """Return the entry of a path, without its content."""
        with self._attempt("stat", path) as facts, self._readable(path) as handle:
            entry = build_entry(handle.name, lstat(handle))
            facts.size = entry.size
            return entry

    @contextmanager
    def _attempt(self, op: str, path: str) -> Generator[_Facts]:
        facts, error = _Facts(), "unknown"
        try:
            yield facts
            error = None
        except OSError as failure:
            problem = path_error(failure, path)
            error = problem.kind
            raise problem from failure
        except SkillsRuntimeError as problem:
            error = problem.kind
            raise
        finally:
            self.record(
                FileOperation(
                    op=op,
                    path=printable(path),
                    ok=error is None,
                    size=facts.size,
                    sha256=facts.sha256,
                    before_sha256=facts.before_sha256,
                    error=error,
                    call_id=self.call_id,
                    real_path=printable(facts.real_path) if facts.real_path not in (None, path) else None,
                )
            )

    @contextmanager
    def _readable(self, path: str) -> Generator[PathHandle]:
        location = parse_path(self.policy, path)
        check_read(self.policy, location)
        with locate(self.policy, location, self.opener) as handle:
            check_read(self.policy, handle.location)
            yield handle

    @contextmanager
    def _writable(self, location: Location, *, links: Links) -> Generator[PathHandle]:
        check_write(self.policy, location)
        with locate(self.policy, location, self.opener, links=links) as handle:
            check_write(self.policy, handle.location)
            check_unclaimed(self.policy, handle.location)
            yield handle

    def _check_size(self, size: int, path: str) -> None:
        largest = self.policy.max_file_bytes
        if size > largest:
            raise ValidationFailed(f"`{escape_path(path)}` is larger than {largest} bytes", hint="use a smaller file")

    def _check_delete(self, path: str) -> None:
        if self.policy.delete != "allow":
            raise DeleteDisabled(f"`{escape_path(path)}` cannot be deleted: deleting is disabled for this run")


def _content(handle: PathHandle) -> tuple[int | None, str | None]:
    """Return size and digest of a file before it is moved; None where they cannot be read."""
    status = check_movable(handle)
    if file_kind(status) == "symlink":
        return None, None
    try:
        with open_handle(handle) as fd:
            return os.fstat(fd).st_size, hash_open_file(fd)
    except PermissionError:
        return status.st_size, None
