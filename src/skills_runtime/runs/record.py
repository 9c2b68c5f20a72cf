"""The files that are only ever derived from the log: run.json and transcript.md.

run.json is for everybody who does not want to read the log. It changes places with a spare file: to make and to remove
a file costs a disk many times what it costs to write one that is there, so a run keeps one spare.
"""

import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import AccessRefused, LogCorrupt, NotFound
from skills_runtime.events import Event, reader
from skills_runtime.projections import RunState
from skills_runtime.render import render_transcript
from skills_runtime.runs.layout import FILE_MODE, MAX_BLOB_BYTES, MAX_TEXT_BYTES, RunPaths, spare_path
from skills_runtime.runs.log import LogPorts, RunLock, read_verified
from skills_runtime.runs.spec import pretty
from skills_runtime.storage import (
    append,
    error_reason,
    exchange,
    explain_write,
    open_regular,
    read_regular,
    sync_path,
    write_all,
    write_atomic,
)

_NEW_OR_OLD = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE_LEASE = getattr(fcntl, "F_WRLCK", 1)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What run.json holds."""

    schema: str = "kgent.run/v1"
    session_id: str
    task_id: str
    run_id: str
    profile_id: str
    config_fingerprint: str
    status: str
    created_at: str
    updated_at: str
    started_at: str | None
    completed_at: str | None
    failure_reason: str | None
    kind: str = "agent"
    attempt: int = 1
    parent_run_id: str | None = None
    last_seq: int = -1


_decode = reader(RunRecord)
_SHARED = tuple(name for name in RunRecord.__struct_fields__ if name not in ("schema", "status"))


def build_record(state: RunState) -> RunRecord:
    """The record that a state amounts to."""
    fields: dict[str, Any] = {name: getattr(state, name) for name in _SHARED}
    return RunRecord(status=state.status.value, **fields)


def write_record(root: Path, record: RunRecord) -> None:
    """Replace run.json; readers see the old one or the new one."""
    swap(f"{root}/run.json", pretty(record), spare_path(root))


def read_record(path: Path) -> RunRecord:
    """The record in a run directory."""
    try:
        return _decode(read_regular(path, MAX_TEXT_BYTES))
    except FileNotFoundError:
        raise NotFound(f"`{path.parent}` is not a run directory: it has no `run.json`") from None
    except OSError as error:
        raise AccessRefused(f"`{path}` cannot be read: {error_reason(error)}") from error
    except msgspec.MsgspecError as error:
        raise LogCorrupt(
            f"`{path}` is not a run record: {error}", hint="it is rewritten from the log when the run is opened"
        ) from error


def read_prompt(root: Path) -> str:
    """The task in a run directory."""
    path = root / "prompt.md"
    try:
        return read_regular(path, MAX_TEXT_BYTES).decode(errors="replace")
    except FileNotFoundError:
        raise NotFound(f"`{root}` has no `prompt.md`") from None
    except OSError as error:
        raise AccessRefused(f"`{path}` cannot be read: {error_reason(error)}") from error


def write_transcript(paths: RunPaths, events: Iterable[Event]) -> None:
    """Bring transcript.md in step with the log; what it lacks is added, for a log only ever grows."""
    text, path = "".join(render_transcript(events)).encode(errors="surrogatepass"), f"{paths.root}/transcript.md"
    existing = read_if_regular(path)
    if existing is not None and text.startswith(existing):
        if len(text) > len(existing):
            with explain_write(path):
                append(path, text[len(existing) :])  # costs a file system much less than a new file in its place
    else:
        with explain_write(path):
            write_atomic(path, text, durable=False)


def is_transcript_current(paths: RunPaths, events: Iterable[Event]) -> bool:
    """Whether transcript.md is what the log gives, to the last byte."""
    try:
        fd = open_regular(paths.transcript)
    except OSError:
        return False
    with open(fd, "rb") as file:
        expected = (piece.encode(errors="surrogatepass") for piece in render_transcript(events))
        return all(file.read(len(piece)) == piece for piece in expected) and not file.read(1)


def catch_up(paths: RunPaths, state: RunState, ports: LogPorts) -> None:
    """Do for an ended run what its process could not do any more after it had written the end."""
    lock = RunLock(paths.lock)
    try:
        sync_path(paths.events)
        record = pretty(build_record(state))
        if read_if_regular(paths.run_json) != record:
            with explain_write(paths.run_json):
                write_atomic(paths.run_json, record, durable=False)
        if not is_transcript_current(paths, read_verified(paths, ports.keys)):  # an old one may have been handed on
            write_transcript(paths, read_verified(paths, ports.keys))
    finally:
        lock.release()


def read_if_regular(path: Path | str) -> bytes | None:
    """The bytes of a file, or nothing where there is no ordinary one."""
    try:
        return read_regular(path, MAX_BLOB_BYTES)
    except PermissionError:
        raise
    except OSError:
        return None


def swap(path: str, data: bytes, spare: str) -> None:
    """Replace a file of the run by way of its spare one; a reader sees the old bytes or the new ones, never a part."""
    with explain_write(path):
        if not _try_swap(path, data, spare):
            write_atomic(path, data, durable=False)


def _try_swap(path: str, data: bytes, spare: str) -> bool:
    """Whether the two have changed places; where that cannot be, the file is as it was."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # which would become the spare one
            return False
        fd = os.open(spare, _NEW_OR_OLD, FILE_MODE)
    except OSError:
        return False
    try:
        if not _has_no_reader(fd):
            return False
        write_all(fd, data)
        os.ftruncate(fd, len(data))
    except OSError:
        Path(spare).unlink(missing_ok=True)  # a disk that is full
        raise
    finally:
        os.close(fd)
    try:
        return exchange(spare, path)
    except OSError:
        return False


def _has_no_reader(fd: int) -> bool:
    """Whether nobody has the spare file open: it was the file itself once, and its readers must not see it change."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, _WRITE_LEASE)  # given only when there is no other descriptor
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (AttributeError, OSError):
        return False
    return True
