"""Creating a log, and opening one to write on: lock, recover, next epoch."""

import os
from collections.abc import Callable
from functools import partial

from skills_runtime.errors import AccessRefused, KeyMissing, LogCorrupt, LogEnded, NotFound, StorageFailed
from skills_runtime.events.payloads import Descriptor, LogRepaired, RunAdopted
from skills_runtime.runs.layout import FILE_MODE, RunPaths
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.keys import KeyRing, LogKey
from skills_runtime.runs.log.lines import first_line, prefix_digest
from skills_runtime.runs.log.lock import RunLock
from skills_runtime.runs.log.ports import LogPorts
from skills_runtime.runs.log.position import Position
from skills_runtime.runs.log.recovery import Tail, recover, set_aside
from skills_runtime.runs.log.verifier import LogHeader, Verifier, read_header
from skills_runtime.runs.log.writer import EventLog

CHECKPOINTS = "checkpoints.jsonl"
WHERE_RUNS_ARE = "name a directory below `.skills_runtime_sdk/runs/`; `skills-runtime runs list` shows them"
WHOSE_RUN = "act as the user who owns the run"


def create_log(draft: str, final: RunPaths, run_id: str, ports: LogPorts) -> tuple[EventLog, RunLock]:
    """Start an empty log, already locked, in a directory nobody knows yet and that will become `final`."""
    key = ports.keys.current()
    fd = os.open(f"{draft}/events.jsonl", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    try:
        lock = RunLock(f"{draft}/run.lock")
    except BaseException:
        os.close(fd)
        raise
    return _writer(fd, final, run_id, key, Position(epoch=1, key_id=key.id), ports), lock


def open_log(paths: RunPaths, ports: LogPorts, *, adopt: bool = False) -> tuple[EventLog, RunLock]:
    """Open a log to write on, under its lock and in a new epoch; `adopt` takes over a run signed elsewhere."""
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


def header_of(fd: int) -> LogHeader:
    """The header of an open log, or a refusal."""
    first = first_line(fd)
    header = read_header(first.data) if first is not None and first.complete else None
    if header is None:
        raise LogCorrupt("line 1 of the log is not a complete event line", details={"seq": 0, "offset": 0})
    return header


def secret_finder(keys: KeyRing) -> Callable[[str], bytes | None]:
    """Looks a secret up by key id, remembering what it found."""
    known: dict[str, bytes | None] = {}

    def find(key_id: str) -> bytes | None:
        if key_id not in known:
            key = keys.find(key_id)
            known[key_id] = key.secret if key else None
        return known[key_id]

    return find


def start_verifier(fd: int, paths: RunPaths, keys: KeyRing, header: LogHeader, *, whole: bool) -> Verifier:
    """A verifier at the beginning, or at the last checkpoint when not the `whole` log is asked for."""
    checkpoints = Checkpoints(paths.logs / CHECKPOINTS, header.run_id)
    return verifier_at(fd, keys, header, None if whole else checkpoints.latest(fd, secret_finder(keys)))


def verifier_at(fd: int, keys: KeyRing, header: LogHeader, start: Position | None) -> Verifier:
    """A verifier at a place that is known to be good, or at the beginning."""
    start = start or Position(key_id=header.key_id, version=header.version)
    return Verifier(header.run_id, secret_finder(keys), start, partial(prefix_digest, fd))


def _lock(paths: RunPaths) -> RunLock:
    if not paths.events.is_file():
        raise NotFound(f"`{paths.root}` is not a run directory: it has no `events.jsonl`", hint=WHERE_RUNS_ARE)
    try:
        return RunLock(paths.lock)
    except PermissionError as error:
        raise AccessRefused(f"`{paths.root}` may not be written by this user", hint=WHOSE_RUN) from error
    except OSError as error:
        raise StorageFailed(f"the lock of `{paths.root}` could not be taken: {error.strerror}") from error


def _open_events(paths: RunPaths) -> int:
    try:
        return os.open(paths.events, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError as error:
        raise AccessRefused(f"`{paths.events}` may not be written by this user", hint=WHOSE_RUN) from error


def _open(fd: int, paths: RunPaths, ports: LogPorts, *, adopt: bool) -> EventLog:
    header = header_of(fd)
    if header.version == 0:
        raise LogCorrupt("this log was written by an older product and can only be read", hint="start a new run")
    verifier = start_verifier(fd, paths, ports.keys, header, whole=False)
    recovered = recover(fd, verifier, adopting=adopt)
    position = recovered.position
    signer = verifier.position.key_id
    if not verifier.key_present and not adopt:
        raise KeyMissing(f"the run `{header.run_id}` was signed with the key `{signer}`, which is not here")
    if position.ended:
        raise LogEnded(f"the run `{header.run_id}` has ended")
    removed = set_aside(fd, recovered.tail, paths.logs) if recovered.tail else None
    key = _key_for(ports.keys, position) if verifier.key_present else ports.keys.current()
    start = Position(
        seq=position.seq, offset=position.offset, head=position.head, epoch=position.epoch + 1, key_id=key.id
    )
    log = _writer(fd, paths, header.run_id, key, start, ports)
    if not verifier.key_present:
        log.append(RunAdopted(previous_key_id=signer, key_id=key.id, prefix_sha256=prefix_digest(fd, position.offset)))
    if recovered.tail and removed:
        log.append(_repair(recovered.tail, removed))
    return log


def _repair(tail: Tail, removed: Descriptor) -> LogRepaired:
    return LogRepaired(reason=tail.reason, offset=tail.offset, removed=removed)


def _key_for(keys: KeyRing, position: Position) -> LogKey:
    key = keys.find(position.key_id)
    assert key is not None, "the verifier found it a moment ago"
    return key


def _writer(fd: int, paths: RunPaths, run_id: str, key: LogKey, start: Position, ports: LogPorts) -> EventLog:
    return EventLog(
        fd,
        run_id=run_id,
        key=key,
        start=start,
        ports=ports,
        checkpoints=Checkpoints(f"{paths.root}/logs/{CHECKPOINTS}", run_id),
    )
