"""Where executions are kept: one private directory each, and beside them what only the runtime needs."""

import hashlib
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, StorageFailed, ValidationFailed
from skills_runtime.executions.values import Record
from skills_runtime.storage.files import spread_out

PREFIX = "exec-"
RECORD, INPUT, STDOUT, STDERR, OUTPUT = "execution.json", "input.json", "stdout.txt", "stderr.txt", "output.json"
RUNTIME = ".runtime"
"""The directory for staging, locks and keys; no execution has such a name."""
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 100
MEMORY = "/dev/shm"
LEAST_MEMORY = 1 << 30
"""Below which executions work on the disk."""


class Place:
    """A directory of executions."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()  # what is opened in it is opened without following links
        self._is_secure = False

    @property
    def runtime(self) -> Path:
        """What only the runtime needs."""
        return self.root / RUNTIME

    @property
    def removed(self) -> Path:
        """What is on its way out."""
        return self.runtime / "removed"

    def make(self) -> None:
        """Make the directories unless they are there."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            spread_out(self.root)
            for name in ("", "owners", "keys", "stages", "removed"):
                (self.runtime / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"executions cannot be kept at `{self.root}`: {error.strerror}", hint="name another directory"
            ) from error

    def secure(self) -> None:
        """Have the disk keep the directories themselves; once is enough."""
        if not self._is_secure:
            for directory in (self.runtime, self.root, *self.root.parents):
                with suppress(PermissionError):  # somebody else's, who has it for longer
                    sync_directory(directory)
            self._is_secure = True

    def claim(self, wanted: str | None = None) -> str:
        """Make the directory of a new execution, which nobody else has then; returns its name."""
        for _ in range(_TRIES):
            name = wanted or f"{PREFIX}{secrets.token_hex(6)}"
            try:
                os.mkdir(f"{self.root}/{name}", 0o700)  # noqa: PTH102 - a path object costs as much as the directory
            except FileExistsError:
                if wanted is not None:
                    raise ValidationFailed(
                        f"there is an execution `{wanted}` already", hint="take another id"
                    ) from None
                continue
            return name
        raise StorageFailed(f"no free name for an execution was found in {_TRIES} tries")

    def directory(self, execution_id: str) -> Path:
        """The directory of an execution; a name that is none is refused."""
        if not is_execution_id(execution_id):
            raise not_there(execution_id)
        return self.root / execution_id

    def read(self, execution_id: str) -> Record:
        """What is known of an execution."""
        try:
            return read_record(self.directory(execution_id))
        except (OSError, msgspec.MsgspecError) as error:
            raise not_there(execution_id) from error

    def ids(self) -> list[str]:
        """The names of all executions that are there, in no order."""
        try:
            with os.scandir(self.root) as entries:
                return [entry.name for entry in entries if is_execution_id(entry.name)]
        except FileNotFoundError:
            return []

    def order(self, execution_id: str) -> tuple[int, str]:
        """What executions are sorted by: when their input was written, which happens once."""
        try:
            return (self.directory(execution_id) / INPUT).stat().st_mtime_ns, execution_id
        except FileNotFoundError:
            return 0, execution_id

    def forget(self, execution_id: str) -> bool:
        """Remove an execution and everything it left, in one step for whoever looks; returns whether it is gone."""
        directory = self.directory(execution_id)
        try:
            directory.rename(self.removed / f"{execution_id}-{secrets.token_hex(4)}")
        except OSError:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            self.clear()
        return not os.path.lexists(directory)

    def clear(self) -> None:
        """Take away what is on its way out, also what somebody left there who was killed."""
        with suppress(OSError), os.scandir(self.removed) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)


def is_execution_id(text: str) -> bool:
    """Whether this may be the name of an execution: letters, digits and hyphens behind the prefix."""
    rest = text.removeprefix(PREFIX)
    return text.startswith(PREFIX) and rest.isascii() and rest.isalnum() and len(rest) <= 64


def not_there(execution_id: str) -> NotFound:
    """The error for a name that no execution has."""
    name = execution_id[:80]
    return NotFound(
        f"there is no execution {name!a}", hint="list the executions to see their ids", resource="execution", name=name
    )


def stages_in_memory(place: Path) -> Path | None:
    """A private directory in memory for the copies that executions work on, where there is room for it.

    It is quicker than a disk, and what is in it is removed with each execution; the same place gets the same one.
    """
    try:
        room = os.statvfs(MEMORY)
        if room.f_bavail * room.f_frsize < LEAST_MEMORY:
            return None
        name = hashlib.sha256(os.fsencode(place.resolve())).hexdigest()[:16]
        directory = Path(MEMORY) / f"skills-runtime-{os.geteuid()}-{name}"
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return None
    # Anybody may make a directory of that name there first.
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return directory if mine else None


def read_record(directory: Path) -> Record:
    """The record in the directory of an execution."""
    return msgspec.json.decode((directory / RECORD).read_bytes(), type=Record)


def remove_tree(directory: Path | str) -> None:
    """Remove a directory of which nobody has anything open any more, as far as that can be done."""
    try:
        _remove(os.fspath(directory))
    except (OSError, RecursionError):  # whatever a skill has left: names too long, directories that cannot be read
        shutil.rmtree(directory, ignore_errors=True)


def _remove(directory: str) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    os.rmdir(directory)  # noqa: PTH106


def write_record(directory: Path | str, record: Record, *, durable: bool) -> None:
    """Replace the record in one step: a reader sees the old one or the new one, after a loss of power too."""
    aside = os.path.join(directory, f".{RECORD}")
    with suppress(FileNotFoundError):
        os.unlink(aside)  # noqa: PTH108 - of a process that was killed
    write_new(aside, _written(record), durable=durable)
    if durable:
        sync_directory(directory)  # what the record tells of is there before the record
    os.replace(aside, os.path.join(directory, RECORD))  # noqa: PTH105
    if durable:
        sync_directory(directory)


def write_first_record(directory: str, record: Record, *, durable: bool) -> None:
    """Write the record of an execution that nobody knows of yet: until it is whole, there is no such execution."""
    write_new(f"{directory}/{RECORD}", _written(record), durable=durable)


def _written(record: Record) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def sync_directory(directory: Path | str) -> None:
    """Have the disk keep the names in a directory."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_new(path: Path | str, data: bytes, *, durable: bool = False) -> None:
    """A new file that only this user can read; its content is on the disk when it has to be."""
    fd = os.open(path, _MAKING, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
