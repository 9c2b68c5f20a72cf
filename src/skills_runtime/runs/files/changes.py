"""Several changes to files, all of them or none.

Everything that can fail is done beside the files first; then names change, one atomic step each, and every step that
was taken is taken back when a later one fails. A process killed in between leaves each file as it was or as it shall
be, never a part of one.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Literal, Protocol

import msgspec

from skills_runtime.errors import DeleteDisabled, StorageFailed, ValidationFailed
from skills_runtime.ports import FileChange
from skills_runtime.runs.files.content import lstat, opened
from skills_runtime.runs.files.failures import refusal
from skills_runtime.runs.files.locate import Links, Place, locate, parents_made
from skills_runtime.runs.files.paths import Location, check_write, parse_path, shown
from skills_runtime.runs.files.policy import PathPolicy
from skills_runtime.runs.files.replace import Draft, sync_directory
from skills_runtime.runs.files.trash import discard
from skills_runtime.runs.layout import FILE_MODE
from skills_runtime.storage.beneath import Opener
from skills_runtime.storage.files import read_at_most

MAX_CHANGES = 100
"""Each change keeps a few files open until all are made."""


class Facts(Protocol):
    """What the record of a change says."""

    size: int | None
    sha256: str | None
    before_sha256: str | None


Attempt = Callable[[str, str], AbstractContextManager[Facts]]
"""Records an operation on a path when its block ends, however it ends."""


def apply_changes(policy: PathPolicy, opener: Opener, changes: Sequence[FileChange], attempt: Attempt) -> None:
    """Make the changes, each with a record of its own."""
    if len(changes) > MAX_CHANGES:
        raise ValidationFailed(f"more than {MAX_CHANGES} files shall change at once", hint="change fewer at a time")
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
    """One name and what shall become of it."""

    path: str
    change: Literal["add", "replace", "remove"]
    data: bytes = b""
    before: str | None = None
    like: str | None = None
    """The file whose mode and owner a new one takes over."""


class _Step(msgspec.Struct):
    """A goal on its way: where it is, the new content beside it, and a copy of the old."""

    goal: _Goal
    place: Place
    found: os.stat_result | None = None
    draft: Draft | None = None
    backup: Draft | None = None


def _goals(change: FileChange) -> Iterator[_Goal]:
    before = change.before_sha256
    if change.data is None:
        yield _Goal(change.path, "remove", before=before)
    elif change.moved_to is not None:
        yield _Goal(change.moved_to, "add", change.data, like=change.path)
        yield _Goal(change.path, "remove", before=before)
    elif before is None:
        yield _Goal(change.path, "add", change.data)
    else:
        yield _Goal(change.path, "replace", change.data, before)


def _apply(policy: PathPolicy, opener: Opener, changes: Sequence[FileChange]) -> None:
    # Files are taken away last: until then everything is where a reader looks for it.
    goals = sorted((goal for change in changes for goal in _goals(change)), key=lambda goal: goal.change == "remove")
    for goal in goals:
        _check(policy, goal)
    with ExitStack() as held:
        steps = [_Step(goal, held.enter_context(_located(policy, opener, goal))) for goal in goals]
        _check_distinct(steps)
        try:
            _prepare(steps, policy)
            _change_names(steps, policy)
        finally:
            for step in steps:
                for draft in filter(None, (step.draft, step.backup)):
                    draft.drop()
        for step in steps:
            with suppress(OSError):  # every name is changed by now, so there is nothing to take back
                sync_directory(step.place.parent)


def _check(policy: PathPolicy, goal: _Goal) -> None:
    check_write(policy, parse_path(policy, goal.path))
    if goal.change == "remove" and policy.delete != "allow":
        raise DeleteDisabled(f"`{shown(goal.path)}` stays: deleting is disabled for this run")
    _check_size(policy, goal, goal.data)


def _check_size(policy: PathPolicy, goal: _Goal, data: bytes) -> None:
    largest = policy.max_file_bytes
    if len(data) > largest:
        raise ValidationFailed(f"`{shown(goal.path)}` is larger than {largest} bytes", hint="use a smaller file")


@contextmanager
def _located(policy: PathPolicy, opener: Opener, goal: _Goal) -> Generator[Place]:
    location = parse_path(policy, goal.path)
    links: Links = "follow" if goal.change == "replace" else "keep"
    with ExitStack() as held:
        with _named(goal.path):
            held.enter_context(parents_made(policy, location, opener) if goal.change == "add" else nullcontext())
            place = held.enter_context(locate(policy, location, opener, links=links))
            check_write(policy, place.location)
        yield place


def _check_distinct(steps: Sequence[_Step]) -> None:
    seen = set[Location]()
    for step in steps:
        if step.place.location in seen:
            raise ValidationFailed(
                f"`{shown(step.goal.path)}` is a file that another change is about as well",
                hint="put everything about one file into one change",
            )
        seen.add(step.place.location)


@contextmanager
def _named(path: str) -> Generator[None]:
    """What the system refuses in the block is about this path."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from error


