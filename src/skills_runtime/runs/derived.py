"""The files that are only ever derived from the log: run.json and transcript.md."""

from collections.abc import Iterable
from pathlib import Path

from skills_runtime.events import Event
from skills_runtime.projections import RunState
from skills_runtime.render import render_transcript
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import LogPorts, RunLock, read_verified
from skills_runtime.runs.record import record_of
from skills_runtime.runs.snapshot_files import pretty
from skills_runtime.storage.files import append, explain_write, sync_path, write_atomic


def write_transcript(paths: RunPaths, events: Iterable[Event]) -> None:
    """Bring transcript.md in step with the log; what it lacks is added, for a log only ever grows."""
    text, path = "".join(render_transcript(events)).encode(errors="surrogatepass"), f"{paths.root}/transcript.md"
    there = content_of(path)
    if there is not None and text.startswith(there):
        if len(text) > len(there):
            with explain_write(path):
                append(path, text[len(there) :])  # costs a file system much less than a new file in its place
    else:
        with explain_write(path):
            write_atomic(path, text, durable=False)


def transcript_agrees(paths: RunPaths, events: Iterable[Event]) -> bool:
    """Whether transcript.md is what the log gives, to the last byte."""
    try:
        with paths.transcript.open("rb") as file:
            told = (piece.encode(errors="surrogatepass") for piece in render_transcript(events))
            return all(file.read(len(piece)) == piece for piece in told) and not file.read(1)
    except (FileNotFoundError, IsADirectoryError):
        return False


def catch_up(paths: RunPaths, state: RunState, ports: LogPorts) -> None:
    """Do for an ended run what its process could not do any more after it had written the end."""
    lock = RunLock(paths.lock)
    try:
        sync_path(paths.events)
        record = pretty(record_of(state))
        if content_of(paths.run_json) != record:
            with explain_write(paths.run_json):
                write_atomic(paths.run_json, record, durable=False)
        if not transcript_agrees(paths, read_verified(paths, ports.keys)):  # an old one may have been handed on
            write_transcript(paths, read_verified(paths, ports.keys))
    finally:
        lock.release()


def content_of(path: Path | str) -> bytes | None:
    """The bytes of a file, or nothing where there is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError):
        return None
