"""Create a log, or open one for writing: lock, recover, next epoch.

The lock is advisory, and the kernel drops it when its holder dies. Recovery verifies a prefix: an invalid tail was
never acknowledged and is moved to `logs/`; damage in the middle is refused, because later lines were acknowledged.
"""

import hashlib
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import AccessRefused, KeyMissing, LogCorrupt, LogEnded, LogLocked, NotFound, StorageFailed
from skills_runtime.events import Descriptor, LogRepaired, RunAdopted
from skills_runtime.runs.layout import FILE_MODE, RunPaths
from skills_runtime.runs.log.chain import (
    CHUNK,
    FAULT_TEXT,
    Fault,
    Line,
    LogHeader,
    Position,
    Verifier,
    prefix_digest,
    read_header,
    read_line_at,
    read_lines,
)
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.keys import KeyRing, LogKey
from skills_runtime.runs.log.writer import EventLog, LogPorts
from skills_runtime.storage import open_new, release_lock, sync_path, try_lock

CHECKPOINTS = "checkpoints.jsonl"
RUNS_HINT = "name a directory below `.skills_runtime_sdk/runs/`; `skills-runtime runs list` shows them"
OWNER_HINT = "act as the user who owns the run"

Reason = Literal["torn", "unverified"]


class RunLock:
    """The writer lock of a run, held until `release`; the file holds the pid for diagnosis."""

    def __init__(self, path: Path | str) -> None:
        self._fd = self._acquire(path)
        # The pid is only informative; a full disk does not weaken the lock.
        with suppress(OSError):
            # Fixed width overwrites the previous pid completely.
            os.pwrite(self._fd, b"%-19d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Release the lock."""
        if self._fd >= 0:
            release_lock(self._fd)
            self._fd = -1

    def _acquire(self, path: Path | str) -> int:
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            if not try_lock(fd):
                holder = os.pread(fd, 20, 0).decode(errors="replace").strip()
                os.close(fd)
                # May be a sub-agent of the run that the user named.
                name = Path(path).parent.name
                message = f"another process (pid {holder or 'unknown'}) is writing the run `{name}`"
                raise LogLocked(message, run_id=name)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.lstat(path), os.fstat(fd)):
                    return fd
            os.close(fd)  # the file was replaced between opening and locking it


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes after the verified prefix."""

    reason: Reason
    fault: Fault
    offset: int
    size: int


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The position where the log may continue, and the invalid tail after it."""

    position: Position
    tail: Tail | None = None


def verify_lines(fd: int, verifier: Verifier) -> Generator[Line, None, Tail | None]:
    """Yield each valid line; return the invalid tail, raise `LogCorrupt` for damage in the middle."""
    lines = read_lines(fd, verifier.position.offset)
    for line in lines:
        fault = verifier.check(line.data) if line.complete else "shape"
        if fault is not None:
            _refuse_damage(verifier, line, fault, lines)
            return _tail(fd, line.offset, fault, reason="unverified" if line.complete else "torn")
        yield line
    return None


def recover(fd: int, verifier: Verifier, *, adopting: bool = False) -> Recovery:
    """Verify to the end; lines signed with a missing key count only when `adopting`."""
    lines = verify_lines(fd, verifier)
    while True:
        try:
            next(lines)
        except StopIteration as end:
            tail: Tail | None = end.value
            break
    lost = verifier.lost_trust_at
    if lost is not None and not adopting:
        return Recovery(position=lost, tail=_tail(fd, lost.offset, "key", reason="unverified"))
    return Recovery(position=verifier.position, tail=tail)


def _refuse_damage(verifier: Verifier, bad: Line, fault: Fault, remaining: Iterator[Line]) -> None:
    # Sealed with our key, so the lines before it are the ones that changed.
    broken = fault == "prefix"
    previous = bad.data
    for line in remaining:
        broken = broken or (line.complete and verifier.is_successor(previous, line.data))
        previous = line.data
    if broken:
        raise corruption_error(verifier.position, bad.offset, fault)


def _tail(fd: int, offset: int, fault: Fault, *, reason: Reason) -> Tail:
    return Tail(reason=reason, fault=fault, offset=offset, size=os.fstat(fd).st_size - offset)


def corruption_error(position: Position, offset: int, fault: Fault) -> LogCorrupt:
    """Build the error that names the line and its fault."""
    return LogCorrupt(
        f"line {position.seq + 1} of the log {FAULT_TEXT[fault]}",
        details={"seq": position.seq, "offset": offset, "fault": fault},
    )


def quarantine_tail(fd: int, tail: Tail, logs: Path) -> Descriptor:
    """Copy the invalid tail into `logs/`, then truncate the log; no data is destroyed."""
    digest = hashlib.sha256()
    name = f"rejected-{tail.offset}-{os.urandom(4).hex()}.bin"
    path = logs / name
    out = open_new(path, mode=FILE_MODE)
    try:
        offset = tail.offset
        while chunk := os.pread(fd, CHUNK, offset):
            count = os.write(out, chunk)
            digest.update(chunk[:count])
            offset += count
        os.fsync(out)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(out)
    sync_path(logs)
    os.ftruncate(fd, tail.offset)
    os.fsync(fd)
    return Descriptor(name=f"logs/{name}", sha256=digest.hexdigest(), size=tail.size, role="rejected")