def _prepare(steps: Sequence[_Step], policy: PathPolicy) -> None:
    """Copy what is there, which must be what each change expects, and write what shall be there."""
    for step in steps:
        with _named(step.goal.path):
            if step.goal.change == "add":
                _check_free(step)
            else:
                step.found = _copy_old(step, policy)
    found = {step.goal.path: step.found for step in steps}
    for step in steps:
        if step.goal.change != "remove":
            with _named(step.goal.path):
                _write_new(step, found.get(step.goal.like or step.goal.path), policy.file_mode)


def _check_free(step: _Step) -> None:
    with suppress(FileNotFoundError):
        lstat(step.place)
        raise ValidationFailed(
            f"`{shown(step.goal.path)}` exists already", hint="update it, or choose another name for the new file"
        )


def _copy_old(step: _Step, policy: PathPolicy) -> os.stat_result:
    if stat.S_ISLNK(lstat(step.place).st_mode):
        raise ValidationFailed(f"`{shown(step.goal.path)}` is a link", hint="name the file that it leads to")
    # Opened for writing, so that a file made read-only is not replaced.
    flags = os.O_RDWR if step.goal.change == "replace" else os.O_RDONLY
    with opened(step.place, flags, hard_links=policy.hard_links) as source:
        found = os.fstat(source)
        data = read_at_most(source, policy.max_file_bytes + 1)
        _check_size(policy, step.goal, data)
        if hashlib.sha256(data).hexdigest() != step.goal.before:
            raise _changed(step)
    step.backup = Draft(step.place.parent, FILE_MODE)
    step.backup.fill(data, found)
    return found


def _write_new(step: _Step, like: os.stat_result | None, mode: int) -> None:
    step.draft = Draft(step.place.parent, FILE_MODE if like else mode)
    step.draft.fill(step.goal.data, like)


def _change_names(steps: Sequence[_Step], policy: PathPolicy) -> None:
    try:
        for step in steps:
            with _named(step.goal.path):
                _change_name(step, policy)
    except BaseException as error:
        stuck = [step.goal.path for step in reversed(steps) if not _is_undone(step)]
        if stuck:
            raise _half_done(steps, stuck) from error
        raise


def _change_name(step: _Step, policy: PathPolicy) -> None:
    if step.found is None:
        _check_free(step)
    elif _state(lstat(step.place)) != _state(step.found):
        raise _changed(step)
    if step.draft is None:
        discard(step.place, policy.trash, policy.max_file_bytes)
    else:
        step.draft.put(step.place.name)


def _is_undone(step: _Step) -> bool:
    """Whether the name is what it was before, after taking back what was done to it."""
    # What happened is read from the disk: a call that failed can have had its effect all the same.
    try:
        now = _inode(step.place)
        if now == (step.draft.inode if step.draft else None):
            if step.backup:
                step.backup.put(step.place.name)
            else:
                os.unlink(step.place.name, dir_fd=step.place.parent)
    except OSError:
        return False
    return True


def _inode(place: Place) -> int | None:
    try:
        return lstat(place).st_ino
    except FileNotFoundError:
        return None


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _changed(step: _Step) -> ValidationFailed:
    return ValidationFailed(f"`{shown(step.goal.path)}` has changed since it was read", hint="read it again")


def _half_done(steps: Sequence[_Step], stuck: Sequence[str]) -> StorageFailed:
    """The report of a failure that could not be undone: which names are new, and which are old."""
    untouched = [step.goal.path for step in steps if step.goal.path not in stuck]
    return StorageFailed(
        f"the changes failed half-way and these could not be taken back: {', '.join(f'`{shown(p)}`' for p in stuck)}",
        hint="look at these files; all others are as they were before",
        details={"changed": list(stuck), "unchanged": untouched},
    )
