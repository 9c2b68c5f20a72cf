"""An open run: its log, the state folded from it, and run.json."""

import errno
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import IllegalTransition, LogCorrupt, LogEnded
from skills_runtime.events import Event, Payload, RunStateChanged, RunStatus, check_transition
from skills_runtime.projections import VIEW_KIND, RunState, RunView, fold
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.fork import ancestors, build_initial_view, fork_of
from skills_runtime.runs.layout import MAX_TEXT_BYTES, SNAPSHOTS, SUBDIRECTORIES, RunPaths
from skills_runtime.runs.log import EventLog, LogPorts, RunLock, open_log, read_events, read_verified
from skills_runtime.runs.log.checkpoints import SnapshotHeader, is_snapshot_due, load_snapshot, save_snapshot
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.log.recovery import build_secret_finder
from skills_runtime.runs.log.writer import Entry
from skills_runtime.runs.record import build_record, catch_up, read_if_regular, write_record
from skills_runtime.runs.spec import pretty
from skills_runtime.storage import read_regular, sha256_of_path

SNAPSHOT = "state.snapshot"
MAX_CACHED_EVENTS = 500


class Run:
    """The only writer of a run directory; made by `create_run` and `open_run`."""

    def __init__(self, paths: RunPaths, log: EventLog, lock: RunLock, view: RunView, ports: LogPorts) -> None:
        self.paths = paths
        self.log = log
        self.view = view
        self.ports = ports
        self.blobs = Blobs(f"{paths.root}/blobs", *(ancestor.blobs for ancestor in ancestors(view.state.fork)))
        self._lock = lock
        self._events: deque[Event] | None = None
        self._texts: dict[str, str] = {}
        self._synced_paths: set[Path] = set()
        self._snapshot: SnapshotHeader | None = None
        self._snapshot_lock = threading.Lock()
        self._watchers: list[Callable[[RunState], None]] = []

    @property
    def state(self) -> RunState:
        """The current state of the run."""
        return self.view.state

    def append(self, payload: Payload, *, turn_id: str | None = None, step_id: str | None = None) -> Event:
        """Write one event; the view has it when this returns."""
        return self.log.append(payload, turn_id=turn_id, step_id=step_id)

    def append_all(self, entries: Sequence[Entry]) -> list[Event]:
        """Write several events at once, each with its turn and its step; all of them or none."""
        return self.log.append_all(entries)

    def remember(self, events: Iterable[Event], texts: Mapping[str, str]) -> None:
        """Cache the texts and the first events of a new run, so that they need not be read back."""
        self._events, self._texts = deque(events, MAX_CACHED_EVENTS), dict(texts)
        self.log.listen(self._events.append)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each event from here on, starting with the last one if it changed the state.

        A run that is created and started at once has that event before a listener can be added.
        """
        last = self._events[-1] if self._events else None
        if last is not None and isinstance(last.payload, RunStateChanged):
            listener(last)
        self.log.listen(listener)

    def events(self) -> Iterable[Event]:
        """Return every event of the log, from memory when all are cached."""
        is_complete = self._events is not None and len(self._events) == self.log.next_seq
        return self._events if is_complete and self._events is not None else read_events(self.paths)

    def text(self, snapshot: str) -> str:
        """Return the text of a snapshot file."""
        if snapshot not in self._texts:
            self._texts[snapshot] = read_regular(self.paths.root / snapshot, MAX_TEXT_BYTES).decode()
        return self._texts[snapshot]

    def put_blob(self, data: bytes) -> str:
        """Store a blob, durable with the next commit, and return its digest."""
        digest = self.blobs.put(data)
        self._make_durable(digest)
        return digest

    def commit(self) -> None:
        """Return once everything so far is durable."""
        self.log.commit()
        self._snapshot_if_due()

    async def commit_async(self) -> None:
        """Commit without blocking the event loop."""
        await self.log.commit_async()
        self._snapshot_if_due()

    def confirm(self, blobs: Iterable[str]) -> None:
        """Make durable what an earlier writer, which may have been killed, left in the log and its blobs."""
        make_creation_durable(self.paths, self.log)
        for digest in blobs:
            if self.blobs.has(digest):
                self._make_durable(digest)
        self.log.commit()

    def change(self, status: RunStatus, *, reason: str = "") -> None:
        """Move to a state that is not terminal; durable before run.json shows it."""
        self._append_transition(status, reason)
        self.commit()
        self.save()

    async def change_async(self, status: RunStatus, *, reason: str = "") -> None:
        """Move to a state that is not terminal, without blocking the event loop."""
        self._append_transition(status, reason)
        await self.commit_async()
        self.save()

    def _append_transition(self, status: RunStatus, reason: str) -> None:
        current = self.state.status
        check_transition(current, status)
        if status.terminal:
            raise IllegalTransition(f"a run becomes `{status}` by the event that ends it", hint="use `finish_run`")
        self.append(RunStateChanged(before=current.value, after=status.value, reason=reason))

    def watch(self, watcher: Callable[[RunState], None]) -> None:
        """Call `watcher` with every state that has become durable."""
        self._watchers.append(watcher)

    def save(self) -> None:
        """Rewrite run.json from the state, which must be durable by now."""
        write_record(self.paths.root, build_record(self.state))
        for watcher in self._watchers:
            watcher(self.state)

    def close(self) -> None:
        """Close the log and release the lock, so that another process may open the run."""
        self.log.close()
        self._lock.release()

    def _make_durable(self, digest: str) -> None:
        # Also for blobs that existed before: their writer may have been killed before the sync.
        path, bucket, *parents = self.blobs.paths_to_sync(digest)
        if path not in self._synced_paths:
            self.log.with_next_commit(bucket, path.name)
            for directory in parents if bucket not in self._synced_paths else ():
                self.log.with_next_commit(directory)
            self._synced_paths |= {path, bucket}

    def _snapshot_if_due(self) -> None:
        if not is_snapshot_due(self.log.position, self._snapshot) or not self._snapshot_lock.acquire(blocking=False):
            return
        try:
            with self.log.pause() as position:
                state = msgspec.json.encode(self.view)
            path, key = self.paths.logs / SNAPSHOT, self.log.key
            self._snapshot = save_snapshot(
                path, self.log.run_id, VIEW_KIND, state, position=position, secret=key.secret
            )
        except OSError:
            return  # a snapshot only speeds up opening; the commit itself has succeeded
        finally:
            self._snapshot_lock.release()


def make_creation_durable(paths: RunPaths, log: EventLog) -> None:
    """Sync the files of a new run, then the directories above them, with the next commit."""
    log.with_next_commit(paths.root, *SNAPSHOTS, "sandbox-manifest.json", "events.jsonl")
    parent = paths.root.parent
    if os.access(parent, os.R_OK):
        log.with_next_commit(parent)


def open_run(root: Path, ports: LogPorts, *, adopt: bool = False) -> Run:
    """Open a run to continue it; updates run.json from the log."""
    paths = RunPaths(root.resolve())
    _refuse_links(paths)
    try:
        log, lock = open_log(paths, ports, adopt=adopt)
    except LogEnded:
        catch_up(paths, read_view(paths, ports).state, ports)
        raise
    try:
        replay = _read(paths, ports)
        _refuse_changed_snapshots(paths, replay.view.state)
        log.listen(replay.view.apply)
        run = Run(paths, log, lock, replay.view, ports)
        run.confirm(replay.blobs)
        if read_if_regular(paths.run_json) != pretty(build_record(run.state)):
            run.save()
    except BaseException:
        log.close()
        lock.release()
        raise
    return run


@contextmanager
def use_run(root: Path, ports: LogPorts) -> Generator[Run]:
    """Open a run for the duration of a `with` block."""
    run = open_run(root, ports)
    try:
        yield run
    finally:
        run.close()


def read_view(paths: RunPaths, ports: LogPorts) -> RunView:
    """Fold the state of a run from its verified log, starting at the last valid snapshot."""
    return _read(paths, ports).view


class _Replay:
    """The view, and the blobs referenced since the last snapshot, which may not be durable yet."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.blobs: set[str] = set()

    def apply(self, event: Event) -> None:
        self.view.apply(event)
        names = [name for name in event.payload.__struct_fields__ if name.endswith("_blob")]
        self.blobs.update(digest for name in names if (digest := getattr(event.payload, name)))