def create_log(draft: str, final: RunPaths, run_id: str, ports: LogPorts) -> tuple[EventLog, RunLock]:
    """Create an empty, locked log in the draft directory that will become `final`."""
    key = ports.keys.current()
    fd = os.open(f"{draft}/events.jsonl", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    try:
        lock = RunLock(f"{draft}/run.lock")
    except BaseException:
        os.close(fd)
        raise
    return _writer(fd, final, run_id, key, Position(epoch=1, key_id=key.id), ports), lock


def open_log(paths: RunPaths, ports: LogPorts, *, adopt: bool = False) -> tuple[EventLog, RunLock]:
    """Open a log for writing, locked and in a new epoch; `adopt` takes over a run signed elsewhere."""
    lock = _lock(paths)
    try:
        fd = _open_events(paths)
        try:
            return _open(fd, paths, ports, adopt=adopt), lock
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        lock.release()
        raise StorageFailed(f"the log of `{paths.root}` could not be opened: {error.strerror}") from error
    except BaseException:
        lock.release()
        raise


def read_log_header(fd: int) -> LogHeader:
    """Read the header of an open log; raise `LogCorrupt` when there is none."""
    first = read_line_at(fd)
    header = read_header(first.data) if first is not None and first.complete else None
    if header is None:
        raise LogCorrupt("line 1 of the log is not a complete event line", details={"seq": 0, "offset": 0})
    return header


def build_secret_finder(keys: KeyRing) -> Callable[[str], bytes | None]:
    """Build a cached lookup of secrets by key id."""
    secrets: dict[str, bytes | None] = {}

    def find(key_id: str) -> bytes | None:
        if key_id not in secrets:
            key = keys.find(key_id)
            secrets[key_id] = key.secret if key else None
        return secrets[key_id]

    return find


def start_verifier(fd: int, paths: RunPaths, keys: KeyRing, header: LogHeader, *, from_start: bool) -> Verifier:
    """Create a verifier at the beginning, or at the last checkpoint unless `from_start`."""
    checkpoints = Checkpoints(paths.logs / CHECKPOINTS, header.run_id)
    return create_verifier(fd, keys, header, None if from_start else checkpoints.latest(fd, build_secret_finder(keys)))


def create_verifier(fd: int, keys: KeyRing, header: LogHeader, start: Position | None) -> Verifier:
    """Create a verifier at a trusted position, or at the beginning."""
    start = start or Position(key_id=header.key_id, version=header.version)
    return Verifier(header.run_id, build_secret_finder(keys), start, partial(prefix_digest, fd))


def _lock(paths: RunPaths) -> RunLock:
    if not paths.events.is_file():
        raise NotFound(f"`{paths.root}` is not a run directory: it has no `events.jsonl`", hint=RUNS_HINT)
    try:
        return RunLock(paths.lock)
    except PermissionError as error:
        raise AccessRefused(f"`{paths.root}` may not be written by this user", hint=OWNER_HINT) from error
    except OSError as error:
        raise StorageFailed(f"the lock of `{paths.root}` could not be taken: {error.strerror}") from error


def _open_events(paths: RunPaths) -> int:
    try:
        return os.open(paths.events, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError as error:
        raise AccessRefused(f"`{paths.events}` may not be written by this user", hint=OWNER_HINT) from error


def _open(fd: int, paths: RunPaths, ports: LogPorts, *, adopt: bool) -> EventLog:
    header = read_log_header(fd)
    if header.version == 0:
        raise LogCorrupt("this log was written by an older product and can only be read", hint="start a new run")
    verifier = start_verifier(fd, paths, ports.keys, header, from_start=False)
    recovered = recover(fd, verifier, adopting=adopt)
    position = recovered.position
    signer = verifier.position.key_id
    if not verifier.key_present and not adopt:
        raise KeyMissing(f"the run `{header.run_id}` was signed with the key `{signer}`, which is not here")
    if position.ended:
        raise LogEnded(f"the run `{header.run_id}` has ended")
    removed = quarantine_tail(fd, recovered.tail, paths.logs) if recovered.tail else None
    key = ports.keys.find(position.key_id) if verifier.key_present else ports.keys.current()
    assert key is not None, "the verifier found it a moment ago"
    start = Position(
        seq=position.seq, offset=position.offset, head=position.head, epoch=position.epoch + 1, key_id=key.id
    )
    log = _writer(fd, paths, header.run_id, key, start, ports)
    if not verifier.key_present:
        log.append(RunAdopted(previous_key_id=signer, key_id=key.id, prefix_sha256=prefix_digest(fd, position.offset)))
    if recovered.tail and removed:
        log.append(LogRepaired(reason=recovered.tail.reason, offset=recovered.tail.offset, removed=removed))
    return log


def _writer(fd: int, paths: RunPaths, run_id: str, key: LogKey, start: Position, ports: LogPorts) -> EventLog:
    return EventLog(
        fd,
        run_id=run_id,
        key=key,
        start=start,
        ports=ports,
        checkpoints=Checkpoints(f"{paths.root}/logs/{CHECKPOINTS}", run_id),
    )
