"""One open run: its log, its state folded as it grows, and run.json kept in step behind it."""

import hashlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import LogCorrupt
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import RunStateChanged
from skills_runtime.events.states import RunStatus, check_transition
from skills_runtime.projections import VIEW_KIND, RunState, RunView, fold
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import EventLog, LogPorts, RunLock, open_log, read_verified
from skills_runtime.runs.log.opening import secret_finder
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.log.snapshots import SnapshotHeader, due, load, save
from skills_runtime.runs.record import record_of, write_record

SNAPSHOT = "state.snapshot"


class Run:
    """The only writer of a run directory; made by `create_run` and `open_run`."""

    def __init__(self, paths: RunPaths, log: EventLog, lock: RunLock, view: RunView, ports: LogPorts) -> None:
        self.paths = paths
        self.log = log
        self.view = view
        self.ports = ports
        self.blobs = Blobs(paths.blobs)
        self._lock = lock
        self._snapshot: SnapshotHeader | None = None
        self._watchers: list[Callable[[RunState], None]] = []

    @property
    def state(self) -> RunState:
        """Where the run stands."""
        return self.view.state

    def append(self, payload: Payload, *, turn_id: str | None = None, step_id: str | None = None) -> Event:
        """Write one event; the view has it when this returns."""
        return self.log.append(payload, turn_id=turn_id, step_id=step_id)

    def keep(self, data: bytes) -> str:
        """Keep private bytes, durable with the next commit; returns their digest."""
        digest, path = self.blobs.put(data)
        if path is not None:
            self.log.with_next_commit(path, path.parent)
        return digest

    def commit(self) -> None:
        """Return once everything so far is durable."""
        self.log.commit()
        self._snapshot_if_due()

    async def commit_async(self) -> None:
        """Like `commit`, without holding up the event loop."""
        await self.log.commit_async()
        self._snapshot_if_due()

    def change(self, status: RunStatus, *, reason: str = "") -> None:
        """Move to a state that is not terminal; durable before run.json shows it."""
        before = self.state.status
        check_transition(before, status)
        self.append(RunStateChanged(before=before.value, after=status.value, reason=reason))
        self.commit()
        self.save()

    def watch(self, watcher: Callable[[RunState], None]) -> None:
        """Call `watcher` with every state that has become durable."""
        self._watchers.append(watcher)

    def save(self) -> None:
        """Rewrite run.json from the state, which must be durable by now."""
        write_record(self.paths.run_json, record_of(self.state))
        for watcher in self._watchers:
            watcher(self.state)

    def close(self) -> None:
        """Let go of the run; another process may open it now."""
        self.log.close()
        self._lock.release()

    def _snapshot_if_due(self) -> None:
        position = self.log.position
        if due(position, self._snapshot):
            self._snapshot = save(
                self.paths.logs / SNAPSHOT,
                self.log.run_id,
                VIEW_KIND,
                msgspec.json.encode(self.view),
                position=position,
                secret=self.log.key.secret,
            )


def open_run(root: Path, ports: LogPorts, *, adopt: bool = False) -> Run:
    """Open a run to go on with it; run.json is brought in step with the log."""
    paths = RunPaths(root.resolve())
    log, lock = open_log(paths, ports, adopt=adopt)
    try:
        view = read_view(paths, ports)
        _refuse_changed_snapshots(paths, view.state)
        log.listen(view.apply)
        run = Run(paths, log, lock, view, ports)
        run.save()
    except BaseException:
        log.close()
        lock.release()
        raise
    return run


@contextmanager
def opened(root: Path, ports: LogPorts) -> Generator[Run]:
    """An open run for the length of a `with` block."""
    run = open_run(root, ports)
    try:
        yield run
    finally:
        run.close()


def read_view(paths: RunPaths, ports: LogPorts) -> RunView:
    """The state of a run from its verified log, beginning at the last snapshot that can be believed."""
    with open_for_reading(paths) as fd:
        found = load(paths.logs / SNAPSHOT, VIEW_KIND, log_fd=fd, find_secret=secret_finder(ports.keys))
    if found is None:
        return fold(read_verified(paths, ports.keys), RunView())
    header, data = found
    view = msgspec.json.decode(data, type=RunView)
    return fold(read_verified(paths, ports.keys, header.position), view)


def changed_snapshots(paths: RunPaths, state: RunState) -> Iterator[tuple[str, Literal["missing", "changed"]]]:
    """The snapshot files that are not what the run began with."""
    for name, digest in state.snapshots.items():
        path = paths.root / name
        if not path.is_file():
            yield name, "missing"
        elif digest_of(path) != digest:
            yield name, "changed"


def _refuse_changed_snapshots(paths: RunPaths, state: RunState) -> None:
    for name, how in changed_snapshots(paths, state):
        raise LogCorrupt(
            f"the snapshot `{name}` is {how}: it may not differ from what the run began with",
            hint="restore the file, or start a new run",
        )


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