def _read(paths: RunPaths, ports: LogPorts) -> _Replay:
    with open_for_reading(paths) as fd:
        snapshot = load_snapshot(
            paths.logs / SNAPSHOT, VIEW_KIND, log_fd=fd, find_secret=build_secret_finder(ports.keys)
        )
    if snapshot is None:
        return fold(read_verified(paths, ports.keys), _Replay(build_initial_view(fork_of(paths), ports)))
    header, data = snapshot
    view = msgspec.json.decode(data, type=RunView)
    return fold(read_verified(paths, ports.keys, header.position), _Replay(view))


def find_changed_snapshots(paths: RunPaths, state: RunState) -> Iterator[tuple[str, Literal["missing", "changed"]]]:
    """Find the snapshot files that differ from what the run was created with."""
    for name, digest in state.snapshots.items():
        try:
            if sha256_of_path(paths.root / name, MAX_TEXT_BYTES) != digest:
                yield name, "changed"
        except OSError as error:  # also for a link or a directory of that name
            yield name, "changed" if error.errno == errno.EFBIG else "missing"


def _refuse_links(paths: RunPaths) -> None:
    """Refuse a run directory with linked subdirectories, which would redirect writes."""
    for name in SUBDIRECTORIES:
        if (paths.root / name).is_symlink():
            raise LogCorrupt(f"`{name}` of the run is a link", hint=f"replace it with the directory `{name}` itself")


def _refuse_changed_snapshots(paths: RunPaths, state: RunState) -> None:
    for name, how in find_changed_snapshots(paths, state):
        raise LogCorrupt(
            f"the snapshot `{name}` is {how}: it must not differ from what the run was created with",
            hint="restore the file, or start a new run",
        )
