"""The directory layout of executions: one private directory each, idempotency keys, and the owners that run them.

The kernel releases a lock when its holder dies, so the next process sees which executions were interrupted without
reading their records.
"""

import hashlib
import os
import secrets
import stat
import threading
from contextlib import suppress
from pathlib import Path

import msgspec

from skills_runtime.clock import RandomIds
from skills_runtime.errors import NotFound, RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.executions.values import Record
from skills_runtime.storage import mark_children_unrelated, remove_tree, sync_path, try_lock, write_atomic, write_new

PREFIX = "exec-"
RECORD, INPUT, STDOUT, STDERR, OUTPUT = "execution.json", "input.json", "stdout.txt", "stderr.txt", "output.json"
RUNTIME = ".runtime"
"""The directory for staging, locks and keys; no execution has this name."""
_TRIES = 100
MEMORY = "/dev/shm"
MIN_FREE_MEMORY = 1 << 30
"""With less free memory than this, executions work on disk."""


class ExecutionLayout:
    """A directory of executions."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()  # opened later without following links
        self._synced = False

    @property
    def runtime(self) -> Path:
        """Return the directory of the runtime's own files."""
        return self.root / RUNTIME

    @property
    def trash(self) -> Path:
        """Return the directory of files to be removed."""
        return self.runtime / "removed"

    def make(self) -> None:
        """Create the directories if they do not exist."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            mark_children_unrelated(self.root)
            for name in ("", "owners", "keys", "stages", "removed"):
                (self.runtime / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"executions cannot be kept at `{self.root}`: {error.strerror}", hint="name another directory"
            ) from error

    def sync_directories(self) -> None:
        """Sync the directories themselves, once."""
        if not self._synced:
            for directory in (self.runtime, self.root, *self.root.parents):
                # Another user's directory, which existed before.
                with suppress(PermissionError):
                    sync_path(directory)
            self._synced = True

    def claim(self, execution_id: str | None = None) -> str:
        """Create the directory of a new execution exclusively and return its id."""
        for _ in range(_TRIES):
            name = execution_id or f"{PREFIX}{secrets.token_hex(6)}"
            try:
                os.mkdir(f"{self.root}/{name}", 0o700)  # noqa: PTH102 - a path object costs as much as the directory
            except FileExistsError:
                if execution_id is not None:
                    raise ValidationFailed(
                        f"there is an execution `{execution_id}` already", hint="take another id"
                    ) from None
                continue
            return name
        raise StorageFailed(f"no free name for an execution was found in {_TRIES} tries")

    def directory(self, execution_id: str) -> Path:
        """Return the directory of an execution; raise an error for an invalid id."""
        if not is_execution_id(execution_id):
            raise not_found_error(execution_id)
        return self.root / execution_id

    def read(self, execution_id: str) -> Record:
        """Read the record of an execution."""
        try:
            return read_record(self.directory(execution_id))
        except (OSError, msgspec.MsgspecError) as error:
            raise not_found_error(execution_id) from error

    def ids(self) -> list[str]:
        """Return the ids of all executions, unordered."""
        try:
            with os.scandir(self.root) as entries:
                return [entry.name for entry in entries if is_execution_id(entry.name)]
        except FileNotFoundError:
            return []

    def order(self, execution_id: str) -> tuple[int, str]:
        """Return the sort key: when the input was written, which happens once."""
        try:
            return (self.directory(execution_id) / INPUT).stat().st_mtime_ns, execution_id
        except FileNotFoundError:
            return 0, execution_id

    def remove(self, execution_id: str) -> bool:
        """Remove an execution with all its files, atomically for other processes; return whether it is gone."""
        directory = self.directory(execution_id)
        try:
            directory.rename(self.trash / f"{execution_id}-{secrets.token_hex(4)}")
        except OSError:
            remove_tree(directory, ignore_errors=True)
        else:
            self.empty_trash()
        return not os.path.lexists(directory)

    def empty_trash(self) -> None:
        """Remove everything in the trash, including the trash of killed processes."""
        with suppress(OSError), os.scandir(self.trash) as entries:
            for entry in entries:
                remove_tree(entry.path, ignore_errors=True)


def is_execution_id(text: str) -> bool:
    """Return whether this can be an execution id: the prefix, then letters, digits and hyphens."""
    suffix = text.removeprefix(PREFIX)
    return text.startswith(PREFIX) and suffix.isascii() and suffix.isalnum() and len(suffix) <= 64


def not_found_error(execution_id: str) -> NotFound:
    """Return the error for an unknown execution."""
    name = execution_id[:80]
    return NotFound(
        f"there is no execution {name!a}", hint="list the executions to see their ids", resource="execution", name=name
    )


def stages_in_memory(path: Path) -> Path | None:
    """Return a private in-memory directory for stages, or None without enough free memory.

    Memory is faster than disk, and every stage is removed with its execution. The same path gets the same directory.
    """
    try:
        filesystem = os.statvfs(MEMORY)
        if filesystem.f_bavail * filesystem.f_frsize < MIN_FREE_MEMORY:
            return None
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
        directory = Path(MEMORY) / f"skills-runtime-{os.geteuid()}-{name}"
        directory.mkdir(mode=0o700, exist_ok=True)
        info = directory.lstat()
    except OSError:
        return None
    # Another user may have created a directory of that name first.
    is_private = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    return directory if is_private else None


def read_record(directory: Path) -> Record:
    """Read the record in the directory of an execution."""
    return msgspec.json.decode((directory / RECORD).read_bytes(), type=Record)


def write_record(directory: Path | str, record: Record, *, durable: bool) -> None:
    """Replace the record atomically: a reader sees the old one or the new one, also after a power loss."""
    if durable:
        sync_path(directory)  # the content must be durable before the record that names it
    write_atomic(os.path.join(directory, RECORD), _encode_record(record), durable=durable)


def write_first_record(directory: str, record: Record, *, durable: bool) -> None:
    """Write the first record of an execution; until it is complete, the execution does not exist."""
    write_new(f"{directory}/{RECORD}", _encode_record(record), durable=durable)


def _encode_record(record: Record) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


MAX_KEY_CHARS = 255


class KeyEntry(msgspec.Struct, frozen=True):
    """The execution that a key stands for."""

    execution_id: str
    request: str
    """The digest of the request."""


def key_digest(key: str) -> str:
    """Return the file name for a key; the key itself is never stored."""
    if not key or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise ValidationFailed(
            f"an idempotency key must have 1 to {MAX_KEY_CHARS} printable characters", hint="use a random id"
        )
    return hashlib.sha256(key.encode()).hexdigest()


class Keys:
    """The idempotency keys of one layout."""

    def __init__(self, layout: ExecutionLayout) -> None:
        self._directory = layout.runtime / "keys"

    def find(self, digest: str, request: str) -> str | None:
        """Return the execution started under this key; another request under it is a conflict."""
        try:
            entry = msgspec.json.decode((self._directory / digest).read_bytes(), type=KeyEntry)
        except FileNotFoundError:
            return None
        check_same_request(entry.request, request)
        return entry.execution_id

    def belongs_to(self, digest: str, execution_id: str) -> bool:
        """Return whether a key belongs to this execution."""
        try:
            entry = msgspec.json.decode((self._directory / digest).read_bytes(), type=KeyEntry)
        except (OSError, msgspec.MsgspecError):
            return False
        return entry.execution_id == execution_id

    def claim(self, digest: str, request: str, execution_id: str) -> str | None:
        """Claim the key for this execution; return the other execution if it was claimed before."""
        try:
            write_atomic(self._directory / digest, msgspec.json.encode(KeyEntry(execution_id, request)), replace=False)
        except FileExistsError:
            return self.find(digest, request)
        return None

    def release(self, digest: str, execution_id: str) -> None:
        """Release the key of an execution that never started or is removed."""
        path: Path = self._directory / digest
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=KeyEntry)
        except FileNotFoundError:
            return
        if entry.execution_id == execution_id:
            path.unlink(missing_ok=True)


def check_same_request(recorded: str, request: str) -> None:
    """Raise an error if the key was used for another request."""
    if recorded != request:
        raise RequestConflict(
            "the idempotency key was used for another request", hint="use a new key for a new request"
        )


LOCK, JOURNAL = "lock", "journal"
MAX_LINES = 20_000
"""After this many lines the journal is rewritten with only the running executions."""
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Owner:
    """This process as the owner of running executions."""

    def __init__(self, layout: ExecutionLayout) -> None:
        self.name = RandomIds().new("owner")
        self._directory = layout.runtime / "owners" / self.name
        # Created under a staging name and locked, so that no process takes it for one left by a dead process.
        aside = layout.runtime / "owners" / f".{self.name}"
        aside.mkdir(mode=0o700)
        self._lock = os.open(aside / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try_lock(self._lock)  # always succeeds: no other process knows the path yet
        self._journal = os.open(aside / JOURNAL, _APPENDING, 0o600)
        aside.rename(self._directory)
        self._active: set[str] = set()
        self._lines = 0
        self._synced = False
        self._writing = threading.Lock()

    def note_start(self, execution_id: str, *, durable: bool = False) -> None:
        """Record that an execution is running; `durable` also survives a power loss."""
        with self._writing:
            self._active.add(execution_id)
            self._note(f"+{execution_id}\n")
            if durable:
                os.fsync(self._journal)
                if not self._synced:
                    sync_path(self._directory)
                    sync_path(self._directory.parent)
                    self._synced = True

    def note_end(self, execution_id: str) -> None:
        """Record that an execution has ended."""
        with self._writing:
            self._active.discard(execution_id)
            self._note(f"-{execution_id}\n")

    def close(self) -> None:
        """Release the lock; executions still running are recovered by the next process."""
        if self._lock >= 0:
            if not self._active:
                remove_tree(self._directory, ignore_errors=True)
            os.close(self._journal)
            os.close(self._lock)
            self._lock = -1

    def _note(self, line: str) -> None:
        os.write(self._journal, line.encode("ascii"))
        self._lines += 1
        if self._lines > MAX_LINES:
            self._shorten()

    def _shorten(self) -> None:
        aside = self._directory / f".{JOURNAL}"
        write_new(aside, "".join(f"+{name}\n" for name in sorted(self._active)).encode("ascii"))
        journal = os.open(aside, _APPENDING)
        aside.rename(self._directory / JOURNAL)
        self._synced = False
        os.close(self._journal)
        self._journal, self._lines = journal, 0


def is_alive(layout: ExecutionLayout, owner: str) -> bool:
    """Return whether the process with this owner name is alive."""
    lock = layout.runtime / "owners" / owner / LOCK
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def find_dead_owners(layout: ExecutionLayout) -> list[tuple[Path, list[str]]]:
    """Return the directories of dead owners and the executions they left running."""
    owners: list[tuple[Path, list[str]]] = []
    for directory in sorted((layout.runtime / "owners").iterdir()):
        if not directory.name.startswith(".") and not is_alive(layout, directory.name):
            try:
                lines = (directory / JOURNAL).read_text(encoding="ascii", errors="replace").splitlines()
            except FileNotFoundError:  # another process finishes it at the same time
                continue
            owners.append((directory, _parse_journal(lines)))
    return owners


def _parse_journal(lines: list[str]) -> list[str]:
    """Return the executions that started and did not end; a line truncated by a kill names nothing."""
    names: dict[str, None] = {}
    for line in lines:
        if line.startswith("+") and is_execution_id(line[1:]):
            names[line[1:]] = None
        else:
            names.pop(line[1:], None)
    return list(names)
