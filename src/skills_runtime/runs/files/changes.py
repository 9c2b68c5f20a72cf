"""Change files: replace one atomically, move one to the trash, or apply several changes as one transaction.

A transaction first prepares drafts and backups beside the files; then it renames them, one atomic step each, and undoes
all steps when a later one fails. A process killed in between leaves each file complete, old or new.
"""

import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from skills_runtime.errors import DeleteDisabled, StorageFailed, ValidationFailed
from skills_runtime.ports import FileChange
from skills_runtime.runs.files.locate import (
    Links,
    PathHandle,
    check_regular,
    check_unclaimed,
    create_parents,
    hash_open_file,
    locate,
    lstat,
    open_handle,
)
from skills_runtime.runs.files.paths import Location, PathPolicy, check_write, escape_path, parse_path, path_error
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE
from skills_runtime.storage import (
    OPEN_TO_LIST,
    Opener,
    StagedFile,
    copy_at_most,
    open_new,
    open_root,
    read_at_most,
    sync_path,
    write_all,
)

MAX_CHANGES = 100
"""Each change keeps a few files open until the end."""

_ACCESS_BITS = 0o777
_MAX_TRIES = 1000
"""The maximum number of names tried for a new file."""
_MAX_NAME_BYTES = 200
"""The maximum part of a name used in the trash, after a number."""


def replace(handle: PathHandle, data: bytes, mode: int) -> str | None:
    """Replace a regular file atomically, or create it; return the digest of the old content."""
    like, digest = None, None
    # Fails for a read-only file, which must not be replaced.
    with (
        suppress(FileNotFoundError),
        open_handle(handle, os.O_RDWR) as fd,
    ):
        like, digest = os.fstat(fd), hash_open_file(fd)
    draft = StagedFile(handle.name, FILE_MODE if like else mode, dir_fd=handle.parent)
    try:
        write_draft(draft, data, like)
        draft.publish()
    finally:
        draft.discard()
    sync_directory(handle.parent)
    return digest


def write_draft(draft: StagedFile, data: bytes, like: os.stat_result | None) -> None:
    """Write and sync a draft with the owner and mode of another file."""
    write_all(draft.fd, data)
    if like is not None:
        own = os.fstat(draft.fd)
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            with suppress(PermissionError):
                os.fchown(draft.fd, like.st_uid, like.st_gid)
        os.fchmod(draft.fd, like.st_mode & _ACCESS_BITS)
    os.fsync(draft.fd)


def create(directory: int, names: Iterable[str], mode: int) -> tuple[int, str]:
    """Create a file under the first free name, open for writing."""
    for name in itertools.islice(names, _MAX_TRIES):
        with suppress(FileExistsError):
            return open_new(name, mode=mode, dir_fd=directory), name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def remove(directory: int, name: str) -> None:
    """Remove a file of our own after a failure; errors are ignored in favor of that failure."""
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def sync_directory(directory: int) -> None:
    """Sync a directory, if it may be opened."""
    with suppress(PermissionError):
        sync_path(".", dir_fd=directory)


def discard(handle: PathHandle, trash: Path, limit: int) -> None:
    """Move a file into the trash under a fresh name; to another device at most `limit` bytes are copied."""
    check_movable(handle)
    directory = _open_trash(trash)
    try:
        _move_in(handle, directory, limit)
    finally:
        os.close(directory)


def move(source: PathHandle, target: PathHandle) -> None:
    """Rename a file to a free name."""
    check_movable(source)
    fd, name = create(target.parent, (target.name,), FILE_MODE)
    os.close(fd)
    try:
        os.rename(source.name, name, src_dir_fd=source.parent, dst_dir_fd=target.parent)
    except OSError as error:
        remove(target.parent, name)
        if error.errno != errno.EXDEV:
            raise
        raise ValidationFailed(
            f"`{escape_path(str(target.location))}` is on another device", hint="read the file and write it there"
        ) from error
    sync_directory(target.parent)
    sync_directory(source.parent)


def check_movable(handle: PathHandle) -> os.stat_result:
    """Raise unless the name is a regular file or a link; a directory could contain protected files."""
    status = lstat(handle)
    if not stat.S_ISLNK(status.st_mode):
        check_regular(status, handle)
    return status


def _open_trash(trash: Path) -> int:
    parent = open_root(trash.parent)
    try:
        with suppress(FileExistsError):
            os.mkdir(trash.name, DIRECTORY_MODE, dir_fd=parent)
        return os.open(trash.name, OPEN_TO_LIST, dir_fd=parent)
    finally:
        os.close(parent)


def _move_in(handle: PathHandle, directory: int, limit: int) -> None:
    beginning = os.fsdecode(os.fsencode(handle.name)[:_MAX_NAME_BYTES])
    names = (f"{number}-{beginning}" for number in itertools.count(len(os.listdir(directory)) + 1))
    fd, name = create(directory, names, FILE_MODE)
    try:
        try:
            os.rename(handle.name, name, src_dir_fd=handle.parent, dst_dir_fd=directory)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy_in(handle, directory, name, fd, limit)
    except BaseException:
        remove(directory, name)
        raise
    finally:
        os.close(fd)
    sync_directory(directory)
    sync_directory(handle.parent)


