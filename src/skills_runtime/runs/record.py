"""The files derived from the log: run.json and transcript.md.

run.json is a summary for programs that do not read the log. It is replaced by exchanging it with a spare file, because
creating and unlinking a file costs far more than rewriting an existing one.
"""

import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import AccessRefused, LogCorrupt, NotFound
from skills_runtime.events import Event, build_decoder
from skills_runtime.projections import RunState
from skills_runtime.render import render_transcript
from skills_runtime.runs.layout import FILE_MODE, MAX_BLOB_BYTES, MAX_TEXT_BYTES, RunPaths, spare_path
from skills_runtime.runs.log import LogPorts, RunLock, read_verified
from skills_runtime.runs.spec import pretty
from skills_runtime.storage import (
    append,
    error_reason,
    exchange_paths,
    open_regular,
    read_regular,
    sync_path,
    wrap_write_errors,
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


_decode = build_decoder(RunRecord)
_SHARED = tuple(name for name in RunRecord.__struct_fields__ if name not in ("schema", "status"))


def build_record(state: RunState) -> RunRecord:
    """Build the record of a state."""
    fields: dict[str, Any] = {name: getattr(state, name) for name in _SHARED}
    return RunRecord(status=state.status.value, **fields)


def write_record(root: Path, record: RunRecord) -> None:
    """Replace run.json atomically."""
    swap(f"{root}/run.json", pretty(record), spare_path(root))


def read_record(path: Path) -> RunRecord:
    """Read run.json."""
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
    """Read prompt.md of a run directory."""
    path = root / "prompt.md"
    try:
        return read_regular(path, MAX_TEXT_BYTES).decode(errors="replace")
    except FileNotFoundError:
        raise NotFound(f"`{root}` has no `prompt.md`") from None
    except OSError as error:
        raise AccessRefused(f"`{path}` cannot be read: {error_reason(error)}") from error


def write_transcript(paths: RunPaths, events: Iterable[Event]) -> None:
    """Update transcript.md from the log; appends when only the end is missing."""
    text, path = "".join(render_transcript(events)).encode(errors="surrogatepass"), f"{paths.root}/transcript.md"
    existing = read_if_regular(path)
    if existing is not None and text.startswith(existing):
        if len(text) > len(existing):
            with wrap_write_errors(path):
                append(path, text[len(existing) :])  # much cheaper than replacing the file
    else:
        with wrap_write_errors(path):
            write_atomic(path, text, durable=False)


def is_transcript_current(paths: RunPaths, events: Iterable[Event]) -> bool:
    """Return whether transcript.md matches the log byte for byte."""
    try:
        fd = open_regular(paths.transcript)
    except OSError:
        return False
    with open(fd, "rb") as file:
        expected = (piece.encode(errors="surrogatepass") for piece in render_transcript(events))
        return all(file.read(len(piece)) == piece for piece in expected) and not file.read(1)


def catch_up(paths: RunPaths, state: RunState, ports: LogPorts) -> None:
    """Write the derived files of an ended run whose process died after the terminal event."""
    lock = RunLock(paths.lock)
    try:
        sync_path(paths.events)
        record = pretty(build_record(state))
        if read_if_regular(paths.run_json) != record:
            with wrap_write_errors(paths.run_json):
                write_atomic(paths.run_json, record, durable=False)
        # Rewrite only if it differs: an export may contain it.
        if not is_transcript_current(paths, read_verified(paths, ports.keys)):
            write_transcript(paths, read_verified(paths, ports.keys))
    finally:
        lock.release()


def read_if_regular(path: Path | str) -> bytes | None:
    """Return the content of a regular file, or None when there is none."""
    try:
        return read_regular(path, MAX_BLOB_BYTES)
    except PermissionError:
        raise
    except OSError:
        return None


def swap(path: str, data: bytes, spare: str) -> None:
    """Replace a file atomically by exchanging it with the spare file."""
    with wrap_write_errors(path):
        if not _try_swap(path, data, spare):
            write_atomic(path, data, durable=False)


def _try_swap(path: str, data: bytes, spare: str) -> bool:
    """Exchange the files and return True; return False with the file unchanged when that is not possible."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):  # it would become the spare file
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
        Path(spare).unlink(missing_ok=True)  # the disk may be full
        raise
    finally:
        os.close(fd)
    try:
        return exchange_paths(spare, path)
    except OSError:
        return False


def _has_no_reader(fd: int) -> bool:
    # The spare file is the previous version; a process that still reads it must not see it change.
    try:
        # The kernel grants a write lease only without other descriptors.
        fcntl.fcntl(fd, fcntl.F_SETLEASE, _WRITE_LEASE)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (AttributeError, OSError):
        return False
    return True
