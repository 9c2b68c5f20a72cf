"""Move new files aside that programs outside would obey: repositories, hooks, editor configuration.

While a command runs, nothing of ours is in the user's tree. After it has ended, a scan is compared with the one
before its start, and what is new is moved to a directory of the run, from which the user can accept it. Running
commands are recorded in the runtime's own state: if the runtime was killed, the comparison happens before the next
command in the same workspace.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import NotFound, SandboxError, ValidationFailed
from skills_runtime.ports import Quarantine, Quarantined
from skills_runtime.protected_names import LOGIN_PATHS, STARTUP_FILES
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.protected_paths import RUNTIME_DIRECTORY, Findings, scan
from skills_runtime.storage import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    create_directories,
    open_root,
    release_lock,
    try_lock,
    write_all,
    write_new,
)

MAX_LISTED = 50
# Beyond this number new key files are moved too, because every later command has to cover each of them.
MAX_SECRETS = 200
DESCRIPTION = "items.json"
"""Records where the files beside it were; their names are indexes into it."""
_RECORDING = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was moved aside."""

    path: str
    """The original path."""
    at: str


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved aside after one command."""

    items: tuple[Item, ...]


class CommandRecord(NamedTuple):
    """A recorded running command; the lock on its record shows that its runtime lives."""

    path: Path
    lock: int


def plan_quarantine(policy: SandboxPolicy, findings: Findings, directory: Path, records: Path) -> Quarantine | None:
    """Return what to compare after a command with this policy; None if it cannot write."""
    roots = [*([policy.workspace] if policy.access == "write" else []), *policy.writable]
    if not roots:
        return None
    # Files that only count in a home directory may turn the workspace into one, and must not be created either.
    at_home = (root / name for root in roots for name in (*LOGIN_PATHS, *STARTUP_FILES))
    paths = {
        *findings.obeyed,
        *findings.links,
        *findings.read_only,
        *findings.hidden_files,
        *findings.concealed,
        *filter(os.path.lexists, at_home),
    }
    for other in _running(records):
        paths = {path for path in paths if not _may_have_made(other, path)}
    return Quarantine(
        roots=tuple(map(str, roots)),
        directory=str(directory),
        records=str(records),
        known_paths=frozenset(map(str, paths)),
        identities=frozenset(filter(None, map(_identity, paths))),
        links=tuple((str(path), target) for path in findings.links if path in paths and (target := _target(path))),
    )


def _running(records: Path) -> Iterator[Quarantine]:
    """Yield the records of commands running in the same workspace."""
    for path in records.glob("*.json") if records.is_dir() else ():
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            yield _decode(path.read_bytes(), Quarantine)


def _may_have_made(command: Quarantine, path: Path) -> bool:
    """Return whether another running command may have made the path, so that it is not judged yet."""
    return any(path.is_relative_to(root) for root in command.roots) and not _is_known(path, command)


def _is_known(path: Path, quarantine: Quarantine) -> bool:
    # A repository, or a file that makes one.
    aliases = (
        path,
        path / "HEAD",
        *([path.parent] if path.name == "HEAD" else []),
    )
    return any(str(alias) in quarantine.known_paths for alias in aliases) or _identity(path) in quarantine.identities


def quarantine_report(quarantined: Sequence[Quarantined]) -> list[dict[str, str]]:
    """Return what was moved aside as plain data, for results; a long list is cut."""
    rows = [
        {name: _readable(value) for name, value in msgspec.to_builtins(item).items() if value}
        for item in quarantined[:MAX_LISTED]
    ]
    more = len(quarantined) - len(rows)
    return [*rows, *([{"path": f"… and {more} more"}] if more else [])]


def _readable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def record_command(quarantine: Quarantine) -> CommandRecord:
    """Record that a command is about to start."""
    directory = Path(quarantine.records)
    path = directory / f"{os.urandom(8).hex()}.json"
    try:
        create_directories(directory)
        lock = os.open(path, _RECORDING, PRIVATE_FILE)
    except OSError as error:
        raise SandboxError(
            f"no command can be recorded in `{directory}`: {error.strerror}",
            hint="set `XDG_STATE_HOME` to a directory that you can write",
        ) from error
    try_lock(lock)
    write_all(lock, _encode(quarantine))
    return CommandRecord(path, lock)


def finish_record(quarantine: Quarantine, record: CommandRecord) -> tuple[Quarantined, ...]:
    """Move aside what is new after a command whose processes have all ended, and end its record."""
    try:
        quarantined = quarantine_new_files(quarantine)
        record.path.unlink(missing_ok=True)
        return quarantined
    finally:
        release_lock(record.lock)


def recover(records: Path) -> tuple[Quarantined, ...]:
    """Finish the commands of runtimes that were killed."""
    quarantined: list[Quarantined] = []
    for path in sorted(records.glob("*.json")) if records.is_dir() else ():
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            if not try_lock(lock):  # its runtime lives
                os.close(lock)
                continue
            try:
                quarantine = _decode(path.read_bytes(), Quarantine)
            except (ValueError, msgspec.MsgspecError):  # the runtime was killed before it started the command
                release_lock(lock)
                raise
            quarantined += finish_record(quarantine, CommandRecord(path, lock))
    return tuple(quarantined)


def quarantine_new_files(quarantine: Quarantine) -> tuple[Quarantined, ...]:
    """Move what is new, and restore missing links."""
    changed_links = [(Path(text), target) for text, target in quarantine.links if _target(Path(text)) != target]
    in_the_way = [path for path, _ in changed_links if os.path.lexists(path)]
    scans = [(Path(root), scan(Path(root))) for root in quarantine.roots]
    moved = _move_all([*_new_paths(quarantine, scans), *in_the_way], Path(quarantine.directory))
    for path, target in changed_links:
        with suppress(OSError):
            path.symlink_to(target)
    return (*moved, *_report_unchecked(quarantine, scans))


def _new_paths(quarantine: Quarantine, scans: Sequence[tuple[Path, Findings]]) -> Iterator[Path]:
    for _, findings in scans:
        moved: set[Path] = set()
        many = findings.hidden_files if len(findings.hidden_files) > MAX_SECRETS else ()
        # Sorted, so a directory comes before its content.
        for path in (*findings.obeyed, *many):
            if not _is_known(path, quarantine) and moved.isdisjoint(path.parents) and not _is_in_use(path):
                moved.add(path)
                yield path


def _is_in_use(path: Path) -> bool:
    """Return whether it is the directory of a run in progress, created while the command ran."""
    for lock in path.glob("runs/*/run.lock") if path.name == RUNTIME_DIRECTORY else ():
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if not try_lock(descriptor):
                    return True
            finally:
                os.close(descriptor)
    return False


def _report_unchecked(quarantine: Quarantine, scans: Sequence[tuple[Path, Findings]]) -> Iterator[Quarantined]:
    for root, findings in scans:
        new = (path for path in findings.concealed if not _is_known(path, quarantine))
        for path in (*new, *(() if findings.complete else (root,))):
            yield Quarantined(path=str(path), problem="it holds too much to check")


def _move_all(paths: Sequence[Path], directory: Path) -> tuple[Quarantined, ...]:
    """Move them into one new directory, which records where each was."""
    if not paths:
        return ()
    batch, at = directory / os.urandom(6).hex(), SystemClock().now()
    try:
        batch.mkdir(mode=PRIVATE_DIRECTORY, parents=True)
        contents = Batch(items=tuple(Item(path=str(path), at=at) for path in paths))
        write_new(batch / DESCRIPTION, _encode(contents))
    except OSError as error:
        return tuple(Quarantined(path=str(path), problem=error.strerror or str(error)) for path in paths)
    moved = (_move(path, batch / str(number)) for number, path in enumerate(paths))
    return tuple(item for item in moved if item is not None)


def _move(path: Path, target: Path) -> Quarantined | None:
    # Move by names in open directories: another command may replace a directory by a link meanwhile.
    try:
        parent = open_root(path.parent)
        try:
            _rename(parent, path, target)
        finally:
            os.close(parent)
    except FileNotFoundError:  # another command has ended meanwhile and moved it
        return None
    except OSError as error:
        return Quarantined(path=str(path), problem=error.strerror or str(error))
    return Quarantined(path=str(path), moved_to=str(target))


def _rename(parent: int, path: Path, target: Path) -> None:
    try:
        os.rename(path.name, target, src_dir_fd=parent)
    except OSError as error:
        if error.errno == errno.EXDEV:
            shutil.move(f"/proc/self/fd/{parent}/{path.name}", target)
            return
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise
        # The command may have removed the permissions that moving needs.
        Path(f"/proc/self/fd/{parent}").chmod(stat.S_IMODE(os.fstat(parent).st_mode) | stat.S_IRWXU)
        itself = os.open(path.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if stat.S_ISDIR(os.fstat(itself).st_mode):
                Path(f"/proc/self/fd/{itself}").chmod(0o755)
        finally:
            os.close(itself)
        os.rename(path.name, target, src_dir_fd=parent)


def list_items(directory: Path) -> list[tuple[Path, Item]]:
    """Return what was moved aside, oldest first, each with its current path."""
    entries: list[tuple[Path, Item]] = []
    for description in directory.glob(f"*/{DESCRIPTION}"):
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            batch = _decode(description.read_bytes(), Batch)
            locations = ((description.with_name(str(number)), item) for number, item in enumerate(batch.items))
            entries += [(path, item) for path, item in locations if os.path.lexists(path)]
    return sorted(entries, key=lambda entry: (entry[1].at, entry[1].path))


def accept(directory: Path, paths: Sequence[str] = ()) -> list[str]:
    """Restore what the user accepts, everything by default; return the restored paths."""
    waiting = list_items(directory)
    unknown = sorted(set(paths) - {item.path for _, item in waiting})
    if unknown or not waiting:
        subject = f"`{unknown[0]}` is not" if unknown else "nothing is"
        raise NotFound(f"{subject} set aside", hint="`--list` shows quarantined files")
    accepted: list[str] = []
    for path, item in waiting:
        if paths and item.path not in paths:
            continue
        if os.path.lexists(item.path):
            raise ValidationFailed(f"`{item.path}` exists again", hint="remove or rename it first")
        if not Path(item.path).parent.is_dir():
            raise NotFound(f"the directory of `{item.path}` is gone", hint="create it first")
        try:
            shutil.move(path, item.path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise SandboxError(f"`{item.path}` could not be put back: {reason}", hint="move it by hand") from error
        accepted.append(item.path)
    return accepted


T = TypeVar("T", bound=msgspec.Struct)


def _encode(value: msgspec.Struct) -> bytes:
    """Return it as JSON; the standard library's encoder accepts paths that are not UTF-8."""
    return json.dumps(msgspec.to_builtins(value)).encode()


def _decode(data: bytes, kind: type[T]) -> T:
    return msgspec.convert(json.loads(data), kind)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what shows that a file was only moved; None for a link, which cannot be identified."""
    try:
        info = path.lstat()
    except OSError:
        return None
    return None if stat.S_ISLNK(info.st_mode) else (info.st_dev, info.st_ino)


def _target(path: Path) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - the text must stay as it is
    except OSError:
        return None