def _copy_in(handle: PathHandle, directory: int, name: str, fd: int, limit: int) -> None:
    """Copy a file, then remove the original."""
    copied = check_movable(handle)
    if stat.S_ISLNK(copied.st_mode):
        target = os.readlink(handle.name, dir_fd=handle.parent)
        os.unlink(name, dir_fd=directory)
        os.symlink(target, name, dir_fd=directory)
    else:
        copied = _copy_content(handle, fd, limit)
    if not os.path.samestat(copied, lstat(handle)):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    os.unlink(handle.name, dir_fd=handle.parent)


def _copy_content(handle: PathHandle, fd: int, limit: int) -> os.stat_result:
    with open_handle(handle) as source:
        if copy_at_most(source, fd, limit + 1) > limit:
            raise ValidationFailed(
                f"`{escape_path(str(handle.location))}` is too large to be moved to the trash on another device",
                hint="leave it to the user",
            )
        os.fsync(fd)
        return os.fstat(source)


class Facts(Protocol):
    """The recorded facts of a change."""

    size: int | None
    sha256: str | None
    before_sha256: str | None


Attempt = Callable[[str, str], AbstractContextManager[Facts]]
"""Records an operation on a path when its block ends, also on failure."""


def apply_changes(policy: PathPolicy, opener: Opener, changes: Sequence[FileChange], attempt: Attempt) -> None:
    """Make the changes, each with a record of its own."""
    if len(changes) > MAX_CHANGES:
        raise ValidationFailed(f"more than {MAX_CHANGES} files are to change at once", hint="change fewer at a time")
    with ExitStack() as records:
        # The last one entered is recorded first.
        facts = [records.enter_context(attempt(*_record(change))) for change in reversed(changes)]
        _apply(policy, opener, changes)
        for fact, change in zip(reversed(facts), changes, strict=True):
            fact.before_sha256 = change.before_sha256
            if change.data is not None:
                fact.size, fact.sha256 = len(change.data), hashlib.sha256(change.data).hexdigest()


def _record(change: FileChange) -> tuple[str, str]:
    if change.moved_to is not None:
        return "rename", f"{change.path} -> {change.moved_to}"
    return "delete" if change.data is None else "write", change.path


class _Goal(msgspec.Struct, frozen=True):
    """One path and the change to make to it."""

    path: str
    change: Literal["add", "replace", "remove"]
    data: bytes = b""
    before_sha256: str | None = None
    like: str | None = None
    """The file whose mode and owner a new one takes over."""


class _Step(msgspec.Struct):
    """The progress of a goal: its handle, the new content and a backup of the old."""

    goal: _Goal
    handle: PathHandle
    original: os.stat_result | None = None
    draft: StagedFile | None = None
    backup: StagedFile | None = None


def _goals(change: FileChange) -> Iterator[_Goal]:
    before = change.before_sha256
    if change.data is None:
        yield _Goal(change.path, "remove", before_sha256=before)
    elif change.moved_to is not None:
        yield _Goal(change.moved_to, "add", change.data, like=change.path)
        yield _Goal(change.path, "remove", before_sha256=before)
    elif before is None:
        yield _Goal(change.path, "add", change.data)
    else:
        yield _Goal(change.path, "replace", change.data, before)


def _apply(policy: PathPolicy, opener: Opener, changes: Sequence[FileChange]) -> None:
    # Remove files last: until then readers find every content under its old or new name.
    goals = sorted((goal for change in changes for goal in _goals(change)), key=lambda goal: goal.change == "remove")
    for goal in goals:
        check_write(policy, parse_path(policy, goal.path))
        if goal.change == "remove" and policy.delete != "allow":
            raise DeleteDisabled(f"`{escape_path(goal.path)}` stays: deleting is disabled for this run")
        _check_size(policy, goal, goal.data)
    with ExitStack() as stack:
        steps = [_Step(goal, stack.enter_context(_locate_goal(policy, opener, goal))) for goal in goals]
        _check_distinct(steps)
        try:
            _prepare(steps, policy)
            _change_names(steps, policy)
        finally:
            for step in steps:
                for draft in filter(None, (step.draft, step.backup)):
                    draft.discard()
        for step in steps:
            with suppress(OSError):  # all renames are done, so there is nothing to undo
                sync_directory(step.handle.parent)


def _check_size(policy: PathPolicy, goal: _Goal, data: bytes) -> None:
    largest = policy.max_file_bytes
    if len(data) > largest:
        raise ValidationFailed(f"`{escape_path(goal.path)}` is larger than {largest} bytes", hint="use a smaller file")


