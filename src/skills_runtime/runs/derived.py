"""The files that are only ever derived from the log: run.json and transcript.md."""

from collections.abc import Iterable
from pathlib import Path

from skills_runtime.events import Event
from skills_runtime.projections import RunState, render
from skills_runtime.runs.atomic import rewrite
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import LogPorts, RunLock, read_verified
from skills_runtime.runs.log.disk import sync_path
from skills_runtime.runs.record import record_of
from skills_runtime.runs.snapshot_files import pretty


def write_transcript(paths: RunPaths, events: Iterable[Event]) -> None:
    """Write transcript.md anew."""
    rewrite(paths.transcript, _transcript(events))


def catch_up(paths: RunPaths, state: RunState, ports: LogPorts) -> None:
    """Do for an ended run what its process could not do any more after it had written the end."""
    lock = RunLock(paths.lock)
    try:
        sync_path(str(paths.events))
        _bring_in_step(paths.run_json, pretty(record_of(state)))
        _bring_in_step(paths.transcript, _transcript(read_verified(paths, ports.keys)))
    finally:
        lock.release()


def _transcript(events: Iterable[Event]) -> bytes:
    return "".join(render(events)).encode(errors="surrogatepass")


def _bring_in_step(path: Path, data: bytes) -> None:
    if not path.is_file() or path.read_bytes() != data:
        rewrite(path, data)