@contextmanager
def _locate_goal(policy: PathPolicy, opener: Opener, goal: _Goal) -> Generator[PathHandle]:
    location = parse_path(policy, goal.path)
    links: Links = "follow" if goal.change == "replace" else "keep"
    with ExitStack() as stack:
        with _path_errors(goal.path):
            stack.enter_context(create_parents(policy, location, opener) if goal.change == "add" else nullcontext())
            handle = stack.enter_context(locate(policy, location, opener, links=links))
            check_write(policy, handle.location)
            check_unclaimed(policy, handle.location)
        yield handle


def _check_distinct(steps: Sequence[_Step]) -> None:
    locations = set[Location]()
    for step in steps:
        if step.handle.location in locations:
            raise ValidationFailed(
                f"`{escape_path(step.goal.path)}` is changed twice",
                hint="put everything about one file into one change",
            )
        locations.add(step.handle.location)


@contextmanager
def _path_errors(path: str) -> Generator[None]:
    """Translate `OSError` in the block into an error about this path."""
    try:
        yield
    except OSError as error:
        raise path_error(error, path) from error


def _prepare(steps: Sequence[_Step], policy: PathPolicy) -> None:
    """Back up the current files, which must be as expected, and write the drafts."""
    for step in steps:
        with _path_errors(step.goal.path):
            if step.goal.change == "add":
                _check_free(step)
            else:
                step.original = _copy_old(step, policy)
    originals = {step.goal.path: step.original for step in steps}
    for step in steps:
        if step.goal.change != "remove":
            with _path_errors(step.goal.path):
                like = originals.get(step.goal.like or step.goal.path)
                mode = FILE_MODE if like else policy.file_mode
                step.draft = StagedFile(step.handle.name, mode, dir_fd=step.handle.parent)
                write_draft(step.draft, step.goal.data, like)


def _check_free(step: _Step) -> None:
    with suppress(FileNotFoundError):
        lstat(step.handle)
        raise ValidationFailed(
            f"`{escape_path(step.goal.path)}` exists already", hint="update it, or choose another name for the new file"
        )


def _copy_old(step: _Step, policy: PathPolicy) -> os.stat_result:
    if stat.S_ISLNK(lstat(step.handle).st_mode):
        raise ValidationFailed(f"`{escape_path(step.goal.path)}` is a link", hint="name the file that it leads to")
    # Opened for writing, so that a file made read-only is not replaced.
    flags = os.O_RDWR if step.goal.change == "replace" else os.O_RDONLY
    with open_handle(step.handle, flags, hard_links=policy.hard_links) as source:
        status = os.fstat(source)
        data = read_at_most(source, policy.max_file_bytes + 1)
        _check_size(policy, step.goal, data)
        if hashlib.sha256(data).hexdigest() != step.goal.before_sha256:
            raise _changed_error(step)
    step.backup = StagedFile(step.handle.name, FILE_MODE, dir_fd=step.handle.parent)
    write_draft(step.backup, data, status)
    return status


def _change_names(steps: Sequence[_Step], policy: PathPolicy) -> None:
    try:
        for step in steps:
            with _path_errors(step.goal.path):
                _change_name(step, policy)
    except BaseException as error:
        not_undone = [step.goal.path for step in reversed(steps) if not _undo(step)]
        if not_undone:
            raise _partial_failure(steps, not_undone) from error
        raise


def _change_name(step: _Step, policy: PathPolicy) -> None:
    if step.original is None:
        _check_free(step)
    elif _state(lstat(step.handle)) != _state(step.original):
        raise _changed_error(step)
    if step.draft is None:
        discard(step.handle, policy.trash, policy.max_file_bytes)
    else:
        step.draft.publish()


def _undo(step: _Step) -> bool:
    """Undo a step; return whether the path is as it was before."""
    # Check the disk, not the call: a rename that failed may still have taken effect.
    try:
        try:
            now = lstat(step.handle).st_ino
        except FileNotFoundError:
            now = None
        if now == (os.fstat(step.draft.fd).st_ino if step.draft else None):
            if step.backup:
                step.backup.publish()
            else:
                os.unlink(step.handle.name, dir_fd=step.handle.parent)
    except OSError:
        return False
    return True


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _changed_error(step: _Step) -> ValidationFailed:
    return ValidationFailed(f"`{escape_path(step.goal.path)}` has changed since it was read", hint="read it again")


def _partial_failure(steps: Sequence[_Step], not_undone: Sequence[str]) -> StorageFailed:
    """Build the error for a failure that could not be undone completely."""
    names = ", ".join(f"`{escape_path(path)}`" for path in not_undone)
    untouched = [step.goal.path for step in steps if step.goal.path not in not_undone]
    return StorageFailed(
        f"the changes failed half-way and these could not be undone: {names}",
        hint="look at these files; all others are as they were before",
        details={"changed": list(not_undone), "unchanged": untouched},
    )
